"""Options in a group are options of the command, in its place and with their own defaults."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gadget.cli.option_groups import spread_groups


@dataclass(frozen=True)
class Shared:
    """A file, and what is taken of it."""

    file: Annotated[str, typer.Argument()]
    most: Annotated[int, typer.Option("--most", "-m", help="How many.")] = 3


seen: list[tuple[Shared, str]] = []
app = typer.Typer()


@app.command()
@spread_groups
def run(*, shared: Shared, word: Annotated[str, typer.Option()] = "a") -> None:
    """Run."""
    seen.append((shared, word))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], (Shared("x"), "a")),
        (["--word", "b", "x", "-m", "5"], (Shared("x", 5), "b")),
    ],
)
def test_a_group_is_filled_from_the_command_line(arguments: list[str], expected: tuple[Shared, str]) -> None:
    seen.clear()
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert seen == [expected]


def test_what_a_group_asks_for_is_asked_for() -> None:
    assert CliRunner().invoke(app, []).exit_code == 2
    assert CliRunner().invoke(app, ["x", "--most", "many"]).exit_code == 2
    assert "How many." in CliRunner().invoke(app, ["--help"]).output
