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
        self._resources = scenario.cluster.resource_names
        self._totals: tuple[Cluster | None, Mapping[str, float]] = (None, {})
        self._job_number = {job.name: number for number, job in enumerate(scenario.jobs)}
        ways = [way for link in scenario.cluster.links for way in (link.ends, link.ends[::-1])]
        self._link_number = {way: number for number, way in enumerate(ways)}
        self._sizes = _Rows(tuple(self._job_number))
        self._loads = _Rows(tuple(f"{here} → {there}" for here, there in ways))

    def add(self, step: Step) -> SlotResult:
        """Take one step and say what the slot came to."""
        self._state = step.state
        for job in step.arrived:
            self._utility[job.name] = float(job.worth.value(0.0))
        decision = step.decision
        rings = decision.allocation.rings
        for ring in rings:
            record = step.state.record_of(ring.job)
            work = record.active.work(self._scenario.slot_seconds)
            self._utility[ring.job] = float(record.job.worth.value(work))
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
            violations=len(step.violations),
            seconds=float(decision.seconds),
        )
        self._slots.append(result)
        return result

    def result(self) -> RunResult:
        """What the run came to so far."""
        records = {**self._state.active, **self._state.ended}
        return RunResult(
            policy=self._policy,
            seed=self._seed,
            complete=len(self._slots) == self._scenario.slots,
            slots=tuple(self._slots),
            jobs=tuple(
                self._job_result(records[job.name]) for job in self._scenario.jobs if job.name in records
            ),
            ring_sizes=self._sizes.timeline(),
            link_loads=self._loads.timeline(),
        )

    def _job_result(self, record: JobRecord) -> JobResult:
        name, utility = record.job.name, record.job.worth
        work = float(record.active.work(self._scenario.slot_seconds))
        status = self._state.status_of(name)
        return JobResult(
            job=name,
            status=str(status),
            arrival=record.arrived,
            first_start=record.first_start,
            finish=record.ended if status is JobStatus.FINISHED else None,
            slots_served=record.slots_served,
            worker_slots=record.active.served,
            work=work,
            utility=self._utility[name],
            gain=float(utility.gain(0.0, work)),
            resizes=record.resizes,
            restarts=record.restarts,
            work_lost=record.work_lost,
            deadline=record.job.deadline,
            priority=float(record.job.priority),
        )

    def _utilisation(self, snapshot: Snapshot, allocation: Allocation) -> dict[str, float]:
        used: defaultdict[str, float] = defaultdict(float)
        for ring in allocation.rings:
            for name, amount in snapshot.job_by_name[ring.job].job.resources.items():
                used[name] += ring.size * amount
        cluster, totals = self._totals
        if cluster is not snapshot.cluster:
            totals = {name: snapshot.cluster.total(name) for name in self._resources}
            self._totals = snapshot.cluster, totals
        return {name: used[name] / total if total else 0.0 for name, total in totals.items()}

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
