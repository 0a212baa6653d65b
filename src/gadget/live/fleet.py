"""What is really there, as engine and workers tell: nothing of it is journalled, all of it is found again."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.backends.words import Kind, Word
from gadget.model.job import Job
from gadget.model.ring import Ring


@dataclass(frozen=True, slots=True)
class Stretch:
    """How a ring got on between two of its words."""

    began: float
    """Steady seconds."""
    began_at: float
    """Work."""
    ended: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Presence:
    """A ring in the world."""

    key: RingKey
    ring: Ring
    phase: RingPhase
    job: Job | None
    """What it was started for; None of a ring that nobody knows."""
    since: float
    """When it reached its phase, in seconds since 1970."""
    began: float
    """When we first knew of it, in steady seconds."""
    up: float | None = None
    """When it began to run, in steady seconds."""
    was_found: bool = False
    """It was there before we were: what it says of its beginning is old."""
    reason: str = ""
    dismissed: bool = False
    was_over: bool = False
    """It had ended when it was found: what it said then, nobody heard."""
    hung: bool = False
    """It said nothing for too long."""
    work: float | None = None
    safe_work: float | None = None
    resumed: float | None = None
    """The work that it went on from, until that was looked at."""
    heard: tuple[float | None, ...] = ()
    """When each rank last spoke, in steady seconds."""
    heard_at: float | None = None
    """When any of them last spoke, in seconds since 1970."""
    step_seconds: float | None = None
    stretch: Stretch | None = None
    note: str = ""
    """What it last said in words of its own."""

    @property
    def is_over(self) -> bool:
        """True when no process of it is left."""
        return self.phase.is_over


@dataclass
class Fleet:
    """All rings in the world."""

    rings: dict[RingKey, Presence] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Presence]:
        return iter(tuple(self.rings.values()))

    def of_job(self, job: str) -> list[Presence]:
        """Its rings, oldest first."""
        return sorted((one for one in self.rings.values() if one.key.job == job), key=lambda one: one.key)

    def add(
        self, found: RingFound, job: Job | None, wall: float, steady: float, *, was_found: bool = False
    ) -> Presence:
        """Take note of a ring that was ordered or found."""
        size = found.ring.size
        made = Presence(
            found.key,
            found.ring,
            found.phase,
            job,
            since=wall,
            began=steady,
            up=steady if found.phase is RingPhase.RUNNING else None,
            was_found=was_found,
            reason=found.reason,
            heard=(None,) * size,
            was_over=found.phase.is_over,
        )
        self.rings[found.key] = made
        return made

    def move(self, key: RingKey, phase: RingPhase, reason: str, wall: float, steady: float) -> None:
        """A ring reached another phase; one that is over stays over."""
        one = self.rings.get(key)
        if one is None or one.is_over or (one.phase is RingPhase.STOPPING and not phase.is_over):
            return
        up = steady if phase is RingPhase.RUNNING and one.up is None else one.up
        self.rings[key] = replace(one, phase=phase, reason=reason or one.reason, since=wall, up=up)

    def mark(self, key: RingKey, wall: float) -> None:
        """A ring was asked to leave."""
        one = self.rings[key]
        if not one.is_over:
            self.rings[key] = replace(one, dismissed=True, phase=RingPhase.STOPPING, since=wall)

    def forgive(self, steady: float) -> None:
        """Nobody was listening for a while: silence until now is held against no one."""
        for key, one in self.rings.items():
            heard = tuple(None if last is None else steady for last in one.heard)
            self.rings[key] = replace(one, heard=heard, began=max(one.began, steady))

    def hear(self, word: Word, wall: float, steady: float) -> None:
        """A worker spoke. Only rank 0 counts what the ring has done."""
        one = self.rings.get(word.key)
        if one is None or not 0 <= word.rank < len(one.heard):
            return
        heard = (*one.heard[: word.rank], steady, *one.heard[word.rank + 1 :])
        one = replace(one, heard=heard, heard_at=wall)
        if word.text:
            one = replace(one, note=word.text)
        if word.rank == 0 and word.work is not None and 0 <= word.work < float("inf"):
            one = _count(one, word, word.work, steady)
        self.rings[word.key] = one


def _count(one: Presence, word: Word, work: float, steady: float) -> Presence:
    match word.kind:
        case Kind.RESUMED:
            # A worker that lost its connection tells of its beginning again; it has come further since.
            return one if one.work is not None else replace(one, resumed=work, work=work, safe_work=work)
        case Kind.CHECKPOINT:
            return replace(one, safe_work=work, work=max(work, one.work or 0.0))
        case Kind.PROGRESS | Kind.DONE:
            last = one.stretch
            # The first word of progress ends the start-up; from there on speed is measured.
            stretch = (
                Stretch(steady, work, steady, work)
                if last is None or work < last.began_at
                else replace(last, ended=steady, ended_at=work)
            )
            seconds = word.step_seconds if word.step_seconds and word.step_seconds > 0 else one.step_seconds
            return replace(one, work=max(work, one.work or 0.0), stretch=stretch, step_seconds=seconds)
        case _:
            return one
