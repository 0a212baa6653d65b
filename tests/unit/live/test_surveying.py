"""What an engine turns out to have, and where a controller begins."""

from pathlib import Path

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.backends.words import Kind
from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.events import JobsArrived, Noted, SlotDecided
from gadget.live.fleet import Fleet
from gadget.live.origin import begin_live, find_origin
from gadget.live.surveying import find_missing_slots, take_stock
from gadget.store.journal import Journal
from tests.unit.engine.worlds import decision, ring
from tests.unit.live.scenes import add, fold, live_job, running, say, serve


def found(name: str, number: int, phase: RingPhase = RingPhase.RUNNING) -> RingFound:
    return RingFound(RingKey(name, number), ring(name, "a"), phase)


def test_rings_that_should_run_are_adopted_and_others_are_strays() -> None:
    state = running(ring("j", "a"), jobs=[live_job("k")])
    rings = [found("j", 0), found("k", 0), found("x", 3), found("y", 0, RingPhase.FAILED)]
    stock = take_stock(state, Fleet(), rings, wall=5.0, steady=6.0)
    assert (stock.adopted, stock.strays, len(stock.rings)) == (1, 2, 4)
    assert all(isinstance(note, Noted) for note in stock.notes)
    assert len(stock.notes) == 3
    adopted = stock.rings[RingKey("j", 0)]
    assert adopted.was_found
    assert adopted.job is state.active["j"].job
    assert stock.rings[RingKey("x", 3)].job is None


def test_what_a_ring_has_told_outlives_an_engine_that_was_away() -> None:
    state, before = running(ring("j", "a")), Fleet()
    key = add(before, state, ring("j", "a"))
    say(before, key, Kind.PROGRESS, work=12.0)
    stock = take_stock(state, before, [found("j", 0, RingPhase.FINISHED)], wall=5.0, steady=6.0)
    assert stock.rings[key].work == 12.0
    assert stock.rings[key].phase is RingPhase.FINISHED
    assert (stock.adopted, stock.strays) == (0, 0)


def missing(state, *rings: RingFound):
    return find_missing_slots(state, rings, policy="p", seed=0)


def test_a_journal_that_knows_of_all_rings_misses_nothing() -> None:
    state = running(ring("j", "a"))
    assert missing(state) == []
    assert missing(state, found("j", 0)) == []
    assert missing(serve(state), found("j", 0)) == []


def test_slots_go_on_above_every_ring_that_is_there() -> None:
    for state in (running(ring("j", "a")), serve(running(ring("j", "a"))), fold()):
        events = missing(state, found("x", 4), found("j", 2))
        after = state
        for event in events:
            after = apply(after, event)
        assert check_state(after) == []
        # The next decision's number is above all that were seen, and nothing else has changed.
        assert (after.slot, after.decided) == (5, False)
        assert after.running == state.running
        assert {name: one.active for name, one in after.active.items()} == {
            name: one.active for name, one in state.active.items()
        }


def test_a_controller_begins_where_its_journal_ends(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j.db", begin_live(10.0)) as journal:
        begun = find_origin(journal)
        assert (begun.state, begun.last, begun.decided_at) == (begin_live(10.0), 0, None)
        journal.append([JobsArrived((live_job("j"),))], 100.0)
        journal.append([SlotDecided(decision(0))], 200.0)
        journal.append([Noted("x", "later")], 300.0)
        origin = find_origin(journal)
    assert (origin.last, origin.decided_at) == (3, 200.0)
    assert origin.state.decided
    assert list(origin.state.active) == ["j"]
