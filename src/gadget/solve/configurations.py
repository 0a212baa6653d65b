"""The integer program of Sia (Jayaram Subramanya et al., SOSP 2023): one of few configurations a job."""

from dataclasses import dataclass

import numpy as np

from gadget.solve.lp import LinearProgram
from gadget.solve.network import Network
from gadget.solve.rows import RowFamilies
from gadget.solve.sized_jobs import WHOLE, Floats, Integers, SizedJobs

# The type of a configuration that no type of server holds alone.
ANY_TYPE = -1


@dataclass(frozen=True, eq=False)
class ServerTypes:
    """Servers with the same resources are of one type."""

    resources: Floats
    """What a server of each type has, (types × resources)."""
    of_server: Integers

    @property
    def count(self) -> Integers:
        """How many servers there are of each type."""
        return np.bincount(self.of_server, minlength=len(self.resources))

    @property
    def capacity(self) -> Floats:
        """What all servers of each type have together, (types × resources)."""
        return np.asarray(self.resources * self.count[:, None])


@dataclass(frozen=True, eq=False)
class Configurations:
    """Pairs of `SizedJobs`, each on one type of server; a pair may be there several times."""

    pair: Integers
    kind: Integers
    """The type, or ANY_TYPE."""


def find_server_types(network: Network) -> ServerTypes:
    """The types of a network's servers."""
    resources, of_server = np.unique(network.capacity, axis=0, return_inverse=True)
    return ServerTypes(resources, of_server.reshape(-1))


def find_configurations(sized: SizedJobs, types: ServerTypes, *, least: bool = False) -> Configurations:
    """Powers of two within a server, then all workers that n whole servers of one type hold.

    With `least`, a job that has none of these has its smallest pair, on any servers.
    """
    pairs, kinds = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for number, (has, count) in enumerate(zip(types.resources, types.count.tolist(), strict=True)):
        # A job that no server of the type holds has no configuration there.
        most = sized.workers_within(has * (1 + WHOLE))
        held = np.floor(np.minimum(most, 2.0**53)).astype(np.int64)[sized.job]
        inside = (sized.size <= held) & (sized.size & (sized.size - 1) == 0)
        whole = (
            (held > 0)
            & (sized.size % np.maximum(held, 1) == 0)
            & (sized.size // np.maximum(held, 1) <= count)
        )
        own = np.flatnonzero(inside | whole)
        pairs.append(own)
        kinds.append(np.full(len(own), number))
    if least:
        has_pairs = np.flatnonzero(np.diff(sized.start) > 0)
        left = np.setdiff1d(has_pairs, sized.job[np.concatenate(pairs)])
        pairs.append(sized.start[left])
        kinds.append(np.full(len(left), ANY_TYPE))
    return Configurations(np.concatenate(pairs), np.concatenate(kinds))


def build_configuration_program(
    sized: SizedJobs, types: ServerTypes, configurations: Configurations, value: Floats
) -> LinearProgram:
    """Maximise Σ value of the configurations chosen: one a job, within the capacity of each type."""
    pair, kind = configurations.pair, configurations.kind
    rows = RowFamilies(len(pair))
    rows.add(sized.job[pair], np.arange(len(pair)), 1.0, height=sized.count, upper=1.0)
    column, resource = np.nonzero(sized.load[pair])
    amount = sized.load[pair[column], resource]
    width = types.resources.shape[1]
    typed = kind[column] != ANY_TYPE
    row = kind[column] * width + resource
    limit = types.capacity.ravel()
    rows.add(row[typed], column[typed], amount[typed], height=len(limit), upper=limit)
    if not typed.all():  # else the rows of the types say it already
        rows.add(resource, column, amount, height=width, upper=types.capacity.sum(axis=0))
    ones = np.ones(len(pair))
    return rows.program(value, np.zeros(len(pair)), ones, ones.astype(bool))
