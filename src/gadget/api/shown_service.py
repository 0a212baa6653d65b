"""From what the service shows of itself to what the routes say of it as a whole."""

from collections import Counter
from dataclasses import asdict
from importlib.metadata import version

from gadget.api.schemas import DecisionSummary, FaultShown, Readiness, Status
from gadget.api.shown_nodes import find_server_state
from gadget.api.usage import find_utilisation
from gadget.api.waiting import find_due
from gadget.engine.state import JobStatus, State
from gadget.errors import printable
from gadget.live.view import View
from gadget.model.decision import Decision
from gadget.solve.guarantees import slot_ratio

# Without its engine or its journal the service can do nothing; without its solver, what runs goes on.
_STOPPING = frozenset(("engine", "journal"))


def show_status(view: View, now: float) -> Status:
    """Where the service stands; `now` is what its clock says."""
    state = view.state
    return Status(
        version=version("gadget-scheduler"),
        mode=view.mode,
        engine=view.engine,
        policy=view.policy,
        slot=state.slot,
        slot_seconds=state.slot_seconds,
        slot_began=view.slot_began,
        next_decision=find_due(view),
        at=view.at,
        now=now,
        last_entry=view.last_entry,
        jobs=count_jobs(state),
        servers=count_servers(state),
        utilisation=dict(find_utilisation(state)),
        faults=[
            FaultShown(topic=fault.topic, since=fault.since, text=printable(fault.text))
            for fault in view.faults
        ],
        counts=asdict(view.counts),
        decision=None if view.decision is None else _sum_up(view.decision),
    )


def show_readiness(view: View) -> Readiness:
    """Whether the service can do its work."""
    topics = sorted({fault.topic for fault in view.faults})
    return Readiness(ready=_STOPPING.isdisjoint(topics), faults=topics)


def count_jobs(state: State) -> dict[str, int]:
    """How many jobs have each status."""
    ended = Counter(record.ending for record in state.ended.values())
    running = len(state.running.rings)
    return {
        JobStatus.WAITING: len(state.active) - running,
        JobStatus.RUNNING: running,
        **{status: ended[status] for status in (JobStatus.FINISHED, JobStatus.LEFT, JobStatus.REFUSED)},
    }


def count_servers(state: State) -> dict[str, int]:
    """How many servers are up, drained and down."""
    found = Counter(find_server_state(state, server.name) for server in state.cluster.servers)
    return {word: found[word] for word in ("up", "drained", "down")}


def find_gap(decision: Decision) -> float | None:
    """By how much of its bound a decision may miss the best; None without a bound."""
    ratio = slot_ratio(decision)
    return None if ratio is None else 1 - ratio


def _sum_up(decision: Decision) -> DecisionSummary:
    return DecisionSummary(
        slot=decision.slot,
        objective=decision.objective,
        upper_bound=decision.upper_bound,
        gap=find_gap(decision),
        seconds=decision.seconds,
        status=decision.status,
    )
