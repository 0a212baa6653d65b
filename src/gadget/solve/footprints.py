"""What rings load on the ground, known for those that were placed here and read for those that were not."""

import weakref

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.ground import find_sites
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.loads import read_load
from gadget.solve.market import Integers
from gadget.solve.network import Network


class Footprints:
    """The footprints of the rings of one network: rows (place, workers, crossings), every place once.

    A ring of the slot before is usually the very object that was decided on, so it is known by identity;
    what has not been asked for lately is forgotten.
    """

    def __init__(self, network: Network) -> None:
        self._network, self._sites = weakref.ref(network), find_sites(network)
        self._known: dict[int, tuple[Ring, Integers | None]] = {}
        self._lately: dict[int, tuple[Ring, Integers | None]] = {}

    def begin_slot(self) -> None:
        """From now on keep what is asked for; forget what was not since the last slot began."""
        self._known, self._lately = self._lately, {}

    def note(self, ring: Ring, rows: Integers) -> None:
        """Keep the footprint of a ring just placed; it is as it would be read, so a cache changes nothing."""
        self._lately[id(ring)] = ring, rows

    def of(self, ring: Ring) -> Integers | None:
        """The footprint; None if it is no ring of this network."""
        known = self._lately.get(id(ring)) or self._known.get(id(ring))
        if known is None or known[0] is not ring:
            known = ring, self._read(ring)
        self._lately[id(ring)] = known
        return known[1]

    def _read(self, ring: Ring) -> Integers | None:
        """From names to rows. Where a link is crossed more often one way, the greater number counts."""
        network, sites = self._network(), self._sites
        assert network is not None  # who asks holds it
        load = read_load(network, ring)
        if load is None:
            return None
        hosts = sites.place_of_server[load.servers].tolist()
        workers = dict(zip(hosts, load.workers.astype(np.int64).tolist(), strict=True))
        crossings: dict[int, int] = {}
        for place, count in zip(
            sites.place_of_link[load.links // 2].tolist(),
            load.crossings.astype(np.int64).tolist(),
            strict=True,
        ):
            crossings[place] = max(crossings.get(place, 0), count)
        places = sorted(workers.keys() | crossings.keys())
        rows = [(place, workers.get(place, 0), crossings.get(place, 0)) for place in places]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)


@once_in_a_life
def find_footprints(network: Network) -> Footprints:
    """The footprints of a network: one store, which learns as it goes."""
    return Footprints(network)
