"""A small grid, run in this process, and what it leaves without the times it took."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gadget.experiments.compare import Grid, GridFolder, Named, open_grid
from gadget.experiments.compare_numbers import read_comparison, write_comparison
from gadget.model.builders import build_leaf_spine
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.report.comparison.page import Showing, build_page
from gadget.report.simulation.page import build_page as build_scenario_page
from gadget.simulate.sweep import run_sweep
from tests.unit.engine.worlds import PAIR, job
from tests.unit.simulate.outputs import read_timeless

# Jobs of two sizes on two servers, some of which end; and rings that must leave their rack.
SMALL = Scenario(
    PAIR,
    (job("x", work=23, max_workers=4), job("y", arrival=1, work=17), job("z", arrival=2, min_workers=2)),
    9,
)
RACKS = Scenario(
    build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 2})),
    tuple(
        job(f"j{n}", arrival=n, min_workers=1 + n, max_workers=3 + n, work=30 + 7 * n, bandwidth_gbps=2)
        for n in range(4)
    ),
    14,
)
GRID = Grid((Named("small", SMALL), Named("two racks", RACKS)), ("fifo:backfill=true", "las", "drf"), (0, 3))


def run(folder: Path, grid: Grid = GRID, *, processes: int = 0, **how: bool) -> None:
    """Run the grid and write all its files."""
    with opened(folder, grid, **how) as made:
        if made.tasks:
            made.write(run_sweep(made.tasks, processes=processes).runs, build_scenario_page)
    report(folder, grid)


def report(folder: Path, grid: Grid = GRID, showing: Showing = Showing(0, 16)) -> str:  # noqa: B008 - frozen
    comparison = read_comparison(folder)
    write_comparison(folder, comparison)
    page = build_page(folder, grid, comparison, showing)
    (folder / "report.html").write_text(page)
    return page


@contextmanager
def opened(folder: Path, grid: Grid = GRID, **how: bool) -> Iterator[GridFolder]:
    with open_grid(folder, grid, **how) as made:
        yield made


def read_timeless_grid(folder: Path) -> dict[str, object]:
    """Every file of a comparison, byte for byte but for the times."""
    numbers = json.loads((folder / "comparison.json").read_text())
    tables = [one["policies"] for one in numbers["scenarios"].values()]
    tables += [numbers[key] for key in ("overall", "relative_to_first_policy") if key in numbers]
    for policies in tables:
        for policy in policies.values():
            del policy["seconds_per_slot"]
    lines = (folder / "comparison.csv").read_text().splitlines()
    names = list(json.loads((folder / "grid.json").read_text())["scenarios"])
    return {
        "grid": (folder / "grid.json").read_bytes(),
        "numbers": json.dumps(numbers),
        "table": [line for line in lines if ",seconds_per_slot," not in line],
        "report": re.sub(r"<tr><th>seconds a slot.*?</tr>", "", (folder / "report.html").read_text()),
        "scenarios": {name: read_timeless(folder / name) for name in names},
    }
