"""The Slurm engine: every ring is a job of the user who runs the service, on the nodes that were decided.

The folder must be one that all nodes see: it holds what jobs run and how their workers ended. A ring goes by
the comment of its job, so a later life of the service finds it in the queue. Nothing here needs more rights
than sbatch does. What jobs of others take is seen as servers with less.

A launch with a number not above the largest that was launched for its job is refused: it is reported FAILED,
and nothing of it is kept. Orders for a ring that is here already change nothing.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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
    ServerWentAway,
)
from gadget.backends.ring_book import RingBook, deliver_all, why_not
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.ring_seats import Seats, spread_port
from gadget.backends.slurm_answers import Refused, Standing
from gadget.backends.slurm_commands import CommandMissing, Slurm
from gadget.backends.slurm_hand import SlurmHand
from gadget.backends.slurm_options import SlurmOptions
from gadget.backends.slurm_queue import SlurmQueue
from gadget.backends.slurm_ring import Deed, Look, SlurmRing
from gadget.backends.slurm_script import find_amounts, why_not_handed_in, write_scripts
from gadget.backends.slurm_servers import Draw, Servers
from gadget.errors import BadOption
from gadget.model.cluster import Cluster

_TICK_SECONDS = 0.2
_QUICK_POLL_SECONDS = 0.5
_CLOSE_SECONDS = 60.0
# Former services' rings are given so long at the start, and between two looks later.
_FORMER_SECONDS = (30.0, 2.0)
_HOLDING = (Standing.HOLDING, Standing.LEAVING)

_log = logging.getLogger(__name__)


class SlurmBackend:
    """A backend (see `gadget.backends.backend.Backend`) on a Slurm cluster."""

    name = "slurm"

    def __init__(
        self,
        folder: Path,
        instance: str,
        draw: Draw,
        *,
        options: SlurmOptions | None = None,
        known: Cluster | None = None,
        interface: str = "",
        poll_seconds: float = 2.0,
        pending_seconds: float = 60.0,
        silent_seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`draw` makes a cluster of servers and Slurm's switches; `known` is that of the last life.

        A ring that waits in Slurm's queue for `pending_seconds` is taken out: others have what it needs.
        Nodes that do not answer Slurm for `silent_seconds` are lost, by default as Slurm is patient itself.
        """
        self.instance = instance
        self._options = options or SlurmOptions()
        self._interface = interface
        self._poll_seconds = poll_seconds
        self._pending_seconds = pending_seconds
        self._known = known
        self._folder = RingFolder(folder)
        slurm = Slurm(os.environ if environment is None else environment)
        self._servers = Servers(
            slurm,
            draw,
            self._options.partition,
            has_reservation=self._options.has_reservation,
            silent_seconds=silent_seconds,
        )
        self._book: RingBook[SlurmRing] = RingBook(self._folder, instance)
        self._queue = SlurmQueue(slurm, self._folder, instance)
        self._hand = SlurmHand(slurm, self._queue, self._servers, self._folder, self._options)
        self._reports: list[Report] = []
        self._away = ""
        self._was_away_at_first = False
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._is_closing = False
        self._monitor: threading.Thread | None = None
        self._deliver: Callable[[Report], None] = _log.debug

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        """Find the nodes and the rings of an earlier life; those that nobody wrote down are cancelled."""
        self._folder.open()
        try:
            self._recall()
            try:
                self._look(_FORMER_SECONDS[0])
            except (Refused, CommandMissing) as error:
                raise BadOption(
                    f"Slurm cannot be asked: {error}. Run the service where Slurm's commands work, on a "
                    "login node say, or set SLURM_CONF."
                ) from None
            except EngineAway as error:
                if self._known is None or not self._known.servers:
                    raise BadOption(f"{error}. Start slurmctld, and then the service.") from None
                self._away, self._was_away_at_first = f"{error}", True
            self._make_seats()
            if not self._away:
                # What has ended meanwhile is told by the survey.
                self._reports.clear()
        except BaseException:
            self._folder.close()
            raise
        self._deliver = deliver
        self._monitor = threading.Thread(target=self._watch, name="gadget-slurm-engine", daemon=True)
        self._monitor.start()
        if self._away:
            assert self._known is not None  # refused otherwise
            return Inventory(self._known)
        return Inventory(self._servers.cluster, frozenset(self._servers.away))

    def _recall(self) -> None:
        formers = self._folder.former_instances(self.instance)
        self._folder.note("instances", [self.instance, *sorted(formers)])
        self._queue.succeed(formers)
        for record in self._folder.records(self.instance):
            ring = self._book.rings[record.key] = SlurmRing(record, self._folder)
            ring.recall()

    def survey(self) -> Sequence[RingFound]:
        """Every ring, also those that are over and not forgotten."""
        with self._lock:
            self._check_there()
            return self._book.tell()

    def launch(self, order: Launch) -> None:
        """Write the ring down, and have it handed in by the watching thread."""
        with self._lock:
            if order.key not in self._book.rings:
                self._check_there()
                self._reports += self._take(order)
        self._wake.set()

    def dismiss(self, order: Dismissal) -> None:
        """Ask its workers to leave; unknown rings have left."""
        with self._lock:
            if order.key in self._book.rings:
                self._check_there()
                self._reports += self._book.dismiss(order, time.time())
        self._wake.set()

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over; one that is not is kept."""
        with self._lock:
            self._book.forget(key)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines of this rank in the job's newest ring, empty without one."""
        return self._folder.read_log(job, rank=rank, lines=lines)

    def close(self, *, keep_rings: bool) -> None:
        """Stop watching; unless rings are kept, cancel every job and remove what was made but logs."""
        monitor, self._monitor = self._monitor, None
        if monitor is None:
            return
        self._is_closing = True
        self._wake.set()
        monitor.join(_CLOSE_SECONDS)
        try:
            if not keep_rings:
                self._remove_all()
        finally:
            self._folder.close()

    def _check_there(self) -> None:
        if self._away:
            raise EngineAway(self._away)

    def _take(self, order: Launch) -> list[RingMoved]:
        def write(record: Record) -> None:
            write_scripts(order, record, self._folder, instance=self.instance, interface=self._interface)

        return self._book.take(
            order,
            why_not(order, self._servers.away) or why_not_handed_in(order, self._options),
            lambda record: SlurmRing(record, self._folder, order),
            amounts=find_amounts(order.job.resources),
            write=write,
        )

    def _watch(self) -> None:
        polled = time.monotonic()
        while not self._is_closing:
            with self._lock:
                live = self._book.live
                is_quick = any(ring.is_changing for ring in live)
            pause = _QUICK_POLL_SECONDS if is_quick and not self._away else self._poll_seconds
            left = polled + min(pause, self._poll_seconds) - time.monotonic()
            self._wake.wait(max(0.0, min(left, _TICK_SECONDS) if live else left))
            self._wake.clear()
            try:
                if time.monotonic() - polled >= min(pause, self._poll_seconds):
                    polled = time.monotonic()
                    self._look(_FORMER_SECONDS[1])
                elif not self._away:
                    self._step()
                with self._lock:
                    self._book.trim_logs()
            except EngineAway as error:
                self._note_away(f"{error}")
            except Refused as error:
                self._note_away(f"Slurm cannot be asked: {error}")
            except Exception:  # the watch must go on whatever it meets
                _log.exception("Slurm could not be looked at")
            self._send()

    def _send(self) -> None:
        with self._lock:
            reports, self._reports = self._reports, []
        deliver_all(reports, self._deliver)

    def _note_away(self, reason: str) -> None:
        with self._lock:
            if not self._away:
                self._reports.append(EngineWentAway(reason))
            self._away = reason
            self._servers.note_gap()

    def _note_there(self) -> None:
        with self._lock:
            if self._away:
                self._away = ""
                if self._was_away_at_first:
                    self._was_away_at_first = False
                    self._make_seats()
                    self._reports.append(ClusterFound(self._servers.cluster))
                    self._reports += [ServerWentAway(*one) for one in self._servers.away.items()]
                self._reports.append(EngineCameBack())

    def _look(self, patience_seconds: float) -> None:
        """Ask Slurm for all, and do what follows; twice if jobs are missing that were there."""
        self._poll(time.time(), patience_seconds)
        self._note_there()
        self._step()
        if any(ring.is_missing for ring in self._book.live):
            self._poll(time.time(), patience_seconds)
            self._step()
        with self._lock:
            rings = {ring.key: ring.lead for ring in self._book.live}
        self._queue.end_strays(rings, time.time())

    def _poll(self, now: float, patience_seconds: float) -> None:
        """Ask Slurm for the jobs of this instance and for its nodes."""
        self._queue.look(now)
        if self._queue.end_formers(patience_seconds):
            self._folder.note("instances", [self.instance])
        with self._lock:
            live = self._book.live
            for ring in live:
                ring.holds = any(job.standing in _HOLDING for job in self._queue.of(ring.key))
            holding = [ring.record for ring in live if ring.holds]
            unsettled = {server for ring in live if ring.is_changing for server in ring.record.workers}
        reports = self._servers.poll(time.monotonic(), holding, unsettled, self._read_signs)
        with self._lock:
            self._reports += reports
            if self._servers.has_other_nodes and not self._away:
                self._make_seats()
            for ring in self._book.live:
                for name in self._servers.lost & set(ring.record.workers):
                    ring.break_off(f"server {name} went away: {self._servers.away[name]}", taken=True)

    def _read_signs(self, server: str) -> object:
        return [ring.read_signs(server) for ring in self._book.live if server in ring.record.workers]

    def _make_seats(self) -> None:
        cluster = self._servers.whole if not self._away else self._known
        assert cluster is not None  # refused otherwise
        names = [server.name for server in cluster.servers]
        addresses = {name: self._servers.addresses.get(name, name) for name in names}
        # Nobody can look from here whether a port is free there.
        self._book.seat(Seats(cluster, addresses, lambda *_: True, first_port=spread_port(self.instance)))

    def _step(self) -> None:
        """Look at every ring, and tell Slurm what follows; commands run without the lock."""
        deeds: list[tuple[SlurmRing, Deed]] = []
        with self._lock:
            for ring in self._book.live:
                try:
                    look = Look(
                        self._queue.asked,
                        self._queue.of(ring.key),
                        self._servers.lost,
                        self._servers.silent,
                    )
                    moves, deed = ring.step(time.time(), look, self._pending_seconds)
                except Exception:  # one ring must not blind the engine for the others
                    _log.exception("%s could not be looked at", ring.key)
                    continue
                self._reports += moves
                if deed is not None:
                    deeds.append((ring, deed))
                if ring.phase.is_over:
                    self._book.give_back(ring)
        for ring, deed in deeds:
            refusal = self._hand.do(ring, deed)
            if refusal is not None:
                with self._lock:
                    self._reports.append(refusal)
                    self._book.give_back(ring)

    def _remove_all(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        self._book.break_all()
        try:
            while self._book.live and time.monotonic() < deadline:
                self._look(_FORMER_SECONDS[1])
                time.sleep(0.1)
        except (EngineAway, Refused) as error:
            _log.warning("rings are left behind: %s", error)
        self._book.drop_all()
