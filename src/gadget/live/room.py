"""What the rings that are really there leave free."""

from collections import defaultdict
from collections.abc import Iterable

from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.quantity import TOLERANCE
from gadget.model.ring import Ring


class Room:
    """Servers and directed links of a cluster, and what rings take of them."""

    def __init__(self, cluster: Cluster, rings: Iterable[tuple[Ring, Job]] = ()) -> None:
        self._cluster = cluster
        self._on_server: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._on_link: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._closed: set[str | tuple[str, str]] = set()
        for ring, job in rings:
            self.take(ring, job)

    def close(self, ring: Ring) -> None:
        """Nothing fits where this ring is: nobody knows how much it takes."""
        self._closed.update(ring.workers, ring.hops())

    def take(self, ring: Ring, job: Job) -> None:
        """Count a ring in, (4) and (9)."""
        for server, workers in ring.workers_by_server().items():
            for resource, amount in job.resources.items():
                self._on_server[server, resource] += workers * amount
        for hop in ring.hops():
            self._on_link[hop] += job.bandwidth_gbps

    def fits(self, ring: Ring, job: Job) -> bool:
        """Whether the ring would overload nothing beside those that are counted in."""
        more = Room(self._cluster, [(ring, job)])
        servers, links = self._cluster.server_by_name, self._cluster.neighbours
        return (
            self._closed.isdisjoint((*ring.workers, *ring.hops()))
            and all(
                server in servers
                and _holds(
                    servers[server].resources.get(resource, 0), self._on_server[server, resource] + amount
                )
                for (server, resource), amount in more._on_server.items()
            )
            and all(
                b in links.get(a, {}) and _holds(links[a][b], self._on_link[a, b] + gbps)
                for (a, b), gbps in more._on_link.items()
            )
        )


def _holds(capacity: float, load: float) -> bool:
    return load <= capacity * (1 + TOLERANCE)
