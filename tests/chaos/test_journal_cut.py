"""A journal that ends anywhere is either refused in clear words, or leads to a state that really was."""

from pathlib import Path

import pytest

from gadget.backends.backend import Launch, RingPhase
from gadget.engine.state import State
from gadget.errors import BadJournal, JournalFailed
from gadget.live.origin import Origin, begin_live, find_origin
from gadget.store.journal import Journal, fold
from tests.chaos.mayhem import SLOT_SECONDS, Mayhem
from tests.chaos.strikes import copy_journal
from tests.live_world import World, WorldRing

CUTS = 15


class FencedWorld(World):
    """As the local engine does, it refuses an order that is older than what it has seen, and goes on."""

    def start(self, order: Launch) -> None:
        if order.key not in self.rings and order.key.number <= self.newest.get(order.key.job, -1):
            self.rings[order.key] = WorldRing(order, RingPhase.FAILED, reason="the order is stale")
        else:
            super().start(order)


def list_states(journal: Journal) -> dict[int, State]:
    """The state after each entry."""
    states = {0: begin_live(SLOT_SECONDS)}
    for entry in journal.read(0, 100_000):
        states[entry.number] = fold(states[entry.number - 1], (entry,))
    return states


def open_cut(path: Path) -> Origin | str:
    """What a journal leads to, or what it says of itself."""
    try:
        with Journal.open(path, begin_live(SLOT_SECONDS)) as journal:
            return find_origin(journal)
    except (BadJournal, JournalFailed) as error:
        return str(error)


@pytest.mark.parametrize("seed", range(5))
def test_a_journal_cut_at_any_byte_is_refused_or_is_a_prefix_and_life_goes_on(
    memory_folder: Path, seed: int
) -> None:
    one = Mayhem(memory_folder, 100 + seed, "las", compact_every=1_000_000, kind=FencedWorld)
    for _ in range(25):
        one.strike()
        one.step(float(one.rng.choice((2.0, 8.0, 32.0))))
    one.is_full, one.fuse.left = False, None
    states = list_states(one.journal)
    assert states[one.read] == one.controller.state
    ends = []
    for number in range(CUTS):
        target = memory_folder / f"cut-{number}.db"
        copy_journal(one.path, target)
        victim = Path(f"{target}-wal") if number % 5 else target
        content = victim.read_bytes()
        victim.write_bytes(content[: int(one.rng.integers(len(content)))])
        origin = open_cut(target)
        if isinstance(origin, str):
            assert str(target) in origin
        else:
            assert origin.state == states[origin.last]
            ends.append((origin.last, target))
    assert ends
    # The shortest of them goes on in the world as it is by now.
    _, path = min(ends)
    one.journal.close()
    copy_journal(path, one.folder / "cut.db")
    one.journal = Journal.open(one.folder / "cut.db", begin_live(SLOT_SECONDS))
    origin = find_origin(one.journal)
    one.folded, one.read = origin.state, origin.last
    one.known = {*origin.state.active, *origin.state.ended}
    one.live()
    one.check()
    one.calm_down()
