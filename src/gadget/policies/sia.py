"""Goodput by an integer program over few configurations, as in Sia (Jayaram Subramanya et al., SOSP 2023).

Every slot is one of Sia's rounds: minimise Σ_i [Σ_j A_ij·(r_ij·G_ij)^p + λ·(1 − Σ_j A_ij)], where A_ij is 1
if job i has configuration j, G its normalised goodput there, r < 1 if that would restart it, p = −0.5 the
fairness power and λ = 1.1 what a waiting job costs. Here Σ (λ − (r·G)^p) is maximised, which is the same.
Deviations:

- goodput is the work that a ring of that size does in a slot, by `rate` or Eq. (1); statistical efficiency
  is not modelled, and batch sizes stay. Work is known from the start, so that a job need not begin with its
  smallest ring and may more than double in a round;
- as there, goodput is normalised so that a job's smallest configuration counts as its GPUs (at least 1). A
  job without GPUs counts by its dominant share, as in `las`;
- r is T/(T + S) with a job's age T and the time S that a restart takes: its `restart_seconds`, else that of
  the policy, and, in slots of the ring that runs, its `resize_cost`. Sia takes off what earlier restarts
  cost too, which a snapshot does not tell. As there, r is 1 for jobs that do not run, and for those younger
  than S;
- types are servers with the same resources, and all are equally fast; capacity is by type and resource,
  where Sia counts GPUs. A server whose GPUs are no power of two is not split into virtual ones; the whole
  of it is one more configuration;
- a job that has none of these configurations (a rigid one of three workers, say) has its smallest ring, on
  servers of any type; Sia's rigid jobs have their own number of GPUs too;
- rings are placed greedily, largest first, and on servers of any type: a type stands for sizes alone. Where
  a ring finds no place it shrinks; Sia, which knows no links, moves others until all stand;
- weights are the jobs' `priority`; no job is exempt from preemption;
- with a time limit the best answer found is taken; without, the search tree is bounded, so that the same
  slot has the same answer everywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision, Reason, Waiting
from gadget.model.snapshot import Snapshot
from gadget.policies.las import find_service
from gadget.policies.placement import Candidate, Placement
from gadget.policies.policy import Steadiness
from gadget.policies.ring_placement import Placer, serve
from gadget.solve.configurations import (
    Configurations,
    build_configuration_program,
    find_configurations,
    find_server_types,
)
from gadget.solve.lp import solve
from gadget.solve.sized_jobs import Floats, SizedJobs, join_sizes

# Nodes of the search tree without a time limit.
_NODES = 500


@dataclass(frozen=True)
class Sia:
    """One configuration a job, so that the powers of normalised goodputs are best in sum."""

    fairness: float = -0.5
    """p: below 0 slow jobs count most, above 0 fast ones; not 0."""
    waiting: float = 1.1
    """λ: what it costs to leave a job without a ring."""
    restart_seconds: float = 30.0
    """What a restart is taken to last for jobs that do not say it, beside their `resize_cost`."""
    gap: float = 1e-4
    """Relative gap at which the program counts as solved."""
    time_limit: float | None = None

    placement: Placer = Placer.GREEDY

    def __post_init__(self) -> None:
        if not math.isfinite(self.fairness) or not self.fairness:
            raise BadOption(f"sia: fairness is {self.fairness:g}. Give a finite number other than 0.")
        for name in ("waiting", "restart_seconds", "gap", "time_limit"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise BadOption(f"sia: {name} is {value:g}. Give a finite number, 0 or more.")

    @property
    def steadiness(self) -> Steadiness | None:
        """The ring solver may move rings by chance."""
        return Steadiness.WHEN_ALL_ARE_SATED if self.placement is Placer.GREEDY else None

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Choose sizes, then place them, largest first."""
        placement = Placement(snapshot)
        candidates = placement.find_candidates()
        sizes = self._choose(placement, candidates)
        wanted = [(one, size) for one, size in zip(candidates, sizes, strict=True) if size]
        wanted.sort(key=lambda one: -one[1] * find_service(snapshot.cluster, one[0].job))
        serve(placement, wanted, self.placement, rng, shrink=True)
        for candidate, size in zip(candidates, sizes, strict=True):
            if not size:
                _explain(placement, candidate)
        return placement.decide("sia")

    def _choose(self, placement: Placement, candidates: Sequence[Candidate]) -> list[int]:
        """The size of each job by the program; 0 for those that wait."""
        sized = join_sizes(
            [one.job for one in candidates],
            [np.arange(one.job.min_workers, one.most + 1) for one in candidates],
            placement.network,
            placement.snapshot.slot_seconds,
        )
        types = find_server_types(placement.network)
        offered = find_configurations(sized, types, least=True)
        value = self._value(placement.snapshot, candidates, sized, offered)
        offered = Configurations(offered.pair[value > 0], offered.kind[value > 0])
        found = solve(
            build_configuration_program(sized, types, offered, value[value > 0]),
            time_limit=self.time_limit,
            node_limit=_NODES if self.time_limit is None else None,
            gap=self.gap,
        )
        if found.values is None:  # out of time before the first answer: what runs goes on
            ring_of = placement.snapshot.running.ring_of
            return [
                one.clip(ring_of[one.name].size) if one.name in ring_of else one.job.min_workers
                for one in candidates
            ]
        sizes = [0] * len(candidates)
        if len(offered.pair):
            for pair in offered.pair[found.values > 0.5].tolist():
                sizes[sized.job[pair]] = int(sized.size[pair])
        return sizes

    def _value(
        self, snapshot: Snapshot, candidates: Sequence[Candidate], sized: SizedJobs, offered: Configurations
    ) -> Floats:
        """What each configuration saves of the cost of waiting: λ − (r·G)^p, or λ + (r·G)^p for p above 0."""
        ring_of, job = snapshot.running.ring_of, sized.job[offered.pair]
        before = np.array([ring_of[one.name].size if one.name in ring_of else 0 for one in candidates], int)
        factor = np.array(
            [self._restart_factor(snapshot, *one) for one in zip(candidates, before.tolist(), strict=True)]
        )
        moved = (before[job] > 0) & (before[job] != sized.size[offered.pair])
        goodput = find_goodput(snapshot, candidates, sized, offered) * np.where(moved, factor[job], 1.0)
        with np.errstate(divide="ignore", over="ignore"):
            power = goodput**self.fairness
        weight = np.array([one.job.priority for one in candidates], dtype=np.float64)
        saved = self.waiting - power if self.fairness < 0 else self.waiting + power
        return np.asarray(weight[job] * np.minimum(saved, 1e12))

    def _restart_factor(self, snapshot: Snapshot, candidate: Candidate, size: int) -> float:
        """r of a job whose ring has that size."""
        age = snapshot.slot - candidate.job.arrival
        own = candidate.job.restart_seconds
        lost = (self.restart_seconds if own is None else own) / snapshot.slot_seconds
        done = float(candidate.job.work_in_slot(size, snapshot.slot_seconds))
        if candidate.job.resize_cost and done > 0:
            lost += candidate.job.resize_cost / done
        return age / (age + lost) if age >= lost > 0 else 1.0


def find_goodput(
    snapshot: Snapshot, candidates: Sequence[Candidate], sized: SizedJobs, offered: Configurations
) -> Floats:
    """G of each configuration: its work; the smallest one of its job does as much as it has GPUs."""
    least = np.full(sized.count, len(sized.size))
    np.minimum.at(least, sized.job[offered.pair], offered.pair)
    goodput = np.ones(len(offered.pair))
    service = np.array([find_service(snapshot.cluster, one.job) for one in candidates], dtype=np.float64)
    first = least[sized.job[offered.pair]]
    gpus = np.maximum(service[sized.job[offered.pair]] * sized.size[first], 1.0)
    done, reference = sized.work[offered.pair], sized.work[first]
    np.divide(done * gpus, reference, out=goodput, where=reference > 0)
    return goodput


def _explain(placement: Placement, candidate: Candidate) -> None:
    least = candidate.job.min_workers
    if placement.find_ring(candidate, least) is None:
        placement.explain(candidate, least)
    else:
        detail = "in the sum over all jobs a configuration of it is worth less than what runs in its place"
        placement.wait(Waiting(candidate.name, Reason.GAIN, detail))
