"""How far above the hosts each switch stands, where a file does not say."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from gadget.topology.network import find_parts


def find_heights(below: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """One more than the highest switch below each; `below` has no circle. Switches without any are at 1."""
    above: dict[str, list[str]] = {switch: [] for switch in below}
    missing = {}
    for switch, children in below.items():
        missing[switch] = sum(child in below for child in children)
        for child in children:
            if child in below:
                above[child].append(switch)
    heights = dict.fromkeys(below, 1)
    ready = deque(switch for switch, count in missing.items() if not count)
    while ready:
        switch = ready.popleft()
        for parent in above[switch]:
            heights[parent] = max(heights[parent], heights[switch] + 1)
            missing[parent] -= 1
            if not missing[parent]:
                ready.append(parent)
    return heights


def find_tiers(around: Mapping[str, Collection[str]], hosts: Collection[str]) -> dict[str, int]:
    """Heights above the hosts in a tree with hosts at its leaves, hops from the nearest host elsewhere."""
    root = _find_centre(around, hosts)
    if root is None:
        return _find_hops(around, hosts)
    below: dict[str, list[str]] = {}
    frontier: list[tuple[str, str | None]] = [(root, None)]
    for node, parent in frontier:
        if node not in hosts:
            below[node] = [other for other in around[node] if other != parent]
            frontier += [(child, node) for child in below[node]]
    return find_heights(below)


def _find_centre(around: Mapping[str, Collection[str]], hosts: Collection[str]) -> str | None:
    """The switch in the middle of a tree whose hosts are leaves; None for any other graph."""
    links = {node: len(others) for node, others in around.items()}
    is_tree = sum(links.values()) == 2 * (len(links) - 1) and len(find_parts(around)) == 1
    if not is_tree or any(links[host] != 1 for host in hosts):
        return None
    left = dict(links)
    outer = [node for node, count in links.items() if count == 1]
    while len(left) > 2:
        following = []
        for node in outer:
            del left[node]
            for other in around[node]:
                if other in left:
                    left[other] -= 1
                    if left[other] == 1:
                        following.append(other)
        outer = following
    # Of two in the middle the one with more links; of equals the later one, as cores are named last.
    middle = [node for node in left if node not in hosts]
    return max(reversed(middle), key=links.__getitem__, default=None)


def _find_hops(around: Mapping[str, Iterable[str]], hosts: Collection[str]) -> dict[str, int]:
    hops = dict.fromkeys(hosts, 0)
    frontier = deque(hosts)
    while frontier:
        node = frontier.popleft()
        for other in around[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                frontier.append(other)
    return {node: max(1, hops.get(node, 1)) for node in around if node not in hosts}
