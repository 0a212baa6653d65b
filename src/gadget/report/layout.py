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
from itertools import count as count_up

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gadget.model.cluster import Cluster

Point = tuple[float, float]
Path = tuple[Point, ...]
Floats = NDArray[np.float64]

WIDTH = 10.0
MOST_DETAILED = 256
"""With more servers than this a server is a dot, not a box of cells."""
MOST_CELLS = 16
LABEL_HEIGHT = 0.13
LONGEST_LABEL = 9
POINTS_PER_LETTER = 0.61

_LARGEST_CELL, _READABLE_CELL = 0.135, 0.105
_TALLEST_BLOCK = 4.2


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
    """Centres of all nodes, their sizes, and the line each link takes (by its `ends`)."""

    positions: Mapping[str, Point]
    sizes: Mapping[str, Point]
    paths: Mapping[tuple[str, str], Path]
    cell: float
    """Side of the square that stands for one unit of a resource."""
    detailed: bool
    """False: servers are dots, and in a tiered network their own links are left out."""
    labelled: bool
    """True when the names of servers have room."""
    blocks: tuple[Block, ...] = ()
    layers: tuple[tuple[str, ...], ...] = ()
    """Switches from the bottom up, each layer from left to right."""


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
    if is_tiered(cluster):
        return _lay_tiers(cluster, grid if detailed else (1, 1), detailed, longest)
    return _lay_graph(cluster, grid, detailed, longest)


def is_tiered(cluster: Cluster) -> bool:
    """True when servers are joined through switches only, so that switches have tiers above them."""
    return not any(
        link.ends[0] in cluster.server_by_name and link.ends[1] in cluster.server_by_name
        for link in cluster.links
    )


def find_tiers(cluster: Cluster) -> Mapping[str, int]:
    """How far above the servers each node stands: hops from the nearest one; servers are at 0.

    In a tree a switch stands above all that hangs from it, also where a server is plugged into its core.
    """
    if cluster.is_tree and is_tiered(cluster):
        return _strip_leaves(cluster)
    tiers = {server.name: 0 for server in cluster.servers}
    frontier = list(tiers)
    while frontier:
        ahead = []
        for node in frontier:
            for other in cluster.neighbours[node]:
                if other not in tiers:
                    tiers[other] = tiers[node] + 1
                    ahead.append(other)
        frontier = ahead
    return {node: tiers.get(node, 1) for node in cluster.nodes}


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
    return letters * POINTS_PER_LETTER * points / 72


def _strip_leaves(cluster: Cluster) -> dict[str, int]:
    """The round in which each node becomes a leaf when leaves are taken off a tree, round by round."""
    degree = {node: len(around) for node, around in cluster.neighbours.items()}
    tiers: dict[str, int] = {}
    leaves = [node for node, links in degree.items() if links <= 1]
    while leaves:
        tiers.update(dict.fromkeys(leaves, 0 if not tiers else max(tiers.values()) + 1))
        for leaf in leaves:
            for other in cluster.neighbours[leaf]:
                degree[other] -= 1
        around = dict.fromkeys(other for leaf in leaves for other in cluster.neighbours[leaf])
        leaves = [node for node in around if node not in tiers and degree[node] <= 1]
    return {n: 0 if n in cluster.server_by_name else max(1, tier) for n, tier in tiers.items()}


def _lay_tiers(cluster: Cluster, grid: tuple[int, int], detailed: bool, longest: float) -> Layout:
    tiers = find_tiers(cluster)
    groups = _group_servers(cluster, tiers)
    slot = _choose_slot([len(servers) for _, servers in groups], grid, detailed, longest)
    positions: dict[str, Point] = {}
    blocks = tuple(_place_blocks(groups, slot, positions))
    sizes = dict.fromkeys(positions, slot.box)
    layers = _place_switches(cluster, tiers, blocks, positions=positions, sizes=sizes, detailed=detailed)
    paths = {
        link.ends: _lift(cluster, link.ends, positions, slot)
        for link in cluster.links
        if detailed or not any(end in cluster.server_by_name for end in link.ends)
    }
    return Layout(positions, sizes, paths, slot.cell, detailed, slot.labelled, blocks, layers)


def _group_servers(
    cluster: Cluster, tiers: Mapping[str, int]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Servers by the switches they hang from, ordered so that a walk down a tree crosses no link."""
    order = _walk_down(cluster, tiers)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for server in cluster.servers:
        groups[tuple(sorted(cluster.neighbours[server.name], key=order.__getitem__))].append(server.name)
    last = len(order)
    ranked = sorted(groups.items(), key=lambda item: [order[switch] for switch in item[0]] or [last])
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


def _choose_slot(counts: Sequence[int], grid: tuple[int, int], detailed: bool, longest: float) -> _Slot:
    """The fewest rows with readable cells; if there are none, the rows with the largest cells."""
    fits = (_fit_slot(counts, grid, n, detailed, longest) for n in range(1, max(counts, default=1) + 1))
    best = next(fits)
    for slot in fits:
        if best.cell >= _READABLE_CELL and (best.labelled or not detailed):
            break
        if slot.rows * slot.row_pitch > _TALLEST_BLOCK:
            break
        best = max(slot, best, key=lambda fit: fit.cell)
    return best


def _fit_slot(
    counts: Sequence[int], grid: tuple[int, int], rows: int, detailed: bool, longest: float
) -> _Slot:
    columns = max(1, sum(math.ceil(count / rows) for count in counts))
    room = (WIDTH - len(counts) * _block_gap(len(counts))) / columns
    # Beside every column of boxes there is a channel for the links of the lower rows.
    gap = min(0.1 + 0.045 * (rows - 1), 0.4 * room) if detailed else 0.0
    padding = 0.5 if detailed else 0.2
    cell = min(_LARGEST_CELL, (room - gap) / (grid[0] + padding))
    width = cell * (grid[0] + padding)
    labelled = detailed and longest + 0.03 <= room
    if labelled:
        gap = max(gap, longest + 0.03 - width)
    return _Slot(rows, cell, (width, cell * (grid[1] + padding) + LABEL_HEIGHT * labelled), gap, labelled)


def _block_gap(blocks: int) -> float:
    return min(0.22, 3 / max(1, blocks))


def _place_blocks(
    groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], slot: _Slot, positions: dict[str, Point]
) -> Iterator[Block]:
    left, pitch = 0.0, slot.box[0] + slot.gap
    for switches, servers in groups:
        rows = min(slot.rows, len(servers))
        columns = math.ceil(len(servers) / rows)
        for place, server in enumerate(servers):
            row, column = divmod(place, columns)
            positions[server] = (left + (column + 0.5) * pitch, -slot.box[1] / 2 - row * slot.row_pitch)
        width, height = columns * pitch, rows * slot.row_pitch
        yield Block(switches, servers, left, -height, width, height)
        left += width + _block_gap(len(groups))


def _place_switches(
    cluster: Cluster,
    tiers: Mapping[str, int],
    blocks: Sequence[Block],
    *,
    positions: dict[str, Point],
    sizes: dict[str, Point],
    detailed: bool,
) -> tuple[tuple[str, ...], ...]:
    """Each layer above the middle of what hangs from it, in as few crossings as that gives."""
    span = max(1.5, blocks[-1].left + blocks[-1].width) if blocks else 1.5
    under: dict[str, list[float]] = defaultdict(list)
    for block in blocks:
        for switch in block.switches:
            under[switch].append(block.left + block.width / 2)
    layers, ground = [], 0.0
    for tier in range(1, max((tiers[switch] for switch in cluster.switches), default=0) + 1):
        members = [switch for switch in cluster.switches if tiers[switch] == tier]
        wanted = {}
        for switch in members:
            below = [positions[n][0] for n in cluster.neighbours[switch] if 0 < tiers[n] < tier]
            spots = below or under[switch] or [span / 2]
            wanted[switch] = sum(spots) / len(spots)
        members.sort(key=wanted.__getitem__)
        size = _switch_size(members, 0.86 * span / max(1, len(members)))
        spread = min(span / max(1, len(members)), 2.6 * size[0])
        gap = min(1.2, 0.5 + 0.09 * span) if detailed or tier > 1 else 0.12
        height = ground + gap + size[1] / 2
        for switch, x in zip(members, _spread([wanted[m] for m in members], spread), strict=True):
            positions[switch] = (x, height)
            sizes[switch] = size
        layers.append(tuple(members))
        ground = height + size[1] / 2
    return tuple(layers)


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


def _lift(cluster: Cluster, ends: tuple[str, str], positions: Mapping[str, Point], slot: _Slot) -> Path:
    """The line of a link in a tiered layout, from its lower end upwards."""
    low, high = sorted(ends, key=lambda end: positions[end][1])
    (x, y), peak = positions[low], positions[high]
    if low not in cluster.server_by_name:
        return _arc((x, y), peak) if y == peak[1] else ((x, y), peak)
    top = y + slot.box[1] / 2
    row = round(-top / slot.row_pitch)
    if row == 0:
        return ((x, top), (x, 0.05), peak)
    # Lower rows climb in the channel left of their column, each on a line of its own.
    channel = x - slot.box[0] / 2 - slot.gap * row / slot.rows
    corner = top - min(0.06, slot.cell)
    return ((x, corner), (channel, corner), (channel, 0.05), peak)


def _arc(start: Point, end: Point, bulge: float = 0.22) -> Path:
    """A bow from one node to another: over the top, or to the left of what stands upright."""
    a, b = np.array(min(start, end)), np.array(max(start, end))
    middle = (a + b) / 2 + 2 * bulge * np.array([a[1] - b[1], b[0] - a[0]])
    steps = np.linspace(0, 1, 25)[:, None]
    points = (1 - steps) ** 2 * a + 2 * steps * (1 - steps) * middle + steps**2 * b
    return tuple((float(x), float(y)) for x, y in points)


def _lay_graph(cluster: Cluster, grid: tuple[int, int], detailed: bool, longest: float) -> Layout:
    cell = 0.15 if len(cluster.servers) <= 40 else 0.12
    width, height = cell * (grid[0] + 0.5), cell * (grid[1] + 0.5)
    pitch = 2.0 * max(width, height + LABEL_HEIGHT, longest) if detailed else 0.2
    spots, bowed = _find_spots(cluster)
    spots *= pitch
    spots -= spots.min(axis=0)
    scale = min(1.0, WIDTH / (float(spots.max()) + pitch))
    positions = {
        node: (float(x) * scale, float(y) * scale) for node, (x, y) in zip(cluster.nodes, spots, strict=True)
    }
    labelled = detailed and scale * pitch > max(longest, height * scale + LABEL_HEIGHT) + 0.06
    box = (
        (width * scale, height * scale + LABEL_HEIGHT * labelled) if detailed else (0.5 * pitch * scale,) * 2
    )
    sizes = dict.fromkeys(cluster.server_by_name, box)
    for name in cluster.switches:
        sizes[name] = (min(text_inches(short_name(name), 7.5) + 0.16, pitch * scale * 0.9), 0.22 * scale)
    paths = {}
    for link in cluster.links:
        start, end = (positions[name] for name in link.ends)
        far = math.dist(start, end) / (pitch * scale)
        paths[link.ends] = (
            _arc(start, end, 0.5 / max(far, 2)) if frozenset(link.ends) in bowed else (start, end)
        )
    return Layout(positions, sizes, paths, (cell if detailed else 0.1) * scale, detailed, labelled)


def _find_spots(cluster: Cluster) -> tuple[Floats, frozenset[frozenset[str]]]:
    """Positions of the nodes, neighbours about 1 apart, and the links that have to bow around others."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(cluster.nodes)
    graph.add_edges_from(link.ends for link in cluster.links)
    if (grid := _read_grid(cluster)) is not None:
        place = dict(zip(cluster.nodes, grid, strict=True))
        long = (
            link.ends for link in cluster.links if math.dist(place[link.ends[0]], place[link.ends[1]]) > 1.1
        )
        return grid, frozenset(frozenset(ends) for ends in long)
    if len(graph) > 2 and cluster.is_connected and all(degree == 2 for _, degree in graph.degree):
        return _lay_circle(graph), frozenset()
    return _separate(_relax_stress(graph)), frozenset()


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
    nodes = list(graph)
    count = len(nodes)
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


def _separate(spots: Floats) -> Floats:
    """The same picture with every node in a cell of its own, the nearest one that is free."""
    count = len(spots)
    spots = spots - spots.mean(axis=0)
    fine = 4 if count <= 400 else 1
    spots = spots * max(1.0, 1.1 * math.sqrt(count) / max(1e-9, float(np.ptp(spots, axis=0).max())))
    taken: set[tuple[int, int]] = set()
    for place in range(count):
        middle = np.rint(spots[place] * fine).astype(int)
        cell = _find_free(int(middle[0]), int(middle[1]), taken, fine)
        taken.add(cell)
        spots[place] = spots[place] if cell == tuple(middle) and fine > 1 else np.array(cell) / fine
    return spots


def _find_free(x: int, y: int, taken: set[tuple[int, int]], fine: int) -> tuple[int, int]:
    """The nearest cell with nobody closer than `fine` cells, in rings around the one wanted."""
    near = [(dx, dy) for dx in range(1 - fine, fine) for dy in range(1 - fine, fine)]
    for reach in count_up():
        side = range(-reach, reach + 1)
        for u, v in ((x + dx, y + dy) for dx in side for dy in side if max(abs(dx), abs(dy)) == reach):
            if not any((u + dx, v + dy) in taken for dx, dy in near):
                return u, v
    raise AssertionError("the plane is large enough")
