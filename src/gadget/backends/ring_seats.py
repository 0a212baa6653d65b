"""Who sits where: GPU indices and ports of the servers, counted over all rings that have processes."""

import hashlib
import math
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence

from gadget.backends.worker_environment import Seat
from gadget.model.cluster import Cluster
from gadget.model.quantity import TOLERANCE

# Below the range that systems take ports for outgoing connections from.
FIRST_PORT, LAST_PORT = 20_000, 31_999


class NoRoom(Exception):
    """A server cannot seat the ring; the text says why."""


class Seats:
    """GPUs and ports in use. GPUs go by index: whole ones are nobody else's, parts may share one."""

    def __init__(
        self,
        cluster: Cluster,
        addresses: Mapping[str, str],
        is_free: Callable[[str, int], bool],
        *,
        first_port: int = FIRST_PORT,
    ) -> None:
        self._addresses = addresses
        self._is_free = is_free
        self._gpus = {server.name: server.resources.get("gpu", 0.0) for server in cluster.servers}
        self._used = {name: [0.0] * math.ceil(amount) for name, amount in self._gpus.items()}
        self._ports: dict[str, set[int]] = {name: set() for name in addresses}
        self._next_port: dict[str, int] = dict.fromkeys(addresses, first_port)

    def take(self, workers: Sequence[str], gpu_per_worker: float) -> tuple[tuple[Seat, ...], int]:
        """Seats for a ring in rank order, and the port that rank 0 keeps for its program. All or nothing."""
        for server in dict.fromkeys(workers):
            self._check_gpus(server, gpu_per_worker * workers.count(server))
        seats: list[Seat] = []
        try:
            seats.extend(self._seat(server, gpu_per_worker) for server in workers)
            return tuple(seats), self._take_port(workers[0])
        except NoRoom:
            self.give_back(seats, 0, gpu_per_worker)
            raise

    def keep(self, seats: Iterable[Seat], master_port: int, gpu_per_worker: float) -> None:
        """Count seats that a ring of an earlier life holds."""
        for place, seat in enumerate(seats):
            self._add(seat, gpu_per_worker)
            self._ports.setdefault(seat.server, set()).update(
                [seat.port, *([master_port] if place == 0 else [])]
            )

    def give_back(self, seats: Sequence[Seat], master_port: int, gpu_per_worker: float) -> None:
        """Free what a ring held."""
        for place, seat in enumerate(seats):
            self._add(seat, -gpu_per_worker)
            self._ports[seat.server] -= {seat.port, *([master_port] if place == 0 else [])}

    def go_on_from(self, before: "Seats") -> None:
        """Give ports in the turn in which the seats of the same servers were given before."""
        known = before._next_port
        self._next_port |= {name: known[name] for name in self._next_port.keys() & known.keys()}

    def _seat(self, server: str, amount: float) -> Seat:
        gpus = self._choose(server, amount)
        seat = Seat(server, self._addresses[server], self._take_port(server), gpus)
        self._add(seat, amount)
        return seat

    def _check_gpus(self, server: str, wanted: float) -> None:
        if server not in self._gpus:
            raise NoRoom(f"there is no server {server!r}")
        there, used = self._gpus[server], sum(self._used[server])
        if wanted and used + wanted > there + TOLERANCE * max(1.0, there):
            raise NoRoom(f"{server} has {there:g} gpu, {used:g} of them in use, and {wanted:g} are asked for")

    def _choose(self, server: str, amount: float) -> tuple[int, ...]:
        """The least used indices; a part goes where a part is already, if it fits there."""
        used = self._used[server]
        if 0 < amount < 1:
            fitting = [index for index, share in enumerate(used) if share + amount <= 1 + TOLERANCE]
            if fitting:
                return (max(fitting, key=lambda index: (used[index], -index)),)
        # Parts can leave no GPU wholly free although enough is free in all: then the emptiest is shared.
        order = sorted(range(len(used)), key=lambda index: (used[index], index))
        return tuple(sorted(order[: math.ceil(amount - TOLERANCE)]))

    def _add(self, seat: Seat, amount: float) -> None:
        used = self._used.get(seat.server, [])
        for index in seat.gpus:
            if index < len(used):
                share = used[index] + amount / len(seat.gpus)
                used[index] = share if share > TOLERANCE else 0.0

    def _take_port(self, server: str) -> int:
        # In turns, so that a port rests before it is given again and no late packet meets a stranger.
        count = LAST_PORT - FIRST_PORT + 1
        start = self._next_port[server]
        for step in range(count):
            port = FIRST_PORT + (start - FIRST_PORT + step) % count
            if port not in self._ports[server] and self._is_free(self._addresses[server], port):
                self._ports[server].add(port)
                self._next_port[server] = port + 1 if port < LAST_PORT else FIRST_PORT
                return port
        raise NoRoom(f"{server} has no free port from {FIRST_PORT} to {LAST_PORT}")


def spread_port(instance: str) -> int:
    """The port that a service gives first: services that share servers begin at different ones."""
    spread = int.from_bytes(hashlib.sha256(instance.encode()).digest()[:4])
    return FIRST_PORT + spread % (LAST_PORT - FIRST_PORT + 1)


def is_port_free(address: str, port: int) -> bool:
    """True when nobody listens there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
