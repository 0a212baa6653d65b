"""All rings of one service on Ray: what is ordered, what is found again, what Ray has no room for."""

import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from gadget.backends.backend import (
    Dismissal,
    EngineAway,
    Launch,
    Report,
    RingFound,
    RingKey,
    RingMoved,
    RingPhase,
    ServerWentAway,
)
from gadget.backends.local_folder import LocalFolder, Record
from gadget.backends.local_seats import NoRoom, Seats, spread_port
from gadget.backends.ray_cluster import sum_amounts
from gadget.backends.ray_link import News, RayLink
from gadget.backends.ray_ring import RayRing, Spec
from gadget.backends.ray_servers import RayServers
from gadget.backends.ray_spec import build_spec
from gadget.backends.worker_environment import Seat
from gadget.errors import BadFile

ROOM_SECONDS = 10.0
"""A rank that Ray has certainly no room for may wait so long: others may be about to go."""
SLOW_SECONDS = 120.0
"""And so long one that nobody knows why Ray does not start it."""
SETUP_SECONDS = 900.0
"""With a runtime environment it may first have to be made: Ray gives that 600 seconds by default."""
_TRIM_SECONDS = 10.0

_log = logging.getLogger(__name__)


class RayRings:
    """The rings, by key. What follows from news and orders is returned as reports."""

    def __init__(
        self, link: RayLink, folder: LocalFolder, instance: str, servers: RayServers, *, room_seconds: float
    ) -> None:
        self._link, self._folder, self._instance, self._servers = link, folder, instance, servers
        self.space = find_space(instance)
        self._room_seconds = room_seconds
        self._slow_seconds = SETUP_SECONDS if link.has_runtime_env else SLOW_SECONDS
        self._rings: dict[RingKey, RayRing] = {}
        self._seats: Seats | None = None
        self._trim_at = 0.0

    def tell(self) -> list[RingFound]:
        """Every ring, also those that are over and not forgotten."""
        return [ring.tell() for ring in self._rings.values()]

    @property
    def live(self) -> list[RayRing]:
        """Those that are not over."""
        return [ring for ring in self._rings.values() if not ring.phase.is_over]

    @property
    def held(self) -> dict[str, dict[str, float]]:
        """What Ray has set aside for our ranks, by server."""
        return sum_amounts((server, ring.record.amounts) for ring in self.live for server in ring.holding)

    @property
    def unsettled(self) -> set[str]:
        """Servers where ranks come or go."""
        return {server for ring in self.live for server in ring.unsettled}

    def seat(self) -> None:
        """Count anew who sits where, on the servers as they are now."""
        before, servers = self._seats, self._servers
        # Nobody can look from here whether a port is free there.
        self._seats = Seats(
            servers.whole,
            servers.addresses,
            lambda address, port: True,  # noqa: ARG005
            first_port=spread_port(self._instance),
        )
        if before is not None:
            self._seats.go_on_from(before)
        for ring in self.live:
            record = ring.record
            self._seats.keep(record.seats, record.master_port, record.gpu_per_worker)

    # What was, and what is there.

    def recall(self) -> None:
        """Take up every ring that an earlier life wrote down."""
        for record in self._folder.records(self._instance):
            ring = self._rings[record.key] = RayRing(record, self._folder, self._link, self.space)
            ring.recall()

    def adopt(self, found: Mapping[str, Mapping[str, Any] | None]) -> set[str]:
        """Compare with the actors that Ray has, by name; gives those that are strays."""
        now = time.monotonic()
        for ring in self.live:
            ring.adopt(found, now)
        return found.keys() - {name for ring in self.live for name in ring.names}

    def hear(self, news: News) -> None:
        """News of one rank; one that is of no ring any more is ended."""
        now, name = time.monotonic(), news["name"]
        for ring in self.live:
            if (rank := ring.names.get(name)) is not None:
                ring.hear(rank, now, state=news.get("state"), dead=news.get("dead"))
                return
        if news.get("dead") is None:
            self._link.ask("end", space=self.space, name=name)

    def lose(self, report: ServerWentAway) -> None:
        """End the rings through a server that is gone."""
        for ring in self.live:
            if report.server in ring.record.workers:
                ring.lose(report.server, report.reason, time.monotonic())

    def look_for_room(self, now: float) -> list[Report]:
        """Take back rings that Ray has no room for: others have what they need."""
        reports: list[Report] = []
        live, held = self.live, self.held
        waiting = sum_amounts((server, ring.record.amounts) for ring in live for server, _ in ring.pending)
        for ring in live:
            for server, since in ring.pending:
                lacks = self._servers.lacks_room(server, ring.record.amounts, waiting[server], held)
                if lacks and now - since > self._room_seconds:
                    ring.break_off(f"Ray has no room for it on {server}", taken=True)
                    reports += self._servers.give_up(server, held)
                elif now - since > self._slow_seconds:
                    why = f"Ray has not started its rank on {server} in {self._slow_seconds:g} s"
                    ring.break_off(why, taken=True)
        return reports

    # What is ordered.

    def take(self, order: Launch) -> list[Report]:
        """Write a new ring down; it starts with the next step."""
        key, job = order.key, order.job
        if key in self._rings:
            return []
        if key.number <= (fence := self._folder.fence(key.job, self._instance)):
            reason = f"the order is stale: ring {fence} of this job was launched already"
            return [RingMoved(key, RingPhase.FAILED, reason)]
        gpu = job.resources.get("gpu", 0.0)
        seats: tuple[Seat, ...] = ()
        port, why = 0, self._why_not(order)
        assert self._seats is not None  # seated when the engine was opened
        if not why:
            try:
                seats, port = self._seats.take(order.ring.workers, gpu)
            except NoRoom as error:
                why = f"{error}"
        record = Record(
            instance=self._instance,
            boot="",
            job=key.job,
            number=key.number,
            workers=order.ring.workers,
            routes=order.ring.routes,
            seats=seats,
            master_port=port,
            gpu_per_worker=gpu,
            amounts=dict(job.resources),
        )
        ring = RayRing(record, self._folder, self._link, self.space, partial(self._specify, order, record))
        try:
            self._folder.raise_fence(key, self._instance)
            self._folder.prepare(record)
        except (OSError, BadFile) as error:
            why = why or f"it cannot be written down: {error}"
        self._rings[key] = ring
        if not why:
            return []
        self._seats.give_back(seats, port, gpu)
        return [ring.end_now(RingPhase.FAILED, why)]

    def dismiss(self, order: Dismissal) -> list[RingMoved]:
        """Ask the workers of a ring to leave; unknown rings have left."""
        ring = self._rings.get(order.key)
        return [] if ring is None else ring.dismiss(time.time() + order.grace_seconds, order.reason)

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        ring = self._rings.get(key)
        if ring is not None and ring.phase.is_over:
            del self._rings[key]
            self._folder.drop(key)

    def _why_not(self, order: Launch) -> str:
        if order.job.program is None:
            return f"job {order.key.job!r} says nothing of what its workers run. Give it a `run:` part."
        if not order.ring.workers:
            return "the ring has no workers"
        if away := sorted(self._servers.away.intersection(order.ring.workers)):
            return f"server {away[0]} is away"
        return ""

    def _specify(self, order: Launch, record: Record, rank: int) -> Spec:
        server = record.seats[rank].server
        if (node := self._servers.nodes.get(server)) is None:
            raise RuntimeError(f"server {server} is away")
        return build_spec(
            order, record, rank, node=node, folder=self._folder, has_runtime_dir=self._link.has_runtime_dir
        )

    # What is done.

    def step(self) -> list[Report]:
        """Look at every ring once, and act."""
        reports: list[Report] = []
        now, wall = time.monotonic(), time.time()
        is_time_to_trim = now >= self._trim_at
        if is_time_to_trim:
            self._trim_at = now + _TRIM_SECONDS
        for ring in self.live:
            record = ring.record
            try:
                reports += ring.step(now, wall)
                if is_time_to_trim or ring.phase.is_over:
                    self._folder.trim_logs(ring.key, len(record.seats))
            except EngineAway:  # the link says so too
                break
            except Exception:  # one ring must not blind the engine for the others
                _log.exception("%s could not be looked at", ring.key)
            if ring.phase.is_over and self._seats is not None:
                self._seats.give_back(record.seats, record.master_port, record.gpu_per_worker)
        return reports

    def break_all(self) -> None:
        """End every ring, since the service ends for good."""
        for ring in self.live:
            ring.break_off("the service ended")

    def drop_all(self) -> None:
        """Keep nothing but logs and checkpoints of rings that are over."""
        for key, ring in self._rings.items():
            if ring.phase.is_over:
                self._folder.drop(key)
            else:
                _log.warning("%s could not be ended: %s", key, ring.reason or self._link.trouble)


def find_space(instance: str) -> str:
    """The namespace in which the actors of a service are."""
    return f"gadget-{instance}"
