"""The output of ibnetdiscover: an InfiniBand fabric with the width and speed of every link.

A machine has several adapters, which are known to belong together by the name before theirs ("n1 mlx5_0",
"n1 HCA-1"). Parallel cables become one link with the sum. Speeds are those that links are sold with: a lane
of HDR is 50 Gbps, so that 4xHDR is 200.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from gadget.topology.draft import Draft
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions
from gadget.topology.source import Source

FORMAT = "ibnetdiscover"
_SIGN = re.compile(r'^(?:Switch|Ca|Rt)\s+[0-9]+\s+"[SHR]-[0-9a-fA-F]+"', re.MULTILINE)
_BLOCK = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+[0-9]+\s+"(?P<id>[SHR]-[0-9a-fA-F]+)"(?:\s*#\s*"(?P<name>.*?)"(?:\s.*)?)?\s*'
)
_PORT = re.compile(
    r"\[(?P<port>[0-9]+)\](?:\[ext [0-9]+\])?(?:\([0-9a-fA-F]+\))?\s*"
    r'"(?P<id>[SHR]-[0-9a-fA-F]+)"\s*\[(?P<far>[0-9]+)\](?:\[ext [0-9]+\])?\s*(?:\([0-9a-fA-F]+\))?\s*'
    r"(?:#\s*(?P<comment>.*))?"
)
_RATE = re.compile(r"\b(\d+)x([A-Z]+[0-9]*)\b(?!.*\")")
_IDS = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=|Chassis\s|Hostname:|#")
_LANE_GBPS = {
    **{"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14},
    **{"EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200},
}
# "n1 mlx5_0", "n1 HCA-1", or the name alone; what vendors write by default has more words.
_MACHINE = re.compile(r"(\S+)(?:\s+(?:HCA-?\d+|(?:mlx|qib|hfi|mthca|ib|irdma|rocep|ibp)\w*))?")
_CHASSIS = re.compile(r"(?:MF0;)?([^:;]+)(?::.*)?")
_NOBODY = ("localhost", "localhost.localdomain")
_AGGREGATION = "aggregation node"


@dataclass
class _Device:
    """A switch or adapter, and its ports: to which port of which device, at how many Gbps."""

    id: str
    line: int
    description: str
    ports: dict[int, tuple[str, int, float | None, int]] = field(default_factory=dict)


def recognise(source: Source) -> bool:
    """True for a file with the head of a switch or adapter."""
    return _SIGN.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:
    """The fabric as it is: any graph."""
    devices = _read_devices(source)
    draft = Draft(source)
    # Aggregation nodes (SHARP) sit inside switches and host nothing.
    inside = {id_ for id_, device in devices.items() if _AGGREGATION in device.description.lower()}
    names = _name_switches(devices)
    unnamed = []
    for id_, device in devices.items():
        if id_ in inside:
            continue
        if not id_.startswith("H-"):
            draft.add_switch(names[id_], device.line)
            continue
        found = _MACHINE.fullmatch(device.description)
        if found is None or found[1].lower() in _NOBODY:
            unnamed.append(id_)
            names[id_] = id_
        else:
            names[id_] = found[1]
        if not draft.has_host(names[id_]):
            draft.add_host(names[id_], device.line)
    for (id_, _), (other, _), gbps in _join_ports(source, devices):
        if {id_, other}.isdisjoint(inside) and names[id_] != names[other]:
            draft.add_cable(names[id_], names[other], gbps)
    if unnamed:
        draft.remarks.append(
            f"adapters that name no machine, each taken for one: {len(unnamed)} (first: {unnamed[0]})"
        )
    if inside:
        draft.remarks.append(f"aggregation nodes left out, which sit inside switches: {len(inside)}")
    return draft.finish(FORMAT, join=options.join)


def _read_devices(source: Source) -> dict[str, _Device]:
    devices: dict[str, _Device] = {}
    device: _Device | None = None
    for line, raw in enumerate(source.text.splitlines(), 1):
        text = raw.strip()
        if not text or _IDS.match(text):
            continue
        if head := _BLOCK.fullmatch(text):
            if head["id"] in devices:
                first = devices[head["id"]].line
                raise source.complain(
                    f"{head['id']} stands in line {first} too", "Leave out one of them", line
                )
            device = devices[head["id"]] = _Device(head["id"], line, (head["name"] or "").strip())
            continue
        port = _PORT.fullmatch(text)
        if port is None or device is None:
            what = "a port before any switch or adapter" if port else f"{text[:40]!r}"
            raise source.complain(
                f"{what} is nothing that ibnetdiscover prints", "Give its whole output", line
            )
        number = int(port["port"])
        if number in device.ports:
            raise source.complain(f"port {number} of {device.id} is given twice", "Leave out one", line)
        device.ports[number] = (port["id"], int(port["far"]), _find_gbps(port["comment"] or ""), line)
    return devices


def _find_gbps(comment: str) -> float | None:
    found = _RATE.search(comment)
    if found is None or found[2] not in _LANE_GBPS:
        return None
    return int(found[1]) * _LANE_GBPS[found[2]]


def _name_switches(devices: dict[str, _Device]) -> dict[str, str]:
    """What people call each switch, where no other is called so; else its id."""
    called = {}
    for id_, device in devices.items():
        if not id_.startswith("H-"):
            found = _CHASSIS.fullmatch(device.description)
            called[id_] = found[1].strip() if found else ""
    count = Counter(called.values())
    machines = {device.description.partition(" ")[0] for id_, device in devices.items() if id_[0] == "H"}
    return {
        id_: name if name and count[name] == 1 and name not in machines else id_
        for id_, name in called.items()
    }


_End = tuple[str, int]


def _join_ports(source: Source, devices: dict[str, _Device]) -> list[tuple[_End, _End, float | None]]:
    """Every cable once, though both of its ends tell of it; the smaller rate if they differ."""
    cables: dict[frozenset[_End], tuple[_End, _End, float | None]] = {}
    far_ends: dict[_End, tuple[_End, int]] = {}
    for id_, device in devices.items():
        for port, (other, far, gbps, line) in device.ports.items():
            if other not in devices:
                raise source.complain(
                    f"{other} is described nowhere in this file",
                    "Give the whole output of ibnetdiscover",
                    line,
                )
            near_end, far_end = (id_, port), (other, far)
            said, first = far_ends.setdefault(far_end, (near_end, line))
            if said != near_end:
                raise source.complain(
                    f"port {far} of {other} is at the end of two cables, this one and that of line {first}",
                    "Give the whole output of one run of ibnetdiscover",
                    line,
                )
            key = frozenset((near_end, far_end))
            before = cables.get(key)
            if before is not None:
                rates = [rate for rate in (before[2], gbps) if rate is not None]
                cables[key] = (*before[:2], min(rates, default=None))
            else:
                cables[key] = (near_end, far_end, gbps)
    return list(cables.values())
