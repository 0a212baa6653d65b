"""Why jobs wait, by prices: what is short, what a ring would cost, and the least that would let it run."""

from collections.abc import Iterator

import numpy as np

from gadget.model.decision import Reason, Waiting
from gadget.model.job import Job
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.policies.waiting import find_obstacle
from gadget.solve.network import Network
from gadget.solve.quotes import Quotes
from gadget.solve.reach import find_largest_rings
from gadget.solve.slot import SlotProblem


def explain_by_prices(
    snapshot: Snapshot, problem: SlotProblem, allocation: Allocation, quotes: Quotes
) -> tuple[Waiting, ...]:
    """A reason for every job without a ring."""
    place_of = {problem.jobs[job].job.name: place for place, job in enumerate(quotes.jobs.tolist())}
    waiting = [active for active in snapshot.jobs if active.job.name not in allocation.ring_of]
    network = problem.network
    others = [active for active in waiting if active.job.name not in problem.number_of]
    most = dict(
        zip((active.job.name for active in others), find_largest_rings(network, [a.job for a in others]), strict=True)
    )
    found = []
    for active in waiting:
        name = active.job.name
        if name in most:
            obstacle = find_obstacle(snapshot, network, active, most[name])
            found.append(obstacle or _lossy(name))
        else:
            found.append(_explain(network, active.job, quotes, place_of[name]))
    return tuple(found)


def _lossy(name: str) -> Waiting:
    return Waiting(name, Reason.GAIN, "a ring in this slot would lower its utility")


def _explain(network: Network, job: Job, quotes: Quotes, place: int) -> Waiting:
    size, gain = int(quotes.size[place]), float(quotes.gain[place])
    if not size:
        return _lossy(job.name)
    smallest = job.min_workers
    fitting = int(quotes.fitting[place])
    cost = float(quotes.resource_cost[place].sum() + quotes.link_cost[place])
    offer = f"; a ring of {size} would gain {gain:.4g} and {_price(network, quotes, place)}"
    if fitting < smallest:
        short = _name_shortage(network, quotes, place)
        room = f"{fitting} of its {smallest} workers fit" if smallest > 1 else "no worker fits"
        detail = f"{short} is taken: {room} on what is free{offer}{_cheapest(network, quotes, place, cost - gain)}"
        return Waiting(job.name, Reason.CAPACITY, detail)
    reachable = float(quotes.reachable_gbps[place])
    link = int(quotes.link[place])
    if 0 <= reachable < job.bandwidth_gbps:
        tight = f", link {_link_name(network, link)} is too full" if link >= 0 else ""
        detail = (
            f"{fitting} workers fit on what is free, but no {smallest} of them are joined by links with "
            f"{job.bandwidth_gbps:g} Gbps free{tight}{offer}; it would run with {reachable:.4g} Gbps"
        )
        return Waiting(job.name, Reason.BANDWIDTH, detail)
    return Waiting(job.name, Reason.GAIN, f"lower gain than what runs in its place{offer}")


def _price(network: Network, quotes: Quotes, place: int) -> str:
    """What the ring would take, in the gains that others have by it."""
    names = list(network.resource_number)
    paid = [(names[r], float(cost)) for r, cost in enumerate(quotes.resource_cost[place]) if cost > 0]
    if quotes.link_cost[place] > 0:
        paid.append(("bandwidth", float(quotes.link_cost[place])))
    if not paid:
        return "take nothing that others want"
    return "take " + " and ".join(f"{name} worth {cost:.4g}" for name, cost in paid)


def _name_shortage(network: Network, quotes: Quotes, place: int) -> str:
    short = np.flatnonzero(quotes.missing[place] > 0)
    names = list(network.resource_number)
    return " and ".join(names[r] for r in short) or "room"


def _cheapest(network: Network, quotes: Quotes, place: int, lacking: float) -> str:
    """The cheapest change: a bit more room on one server, or a bit more gain."""
    changes = list(_changes(network, quotes, place, lacking))
    return f"; it would run with {min(changes)[1]}" if changes else ""


def _changes(network: Network, quotes: Quotes, place: int, lacking: float) -> Iterator[tuple[float, str]]:
    names = list(network.resource_number)
    server, missing = int(quotes.server[place]), quotes.missing[place]
    size = int(quotes.size[place])
    paid = quotes.resource_cost[place]
    if missing.any():
        # Priced as in the ring quoted: the going rate for each unit of what is short.
        per_unit = paid / np.where(missing > 0, missing, 1.0)
        needs = " and ".join(f"{missing[r]:g} more {names[r]}" for r in np.flatnonzero(missing > 0))
        yield float((per_unit * np.minimum(missing, 1.0)).sum()), f"{needs} on {network.nodes[server]}"
    if lacking > 0:
        yield lacking, f"a gain higher by {lacking:.4g} for its ring of {size}"


def _link_name(network: Network, link: int) -> str:
    tail, head = network.ends
    return f"{network.nodes[tail[2 * link]]}–{network.nodes[head[2 * link]]}"
