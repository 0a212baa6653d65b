"""The numbers of a policy as rows of text, the same on the terminal and on every page."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import isclose

from gadget.simulate.result import SimulationResult
from gadget.simulate.rows import flatten
from gadget.simulate.summary import TAIL_PERCENT, PolicySummary

NOTHING = "–"
_USE = "utilisation_"


class Wish(Enum):
    """What people want of a number."""

    MORE = "more"
    LESS = "less"
    NONE = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the summary: what it is called, and how a policy's value is written."""

    title: str
    name: str
    """The number's name in a flat row of a summary, as in the files."""
    write: Callable[[float], str]
    note: str = ""
    wish: Wish = Wish.NONE
    of: str = ""
    """The name of what it is counted out of."""

    def show(self, summary: PolicySummary) -> str:
        """The mean of a policy, and its spread where it has one."""
        means = flatten(summary.mean)
        value = means.get(self.name)
        if value is None:
            return NOTHING
        if self.of:
            return f"{self.write(value)} of {self.write(means[self.of])}"
        return self.write(value) + _spread(summary.spread.get(self.name, 0.0), self.write)


def find_metrics(result: SimulationResult) -> list[Metric]:
    """The rows that say something about these runs."""
    return list_metrics(flatten(summary.mean) for summary in result.summaries.values())


def list_metrics(means: Iterable[Mapping[str, float | None]]) -> list[Metric]:
    """The rows that say something about policies with these means, by name."""
    known = list(means)
    more, less = Wish.MORE, Wish.LESS
    metrics = [
        Metric("total utility", "total_utility", figure, "Σ μ(work) over all jobs that arrived", more),
        Metric("gain over doing nothing", "utility_gain", figure, "Σ μ(work) − μ(0)", more),
        Metric(
            "ratio to the clairvoyant bound", "measured_ratio", ratio, "total utility / upper bound", more
        ),
        Metric("certified ratio", "certified_ratio", ratio, "α/(α+1), proved for this run", more),
        Metric(
            "jobs finished",
            "jobs_finished",
            figure,
            "work done, or their budget pays for no further ring",
            more,
            "jobs",
        ),
        Metric(
            "mean completion, slots", "mean_completion_slots", figure, "finished jobs, from arrival", less
        ),
        Metric(f"{TAIL_PERCENT}% complete within, slots", "tail_completion_slots", figure, "", less),
    ]
    if any(_is_weighted(mean) for mean in known):
        note = "finished jobs, by their priority"
        metrics.append(Metric("weighted completion, slots", "weighted_completion_slots", figure, note, less))
    if any(mean.get("deadlines_met") is not None for mean in known):
        note = "of the jobs that have one"
        metrics.append(Metric("deadlines met", "deadlines_met", percent, note, more))
    metrics += [
        Metric(
            "share embedded",
            "share_embedded",
            percent,
            "mean over slots of jobs with a ring / active",
            more,
        ),
    ]
    uses = dict.fromkeys(name for mean in known for name in mean if name.startswith(_USE))
    metrics += [
        Metric(f"utilisation of {name.removeprefix(_USE)}", name, percent, "mean over slots", more)
        for name in uses
    ]
    metrics += [
        Metric("mean waiting, slots", "mean_waiting_slots", figure, "all jobs, active without a ring", less),
        Metric(f"{TAIL_PERCENT}% wait no longer, slots", "tail_waiting_slots", figure, "", less),
        Metric(
            "Jain fairness index", "jain_index", ratio, "of work over that of an equal share; 1 is even", more
        ),
        Metric(
            "fragmentation", "fragmentation", percent, "of free GPUs, beside workers on their server", less
        ),
        Metric(
            "cross-rack share", "cross_rack_share", percent, "of ring edges, over more than 2 links", less
        ),
        Metric("resizes", "resizes", figure, "rings that went on with another size", less),
        Metric("restarts", "restarts", figure, "rings of jobs served before, on other workers", less),
    ]
    if any(mean.get("work_lost") for mean in known):
        metrics.append(Metric("work lost", "work_lost", figure, "by restarts", less))
    if any(mean.get("violations") for mean in known):
        metrics.append(Metric("constraints broken", "violations", figure, "counted by the referee", less))
    metrics.append(Metric("seconds a slot", "seconds_per_slot", figure, "time to decide", less))
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


def _is_weighted(mean: Mapping[str, float | None]) -> bool:
    """Whether priorities make a difference to the mean completion time."""
    plain, weighted = mean.get("mean_completion_slots"), mean.get("weighted_completion_slots")
    return plain is not None and weighted is not None and not isclose(plain, weighted, rel_tol=1e-9)


def _spread(deviation: float, write: Callable[[float], str]) -> str:
    return f" ± {write(float(f'{deviation:.2g}'))}" if deviation else ""
