"""What commands that ask a running service have in common: where it is, who asks, how answers are printed."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gadget.cli.console import Shown, output
from gadget.errors import printable
from gadget.files import STANDARD_STREAM, write_whole

if TYPE_CHECKING:
    from gadget.api.client import Client

AddressOption = Annotated[
    str | None,
    typer.Option(
        help="Where the service listens, http://HOST:PORT. Default: GADGET_ADDRESS, or the local one.",
        show_default=False,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        help="What lets you in; others can see it in the list of processes, unlike GADGET_TOKEN. "
        "Default: that, or the local user's own.",
        show_default=False,
    ),
]


def connect(address: str | None, token: str | None) -> "Client":
    """The service that options, the environment or local files tell of."""
    from gadget.api.client import Client  # noqa: PLC0415 - most commands speak to no service

    return Client.find(address, token)


def print_json(document: Any, *, indent: int | None = 2) -> None:
    """A document on standard output, for programs."""
    text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    # Half a character that a program printed is written as JSON writes it.
    write_whole(STANDARD_STREAM, text.encode(errors="backslashreplace"))


def print_answer(document: Any, shown: Shown, made: Table) -> None:
    """An answer as it was asked for: as it came, or as a table."""
    if shown is Shown.JSON:
        print_json(document)
    else:
        output().print(made)


def plain(text: str) -> Text:
    """Text of others, safe for a terminal."""
    return Text(printable(text.expandtabs()))
