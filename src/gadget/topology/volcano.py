"""Volcano's HyperNodes: performance domains in tiers, whose members are nodes or HyperNodes below."""

import re
from collections.abc import Iterable, Iterator, Mapping

from gadget.errors import InvalidValue
from gadget.model.names import nearest_hint
from gadget.model.yaml_text import format_yaml
from gadget.topology.draft import MADE_UP, Draft
from gadget.topology.network import NOTHING_KNOWN, Topology
from gadget.topology.objects import Node, iterate_objects, read_nodes
from gadget.topology.options import ReadOptions
from gadget.topology.rooted import Written, find_rooted, mention
from gadget.topology.source import Part, Source, read_source

FORMAT = "volcano"
_API = "topology.volcano.sh/v1alpha1"
_SIGN = re.compile(r"""["']?kind["']?\s*:\s*["']?HyperNode(List)?\b""")
# What Kubernetes takes as a name.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_MATCHES = ("exactMatch", "regexMatch", "labelMatch")


def recognise(source: Source) -> bool:
    """True for a file with an object of kind HyperNode."""
    return _SIGN.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:
    """The tree of HyperNodes; patterns and labels choose from the nodes of this file or of the options."""
    found = [part for part in iterate_objects(source) if part.need("kind").text() == "HyperNode"]
    if not found:
        raise source.complain("describes no HyperNodes", "Give what `kubectl get hypernodes -o yaml` prints")
    nodes = {node.name: node for node in _list_nodes(source, options)}
    draft = Draft(source)
    tiers: dict[str, int] = {}
    for part in found:
        name = part.need("metadata", "name").text()
        tiers[name] = part.need("spec", "tier").whole(1)
        draft.add_switch(name, part.place, tiers[name])
    for part in found:
        name = part.need("metadata", "name").text()
        for member, chosen in _choose_members(part, nodes, tiers):
            is_node = member.need("type").text() == "Node"
            if is_node and not draft.has_host(chosen):
                resources = nodes[chosen].resources if chosen in nodes else NOTHING_KNOWN
                draft.add_host(chosen, member.place, resources)
            elif not is_node and tiers[chosen] >= tiers[name]:
                raise member.complain(
                    f"puts {chosen!r} of tier {tiers[chosen]} below {name!r} of tier {tiers[name]}",
                    "Give the upper one the higher tier",
                )
            draft.hang(chosen, name, member.place)
    if left := [name for name in nodes if not draft.has_host(name)]:
        draft.remarks.append(f"nodes in no HyperNode are left out: {mention(left)}")
    return draft.finish(FORMAT, join=options.join or MADE_UP, levels=_name_levels(found), rooted=True)


def write(topology: Topology) -> Written:
    """HyperNodes of a tree, one document each. They hold no bandwidths and no resources."""
    tree = find_rooted(topology, "a file of HyperNodes")
    for host in topology.hosts:
        if not _NAME.fullmatch(host.name):
            raise InvalidValue(
                "",
                f"server {host.name!r} cannot be the name of a Kubernetes node",
                "Use small letters, digits, '-' and '.'",
            )
    names = _rename(tree.switches)
    documents = []
    for switch in topology.switches:
        spec: dict[str, object] = {"tier": switch.tier}
        if level := topology.levels.get(switch.tier):
            spec["tierName"] = level
        spec["members"] = [
            {
                "type": "Node" if tree.is_host(child) else "HyperNode",
                "selector": {"exactMatch": {"name": names.get(child, child)}},
            }
            for child in tree.below[switch.name]
        ]
        metadata = {"name": names[switch.name]}
        documents.append({"apiVersion": _API, "kind": "HyperNode", "metadata": metadata, "spec": spec})
    lost = []
    if renamed := [switch for switch, name in names.items() if name != switch]:
        lost.append(f"names of switches that Kubernetes does not take, made smaller: {mention(renamed)}")
    if any(cable.gbps is not None for cable in topology.cables):
        lost.append("bandwidths: a HyperNode has none")
    if tree.names_resources:
        lost.append("resources: nodes tell their own")
    return Written("---\n".join(map(format_yaml, documents)), tuple(lost))


def _rename(switches: Iterable[str]) -> dict[str, str]:
    """Names that Kubernetes takes: those that are none, in small letters and with '-' for what is left."""
    names: dict[str, str] = {}
    for switch in switches:
        name = switch
        if not _NAME.fullmatch(switch):
            name = re.sub(r"[^a-z0-9.]+", "-", switch.lower()).strip("-.")
        if not _NAME.fullmatch(name) or name in names.values():
            raise InvalidValue(
                "",
                f"switch {switch!r} has no name that Kubernetes takes and no other switch has",
                "Rename it",
            )
        names[switch] = name
    return names


def _list_nodes(source: Source, options: ReadOptions) -> list[Node]:
    nodes = read_nodes(source)
    if options.nodes is None:
        return nodes
    return [*nodes, *read_nodes(read_source(options.nodes))]


def _choose_members(
    part: Part, nodes: Mapping[str, Node], tiers: Mapping[str, int]
) -> Iterator[tuple[Part, str]]:
    """Each member of a HyperNode with every name that it chooses; a name once in all."""
    members = part.find("spec", "members")
    seen: set[str] = set()
    for member in members.items() if members is not None else ():
        kind = member.need("type").text()
        if kind not in ("Node", "HyperNode"):
            raise member.complain(f"is of type {kind!r}", "Choose Node or HyperNode")
        selector = member.need("selector")
        given = [match for match in _MATCHES if selector.get(match) is not None]
        if len(given) != 1:
            shown = " and ".join(given) or "nothing"
            raise selector.complain(f"has {shown}", f"Give one of {', '.join(_MATCHES)}")
        known = nodes if kind == "Node" else tiers
        for name in _choose(member, selector.need(given[0]), given[0], known, nodes):
            if name not in seen:
                seen.add(name)
                yield member, name


def _choose(
    member: Part, rule: Part, match: str, known: Mapping[str, object], nodes: Mapping[str, Node]
) -> list[str]:
    is_node = known is nodes
    if match == "exactMatch":
        name = rule.need("name").text()
        if name not in known and (known or not is_node):
            kind = "node" if is_node else "HyperNode"
            raise rule.complain(
                f"names {name!r}, which is no {kind}{nearest_hint(name, known)}", "Correct the name"
            )
        return [name]
    if match == "labelMatch" and not is_node:
        raise rule.complain("chooses HyperNodes by label, which Volcano does not", "Name them")
    if is_node and not nodes:
        raise rule.complain(
            "chooses from nodes that this file does not name",
            "Give them: --nodes FILE with what `kubectl get nodes -o json` prints",
        )
    if match == "regexMatch":
        pattern = rule.need("pattern")
        try:
            chosen = [name for name in known if re.search(pattern.text(), name)]
        except re.error as error:
            raise pattern.complain(f"is no pattern: {error}", "Correct it") from None
    else:
        chosen = [name for name, node in nodes.items() if _fits(rule, node.labels)]
    if not chosen:
        raise member.complain("chooses nothing", "Correct the selector, or leave the member out")
    return chosen


def _fits(rule: Part, labels: Mapping[str, str]) -> bool:
    """What a Kubernetes label selector says of a node's labels."""
    wanted = rule.get("matchLabels")
    if wanted is not None and any(labels.get(key) != value.text() for key, value in wanted.pairs()):
        return False
    expressions = rule.get("matchExpressions")
    return all(_holds(one, labels) for one in expressions.items()) if expressions is not None else True


def _holds(expression: Part, labels: Mapping[str, str]) -> bool:
    key, operator = expression.need("key").text(), expression.need("operator").text()
    values = expression.get("values")
    listed = [value.text() for value in values.items()] if values is not None else []
    match operator:
        case "In":
            return labels.get(key) in listed
        case "NotIn":
            return labels.get(key) not in listed
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise expression.complain(f"has the operator {operator!r}", "Choose In, NotIn, Exists or DoesNotExist")


def _name_levels(found: list[Part]) -> dict[int, str]:
    """The tierName of each tier, where all its HyperNodes that have one agree."""
    names: dict[int, set[str]] = {}
    for part in found:
        if name := part.find("spec", "tierName"):
            names.setdefault(part.need("spec", "tier").whole(1), set()).add(name.text())
    return {tier: given.pop() for tier, given in sorted(names.items()) if len(given) == 1}
