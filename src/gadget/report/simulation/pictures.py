"""The pictures of a simulation: what is chosen to be shown, and what is said under it."""

import math
from collections.abc import Iterable
from html import escape

import numpy as np

from gadget.engine.state import JobStatus
from gadget.report.simulation.chart import draw_lines, line_of
from gadget.report.simulation.heat import MOST_ROWS, Grid, Shades, draw_grid, thin
from gadget.report.simulation.numbers import figure
from gadget.report.simulation.style import LOAD_SHADES, SERIES, SIZE_SHADES
from gadget.simulate.result import RunResult, SimulationResult


def draw_utility(result: SimulationResult) -> str:
    """Total utility over time, and the clairvoyant bound if it is in reach of the eye."""
    lines = [
        line_of(label, [[slot.utility for slot in run.slots] for run in runs])
        for label, runs in result.policies.items()
    ]
    bound = result.guarantees.upper_bound
    highest = max((float(line.most.max(initial=0)) for line in lines), default=0.0)
    near = bound is not None and 0 < bound <= 3 * highest
    level = ("clairvoyant bound on the total", bound) if near and bound is not None else None
    picture = draw_lines(lines, result.horizon, figure, title="Total utility over time", bound=level)
    far = (
        "" if near or bound is None else f" The clairvoyant bound, {figure(bound)}, lies outside the picture."
    )
    return frame(f"{_legend(result)}{picture}", f"Σ μ(work) over the jobs that have arrived.{far}")


def draw_utilisation(result: SimulationResult) -> str:
    """Use of each resource over time, and of the busiest link."""
    resources = next((list(run.slots[0].utilisation) for run in result.runs if run.slots), [])
    pictures = []
    for resource in resources:
        lines = [
            line_of(label, [[slot.utilisation[resource] for slot in run.slots] for run in runs])
            for label, runs in result.policies.items()
        ]
        pictures.append((f"Use of {resource}", lines))
    busiest = [
        line_of(label, [[min(slot.max_link_load, 10.0) for slot in run.slots] for run in runs])
        for label, runs in result.policies.items()
    ]
    pictures.append(("Load of the busiest link", busiest))
    parts = [_legend(result)]
    for title, lines in pictures:
        most = max((float(line.most.max(initial=0)) for line in lines), default=0.0)
        chart = draw_lines(
            lines, result.horizon, lambda share: f"{100 * share:.0f}%", title=title, top=max(1.0, most)
        )
        parts.append(f"<h3>{escape(title)}</h3>{frame(chart)}")
    return "".join(parts)


def draw_sizes(result: SimulationResult, run: RunResult) -> str:
    """The ring of every job in every slot; of many jobs, those with most service."""
    served = run.ring_sizes.totals()
    present = {job.job: job for job in run.jobs}
    arrived = [number for number, name in enumerate(run.ring_sizes.names) if name in present]
    if not arrived:
        return "<p>No job arrived.</p>"
    chosen = sorted(arrived, key=lambda number: (-served[number], number))[:MOST_ROWS]
    names = run.ring_sizes.names
    chosen.sort(key=lambda number: (present[names[number]].arrival, number))
    sizes, width = thin(run.ring_sizes.rows_of(chosen))
    step = max(1, math.ceil(float(sizes.max(initial=1)) / SIZE_SHADES))
    shades = np.ceil(sizes / step).astype(np.int64) + (sizes > 0)  # 1 is kept for waiting
    for row, number in enumerate(chosen):
        job = present[names[number]]
        if job.status not in (JobStatus.REFUSED, JobStatus.LEFT):
            ended = len(run.slots) if job.finish is None else job.finish + 1
            span = slice(job.arrival // width, -(-ended // width))
            shades[row, span] = np.maximum(shades[row, span], 1)
    count = int(shades.max(initial=1)) - 1
    grid = Grid(
        [names[number] for number in chosen],
        _pad(shades, result.horizon, width),
        ["wait", *(f"k{_spread(number, count, SIZE_SHADES)}" for number in range(1, count + 1))],
        _covered(result.horizon, width),
    )
    labels = [("wait", "waits")] + [
        (grid.styles[n], f"{n}" if step == 1 else f"{(n - 1) * step + 1}–{n * step}")
        for n in range(1, count + 1)
    ]
    some = (
        f"The {len(chosen)} of {len(arrived)} jobs with most service, "
        if len(arrived) > len(chosen)
        else "All jobs, "
    )
    caption = f"{some}by arrival. Colour: workers in the ring.{_wide(width)}"
    return frame(
        f'{_keys(labels)}<div class="wide">{draw_grid(grid, title="Ring sizes over time")}</div>', caption
    )


def draw_links(result: SimulationResult, run: RunResult) -> str:
    """The load of the busiest directed links in every slot."""
    totals = run.link_loads.totals()
    used = np.flatnonzero(totals > 0)
    if not len(used):
        return "<p>No ring crossed a link.</p>"
    chosen = sorted(used.tolist(), key=lambda number: (-totals[number], number))[:MOST_ROWS]
    loads, width = thin(run.link_loads.rows_of(chosen))
    over = loads > 1 + 1e-9
    top = next(share for share in (0.1, 0.2, 0.5, 1.0) if share >= min(1.0, float(loads.max())) - 1e-9)
    filled = np.ceil(np.minimum(loads, 1.0) / top * LOAD_SHADES - 1e-9).astype(np.int64)
    shades = np.where(over, LOAD_SHADES + 1, np.where(loads > 0, np.maximum(filled, 1), 0))
    styles = [*(f"h{n}" for n in range(1, LOAD_SHADES + 1)), "over"]
    grid = Grid(
        [run.link_loads.names[number] for number in chosen],
        _pad(shades, result.horizon, width),
        styles,
        _covered(result.horizon, width),
    )
    labels = [(f"h{n}", f"≤ {100 * top * n / LOAD_SHADES:.0f}%") for n in range(1, LOAD_SHADES + 1)]
    labels += [("over", "above its capacity")] if over.any() else []
    links = len(run.link_loads.names)
    some = f"All {links}" if len(chosen) == links else f"The {len(chosen)} busiest of {links}"
    caption = (
        f"{some} directed links, the busiest in the mean first; {len(used)} carried a ring. Colour: reserved "
        f"share of the capacity in that direction.{_wide(width)}"
    )
    return frame(
        f'{_keys(labels)}<div class="wide">{draw_grid(grid, title="Link load over time")}</div>', caption
    )


def _legend(result: SimulationResult) -> str:
    seeds = max(len(runs) for runs in result.policies.values())
    return draw_legend(
        result.policies, f"mean of {seeds} seeds, band from least to most" if seeds > 1 else ""
    )


def draw_legend(labels: Iterable[str], said: str = "") -> str:
    """The colour of every line."""
    keys = "".join(
        f'<span><i class="s{number % SERIES}"></i>{escape(label)}</span>'
        for number, label in enumerate(labels)
    )
    note = f'<span class="soft">{escape(said)}</span>' if said else ""
    return f'<div class="legend">{keys}{note}</div>'


def _keys(labels: list[tuple[str, str]]) -> str:
    keys = "".join(f'<span><i class="box {style}"></i>{escape(text)}</span>' for style, text in labels)
    return f'<div class="legend">{keys}</div>'


def frame(content: str, caption: str = "") -> str:
    """A picture with what is said under it."""
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{content}{said}</figure>"


def _pad(shades: Shades, slots: int, width: int) -> Shades:
    """As many columns as the horizon has, also when the run ended early."""
    missing = -(-slots // width) - shades.shape[1]
    return np.pad(shades, ((0, 0), (0, max(0, missing))))


def _covered(slots: int, width: int) -> int:
    return -(-slots // width) * width


def _spread(number: int, count: int, shades: int) -> int:
    """Few sizes take colours far apart."""
    return shades if count == 1 else 1 + round((number - 1) * (shades - 1) / (count - 1))


def _wide(width: int) -> str:
    return "" if width == 1 else f" A column stands for {width} slots and shows the largest value in them."
