"""The controller: what has happened is journalled, then applied; what must happen is ordered.

One thread owns it. Whatever is told to it from outside (commands, reports of the engine, words of workers) is
taken down at once; `tick` then compares what is with what should be, and does what is due. Nothing depends on
having seen every step: after a crash the same comparison goes on from the journal and a survey of the world.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from gadget.backends.backend import (
    Backend,
    ClusterFound,
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    Launch,
    Report,
    RingFound,
    RingKey,
    RingMoved,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.words import Word
from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.events import (
    Cause,
    ClusterChanged,
    Event,
    JobLeft,
    JobsArrived,
    JobsForgotten,
    Noted,
    RingFailed,
    ServerDrained,
    ServerUndrained,
    SlotDecided,
    SlotObserved,
    SlotServed,
)
from gadget.engine.standing import Standing
from gadget.errors import BrokenConstraint, JournalFailed
from gadget.live.backoff import Backoff
from gadget.live.clock import Clock
from gadget.live.crediting import find_seen
from gadget.live.decider import Decider, DecisionFailed
from gadget.live.faults import Faults
from gadget.live.fleet import Fleet
from gadget.live.happenings import World, find_happenings
from gadget.live.judging import decide
from gadget.live.keeping import keep_rings
from gadget.live.orders import find_dismissals, find_starts
from gadget.live.origin import Log, Origin
from gadget.live.settings import Settings
from gadget.live.showing import show_rings
from gadget.live.speeds import Speeds
from gadget.live.surveying import find_missing_slots, take_stock
from gadget.live.tally import Tally
from gadget.live.view import Mode, View
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.policies.registry import build_policy

_ASLEEP_SECONDS = 5.0
"""If nobody ticked for so long, it was us who did not listen."""


class Controller:
    """Decides slot after slot, and makes the world follow."""

    def __init__(
        self,
        origin: Origin,
        journal: Log,
        *,
        backend: Backend,
        decider: Decider,
        clock: Clock,
        settings: Settings,
        env_for: Callable[[RingKey], dict[str, str]],
    ) -> None:
        self.state = origin.state
        self.fleet = Fleet()
        self.faults = Faults()
        self.tally = Tally()
        self.decision: Decision | None = None
        self._last = origin.last
        self._compacted = origin.last
        self._journal, self._backend, self._decider = journal, backend, decider
        self._clock, self._settings, self._env_for = clock, settings, env_for
        self._speeds = Speeds()
        self._backoff = Backoff(settings.spacing_seconds)
        self._standing = Standing(build_policy(settings.policy))
        self._cluster: Cluster = origin.state.cluster
        self._away: dict[str, str] = {}
        self._engine_is_there = False
        self._must_survey = False
        self._urgent = False
        self._ticked = clock.steady()
        # The time since the decision, as far as the wall clock can be believed over a restart.
        ago = 0.0 if origin.decided_at is None else clock.wall() - origin.decided_at
        self._began = clock.steady() - min(max(ago, 0.0), settings.slot_seconds)

    # What is told from outside.

    def open(self, deliver: Callable[[Report], None]) -> None:
        """Find the engine and what it has; rings of an earlier life are adopted if they should run."""
        inventory = self._backend.open(deliver)
        known = self.state.cluster
        self._cluster = known if inventory.cluster == known else inventory.cluster
        self._away = dict.fromkeys(inventory.away, "it cannot be reached")
        self._record(Noted("service", f"started on {self._backend.name} with {self._settings.policy}"))
        if not known.servers:  # the very first start: whoever asks next must find servers
            self._record(ClusterChanged(self._cluster, self._settings.slot_seconds))
            self._cluster = self.state.cluster
        self._survey()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs into the queue, all or none."""
        self._close_slot_if_over()
        self._record(JobsArrived(tuple(replace(job, arrival=self.state.slot) for job in jobs)))
        self._urgent = True

    def cancel(self, job: str) -> None:
        """Take a job out of the queue, and its ring out of the world."""
        self._close_slot_if_over()
        self._record(JobLeft(job))
        self._urgent = True

    def drain(self, server: str) -> None:
        """Let a server become empty."""
        self._close_slot_if_over()
        self._record(ServerDrained(server))
        self._urgent = True

    def undrain(self, server: str) -> None:
        """Let a server take workers again."""
        self._close_slot_if_over()
        self._record(ServerUndrained(server))
        self._urgent = True

    def hear(self, word: Word) -> None:
        """A worker spoke."""
        self.fleet.hear(word, self._clock.wall(), self._clock.steady())

    def take(self, report: Report) -> None:
        """The engine reported."""
        match report:
            case RingMoved():
                wall, steady = self._clock.wall(), self._clock.steady()
                self.fleet.move(report.key, report.phase, report.reason, wall, steady)
            case ServerWentAway():
                self._away[report.server] = report.reason or "it cannot be reached"
            case ServerCameBack():
                self._away.pop(report.server, None)
            case ClusterFound():
                self._cluster = self.state.cluster if report.cluster == self.state.cluster else report.cluster
            case EngineWentAway():
                self._lose_engine(report.reason)
            case EngineCameBack():
                self._must_survey = True

    # What is due.

    def tick(self) -> None:
        """Follow the world, decide if it is time, and order what is missing."""
        started = self._clock.steady()
        if started - self._ticked > _ASLEEP_SECONDS:
            self.fleet.forgive(started)
        self._ticked = started
        try:
            if self._must_survey:
                self._survey()
            self._close_slot_if_over()
            self._follow_world()
            if self._is_due():
                self._next_slot()
            self.faults.end("journal")
        except JournalFailed as error:
            # Nothing was applied: what was not written down has not happened. The next tick tries again.
            self.faults.begin("journal", str(error), self._clock.wall())
            return
        self._order()
        self._ticked = self._clock.steady()

    def seconds_to_next_tick(self) -> float:
        """How long nothing is due, if nothing is told."""
        if self.faults.now():
            return 1.0
        waited = self._clock.steady() - self._began
        until = (self._settings.spacing_seconds if self._urgent else self._settings.slot_seconds) - waited
        return min(max(until, 0.0), 1.0)

    def _is_due(self) -> bool:
        waited = self._clock.steady() - self._began
        if self._settings.mode is Mode.ENFORCE and not self.state.decided:
            return True  # the very first slot, or one that was closed and not decided yet
        return waited >= self._settings.slot_seconds or (
            self._urgent and waited >= self._settings.spacing_seconds
        )

    def _follow_world(self) -> None:
        """What has happened in the world since the last look, as events."""
        steady = self._clock.steady()
        world = World(self._cluster, self._settings.slot_seconds, self._away, self._share(), steady)
        happened = find_happenings(self.state, self.fleet, world)
        if happened.events:
            self._record(*happened.events)
            self._backoff.note(self.state, happened.events, steady)
            self.tally.count_failures(happened.events)
            self._urgent = True
        self._cluster = self.state.cluster
        for key in happened.settled:
            del self.fleet.rings[key]
            self._tell_engine(partial(self._backend.forget, key))
        for key in happened.looked_at:
            self.fleet.rings[key] = replace(self.fleet.rings[key], resumed=None)
        for key in happened.hung:
            self.fleet.rings[key] = replace(self.fleet.rings[key], hung=True)

    def _next_slot(self) -> None:
        """The scheduling cycle: serve the slot that went by, look, decide, write down, apply."""
        due = self._clock.steady()
        self._close_slot()
        learnt = tuple(self._speeds.learn(self.state, self.fleet))
        if learnt:
            self._record(*learnt)
        decision = self._find_decision()
        if self._settings.mode is Mode.ENFORCE:
            self._record(SlotDecided(decision))
        elif self.state.running.rings:  # of a life in which decisions were carried out
            self._record(SlotDecided(self._keep("observe", "decisions are looked at, not carried out")))
        else:
            self._record(SlotObserved(decision))
        self.decision = decision
        took = self._clock.steady() - due
        # Slots do not drift; but after a slow decision the rings that it started get their time.
        self._began = due if took < self._settings.spacing_seconds else due + took
        # A solver that failed is asked again as soon as it may be.
        self._urgent = self.faults.has("solver")
        self.tally.count_slot(decision, took)
        self._tidy()

    def _find_decision(self) -> Decision:
        settings = self._settings
        if not self._engine_is_there:
            return self._keep("engine", "the engine does not answer")
        try:
            steady = self._clock.steady()
            resting = self._backoff.find_resting(self.state, steady)
            decision = decide(
                self.state, self._decider, self._standing, fleet=self.fleet, resting=resting, steady=steady
            )
        except (DecisionFailed, BrokenConstraint) as error:
            self.tally.count_failed_decision()
            self.faults.begin("solver", str(error), self._clock.wall())
            self._record(Noted("solver", f"slot {self.state.slot}: {error}; the rings stay as they are"))
            return self._keep("solver", f"no decision was made: {error}")
        self.faults.end("solver")
        return replace(decision, policy=settings.policy, seed=settings.seed)

    def _keep(self, reason: str, detail: str) -> Decision:
        settings = self._settings
        return keep_rings(
            self.state, policy=settings.policy, seed=settings.seed, reason=reason, detail=detail
        )

    def _close_slot_if_over(self) -> None:
        if self._clock.steady() - self._began >= self._settings.slot_seconds:
            self._close_slot()

    def _close_slot(self) -> None:
        """z and work of the slot that went by: only what was reported counts."""
        if self.state.decided:
            seen = find_seen(self.state, self.fleet)
            self._record(SlotServed(self.state.slot, seen, self._share()))

    def _share(self) -> float:
        """How much of a whole slot went by since the last decision."""
        waited = self._clock.steady() - self._began
        length = self._settings.slot_seconds
        return 1.0 if waited >= length else max(waited, 0.0) / length

    def _tidy(self) -> None:
        """What nobody looks at any more is forgotten, and the journal kept short to read."""
        over = len(self.state.ended) - self._settings.keep_ended
        if over > max(0, self._settings.keep_ended // 10):
            self._record(JobsForgotten(tuple(self.state.ended)[:over]))
        if self._last - self._compacted >= self._settings.compact_every:
            self._journal.compact(self.state)
            self._compacted = self._last

    def _record(self, *events: Event) -> None:
        """Try, write down, then believe."""
        state = self.state
        for event in events:
            state = apply(state, event)
        if faults := check_state(state, sound=self.state):
            raise BrokenConstraint(f"the state would not be sound: {'; '.join(faults[:3])}.")
        entries = self._journal.append(events, self._clock.wall())
        self.state, self._last = state, entries[-1].number

    # What is ordered.

    def _order(self) -> None:
        if self._settings.mode is Mode.OBSERVE or not self._engine_is_there:
            return
        for dismissal in tuple(find_dismissals(self.state, self.fleet)):
            if not self._tell_engine(partial(self._backend.dismiss, dismissal)):
                return
            self.fleet.mark(dismissal.key, self._clock.wall())
            self.tally.count_dismissal()
        for start in tuple(find_starts(self.state, self.fleet)):
            order = Launch(start.key, start.ring, start.job, self._env_for(start.key))
            found = RingFound(start.key, start.ring, RingPhase.STARTING)
            self.fleet.add(found, start.job, self._clock.wall(), self._clock.steady())
            if not self._tell_engine(partial(self._backend.launch, order)):
                del self.fleet.rings[start.key]
                return
            self.tally.count_launch()

    def _tell_engine(self, order: Callable[[], None]) -> bool:
        try:
            order()
        except EngineAway as error:
            self._lose_engine(str(error))
            return False
        return True

    def _lose_engine(self, reason: str) -> None:
        self._engine_is_there = False
        self.faults.begin("engine", reason, self._clock.wall())

    def _survey(self) -> None:
        """Compare what the engine has with what should run; the next tick acts on the difference."""
        self._must_survey = False
        try:
            found = self._backend.survey()
        except EngineAway as error:
            self._lose_engine(str(error))
            return
        wall, steady = self._clock.wall(), self._clock.steady()
        stock = take_stock(self.state, self.fleet, found, wall=wall, steady=steady)
        self.fleet = Fleet(stock.rings)
        self.tally.count_found(stock.adopted, stock.strays)
        self._engine_is_there = True
        self.faults.end("engine")
        settings = self._settings
        missing = find_missing_slots(self.state, found, policy=settings.policy, seed=settings.seed)
        # What is known of the world does not depend on whether this can be written down, so it comes last.
        if events := (*missing, *stock.notes):
            self._record(*events)

    def stop_rings(self) -> None:
        """Take every ring out of the world in good order; their jobs wait for a later life."""
        self._close_slot()
        if stopped := [
            RingFailed(
                ring.job,
                self.state.active[ring.job].active.work_done or 0.0,
                "the service was stopped",
                Cause.SERVICE,
            )
            for ring in self.state.running.rings
        ]:
            self._record(*stopped)
        self._order()

    def settle(self) -> bool:
        """Take note of rings that have left meanwhile; True when none is there any more."""
        self._follow_world()
        return not self.fleet.rings or not self._engine_is_there

    # What is shown.

    def view(self) -> View:
        """Where things stand."""
        wall, steady = self._clock.wall(), self._clock.steady()
        return View(
            state=self.state,
            last_entry=self._last,
            at=wall,
            mode=self._settings.mode,
            engine=self._backend.name,
            policy=self._settings.policy,
            slot_began=wall - (steady - self._began),
            decision=self.decision,
            faults=self.faults.now(),
            rings=show_rings(self.fleet, self.state.slot_seconds),
            counts=self.tally.counts,
        )
