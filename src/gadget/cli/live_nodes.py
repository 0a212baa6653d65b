"""Commands about the servers of a running service: nodes, node drain, node undrain."""

from typing import Annotated

import typer

from gadget.cli.console import Shown, ShownOption, output, table
from gadget.cli.service_option import AddressOption, TokenOption, connect, plain, print_answer, print_json

node_app = typer.Typer(
    name="node",
    help="A server of a running service: drain, undrain.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(help="The server's name.", show_default=False)]


def nodes(address: AddressOption = None, token: TokenOption = None, shown: ShownOption = Shown.TABLE) -> None:
    """Show the servers: whether they are up, what they have, and whose workers take it.

    Example:  gadget nodes
    """
    with connect(address, token) as client:
        found = client.get("/nodes")
    made = table(f"{found['total']} servers", "server", "state", "used", "workers")
    for one in found["nodes"]:
        used = ", ".join(
            f"{one['used'][name]:g} of {amount:g} {name}" for name, amount in one["resources"].items()
        )
        workers = ", ".join(f"{here['job']} ×{here['workers']}" for here in one["workers"])
        made.add_row(plain(one["name"]), one["state"], plain(used), plain(workers))
    print_answer(found, shown, made)


@node_app.command()
def drain(
    name: NameArgument,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Let a server become empty: its rings go elsewhere at the next decision, and it takes no new workers.

    Example:  gadget node drain s3
    """
    _change(name, "drain", address, token, shown)


@node_app.command()
def undrain(
    name: NameArgument,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Let a drained server take workers again.

    Example:  gadget node undrain s3
    """
    _change(name, "undrain", address, token, shown)


def _change(name: str, verb: str, address: str | None, token: str | None, shown: Shown) -> None:
    from gadget.api.client import quote_name  # noqa: PLC0415 - as in connect

    with connect(address, token) as client:
        found = client.post(f"/nodes/{quote_name(name)}/{verb}")
    if shown is Shown.JSON:
        print_json(found)
    else:
        output().print(plain(f"{found['done']}: {name}"))


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(nodes)
    app.add_typer(node_app)
