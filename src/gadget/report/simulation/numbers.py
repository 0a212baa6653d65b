"""The numbers of a policy as rows of text, the same on the terminal and on the page."""

from collections.abc import Callable
from dataclasses import dataclass

from gadget.simulate.result import SimulationResult
from gadget.simulate.summary import TAIL_PERCENT, PolicySummary

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the summary: what it is called, and how a policy's value is written."""

    title: str
    show: Callable[[PolicySummary], str]
    note: str = ""


def find_metrics(result: SimulationResult) -> list[Metric]:
    """The rows that say something about these runs."""
    metrics = [
        _metric("total utility", "total_utility", figure, "Σ μ(work) over all jobs that arrived"),
        _metric("gain over doing nothing", "utility_gain", figure, "Σ μ(work) − μ(0)"),
        _metric("ratio to the clairvoyant bound", "measured_ratio", ratio, "total utility / upper bound"),
        _metric("certified ratio", "certified_ratio", ratio, "α/(α+1), proved for this run"),
        Metric("jobs finished", _finished, "their budget pays for no further ring"),
        _metric("mean completion, slots", "mean_completion_slots", figure, "finished jobs, from arrival"),
        _metric(f"{TAIL_PERCENT}% complete within, slots", "tail_completion_slots", figure),
    ]
    if any(job.priority != 1 for run in result.runs for job in run.jobs):
        note = "finished jobs, by their priority"
        metrics.append(_metric("weighted completion, slots", "weighted_completion_slots", figure, note))
    if any(job.deadline is not None for run in result.runs for job in run.jobs):
        metrics.append(_metric("deadlines met", "deadlines_met", percent, "of the jobs that have one"))
    metrics += [
        _metric("share embedded", "share_embedded", percent, "mean over slots of jobs with a ring / active"),
    ]
    metrics += [_utilisation(name) for name in next(iter(result.summaries.values())).mean.utilisation]
    metrics.append(_metric("resizes", "resizes", figure, "rings that went on with another size"))
    metrics.append(_metric("restarts", "restarts", figure, "rings of jobs served before, on other workers"))
    if any(summary.mean.work_lost for summary in result.summaries.values()):
        metrics.append(_metric("work lost", "work_lost", figure, "by restarts of jobs with a resize_cost"))
    if any(summary.mean.violations for summary in result.summaries.values()):
        metrics.append(_metric("constraints broken", "violations", figure, "counted by the referee"))
    metrics.append(_metric("seconds a slot", "seconds_per_slot", figure, "time to decide"))
    return metrics


def figure(number: float) -> str:
    """A number in as many digits as people read."""
    if number == int(number) and abs(number) < 1e6:
        return f"{int(number):,}"
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e9 else f"{number:.4g}"


def ratio(number: float) -> str:
    """A share of 1."""
    return f"{number:.3f}"


def percent(number: float) -> str:
    """A share of a hundred."""
    return f"{100 * number:.1f}%"


def _metric(title: str, name: str, write: Callable[[float], str], note: str = "") -> Metric:
    def show(summary: PolicySummary) -> str:
        value = getattr(summary.mean, name)
        if value is None:
            return NOTHING
        return write(value) + _spread(summary.spread.get(name, 0.0), write)

    return Metric(title, show, note)


def _utilisation(resource: str) -> Metric:
    return Metric(
        f"utilisation of {resource}",
        lambda summary: percent(summary.mean.utilisation.get(resource, 0.0)),
        "mean over slots",
    )


def _finished(summary: PolicySummary) -> str:
    return f"{figure(summary.mean.jobs_finished)} of {figure(summary.mean.jobs)}"


def _spread(deviation: float, write: Callable[[float], str]) -> str:
    return f" ± {write(float(f'{deviation:.2g}'))}" if deviation else ""
