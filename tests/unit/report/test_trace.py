"""Traces and feasibility for people: pictures of text, spans in words, numbers in tables."""

import io
import json

import numpy as np
import pytest
from rich.console import Console, RenderableType

from gadget.model.builders import build_ring4
from gadget.model.snapshot import Scenario
from gadget.report.bars import draw_bars, thin
from gadget.report.feasibility import render_feasibility, to_document
from gadget.report.spans import say_span
from gadget.report.trace import summarise_trace
from gadget.workloads.feasibility import assess
from gadget.workloads.traces.columns import to_labels
from gadget.workloads.traces.trace import BadRow, BadRows
from tests.unit.workloads.traces.test_selection import make_trace


def print_out(what: RenderableType) -> str:
    file = io.StringIO()
    Console(width=120, file=file).print(what)
    return file.getvalue()


def test_bars_by_hand() -> None:
    shown = draw_bars([0, 1, 4, 8], label="Jobs", start="a", end="z", height=2).plain.splitlines()
    assert shown == ["Jobs", "8    █", "0  ▂██", "  a  z"]


def test_bars_reach_up_to_the_level_where_it_is_the_highest() -> None:
    shown = draw_bars([1, 2], label="", start="", end="", level=4, height=2).plain.splitlines()
    assert shown[1] == "4    ← 4"
    assert shown[2] == "0 ▄█"


@pytest.mark.parametrize("values", [[], [0, 0], [np.inf, 1], [np.nan, 1]])
def test_bars_of_nothing_and_of_what_is_no_number(values: list[float]) -> None:
    assert len(draw_bars(values, label="x", start="", end="", height=3).plain.splitlines()) == 5


def test_thinning_keeps_the_greatest() -> None:
    values = np.arange(1000.0)
    assert len(thin(values, 72)) == 72
    assert thin(values, 72)[-1] == 999
    assert thin(values[:50], 72).tolist() == values[:50].tolist()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (7, "7 s"), (59.94, "59.9 s"), (90, "1.5 min"), (7200, "2 h"), (86_400 * 200.4, "200 d")],
)
def test_spans_in_words(seconds: float, said: str) -> None:
    assert say_span(seconds) == said


def test_a_trace_of_one_moment_has_no_load() -> None:
    found = summarise_trace(make_trace([5, 5], [60, np.nan]))
    assert found.offered_load is None
    assert found.load_share is None
    assert found.without_duration == 1
    assert found.gpu_hours == pytest.approx(1 / 60)
    json.dumps(found.to_document(), allow_nan=False)
    print_out(found.render())


def test_a_summary_tells_what_was_left_out_assumed_and_bad() -> None:
    trace = make_trace(
        [1_507_507_200, 1_507_510_800],
        [3600, 3600],
        [1, 4],
        status=to_labels(["[red]Pass", ""]),
        notes=("something",),
        left_out={"never ran": 7},
        bad=BadRows(9, (BadRow("file", 3, "has 1 columns, not 5"),)),
    )
    shown = print_out(summarise_trace(trace, capacity=10).render())
    for said in (
        "made: 2 jobs in 1 file",
        "1 h from 2017-10-09 00:00:00",
        "5 GPU-seconds a second, 50.0% of 10 GPUs",
        "[red]Pass",
        "not told",
        "assumed: something",
        "left out: jobs that never ran (7)",
        "bad rows: 9",
        "file:3: has 1 columns, not 5",
        "… and 8 more",
    ):
        assert said in shown, shown


def test_the_busiest_hour_and_the_bins() -> None:
    found = summarise_trace(make_trace([0, 10, 20, 7200], [3600] * 4))
    assert found.busiest_hour == 3
    assert found.arrivals_per_hour == pytest.approx(2)
    assert found.arrivals.sum() == 4
    assert found.bin_seconds == pytest.approx(100)
    assert found.load[1] == pytest.approx(3)


def test_an_empty_scenario_is_feasible() -> None:
    found = assess(Scenario(build_ring4(), (), 1))
    assert "every job could run if it were alone" in print_out(render_feasibility(found))
    assert json.loads(json.dumps(to_document(found), allow_nan=False))["never"] == []
