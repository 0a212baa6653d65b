"""Randomised rounding of weighted mappings (Algorithm 2, lines 7 to 9)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.solve.mapping import Mapping, link_load, node_load
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Targets:
    """When a draw is an (α, β, γ)-approximation (Thm 8)."""

    objective: float
    """α times the LP's value."""
    node_factor: Floats
    """β^r for each resource."""
    link_factor: float
    """γ."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One round: the mappings drawn, at most one a job, and how far they overload servers and links."""

    mappings: tuple[Mapping, ...]
    objective: float
    node_overload: Floats
    """Load over capacity at the worst server, for each resource."""
    link_overload: float
    """Load over capacity at the worst directed link."""

    def reaches(self, targets: Targets) -> bool:
        """True when it is good enough for the paper's loop to end."""
        return bool(
            self.objective >= targets.objective
            and np.all(self.node_overload <= targets.node_factor)
            and self.link_overload <= targets.link_factor
        )


def draw_rounds(
    problem: SlotProblem,
    mappings: Sequence[Mapping],
    targets: Targets,
    rng: np.random.Generator,
    *,
    rounds: int,
) -> Iterator[Draw]:
    """Draws until one reaches the targets or u_b = `rounds` are made; the last one is the paper's answer."""
    by_job: defaultdict[int, list[Mapping]] = defaultdict(list)
    for mapping in mappings:
        by_job[mapping.job].append(mapping)
    for _ in range(rounds):
        draw = _judge(problem, [m for own in by_job.values() if (m := draw_one(own, rng)) is not None])
        yield draw
        if draw.reaches(targets):
            return


def draw_one(mappings: Sequence[Mapping], rng: np.random.Generator) -> Mapping | None:
    """One of a job's mappings, each with its weight as its chance; none with what is left to 1."""
    ends = np.cumsum([mapping.weight for mapping in mappings])
    place = int(np.searchsorted(ends, rng.random(), side="right"))
    return mappings[place] if place < len(mappings) else None


def _judge(problem: SlotProblem, drawn: list[Mapping]) -> Draw:
    network = problem.network
    nodes, links = np.zeros_like(network.capacity), np.zeros_like(network.link_gbps)
    for mapping in drawn:
        nodes += node_load(problem, mapping)
        links += link_load(problem, mapping)
    return Draw(
        tuple(drawn),
        sum(problem.gain(mapping.job, len(mapping.stops)) for mapping in drawn),
        _worst(nodes, network.capacity).max(axis=0, initial=0.0),
        float(_worst(links, network.link_gbps).max(initial=0.0)),
    )


def _worst(load: Floats, capacity: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(load > 0, load / capacity, 0.0)
