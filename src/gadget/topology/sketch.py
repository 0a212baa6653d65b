"""A topology as lines of text: a tree drawn with branches, any other graph switch by switch."""

from collections.abc import Iterator, Sequence

from gadget.errors import InvalidValue
from gadget.topology.hostlist import fold_hostlist
from gadget.topology.network import Cable, Topology


def sketch(topology: Topology) -> Iterator[str]:
    """The lines, from the top down."""
    tiers = topology.tier_of
    tops = [
        switch.name
        for switch in topology.switches
        if not any(tiers[other] > switch.tier for other in topology.neighbours[switch.name])
    ]
    if topology.is_tree and len(tops) == 1:
        yield from _draw_tree(topology, tops[0])
    else:
        yield from _list_switches(topology)


def _draw_tree(topology: Topology, root: str) -> Iterator[str]:
    """One line for each switch; the machines of a switch share a line."""
    waiting: list[tuple[str, str, str, str]] = [(root, "", "", "")]
    while waiting:
        node, parent, stem, branch = waiting.pop()
        around = topology.neighbours[node]
        below = [other for other in around if other != parent]
        hosts = [other for other in below if not topology.tier_of[other]]
        switches = [other for other in below if topology.tier_of[other]]
        up = f", {_speed([around[parent]])}" if parent else ""
        yield f"{stem}{branch}{node}{up}"
        if parent:
            stem += "    " if branch.startswith("└") else "│   "
        if hosts:
            mark = "├── " if switches else "└── "
            yield f"{stem}{mark}{_name_hosts(hosts, [around[host] for host in hosts])}"
        marks = ["├── "] * (len(switches) - 1) + ["└── "]
        waiting += reversed([(s, node, stem, m) for s, m in zip(switches, marks, strict=False)])


def _list_switches(topology: Topology) -> Iterator[str]:
    """One line for each switch: what is above it and which machines are below."""
    tiers = topology.tier_of
    for switch in sorted(topology.switches, key=lambda one: -one.tier):
        around = topology.neighbours[switch.name]
        above = [other for other in around if tiers[other] > switch.tier]
        beside = [other for other in around if tiers[other] == switch.tier]
        hosts = [other for other in around if not tiers[other]]
        parts = [f"{switch.name} ({topology.tier_name(switch.tier)})"]
        for word, others in (("up to", above), ("beside", beside)):
            if others:
                each = " each" if len(others) > 1 else ""
                parts.append(f"{word} {_fold(others)}, {_speed([around[other] for other in others])}{each}")
        if hosts:
            parts.append(_name_hosts(hosts, [around[host] for host in hosts]))
        yield "; ".join(parts)
    for cable in topology.cables:
        if not topology.tier_of_cable(cable):
            yield f"{cable.ends[0]} – {cable.ends[1]}, {_speed([cable])}"


def _name_hosts(hosts: Sequence[str], cables: Sequence[Cable]) -> str:
    noun = "server" if len(hosts) == 1 else "servers"
    each = "" if len(hosts) == 1 else " each"
    return f"{_fold(hosts)}: {len(hosts):,} {noun}, {_speed(cables)}{each}"


def _fold(names: Sequence[str]) -> str:
    try:
        text = fold_hostlist(names)
    except InvalidValue:
        text = ", ".join(names)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _speed(cables: Sequence[Cable]) -> str:
    known = sorted({cable.gbps for cable in cables if cable.gbps is not None})
    if not known:
        return "? Gbps"
    shown = f"{known[0]:g}" if len(known) == 1 else f"{known[0]:g} … {known[-1]:g}"
    unsure = " (assumed)" if any(cable.assumed for cable in cables) else ""
    return f"{shown} Gbps{unsure}" + (", some unknown" if any(c.gbps is None for c in cables) else "")
