"""The report of a simulation: one page that needs nothing beside itself, not even JavaScript."""

from html import escape
from importlib.metadata import version

from gadget.model.wording import say_count
from gadget.report.document import build_document
from gadget.report.simulation.numbers import NOTHING, figure, find_metrics, ratio
from gadget.report.simulation.pictures import draw_links, draw_sizes, draw_utilisation, draw_utility
from gadget.simulate.result import RunResult, SimulationResult


def build_page(result: SimulationResult, title: str) -> str:
    """The whole page as HTML; the same results give the same text."""
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(_headline(result))}</p>',
        _partial(result),
        "<h2>Summary</h2>",
        _summary(result),
        "<h2>Utility over time</h2>",
        draw_utility(result),
        "<h2>Utilisation</h2>",
        draw_utilisation(result),
        "<h2>Rings and links over time</h2>",
        *(_details(result, number) for number in range(len(result.policies))),
        "<h2>Guarantees</h2>",
        _guarantees(result),
        f"<footer>gadget {escape(version('gadget-scheduler'))}. The numbers are in summary.json, slots.csv "
        "and jobs.csv, every decision in decisions.jsonl.</footer>",
    ]
    return build_document(title, body)


def _headline(result: SimulationResult) -> str:
    jobs = max((len(run.jobs) for run in result.runs), default=0)
    seeds = sorted({run.seed for run in result.runs})
    some = ", ".join(map(str, seeds[:8])) + (" …" if len(seeds) > 8 else "")
    shown = f"seed{'s' if len(seeds) > 1 else ''} {some}"
    told = ((result.horizon, "slot"), (result.servers, "server"), (jobs, "job"))
    counts = ", ".join(say_count(*one) for one in told)
    return f"{counts}; {shown}"


def _partial(result: SimulationResult) -> str:
    if result.complete:
        return ""
    done = ", ".join(
        f"{run.policy} (seed {run.seed}) {len(run.slots)}" for run in result.runs if not run.complete
    )
    return (
        f'<p class="partial"><b>Partial result.</b> The simulation was interrupted; of {result.horizon} '
        f"slots were decided: {escape(done)}. <code>--resume</code> goes on from there.</p>"
    )


def _summary(result: SimulationResult) -> str:
    heads = "".join(f'<th class="n">{escape(label)}</th>' for label in result.summaries)
    rows = []
    for metric in find_metrics(result):
        note = f'<span class="note">{escape(metric.note)}</span>' if metric.note else ""
        cells = "".join(f'<td class="n">{escape(metric.show(one))}</td>' for one in result.summaries.values())
        rows.append(f"<tr><th>{escape(metric.title)}{note}</th>{cells}</tr>")
    spread = any(summary.spread for summary in result.summaries.values())
    said = '<p class="soft">Mean ± standard deviation over the seeds.</p>' if spread else ""
    return (
        f'<div class="wide"><table><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{said}"
    )


def _details(result: SimulationResult, number: int) -> str:
    label, runs = list(result.policies.items())[number]
    run: RunResult = runs[0]
    seed = f" (seed {run.seed}, one of {len(runs)})" if len(runs) > 1 else ""
    return (
        f"<details{' open' if number == 0 else ''}><summary>{escape(label)}{seed}</summary>"
        f"<h3>Ring sizes</h3>{draw_sizes(result, run)}<h3>Link load</h3>{draw_links(result, run)}</details>"
    )


def _guarantees(result: SimulationResult) -> str:
    promised = result.guarantees
    facts = [
        ("Γ, the largest ring any job can have on the empty cluster", str(promised.gamma)),
        ("1/(3Γ+1), the paper's ratio (Thm 10), for concave utilities", _maybe(promised.paper_ratio)),
        (
            "upper bound on the total utility of any schedule, even one that knows the future",
            NOTHING if promised.upper_bound is None else figure(promised.upper_bound),
        ),
    ]
    table = "".join(
        f'<tr><th>{escape(name)}</th><td class="n">{escape(value)}</td></tr>' for name, value in facts
    )
    rows = "".join(_guarantee_row(result, label) for label in result.policies)
    return (
        f"<table><tbody>{table}</tbody></table>{_certificate(promised.obstacle)}"
        '<div class="wide"><table><thead><tr><th>policy</th><th class="n">least α</th>'
        '<th class="n">certified α/(α+1)</th><th class="n">measured ratio to the bound</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _certificate(obstacle: str | None) -> str:
    if obstacle is None:
        return (
            "<p>Every utility is concave and non-decreasing. So a run whose every slot reaches at least the "
            "share α of its proven bound gains at least α/(α+1) of what any schedule gains (Thm 6).</p>"
        )
    return (
        "<p>No ratio is certified here: Thm 6, and with it the paper's ratio, needs concave, non-decreasing "
        "utilities, and budgets and restarts that do not couple the slots. "
        f"{escape(obstacle[0].upper() + obstacle[1:])}.</p>"
    )


def _guarantee_row(result: SimulationResult, label: str) -> str:
    mean = result.summaries[label].mean
    ratios = [slot.ratio for run in result.policies[label] for slot in run.slots if slot.active]
    known = [alpha for alpha in ratios if alpha is not None]
    least = min(known) if known and len(known) == len(ratios) else None
    numbers = (least, mean.certified_ratio, mean.measured_ratio)
    cells = "".join(f'<td class="n">{_maybe(number)}</td>' for number in numbers)
    return f"<tr><th>{escape(label)}</th>{cells}</tr>"


def _maybe(number: float | None) -> str:
    return NOTHING if number is None else ratio(number)
