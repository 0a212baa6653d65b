"""The page of a comparison: its numbers are those of the files, and it asks nobody for anything."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from gadget.experiments.compare import Grid, Named
from gadget.experiments.compare_numbers import Completions, Interval
from gadget.model.snapshot import Scenario
from gadget.report.comparison.curves import draw_completions, draw_means, share_complete
from gadget.report.comparison.page import Showing
from gadget.report.comparison.tables import find_best
from gadget.report.simulation.numbers import Metric, Wish, figure, list_metrics, ratio
from tests.unit.engine.worlds import PAIR, job
from tests.unit.experiments.compared import GRID, report, run
from tests.unit.report.simulation.test_page import Wellformed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compared")
    run(made)
    return made


class Cells(HTMLParser):
    """Every linked number of the page: its address, its title, its text and the note under it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[dict[str, str]] = []
        self.into = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("td", "th"):
            self.cells.append({"class": given.get("class", "")})
        elif tag == "a" and "title" in given:
            self.cells[-1] |= given
            self.into = "text"
        elif tag == "span" and given.get("class") == "note":
            self.into = "note"

    def handle_endtag(self, _: str) -> None:
        self.into = ""

    def handle_data(self, data: str) -> None:
        if self.into and self.cells:
            self.cells[-1][self.into] = data


def test_every_number_is_that_of_the_file_it_leads_to(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    numbers = json.loads((folder / "comparison.json").read_text())
    some_policy = numbers["scenarios"]["small"]["policies"]["las"]
    metrics = {metric.name: metric for metric in list_metrics([dict.fromkeys(some_policy, 1.0)])}
    metrics["upper_bound"] = Metric("", "upper_bound", figure)
    linked = [cell for cell in Cells(page).cells if "href" in cell]
    seen = set()
    for cell in linked:
        place, _, keys = cell["title"].partition(": ")
        assert place == unquote(cell["href"])
        *path, policy, name = keys.split(" → ")
        document = json.loads((folder / place).read_text())
        for key in (*path, policy):
            document = document[key]
        if place == "comparison.json":
            kept = document[name]
            value = kept["mean"]
        else:
            value = document["utilisation"]["gpu"] if name == "utilisation_gpu" else document[name]
            kept = numbers["scenarios"][place.split("/")[0]]["policies"][policy][name]
        assert kept["mean"] == value
        write = ratio if path == ["relative_to_first_policy"] else metrics[name].write
        assert cell["text"] == write(value)
        wide = kept["ci_low"] is not None and kept["ci_low"] < kept["ci_high"]
        assert cell.get("note") == (f"{write(kept['ci_low'])} … {write(kept['ci_high'])}" if wide else None)
        seen.add((place, policy, name))
    for scenario in numbers["scenarios"]:
        for policy, found in numbers["scenarios"][scenario]["policies"].items():
            for name in metrics:
                shown = (f"{scenario}/summary.json", policy, name) in seen
                dull = name in ("work_lost", "violations")  # shown only where they are not 0
                assert shown == (found[name]["mean"] is not None and not dull), name


def test_the_page_has_every_part_and_needs_nothing_beside_itself(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    read = Wellformed(page)
    for part in (
        "3 policies on 2 scenarios",
        "95% confidence intervals (Student's t, n = 2)",
        "Over all scenarios",
        "Relative to fifo:backfill=true",
        "ratio to the clairvoyant bound",
        "Jain fairness index",
        "mean waiting, slots",
        "fragmentation",
        "cross-rack share",
        "seconds a slot",
        "Completion times",
        "Servers and rings",
        "las (seed 0)",
        "What the numbers are",
    ):
        assert part in read.words, part
    assert not {"script", "link", "img", "iframe", "object"} & set(read.tags)
    assert not re.search(r"https?:|//|@import|url\(", re.sub(r"<!DOCTYPE[^>]*>", "", page))
    # What it leads to are files beside it, and they are there.
    assert set(read.addresses) > {"comparison.json", "small/jobs.csv", "two%20racks/report.html"}
    for address in read.addresses:
        assert (folder / unquote(address)).is_file()


def test_the_same_files_give_the_same_page(folder: Path) -> None:
    before = (folder / "report.html").read_text()
    assert report(folder) == before
    other = report(folder, showing=Showing(3, 1))
    assert "las (seed 3)" in other
    assert "The 1 busiest of 4 servers" in other
    assert "Servers and rings" not in report(folder, showing=Showing(0, 0))


def test_one_seed_shows_no_interval_and_says_so(tmp_path: Path) -> None:
    grid = Grid(GRID.scenarios[:1], ("fifo",), (7,))
    run(tmp_path, grid)
    words = Wellformed(report(tmp_path, grid, Showing(7, 16))).words
    assert "One run of each policy, so that there are no confidence intervals" in words
    assert "Over all scenarios" not in words
    assert "One policy on 1 scenario" in words
    cells = Cells(report(tmp_path, grid, Showing(7, 16))).cells
    assert not [cell for cell in cells if "href" in cell and "note" in cell]


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    odd = "<b>&\"'"
    grid = Grid((Named("a#b&'%", Scenario(PAIR, (job(odd, work=9),), 3)),), ("fifo",), (0,))
    run(tmp_path, grid)
    read = Wellformed((tmp_path / "report.html").read_text())
    assert "a#b&'%" in read.words
    assert f"{odd}: ring of 2, slots 0 to 0" in read.words
    assert "b" not in read.tags
    assert all((tmp_path / unquote(address)).is_file() for address in read.addresses)


def test_a_scenario_without_jobs_has_a_page(tmp_path: Path) -> None:
    grid = Grid((Named("empty", Scenario(PAIR, (), 2)),), ("fifo", "las"), (0, 1))
    run(tmp_path, grid)
    words = Wellformed((tmp_path / "report.html").read_text()).words
    assert "No job was completed." in words
    assert "No ring ran." in words


def test_the_share_of_jobs_complete_by_hand() -> None:
    runs = [Completions(np.array([1, 4, 4]), 4), Completions(np.array([2]), 4)]
    assert share_complete(runs, np.array([1, 2, 3, 4, 9])).tolist() == [1 / 8, 2 / 8, 2 / 8, 4 / 8, 4 / 8]
    assert share_complete([], np.array([1])).tolist() == [0]


def test_the_curve_rises_where_jobs_end() -> None:
    picture = draw_completions(["a", "b"], {"a": [Completions(np.array([1, 10, 10, 10]), 5)], "b": []})
    path = re.search(r'<path class="line s0"[^>]*d="M58 ([\d.]+)((?:H[\d.]+V[\d.]+)+)"', picture)
    assert path is not None
    floor = float(path[1])
    steps = [(float(x), float(y)) for x, y in re.findall(r"H([\d.]+)V([\d.]+)", path[2])]
    top = 12
    heights = [round((floor - y) / (floor - top), 3) for _, y in steps]
    assert heights == [0.2] * 9 + [0.8]
    assert steps[0][0] == 58  # after one slot
    assert steps[-1][0] == 948  # after ten, which are the whole width
    assert draw_completions(["a"], {"a": [Completions(np.array([], dtype=np.int64), 3)]}) == (
        "<p>No job was completed.</p>"
    )


def test_means_stand_with_their_intervals_and_the_bound() -> None:
    metric = Metric("total utility", "u", figure, "", Wish.MORE)
    found = {"a": Interval(10.0, 8.0, 12.0, 3), "b": Interval(None, None, None, 0)}
    picture = draw_means(metric, ["a", "b"], found, bound=20.0)
    # The axis goes from 0 to 20 over 294 points from 150 on.
    assert 'M267.6 24.0H326.4"' in picture
    assert 'cx="297.0" cy="24.0"' in picture
    assert 'class="bound" d="M444.0' in picture
    assert picture.count("<circle") == 1
    assert "dashed: the clairvoyant bound" in picture
    assert "bound" not in draw_means(metric, ["a"], found, bound=1e9)
    assert draw_means(metric, ["b"], {"b": found["b"]}) == ""


def test_the_best_is_the_largest_or_the_smallest_or_nobody() -> None:
    def best(wish: Wish, **means: float | None) -> set[str]:
        found = {
            policy: None if mean is None else Interval(mean, None, None, 1) for policy, mean in means.items()
        }
        return find_best(Metric("", "", ratio, "", wish), found)

    assert best(Wish.MORE, a=1, b=2, c=None) == {"b"}
    assert best(Wish.LESS, a=1, b=2, c=None) == {"a"}
    assert best(Wish.NONE, a=1, b=2) == set()
    assert best(Wish.MORE, a=1, b=1) == set()
    # What looks the same is the same.
    assert best(Wish.MORE, a=0.12345, b=0.12346, c=0.1) == {"a", "b"}
    assert best(Wish.MORE, a=0.12345, b=0.12346) == set()
