"""docs/explanation/paper.md names only what exists, and leaves nothing of the paper out."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/paper.md").read_text()
ROWS = [
    line
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| ---", "| paper", "| line"))
]
NAMES = sorted(set(re.findall(r"`(gadget\.[\w.]+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:tests|benchmarks|scripts|examples)/[\w./]+)(?:::\w+)?`", PAGE)))
TESTS = sorted(set(re.findall(r"`(tests/[\w./]+\.py)::(\w+)`", PAGE)))


def resolve(name: str) -> object:
    """The object behind a dotted name, imported as far as modules go."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize("path", FILES)
def test_every_file_exists(path: str) -> None:
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_every_test_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_says_where_and_what_checks_it() -> None:
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert "`" in cells[1], row
        assert "`" in cells[2], row


def test_nothing_of_the_paper_is_left_out() -> None:
    first = " ".join(row.strip("|").split("|")[0] for row in ROWS)
    for number in range(1, 20):
        assert f"({number})" in first, f"equation ({number})"
    for name in ("Def. 1, 2", "Def. 3, 4", "Lemma 5", "Thm 6", "Lemma 7", "Thm 8", "Thm 9", "Thm 10"):
        assert name in first, name
    figures = ("ringallreduce", "placement", "idea", "utility", "NRF", "ERF", "ratio")
    for figure in figures:
        assert f"Fig. {figure}" in first, figure
    for baseline in ("FIFO", "DRF", "LAS"):
        assert baseline in first, baseline


def test_it_would_notice_a_name_that_is_gone() -> None:
    with pytest.raises(AttributeError):
        resolve("gadget.model.timing.no_such_thing")
