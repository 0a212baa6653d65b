"""Runs side by side: the same results however many at a time, and good order when something goes wrong."""

import json
import os
import pickle
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from gadget.engine.events import ServerFailed, ServerReturned
from gadget.errors import BadFile, BadOption, BrokenConstraint, GadgetError
from gadget.model.builders import build_paper_cluster
from gadget.model.codec import format_json
from gadget.model.decision import Decision
from gadget.model.prices import Prices
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.utility import Sqrt
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from gadget.simulate.loop import Planned
from gadget.simulate.part import PartFile, finished_lines
from gadget.simulate.result import RunResult
from gadget.simulate.simulation import build_tasks, simulate
from gadget.simulate.sweep import Progress, Task, run_sweep, run_task
from tests.unit.engine.worlds import PAIR, decision, job, ring

SCENARIO = Scenario(
    PAIR,
    (job("x", budget=Resources({"gpu": 7})), job("y", arrival=2, max_workers=3), job("z", arrival=3)),
    8,
)


def timeless(run: RunResult) -> bytes:
    return pickle.dumps(replace(run, slots=tuple(replace(slot, seconds=0.0) for slot in run.slots)))


@dataclass(frozen=True)
class Faulty:
    """First in, first out, until something happens in a slot."""

    slot: int
    how: str

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        if snapshot.slot == self.slot:
            match self.how:
                case "die":
                    os._exit(3)
                case "raise":
                    raise ZeroDivisionError("by nothing")
                case "cheat":
                    return decision(snapshot.slot, ring("x", "a", "a", "a"), objective=15)
                case "interrupt":
                    os.kill(os.getpid(), signal.SIGINT)
                case "interrupt twice":
                    os.kill(os.getpid(), signal.SIGTERM)
                    os.kill(os.getpid(), signal.SIGINT)
        return Fifo(backfill=True).decide(snapshot, rng)


def test_the_results_are_the_same_whatever_the_number_of_processes() -> None:
    heard: list[Progress] = []
    policies = ("fifo", "las")
    alone = simulate(SCENARIO, policies, seeds=(0, 4))
    beside = simulate(SCENARIO, policies, seeds=(0, 4), processes=2, on_progress=heard.append)
    assert [timeless(run) for run in beside.runs] == [timeless(run) for run in alone.runs]
    assert [(run.policy, run.seed) for run in beside.runs] == [(p, s) for p in policies for s in (0, 4)]
    assert {progress.task for progress in heard} == set(range(4))
    assert {progress.slots_done for progress in heard if progress.task == 3} >= {8}


def test_progress_tells_slot_active_jobs_and_utility() -> None:
    heard: list[Progress] = []
    result = simulate(SCENARIO, "fifo", on_progress=heard.append)
    assert [(p.slots_done, p.slots) for p in heard] == [(n, 8) for n in range(1, 9)]
    assert [p.utility for p in heard] == [slot.utility for slot in result.runs[0].slots]
    assert [p.active for p in heard] == [slot.active for slot in result.runs[0].slots]


def test_a_process_that_dies_is_reported_with_what_to_do(tmp_path: Path) -> None:
    tasks = [Task(SCENARIO, Faulty(3, "die"), "faulty", 0, part=tmp_path / "p")]
    with pytest.raises(GadgetError, match=r"'faulty', seed 0 ended with code 3.*--resume"):
        run_sweep(tasks, processes=1)
    assert len(list(finished_lines(tmp_path / "p"))) == 3


@pytest.mark.parametrize("processes", [0, 1])
def test_errors_of_a_policy_come_through(processes: int) -> None:
    with pytest.raises((ZeroDivisionError, RuntimeError), match="by nothing"):
        simulate(SCENARIO, {"faulty": Faulty(1, "raise")}, processes=processes)
    with pytest.raises(BrokenConstraint, match="'cheater' broke its promise in slot 1"):
        simulate(SCENARIO, {"cheater": Faulty(1, "cheat")}, processes=processes)


def test_a_policy_that_cannot_travel_is_refused_before_anything_starts() -> None:
    class Local:
        decide = Fifo().decide

    with pytest.raises(BadOption, match="'mine' cannot be sent to another process"):
        simulate(SCENARIO, {"mine": Local()}, processes=1)
    assert simulate(SCENARIO, {"mine": Local()}).complete


def test_an_interruption_ends_the_slot_and_what_was_done_is_kept(tmp_path: Path) -> None:
    tasks = [
        Task(SCENARIO, Faulty(3, "interrupt"), "f", 0, part=tmp_path / "0"),
        Task(SCENARIO, Fifo(), "g", 0, part=tmp_path / "1"),
    ]
    sweep = run_sweep(tasks)
    assert sweep.signal == signal.SIGINT
    assert [len(run.slots) for run in sweep.runs] == [4, 0]
    assert [run.complete for run in sweep.runs] == [False, False]
    assert len(list(finished_lines(tmp_path / "0"))) == 4
    with pytest.raises(KeyboardInterrupt):
        simulate(SCENARIO, {"f": Faulty(3, "interrupt")})


def test_a_second_signal_strikes_at_once_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        simulate(SCENARIO, {"f": Faulty(3, "interrupt twice")})
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(simulate(SCENARIO, "fifo").complete))
    thread.start()
    thread.join()
    assert found == [True]


def written(path: Path, policy: object = None) -> RunResult:
    task = Task(SCENARIO, policy or Fifo(backfill=True), "f", 0, part=path)  # type: ignore[arg-type]
    return run_task(task, stop=lambda: False, on_progress=lambda _: None)


def test_a_run_cut_at_any_byte_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    cuts = sorted({*range(0, len(content), 97), 1, len(content) - 1, len(content), content.index(b"\n") + 1})
    for cut in cuts:
        part = tmp_path / "cut"
        part.write_bytes(content[:cut])
        lines = content[:cut].count(b"\n")
        # Only what is missing is decided: a policy that fails in an earlier slot is never asked there.
        again = written(part, Faulty(lines - 1, "raise"))
        assert timeless(again) == timeless(whole)
        kept, made = content[:cut].splitlines(keepends=True)[:lines], part.read_bytes().splitlines()
        assert b"".join(kept) == content[: sum(map(len, kept))] == part.read_bytes()[: sum(map(len, kept))]
        assert len(made) == SCENARIO.slots


def crowded() -> Scenario:
    """More jobs than room, and restarts that cost work: where a slot starts from shows in what it decides."""
    rng = np.random.default_rng(2)
    cluster = build_paper_cluster(rng, servers=6)
    some = [
        job(
            f"j{number}",
            min_workers=int(rng.integers(1, 3)),
            max_workers=int(rng.integers(3, 6)),
            bandwidth_gbps=int(rng.integers(1, 6)),
            rate=int(rng.integers(1, 9)),
            utility=Sqrt(int(rng.integers(1, 9))),
            arrival=int(rng.integers(0, 4)),
            resize_cost=int(rng.integers(0, 4)),
        )
        for number in range(12)
    ]
    return Scenario(cluster, tuple(some), 6)


def test_a_run_that_starts_each_slot_from_prices_goes_on_to_the_same_end(tmp_path: Path) -> None:
    scenario, part = crowded(), tmp_path / "p"
    server = scenario.cluster.servers[2].name
    planned = (Planned(3, ServerFailed(server)), Planned(5, ServerReturned(server)))
    task = Task(scenario, Gadget(), "gadget", 0, planned, part)

    def go_on() -> bytes:
        return timeless(run_task(task, stop=lambda: False, on_progress=lambda _: None))

    whole, content = go_on(), part.read_bytes()
    lines = content.splitlines(keepends=True)
    decided = list(finished_lines(part))
    assert [line.startswith(b'{"prices"') for line in lines] == [True, False] * scenario.slots
    assert decided == lines[1::2]
    ends = [0, *np.cumsum([len(line) for line in lines]).tolist()]
    # Behind decisions, behind prices, and within a line of each.
    for cut in (*ends[2::2], ends[5], ends[6] + 5, ends[9] + 5):
        part.write_bytes(content[:cut])
        assert go_on() == whole
        assert [strip_seconds(line) for line in finished_lines(part)] == list(map(strip_seconds, decided))


def strip_seconds(line: bytes) -> dict[str, object]:
    return {key: value for key, value in json.loads(line).items() if key != "seconds"}


def test_prices_come_back_bit_for_bit_on_the_cluster_that_stood(tmp_path: Path) -> None:
    numbers = np.array([[0.1, 0.0], [1 / 3, 1e-300]])
    made = Prices(PAIR, numbers[:, :1], np.array([np.pi, 0.0, 2.5, 0.0]))
    steps = [replace(decision(0, policy="f"), prices=made), decision(1, policy="f")]
    with PartFile(tmp_path / "p", "f", 0) as part:
        for step in steps:
            part.append(step)
    with PartFile(tmp_path / "p", "f", 0) as part:
        replay = part.replay()
        assert part.recall(PAIR) is None
        next(replay)
        found = part.recall(PAIR)
        assert found is not None
        assert found.cluster is PAIR
        assert (found.resources.tolist(), found.links.tolist()) == (
            made.resources.tolist(),
            made.links.tolist(),
        )
        with pytest.raises(BadFile, match=r"p: holds no prices of this cluster.*--force"):
            part.recall(PAIR.without(["a"]))
        next(replay)
        assert part.recall(PAIR) is None  # the second left none


@pytest.mark.parametrize(
    "line", ['{"prices"\n', '{"prices": {}}\n', '{"prices": {"resources": "%", "links": ""}}\n']
)
def test_prices_that_are_spoilt_are_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "p").write_text(line + format_json(decision(0, policy="f"), indent=None))
    with PartFile(tmp_path / "p", "f", 0) as part:
        next(part.replay())
        with pytest.raises(BadFile, match="holds no prices of this cluster"):
            part.recall(PAIR)


def test_what_is_known_is_replayed_even_when_nothing_more_may_be_decided(tmp_path: Path) -> None:
    written(tmp_path / "p")
    lines = (tmp_path / "p").read_bytes().splitlines(keepends=True)
    (tmp_path / "p").write_bytes(b"".join(lines[:5]) + b'{"half')
    task = Task(SCENARIO, Fifo(), "f", 0, part=tmp_path / "p")
    run = run_task(task, stop=lambda: True, on_progress=lambda _: None)
    assert len(run.slots) == 5
    assert not run.complete


def test_lines_that_are_no_decisions_of_this_run_are_refused(tmp_path: Path) -> None:
    part = tmp_path / "p"
    good = format_json(decision(0, policy="f"), indent=None)
    for bad, said in (
        ("nonsense\n", r"p:2: is no decision"),
        (good, r"p:2: is not the decision of 'f', seed 0, on slot 1"),
        (format_json(decision(1, policy="g"), indent=None), r"p:2: is not the decision of 'f'"),
    ):
        part.write_text(good + bad)
        with pytest.raises(BadFile, match=said), PartFile(part, "f", 0) as opened:
            list(opened.replay())
    with pytest.raises(BadFile, match="cannot be opened"), PartFile(tmp_path / "no" / "p", "f", 0):
        pass


def test_tasks_come_by_policy_then_by_seed() -> None:
    tasks = build_tasks(
        SCENARIO, ["fifo", "las"], [3, 1], find_part=lambda place, seed: Path(f"{place}-{seed}")
    )
    assert [(task.label, task.seed, str(task.part)) for task in tasks] == [
        ("fifo", 3, "0-3"),
        ("fifo", 1, "0-1"),
        ("las", 3, "1-3"),
        ("las", 1, "1-1"),
    ]
