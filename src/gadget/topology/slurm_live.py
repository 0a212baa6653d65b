"""A running Slurm's network: what `scontrol show topology` prints, with the nodes' resources put in."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gadget.model.cluster import Cluster
from gadget.model.resources import Resources
from gadget.topology.assumptions import Assumptions, build_cluster, fill_in
from gadget.topology.draft import MADE_UP
from gadget.topology.hostlist import expand_hostlist, fold_hostlist
from gadget.topology.options import ReadOptions
from gadget.topology.slurm_conf import read
from gadget.topology.source import Source

_PAIR = re.compile(r"(\w+)=(\S+)")
# What Slurm prints for a LinkSpeed that nobody has told.
_NO_SPEED = "1"


def build_slurm_cluster(servers: Mapping[str, Resources], told: str, assumptions: Assumptions) -> Cluster:
    """The cluster of these servers under Slurm's switches; those that hang from none get one made up."""
    text = _write_conf(servers, told)
    topology = read(Source(Path("scontrol show topology"), text.encode()), ReadOptions(join=MADE_UP))
    hosts = tuple(replace(host, resources=servers[host.name]) for host in topology.hosts)
    return build_cluster(fill_in(replace(topology, hosts=hosts), assumptions))


def _write_conf(servers: Mapping[str, Resources], told: str) -> str:
    """What is printed as a topology.conf: without levels, and nodes under the switches next to them only."""
    lines: list[str] = []
    seen: dict[str, None] = {}
    for found in map(dict, map(_PAIR.findall, told.splitlines())):
        if "SwitchName" not in found:
            continue
        words = [f"SwitchName={found['SwitchName']}"]
        if "Switches" in found:
            words.append(f"Switches={found['Switches']}")
        elif nodes := [node for node in expand_hostlist(found.get("Nodes", "none")) if node in servers]:
            words.append(f"Nodes={fold_hostlist(nodes)}")
            seen.update(dict.fromkeys(nodes))
        if found.get("LinkSpeed", _NO_SPEED) != _NO_SPEED:
            words.append(f"LinkSpeed={found['LinkSpeed']}")
        lines.append(" ".join(words))
    if rest := [name for name in servers if name not in seen]:
        name = "slurm"
        while f"SwitchName={name}" in {line.split()[0] for line in lines}:
            name += "+"
        lines.append(f"SwitchName={name} Nodes={fold_hostlist(rest)}")
    return "\n".join(lines) + "\n"
