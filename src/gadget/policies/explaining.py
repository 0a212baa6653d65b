"""Why jobs wait, by prices: what is short, what a ring would cost, and the least that would let it run."""

from typing import NamedTuple

import numpy as np

from gadget.model.decision import Reason, Waiting
from gadget.model.job import Job
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.policies.waiting import find_obstacle
from gadget.solve.network import Network
from gadget.solve.quotes import Lack, Quotes
from gadget.solve.reach import find_largest_rings
from gadget.solve.slot import SlotProblem


def explain_by_prices(
    snapshot: Snapshot, problem: SlotProblem, allocation: Allocation, quotes: Quotes
) -> tuple[Waiting, ...]:
    """A reason for every job without a ring."""
    network = problem.network
    waiting = [active for active in snapshot.jobs if active.job.name not in allocation.ring_of]
    unable = [active for active in waiting if active.job.name not in problem.number_of]
    most = find_largest_rings(network, [active.job for active in unable])
    found = {}
    for active, largest in zip(unable, most, strict=True):
        name = active.job.name
        found[name] = find_obstacle(snapshot, network, active, largest) or _lose(name)
    quoted = {
        problem.jobs[job].job.name: one for job, one in zip(quotes.jobs.tolist(), _read(quotes), strict=True)
    }
    names = tuple(network.resource_number)
    lacks = [_describe(network, names, lack) for lack in quotes.lacks]
    sizes = np.diff(problem.pair_start)
    for active in waiting:
        name = active.job.name
        if name not in found and not sizes[problem.number_of[name]]:
            found[name] = _lose(name)
        elif name not in found:
            one = quoted[name]
            found[name] = _explain(network, names, active.job, one, lacks[one.lack])
    return tuple(found[active.job.name] for active in waiting)


class _Quote(NamedTuple):
    """What `Quotes` says of one job."""

    size: int
    gain: float
    resource_cost: list[float]
    link_cost: float
    lack: int
    reachable_gbps: float
    link: int


class _Lack(NamedTuple):
    """What jobs that ask for the same smallest ring are short of, in words."""

    fitting: int
    taken: str
    change: str
    """What would make room for the smallest ring."""


def _read(quotes: Quotes) -> list[_Quote]:
    columns = (
        quotes.size,
        quotes.gain,
        quotes.resource_cost,
        quotes.link_cost,
        quotes.lack,
        quotes.reachable_gbps,
        quotes.link,
    )
    return [_Quote(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _describe(network: Network, names: tuple[str, ...], lack: Lack) -> _Lack:
    missing = [
        (name, amount) for name, amount in zip(names, lack.missing.tolist(), strict=True) if amount > 0
    ]
    short = " and ".join(name for name, _ in missing) or "room"
    fits = "no worker fits" if not lack.fitting else f"{lack.fitting} of {lack.smallest} workers fit"
    needs = " and ".join(f"{amount:.4g} more {name}" for name, amount in missing)
    change = (
        f"a ring of {lack.smallest} would run with {needs} on {network.nodes[lack.server]} "
        f"(worth {lack.cost:.4g})"
    )
    return _Lack(lack.fitting, f"{short} is taken, {fits} on what is free", change)


def _lose(name: str) -> Waiting:
    return Waiting(name, Reason.GAIN, "a ring in this slot would lower its utility")


def _explain(network: Network, names: tuple[str, ...], job: Job, quote: _Quote, lack: _Lack) -> Waiting:
    """The offer is for the ring that comes nearest to paying, the change for the one that fits soonest."""
    offer = "a ring would gain nothing now, so it runs where room stands idle"
    if quote.size:
        taken = _tell_cost(names, quote)
        offer = f"its best ring, of {quote.size}, would gain {quote.gain:.4g} and take {taken}"
    if lack.fitting < job.min_workers:
        return Waiting(job.name, Reason.CAPACITY, f"{lack.taken}; {offer}; {lack.change}")
    if 0 <= quote.reachable_gbps < job.bandwidth_gbps:
        full = f", {_name_link(network, quote.link)} is too full" if quote.link >= 0 else ""
        detail = (
            f"{lack.fitting} workers fit on what is free, but no {job.min_workers} of them are joined by "
            f"links with {job.bandwidth_gbps:g} Gbps free{full}; {offer}; a ring of {job.min_workers} "
            f"would run with {job.bandwidth_gbps - quote.reachable_gbps:.4g} Gbps more there"
        )
        return Waiting(job.name, Reason.BANDWIDTH, detail)
    return Waiting(job.name, Reason.GAIN, f"lower gain than what runs in its place; {offer}")


def _tell_cost(names: tuple[str, ...], quote: _Quote) -> str:
    """What the ring would take, in gains that others have by it."""
    paid = [f"{name} worth {cost:.4g}" for name, cost in zip(names, quote.resource_cost, strict=True) if cost]
    if quote.link_cost:
        paid.append(f"bandwidth worth {quote.link_cost:.4g}")
    return " and ".join(paid) or "nothing that others want"


def _name_link(network: Network, link: int) -> str:
    tail, head = network.ends
    return f"link {network.nodes[tail[2 * link]]}–{network.nodes[head[2 * link]]}"
