"""Servers over time, and on each the rings whose workers it hosts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gadget.experiments.compare_rings import Held
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario
from gadget.report.simulation.heat import MOST_COLUMNS, Grid, Shades, draw_grid
from gadget.report.simulation.pictures import frame
from gadget.report.simulation.style import SERIES
from gadget.simulate.locality import counted_resource

MOST_LANES = 400
_LANE_HEIGHT = 5.5


@dataclass(frozen=True)
class Gantt:
    """One run on one scenario, with at most so many servers shown."""

    scenario: Scenario
    held: Sequence[Held]
    most_servers: int

    @cached_property
    def width(self) -> int:
        """Slots from one column to the next."""
        return find_width(self.scenario.slots)

    @cached_property
    def columns(self) -> int:
        """Columns that the horizon has."""
        return -(-self.scenario.slots // self.width)

    @cached_property
    def takes(self) -> Mapping[str, int] | None:
        """Lanes that a worker of each job takes: GPUs, where all are whole numbers; else None, one each."""
        name = counted_resource(self.scenario.cluster) or ""
        amounts = {job.name: job.resources.get(name, 0.0) for job in self.scenario.jobs}
        held = [server.resources.get(name, 0.0) for server in self.scenario.cluster.servers]
        whole = all(amount >= 1 and amount == int(amount) for amount in amounts.values())
        return (
            {job: int(amount) for job, amount in amounts.items()}
            if whole and all(has == int(has) for has in held)
            else None
        )

    @cached_property
    def lanes(self) -> Mapping[str, int]:
        """How many lanes each server has: its GPUs, and no fewer than were in use at a time."""
        most: Counter[str] = Counter()
        for one in self.held:
            for host, count in self._used(one.rings).items():
                most[host] = max(most[host], count)
        if self.takes is not None:
            name = counted_resource(self.scenario.cluster) or ""
            for server in self.scenario.cluster.servers:
                most[server.name] = max(most[server.name], int(server.resources.get(name, 0.0)))
        return {server.name: max(1, most[server.name]) for server in self.scenario.cluster.servers}

    @cached_property
    def busy(self) -> Mapping[str, int]:
        """Worker-slots of each server that hosted any, in the order of the cluster."""
        found: Counter[str] = Counter()
        for one in self.held:
            for ring in one.rings:
                for server, count in ring.workers_by_server().items():
                    found[server] += count * (one.end - one.start)
        names = [server.name for server in self.scenario.cluster.servers]
        return {name: found[name] for name in names if found[name]}

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The servers with most worker-slots, in the order of the cluster."""
        ranked = sorted(self.busy, key=lambda name: -self.busy[name])[: self.most_servers]
        chosen: set[str] = set()
        room = MOST_LANES
        for name in ranked:
            room -= self.lanes[name] + 1
            if room >= 0 or not chosen:
                chosen.add(name)
        return tuple(name for name in self.busy if name in chosen)

    def moments(self) -> Iterator[tuple[int, tuple[Ring, ...]]]:
        """For every column that was run the rings of its first slot."""
        for one in self.held:
            for column in range(-(-one.start // self.width), -(-one.end // self.width)):
                yield column, one.rings

    def workers_of(self, ring: Ring) -> dict[str, int]:
        """Lanes that a ring takes on each server."""
        each = 1 if self.takes is None else self.takes.get(ring.job, 1)
        return {server: count * each for server, count in ring.workers_by_server().items()}

    def _used(self, rings: Sequence[Ring]) -> Counter[str]:
        used: Counter[str] = Counter()
        for ring in rings:
            used.update(self.workers_of(ring))
        return used


def find_width(slots: int) -> int:
    """Slots from one column to the next, so that there are not too many."""
    return max(1, -(-slots // MOST_COLUMNS))


def draw_gantt(gantt: Gantt) -> str:
    """The picture: a band for every server, a lane for every GPU, a colour for every ring."""
    if not any(one.rings for one in gantt.held):
        return "<p>No ring ran.</p>"
    first_row, rows = {}, 0
    for server in gantt.shown:
        first_row[server] = rows
        rows += gantt.lanes[server] + 1  # and one that stays empty, to tell servers apart
    shades, numbers = _fill(gantt, first_row, rows)
    names = [""] * rows
    for server, row in first_row.items():
        names[row + gantt.lanes[server] // 2] = server
    sizes, spans = _lives(gantt.held)
    grid = Grid(
        names,
        shades,
        ["wait", *_colours(gantt, numbers)],
        gantt.columns * gantt.width,
        ["free", *(f"{job}: {sizes[job]}, {spans[job]}" for job in numbers)],
        _LANE_HEIGHT,
    )
    picture = f'<div class="wide gantt">{draw_grid(grid, title="Servers and rings over time")}</div>'
    return frame(picture, _caption(gantt))


def _fill(gantt: Gantt, first_row: Mapping[str, int], rows: int) -> tuple[Shades, dict[str, int]]:
    """The number of the job in every lane and column, or 1; a worker keeps its lane as long as it stays."""
    shades = np.zeros((rows, gantt.columns), dtype=np.int64)
    numbers: dict[str, int] = {}
    before: dict[str, dict[str, list[int]]] = {server: {} for server in gantt.shown}
    for column, rings in gantt.moments():
        wanted: dict[str, dict[str, int]] = {server: {} for server in gantt.shown}
        for ring in rings:
            for server, count in gantt.workers_of(ring).items():
                if server in wanted:
                    wanted[server][ring.job] = count
        for server, jobs in wanted.items():
            shades[first_row[server] : first_row[server] + gantt.lanes[server], column] = 1
            kept = {job: before[server].get(job, [])[:count] for job, count in jobs.items()}
            taken = {lane for some in kept.values() for lane in some}
            free = iter([lane for lane in range(gantt.lanes[server]) if lane not in taken])
            for job, count in jobs.items():
                kept[job] = [*kept[job], *(next(free) for _ in range(count - len(kept[job])))]
                number = numbers.setdefault(job, len(numbers) + 2)
                shades[[first_row[server] + lane for lane in kept[job]], column] = number
            before[server] = kept
    return shades, numbers


def _colours(gantt: Gantt, numbers: Mapping[str, int]) -> list[str]:
    """A colour for each job, different from those that run beside it as far as there are enough."""
    chosen: dict[str, int] = {}
    last_used = [0] * SERIES
    for one in gantt.held:
        running = [ring.job for ring in one.rings]
        in_use = Counter(chosen[job] for job in running if job in chosen)
        for job in running:
            if job not in chosen:
                # Of those least in use, the one given away longest ago.
                best = min(range(SERIES), key=lambda colour: (in_use[colour], last_used[colour]))
                chosen[job] = best
                in_use[best] += 1
                last_used[best] = len(chosen)
    return [f"s{chosen[job]}" for job in numbers]


def _lives(held: Sequence[Held]) -> tuple[dict[str, str], dict[str, str]]:
    """Of each job the sizes of its rings, and from when to when it ran, in words."""
    sizes: defaultdict[str, set[int]] = defaultdict(set)
    spans: dict[str, tuple[int, int]] = {}
    for one in held:
        for ring in one.rings:
            sizes[ring.job].add(ring.size)
            spans[ring.job] = spans.get(ring.job, (one.start, 0))[0], one.end - 1
    told = {
        job: f"ring of {min(some)}" if len(some) == 1 else f"ring of {min(some)} to {max(some)}"
        for job, some in sizes.items()
    }
    return told, {job: f"slots {first} to {last}" for job, (first, last) in spans.items()}


def _caption(gantt: Gantt) -> str:
    servers, shown = len(gantt.scenario.cluster.servers), len(gantt.shown)
    idle = servers - len(gantt.busy)
    some = f"All {servers} servers" if shown == servers else f"The {shown} busiest of {servers} servers"
    some += f" ({idle} hosted no worker)" if idle else ""
    lane = "one for each GPU" if gantt.takes is not None else "one for each worker, at most at a time"
    thinned = "" if gantt.width == 1 else f" One slot in {gantt.width} is drawn."
    return (
        f"{some}, each a band of lanes ({lane}). A colour is a ring, on all its servers; colours recur. The "
        f"mouse tells the job.{thinned}"
    )
