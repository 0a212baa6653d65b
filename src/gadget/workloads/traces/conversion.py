"""From a trace and a cluster to a scenario."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from gadget.errors import BadOption
from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.quantity import MOST_SLOTS, MOST_WORKERS
from gadget.model.resources import Resources
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS, Scenario
from gadget.model.utility import Linear, Log, Sigmoid, Sqrt, Utility
from gadget.workloads.traces.trace import Floats, Integers, Trace

DEFAULT_GBPS = 1.0
_SIZE = re.compile(r"(\d{1,7}(?:\.\d{1,6})?)(x?)")
_STEEPNESS = 10.0
"""A sigmoid rises from 1% to 99% of its priority over a job's work, with its target in the middle."""


class Family(StrEnum):
    """How a job's worth grows with its work."""

    LINEAR = "linear"
    SQRT = "sqrt"
    LOG = "log"
    SIGMOID = "sigmoid"


class Worth(StrEnum):
    """What a finished job is worth: 1 (times its priority), or the worker-slots it takes."""

    JOB = "job"
    GPU_TIME = "gpu-time"


@dataclass(frozen=True, slots=True)
class Bound:
    """A ring size: a number of workers, or a multiple of the traced GPUs."""

    amount: float
    relative: bool

    def of(self, gpus: Integers) -> Integers:
        """The workers that it stands for, at least 1."""
        workers = np.floor(self.amount * gpus + 1e-9) if self.relative else np.full(len(gpus), self.amount)
        whole: Integers = np.clip(workers, 1, MOST_WORKERS).astype(np.int64)
        return whole


@dataclass(frozen=True, slots=True)
class Elasticity:
    """The smallest and the largest ring of each job."""

    least: Bound = Bound(1, True)
    most: Bound = Bound(1, True)

    @classmethod
    def parse(cls, text: str) -> "Elasticity":
        """As in 1:2x: from one worker to twice the traced GPUs; without x the numbers are workers."""
        found = [_SIZE.fullmatch(part.strip()) for part in text.split(":")]
        if len(found) != 2 or not (found[0] and found[1]):
            raise BadOption(f"--elastic {text}: is not understood. Write 1:8, 1:2x or 0.5x:2x, say.")
        bounds = [Bound(float(one[1]), bool(one[2])) for one in found if one]
        if any(not bound.relative and bound.amount != int(bound.amount) for bound in bounds):
            raise BadOption(f"--elastic {text}: workers are whole numbers. Write 1:8, or with x 0.5x:2x.")
        least, most = bounds
        if least.relative == most.relative and least.amount > most.amount:
            raise BadOption(f"--elastic {text}: the smallest ring is above the largest. Turn them round.")
        return cls(least, most)


RIGID = Elasticity()


@dataclass(frozen=True, slots=True)
class ConversionParams:
    """What a trace does not tell."""

    slot_seconds: float = DEFAULT_SLOT_SECONDS
    slots: int | None = None
    """None: enough for every job to end if it runs as it did in the trace."""
    elastic: Elasticity = RIGID
    rate: float = 1.0
    """Work per worker-slot."""
    bandwidth_gbps: tuple[float, float] = (DEFAULT_GBPS, DEFAULT_GBPS)
    """Drawn evenly between the two, for each job."""
    utility: Family = Family.LINEAR
    worth: Worth = Worth.JOB


@dataclass(frozen=True)
class Conversion:
    """A scenario, and the jobs of the trace that are not in it, by reason."""

    scenario: Scenario
    left_out: dict[str, int] = field(default_factory=dict)


def convert(trace: Trace, cluster: Cluster, params: ConversionParams, rng: np.random.Generator) -> Conversion:
    """The scenario of a trace on a cluster.

    A job arrives in the slot of its submission, counted from where the trace's time begins. It has as much
    work as its GPUs did in its duration: a ring of as many workers takes as long as the trace tells.
    """
    known = ~np.isnan(trace.duration_seconds)
    if not known.any():
        raise BadOption(
            f"no job of this {trace.source} trace has a duration. Give them: --assume-duration 1h, or "
            "--throughputs for a trace of Gavel."
        )
    lasts = known & (trace.duration_seconds > 0)
    arrival = np.floor(trace.since_start / params.slot_seconds)
    length = trace.duration_seconds / params.slot_seconds
    slots = params.slots or _find_slots(arrival[lasts], length[lasts])
    inside = lasts & (arrival < slots)
    counts = {
        "have no duration": int((~known).sum()),
        "last no time": int((known & ~lasts).sum()),
        f"arrive after slot {slots - 1:,}": int((lasts & ~inside).sum()),
    }
    chosen = trace.take(inside)
    jobs = _build_jobs(chosen, arrival[inside].astype(np.int64), length[inside], params, rng)
    scenario = Scenario(cluster, jobs, slots, params.slot_seconds)
    return Conversion(scenario, {reason: count for reason, count in counts.items() if count})


def _find_slots(arrival: Floats, length: Floats) -> int:
    slots = int(np.max(arrival + np.ceil(length), initial=1))
    if slots > MOST_SLOTS:
        raise BadOption(
            f"the trace takes {slots:,} slots, more than {MOST_SLOTS:,}. Make them longer with "
            "--slot-seconds, or take a window with --to."
        )
    return slots


def _build_jobs(
    trace: Trace, arrival: Integers, length: Floats, params: ConversionParams, rng: np.random.Generator
) -> tuple[Job, ...]:
    least = params.elastic.least.of(trace.gpus)
    most = np.maximum(params.elastic.most.of(trace.gpus), least)
    work = [_short(number) for number in (length * trace.gpus * params.rate).tolist()]
    worth = _find_worth(trace, length, params.worth)
    low, high = params.bandwidth_gbps
    gbps = [_short(number) for number in rng.uniform(low, high, len(trace)).tolist()] if low < high else None
    shares = np.ones(len(trace)) if trace.gpu_share is None else trace.gpu_share
    resources = {share: Resources({"gpu": _short(share)}) for share in np.unique(shares).tolist()}
    rows = zip(
        find_unique_names(trace.names.tolist()),
        *(column.tolist() for column in (arrival, least, most, shares, worth)),
        work,
        gbps or [low] * len(trace),
        strict=True,
    )
    return tuple(
        Job(
            name=name,
            arrival=first,
            min_workers=fewest,
            max_workers=largest,
            resources=resources[share],
            bandwidth_gbps=bandwidth,
            rate=params.rate,
            work=total,
            utility=build_utility(params.utility, total, value),
        )
        for name, first, fewest, largest, share, value, total, bandwidth in rows
    )


def _find_worth(trace: Trace, length: Floats, worth: Worth) -> Floats:
    """What finishing each job is worth; a priority that the trace tells counts that many times."""
    each = length * trace.gpus if worth is Worth.GPU_TIME else np.ones(len(trace))
    priority = trace.extra.get("priority")
    return each if priority is None else each * np.where(priority > 0, priority, 1.0)


def build_utility(family: Family, work: float, worth: float) -> Utility:
    """A utility of the family that is worth that much when all the work is done."""
    match family:
        case Family.LINEAR:
            return Linear(_short(worth / work))
        case Family.SQRT:
            return Sqrt(_short(worth / math.sqrt(work)))
        case Family.LOG:
            return Log(_short(worth / math.log1p(work)))
        case Family.SIGMOID:
            return Sigmoid(_short(worth), _short(_STEEPNESS / work), _short(work / 2))


def find_unique_names(names: Sequence[str]) -> list[str]:
    """The names, where one comes again with a number behind it."""
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    seen: dict[str, int] = {}
    made = []
    for name in names:
        count = seen[name] = seen.get(name, 0) + 1
        unique = name
        while count > 1 and unique in taken:
            unique = f"{name}-{count}"
            count += 1
        seen[name] = max(seen[name], count - 1)
        taken.add(unique)
        made.append(unique)
    return made


def _short(number: float) -> float:
    """Nine digits: more would only make files long."""
    return float(f"{number:.9g}")
