"""The Ray engine: every rank an actor on the very node that was decided, in a namespace of this service.

Actors are detached: rings go on when the service ends, and the next life finds them by name. What must be
remembered beside them (orders, the largest number of each job, ends) is in the folder of the engine, as on
the local engine; it must be one that all nodes see, since checkpoints and logs are there too.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gadget.backends.backend import (
    ClusterFound,
    Dismissal,
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    Inventory,
    Launch,
    Report,
    RingFound,
    RingKey,
    ServerWentAway,
)
from gadget.backends.ray_link import CONNECT_SECONDS, News, RayLink
from gadget.backends.ray_rings import ROOM_SECONDS, RayRings, find_space
from gadget.backends.ray_servers import SETTLED_SECONDS, RayServers
from gadget.backends.ray_share import find_share, keep_share
from gadget.backends.ring_book import deliver_all
from gadget.backends.ring_folder import RingFolder
from gadget.errors import BadFile, BadOption, Unreachable
from gadget.model.cluster import Cluster

_TICK_SECONDS = 0.25
_QUICK_TICK_SECONDS = 0.02
_LOOK_SECONDS = 0.1
_CLOSE_SECONDS = 20.0

_log = logging.getLogger(__name__)


class RayBackend:
    """A backend (see `gadget.backends.backend.Backend`) on a Ray cluster."""

    name = "ray"

    def __init__(
        self,
        link: RayLink,
        folder: Path,
        instance: str,
        *,
        cluster: Cluster | None = None,
        known: Cluster | None = None,
        only: Mapping[str, str] | None = None,
        room_seconds: float = ROOM_SECONDS,
        is_shared_link: bool = False,
    ) -> None:
        """`cluster` are the servers and links of a file; without one, `known` are those of an earlier life.

        `only` are labels that the nodes given to us have. A ring that Ray has no room for is taken back after
        `room_seconds`. A shared link is not ours to open and close.
        """
        self.instance = instance
        self._link, self._owns_link = link, not is_shared_link
        self._space = find_space(instance)
        self._folder = RingFolder(folder)
        self._cluster = cluster
        self._servers = RayServers(cluster, known, only)
        self._rings = RayRings(link, self._folder, instance, self._servers, room_seconds=room_seconds)
        self._reports: list[Report] = []
        self._lock = threading.RLock()
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self._is_closing = self._is_lost = False
        self._monitor: threading.Thread | None = None
        self._deliver: Callable[[Report], None] = _log.debug

    @property
    def cluster(self) -> Cluster:
        """The servers as last told."""
        return self._servers.shown

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        """Find the nodes, adopt the rings of an earlier life, end its strays."""
        self._folder.open()
        try:
            self._recall_share()
            self._rings.recall()
            self._link.subscribe(self._space, self._news.put)
            if self._owns_link:
                self._link.open()
            self._find_engine()
        except BaseException:
            self._let_go()
            raise
        self._deliver = deliver
        self._monitor = threading.Thread(target=self._watch, name="gadget-ray-engine", daemon=True)
        self._monitor.start()
        return Inventory(self._servers.shown, frozenset(self._servers.away))

    def survey(self) -> Sequence[RingFound]:
        """Every ring, also those that are over and not forgotten."""
        with self._lock:
            self._check_there()
            return self._rings.tell()

    def launch(self, order: Launch) -> None:
        """Write the ring down, and have its actors started at once by the watching thread."""
        with self._lock:
            self._check_there()
            self._reports += self._rings.order(order)
        self._news.put(None)

    def dismiss(self, order: Dismissal) -> None:
        """Ask its workers to leave; unknown rings have left."""
        with self._lock:
            self._check_there()
            self._reports += self._rings.dismiss(order, time.time())
        self._news.put(None)

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        with self._lock:
            self._rings.forget(key)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines of this rank in the job's newest ring, empty without one."""
        return self._folder.read_log(job, rank=rank, lines=lines)

    def close(self, *, keep_rings: bool) -> None:
        """Stop watching; unless rings are kept, end every actor and remove what was made but logs."""
        monitor, self._monitor = self._monitor, None
        if monitor is None:
            return
        self._is_closing = True
        self._news.put(None)
        monitor.join(_CLOSE_SECONDS)
        try:
            if not keep_rings:
                self._remove_all()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._link.unsubscribe(self._space)
        if self._owns_link:
            self._link.close()
        self._folder.close()

    def _check_there(self) -> None:
        if self._is_lost:
            raise EngineAway(self._link.trouble or "Ray does not answer")

    def _recall_share(self) -> None:
        """Without a file it is as at the last start that had one: what a file left to others is not ours."""
        if self._cluster is not None:
            keep_share(self._folder.path, self.instance, self._cluster)
        elif (share := find_share(self._folder.path, self.instance)) is not None:
            self._servers.want(share)

    # What Ray has.

    def _find_engine(self) -> None:
        is_known = self._servers.is_known
        is_up = self._link.wait_until_up(CONNECT_SECONDS if not is_known else CONNECT_SECONDS / 4)
        try:
            if not is_up:
                raise EngineAway(self._link.trouble or f"no Ray cluster answers at {self._link.address}")
            self._take_over()
            self._begin()
        except (EngineAway, RuntimeError) as error:
            if self._link.is_refused:
                raise BadOption(f"{error}") from None
            if not is_known:
                raise Unreachable(
                    f"{error}. Give the address of its head, HOST:PORT, on a machine that is one of its "
                    "nodes; or ray://HOST:PORT from elsewhere."
                ) from None
            _log.warning("Ray is away: %s", error)
            self._is_lost = True
        self._rings.seat_all()
        if not self._is_lost:
            # What has ended meanwhile is told by the survey.
            self._reports += self._rings.step()

    def _begin(self) -> None:
        """The first look at the nodes; what seems to be taken may be what an earlier life just gave back."""
        deadline = time.monotonic() + SETTLED_SECONDS
        while True:
            told = self._link.ask("nodes")
            self._servers.begin(told, self._rings.held)
            if not self._servers.is_short or time.monotonic() > deadline:
                break
            time.sleep(_LOOK_SECONDS)
        for complaint in self._servers.find_complaints(told):
            _log.warning("%s", complaint)

    def _take_over(self) -> None:
        """Compare the actors that Ray has with the rings; end strays, and all of services before this one."""
        strays = self._rings.adopt(self._link.ask("adopt", space=self._space))
        # Of these nothing was written down, or that they are over.
        for name in strays:
            self._link.ask("end", space=self._space, name=name)
        # Services that had this folder, before their journal was moved away.
        for former in self._folder.former_instances(self.instance):
            self._link.ask("clear", space=find_space(former))
        try:
            self._folder.note("instances", [self.instance])
        except BadFile as error:
            _log.warning("%s", error)

    def _look_at_nodes(self, told: Sequence[Mapping[str, Any]]) -> None:
        now, addresses = time.monotonic(), self._servers.addresses
        found = self._servers.look(told, self._rings.held, self._rings.unsettled, now)
        if self._servers.addresses != addresses or any(isinstance(one, ClusterFound) for one in found):
            self._rings.seat_all()
        for report in found:
            if isinstance(report, ServerWentAway):
                self._rings.lose(report)
        self._reports += found
        self._reports += self._rings.look_for_room(now)

    # The watching thread.

    def _watch(self) -> None:
        while not self._is_closing:
            with self._lock:
                is_quick = not self._is_lost and any(ring.is_changing for ring in self._rings.live)
            self._take_news(_QUICK_TICK_SECONDS if is_quick else _TICK_SECONDS)
            with self._lock:
                self._step()
                reports, self._reports = self._reports, []
            deliver_all(reports, self._deliver)

    def _take_news(self, seconds: float) -> None:
        waiting: list[News | None] = []
        try:
            waiting.append(self._news.get(timeout=seconds))
            while True:
                waiting.append(self._news.get_nowait())
        except queue.Empty:
            pass
        for news in waiting:
            if news is not None:
                with self._lock:
                    self._hear(news)

    def _hear(self, news: News) -> None:
        try:
            match news["news"]:
                case "rank":
                    self._rings.hear(news)
                case "away":
                    self._is_lost = True
                    self._reports.append(EngineWentAway(news["why"]))
                case "back" | "nodes" if self._is_lost:
                    self._come_back()
                case "nodes":
                    self._look_at_nodes(news["nodes"])
        except EngineAway as error:
            _log.info("Ray fell silent: %s", error)  # the link says so too
        except Exception:  # the watch must go on whatever Ray says
            _log.exception("news of Ray could not be taken: %s", news["news"])

    def _come_back(self) -> None:
        """Ray answers again: compare what it has with what ran, then tell; tried again if that fails."""
        self._take_over()
        self._look_at_nodes(self._link.nodes)
        self._is_lost = False
        self._reports += self._rings.step()
        self._reports.append(EngineCameBack())

    def _step(self) -> None:
        if not self._is_lost:
            self._reports += self._rings.step()

    def _remove_all(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        self._rings.break_all()
        while self._rings.live and not self._is_lost and time.monotonic() < deadline:
            self._take_news(0.02)
            self._step()
        self._rings.drop_all()
