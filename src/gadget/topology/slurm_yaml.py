"""Slurm's topology.yaml: a list of topologies, each a tree or blocks; the default one is read."""

import re

from gadget.model.names import nearest_hint
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions
from gadget.topology.slurm import BlockEntry, SwitchEntry, build_slurm_blocks, build_slurm_tree
from gadget.topology.source import Part, Source

FORMAT = "slurm-yaml"
_SIGN = re.compile(r"""^\s*-?\s*[{]?\s*["']?topology["']?\s*:""", re.MULTILINE)
_KINDS = re.compile(r"""\b["']?(tree|block|flat|ring|torus3d)["']?\s*:""")
_READ = ("tree", "block")
_KNOWN = ("topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d")
_TRUE = (True, "True", "true")


def recognise(source: Source) -> bool:
    """True for a file with a topology and its kind."""
    return _SIGN.search(source.text) is not None and _KINDS.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:
    """The topology that the options name, else the cluster's default, else the first."""
    documents = source.documents
    if len(documents) != 1:
        raise source.complain("holds several documents", "Keep one; a topology.yaml is one list")
    found = list(documents[0].items())
    by_name: dict[str, Part] = {}
    for part in found:
        name = part.need("topology").text()
        _check_keys(part, _KNOWN)
        if name in by_name:
            raise part.complain(f"is a second topology named {name!r}", "Rename one of them")
        by_name[name] = part
    if not by_name:
        raise source.complain("lists no topologies", "Describe one")
    name = _choose(source, by_name, options.topology)
    topology = _build(by_name[name], options)
    others = [other for other in by_name if other != name]
    if not others:
        return topology
    remark = f"topology {name!r} is read; the file has {', '.join(map(repr, others))} too (--topology)"
    return Topology(
        topology.hosts,
        topology.switches,
        topology.cables,
        topology.levels,
        format=FORMAT,
        remarks=(remark, *topology.remarks),
    )


def _choose(source: Source, by_name: dict[str, Part], wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in by_name:
            hint = nearest_hint(wanted, by_name)
            raise source.complain(f"has no topology {wanted!r}{hint}", f"It has {', '.join(by_name)}")
        return wanted
    for name, part in by_name.items():
        default = part.get("cluster_default")
        if default is not None and default.value in _TRUE:
            return name
    return next(iter(by_name))


def _build(part: Part, options: ReadOptions) -> Topology:
    kinds = [key for key in _KNOWN[2:] if part.get(key) is not None]
    if len(kinds) != 1 or kinds[0] not in _READ:
        shown = " and ".join(kinds) or "nothing"
        raise part.complain(f"describes {shown}", "Only a tree or a block can be read: give one of them")
    if kinds[0] == "tree":
        switches = [_read_switch(entry) for entry in part.need("tree", "switches").items()]
        return build_slurm_tree(part.source, FORMAT, switches, options.join)
    blocks = [_read_block(entry) for entry in part.need("block", "blocks").items()]
    return build_slurm_blocks(part.source, FORMAT, blocks, options.join)


def _read_switch(entry: Part) -> SwitchEntry:
    _check_keys(entry, ("switch", "children", "nodes"))
    return SwitchEntry(
        entry.need("switch").text(),
        entry.place,
        _hostlist(entry.get("children")),
        _hostlist(entry.get("nodes")),
    )


def _read_block(entry: Part) -> BlockEntry:
    _check_keys(entry, ("block", "nodes"))
    return BlockEntry(entry.need("block").text(), entry.place, _hostlist(entry.get("nodes")))


def _check_keys(entry: Part, known: tuple[str, ...]) -> None:
    for key, value in entry.pairs():
        if key not in known:
            raise value.complain(
                f"is not a known key{nearest_hint(key, known)}", f"Known here: {', '.join(known)}"
            )


def _hostlist(part: Part | None) -> str | None:
    """A hostlist, or a list of them."""
    if part is None:
        return None
    if isinstance(part.value, list):
        return ",".join(item.text() for item in part.items())
    return part.text()
