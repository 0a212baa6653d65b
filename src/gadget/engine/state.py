"""Where things stand between two events: one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gadget.errors import ImpossibleEvent
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.names import nearest_hint
from gadget.model.prices import Prices
from gadget.model.ring import Allocation
from gadget.model.snapshot import NOTHING_RUNS, Scenario


class JobStatus(StrEnum):
    """What has become of a job that arrived."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    """Its work is done, or its budget pays for no further ring."""
    LEFT = "left"
    """It was cancelled."""
    REFUSED = "refused"
    """Its budget paid for no ring from the start."""
    FAILED = "failed"
    """Its rings broke again and again without getting any further."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job that has arrived, and its life so far."""

    active: ActiveJob
    """The job with z and its work so far, as policies see it."""
    arrived: int
    """The slot in which it came."""
    first_start: int | None = None
    """The first slot in which it had a ring."""
    ring_since: int | None = None
    """The slot whose decision started its last ring: no other ring of the job has this number."""
    slots_served: float = 0
    """Slots in which it was served; one that was cut short counts by its part."""
    resizes: int = 0
    """How often its ring went on with another number of workers."""
    restarts: int = 0
    """How often a ring of it was a restart, see `ActiveJob.is_restart`; every resize is one."""
    work_lost: float = 0.0
    """Work that restarts have lost, as its `resize_cost` says."""
    failures: int = 0
    """How often its ring broke."""
    last_failure: str | None = None
    """Why it broke last."""
    fruitless: int = 0
    """How often in a row its ring broke by its own fault without getting any further."""
    broke_at: float = -1.0
    """The work that its last failure left."""
    ending: JobStatus | None = None
    """How it ended, if it has."""
    ended: int | None = None
    """The slot in which it ended: of its last service, of its leaving or of its refusal."""
    finished_at: float | None = None
    """When its work was done, in slots from the start, with the part of the last one; None without `work`."""

    @property
    def job(self) -> Job:
        """What the user asked for."""
        return self.active.job


@dataclass(frozen=True)
class State:
    """The cluster, its jobs and the rings that run.

    The maps are never changed, only replaced. Jobs that have ended are kept apart, so that the cost of
    an event follows the jobs in the queue, not all that ever were.
    """

    cluster: Cluster
    """All of it, failed servers included."""
    slots: int
    slot_seconds: float
    slot: int = 0
    """The present slot; equal to `slots` when the horizon is over."""
    decided: bool = False
    """True from the decision on the present slot until it is served."""
    down: frozenset[str] = frozenset()
    """Servers that have failed and not returned."""
    drained: frozenset[str] = frozenset()
    """Servers that shall take no workers; they still forward."""
    available: Cluster = field(kw_only=True)
    """What may be used of the cluster. One object as long as that is the same: solvers compile it once."""
    active: Mapping[str, JobRecord] = field(default_factory=dict)
    """Jobs that wait or run, by name, in order of arrival."""
    ended: Mapping[str, JobRecord] = field(default_factory=dict)
    """Jobs that finished, left or were refused, by name, in that order."""
    running: Allocation = NOTHING_RUNS
    """The rings of the present slot once it is decided; before that, what goes on from the slot before."""
    restarting: frozenset[str] = frozenset()
    """Jobs whose rings were restarts when the present slot was decided; empty when it is served."""
    is_measured: bool = False
    """True when the work of rings is seen, not computed from what the jobs say of themselves."""
    prices: Prices | None = field(default=None, compare=False, repr=False)
    """What the last decision ended with: a start for the next one, no part of what happened."""

    def record_of(self, job: str) -> JobRecord:
        """The record of a job, active or ended."""
        record = self.active.get(job) or self.ended.get(job)
        if record is None:
            raise ImpossibleEvent(f"no job named {job!r} has arrived by slot {self.slot}.")
        return record

    def active_record(self, job: str) -> JobRecord:
        """The record of a job that waits or runs; ImpossibleEvent if it does not."""
        if job not in self.active:
            fate = f"has {self.ended[job].ending}" if job in self.ended else "has not arrived"
            raise ImpossibleEvent(f"job {job!r} {fate} in slot {self.slot}{nearest_hint(job, self.active)}.")
        return self.active[job]

    def status_of(self, job: str) -> JobStatus:
        """What has become of a job."""
        if job in self.active:
            return JobStatus.RUNNING if job in self.running.ring_of else JobStatus.WAITING
        ending = self.record_of(job).ending
        assert ending is not None  # check_state sees to it
        return ending


def begin(scenario: Scenario, *, is_measured: bool = False) -> State:
    """The state before anything has happened: no jobs, every server stands."""
    return State(
        scenario.cluster,
        scenario.slots,
        scenario.slot_seconds,
        available=scenario.cluster,
        is_measured=is_measured,
    )


def find_standing(cluster: Cluster, down: frozenset[str]) -> Cluster:
    """What stands of a cluster: all but the servers that are down, and their links."""
    return cluster.without(down) if down else cluster


def find_available(cluster: Cluster, down: frozenset[str], drained: frozenset[str]) -> Cluster:
    """What may be used of a cluster: what stands, less drained servers, which only forward."""
    standing = find_standing(cluster, down)
    empty = drained - down
    return standing.without(empty, forwarding=True) if empty else standing
