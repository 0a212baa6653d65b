"""Numbers of policies side by side, each with its interval and a link to the file that it stands in."""

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

from gadget.experiments.compare_numbers import Interval
from gadget.report.simulation.numbers import NOTHING, Metric, Wish

Table = Mapping[str, Mapping[str, Interval]]
"""By policy and name."""


def build_table(metrics: Sequence[Metric], table: Table, file: str, keys: str) -> str:
    """A row for every metric, a column for every policy; the best of a row stands out.

    `keys` tells where in the file a policy's numbers stand: {policy} and {name} in it are filled in.
    """
    heads = "".join(f'<th class="n">{escape(policy)}</th>' for policy in table)
    rows = []
    for metric in metrics:
        found = {policy: numbers.get(metric.name) for policy, numbers in table.items()}
        best = find_best(metric, found)
        note = f'<span class="note">{escape(metric.note)}</span>' if metric.note else ""
        cells = "".join(
            _cell(
                metric, one, f"{file}: {keys.format(policy=policy, name=metric.name)}", file, policy in best
            )
            for policy, one in found.items()
        )
        rows.append(f"<tr><th>{escape(metric.title)}{note}</th>{cells}</tr>")
    return (
        f'<div class="wide compared"><table><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def find_best(metric: Metric, found: Mapping[str, Interval | None]) -> set[str]:
    """The policies with the best mean, as far as readers can see that it is better than another."""
    means = {policy: one.mean for policy, one in found.items() if one is not None and one.mean is not None}
    if metric.wish is Wish.NONE or len(set(map(metric.write, means.values()))) < 2:
        return set()
    goal = metric.write((max if metric.wish is Wish.MORE else min)(means.values()))
    return {policy for policy, mean in means.items() if metric.write(mean) == goal}


def link(file: str, text: str, title: str = "") -> str:
    """A link to a file beside the page."""
    said = f' title="{escape(title)}"' if title else ""
    return f'<a href="{escape(quote(file))}"{said}>{escape(text)}</a>'


def _cell(metric: Metric, one: Interval | None, place: str, file: str, is_best: bool) -> str:
    if one is None or one.mean is None:
        return f'<td class="n">{NOTHING}</td>'
    span = ""
    if one.low is not None and one.high is not None and one.low < one.high:
        span = f'<span class="note">{escape(f"{metric.write(one.low)} … {metric.write(one.high)}")}</span>'
    style = "n best" if is_best else "n"
    return f'<td class="{style}">{link(file, metric.write(one.mean), place)}{span}</td>'
