"""The rings of one service on one engine: written down when they are ordered, told of, forgotten when over.

What is the same on every engine that keeps a folder is here; how ranks are started and looked at is the
engine's. Nothing here is locked: the engine does that.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, TypeVar

from gadget.backends.backend import Dismissal, Launch, Report, RingFound, RingKey, RingMoved, RingPhase
from gadget.backends.ring_course import RingCourse
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.ring_seats import NoRoom, Seats
from gadget.backends.worker_environment import Seat
from gadget.errors import BadFile

_TRIM_SECONDS = 10.0

_log = logging.getLogger(__name__)
R = TypeVar("R", bound=RingCourse)


class RingBook(Generic[R]):
    """Rings by key, and who sits where."""

    def __init__(self, folder: RingFolder, instance: str, *, boot: str = "") -> None:
        self._folder, self._instance, self._boot = folder, instance, boot
        self._trim_at = 0.0
        self.rings: dict[RingKey, R] = {}
        self._seats: Seats | None = None

    @property
    def seats(self) -> Seats:
        """Who sits where; known as soon as the servers are."""
        assert self._seats is not None  # every engine seats before it takes orders
        return self._seats

    @property
    def live(self) -> list[R]:
        """Rings that are not over."""
        return [ring for ring in self.rings.values() if not ring.phase.is_over]

    def tell(self) -> list[RingFound]:
        """Every ring, also those that are over and not forgotten."""
        return [ring.tell() for ring in self.rings.values()]

    def seat(self, seats: Seats) -> None:
        """Count anew who sits where, on other servers or at other addresses; ports go on in their turn."""
        if self._seats is not None:
            seats.go_on_from(self._seats)
        self._seats = seats
        for ring in self.live:
            self.keep(ring)

    def keep(self, ring: R) -> None:
        """A ring that was there before we were has its seats."""
        record = ring.record
        self.seats.keep(record.seats, record.master_port, record.gpu_per_worker)

    def give_back(self, ring: R) -> None:
        """A ring that is over leaves its seats."""
        record = ring.record
        self.seats.give_back(record.seats, record.master_port, record.gpu_per_worker)

    def take(
        self,
        order: Launch,
        why: str,
        build: Callable[[Record], R],
        *,
        amounts: Mapping[str, float] | None = None,
        write: Callable[[Record], None] | None = None,
    ) -> list[RingMoved]:
        """Write a new ring down, or refuse it for `why`; `write` adds what its ranks need.

        One whose number is not above the largest that was launched for its job is refused, and not kept.
        """
        key, gpu = order.key, order.job.resources.get("gpu", 0.0)
        if key in self.rings:
            return []
        if key.number <= (fence := self._folder.fence(key.job, self._instance)):
            reason = f"the order is stale: ring {fence} of this job was launched already"
            return [RingMoved(key, RingPhase.FAILED, reason)]
        seats: tuple[Seat, ...] = ()
        port = 0
        if not why:
            try:
                seats, port = self.seats.take(order.ring.workers, gpu)
            except NoRoom as error:
                why = f"{error}"
        record = Record(
            instance=self._instance,
            boot=self._boot,
            job=key.job,
            number=key.number,
            workers=order.ring.workers,
            routes=order.ring.routes,
            seats=seats,
            master_port=port,
            gpu_per_worker=gpu,
            amounts=dict(amounts or {}),
        )
        ring = self.rings[key] = build(record)
        try:
            self._folder.raise_fence(key, self._instance)
            self._folder.drop(key)  # a former service may have left one of this name
            self._folder.prepare(record)
            if not why and write is not None:
                write(record)
        except ValueError as error:
            why = why or f"it cannot be started: {error}"
        except (OSError, BadFile) as error:
            why = why or f"it cannot be written down: {error}"
        if not why:
            return []
        self.seats.give_back(seats, port, gpu)
        return [ring.end_now(RingPhase.FAILED, why)]

    def dismiss(self, order: Dismissal, now: float) -> list[RingMoved]:
        """Ask the workers of a ring to leave, by the clock that `now` is of; unknown rings have left."""
        ring = self.rings.get(order.key)
        return [] if ring is None else ring.dismiss(now + order.grace_seconds, order.reason)

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        ring = self.rings.get(key)
        if ring is not None and ring.phase.is_over:
            del self.rings[key]
            self._folder.drop(key)

    def trim_logs(self) -> None:
        """Shorten logs that are too long, now and then."""
        if (now := time.monotonic()) < self._trim_at:
            return
        self._trim_at = now + _TRIM_SECONDS
        for ring in self.live:
            self._folder.trim_logs(ring.key, len(ring.record.seats))

    def break_all(self) -> None:
        """End every ring, since the service ends for good."""
        for ring in self.live:
            ring.break_off("the service ended")

    def drop_all(self) -> None:
        """Keep nothing but logs and checkpoints of rings that are over."""
        for key, ring in self.rings.items():
            if ring.phase.is_over:
                self._folder.drop(key)
            else:
                _log.warning("%s could not be ended: %s", key, ring.reason)


def why_not(order: Launch, away: Collection[str]) -> str:
    """Why no engine could start this ring; empty if it might."""
    if order.job.program is None:
        return f"job {order.key.job!r} says nothing of what its workers run. Give it a `run:` part."
    if not order.ring.workers:
        return "the ring has no workers"
    if gone := sorted(set(away).intersection(order.ring.workers)):
        return f"server {gone[0]} is away"
    return ""


def deliver_all(reports: Iterable[Report], deliver: Callable[[Report], None]) -> None:
    """Hand reports on, whatever the listener makes of each."""
    for report in reports:
        try:
            deliver(report)
        except Exception:  # the engine must go on whatever its listener does
            _log.exception("a report was not taken: %s", report)
