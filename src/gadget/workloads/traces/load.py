"""What a trace asks for over time, if every job ran as soon as it was submitted."""

import numpy as np

from gadget.workloads.traces.trace import Floats, Trace


def find_load(trace: Trace, edges: Floats) -> Floats:
    """GPUs held in the mean between each two edges, in seconds after the trace's time begins.

    Jobs of unknown duration hold none.
    """
    known = ~np.isnan(trace.duration_seconds)
    start, gpus = trace.since_start[known], trace.gpu_demand[known]
    end = start + trace.duration_seconds[known]
    held = _integrate(start, gpus, edges) - _integrate(end, gpus, edges)
    return np.maximum(np.diff(held) / np.diff(edges), 0.0)


def _integrate(start: Floats, gpus: Floats, at: Floats) -> Floats:
    """GPU-seconds up to each moment of jobs that never end: Σ g · max(0, t − s)."""
    order = np.argsort(start, kind="stable")
    begun = np.searchsorted(start[order], at, side="right")
    amount: Floats = np.concatenate([[0.0], np.cumsum(gpus[order])])[begun]
    moment: Floats = np.concatenate([[0.0], np.cumsum((gpus * start)[order])])[begun]
    return amount * at - moment
