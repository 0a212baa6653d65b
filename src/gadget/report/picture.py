"""A picture of a cluster: its servers, switches and links, and the rings of a slot on them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.ring import Allocation
from gadget.model.wording import say_count
from gadget.report import layout as laid
from gadget.report.saving import save_picture
from gadget.report.summary import Usage

# Okabe and Ito's and Paul Tol's colours, which stay apart for colour-blind eyes, strongest contrasts first.
STRONG = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#332288", "#999933", "#882255"),
    *("#44AA99", "#AA4499", "#DDCC77", "#117733", "#EE8866", "#6699CC", "#661100", "#BBCC33", "#AA4466"),
    *("#4D4D4D", "#77AADD"),
)
PALE = ("#A6C8DF", "#F3D9A2", "#A3D6C5", "#E6C4D8", "#CFCBE5", "#EBBFA0", "#D3D3A8", "#C9A6B6", "#B4D9D4")
FREE, INK, SOFT, LINE, PANEL, OVERFULL = "#E3E7EC", "#2E3742", "#69747F", "#BFC7D0", "#F5F7F9", "#000000"
HEAT = LinearSegmentedColormap.from_list("load", ["#F9DC8C", "#F6B04D", "#E2603C", "#A3204F", "#4A1052"])
FILL = LinearSegmentedColormap.from_list("fill", [FREE, "#9CC7E3", "#3F8FC4", "#0B4F8A"])
MOST_RINGS = 25
"""With more rings than this on the links, links show their load instead."""
MOST_NAMES, MARGIN = 20, 0.25
LINK_WIDTHS = (0.7, 1.3, 2.1, 3.2)

Corner = list[tuple[float, float]]
Tiers = list[tuple[float, float]]


class Scene(Usage):
    """What is drawn, and in which colours."""

    @cached_property
    def colours(self) -> Mapping[str, str]:
        """A colour for each job: its own for the largest rings, pale and shared for the rest."""
        names = list(dict.fromkeys(ring.job for ring in self.ranked))
        pale = {name: PALE[place % len(PALE)] for place, name in enumerate(names[len(STRONG) :])}
        return dict(zip(names, STRONG, strict=False)) | pale


def draw_cluster(
    cluster: Cluster,
    path: Path | str,
    *,
    allocation: Allocation | None = None,
    jobs: Iterable[Job] = (),
    title: str = "",
) -> None:
    """Draw a cluster to a .svg, .png or .pdf file, with the rings of a slot if an allocation is given.

    `jobs` tell how many cells a worker takes and how much bandwidth a ring; else a worker is one cell.
    """
    save_picture(Path(path), lambda: build_figure(cluster, allocation=allocation, jobs=jobs, title=title))


def build_figure(
    cluster: Cluster, *, allocation: Allocation | None = None, jobs: Iterable[Job] = (), title: str = ""
) -> Figure:
    """The picture as a matplotlib figure whose axes are in inches."""
    scene = Scene(cluster, allocation or Allocation(), {job.name: job for job in jobs})
    layout = laid.find_layout(cluster, cells=_most_cells(scene))
    figure = Figure(facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    left, bottom, right, top = _bounds(layout)
    spare = max(0.0, max(6.0, min(10.0, laid.text_inches(title, 12))) - (right - left)) / 2
    left, right = left - spare, right + spare
    _draw_blocks(axes, scene, layout)
    tiers = _link_tiers([link.gbps for link in cluster.links])
    _draw_links(axes, scene, layout, tiers)
    (_draw_servers if layout.detailed else _draw_dots)(axes, scene, layout)
    _draw_switches(axes, layout, cluster.switches)
    top = _draw_header(axes, scene, title, left, top)
    bottom = _draw_legend(axes, scene, layout, tiers, (left, right, bottom))
    axes.set_xlim(left - MARGIN, right + MARGIN)
    axes.set_ylim(bottom - MARGIN, top + MARGIN)
    figure.set_size_inches(right - left + 2 * MARGIN, top - bottom + 2 * MARGIN)
    return figure


def _most_cells(scene: Scene) -> int:
    """Cells of the largest server, as far as they are drawn one by one."""
    most = max((scene.units(server) for server in scene.cluster.server_by_name), default=1)
    return max(1, math.ceil(min(most, laid.MOST_CELLS)))


def _bounds(layout: laid.Layout) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of all nodes and links."""
    if not layout.boxes:
        return 0.0, 0.0, 1.0, 1.0
    boxes = np.array(list(layout.boxes.values()))
    centres, half = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.concatenate([centres - half, centres + half, *map(np.array, layout.paths.values())])
    low, high = corners.min(axis=0), corners.max(axis=0)
    room = 0.3 if layout.blocks and not layout.detailed else 0.05
    return float(low[0]), float(low[1]) - room, float(high[0]), float(high[1])


def _write(axes: Axes, x: float, y: float, text: str, size: float, **more: Any) -> None:
    style: dict[str, Any] = {"color": INK, "va": "center", "zorder": 8} | more
    axes.text(x, y, text, None, fontsize=size, parse_math=False, **style)


def _paint(axes: Axes, shapes: list[Corner], colours: Sequence[Any], **more: Any) -> None:
    if shapes:
        axes.add_collection(PolyCollection(shapes, facecolors=colours, **({"linewidths": 0} | more)))


def _box(x: float, y: float, width: float, height: float) -> Corner:
    """The corners of a rectangle given by its lower left one."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _round(axes: Axes, box: Corner, rounding: float, colour: str, zorder: int) -> None:
    (x, y), _, (right, top), _ = box
    shape = f"round,pad=0,rounding_size={rounding}"
    axes.add_patch(FancyBboxPatch((x, y), right - x, top - y, boxstyle=shape, fc=colour, lw=0, zorder=zorder))


def _draw_blocks(axes: Axes, scene: Scene, layout: laid.Layout) -> None:
    """A ground under the servers of a rack; with a bar of what is in use where servers are but dots."""
    gaps = [after.left - before.left - before.width for before, after in pairwise(layout.blocks)]
    pad = 0.4 * min(gaps, default=0.15)
    for block in layout.blocks:
        ground = _box(block.left - pad, block.bottom - pad / 2, block.width + 2 * pad, block.height + pad)
        _round(axes, ground, pad, PANEL, 0)
        if layout.detailed or not scene.allocation.rings:
            continue
        used, units = scene.used(block.servers)
        share = min(1.0, used / units) if units else 0.0
        y = block.bottom - 0.14
        bars = [_box(block.left, y, block.width, 0.06), _box(block.left, y, block.width * share, 0.06)]
        _paint(axes, bars, [FREE, STRONG[0]], zorder=3, label="bars")
        if block.width > 0.15:
            _write(axes, block.left + block.width / 2, y - 0.08, f"{share:.0%}", 4.5, ha="center", color=SOFT)


def _link_tiers(capacities: Sequence[float]) -> Tiers:
    """Up to four ranges of capacity: the values themselves if they are few, else equal steps of their log."""
    values = sorted({gbps for gbps in capacities if gbps})
    if len(values) <= len(LINK_WIDTHS):
        return [(gbps, gbps) for gbps in values]
    edges = np.geomspace(values[0], values[-1], len(LINK_WIDTHS) + 1)
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(LINK_WIDTHS) - 1)
    bins = [
        [v for v, place in zip(values, places, strict=True) if place == n] for n in range(len(LINK_WIDTHS))
    ]
    return [(found[0], found[-1]) for found in bins if found]


def _draw_links(axes: Axes, scene: Scene, layout: laid.Layout, tiers: Sequence[tuple[float, float]]) -> None:
    thin = max(0.4, min(1.0, layout.cell / 0.1)) if len(layout.paths) < 1000 else 0.35
    lines, widths, colours = [], [], []
    hot = _shows_load(scene, layout)
    for link in scene.cluster.links:
        if link.ends not in layout.paths:
            continue
        lines.append(layout.paths[link.ends])
        tier = next((n for n, (_, most) in enumerate(tiers) if link.gbps <= most), 0)
        widths.append(LINK_WIDTHS[tier] * thin if link.gbps else 0.3)
        load = scene.loads[frozenset(link.ends)] if hot else 0.0
        colours.append(
            OVERFULL if load > 1 + 1e-9 else matplotlib.colors.to_hex(HEAT(load)) if load else LINE
        )
    axes.add_collection(
        LineCollection(lines, linewidths=widths, colors=colours, zorder=1, label="links", joinstyle="round")
    )
    if not hot:
        _draw_rings(axes, scene, layout)


def _shows_load(scene: Scene, layout: laid.Layout) -> bool:
    """True when too many rings cross the drawn links for each to have a line."""
    rings = {ring.job for ends in layout.paths for ring in scene.crossing[frozenset(ends)]}
    return len(rings) > MOST_RINGS and any(scene.loads.values())


def _draw_rings(axes: Axes, scene: Scene, layout: laid.Layout) -> None:
    """Each ring beside the others on every link it crosses, as in a cable."""
    lines, colours = [], []
    for ends, path in layout.paths.items():
        rings = scene.crossing[frozenset(ends)]
        apart = min(0.031, 0.45 / len(rings)) if rings else 0
        for place, ring in enumerate(rings):
            lines.append(_shift(path, (place - (len(rings) - 1) / 2) * apart))
            colours.append(scene.colours[ring.job])
    axes.add_collection(
        LineCollection(lines, colors=colours, linewidths=1.5, zorder=2, label="rings", joinstyle="round")
    )


def _shift(path: laid.Path, distance: float) -> Corner:
    """The path moved sideways, to the right of one who walks up it."""
    points = np.array(path)
    steps = np.diff(points, axis=0)
    lengths = np.maximum(np.hypot(steps[:, 0], steps[:, 1]), 1e-9)
    sides = np.column_stack([steps[:, 1], -steps[:, 0]]) / lengths[:, None]
    before, after = np.vstack([sides[:1], sides]), np.vstack([sides, sides[-1:]])
    # At a corner the shifted sides meet on its bisector; sharp corners are cut.
    scale = np.maximum(1 + (before * after).sum(axis=1), 0.5)
    moved = points + distance * (before + after) / scale[:, None]
    return [(float(x), float(y)) for x, y in moved]


def _draw_servers(axes: Axes, scene: Scene, layout: laid.Layout) -> None:
    columns = laid.cell_grid(_most_cells(scene))[0]
    halo = {} if layout.blocks else {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6}}
    boxes, edges = [], []
    cells: list[Corner] = []
    colours: list[str] = []
    for server in scene.cluster.server_by_name:
        units = scene.units(server)
        frame = _server_frame(layout, server, columns, units)
        boxes.append(frame)
        held = scene.held.get(server, {})
        edges.append(OVERFULL if sum(held.values()) > units * (1 + 1e-9) else "#98A3AE")
        for corner, colour in _fill_cells(scene, server, frame, columns, layout.cell):
            cells.append(corner)
            colours.append(colour)
        (x, y), _, (right, top), _ = frame
        if units > laid.MOST_CELLS:
            _write(axes, (x + right) / 2, (y + top) / 2, f"{units:g}", 6, ha="center", zorder=9)
        if layout.labelled:
            _write(
                axes, (x + right) / 2, y - 0.065, laid.short_name(server), 6, ha="center", color=SOFT, **halo
            )
    _paint(axes, boxes, ["white"], edgecolors=edges, linewidths=0.6, zorder=3, label="servers")
    _paint(axes, cells, colours, zorder=4, label="cells")


def _server_frame(layout: laid.Layout, server: str, columns: int, units: float) -> Corner:
    """The box around a server's own cells, at the top of its place."""
    x, y, _, height = layout.boxes[server]
    shown = max(1, min(math.ceil(units), laid.MOST_CELLS))
    width, own = min(shown, columns) + 0.5, math.ceil(shown / columns) + 0.5
    return _box(
        x - width * layout.cell / 2,
        y + height / 2 - own * layout.cell,
        width * layout.cell,
        own * layout.cell,
    )


def _fill_cells(
    scene: Scene, server: str, frame: Corner, columns: int, cell: float
) -> Iterator[tuple[Corner, str]]:
    """Rectangles for the units of a server, each in the colour of the job that holds it."""
    units = scene.units(server)
    (left, bottom), _, (right, top), _ = frame
    spans, start = [], 0.0
    for job, amount in scene.held.get(server, {}).items():
        spans.append((start, min(start + amount, units), scene.colours[job]))
        start += amount
    spans.append((min(start, units), units, FREE))
    if units > laid.MOST_CELLS:
        # Too many to count: the whole box is one bar.
        places = [(0.0, left + 0.25 * cell, bottom + 0.25 * cell)]
        size, wide, tall = units, right - left - 0.5 * cell, top - bottom - 0.5 * cell
    else:
        places = [
            (n, left + (n % columns + 0.32) * cell, top - (n // columns + 1.18) * cell)
            for n in range(math.ceil(units))
        ]
        size, wide, tall = 1.0, 0.86 * cell, 0.86 * cell
    for low, x, y in places:
        for begin, end, colour in spans:
            a, b = max(low, begin), min(low + size, end)
            if b > a:
                yield _box(x + (a - low) / size * wide, y, (b - a) / size * wide, tall), colour


def _draw_dots(axes: Axes, scene: Scene, layout: laid.Layout) -> None:
    """One square per server, darker the more of it is in use."""
    squares, colours = [], []
    for server in scene.cluster.server_by_name:
        x, y, side = *layout.boxes[server][:2], 0.8 * layout.boxes[server].width
        used, units = scene.used([server])
        squares.append(_box(x - side / 2, y - side / 2, side, side))
        shade = (used / units if units else 0.0) if scene.allocation.rings else 0.45
        colours.append(OVERFULL if shade > 1 + 1e-9 else matplotlib.colors.to_hex(FILL(shade)))
    _paint(axes, squares, colours, zorder=3, label="cells")


def _draw_switches(axes: Axes, layout: laid.Layout, switches: Sequence[str]) -> None:
    for switch in switches:
        x, y, width, height = layout.boxes[switch]
        box = _box(x - width / 2, y - height / 2, width, height)
        _round(axes, box, min(width, height) / 4, INK, 5)
        name = laid.short_name(switch, 14)
        size = min(
            7.5, 7.5 * (max(width, height) - 0.08) / laid.text_inches(name, 7.5), 60 * min(width, height)
        )
        if size >= 4.5:
            _write(axes, x, y, name, size, ha="center", color="white", rotation=0 if width >= height else 90)


def _draw_header(axes: Axes, scene: Scene, title: str, left: float, top: float) -> float:
    """Title and a line of facts above the picture; the new top."""
    used, units = scene.used(scene.cluster.server_by_name)
    facts = [
        say_count(len(scene.cluster.servers), "server"),
        f"{units:,.10g} {laid.short_name(scene.resource, 20)}",
    ]
    if scene.cluster.switches:
        facts.append(say_count(len(scene.cluster.switches), "switch"))
    if scene.allocation.rings:
        facts += [say_count(len(scene.ranked), "ring"), f"{used / units if units else 0:.0%} in use"]
    _write(axes, left, top + 0.3, "  ·  ".join(facts), 8, color=SOFT)
    if not title:
        return top + 0.35
    _write(axes, left, top + 0.53, title, 12, weight="bold")
    return top + 0.62


def _draw_legend(
    axes: Axes, scene: Scene, layout: laid.Layout, tiers: Tiers, bounds: tuple[float, float, float]
) -> float:
    """Names of the largest rings, then what lines and shades mean; the new bottom."""
    left, right, y = bounds
    hot = _shows_load(scene, layout)
    named = scene.ranked[:MOST_NAMES] if layout.detailed or not hot else ()
    entries: list[tuple[str, str, float]] = [
        (laid.short_name(r.job, 26) + f" × {r.size}", scene.colours[r.job], 0.0) for r in named
    ]
    if named and len(scene.ranked) > len(named):
        entries.append((f"{len(scene.ranked) - len(named):,} smaller rings", PALE[0], 0.0))
    y = _draw_entries(axes, entries, left, right, y - 0.1)
    entries = [("free", FREE, 0.0)] if layout.detailed and scene.allocation.rings else []
    shown = {link.gbps for link in scene.cluster.links if link.ends in layout.paths}
    for (low, high), width in zip(tiers, LINK_WIDTHS, strict=False):
        if any(low <= gbps <= high for gbps in shown):
            entries.append((f"{low:,g} Gbps" if low == high else f"{low:,g}–{high:,g} Gbps", LINE, width))
    y = _draw_entries(axes, entries, left, right, y)
    fills = [(f"{laid.short_name(scene.resource, 12)} in use", FILL)] if scene.allocation.rings else []
    for name, shade in [("link load", HEAT)] * hot + fills * (not layout.detailed):
        y -= 0.2
        _write(axes, left, y, name, 7)
        start = left + 1.2
        steps = [_box(start + 0.05 * n, y - 0.05, 0.05, 0.1) for n in range(24)]
        _paint(axes, steps, [shade(n / 23) for n in range(24)])
        _write(axes, start + 1.26, y, "0 … 100%, black if more", 7)
    return y


def _draw_entries(
    axes: Axes, entries: Sequence[tuple[str, str, float]], left: float, right: float, y: float
) -> float:
    """Swatches (or lines of a width) with their texts, in columns; the new bottom."""
    if not entries:
        return y
    pitch = max(laid.text_inches(text, 7) for text, _, _ in entries) + 0.4
    columns = max(1, min(len(entries), int((right - left) / pitch)))
    for place, (text, colour, width) in enumerate(entries):
        row, column = divmod(place, columns)
        x, height = left + column * pitch, y - 0.17 * (row + 1)
        thick = width / 72 if width else 0.1
        swatch = _box(x, height - thick / 2, 0.2 if width else 0.1, thick)
        _paint(axes, [swatch], [colour])
        _write(axes, x + 0.26 if width else x + 0.16, height - 0.005, text, 7)
    return y - 0.17 * math.ceil(len(entries) / columns) - 0.06
