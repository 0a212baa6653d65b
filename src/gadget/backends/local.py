"""The local engine: every worker a real process of this machine, every server a network namespace.

Without root, or where asked to, servers are addresses on the loopback device instead. Workers outlive the
service; the next life finds them by what it wrote down and by their environment.

A launch with a number not above the largest that was launched for its job is refused: it is reported FAILED,
and nothing of it is kept. Orders for a ring that is here already change nothing.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path

from gadget.backends.backend import (
    Dismissal,
    Inventory,
    Launch,
    Report,
    RingFound,
    RingKey,
    RingMoved,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.local_ending import end_instance
from gadget.backends.local_processes import Process, find_by_environment, read_boot, send
from gadget.backends.local_ring import LocalRing
from gadget.backends.local_shepherd import start_rank
from gadget.backends.loopback import Loopback
from gadget.backends.netns import (
    Namespaces,
    NetworkFailed,
    remove_namespaces,
    why_no_namespaces,
    why_no_tools,
)
from gadget.backends.ring_book import RingBook, deliver_all, why_not
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.ring_seats import Seats, is_port_free
from gadget.backends.worker_environment import build_worker_environment, why_it_cannot_start
from gadget.errors import BadFile, BadOption
from gadget.model.cluster import Cluster

_TICK_SECONDS = 0.1
_QUICK_TICK_SECONDS = 0.02
# Removal gives up on processes that nothing ends.
_CLOSE_SECONDS = 15.0
# More namespaces than this are made only if they are asked for.
_MOST_BY_ITSELF = 200

_log = logging.getLogger(__name__)


class Network(StrEnum):
    """What joins the servers."""

    NAMESPACES = "namespaces"
    LOOPBACK = "loopback"
    AUTO = "auto"
    """Namespaces where they can be made."""


class LocalBackend:
    """A backend (see `gadget.backends.backend.Backend`) on this machine."""

    name = "local"

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        instance: str,
        *,
        network: Network | str = Network.AUTO,
        scale: float = 1.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`scale` is real bits per bit of the cluster's links; `environment` is what workers start from."""
        self.cluster = cluster
        self.instance = instance
        self.network = Network(network)
        """After `open` what it really is: namespaces or loopback."""
        self._scale = scale
        self._environment = dict(os.environ if environment is None else environment)
        self._folder = RingFolder(folder)
        self._boot = read_boot()
        self._book = self._open_book()
        self._away: set[str] = set()
        self._reports: list[Report] = []
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._is_closing = False
        self._monitor: threading.Thread | None = None
        self._deliver: Callable[[Report], None] = _log.debug
        self._wires: Loopback | Namespaces

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        """Make the network or find it, adopt the rings of an earlier life, end its strays."""
        wires = self._choose_wires()
        self._folder.open()
        self._is_closing = False
        self._book, self._reports = self._open_book(), []
        try:
            self._end_former_lives()
            self._wires = wires
            addresses = {server.name: wires.address(server.name) for server in self.cluster.servers}
            # In a namespace nobody but its ranks can listen, and what they hold is counted.
            is_free = is_port_free if isinstance(wires, Loopback) else lambda *_: True
            self._book.seat(Seats(self.cluster, addresses, is_free))
            self._adopt()
            self._open_wires()
        except BaseException:
            self._folder.close()
            raise
        self._deliver = deliver
        self._monitor = threading.Thread(target=self._watch, name="gadget-local-engine", daemon=True)
        self._monitor.start()
        return Inventory(self.cluster, frozenset(self._away))

    def survey(self) -> Sequence[RingFound]:
        """Every ring, also those that are over and not forgotten."""
        with self._lock:
            return self._book.tell()

    def launch(self, order: Launch) -> None:
        """Write the ring down, and have it started at once by the watching thread."""
        with self._lock:
            self._reports += self._take(order)
        self._wake.set()

    def dismiss(self, order: Dismissal) -> None:
        """Ask its workers to leave; unknown rings have left."""
        with self._lock:
            self._reports += self._book.dismiss(order, time.monotonic())
        self._wake.set()

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        with self._lock:
            self._book.forget(key)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines of this rank in the job's newest ring, empty without one."""
        return self._folder.read_log(job, rank=rank, lines=lines)

    def fail_server(self, name: str, reason: str = "it was failed on purpose") -> None:
        """As if the server had died: its processes and links are gone, and so are rings through it."""
        with self._lock:
            if name in self._away:
                return
            self._check_server(name)
            self._wires.set_links(name, up=False)
            self._away.add(name)
            self._note_away()
            self._reports.append(ServerWentAway(name, reason))
            for ring in self._book.live:
                if name in ring.record.workers:
                    ring.break_off(f"server {name} went away: {reason}")
        self._wake.set()

    def return_server(self, name: str) -> None:
        """Bring a failed server back, empty."""
        with self._lock:
            if name not in self._away:
                return
            self._wires.set_links(name, up=True)
            self._away.discard(name)
            self._note_away()
            self._reports.append(ServerCameBack(name))
        self._wake.set()

    def close(self, *, keep_rings: bool) -> None:
        """Stop watching; unless rings are kept, end every process and remove what was made but logs."""
        monitor, self._monitor = self._monitor, None
        if monitor is None:
            return
        self._is_closing = True
        self._wake.set()
        monitor.join(_CLOSE_SECONDS)
        try:
            with self._lock:
                if not keep_rings:
                    self._remove_all()
                elif not self._book.live:
                    self._remove_wires()  # nobody talks over them
        finally:
            self._folder.close()

    def _open_book(self) -> RingBook[LocalRing]:
        return RingBook(self._folder, self.instance, boot=self._boot)

    def _choose_wires(self) -> Loopback | Namespaces:
        if self.network is Network.AUTO:
            is_large = len(self.cluster.nodes) > _MOST_BY_ITSELF
            can = not is_large and not why_no_namespaces(self.instance)
            self.network = Network.NAMESPACES if can else Network.LOOPBACK
        if self.network is Network.LOOPBACK:
            return Loopback(self.cluster, self.instance)
        if why := why_no_tools():
            raise BadOption(f"network = namespaces: {why}. Mend that, or choose loopback.")
        return Namespaces(self.cluster, self.instance, scale=self._scale)

    def _end_former_lives(self) -> None:
        """End what services left that had this folder under another name: their journals are gone."""
        for former in self._folder.former_instances(self.instance):
            end_instance(former)
        self._folder.note("instances", [self.instance])

    def _open_wires(self) -> None:
        if isinstance(self._wires, Loopback) and not why_no_tools():
            remove_namespaces(self.instance)  # an earlier life may have had some
        away = self._folder.noted("away")
        self._away = set(self.cluster.server_by_name) & set(away if isinstance(away, list) else ())
        if self._folder.noted("network") == self._wires.identity and self._wires.is_made():
            return
        # Also those of a life that ended while it made the network: what they talked over is gone.
        for ring in self._book.live:
            ring.break_off("the network of the cluster was made anew")
        self._folder.erase("network")
        self._wires.make()
        for name in self._away:
            self._wires.set_links(name, up=False)
        self._folder.note("network", self._wires.identity)

    def _adopt(self) -> None:
        found: dict[RingKey, list[tuple[int, Process]]] = {}
        for process, env in find_by_environment({"GADGET_INSTANCE": self.instance}):
            with suppress(KeyError, ValueError):
                key = RingKey(env["GADGET_JOB"], int(env["GADGET_RING"]))
                found.setdefault(key, []).append((int(env["RANK"]), process))
        for record in self._folder.records(self.instance):
            ring = LocalRing(record, self._folder)
            ring.adopt(found.get(record.key, ()), self._boot)
            self._book.rings[record.key] = ring
            if not ring.phase.is_over:
                self._book.keep(ring)
                found.pop(record.key, None)
        # Of these nothing was written down, or that they are over.
        for processes in found.values():
            for _, process in processes:
                send(process, signal.SIGKILL)
        # What has ended meanwhile is told by the survey.
        self._step()

    def _take(self, order: Launch) -> list[RingMoved]:
        def build(record: Record) -> LocalRing:
            return LocalRing(record, self._folder, partial(self._start, order, record))

        return self._book.take(order, self._why_not(order), build)

    def _why_not(self, order: Launch) -> str:
        if why := why_not(order, self._away):
            return why
        program = order.job.program
        assert program is not None  # refused otherwise
        # The job's own folder is made in time.
        working_dir = self._folder.path if program.working_dir is None else Path(program.working_dir)
        return why_it_cannot_start(program, working_dir, {**self._environment, **dict(program.env)})

    def _start(self, order: Launch, record: Record, rank: int) -> Process:
        program, key, seat = order.job.program, order.key, record.seats[rank]
        assert program is not None  # refused otherwise
        env = build_worker_environment(
            order,
            record.seats,
            rank,
            instance=self.instance,
            master_port=record.master_port,
            checkpoint_dir=self._folder.checkpoints(key.job),
            interface=self._wires.interface,
            base=self._environment,
        )
        return start_rank(
            self._folder.ring(key),
            rank,
            program.command,
            enter=self._wires.enter(seat.server),
            env=env,
            working_dir=Path(program.working_dir) if program.working_dir else self._folder.work(key.job),
            log=self._folder.log(key, rank),
        )

    def _watch(self) -> None:
        while not self._is_closing:
            with self._lock:
                live = self._book.live
                tick = _QUICK_TICK_SECONDS if any(ring.is_changing for ring in live) else _TICK_SECONDS
            self._wake.wait(tick if live else None)
            self._wake.clear()
            with self._lock:
                moves = self._step()
                reports, self._reports = [*self._reports, *moves], []
            deliver_all(reports, self._deliver)

    def _step(self) -> list[RingMoved]:
        moves: list[RingMoved] = []
        self._book.trim_logs()
        for ring in self._book.live:
            try:
                moves += ring.step(time.monotonic())
            except Exception:  # one ring must not blind the engine for the others
                _log.exception("%s could not be looked at", ring.key)
            if ring.phase.is_over:
                self._folder.trim_logs(ring.key, len(ring.record.seats))
                self._book.give_back(ring)
        return moves

    def _remove_all(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        self._book.break_all()
        while self._book.live and time.monotonic() < deadline:
            self._step()
            time.sleep(0.02)
        for process, _ in find_by_environment({"GADGET_INSTANCE": self.instance}):
            send(process, signal.SIGKILL)
        self._book.drop_all()
        self._remove_wires()
        self._folder.erase("away")

    def _remove_wires(self) -> None:
        try:
            self._folder.erase("network")
            self._wires.remove()
        except NetworkFailed as error:
            _log.warning("%s", error)

    def _check_server(self, name: str) -> None:
        if name not in self.cluster.server_by_name:
            raise BadOption(f"there is no server {name!r}")

    def _note_away(self) -> None:
        with suppress(BadFile):
            self._folder.note("away", sorted(self._away))
