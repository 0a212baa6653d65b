"""What a ring takes of servers and links by number, read once and kept while it is asked for."""

import weakref
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import Floats, Integers
from gadget.solve.network import Network
from gadget.solve.room import is_closed


@dataclass(frozen=True, slots=True)
class Load:
    """Workers on servers, each server once; crossings of directed links, each link once."""

    servers: Integers
    workers: Floats
    links: Integers
    crossings: Floats


class Loads:
    """The loads of the rings of one network.

    A ring of the slot before is usually the very object that was decided on, so it is known by identity;
    what has not been asked for lately is forgotten.
    """

    def __init__(self, network: Network) -> None:
        self._network = weakref.ref(network)
        self._known: dict[int, tuple[Ring, Load | None]] = {}
        self._lately: dict[int, tuple[Ring, Load | None]] = {}

    def begin_slot(self) -> None:
        """From now on keep what is asked for; forget what was not since the last slot began."""
        self._known, self._lately = self._lately, {}

    def of(self, ring: Ring) -> Load | None:
        """The load; None if it is no ring of this network."""
        number = id(ring)
        known = self._lately.get(number) or self._known.get(number)
        if known is None or known[0] is not ring:
            network = self._network()
            assert network is not None  # who asks holds it
            known = ring, read_load(network, ring)
        self._lately[number] = known
        return known[1]


def read_load(network: Network, ring: Ring) -> Load | None:
    """The load of a ring from its names; None if it is no ring of this network."""
    number = network.node_number
    if not is_closed(ring):
        return None
    workers: dict[int, int] = {}
    for name, count in Counter(ring.workers).items():
        server = number.get(name, network.servers)
        if server >= network.servers:
            return None
        workers[server] = count
    links: Counter[int] = Counter()
    for route in ring.routes:
        nodes = [number.get(name, -1) for name in route]
        if min(nodes) < 0:
            return None
        for here, there in pairwise(nodes):
            link = network.link_between.get((here, there))
            if link is None:
                return None
            links[link] += 1
    return Load(
        np.fromiter(workers, np.int64, len(workers)),
        np.fromiter(workers.values(), np.float64, len(workers)),
        np.fromiter(links, np.int64, len(links)),
        np.fromiter(links.values(), np.float64, len(links)),
    )


@once_in_a_life
def find_loads(network: Network) -> Loads:
    """The loads of a network: one store, which learns as it goes."""
    return Loads(network)
