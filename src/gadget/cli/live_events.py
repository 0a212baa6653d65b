"""Commands about what a running service has done and where it stands: events, snapshot."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from gadget.cli.console import Shown, ShownOption, output, remarks, table
from gadget.cli.event_words import tell_event, tell_time
from gadget.cli.service_option import AddressOption, TokenOption, connect, plain, print_answer, print_json
from gadget.errors import BadOption
from gadget.files import STANDARD_STREAM, write_whole
from gadget.model.codec import format_json, read_content, write
from gadget.model.decision import Decision
from gadget.model.quantity import MOST_SLOTS


def events(
    *,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Only what came after the entry with this number; 0: from the beginning.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=10_000, help="At most so many.")] = 20,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Show what happened: the newest entries of the journal, or those after a number.

    With -f and -o json every entry is a line, and its number tells where to go on.

    Example:  gadget events -f --after 120
    """
    with connect(address, token) as client:
        found = client.get("/events", after=after, limit=limit)
        if not follow:
            made = table(f"the journal has {found['last']} entries", "#entry", "time", "what happened")
            for entry in found["events"]:
                made.add_row(str(entry["number"]), tell_time(entry["at"]), plain(tell_event(entry)))
            print_answer(found, shown, made)
            return
        for entry in found["events"]:
            _print_entry(entry, shown)
        last = found["events"][-1]["number"] if found["events"] else found["last"]
        for entry in client.follow(max(last, after or 0)):
            _print_entry(entry, shown)
    remarks().print("the service has ended.")


def _print_entry(entry: dict[str, Any], shown: Shown) -> None:
    if shown is Shown.JSON:
        print_json(entry, indent=None)
    else:
        line = f"{entry['number']:>6}  {tell_time(entry['at'])}  {tell_event(entry)}"
        output().print(plain(line), soft_wrap=True)


def snapshot(
    save: Annotated[
        Path, typer.Option("-o", "--output", help="Write it to this file; - is standard output.")
    ] = STANDARD_STREAM,
    scenario: Annotated[
        bool,
        typer.Option(
            "--scenario", help="A scenario of what is left of the unfinished jobs, which simulate reads."
        ),
    ] = False,
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_SLOTS, help="With --scenario: over how many slots. Default: 200."),
    ] = None,
    address: AddressOption = None,
    token: TokenOption = None,
) -> None:
    """Take the present as a file: what a decision would see now, which solve reads.

    Example:  gadget snapshot -o now.json && gadget solve now.json
    """
    if slots is not None and not scenario:
        raise BadOption("--slots goes with --scenario. Add that, or leave it out.")
    with connect(address, token) as client:
        content = client.read("/snapshot", **{"as": "scenario" if scenario else "snapshot"}, slots=slots)
    found = read_content(Path("the service's answer"), content)
    assert not isinstance(found, Decision)
    if save == STANDARD_STREAM:
        write_whole(save, format_json(found).encode())
        return
    write(save, found)
    remarks().print(Text(f"written: {save}"))


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (events, snapshot):
        app.command()(command)
