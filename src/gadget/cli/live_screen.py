"""The live screen as one picture: the slot, the cluster with its rings, jobs, faults, what happened last."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gadget.cli.console import table
from gadget.cli.event_words import tell_event, tell_time
from gadget.cli.service_option import plain
from gadget.report.spans import say_span

# Told apart on dark and light grounds; after the last the first comes again, with another letter.
COLOURS = (
    "dodger_blue2", "dark_orange3", "green4", "deep_pink3", "purple", "dark_cyan", "gold3", "red3",
    "slate_blue3", "chartreuse4", "orchid", "steel_blue",
)  # fmt: skip
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MOST_CELLS = 32
# So that servers and rings stand side by side in 80 columns.
_NAME_WIDTH = 16
_BAR_WIDTH = 12
_STATES = {"drained": "yellow", "down": "red"}


@dataclass(frozen=True)
class Shot:
    """What one look at the service found."""

    status: dict[str, Any]
    running: list[dict[str, Any]]
    queue: dict[str, Any]
    nodes: dict[str, Any]
    events: list[dict[str, Any]]


class Marks:
    """A letter and a colour for each ring, the same as long as it runs."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def renew(self, jobs: Sequence[str]) -> None:
        """These run now; what others had is free again."""
        self._number = {job: number for job, number in self._number.items() if job in set(jobs)}
        taken = set(self._number.values())
        free = (number for number in range(len(jobs) + len(taken)) if number not in taken)
        for job in jobs:
            if job not in self._number:
                self._number[job] = next(free)

    def letter(self, job: str) -> str:
        """Its letter."""
        return _LETTERS[self._number.get(job, 0) % len(_LETTERS)]

    def colour(self, job: str) -> str:
        """Its colour."""
        return COLOURS[self._number.get(job, 0) % len(COLOURS)]


def draw(shot: Shot, marks: Marks, *, rows: int, trouble: str | None = None) -> RenderableType:
    """One frame of about so many rows."""
    marks.renew([job["name"] for job in shot.running])
    share = max(4, (rows - 9) // 3)
    side = Table.grid(padding=(0, 3))
    side.add_row(_draw_cluster(shot.nodes, marks, share), _draw_rings(shot.running, marks, share))
    faults = [plain(f"fault: {fault['topic']}: {fault['text']}") for fault in shot.status["faults"]]
    for line in faults:
        line.stylize("red")
    head = _draw_head(shot, trouble)
    return Group(
        head,
        *faults,
        Text(),
        side,
        Text(),
        _draw_queue(shot.queue, share),
        Text(),
        _draw_events(shot.events, share),
    )


def _draw_head(shot: Shot, trouble: str | None) -> RenderableType:
    status = shot.status
    left = status["next_decision"] - status["now"]
    length = status["slot_seconds"]
    due = f"next decision in {say_span(round(left))}" if left >= 1 else "deciding"
    used = ", ".join(f"{name} {100 * share:.0f}%" for name, share in status["utilisation"].items())
    jobs = ", ".join(f"{count} {word}" for word, count in status["jobs"].items() if count)
    grid = Table.grid(padding=(0, 2))
    for _ in range(4):
        grid.add_column(no_wrap=True)
    grid.add_row(
        plain(f"gadget {status['mode']} · {status['engine']} · {status['policy']}"),
        Text(f"slot {status['slot']}", style="bold"),
        ProgressBar(total=length, completed=min(length, max(0.0, length - left)), width=_BAR_WIDTH),
        Text(trouble or due, style="bold red" if trouble else ""),
    )
    lines = [f"jobs: {jobs or 'none'}", f"used: {used}"]
    decision = status["decision"]
    if decision is not None:
        gap = "" if decision["gap"] is None else f", gap {100 * decision['gap']:.2f}%"
        lines.append(f"last decision: {decision['status']}{gap}, {decision['seconds']:.2f} s")
    return Group(grid, plain(" · ".join(lines)))


def _draw_cluster(nodes: dict[str, Any], marks: Marks, most_rows: int) -> RenderableType:
    names = list(dict.fromkeys(name for node in nodes["nodes"] for name in node["resources"]))
    resource = "gpu" if "gpu" in names else next(iter(names), "")
    largest = max((node["resources"].get(resource, 0) for node in nodes["nodes"]), default=0)
    cell = max(1.0, ceil(largest / _MOST_CELLS))
    # Beside the table: its own title would be as narrow as it is.
    title = Text(f"{nodes['total']} servers, a cell is {cell:g} {resource}", style="bold")
    made = table("", "", "", "")
    made.title = None
    made.show_header = False
    # Those with workers first where not all can be shown.
    shown = nodes["nodes"]
    if len(shown) > most_rows:
        shown = sorted(shown, key=lambda node: not node["workers"])[:most_rows]
    for node in shown:
        state = Text("" if node["state"] == "up" else node["state"], style=_STATES.get(node["state"], ""))
        made.add_row(_short(node["name"]), _draw_cells(node, resource, cell, marks), state)
    if nodes["total"] > len(shown):
        made.add_row(f"… and {nodes['total'] - len(shown)} more", "", "")
    return Group(title, made)


def _draw_cells(node: dict[str, Any], resource: str, cell: float, marks: Marks) -> Text:
    cells = Text()
    total = ceil(node["resources"].get(resource, 0) / cell)
    for here in node["workers"]:
        count = min(total - len(cells), max(1, round(here["used"].get(resource, 0) / cell)))
        cells.append(marks.letter(here["job"]) * count, style=f"bold white on {marks.colour(here['job'])}")
    return cells.append("·" * (total - len(cells)), style="dim")


def _draw_rings(running: list[dict[str, Any]], marks: Marks, most_rows: int) -> RenderableType:
    made = table(f"{len(running)} running", "", "", "#", "", "")
    made.show_header = False
    for job in running[:most_rows]:
        name, work = job["name"], job["work"]
        letter = Text(marks.letter(name), style=f"bold white on {marks.colour(name)}")
        bar: RenderableType = Text(f"{work['done']:.6g} done", style="dim")
        part = ""
        if work["total"]:
            done = min(work["done"], work["total"])
            colour = marks.colour(name)
            bar = ProgressBar(
                work["total"], done, width=_BAR_WIDTH, complete_style=colour, finished_style=colour
            )
            part = f"{100 * min(1.0, work['done'] / work['total']):.0f}%"
        if job["phase"] not in ("running", None):
            part = job["phase"]
        made.add_row(letter, _short(name), f"×{job['size']}", bar, part)
    if len(running) > most_rows:
        made.add_row("", f"… and {len(running) - most_rows} more", "", "", "")
    for column in made.columns:
        column.no_wrap = True
    return made


def _draw_queue(queue: dict[str, Any], most_rows: int) -> RenderableType:
    made = table(f"{queue['total']} waiting", "", "", "")
    made.show_header = False
    _cut_last(made)
    for job in queue["jobs"][:most_rows]:
        made.add_row(_short(job["name"]), plain(job["reason"]), plain(job["detail"]))
    if queue["total"] > most_rows:
        made.add_row(f"… and {queue['total'] - most_rows} more", "", "")
    return made


def _draw_events(events: list[dict[str, Any]], most_rows: int) -> RenderableType:
    made = table("what happened last", "", "")
    made.show_header = False
    _cut_last(made)
    for entry in reversed(events[-most_rows:]):
        made.add_row(tell_time(entry["at"]), plain(tell_event(entry)))
    return made


def _cut_last(made: Table) -> None:
    """A row is a line: the last column has what the others leave."""
    made.expand = True
    for column in made.columns:
        column.no_wrap = True
    made.columns[-1].overflow = "ellipsis"
    made.columns[-1].ratio = 1


def _short(name: str) -> Text:
    """A name that leaves room for what stands beside it."""
    shown = plain(name)
    shown.truncate(_NAME_WIDTH, overflow="ellipsis")
    return shown
