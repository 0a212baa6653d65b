"""The page: whole, safe, self-contained, and the same for the same results."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from gadget.engine.events import JobLeft
from gadget.model.builders import build_leaf_spine
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.utility import Sigmoid, Sqrt
from gadget.policies.registry import build_policy
from gadget.report.simulation.chart import find_ticks
from gadget.report.simulation.heat import MOST_COLUMNS, thin
from gadget.report.simulation.numbers import figure, find_metrics
from gadget.report.simulation.page import build_page
from gadget.report.simulation.progress import show_progress
from gadget.simulate.loop import Planned
from gadget.simulate.result import SimulationResult
from gadget.simulate.simulation import conclude, simulate
from gadget.simulate.sweep import Progress, Task, run_task
from tests.strategies import scenarios
from tests.unit.engine.worlds import PAIR, job


class Wellformed(HTMLParser):
    """Every element that opens closes, in order; the text and the addresses are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def run(scenario: Scenario, *policies: str, **more: object) -> SimulationResult:
    return simulate(scenario, policies or ("fifo",), **more)  # type: ignore[arg-type]


CONCAVE = Scenario(
    PAIR,
    (
        job("x", utility=Sqrt(), max_workers=4, bandwidth_gbps=2),
        job("y", utility=Sqrt(), arrival=1, budget=Resources({"gpu": 3})),
        job("gone", utility=Sqrt(), arrival=2),
    ),
    8,
)


def test_the_page_has_every_section_and_asks_nobody_for_anything() -> None:
    planned = [Planned(4, JobLeft("gone"))]
    page = build_page(run(CONCAVE, "fifo", "las", "gadget-paper", seeds=(0, 1), planned=planned), "a title")
    read = Wellformed(page)
    for part in (
        "a title",
        "Summary",
        "Utility over time",
        "Utilisation",
        "Ring sizes",
        "Link load",
        "Guarantees",
        "All jobs, by arrival",
        "Mean ± standard deviation over the seeds",
        "gadget-paper (seed 0, one of 2)",
    ):
        assert part in read.words
    assert read.addresses == []
    assert "script" not in read.tags
    assert not re.search(r"https?://|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page


def test_guarantees_are_told_where_they_hold_and_else_why_not() -> None:
    held = Wellformed(build_page(run(CONCAVE, "gadget-paper"), "t")).words
    assert "Γ, the largest ring any job can have on the empty cluster 4" in held
    assert "for concave utilities 0.077" in held  # 1/(3·4+1)
    assert "gains at least α/(α+1)" in held
    lost = Scenario(PAIR, (job("s", utility=Sigmoid(3, 1, 20)),), 4)
    said = Wellformed(build_page(run(lost), "t")).words
    assert "No ratio is certified here" in said
    assert "1 of 1 job, first 's': its utility (sigmoid) is not concave" in said


def test_restarts_are_counted_and_the_work_they_lose_is_told_where_some_is_lost() -> None:
    free = run(CONCAVE, "las")
    titles = [metric.title for metric in find_metrics(free)]
    assert "restarts" in titles
    assert "work lost" not in titles
    costly = run(replace(CONCAVE, jobs=tuple(replace(one, resize_cost=1) for one in CONCAVE.jobs)), "las")
    shown = {metric.title: metric.show(costly.summaries["las"]) for metric in find_metrics(costly)}
    assert shown["work lost"] == shown["restarts"] != "0"
    said = Wellformed(build_page(costly, "t")).words
    assert "3 of 3 jobs, first 'x': its restarts cost work or time" in said


def test_the_same_results_give_the_same_page() -> None:
    timing = re.compile(r"<tr><th>seconds a slot.*?</tr>")
    once, again = (timing.sub("", build_page(run(CONCAVE, "fifo", "las"), "t")) for _ in range(2))
    assert once == again


def test_names_are_text_and_never_markup() -> None:
    odd = "<script>alert('x')</script>&\"$x^2$"
    scenario = Scenario(PAIR, (job(odd, max_workers=4),), 3)
    page = build_page(run(scenario), odd)
    read = Wellformed(page)
    assert odd in read.words
    assert "script" not in read.tags


def test_of_many_jobs_the_most_served_are_shown_and_it_is_said() -> None:
    jobs = tuple(job(f"j{n}", arrival=n // 4, budget=Resources({"gpu": 1 + n % 3})) for n in range(90))
    words = Wellformed(build_page(run(Scenario(PAIR, jobs, 40), "fifo:backfill=true"), "t")).words
    assert "The 60 of 90 jobs with most service" in words


def test_of_many_links_the_busiest_are_shown_and_it_is_said() -> None:
    cluster = build_leaf_spine(10, 2, 4, resources=Resources({"gpu": 1}))
    jobs = tuple(job(f"j{n}", max_workers=8, min_workers=8, bandwidth_gbps=30) for n in range(5))
    words = Wellformed(build_page(run(Scenario(cluster, jobs, 3)), "t")).words
    assert "The 60 busiest of 120 directed links" in words


def test_a_partial_result_says_how_far_it_came() -> None:
    runs = []
    for label, upto in (("fifo", 3), ("las", 0)):
        done: list[Progress] = []
        task = Task(CONCAVE, build_policy(label), label, 0)
        runs.append(
            run_task(task, stop=lambda d=done, u=upto: len(d) >= u, on_progress=done.append)  # type: ignore[misc]
        )
    words = Wellformed(build_page(conclude(CONCAVE, runs), "t")).words
    assert "Partial result. The simulation was interrupted" in words
    assert "fifo (seed 0) 3, las (seed 0) 0" in words


def test_a_long_horizon_is_thinned_and_it_is_said() -> None:
    words = Wellformed(build_page(run(Scenario(PAIR, (job("x", max_workers=4),), 900)), "t")).words
    assert "A column stands for 3 slots" in words


@settings(max_examples=30)
@given(scenarios())
def test_every_result_has_a_page(scenario: Scenario) -> None:
    result = run(scenario, "fifo:backfill=true", "las")
    Wellformed(build_page(result, "t"))
    for metric in find_metrics(result):
        assert all(metric.show(summary) for summary in result.summaries.values())


@given(st.floats(-1e12, 1e12), st.floats(0, 1e12), st.integers(2, 12))
def test_ticks_are_few_even_and_cover_the_span(low: float, span: float, most: int) -> None:
    high = low + span
    ticks = find_ticks(low, high, most=most)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= most + 2
    assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])


def test_thinning_keeps_the_largest() -> None:
    values = np.arange(2 * 1000, dtype=np.float64).reshape(2, 1000)
    thinned, width = thin(values)
    assert (thinned.shape, width) == ((2, -(-1000 // 3)), 3)
    assert thinned.shape[1] <= MOST_COLUMNS
    assert thinned[0, :2].tolist() == [2, 5]
    assert thinned[1, -1] == 1999


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (12, "12"), (1234567, "1,234,567"), (0.123456, "0.1235"), (12345.6, "12,346"), (-3.0, "-3")],
)
def test_figures(number: float, text: str) -> None:
    assert figure(number) == text


def test_a_terminal_shows_a_bar_a_run_and_a_pipe_shows_nothing() -> None:
    for terminal in (True, False):
        screen = StringIO()
        console = Console(file=screen, force_terminal=terminal, width=120)
        with show_progress(console, 2) as tell:
            tell(Progress(0, "fifo[x]", 3, 1, 4, 7, 12.5))
            tell(Progress(0, "fifo[x]", 3, 4, 4, 7, 12.5))
            tell(Progress(1, "las", 3, 2, 4, 7, 99.0))
        shown = screen.getvalue()
        assert ("las, seed 3: slot" in shown) == terminal
        assert ("active 7" in shown) == terminal
        assert terminal or shown == ""
