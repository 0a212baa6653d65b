"""A mapping ω: where the positions of a ring stand and which way its edges take, with its LP weight."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gadget.model.ring import Ring
from gadget.solve.network import Network
from gadget.solve.slot import SlotProblem
from gadget.solve.unfolding import join_legs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mapping:
    """One candidate ring of a job, as nodes by number. It may be too large for the servers it names."""

    job: int
    weight: float
    """φ: how much of the job's embedding it carries; the chance that it is drawn."""
    stops: tuple[int, ...]
    """The server of each position."""
    legs: tuple[tuple[int, ...], ...]
    """The nodes that each ring edge passes, both ends included; none for a single worker."""

    @property
    def is_closed(self) -> bool:
        """True when each leg leads from its position to the next and the last to the first."""
        if len(self.stops) == 1:
            return not self.legs
        after = (*self.stops[1:], self.stops[0])
        return len(self.legs) == len(self.stops) and all(
            leg[0] == here and leg[-1] == there
            for here, there, leg in zip(self.stops, after, self.legs, strict=True)
        )

    def ring(self, problem: SlotProblem) -> Ring:
        """The ring it describes, cut to first visits."""
        legs = [list(leg) for leg in self.legs]
        return join_legs(problem.network, problem.jobs[self.job].job.name, list(self.stops), legs)


def node_load(problem: SlotProblem, mapping: Mapping) -> Floats:
    """What the mapping takes of every resource of every server, (servers × resources)."""
    workers = np.bincount(mapping.stops, minlength=problem.network.servers)
    return np.asarray(workers[:, None] * problem.demand[mapping.job])


def link_load(problem: SlotProblem, mapping: Mapping) -> Floats:
    """Gbps that the mapping reserves on every directed link."""
    crossed = [link for leg in mapping.legs for link in _links_of(problem.network, leg)]
    count = np.bincount(np.array(crossed, dtype=np.int64), minlength=len(problem.network.link_gbps))
    return np.asarray(count * problem.gbps[mapping.job])


def _links_of(network: Network, leg: tuple[int, ...]) -> list[int]:
    return [
        next(link for beside, link in network.around[here] if beside == there)
        for here, there in pairwise(leg)
    ]
