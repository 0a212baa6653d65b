"""gadget watch: a live screen of a running service."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live

from gadget.cli.console import Shown, ShownOption, output
from gadget.cli.live_screen import Marks, Shot, draw
from gadget.cli.service_option import AddressOption, TokenOption, connect, print_json
from gadget.errors import GadgetError

if TYPE_CHECKING:
    from gadget.api.client import Client

_PIPE_ROWS = 60
_MOST_EVENTS = 30
# What comes between two slots and is over at once; on the screen it would push the rest away.
_DULL = ("slot-served", "speed-measured")


def watch(
    every: Annotated[float, typer.Option(min=0.2, max=60, help="Seconds between two looks.")] = 1.0,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Watch a running service: the slot, the cluster with its rings, jobs and why they wait, what happens.

    Ctrl-C ends it. Where the output is no terminal, it prints one picture and ends.

    Example:  gadget watch
    """
    with connect(address, token) as client:
        shot = _look(client)
        if shown is Shown.JSON:
            print_json(
                {
                    "status": shot.status,
                    "running": shot.running,
                    "queue": shot.queue,
                    "nodes": shot.nodes,
                    "events": shot.events,
                }
            )
            return
        if sys.stdout.isatty():
            show_live(client, every=every)
        else:
            output().print(draw(shot, Marks(), rows=_PIPE_ROWS))


def show_live(client: "Client", *, every: float, is_over: Callable[[], bool] = lambda: False) -> None:
    """The live screen, until Ctrl-C or until it is over."""
    console = output()
    try:
        _run(client, console, every, is_over)
    finally:
        # Ctrl-C may come while the screen is being made, which nothing would undo then.
        console.set_alt_screen(False)
        console.show_cursor()


def _run(client: "Client", console: Console, every: float, is_over: Callable[[], bool]) -> None:
    shot, marks = _look(client), Marks()
    first = draw(shot, marks, rows=console.height)
    with Live(first, console=console, screen=True, auto_refresh=False) as live:
        while not is_over():
            time.sleep(every)
            trouble = None
            try:
                shot = _look(client)
            except GadgetError:  # it may be starting anew: what was seen last stays on the screen
                trouble = "the service does not answer"
            live.update(draw(shot, marks, rows=console.height, trouble=trouble), refresh=True)


def _look(client: "Client") -> Shot:
    return Shot(
        client.get("/status"),
        client.get("/jobs", status="running")["jobs"],
        client.get("/queue"),
        client.get("/nodes"),
        [one for one in client.get("/events", limit=_MOST_EVENTS)["events"] if one["kind"] not in _DULL],
    )


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(watch)
