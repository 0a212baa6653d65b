"""What can be promised about a scenario before and after it is run."""

from dataclasses import dataclass, replace

from gadget.model.job import Job
from gadget.model.snapshot import Scenario
from gadget.model.wording import say_count
from gadget.solve.greedy import largest_ring
from gadget.solve.guarantees import admits_certificate, paper_ratio
from gadget.solve.horizon import clairvoyant_bound
from gadget.solve.network import compile_network


@dataclass(frozen=True, slots=True)
class Guarantees:
    """Γ, the paper's ratio, the bound of a scheduler that knows the future, and whether α/(α+1) holds."""

    gamma: int
    """Γ: the largest ring that any job can have on the empty cluster."""
    paper_ratio: float | None
    """1/(3Γ+1) of Thm 10; None where no ring is possible at all, or where there is an obstacle."""
    obstacle: str | None
    """Why Thm 6 promises nothing here; None if it does."""
    upper_bound: float | None
    """On the total utility of any schedule; None where it was not computed."""


def find_guarantees(scenario: Scenario, *, with_bound: bool = True) -> Guarantees:
    """All that follows from the scenario alone; jobs that arrive after its end do not count."""
    arriving = replace(scenario, jobs=tuple(job for job in scenario.jobs if job.arrival < scenario.slots))
    gamma = find_gamma(arriving)
    obstacle = find_obstacle(arriving)
    return Guarantees(
        gamma,
        paper_ratio(gamma) if gamma and obstacle is None else None,
        obstacle,
        clairvoyant_bound(arriving) if with_bound else None,
    )


def find_gamma(scenario: Scenario) -> int:
    """Γ: over all jobs, the most of min(N_i, workers that the empty cluster holds as one ring)."""
    network = compile_network(scenario.cluster)
    gamma = 0
    for job in sorted(scenario.jobs, key=lambda job: -job.max_workers):
        if job.max_workers <= gamma:
            break
        gamma = max(gamma, largest_ring(network, job))
    return gamma


def find_obstacle(scenario: Scenario) -> str | None:
    """Why the certified ratio does not hold for this scenario; None if it does.

    The proof of Thm 6 takes gains that depend on the work done so far alone. Where a restart costs work they
    depend on the rings of the slot before too, so nothing is promised as soon as one job has a `resize_cost`.
    """
    found = [(job.name, obstacle) for job in scenario.jobs if (obstacle := _obstacle_of(job, scenario.slots))]
    if not found:
        return None
    name, obstacle = found[0]
    return f"{len(found):,} of {say_count(len(scenario.jobs), 'job')}, first {name!r}: {obstacle}"


def _obstacle_of(job: Job, slots: int) -> str | None:
    if job.loses_by_restart:
        return "its restarts cost work or time, so what it gains depends on its ring of the slot before"
    # A budget that outlasts the horizon couples no slots.
    outlasts = job.worker_slots >= job.max_workers * (slots - job.arrival)
    if admits_certificate(job) or (outlasts and job.worth.admits_guarantee):
        return None
    if not job.worth.admits_guarantee:
        return f"its utility ({job.utility.kind}) is not concave and non-decreasing"
    if job.min_workers > 1:
        return f"its budget may leave less than its smallest ring of {job.min_workers} workers takes"
    return "its budget counts worker-slots, and their work depends on the ring (timing)"
