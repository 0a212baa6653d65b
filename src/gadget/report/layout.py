"""Where the nodes and links of a cluster stand in a picture, in inches, the same every time.

Tiered networks (trees, leaf–spine, fat-trees) have their servers in blocks at the bottom and their switches
in layers above. Other graphs are drawn as a circle, as the grid their names tell, or so that distances in
the picture follow hops (stress majorisation: what Kamada and Kawai minimise, without a need for SciPy).
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gadget.model.cluster import Cluster

Point = tuple[float, float]
Path = tuple[Point, ...]
Grid = tuple[int, int]
Groups = list[tuple[tuple[str, ...], tuple[str, ...]]]
Floats = NDArray[np.float64]

WIDTH = 10.0
MOST_DETAILED = 256
"""With more servers than this a server is a dot, not a box of cells."""
MOST_CELLS, LONGEST_LABEL, LABEL_HEIGHT = 16, 9, 0.13
_LARGEST_CELL, _READABLE_CELL = 0.135, 0.105
_TALLEST_BLOCK, _BLOCK_GAP = 4.2, 0.22


class Box(NamedTuple):
    """The place of a node: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Block:
    """Servers that hang from the same switches, and the rectangle they stand in."""

    switches: tuple[str, ...]
    servers: tuple[str, ...]
    left: float
    bottom: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of every node, and the line each link takes (by its `ends`)."""

    boxes: Mapping[str, Box]
    paths: Mapping[tuple[str, str], Path]
    cell: float
    """Side of the square that stands for one unit of a resource."""
    detailed: bool
    """False: servers are dots, and in a tiered network their own links are left out."""
    labelled: bool
    """True when the names of servers have room."""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class _Slot:
    """The space that one server of a block gets."""

    rows: int
    cell: float
    box: Point
    gap: float
    labelled: bool

    @property
    def row_pitch(self) -> float:
        return self.box[1] + (0.08 if self.gap else 0)


def find_layout(cluster: Cluster, *, cells: int = 8) -> Layout:
    """A layout for servers of at most `cells` cells each."""
    grid = cell_grid(cells)
    detailed = len(cluster.servers) <= MOST_DETAILED
    longest = max((text_inches(short_name(s.name), 6) for s in cluster.servers), default=0.0)
    lay = _lay_tiers if is_tiered(cluster) else _lay_graph
    return lay(cluster, grid if detailed else (1, 1), detailed, longest)


def is_tiered(cluster: Cluster) -> bool:
    """True when servers are joined through switches only, so that switches have tiers above them."""
    return not any(cluster.server_by_name.keys() >= set(link.ends) for link in cluster.links)


def find_tiers(cluster: Cluster) -> Mapping[str, int]:
    """How far above the servers each node stands: hops from the nearest one; servers are at 0.

    In a tree a switch stands above all that hangs from it, also where a server is plugged into its core.
    """
    graph = _build_graph(cluster)
    if cluster.is_tree and is_tiered(cluster):
        # Take off the leaves, round by round: servers go first, and what they hang from after them.
        found = {node: layer - 1 for node, layer in nx.onion_layers(graph).items()}
    else:
        servers = set(cluster.server_by_name)
        found = nx.multi_source_dijkstra_path_length(graph, servers) if servers else {}
    return {n: 0 if n in cluster.server_by_name else max(1, int(found.get(n, 1))) for n in cluster.nodes}


def _build_graph(cluster: Cluster) -> "nx.Graph[str]":
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(cluster.nodes)
    graph.add_edges_from(link.ends for link in cluster.links)
    return graph


def cell_grid(cells: int) -> tuple[int, int]:
    """Columns and rows of cells on a server."""
    columns = 1 if cells <= 1 else 2 if cells <= 8 else 4
    return columns, max(1, math.ceil(min(cells, MOST_CELLS) / columns))


def short_name(name: str, longest: int = LONGEST_LABEL) -> str:
    """The name, or its tail, which tells one machine from the next."""
    return name if len(name) <= longest else "…" + name[1 - longest :]


def text_inches(text: str, points: float) -> float:
    """About how wide a text is; East Asian letters count twice."""
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
    return letters * 0.61 * points / 72


def _lay_tiers(cluster: Cluster, grid: Grid, detailed: bool, longest: float) -> Layout:
    tiers = find_tiers(cluster)
    groups = _group_servers(cluster, tiers)
    slot = _choose_slot([len(servers) for _, servers in groups], grid, detailed, longest)
    boxes: dict[str, Box] = {}
    blocks = tuple(_place_blocks(groups, slot, boxes))
    _place_switches(cluster, tiers, blocks, boxes, detailed)
    paths = {
        link.ends: _lift(link.ends, slot, boxes)
        for link in cluster.links
        if detailed or cluster.server_by_name.keys().isdisjoint(link.ends)
    }
    return Layout(boxes, paths, slot.cell, detailed, slot.labelled, blocks)


def _group_servers(cluster: Cluster, tiers: Mapping[str, int]) -> Groups:
    """Servers by the switches they hang from, ordered so that a walk down a tree crosses no link."""
    order = _walk_down(cluster, tiers)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for server in cluster.servers:
        groups[tuple(sorted(cluster.neighbours[server.name], key=order.__getitem__))].append(server.name)
    ranked = sorted(groups.items(), key=lambda item: [order[switch] for switch in item[0]] or [len(order)])
    return [(switches, tuple(servers)) for switches, servers in ranked]


def _walk_down(cluster: Cluster, tiers: Mapping[str, int]) -> dict[str, int]:
    """The place of each switch in a depth-first walk from the highest ones downwards."""
    order: dict[str, int] = {}
    stack = sorted(cluster.switches, key=tiers.__getitem__)
    while stack:
        node = stack.pop()
        if node not in order:
            order[node] = len(order)
            below = [other for other in cluster.neighbours[node] if 0 < tiers[other] < tiers[node]]
            stack.extend(reversed(below))
    return order


def _choose_slot(counts: Sequence[int], grid: Grid, detailed: bool, longest: float) -> _Slot:
    """The fewest rows with readable cells; if there are none, the rows with the largest cells."""
    fits = (_fit_slot(counts, grid, n, detailed, longest) for n in range(1, max(counts, default=1) + 1))
    best = next(fits)
    for slot in fits:
        readable = best.cell >= _READABLE_CELL and (best.labelled or not detailed)
        if readable or slot.rows * slot.row_pitch > _TALLEST_BLOCK:
            break
        best = max(best, slot, key=lambda fit: fit.cell)
    return best


def _fit_slot(counts: Sequence[int], grid: Grid, rows: int, detailed: bool, longest: float) -> _Slot:
    columns = max(1, sum(math.ceil(count / rows) for count in counts))
    room = (WIDTH - len(counts) * min(_BLOCK_GAP, 3 / max(1, len(counts)))) / columns
    # Beside every column of boxes there is a channel for the links of the lower rows.
    gap = min(0.1 + 0.045 * (rows - 1), 0.4 * room) if detailed else 0.0
    padding = 0.5 if detailed else 0.2
    cell = min(_LARGEST_CELL, (room - gap) / (grid[0] + padding))
    width = cell * (grid[0] + padding)
    labelled = detailed and longest + 0.03 <= room
    if labelled:
        gap = max(gap, longest + 0.03 - width)
    return _Slot(rows, cell, (width, cell * (grid[1] + padding) + LABEL_HEIGHT * labelled), gap, labelled)


def _place_blocks(groups: Groups, slot: _Slot, boxes: dict[str, Box]) -> Iterator[Block]:
    left, pitch = 0.0, slot.box[0] + slot.gap
    for switches, servers in groups:
        columns = math.ceil(len(servers) / slot.rows)
        rows = math.ceil(len(servers) / columns)
        for place, server in enumerate(servers):
            row, column = divmod(place, columns)
            y = -slot.box[1] / 2 - row * slot.row_pitch
            boxes[server] = Box(left + (column + 0.5) * pitch, y, *slot.box)
        width, height = columns * pitch, rows * slot.row_pitch
        yield Block(switches, servers, left, -height, width, height)
        left += width + min(_BLOCK_GAP, 3 / len(groups))


def _place_switches(
    cluster: Cluster, tiers: Mapping[str, int], blocks: Sequence[Block], boxes: dict[str, Box], detailed: bool
) -> None:
    """Each layer above the middle of what hangs from it, in as few crossings as that gives."""
    span = max(1.5, blocks[-1].left + blocks[-1].width) if blocks else 1.5
    under: dict[str, list[float]] = defaultdict(list)
    for block in blocks:
        for switch in block.switches:
            under[switch].append(block.left + block.width / 2)
    ground = 0.0
    for tier in range(1, max((tiers[switch] for switch in cluster.switches), default=0) + 1):
        members = [switch for switch in cluster.switches if tiers[switch] == tier]
        wanted = {}
        for switch in members:
            below = [boxes[n].x for n in cluster.neighbours[switch] if 0 < tiers[n] < tier]
            spots = below or under[switch] or [span / 2]
            wanted[switch] = sum(spots) / len(spots)
        members.sort(key=wanted.__getitem__)
        size = _switch_size(members, 0.86 * span / max(1, len(members)))
        spread = min(span / max(1, len(members)), 2.6 * size[0])
        gap = min(1.2, 0.5 + 0.09 * span) if detailed or tier > 1 else 0.12
        height = ground + gap + size[1] / 2
        for switch, x in zip(members, _spread([wanted[m] for m in members], spread), strict=True):
            boxes[switch] = Box(x, height, *size)
        ground = height + size[1] / 2


def _switch_size(names: Sequence[str], room: float) -> Point:
    """Wide enough for the longest name; upright where there is only room for that."""
    longest = max((text_inches(short_name(name, 14), 7.5) + 0.16 for name in names), default=0)
    if room >= 0.75 * longest:
        return min(longest, room), 0.22
    return min(0.2, room), longest if room >= 0.12 else 0.12


def _spread(wanted: Sequence[float], apart: float) -> list[float]:
    """The nearest positions to those wanted (sorted) that keep their distance: pool adjacent violators."""
    pools: list[tuple[float, int]] = []
    for place, x in enumerate(wanted):
        mean, count = x - place * apart, 1
        while pools and pools[-1][0] >= mean:
            before, size = pools.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + place * apart for place, mean in enumerate(means)]


def _lift(ends: tuple[str, str], slot: _Slot, boxes: Mapping[str, Box]) -> Path:
    """The line of a link in a tiered layout, from its lower end upwards."""
    low, high = sorted((boxes[end] for end in ends), key=lambda box: box.y)
    # Links of an upright switch start near its ends, not in its middle.
    x, y, peak = low.x, low.y, (high.x, high.y - max(0.0, high.height / 2 - 0.11))
    if y == high.y:
        return _arc(low[:2], high[:2])
    if y > 0:
        return ((x, y + max(0.0, low.height / 2 - 0.11)), peak)
    # Links to higher layers climb straight up past the first one, where no switch stands in their way.
    top, knee = y + slot.box[1] / 2, 0.05 if peak[1] < 1.35 else peak[1] - 0.55
    if (row := round(-top / slot.row_pitch)) == 0:
        return ((x, top), (x, knee), peak)
    # Lower rows climb in the channel left of their column, each on a line of its own.
    channel = x - slot.box[0] / 2 - slot.gap * row / slot.rows
    corner = top - min(0.06, slot.cell)
    return ((x, corner), (channel, corner), (channel, knee), peak)


def _arc(start: Point, end: Point, bulge: float = 0.22) -> Path:
    """A bow from one node to another: over the top, or to the left of what stands upright."""
    a, b = np.array(min(start, end)), np.array(max(start, end))
    middle = (a + b) / 2 + 2 * bulge * np.array([a[1] - b[1], b[0] - a[0]])
    steps = np.linspace(0, 1, 25)[:, None]
    points = (1 - steps) ** 2 * a + 2 * steps * (1 - steps) * middle + steps**2 * b
    return tuple((float(x), float(y)) for x, y in points)


def _lay_graph(cluster: Cluster, grid: Grid, detailed: bool, longest: float) -> Layout:
    cell = 0.15 if len(cluster.servers) <= 40 else 0.12
    width, height = cell * (grid[0] + 0.5), cell * (grid[1] + 0.5)
    pitch = 2.0 * max(width, height + LABEL_HEIGHT, longest) if detailed else 0.2
    spots, bowed = _find_spots(cluster)
    spots *= pitch
    spots -= spots.min(axis=0)
    scale = min(1.0, WIDTH / (float(spots.max()) + pitch))
    spots *= scale
    labelled = detailed and scale * pitch > max(longest, height * scale + LABEL_HEIGHT) + 0.06
    wide = width * scale if detailed else max(0.035, 0.5 * pitch * scale)
    tall = height * scale + LABEL_HEIGHT * labelled if detailed else wide
    boxes = {}
    for node, (x, y) in zip(cluster.nodes, spots.tolist(), strict=True):
        size = (wide, tall)
        if node not in cluster.server_by_name:
            size = (min(text_inches(short_name(node), 7.5) + 0.16, pitch * scale * 0.9), 0.22 * scale)
        boxes[node] = Box(x, y, *size)
    paths = {}
    for link in cluster.links:
        start, end = (boxes[name][:2] for name in link.ends)
        bulge = 0.5 / max(2.0, math.dist(start, end) / (pitch * scale))
        paths[link.ends] = _arc(start, end, bulge) if link.ends in bowed else (start, end)
    return Layout(boxes, paths, (cell if detailed else 0.1) * scale, detailed, labelled)


def _find_spots(cluster: Cluster) -> tuple[Floats, set[tuple[str, str]]]:
    """Positions of the nodes, neighbours about 1 apart, and the links that have to bow around others."""
    graph = _build_graph(cluster)
    if (grid := _read_grid(cluster)) is not None:
        place = dict(zip(cluster.nodes, grid, strict=True))
        ends = (link.ends for link in cluster.links)
        return grid, {(a, b) for a, b in ends if math.dist(place[a], place[b]) > 1.1}
    if len(graph) > 2 and cluster.is_connected and all(degree == 2 for _, degree in graph.degree):
        return _lay_circle(graph), set()
    return _push_apart(_relax_stress(graph)), set()


def _lay_circle(graph: "nx.Graph[str]") -> Floats:
    """A cycle in walking order, clockwise from the upper left; four nodes make a square."""
    walk = list(nx.dfs_preorder_nodes(graph, next(iter(graph))))
    turn = 2 * math.pi / len(walk)
    angle = {node: math.pi / 2 + turn / 2 - step * turn for step, node in enumerate(walk)}
    radius = 0.5 / math.sin(turn / 2) * 1.25
    return np.array([(radius * math.cos(angle[node]), radius * math.sin(angle[node])) for node in graph])


def _read_grid(cluster: Cluster) -> Floats | None:
    """Positions on a grid of two or three dimensions, if names hold coordinates and all links agree."""
    spots = {node: tuple(map(int, re.findall(r"[0-9]{1,6}", node))) for node in cluster.nodes}
    axes = {len(spot) for spot in spots.values()}
    if len(set(spots.values())) < len(spots) or not axes <= {2, 3} or len(axes) != 1 or not cluster.links:
        return None
    array = np.array([spots[node] for node in cluster.nodes], dtype=np.float64)
    array -= array.min(axis=0)
    lengths = array.max(axis=0) + 1
    rows = {node: row for row, node in enumerate(cluster.nodes)}
    ends = np.array([[rows[end] for end in link.ends] for link in cluster.links])
    steps = np.abs(array[ends[:, 0]] - array[ends[:, 1]])
    steps = np.minimum(steps, lengths - steps)
    if lengths.prod() > 2 * len(array) or np.any(steps.sum(axis=1) != 1):
        return None
    plane = array[:, 2] * (lengths[1] + 0.7) if array.shape[1] == 3 else 0.0
    return np.column_stack([array[:, 1] + plane, -array[:, 0]])


def _relax_stress(graph: "nx.Graph[str]") -> Floats:
    """Distances as near to hops as the plane allows; beyond 400 nodes only hops from 60 pivots count."""
    nodes, count = list(graph), len(graph)
    pivots = nodes if count <= 400 else nodes[:: max(1, count // 60)]
    hops = np.full((count, len(pivots)), np.nan)
    row = {node: place for place, node in enumerate(nodes)}
    for column, pivot in enumerate(pivots):
        for node, far in nx.single_source_shortest_path_length(graph, pivot).items():
            hops[row[node], column] = far
    hops = np.nan_to_num(hops, nan=float(np.nanmax(hops)) + 2)
    squares = -0.5 * hops**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    spots = np.zeros((count, 2))
    spots[:, : min(2, u.shape[1])] = (u * np.sqrt(s) if count <= 400 else u * s / math.sqrt(count))[:, :2]
    spots += 0.01 * np.random.default_rng(0).standard_normal(spots.shape)
    if 2 < count <= 400:
        weights = 1 / np.maximum(hops, 1) ** 2
        np.fill_diagonal(weights, 0)
        pull = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
        for _ in range(150):
            apart = np.linalg.norm(spots[:, None] - spots[None], axis=2)
            ratio = -weights * hops / np.maximum(apart, 1e-9)
            np.fill_diagonal(ratio, 0)
            np.fill_diagonal(ratio, -ratio.sum(axis=1))
            spots = pull @ ratio @ spots
    return spots


def _push_apart(spots: Floats) -> Floats:
    """The same picture with nodes that are too close moved away from each other."""
    for _ in range(100 if len(spots) <= 400 else 25 if len(spots) <= 1200 else 0):
        ways = spots[:, None] - spots[None]
        far = np.hypot(ways[..., 0], ways[..., 1])
        np.fill_diagonal(far, np.inf)
        missing = np.maximum(0.0, 0.9 - far) / 2
        if not missing.any():
            break
        spots = spots + (ways * (missing / np.maximum(far, 1e-9))[..., None]).sum(axis=1)
    return spots
