"""All rings of one service on Ray: what is ordered, what is found again, what Ray has no room for."""

import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from gadget.backends.backend import (
    EngineAway,
    Launch,
    Report,
    RingMoved,
    ServerWentAway,
)
from gadget.backends.ray_cluster import sum_amounts
from gadget.backends.ray_link import News, RayLink
from gadget.backends.ray_ring import RayRing, Spec
from gadget.backends.ray_servers import RayServers
from gadget.backends.ray_spec import build_spec
from gadget.backends.ring_book import RingBook, why_not
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.ring_seats import Seats, spread_port

ROOM_SECONDS = 10.0
"""A rank that Ray has certainly no room for may wait so long: others may be about to go."""
SLOW_SECONDS = 120.0
"""And so long one that nobody knows why Ray does not start it."""
SETUP_SECONDS = 900.0
"""With a runtime environment it may first have to be made: Ray gives that 600 seconds by default."""

_log = logging.getLogger(__name__)


class RayRings(RingBook[RayRing]):
    """The rings, by key. What follows from news and orders is returned as reports."""

    def __init__(
        self, link: RayLink, folder: RingFolder, instance: str, servers: RayServers, *, room_seconds: float
    ) -> None:
        super().__init__(folder, instance)
        self._link, self._servers = link, servers
        self.space = find_space(instance)
        self._room_seconds = room_seconds
        self._slow_seconds = SETUP_SECONDS if link.has_runtime_env else SLOW_SECONDS

    @property
    def held(self) -> dict[str, dict[str, float]]:
        """What Ray has set aside for our ranks, by server."""
        return sum_amounts((server, ring.record.amounts) for ring in self.live for server in ring.holding)

    @property
    def unsettled(self) -> set[str]:
        """Servers where ranks come or go."""
        return {server for ring in self.live for server in ring.unsettled}

    def seat_all(self) -> None:
        """Count anew who sits where, on the servers as they are now."""
        # Nobody can look from here whether a port is free there.
        seats = Seats(
            self._servers.whole,
            self._servers.addresses,
            lambda *_: True,
            first_port=spread_port(self._instance),
        )
        self.seat(seats)

    # What was, and what is there.

    def recall(self) -> None:
        """Take up every ring that an earlier life wrote down."""
        for record in self._folder.records(self._instance):
            ring = self.rings[record.key] = RayRing(record, self._folder, self._link, self.space)
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

    def order(self, order: Launch) -> list[RingMoved]:
        """Write a new ring down; it starts with the next step."""

        def build(record: Record) -> RayRing:
            specify = partial(self._specify, order, record)
            return RayRing(record, self._folder, self._link, self.space, specify)

        return self.take(order, why_not(order, self._servers.away), build, amounts=order.job.resources)

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
        self.trim_logs()
        for ring in self.live:
            try:
                reports += ring.step(time.monotonic(), time.time())
            except EngineAway:  # the link says so too
                break
            except Exception:  # one ring must not blind the engine for the others
                _log.exception("%s could not be looked at", ring.key)
            if ring.phase.is_over:
                self._folder.trim_logs(ring.key, len(ring.record.seats))
                self.give_back(ring)
        return reports


def find_space(instance: str) -> str:
    """The namespace in which the actors of a service are."""
    return f"gadget-{instance}"
