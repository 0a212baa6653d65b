"""Progress bars of the runs under way, on a terminal or in a notebook."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from gadget.simulate.sweep import OnProgress, Progress


@contextmanager
def show_progress(console: Console, runs: int) -> Iterator[OnProgress]:
    """A bar for every run under way: slot, active jobs, utility, time left; and one for all runs together.

    Where the console is no terminal, nothing is shown.
    """
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        expand=True,
        disable=not (console.is_terminal or console.is_jupyter),
    )
    with bars:
        together = bars.add_task("runs", total=runs, told="", visible=runs > 1)
        shown: dict[int, TaskID] = {}

        def tell(progress: Progress) -> None:
            if progress.task not in shown:
                name = f"{escape(progress.policy)}, seed {progress.seed}: slot"
                shown[progress.task] = bars.add_task(name, total=progress.slots, told="")
            done = progress.slots_done == progress.slots
            bars.update(
                shown[progress.task],
                completed=progress.slots_done,
                told=f"active {progress.active:,} · utility {progress.utility:,.6g}",
                visible=not done,
            )
            bars.advance(together, done)

        yield tell
