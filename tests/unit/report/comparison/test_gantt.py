"""The chart of servers and rings shows what ran, where and when."""

import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given, settings

from gadget.errors import BadFile
from gadget.experiments.compare_rings import Held, read_rings
from gadget.model.codec import format_json
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.policies.registry import build_policy
from gadget.report.comparison.gantt import Gantt, draw_gantt
from gadget.simulate.loop import run_slots
from tests.strategies import scenarios
from tests.unit.engine.worlds import PAIR, decision, job, ring

RUN = re.compile(r"M(\d+) (\d+)h(\d+)v")


def run(scenario: Scenario, policy: str = "fifo:backfill=true") -> list[Held]:
    return [
        Held(step.decision.slot, step.decision.slot + 1, step.decision.allocation.rings)
        for step in run_slots(scenario, build_policy(policy))
    ]


def cells(picture: str) -> dict[str, Counter[int]]:
    """For each job, how many lanes it has in every column; and 'free'."""
    found: dict[str, Counter[int]] = {}
    for path, label in re.findall(r'<path class="\w+" d="([^"]+)"><title>([^<]+)</title>', picture):
        name = unescape(label).rsplit(": ring of", 1)[0]
        count = found.setdefault(name, Counter())
        for start, _, length in RUN.findall(path):
            count.update(range(int(start), int(start) + int(length)))
    return found


def bands(picture: str) -> dict[str, Counter[tuple[int, int]]]:
    """For each job, its cells by row and column; none may be drawn twice."""
    found: dict[str, Counter[tuple[int, int]]] = {}
    for path, label in re.findall(r'<path class="\w+" d="([^"]+)"><title>([^<]+)</title>', picture):
        count = found.setdefault(label.split(":")[0], Counter())
        for start, row, length in RUN.findall(path):
            count.update((int(row), column) for column in range(int(start), int(start) + int(length)))
    return found


# x holds a and half of b for two slots; y takes the rest, z what x leaves. A worker of z takes two GPUs.
X, Y, Z = "aab", "b", "a"
JOBS = (
    job("x", max_workers=3),
    job("y", arrival=1, max_workers=1),
    job("z", arrival=2, max_workers=1, resources=Resources({"gpu": 2})),
)
HELD = [
    Held(0, 1, (ring("x", *X),)),
    Held(1, 2, (ring("x", *X), ring("y", *Y))),
    Held(2, 4, (ring("y", *Y), ring("z", *Z))),
]


def test_a_chart_worked_by_hand() -> None:
    gantt = Gantt(Scenario(PAIR, JOBS, 4), HELD, 16)
    assert (gantt.shown, dict(gantt.lanes)) == (("a", "b"), {"a": 2, "b": 2})
    picture = draw_gantt(gantt)
    # Rows 0 and 1 are a, row 2 is empty, rows 3 and 4 are b.
    assert bands(picture) == {
        "x": Counter([(0, 0), (0, 1), (1, 0), (1, 1), (3, 0), (3, 1)]),
        "y": Counter([(4, 1), (4, 2), (4, 3)]),
        "z": Counter([(0, 2), (0, 3), (1, 2), (1, 3)]),
        "free": Counter([(4, 0), (3, 2), (3, 3)]),
    }
    assert "x: ring of 3, slots 0 to 1" in picture
    assert "y: ring of 1, slots 1 to 3" in picture
    assert "All 2 servers" in picture
    assert "one for each GPU" in picture


def test_the_busiest_servers_are_shown_and_it_is_said() -> None:
    picture = draw_gantt(Gantt(Scenario(PAIR, JOBS, 4), HELD, 1))
    assert "The 1 busiest of 2 servers" in picture
    # a has 4 + 2 worker-slots, b 1 + 2 + 2: y, which is on b alone, is not to be seen.
    assert set(bands(picture)) == {"x", "z"}
    alone = draw_gantt(Gantt(Scenario(PAIR, JOBS, 4), [Held(0, 4, (ring("x", "a"),))], 16))
    assert "The 1 busiest of 2 servers (1 hosted no worker)" in alone


def test_workers_have_lanes_where_gpus_are_no_whole_numbers() -> None:
    half = (job("x", resources=Resources({"gpu": 0.5}), max_workers=4),)
    gantt = Gantt(Scenario(PAIR, half, 2), [Held(0, 2, (ring("x", "a", "a", "a", "b"),))], 16)
    assert dict(gantt.lanes) == {"a": 3, "b": 1}
    assert "one for each worker" in draw_gantt(gantt)


def test_a_long_run_is_thinned_and_it_is_said() -> None:
    held = [Held(0, 900, (ring("x", "a"),)), Held(900, 1000, (ring("y", "b"),))]
    gantt = Gantt(Scenario(PAIR, JOBS, 1000), held, 16)
    picture = draw_gantt(gantt)
    assert "One slot in 3 is drawn" in picture
    found = cells(picture)
    assert set(found["x"]) == set(range(300))
    assert set(found["y"]) == set(range(300, 334))


def test_what_breaks_the_rules_is_drawn_all_the_same() -> None:
    held = [Held(0, 1, (ring("x", "a", "a", "a"), ring("y", "a")))]
    gantt = Gantt(Scenario(PAIR, JOBS, 1), held, 16)
    assert gantt.lanes["a"] == 4
    assert {name: sum(count.values()) for name, count in cells(draw_gantt(gantt)).items()} == {"x": 3, "y": 1}
    assert draw_gantt(Gantt(Scenario(PAIR, JOBS, 1), [], 16)) == "<p>No ring ran.</p>"


@settings(max_examples=60)
@given(scenarios())
def test_every_worker_of_every_slot_is_drawn_once(scenario: Scenario) -> None:
    held = run(scenario)
    gantt = Gantt(scenario, held, len(scenario.cluster.servers))
    if gantt.shown != tuple(gantt.busy):
        return  # more lanes than a picture has
    picture = draw_gantt(gantt)
    expected: dict[str, Counter[int]] = {}
    for one in held:
        for ring_ in one.rings:
            lanes = sum(gantt.workers_of(ring_).values())
            expected.setdefault(ring_.job, Counter())[one.start] += lanes
    found = cells(picture)
    found.pop("free", None)
    assert found == expected
    assert all(count == 1 for cells_ in bands(picture).values() for count in cells_.values())


def lines(*decisions: object) -> str:
    return "".join(format_json(one, indent=None) for one in decisions)  # type: ignore[arg-type]


def test_rings_are_read_by_policy_and_held_until_the_next_decision(tmp_path: Path) -> None:
    x, y = ring("x", "a"), ring("y", "b")
    (tmp_path / "decisions.jsonl").write_text(
        lines(
            decision(0, x, policy='a "quoted" \\'),
            decision(1, x, policy='a "quoted" \\'),
            decision(2, y, policy='a "quoted" \\'),
            decision(0, policy="b"),
            decision(3, x, y, policy="b"),
        )
    )
    assert read_rings(tmp_path, 0, 6) == {
        'a "quoted" \\': [Held(0, 2, (x,)), Held(2, 6, (y,))],
        "b": [Held(0, 3, ()), Held(3, 6, (x, y))],
    }
    assert read_rings(tmp_path, 0, None)["b"][-1] == Held(3, 4, (x, y))
    assert read_rings(tmp_path, 1, 6) == {}
    # Slots 0, 2 and 4 alone: what ran in between is not asked for.
    assert read_rings(tmp_path, 0, 6, every=4)['a "quoted" \\'] == [Held(0, 1, (x,)), Held(2, 6, (y,))]


def test_lines_that_are_no_decisions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "decisions.jsonl").write_text("nonsense\n")
    with pytest.raises(BadFile, match=r"decisions.jsonl: does not tell of decisions"):
        read_rings(tmp_path, 0, 6)
