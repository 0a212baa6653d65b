"""The settings of the paper's experiment (Sec. VI), in full and for a quick look."""

from dataclasses import dataclass, replace

from gadget.errors import BadOption
from gadget.workloads.paper import BudgetUnit


@dataclass(frozen=True)
class Settings:
    """Everything that decides a point of a figure; it is written beside the results."""

    slots: int = 200
    servers: int = 50
    trials: int = 5
    jobs: tuple[int, ...] = (50, 100, 200, 300, 450, 600)
    """Fig. utility: numbers of jobs."""
    capacity_jobs: int = 200
    """Jobs in the two figures on capacities and in that on the ratio."""
    node_units: tuple[float, ...] = (1, 2, 3, 4, 5)
    """Fig. NRF: GPUs of the whole cluster, in units of 100."""
    link_units: tuple[float, ...] = (0.05, 0.25, 1, 2, 4)
    """Fig. ERF: Gbps of all server links together, in units of 200; rack links are scaled alike."""
    ratio_jobs: tuple[int, ...] = (60, 100, 140)
    """Fig. ratio: numbers of jobs, all there from the first slot on."""
    ratio_slots: int = 5
    """First slots of a run, in which the optimum is computed."""
    optimum_seconds: float = 60.0
    """Time limit of one optimum; where it runs out, the ratio is to the bound reached, a larger number."""
    rounds: int = 10
    """u_b of Algorithm 2."""
    slot_seconds: float = 60.0
    clipped: bool = True
    """Baselines draw 1 … 10 workers, clipped to N_i; else every N_i is raised to the number drawn."""
    seed: int = 0

    def __post_init__(self) -> None:
        numbers = (self.slots, self.servers, self.trials, self.ratio_slots, self.rounds, self.capacity_jobs)
        if min(numbers) < 1 or min((*self.jobs, *self.ratio_jobs), default=0) < 1:
            raise BadOption("reproduce: slots, servers, trials and numbers of jobs are 1 or more.")
        if len(set(self.jobs)) < len(self.jobs) or len(set(self.ratio_jobs)) < len(self.ratio_jobs):
            raise BadOption("reproduce: a number of jobs is given twice. Name each once.")
        if min((*self.node_units, *self.link_units), default=0) <= 0:
            raise BadOption("reproduce: capacities are above 0.")


def quick(settings: Settings) -> Settings:
    """The same experiment, small enough for two minutes on two cores."""
    return replace(
        settings,
        slots=40,
        trials=3,
        jobs=(40, 120, 200),
        capacity_jobs=120,
        node_units=(1, 2, 4),
        link_units=(0.05, 1, 4),
        ratio_jobs=(40, 80),
        ratio_slots=2,
        optimum_seconds=10.0,
        rounds=3,
    )


READINGS = (BudgetUnit.WORKER_SLOTS, BudgetUnit.ITERATIONS)
"""Both readings of the budget F; worker-slots is the default one (problem.md §2)."""
