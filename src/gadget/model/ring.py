"""A ring of workers on servers, and all the rings of one slot."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Ring:
    """`workers[k]` is the server of rank k, which sends to rank k+1 (mod κ) along `routes[k]`.

    A route lists the nodes it passes, one node where both ranks share a server; a ring of one
    worker has no routes. Nothing is checked here: the referee judges rings.
    """

    job: str
    workers: tuple[str, ...]
    routes: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """κ, the number of workers."""
        return len(self.workers)

    def workers_by_server(self) -> Mapping[str, int]:
        """y_is: how many workers each of its servers hosts."""
        return Counter(self.workers)

    def hops(self) -> Iterator[tuple[str, str]]:
        """Every directed link the ring crosses, as often as it crosses it."""
        for route in self.routes:
            yield from pairwise(route)


@dataclass(frozen=True)
class Allocation:
    """The rings of one slot (a schedule is all slots)."""

    rings: tuple[Ring, ...] = ()

    @cached_property
    def ring_of(self) -> Mapping[str, Ring]:
        """The rings by job."""
        return {ring.job: ring for ring in self.rings}
