"""What the rings of a state take, by server, by resource and by link."""

from collections import defaultdict
from collections.abc import Mapping

from gadget.engine.state import State

Amounts = Mapping[str, float]


def find_used(state: State) -> Mapping[str, Amounts]:
    """What is taken of each server that hosts a worker."""
    used: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for ring in state.running.rings:
        takes = state.record_of(ring.job).job.resources
        for server, workers in ring.workers_by_server().items():
            for name, amount in takes.items():
                used[server][name] += amount * workers
    return used


def find_utilisation(state: State) -> Amounts:
    """Which share of each resource of the servers that stand is taken."""
    taken: defaultdict[str, float] = defaultdict(float)
    for amounts in find_used(state).values():
        for name, amount in amounts.items():
            taken[name] += amount
    up = [server for server in state.cluster.servers if server.name not in state.down]
    totals = {
        name: sum(server.resources.get(name, 0) for server in up) for name in state.cluster.resource_names
    }
    return {name: taken[name] / total if total else 0.0 for name, total in totals.items()}


def find_reserved(state: State) -> Mapping[tuple[str, str], float]:
    """Gbps that rings hold on each directed link."""
    reserved: defaultdict[tuple[str, str], float] = defaultdict(float)
    for ring in state.running.rings:
        gbps = state.record_of(ring.job).job.bandwidth_gbps
        for hop in ring.hops():
            reserved[hop] += gbps
    return reserved
