"""The solver's benchmark from end to end on tiny slots: the shape of what it prints, not its times."""

import re
from dataclasses import replace

import pytest
from benchmarks.parts.instances import next_slot, racks
from benchmarks.parts.table import Row, print_row
from benchmarks.parts.yardstick import Court, fresh, gap, race, widen
from benchmarks.slot_solver import KINDS, SHARES, Plan, main

from gadget.model.snapshot import Snapshot
from gadget.policies.gadget import Gadget
from gadget.policies.policy import ask

TINY = Plan(
    servers=8,
    jobs=(6, 8),
    small=((5, 5, 0.05), (4, 5, 0.05), (5, 4, 0.05)),
    yardstick_jobs=4,
    racks=2,
    per_rack=3,
    rack_jobs=12,
    times_larger=2,
    policy=Gadget(gap=0.3),
)


def slot() -> Snapshot:
    return racks(0, 2, 3, 12, gpus=4, max_workers=8)


def test_the_table_has_a_line_for_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--quick"], TINY)
    printed = capsys.readouterr().out
    first, second = (part.splitlines() for part in re.findall(r"(?:^\|.*\n)+", printed, re.MULTILINE))
    assert {line.count(" | ") for line in first} <= {3}
    assert {line.count(" | ") for line in second} <= {5}
    # A head of two lines; paper-sized, each kind small and at each share, two programs, and seven for racks.
    assert len(first) == 2 + 1 + len(KINDS) * (1 + len(SHARES)) + 2 + 7
    assert len(second) == 2 + 2 * 3
    verdicts = [line.split(" | ")[-1].removesuffix("|").strip() for line in first[2:]]
    assert set(verdicts) <= {"met", "MISSED", ""}
    assert verdicts.count("") == 1
    assert " 0 complaints" in printed
    assert code == ("MISSED" in verdicts)


def test_a_row_says_whether_its_must_is_met(capsys: pytest.CaptureFixture[str]) -> None:
    for is_met, word in ((True, "met"), (False, "MISSED"), (None, "")):
        print_row(Row("a", "b", "c", is_met))
        assert capsys.readouterr().out == f"| a | b | c | {word} |\n"


def test_a_fresh_slot_is_the_same_and_shares_nothing() -> None:
    before = slot()
    decision = ask(Gadget(), before, 0)
    after = replace(next_slot(before, decision.allocation, 0), prices=decision.prices)
    cold = fresh(after)
    assert (cold.cluster, cold.jobs, cold.slot) == (after.cluster, after.jobs, after.slot)
    assert cold.cluster is not after.cluster
    assert cold.cluster.__dict__.keys() == {"servers", "switches", "links"}
    assert not cold.running.rings
    assert cold.prices is None
    assert after.running.rings


def test_wide_links_are_all_that_widening_changes() -> None:
    before, wide = slot(), widen(slot())
    assert wide.jobs == before.jobs
    assert wide.cluster.servers == before.cluster.servers
    assert {link.gbps for link in wide.cluster.links} == {1000.0}
    assert ask(Gadget(), wide, 0).upper_bound >= ask(Gadget(), before, 0).objective


def test_a_race_judges_every_decision() -> None:
    court = Court()
    laps = race(court, Gadget(), {"one": [slot], "two": [slot, slot]}, rounds=2)
    assert court.judged == 6
    assert not court.complaints
    assert [len(lap.decisions) for lap in laps.values()] == [1, 2]
    assert all(lap.seconds > 0 and 0 <= lap.worst_gap < 0.2 for lap in laps.values())
    assert gap(replace(laps["one"].decisions[0], upper_bound=0.0, objective=0.0)) == 0


def test_with_memory_either_resource_can_run_out() -> None:
    plain, both = racks(1, 2, 3, 40), racks(1, 2, 3, 40, memory=True)
    assert [a.job.bandwidth_gbps for a in both.jobs] == [a.job.bandwidth_gbps for a in plain.jobs]
    assert {s.resources["memory_gib"] / s.resources["gpu"] for s in both.cluster.servers} == {32}
    wanted = {a.job.resources["memory_gib"] for a in both.jobs}
    assert min(wanted) < 32 < max(wanted)
