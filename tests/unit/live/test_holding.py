"""Rings that are left alone: they stay, and what is decided on the rest fits beside them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.engine.apply import apply
from gadget.engine.events import ServerDrained
from gadget.live.decider import Here
from gadget.live.fleet import Fleet
from gadget.live.holding import bring_back, set_aside
from gadget.live.judging import decide
from gadget.model.claims import find_false_claims
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from tests.tiny_slots import running_slots
from tests.unit.engine.worlds import PAIR, ring
from tests.unit.live.scenes import add, live_job, running, serve

POLICIES = tuple(map(build_policy, ("fifo", "las", "gadget")))


@given(snapshot=running_slots(), policy=st.sampled_from(POLICIES), data=st.data())
def test_what_is_decided_around_held_rings_fits_beside_them(
    snapshot: Snapshot, policy: object, data: st.DataObject
) -> None:
    runs = sorted(snapshot.running.ring_of)
    held = frozenset(data.draw(st.sets(st.sampled_from(runs)))) if runs else frozenset()
    rest = set_aside(snapshot, held)
    assert held.isdisjoint(active.job.name for active in rest.jobs)
    decision = bring_back(snapshot, ask(policy, rest, 0), held)  # type: ignore[arg-type]
    kept = {name: one for name, one in decision.allocation.ring_of.items() if name in held}
    assert kept == {name: snapshot.running.ring_of[name] for name in held}
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []


class Greedy:
    """Wants all of the cluster for the job it is told, and remembers what it was shown."""

    def __init__(self, *rings: Ring) -> None:
        self.rings = rings
        self.shown: Snapshot | None = None

    def decide(self, snapshot: Snapshot) -> Decision:
        self.shown = snapshot
        inner = Here(build_policy("fifo"), 0).decide(snapshot)
        return replace(inner, allocation=Allocation(self.rings), waiting=(), objective=0.0)

    def close(self) -> None:
        pass


def held_in(minutes: float, up_since: float | None, steady: float, *, cluster: Cluster = PAIR) -> bool:
    """Whether the ring of a job with this least runtime is kept from its policy."""
    young = live_job("j", min_runtime_seconds=minutes)
    state, fleet = serve(running(ring("j", "a"), jobs=[young])), Fleet()
    key = add(fleet, state, ring("j", "a"), phase=RingPhase.STARTING)
    if up_since is not None:
        fleet.move(key, RingPhase.RUNNING, "", 0.0, up_since)
    state = replace(state, cluster=cluster, available=cluster)
    decider = Greedy()
    decision = decide(state, decider, fleet, {}, steady)
    assert decider.shown is not None
    is_kept = bool(decision.allocation.rings)
    assert is_kept == (not decider.shown.jobs)
    return is_kept


def test_a_ring_is_held_until_it_has_run_for_its_time() -> None:
    assert not held_in(0, 0, 1)
    assert held_in(30, None, 500)  # it is not even up
    assert held_in(30, 100, 129.9)
    assert not held_in(30, 100, 130)


def test_a_ring_that_the_cluster_has_no_room_for_any_more_is_not_held() -> None:
    [a, b] = PAIR.servers
    shrunk = replace(PAIR, servers=(replace(a, resources=Resources({"gpu": 0})), b))
    assert held_in(30, 100, 101)
    assert not held_in(30, 100, 101, cluster=shrunk)


def test_a_drained_server_is_emptied_of_young_rings_too() -> None:
    young = live_job("j", min_runtime_seconds=1_000)
    state, fleet = serve(running(ring("j", "a"), jobs=[young])), Fleet()
    add(fleet, state, ring("j", "a"))
    state = apply(state, ServerDrained("a"))
    decision = decide(state, Here(build_policy("fifo"), 0), fleet, {}, 1.0)
    assert set(decision.allocation.ring_of["j"].workers) == {"b"}


def test_a_job_that_rests_is_not_shown_and_told_why() -> None:
    state, fleet = serve(running(ring("j", "a"))), Fleet()
    decider = Greedy()
    decision = decide(state, decider, fleet, {"j": 12.0}, 1.0)
    assert decider.shown is not None
    assert decider.shown.jobs == ()
    assert decider.shown.running.rings == ()
    [waiting] = decision.waiting
    assert (waiting.job, waiting.reason) == ("j", "backoff")
    assert "next try in 12 s" in waiting.detail


def test_a_found_ring_counts_as_up_from_then_on() -> None:
    fleet = Fleet()
    found = RingFound(RingKey("j", 0), ring("j", "a"), RingPhase.RUNNING)
    assert fleet.add(found, None, 0.0, 40.0).up == 40.0
