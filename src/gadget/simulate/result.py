"""What a simulation found: by slot, by job, by run and over all runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gadget.simulate.guarantee import Guarantees
from gadget.simulate.summary import PolicySummary, RunSummary, summarise_policy, summarise_run

if TYPE_CHECKING:
    from gadget.simulate.frames import Frames


@dataclass(frozen=True, slots=True)
class SlotResult:
    """One slot of a run."""

    slot: int
    active: int
    """Jobs that had arrived and not ended when the slot was decided."""
    embedded: int
    """Those of them that got a ring."""
    utility: float
    """Σ μ(work) over all jobs that have arrived, at the end of the slot."""
    objective: float
    upper_bound: float | None
    surrogate_objective: float | None
    surrogate_upper_bound: float | None
    ratio: float | None
    """α_t: the share of its bound that the slot reached, read in the surrogate where there is one."""
    utilisation: Mapping[str, float]
    """Share of what the standing servers have that workers take, by resource."""
    max_link_load: float
    """The largest share of a directed link's capacity that is reserved."""
    resizes: int
    moves: int
    restarts: int
    """Rings of jobs served before that did not go on with the same workers."""
    ring_edges: int
    """Edges of all rings; a ring of one worker has none."""
    cross_rack_edges: int
    """Those whose route leaves the rack: over more than two links."""
    fragmentation: float | None
    """Share of the free GPUs that lie on servers which host a worker already; None where none is free."""
    violations: int
    seconds: float
    """Time to decide."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """One job of a run that arrived within it."""

    job: str
    status: str
    arrival: int
    first_start: int | None
    finish: int | None
    """The slot of its last service, if it finished."""
    slots_served: int
    worker_slots: float
    work: float
    utility: float
    """μ(work)."""
    gain: float
    """μ(work) − μ(0): a sigmoid is worth something before any work is done."""
    resizes: int
    restarts: int
    work_lost: float
    """Work that restarts lost."""
    waiting_slots: int
    """Slots in which it was active and had no ring."""
    completion_slots: int | None
    """From its arrival to its last service, both included, if it finished."""
    service_share: float | None
    """Its work over that of an equal share of the cluster; None if such a share does no work."""
    deadline: int | None = None
    """The slot before which it should have been done."""
    priority: float = 1


@dataclass(frozen=True)
class Timeline:
    """One number for every slot and column (a job, a directed link), most of them 0: compressed rows."""

    names: tuple[str, ...]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def slots(self) -> int:
        """How many slots it covers."""
        return len(self.starts) - 1

    def totals(self) -> NDArray[np.float64]:
        """The sum over all slots, by column."""
        return np.bincount(self.columns, self.values, minlength=len(self.names)).astype(np.float64)

    def rows_of(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """The chosen columns in full, (columns × slots)."""
        place = np.full(len(self.names), -1)
        place[list(columns)] = np.arange(len(columns))
        dense = np.zeros((len(columns), self.slots))
        slot = np.repeat(np.arange(self.slots), np.diff(self.starts))
        wanted = place[self.columns] >= 0
        dense[place[self.columns[wanted]], slot[wanted]] = self.values[wanted]
        return dense


@dataclass(frozen=True)
class RunResult:
    """One policy with one seed over the horizon, or over as much of it as was run."""

    policy: str
    seed: int
    complete: bool
    slots: tuple[SlotResult, ...]
    jobs: tuple[JobResult, ...]
    ring_sizes: Timeline
    """Workers of every job in every slot."""
    link_loads: Timeline
    """Reserved share of every directed link in every slot."""

    @property
    def total_utility(self) -> float:
        """Σ_i μ_i(ζ_i z_iT) over all jobs that arrived."""
        return self.slots[-1].utility if self.slots else 0.0


@dataclass(frozen=True)
class SimulationResult:
    """All runs on one scenario, by policy, then by seed."""

    horizon: int
    servers: int
    runs: tuple[RunResult, ...]
    guarantees: Guarantees

    @property
    def complete(self) -> bool:
        """True when every run covers the whole horizon."""
        return all(run.complete for run in self.runs)

    @cached_property
    def policies(self) -> Mapping[str, tuple[RunResult, ...]]:
        """The runs of each policy, by seed."""
        labels = dict.fromkeys(run.policy for run in self.runs)
        return {label: tuple(run for run in self.runs if run.policy == label) for label in labels}

    def summarise(self, run: RunResult) -> RunSummary:
        """The numbers of one run."""
        return summarise_run(run, self.guarantees)

    @cached_property
    def summaries(self) -> Mapping[str, PolicySummary]:
        """The numbers of each policy over its seeds."""
        return {
            label: summarise_policy(tuple(self.summarise(run) for run in runs))
            for label, runs in self.policies.items()
        }

    def to_frames(self) -> "Frames":
        """The results as pandas data frames; MissingPackage if pandas is not installed."""
        from gadget.simulate.frames import build_frames  # noqa: PLC0415 - pandas is optional

        return build_frames(self)
