"""The benchmark of the ring law: its yardstick, its worker, and what it says where it cannot measure."""

import json
import uuid
from pathlib import Path

import pytest
from benchmarks import ring_law
from benchmarks.ring_law import LAW, TWICE, build_order, judge, law

from gadget.backends.backend import RingKey, RingPhase
from gadget.backends.local import LocalBackend
from tests.engines import Engine, build_cluster


def test_the_law_is_two_d_times_w_less_one_over_w_b(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_law, "MB", 16)
    assert [round(law(workers), 3) for workers in (1, 2, 3, 4)] == [0, 1.28, 1.707, 1.92]


def test_a_ratio_outside_its_bar_is_missed_on_either_side() -> None:
    assert [judge("", seconds, 1.0, LAW, "").is_met for seconds in (0.5, 1.1, 2.0)] == [False, True, False]
    assert [judge("", seconds, 1.0, TWICE, "").is_met for seconds in (1.0, 2.0, 4.0)] == [False, True, False]


def test_its_worker_goes_round_and_tells_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_law, "MB", 1)
    engine = Engine(LocalBackend(build_cluster(), tmp_path, uuid.uuid4().hex, network="loopback"))
    key = RingKey("ring", 1)
    engine.backend.launch(build_order(key, ("s0", "s1", "s0", "s2")))
    end = engine.wait_until_over(key)
    assert end.phase is RingPhase.FINISHED, end.reason
    seconds = json.loads(engine.backend.read_log("ring", rank=0, lines=1))
    assert len(seconds) == ring_law.ROUNDS
    assert all(0 < one < 30 for one in seconds)
    engine.backend.close(keep_rings=False)


def test_where_namespaces_cannot_be_made_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ring_law, "why_no_namespaces", lambda: "only root can")
    assert ring_law.main() == 0
    assert "only root can" in capsys.readouterr().out
