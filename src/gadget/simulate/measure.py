"""From steps to results: one meter follows one run."""

from collections import defaultdict
from collections.abc import Mapping
from math import fsum

import numpy as np

from gadget.engine.effects import MoveRing, ResizeRing
from gadget.engine.state import JobRecord, JobStatus, State, begin
from gadget.model.cluster import Cluster
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.simulate.fairness import Floats, equal_share_work
from gadget.simulate.locality import count_cross_rack, counted_resource, find_fragmentation
from gadget.simulate.loop import Step
from gadget.simulate.result import JobResult, RunResult, SlotResult, Timeline
from gadget.solve.guarantees import slot_ratio


class Meter:
    """Takes the steps of a run one by one; knows its results so far at any time."""

    def __init__(self, scenario: Scenario, policy: str, seed: int) -> None:
        self._scenario = scenario
        self._policy = policy
        self._seed = seed
        self._slots: list[SlotResult] = []
        self._state: State = begin(scenario)
        self._utility: dict[str, float] = {}
        self._work: dict[str, tuple[float, float]] = {}
        self._resources = scenario.cluster.resource_names
        self._totals: tuple[Cluster | None, Mapping[str, float]] = (None, {})
        self._spans: list[tuple[int, Mapping[str, float]]] = []
        self._counted = counted_resource(scenario.cluster)
        self._job_number = {job.name: number for number, job in enumerate(scenario.jobs)}
        ways = [way for link in scenario.cluster.links for way in (link.ends, link.ends[::-1])]
        self._link_number = {way: number for number, way in enumerate(ways)}
        self._sizes = _Rows(tuple(self._job_number))
        self._loads = _Rows(tuple(f"{here} → {there}" for here, there in ways))

    def add(self, step: Step) -> SlotResult:
        """Take one step and say what the slot came to."""
        self._state = step.state
        self._note_totals(step.snapshot)
        for job in step.arrived:
            self._utility[job.name] = float(job.worth.value(0.0))
        decision = step.decision
        rings = decision.allocation.rings
        for ring in rings:
            record = step.state.record_of(ring.job)
            work = record.active.work(self._scenario.slot_seconds)
            self._utility[ring.job] = float(record.job.worth.value(work))
            self._work[ring.job] = work, work - self._work.get(ring.job, (0.0, 0.0))[0]
        loads = self._link_loads(step.snapshot, decision.allocation)
        self._loads.add(loads)
        self._sizes.add({self._job_number[ring.job]: ring.size for ring in rings})
        surrogate = decision.surrogate
        result = SlotResult(
            slot=decision.slot,
            active=len(step.snapshot.jobs),
            embedded=len(rings),
            utility=fsum(self._utility.values()),
            objective=float(decision.objective),
            upper_bound=_number(decision.upper_bound),
            surrogate_objective=None if surrogate is None else float(surrogate.objective),
            surrogate_upper_bound=None if surrogate is None else _number(surrogate.upper_bound),
            ratio=slot_ratio(decision) if step.snapshot.jobs else 1.0,
            utilisation=self._utilisation(step.snapshot, decision.allocation),
            max_link_load=max(loads.values(), default=0.0),
            resizes=sum(isinstance(effect, ResizeRing) for effect in step.effects),
            moves=sum(isinstance(effect, MoveRing) for effect in step.effects),
            restarts=sum(map(step.snapshot.is_restart, rings)),
            ring_edges=sum(len(ring.routes) for ring in rings),
            cross_rack_edges=sum(map(count_cross_rack, rings)),
            fragmentation=self._fragmentation(step.snapshot, decision.allocation),
            violations=len(step.violations),
            seconds=float(decision.seconds),
        )
        self._slots.append(result)
        return result

    def result(self) -> RunResult:
        """What the run came to so far."""
        records = {**self._state.active, **self._state.ended}
        crowd = self._crowd()
        return RunResult(
            policy=self._policy,
            seed=self._seed,
            complete=len(self._slots) == self._scenario.slots,
            slots=tuple(self._slots),
            jobs=tuple(
                self._job_result(records[job.name], *crowd)
                for job in self._scenario.jobs
                if job.name in records
            ),
            ring_sizes=self._sizes.timeline(),
            link_loads=self._loads.timeline(),
        )

    def _job_result(self, record: JobRecord, active: Floats, totals: Mapping[str, Floats]) -> JobResult:
        name, utility = record.job.name, record.job.worth
        work = float(record.active.work(self._scenario.slot_seconds))
        status = self._state.status_of(name)
        finish = record.ended if status is JobStatus.FINISHED else None
        stay = slice(record.arrived, self._end_of_stay(record))
        share = equal_share_work(
            record.job,
            active[stay],
            {key: values[stay] for key, values in totals.items()},
            self._scenario.slot_seconds,
            left_at_end=None if finish is None else self._work[name][1],
        )
        return JobResult(
            job=name,
            status=str(status),
            arrival=record.arrived,
            first_start=record.first_start,
            finish=finish,
            slots_served=int(record.slots_served),
            worker_slots=record.active.served,
            work=work,
            utility=self._utility[name],
            gain=float(utility.gain(0.0, work)),
            resizes=record.resizes,
            restarts=record.restarts,
            work_lost=record.work_lost,
            waiting_slots=stay.stop - stay.start - int(record.slots_served),
            completion_slots=None if finish is None else finish - record.arrived + 1,
            service_share=work / share if share > 0 else None,
            deadline=record.job.deadline,
            priority=float(record.job.priority),
        )

    def _end_of_stay(self, record: JobRecord) -> int:
        """The first slot in which it was not active any more."""
        match record.ending:
            case None:
                return len(self._slots)
            case JobStatus.FINISHED:
                assert record.ended is not None  # check_state sees to it
                return record.ended + 1
            case _:  # it left, or was refused, before that slot was decided
                assert record.ended is not None
                return record.ended

    def _crowd(self) -> tuple[Floats, dict[str, Floats]]:
        """For every slot so far the active jobs, and what the standing servers had, by resource."""
        active = np.array([slot.active for slot in self._slots], dtype=np.float64)
        starts = [start for start, _ in self._spans]
        lengths = np.diff([*starts, len(active)])
        return active, {
            name: np.repeat([totals[name] for _, totals in self._spans], lengths) for name in self._resources
        }

    def _note_totals(self, snapshot: Snapshot) -> None:
        """What the standing servers have, summed up once as long as they are the same."""
        if self._totals[0] is not snapshot.cluster:
            totals = {name: snapshot.cluster.total(name) for name in self._resources}
            self._totals = snapshot.cluster, totals
            self._spans.append((len(self._slots), totals))

    def _fragmentation(self, snapshot: Snapshot, allocation: Allocation) -> float | None:
        resource = self._counted
        takes = {
            ring.job: snapshot.job_by_name[ring.job].job.resources.get(resource or "", 0.0)
            for ring in allocation.rings
        }
        total = self._totals[1].get(resource or "", 0.0)
        return find_fragmentation(snapshot.cluster, resource, total, allocation, takes)

    def _utilisation(self, snapshot: Snapshot, allocation: Allocation) -> dict[str, float]:
        used: defaultdict[str, float] = defaultdict(float)
        for ring in allocation.rings:
            for name, amount in snapshot.job_by_name[ring.job].job.resources.items():
                used[name] += ring.size * amount
        return {name: used[name] / total if total else 0.0 for name, total in self._totals[1].items()}

    def _link_loads(self, snapshot: Snapshot, allocation: Allocation) -> dict[int, float]:
        """Reserved share of each directed link that a ring crosses."""
        reserved: defaultdict[tuple[str, str], float] = defaultdict(float)
        for ring in allocation.rings:
            gbps = snapshot.job_by_name[ring.job].job.bandwidth_gbps
            for hop in ring.hops():
                reserved[hop] += gbps
        around = self._scenario.cluster.neighbours
        return {
            self._link_number[here, there]: _share(gbps, around[here][there])
            for (here, there), gbps in reserved.items()
            if (here, there) in self._link_number  # a violation allowed may run where no link is
        }


class _Rows:
    """A timeline while it grows."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._starts = [0]
        self._columns: list[int] = []
        self._values: list[float] = []

    def add(self, row: Mapping[int, float]) -> None:
        self._columns.extend(row)
        self._values.extend(row.values())
        self._starts.append(len(self._columns))

    def timeline(self) -> Timeline:
        return Timeline(
            self._names,
            np.array(self._starts, dtype=np.int64),
            np.array(self._columns, dtype=np.int64),
            np.array(self._values, dtype=np.float64),
        )


def _share(amount: float, capacity: float) -> float:
    if capacity:
        return amount / capacity
    return float("inf") if amount else 0.0


def _number(number: float | None) -> float | None:
    return None if number is None else float(number)
