"""The report of a comparison: one page, whose every number leads to the file that it stands in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from pathlib import Path

from gadget.experiments.compare import NUMBERS, TABLE, Grid, Named
from gadget.experiments.compare_numbers import LEVEL, Comparison, ScenarioNumbers, read_completions
from gadget.experiments.compare_rings import read_rings
from gadget.model.wording import say_count
from gadget.report.comparison.curves import draw_completions, draw_means
from gadget.report.comparison.gantt import Gantt, draw_gantt, find_width
from gadget.report.comparison.tables import Table, build_table, link
from gadget.report.document import build_document
from gadget.report.simulation.numbers import Metric, figure, list_metrics, ratio
from gadget.simulate.folder import DECISIONS, JOBS, REPORT, SLOTS, SUMMARY
from gadget.simulate.network import NetworkMode

_PICTURED = ("total_utility", "mean_completion_slots", "mean_waiting_slots", "jain_index")
_NOT_RELATIVE = ("certified_ratio", "measured_ratio", "upper_bound", "jobs", "violations")
_BOUND = Metric("clairvoyant bound", "upper_bound", figure, "on the total utility of any schedule")
_DEFINITIONS = (
    (
        "Jain fairness index",
        "(Σx)²/(n·Σx²) over all jobs that arrived, x being a job's work over the work of an equal share: in "
        "each slot of its stay 1/n of the cluster for n active jobs, as far as its largest ring can use it. "
        "1 is even, 1/n is all for one.",
    ),
    ("waiting", "slots in which a job was active and had no ring, over all jobs that arrived."),
    ("completion", "slots from arrival to the last slot of service, both included, over finished jobs."),
    (
        "fragmentation",
        "share of the free GPUs that lie on servers which host a worker already; mean over the slots in "
        "which any is free. 0: all that is free lies on empty servers.",
    ),
    (
        "cross-rack share",
        "ring edges whose route takes more than two links, past more than one switch, over all ring edges.",
    ),
    ("restarts", "rings of jobs served before that did not go on with the same workers; resizes are some."),
    (
        "clairvoyant bound",
        "no schedule, even one that knows the future, has a larger total utility; an LP that sees the whole "
        "cluster as one server, so that it need not be reachable.",
    ),
)


_NETWORKS = {
    NetworkMode.RESERVED: "Bandwidth is reserved for every ring.",
    NetworkMode.SHARED: "No bandwidth is reserved: rings share links, and run at the rate that this allows.",
}


@dataclass(frozen=True, slots=True)
class Showing:
    """What the Gantt charts show: the run with this seed of each policy, on so many servers."""

    seed: int
    servers: int


def build_page(folder: Path, grid: Grid, comparison: Comparison, showing: Showing) -> str:
    """The whole page as HTML; the same files give the same text."""
    count = len(comparison.policies)
    policies = "One policy" if count == 1 else f"{count} policies"
    title = f"{policies} on {say_count(len(comparison.scenarios), 'scenario')}"
    known = {named.name: named for named in grid.scenarios}
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(f"{_headline(comparison)} {_NETWORKS[comparison.network]}")}</p>',
        _partial(comparison),
        *_overall(comparison),
        *(
            part
            for one in comparison.scenarios
            for part in _scenario(folder, known[one.name], comparison, one, showing)
        ),
        "<h2>What the numbers are</h2>",
        "<table><tbody>"
        + "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in _DEFINITIONS)
        + "</tbody></table>",
        f"<footer>gadget {escape(version('gadget-scheduler'))}. All numbers of this page, and more: "
        f"{link(NUMBERS, NUMBERS)}, {link(TABLE, TABLE)}.</footer>",
    ]
    return build_document(title, body)


def _headline(comparison: Comparison) -> str:
    seeds = ", ".join(map(str, comparison.seeds[:8])) + (" …" if len(comparison.seeds) > 8 else "")
    if len(comparison.seeds) == 1:
        return f"Seed {seeds}. One run of each policy, so that there are no confidence intervals."
    return (
        f"Seeds {seeds}. Means over the seeds, below them {100 * LEVEL:.0f}% confidence intervals (Student's "
        f"t, n = {len(comparison.seeds)}); none is given where all seeds agree. A seed changes what a policy "
        "draws, not the workload."
    )


def _partial(comparison: Comparison) -> str:
    if comparison.complete:
        return ""
    some = ", ".join(one.name for one in comparison.scenarios if not one.complete)
    return (
        '<p class="partial"><b>Partial result.</b> The comparison was interrupted; not complete: '
        f"{escape(some)}. <code>--resume</code> goes on from there.</p>"
    )


def _overall(comparison: Comparison) -> Iterator[str]:
    count = len(comparison.scenarios)
    if count < 2:
        return
    overall, relative = comparison.overall(), comparison.relative()
    metrics = _metrics(overall)
    yield "<h2>Over all scenarios</h2>"
    yield (
        f'<p class="soft">Means over the {count} scenarios, each with the weight of one; intervals are by '
        f"Student's t over the scenarios (n = {count}).</p>"
    )
    yield build_table(metrics, overall, NUMBERS, "overall → {policy} → {name}")
    first = comparison.policies[0]
    ratios = [
        replace(metric, write=ratio, note="", of="")
        for metric in metrics
        if metric.name not in _NOT_RELATIVE and relative[first][metric.name].mean is not None
    ]
    if len(comparison.policies) > 1 and ratios:
        yield f"<h3>Relative to {escape(first)}</h3>"
        yield (
            '<p class="soft">Geometric means over the scenarios of the ratio of means, so that large '
            "scenarios do not outweigh small ones; of numbers that are above 0 everywhere.</p>"
        )
        yield build_table(ratios, relative, NUMBERS, "relative_to_first_policy → {policy} → {name}")


def _scenario(
    folder: Path, named: Named, comparison: Comparison, one: ScenarioNumbers, showing: Showing
) -> Iterator[str]:
    files = (REPORT, SUMMARY, SLOTS, JOBS, DECISIONS)
    links = ", ".join(link(f"{one.name}/{file}", file) for file in files)
    yield f"<h2>{escape(one.name)}</h2>"
    yield (
        f'<p class="soft">{say_count(one.slots, "slot")}, {say_count(one.servers, "server")}, '
        f"{say_count(len(named.scenario.jobs), 'job')}. Files: {links}</p>"
    )
    metrics = _metrics(one.policies)
    yield build_table(metrics, one.policies, one.file, "policies → {policy} → {name}")
    yield '<div class="pair">'
    bound = next((numbers["upper_bound"].mean for numbers in one.policies.values()), None)
    for metric in metrics:
        if metric.name in _PICTURED:
            found = {policy: numbers[metric.name] for policy, numbers in one.policies.items()}
            level = bound if metric.name == "total_utility" else None
            yield draw_means(metric, comparison.policies, found, level)
    yield "</div><h3>Completion times</h3>"
    yield draw_completions(comparison.policies, read_completions(folder, one.name))
    if showing.servers:
        yield "<h3>Servers and rings</h3>"
        every, slots = find_width(one.slots), one.slots if one.complete else None
        held = read_rings(folder / one.name, showing.seed, slots, every=every)
        for number, policy in enumerate(comparison.policies):
            picture = draw_gantt(Gantt(named.scenario, held.get(policy, []), showing.servers))
            yield (
                f"<details{' open' if number == 0 else ''}><summary>{escape(policy)} (seed {showing.seed})"
                f"</summary>{picture}</details>"
            )


def _metrics(table: Table) -> list[Metric]:
    means: list[Mapping[str, float | None]] = [
        {name: found.mean for name, found in numbers.items()} for numbers in table.values()
    ]
    metrics = list_metrics(means)
    place = next(number for number, metric in enumerate(metrics) if metric.name == "measured_ratio")
    return [*metrics[:place], _BOUND, *metrics[place:]]
