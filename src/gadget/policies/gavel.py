"""Max-min fairness over time by a linear program, as in Gavel (Narayanan et al., OSDI 2020).

Each slot is one of Gavel's rounds: a program shares time out (its Sec. 4.1), and the jobs that lag most
behind their share of it run (its Sec. 5). Deviations:

- Gavel shares the time on every type of accelerator out among jobs with a fixed number of workers. Here all
  accelerators are alike and jobs may be elastic, so that time is shared out over ring sizes. A job whose
  speed-up is linear (`rate`) needs its largest size only: half of the time with four workers is two
  workers;
- capacity is that of the whole cluster, by resource; Gavel counts accelerators;
- throughput is normalised by what an equal share of the job's scarcest resource would do, at most its
  largest ring; Gavel normalises by equal time on every type, times the number of workers, which for jobs of
  fixed size on one type is the same;
- after the least share, one more program maximises the sum of all; Gavel can fill up level by level (water
  filling, its Sec. 4.3);
- a job that runs has as many workers as the program gives it in the mean, rounded up, and fewer where these
  find no place; a rigid job has its size, as in Gavel;
- priority is X over the rounds received: X is expected workers, and what was received is worker-slots in
  each slot of the job's life so far. Gavel counts since its program was last solved, which a snapshot does
  not tell;
- the programs are solved anew in every slot; Gavel solves them when jobs come and go;
- weights are the jobs' `priority`; nothing is shared by two jobs at once (space sharing, its Sec. 3.1);
- rings are placed greedily, in order of priority, and one that runs with the right size stays if those
  before it leave its place free; Gavel places the largest jobs first among those chosen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Candidate, Placement
from gadget.policies.policy import Steadiness
from gadget.policies.ring_placement import Placer, serve
from gadget.solve.fair_shares import find_fair_shares
from gadget.solve.sized_jobs import WHOLE, SizedJobs, join_sizes


@dataclass(frozen=True)
class Gavel:
    """Equal shares of time, weighted by `priority`; who lags most behind its share runs first."""

    placement: Placer = Placer.GREEDY

    @property
    def steadiness(self) -> Steadiness | None:
        """The ring solver may move rings by chance."""
        return Steadiness.WHEN_ALL_ARE_SATED if self.placement is Placer.GREEDY else None

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Share time out, then serve by what is still owed."""
        placement = Placement(snapshot)
        candidates = placement.find_candidates()
        sized = _list_sizes(placement, candidates)
        shares = find_fair_shares(
            sized,
            placement.network.capacity.sum(axis=0),
            np.array([one.job.priority for one in candidates], dtype=np.float64),
        )
        workers = shares.expected_workers(sized).tolist()
        wanted = [
            (candidate, candidate.clip(math.ceil(mean - WHOLE)))
            for mean, candidate in sorted(
                zip(workers, candidates, strict=True),
                key=lambda one: find_precedence(one[0], one[1].active.served, _age(snapshot, one[1])),
            )
        ]
        serve(placement, wanted, self.placement, rng, shrink=True)
        return placement.decide("gavel")


def find_precedence(workers: float, served: float, age: int) -> tuple[float, float]:
    """What to sort by, the first first: X over what was received, then X itself.

    `workers` is X, `served` the worker-slots received in `age` slots; who received nothing goes first.
    """
    return (-_round(workers * age / served) if served else -math.inf, -_round(workers))


def _round(number: float) -> float:
    """Four digits: what the programs leave of a tie is none, and equal priorities go by arrival."""
    return float(f"{number:.4g}")


def _age(snapshot: Snapshot, candidate: Candidate) -> int:
    """Slots of its life so far."""
    return snapshot.slot - candidate.job.arrival


def _list_sizes(placement: Placement, candidates: Sequence[Candidate]) -> SizedJobs:
    """The sizes that tell jobs' speeds: of one with a rate the largest, else all."""
    sizes = [
        np.arange(one.job.min_workers if one.job.rate is None else one.most, one.most + 1)
        for one in candidates
    ]
    return join_sizes(
        [one.job for one in candidates], sizes, placement.network, placement.snapshot.slot_seconds
    )
