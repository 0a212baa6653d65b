"""NVIDIA Topograph's JSON: instances with the switches above each, the closest first."""

import re

from gadget.topology.draft import MADE_UP, Draft
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions
from gadget.topology.source import Part, Source

FORMAT = "topograph"
_SIGN = re.compile(r"""["']?instances["']?\s*:""")


def recognise(source: Source) -> bool:
    """True for a file with instances and their network layers."""
    return _SIGN.search(source.text) is not None and "network_layers" in source.text


def read(source: Source, options: ReadOptions) -> Topology:
    """The tree that the layers of the instances tell. NVLink domains (`attributes`) are no switches here."""
    if len(source.documents) != 1:
        raise source.complain("holds several documents", "Keep one")
    draft = Draft(source)
    above: dict[str, tuple[str | None, int]] = {}
    for instance in source.documents[0].need("instances").items():
        name = instance.need("id").text()
        draft.add_host(name, instance.place)
        layers = [layer.text() for layer in instance.need("network_layers").items()]
        if not layers:
            raise instance.complain(
                f"(instance {name!r}) has no network_layers", "Name the switches above it"
            )
        _hang(draft, instance, [name, *layers], above)
    return draft.finish(FORMAT, join=options.join or MADE_UP, rooted=True)


def _hang(draft: Draft, instance: Part, path: list[str], above: dict[str, tuple[str | None, int]]) -> None:
    """Hang an instance from its first layer, and each layer that is new from the next."""
    is_new = True
    for tier in range(1, len(path)):
        child, switch = path[tier - 1], path[tier]
        hangs = is_new
        parent = path[tier + 1] if tier + 1 < len(path) else None
        is_new = switch not in above
        if is_new:
            above[switch] = (parent, tier)
            draft.add_switch(switch, instance.place, tier)
        else:
            _check_same(instance, switch, above[switch], (parent, tier))
        if hangs:
            draft.hang(child, switch, instance.place)


def _check_same(
    instance: Part, switch: str, before: tuple[str | None, int], now: tuple[str | None, int]
) -> None:
    if before[1] != now[1]:
        raise instance.complain(
            f"has switch {switch!r} in layer {now[1]}, an instance before in layer {before[1]}",
            "Correct network_layers; the closest switch stands first",
        )
    if before[0] != now[0]:
        shown = [repr(one) if one is not None else "nothing" for one in (now[0], before[0])]
        raise instance.complain(
            f"has {shown[0]} above switch {switch!r}, an instance before has {shown[1]}",
            "Correct network_layers; a switch has one above it",
        )
