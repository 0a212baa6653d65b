"""Slurm's topology.conf: lines of Key=value, keys in any case, for topology/tree and topology/block."""

import re
from collections.abc import Iterator

from gadget.errors import InvalidValue
from gadget.model.names import nearest_hint
from gadget.model.quantity import check_at_least_zero
from gadget.topology.hostlist import fold_hostlist
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions
from gadget.topology.rooted import Written, find_rooted, mention
from gadget.topology.slurm import BlockEntry, SwitchEntry, build_slurm_blocks, build_slurm_tree
from gadget.topology.source import Source

FORMAT = "slurm"
_LONGEST_NAME = 64
_MOST_SPEED = 2**32 - 1
_SIGN = re.compile(r"^[ \t]*(SwitchName|BlockName|RingName|BlockSizes)[ \t]*=", re.MULTILINE | re.IGNORECASE)
_PAIR = re.compile(r'([A-Za-z0-9_.]+)\s*=\s*(?:"([^"]*)"|([^\s"]+))(?:\s+|$)')
_KEYS = {
    "switchname": ("switchname", "switches", "nodes", "linkspeed"),
    "blockname": ("blockname", "nodes"),
    "blocksizes": ("blocksizes",),
}
_WRITTEN = {
    "switchname": "SwitchName",
    "switches": "Switches",
    "nodes": "Nodes",
    "linkspeed": "LinkSpeed",
    "blockname": "BlockName",
    "blocksizes": "BlockSizes",
}


def recognise(source: Source) -> bool:
    """True for a file with a line that starts with one of Slurm's keys."""
    return _SIGN.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:
    """The tree or the blocks of a topology.conf."""
    switches: list[SwitchEntry] = []
    blocks: list[BlockEntry] = []
    for line, text in _logical_lines(source.text):
        pairs = _parse_pairs(source, line, text)
        kind = next(iter(pairs))
        _check_keys(source, line, kind, pairs)
        if kind == "switchname":
            gbps = _parse_speed(source, line, pairs.get("linkspeed"))
            switches.append(SwitchEntry(pairs[kind], line, pairs.get("switches"), pairs.get("nodes"), gbps))
        elif kind == "blockname":
            blocks.append(BlockEntry(pairs[kind], line, pairs.get("nodes")))
    if switches and blocks:
        raise source.complain(
            "describes switches and blocks", "Keep those that TopologyPlugin names", blocks[0].place
        )
    if blocks:
        return build_slurm_blocks(source, FORMAT, blocks, options.join)
    return build_slurm_tree(source, FORMAT, switches, options.join)


def write(topology: Topology) -> Written:
    """A topology.conf of a tree. It holds no resources, and one LinkSpeed for all links below a switch."""
    tree = find_rooted(topology, "a topology.conf")
    lost: list[str] = []
    uneven: list[str] = []
    lines = ["# Slurm's network topology, for topology/tree. LinkSpeed is in Gbps."]
    for switch in tree.switches:
        _check_name(switch)
        below = tree.below[switch]
        key = "Nodes" if any(tree.is_host(node) for node in below) else "Switches"
        line = f"SwitchName={switch}" + (f" {key}={fold_hostlist(below)}" if below else "")
        speeds = {tree.gbps[node] for node in below}
        speed = next(iter(speeds)) if len(speeds) == 1 else None
        if speed is not None and float(speed).is_integer() and speed <= _MOST_SPEED:
            line += f" LinkSpeed={int(speed)}"
        elif speeds - {None}:
            uneven.append(switch)
        lines.append(line)
    if uneven:
        lost.append(
            f"bandwidths below {mention(uneven)}: LinkSpeed is one whole number for all links below a switch"
        )
    if tree.names_resources:
        lost.append("resources: a topology.conf has none; GPUs stand in slurm.conf and gres.conf")
    return Written("\n".join(lines) + "\n", tuple(lost))


def _check_name(switch: str) -> None:
    if len(switch) > _LONGEST_NAME:
        raise InvalidValue(
            "", f"switch {switch!r} has {len(switch)} letters; Slurm takes {_LONGEST_NAME}", "Rename it"
        )
    fold_hostlist([switch])


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, those that end in a backslash joined to the next, each with its number."""
    start, held = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).rstrip()
        if not held:
            start = number
        if line.endswith("\\"):
            held += line[:-1]
            continue
        whole, held = (held + line).strip(), ""
        if whole:
            yield start, whole
    if held.strip():
        yield start, held.strip()


def _parse_pairs(source: Source, line: int, text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            if re.match(r"include\s", text, re.IGNORECASE):
                raise source.complain("includes another file", "Put its lines here", line)
            raise source.complain(
                f"{text[place : place + 40]!r} is no Key=value", "Write SwitchName=leaf1 Nodes=n[1-8]", line
            )
        key = found[1].lower()
        if key in pairs:
            raise source.complain(f"{found[1]} is given twice", "Keep one of them", line)
        pairs[key] = found[2] if found[2] is not None else found[3]
        place = found.end()
    return pairs


def _check_keys(source: Source, line: int, kind: str, pairs: dict[str, str]) -> None:
    if kind == "ringname":
        raise source.complain(
            "describes a ring (topology/ring), which is not read here", "Give a tree or blocks", line
        )
    known = _KEYS.get(kind)
    if known is None:
        starts = ("SwitchName", "BlockName", "BlockSizes")
        hint = nearest_hint(kind, [start.lower() for start in starts])
        raise source.complain(
            f"a line starts with {kind!r}{hint}", f"Start it with one of {', '.join(starts)}", line
        )
    for key, value in pairs.items():
        if key not in known:
            shown = ", ".join(_WRITTEN[one] for one in known)
            raise source.complain(
                f"{key!r} is not a known key{nearest_hint(key, known)}", f"Known here: {shown}", line
            )
        if not value.strip():
            raise source.complain(f"{_WRITTEN[key]} is empty", "Give it a value, or leave it out", line)


def _parse_speed(source: Source, line: int, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        speed = float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else None
    except ValueError:
        speed = None
    if speed is None:
        raise source.complain(f"LinkSpeed is {text!r}", "Give Gbps as a number, as in LinkSpeed=400", line)
    with source.complaining(line):
        check_at_least_zero("LinkSpeed", speed)
    return speed
