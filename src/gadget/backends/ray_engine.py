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
from functools import partial
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
    RingMoved,
    RingPhase,
    ServerWentAway,
)
from gadget.backends.local_folder import LocalFolder, Record
from gadget.backends.local_seats import NoRoom, Seats
from gadget.backends.ray_cluster import demand, sum_held
from gadget.backends.ray_link import CONNECT_SECONDS, News, RayLink
from gadget.backends.ray_ring import RayRing, Spec
from gadget.backends.ray_servers import SETTLED_SECONDS, RayServers
from gadget.backends.worker_environment import Seat, build_worker_environment
from gadget.errors import BadFile, Unreachable
from gadget.model.cluster import Cluster

_TICK_SECONDS = 0.25
_QUICK_TICK_SECONDS = 0.02
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
        is_shared_link: bool = False,
    ) -> None:
        """`cluster` are the servers and links of a file; without one, `known` are those of an earlier life.

        `only` are labels that the nodes given to us have. A shared link is not ours to open and close.
        """
        self.instance = instance
        self._link, self._owns_link = link, not is_shared_link
        self._space = f"gadget-{instance}"
        self._folder = LocalFolder(folder)
        self._servers = RayServers(cluster, known, only)
        self._rings: dict[RingKey, RayRing] = {}
        self._reports: list[Report] = []
        self._lock = threading.RLock()
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self._is_closing = self._is_lost = False
        self._moved = 0.0
        """When a ring last came or went; what Ray says of free resources needs a moment to follow."""
        self._monitor: threading.Thread | None = None
        self._deliver: Callable[[Report], None] = _log.debug
        self._seats: Seats

    @property
    def cluster(self) -> Cluster:
        """The servers as last told."""
        return self._servers.shown

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        """Find the nodes, adopt the rings of an earlier life, end its strays."""
        self._folder.open()
        try:
            self._link.subscribe(self._space, self._news.put)
            if self._owns_link:
                self._link.open()
            self._find_engine()
            self._adopt_records()
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
            return [ring.tell() for ring in self._rings.values()]

    def launch(self, order: Launch) -> None:
        """Write the ring down, and have its actors started at once by the watching thread."""
        with self._lock:
            self._check_there()
            if order.key not in self._rings:
                self._take(order)
        self._news.put(None)

    def dismiss(self, order: Dismissal) -> None:
        """Ask its workers to leave; unknown rings have left."""
        with self._lock:
            self._check_there()
            if (ring := self._rings.get(order.key)) is not None:
                self._reports += ring.dismiss(time.monotonic() + order.grace_seconds, order.reason)
        self._news.put(None)

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        with self._lock:
            ring = self._rings.get(key)
            if ring is not None and ring.phase.is_over:
                del self._rings[key]
                self._folder.drop(key)

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

    # What Ray has.

    def _find_engine(self) -> None:
        is_known = self._servers.is_known
        if self._link.wait_until_up(CONNECT_SECONDS if not is_known else CONNECT_SECONDS / 4):
            self._servers.begin(self._link.nodes)
        elif is_known:
            self._is_lost = True
        else:
            raise Unreachable(
                f"no Ray cluster answers at {self._link.address}. Give the address of its head, HOST:PORT, "
                "on a machine that is one of its nodes; or ray://HOST:PORT from elsewhere."
            )
        self._seat()

    def _seat(self) -> None:
        # Nobody can look from here whether a port is free there.
        self._seats = Seats(self._servers.whole, self._servers.addresses, lambda address, port: True)  # noqa: ARG005
        for ring in self._rings.values():
            if not ring.phase.is_over:
                record = ring.record
                self._seats.keep(record.seats, record.master_port, record.gpu_per_worker)

    def _adopt_records(self) -> None:
        found = {} if self._is_lost else self._link.ask("adopt", space=self._space)
        known: set[str] = set()
        for record in self._folder.records(self.instance):
            ring = RayRing(record, self._folder, self._link, self._space)
            if self._is_lost:
                ring.recall()
            else:
                ring.adopt(found)
            self._rings[record.key] = ring
            if not ring.phase.is_over:
                known |= ring.names.keys()
                self._seats.keep(record.seats, record.master_port, record.gpu_per_worker)
        # Of these nothing was written down, or that they are over.
        for name in found.keys() - known:
            self._link.ask("end", space=self._space, name=name)
        if not self._is_lost:
            # What has ended meanwhile is told by the survey.
            self._step()

    def _look_at_nodes(self, told: Sequence[Mapping[str, Any]]) -> None:
        now, addresses = time.monotonic(), self._servers.addresses
        live = self._live()
        # Ranks that Ray has no room for yet count too: what is certainly lost is told, and more when they go.
        held = sum_held((server, ring.record.amounts) for ring in live for server in ring.record.workers)
        is_calm = now - self._moved >= SETTLED_SECONDS
        found = self._servers.look(told, held, now if is_calm else None)
        if self._servers.addresses != addresses or any(isinstance(one, ClusterFound) for one in found):
            self._seat()
        for report in found:
            if isinstance(report, ServerWentAway):
                for ring in live:
                    if report.server in ring.record.workers:
                        ring.lose(report.server, report.reason)
        self._reports += found

    # What is ordered.

    def _take(self, order: Launch) -> None:
        key, job = order.key, order.job
        if key.number <= (fence := self._folder.fence(key.job, self.instance)):
            reason = f"the order is stale: ring {fence} of this job was launched already"
            self._reports.append(RingMoved(key, RingPhase.FAILED, reason))
            return
        gpu = job.resources.get("gpu", 0.0)
        seats: tuple[Seat, ...] = ()
        port, why = 0, self._why_not(order)
        if not why:
            try:
                seats, port = self._seats.take(order.ring.workers, gpu)
            except NoRoom as error:
                why = f"{error}"
        record = Record(
            instance=self.instance,
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
        ring = RayRing(record, self._folder, self._link, self._space, partial(self._specify, order, record))
        try:
            self._folder.raise_fence(key, self.instance)
            self._folder.prepare(record)
        except (OSError, BadFile) as error:
            why = why or f"it cannot be written down: {error}"
        self._rings[key] = ring
        self._moved = time.monotonic()
        if why:
            self._seats.give_back(seats, port, gpu)
            self._reports.append(ring.end_now(RingPhase.FAILED, why))

    def _why_not(self, order: Launch) -> str:
        if order.job.program is None:
            return f"job {order.key.job!r} says nothing of what its workers run. Give it a `run:` part."
        if not order.ring.workers:
            return "the ring has no workers"
        if away := sorted(self._servers.away.intersection(order.ring.workers)):
            return f"server {away[0]} is away"
        return ""

    def _specify(self, order: Launch, record: Record, rank: int) -> Spec:
        """The node of a rank, what Ray is asked for, and what its actor is told."""
        program, key, seat = order.job.program, order.key, record.seats[rank]
        assert program is not None  # refused otherwise
        node = self._servers.nodes.get(seat.server)
        if node is None:
            raise RuntimeError(f"server {seat.server} is away")
        env = build_worker_environment(
            order,
            record.seats,
            rank,
            instance=self.instance,
            master_port=record.master_port,
            checkpoint_dir=self._folder.checkpoints(key.job),
            interface="",
            base={},
        )
        if not env["GLOO_SOCKET_IFNAME"]:
            del env["GLOO_SOCKET_IFNAME"]
        marks = ("GADGET_INSTANCE", "GADGET_JOB", "GADGET_RING", "RANK")
        spec = {
            "command": list(program.command),
            "working_dir": program.working_dir,
            "has_runtime_dir": self._link.has_runtime_dir,
            "work": str(self._folder.work(key.job)),
            "log": str(self._folder.log(key, rank)),
            "env": env,
            "own": [name for name, _ in program.env],
            "marks": {name: env[name] for name in marks},
            "address": seat.address,
        }
        return node.id, demand(order.job.resources, node.amounts), spec

    # The watching thread.

    def _watch(self) -> None:
        while not self._is_closing:
            with self._lock:
                is_quick = not self._is_lost and any(ring.is_changing for ring in self._live())
            self._take_news(_QUICK_TICK_SECONDS if is_quick else _TICK_SECONDS)
            with self._lock:
                self._step()
                reports, self._reports = self._reports, []
            for report in reports:
                try:
                    self._deliver(report)
                except Exception:  # the watch must go on whatever its listener does
                    _log.exception("a report was not taken: %s", report)

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
        match news["news"]:
            case "rank":
                for ring in self._live():
                    if (rank := ring.names.get(news["name"])) is not None:
                        ring.hear(rank, state=news.get("state"), dead=news.get("dead"))
            case "away":
                self._is_lost = True
                self._reports.append(EngineWentAway(news["why"]))
            case "back" | "nodes" if self._is_lost:
                self._come_back()
            case "nodes":
                self._look_at_nodes(news["nodes"])

    def _come_back(self) -> None:
        """Ray answers again: compare what it has with what ran, then tell."""
        try:
            found = self._link.ask("adopt", space=self._space)
        except (EngineAway, RuntimeError) as error:
            _log.warning("Ray fell silent again: %s", error)
            return
        for ring in self._live():
            ring.adopt(found)
        for name in found.keys() - {name for ring in self._live() for name in ring.names}:
            self._link.ask("end", space=self._space, name=name)
        self._is_lost = False
        self._look_at_nodes(self._link.nodes)
        self._step()
        self._reports.append(EngineCameBack())

    def _live(self) -> list[RayRing]:
        return [ring for ring in self._rings.values() if not ring.phase.is_over]

    def _step(self) -> None:
        if self._is_lost:
            return
        now = time.monotonic()
        for ring in self._live():
            try:
                moves = ring.step(now)
                self._reports += moves
                self._moved = now if moves else self._moved
            except EngineAway:  # the link says so too
                return
            except Exception:  # one ring must not blind the engine for the others
                _log.exception("%s could not be looked at", ring.key)
            if ring.phase.is_over:
                record = ring.record
                self._seats.give_back(record.seats, record.master_port, record.gpu_per_worker)

    def _remove_all(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        for ring in self._rings.values():
            ring.break_off("the service ended")
        while self._live() and not self._is_lost and time.monotonic() < deadline:
            self._take_news(0.02)
            self._step()
        for key, ring in self._rings.items():
            if ring.phase.is_over:
                self._folder.drop(key)
            else:
                _log.warning("%s could not be ended: %s", key, ring.reason or self._link.trouble)
