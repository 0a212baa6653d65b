"""The contract of engines when something is lost: servers that die or hang, and the engine itself."""

import pytest

from gadget.backends.backend import (
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from tests import engines
from tests.benches import Bench
from tests.engines import OBEY, STUBBORN, TELL, Engine, build_cluster, build_launch, find_workers


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines take their time to find that something is lost."""
    monkeypatch.setattr(engines, "PATIENCE_SECONDS", 90.0)


def count(engine: Engine, kind: type) -> int:
    return sum(isinstance(one, kind) for one in list(engine.reports))


def find_servers(engine: Engine, kind: type[ServerWentAway] | type[ServerCameBack]) -> set[str]:
    return {one.server for one in list(engine.reports) if isinstance(one, kind)}


@pytest.mark.parametrize(
    ("bench", "ways"),
    [
        ("local-loopback", ("kill",)),
        ("local-namespaces", ("kill",)),
        ("ray", ("kill", "stop")),
        ("slurm", ("kill", "stop")),
    ],
    indirect=["bench"],
)
def test_rings_through_lost_servers_end_others_go_on_and_what_returns_is_used_again(
    bench: Bench, ways: tuple[str, ...]
) -> None:
    engine = bench.open()
    spared = build_launch("spared", 1, ["s0", "s0"], OBEY)
    lost = dict(zip(ways, ("s1", "s2"), strict=False))
    hit = [build_launch(way, 1, ["s0", server], STUBBORN) for way, server in lost.items()]
    for order in (spared, *hit):
        engine.backend.launch(order)
    for order in (spared, *hit):
        engine.wait_for(order.key, RingPhase.RUNNING)
    try:
        for way, server in lost.items():
            (bench.kill_server if way == "kill" else bench.stop_server)(server)
        engine.wait(lambda: find_servers(engine, ServerWentAway) == set(lost.values()), "the loss")
        for order in hit:
            end = engine.wait_until_over(order.key)
            assert end.phase in (RingPhase.FAILED, RingPhase.TAKEN), end
            assert order.ring.workers[1] in end.reason
        late = build_launch("late", 1, [lost["kill"]], TELL)
        engine.backend.launch(late)
        assert "away" in engine.wait_until_over(late.key).reason
    finally:
        bench.mend()
    engine.wait(lambda: find_servers(engine, ServerCameBack) == set(lost.values()), "the return")
    # One that hung wakes with all that it had; its engine ends that in a moment.
    engine.wait(lambda: not any(find_workers(bench.instance, order.key.job) for order in hit), "the end")
    again = build_launch("kill", 2, ["s0", *lost.values()], TELL)
    engine.backend.launch(again)
    end = engine.wait_until_over(again.key)
    assert end.phase is RingPhase.FINISHED, end
    assert engine.surveyed()[spared.key] is RingPhase.RUNNING
    assert len(find_workers(bench.instance, "spared")) >= 2
    assert engine.phases(spared.key) == [RingPhase.RUNNING]


@pytest.mark.parametrize("bench", ["ray", "slurm"], indirect=True)
def test_an_engine_that_is_away_is_told_takes_no_orders_and_is_surveyed_when_it_is_back(
    bench: Bench,
) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    bench.stop_engine()
    try:
        engine.wait(lambda: count(engine, EngineWentAway), "the loss")
        for ask in (
            engine.backend.survey,
            lambda: engine.backend.launch(build_launch("more", 1, ["s2"], TELL)),
            lambda: engine.dismiss(order.key, 1),
        ):
            with pytest.raises(EngineAway):
                ask()
    finally:
        bench.start_engine()
    engine.wait(lambda: count(engine, EngineCameBack), "the return")
    # Whether the ring outlived its engine is the engine's business; it is told, and runs once or never.
    wanted = RingPhase.RUNNING if bench.slurm is not None else RingPhase.FAILED
    engine.wait(lambda: engine.surveyed() == {order.key: wanted}, "what is left")
    assert count(engine, EngineWentAway) == count(engine, EngineCameBack) == 1
    if wanted is RingPhase.RUNNING:
        engine.dismiss(order.key, 60)
        assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    else:
        engine.wait(lambda: find_servers(engine, ServerCameBack) >= set(build_cluster().server_by_name))
    again = build_launch("job", 2, ["s0", "s2"], TELL)
    engine.backend.launch(again)
    end = engine.wait_until_over(again.key)
    assert end.phase is RingPhase.FINISHED, end
