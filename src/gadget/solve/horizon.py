"""What no schedule can exceed, even one that knows all arrivals: an LP over worker-slots.

Servers and links are forgotten but for their sums: in every slot, all workers together take at most what
the whole cluster has of each resource, and no ring is larger than the empty cluster holds. Utilities are
replaced by concave envelopes. Slots between two arrivals are alike, so they form one interval.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gadget.model.job import ActiveJob, Job
from gadget.model.quantity import TOLERANCE
from gadget.model.snapshot import Scenario
from gadget.solve.envelope import Envelope, find_envelope
from gadget.solve.greedy import largest_ring
from gadget.solve.lp import LinearProgram, solve
from gadget.solve.network import Network, compile_network
from gadget.solve.rows import RowFamilies

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Neighbouring intervals are joined until jobs × intervals is no more than this; that can only raise the
# bound: for 1,000 jobs over 1,000 slots, by less than a thousandth.
MOST_SHARES = 60_000
LEAST_INTERVALS = 30


@dataclass(frozen=True, eq=False)
class _Rival:
    """A job that can run: what it may take in each interval and over its life, and what that is worth."""

    demand: Floats
    most: Floats
    """Worker-slots that it can have in each interval."""
    reachable: int
    """Worker-slots that it can have in all."""
    envelope: Envelope


def clairvoyant_bound(scenario: Scenario) -> float:
    """An upper bound on Σ_i μ_i(work of job i by the end) over all feasible schedules of the scenario.

    The sum is over all jobs, also those that never run, which count with μ_i(0).

    maximise Σ_i envelope_i(Σ_k x_ik), where x_ik are the worker-slots of job i in interval k, with
    Σ_i l_i^r x_ik ≤ length_k · Σ_s C_s^r for each interval and resource,
    x_ik ≤ (slots of k from the arrival on) · min(N_i, largest ring of the empty cluster), and
    Σ_k x_ik ≤ budget. The value is computed from the LP's prices, so that it is a bound whatever the solver's
    tolerance.
    """
    idle = sum(float(job.worth.value(0.0)) for job in scenario.jobs)
    network = compile_network(scenario.cluster)
    edges = _find_edges(scenario)
    entrants = (_find_rival(scenario, network, job, edges) for job in scenario.jobs)
    rivals = [rival for rival in entrants if rival is not None]
    worth = sum(float(rival.envelope.gain.sum()) for rival in rivals)
    if not worth or not np.isfinite(worth):
        return idle + worth
    limit = np.diff(edges)[:, None] * network.capacity.sum(axis=0) * (1 + TOLERANCE)
    program = _build_program(rivals, limit, worth)
    return idle + worth * min(1.0, _find_safe_bound(program, solve(program).row_prices))


def _find_edges(scenario: Scenario) -> Integers:
    """Where intervals start, and the end of the last; a new one at every arrival."""
    starts = np.unique([0, *(job.arrival for job in scenario.jobs if job.arrival < scenario.slots)])
    most = max(LEAST_INTERVALS, MOST_SHARES // max(1, len(scenario.jobs)))
    if len(starts) > most:
        starts = starts[np.linspace(0, len(starts) - 1, most).astype(np.int64)]
    return np.append(starts, scenario.slots)


def _find_rival(scenario: Scenario, network: Network, job: Job, edges: Integers) -> _Rival | None:
    """The job with its limits; None when it can never run or never gain."""
    ring = largest_ring(network, job)
    slots = max(0, scenario.slots - job.arrival)
    reachable = int(min(ActiveJob(job).worker_slots_left, ring * slots))
    demand = network.demand(job)
    if demand is None or ring < job.min_workers or reachable < job.min_workers:
        return None
    envelope = find_envelope(job, reachable, scenario.slot_seconds)
    if not envelope.gain.sum() > 0:
        return None
    open_slots = np.maximum(0, edges[1:] - np.maximum(edges[:-1], job.arrival))
    return _Rival(demand, np.minimum(ring * open_slots, reachable).astype(np.float64), reachable, envelope)


def _build_program(rivals: list[_Rival], limit: Floats, worth: float) -> LinearProgram:
    """The LP with every variable between 0 and 1, as a share of the most it can be, and every limit 1.

    Variables: the share x_ik of what a job can have in an interval, then the share of each piece of its
    envelope. The pieces of a concave envelope fill in their order by themselves.
    """
    job, interval = np.nonzero(np.array([rival.most for rival in rivals]))
    most = np.array([rival.most for rival in rivals])[job, interval]
    demand = np.array([rival.demand for rival in rivals])
    pieces = [len(rival.envelope.gain) for rival in rivals]
    piece_job = np.repeat(np.arange(len(rivals)), pieces)
    reachable = np.array([rival.reachable for rival in rivals], dtype=np.float64)
    width = len(job) + len(piece_job)
    rows = RowFamilies(width)
    for resource in range(demand.shape[1]):
        taken = np.flatnonzero(demand[job, resource])
        rows.add(
            interval[taken],
            taken,
            demand[job[taken], resource] * most[taken] / limit[interval[taken], resource],
            height=len(limit),
            upper=1.0,
        )
    piece_width = np.concatenate([rival.envelope.width for rival in rivals])
    rows.add(
        np.concatenate([piece_job, job]),
        np.concatenate([len(job) + np.arange(len(piece_job)), np.arange(len(job))]),
        np.concatenate([piece_width / reachable[piece_job], -most / reachable[job]]),
        height=len(rivals),
        upper=0.0,
    )
    gain = np.concatenate([rival.envelope.gain for rival in rivals]) / worth
    objective = np.concatenate([np.zeros(len(job)), gain])
    return rows.program(objective, np.zeros(width), np.ones(width), None)


def _find_safe_bound(program: LinearProgram, prices: Floats | None) -> float:
    """Weak duality: with any prices ≥ 0, row limits at their prices and what each variable gains beyond."""
    if prices is None:
        prices = np.zeros(len(program.row_upper))
    prices = np.maximum(prices, 0.0)
    beyond = program.objective - sparse.csr_array(program.matrix.T) @ prices
    return float(program.row_upper @ prices + np.maximum(beyond, 0.0) @ program.upper)
