"""The formats that can be read, each recognised by what a file holds, not by its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.topology import (
    ibnetdiscover,
    kubernetes,
    lingjun,
    scenario,
    slurm_conf,
    slurm_yaml,
    topograph,
    volcano,
)
from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from gadget.topology.rooted import Written
from gadget.topology.source import Source, read_source


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how it is recognised, read and, where it can be, written."""

    name: str
    title: str
    recognise: Callable[[Source], bool]
    read: Callable[[Source, ReadOptions], Topology]
    write: Callable[[Topology], Written] | None = None
    takes: frozenset[str] = frozenset()
    """The read options that mean something to it alone."""


_LEVELS, _NODES, _NAMES = (frozenset({name}) for name in ("level", "nodes", "topology"))
_ALL = (
    Format("gadget", "GADGET scenario or snapshot", scenario.recognise, scenario.read),
    Format("slurm", "Slurm topology.conf", slurm_conf.recognise, slurm_conf.read, slurm_conf.write),
    Format("ibnetdiscover", "ibnetdiscover output", ibnetdiscover.recognise, ibnetdiscover.read),
    Format("lingjun", "Alibaba Lingjun topo.csv", lingjun.recognise, lingjun.read),
    # Before kubernetes: a file of HyperNodes may list its nodes too.
    Format("volcano", "Volcano HyperNodes", volcano.recognise, volcano.read, volcano.write, _NODES),
    Format("kubernetes", "kubectl get nodes -o json", kubernetes.recognise, kubernetes.read, None, _LEVELS),
    Format("topograph", "NVIDIA Topograph JSON", topograph.recognise, topograph.read),
    Format("slurm-yaml", "Slurm topology.yaml", slurm_yaml.recognise, slurm_yaml.read, None, _NAMES),
)
FORMATS: Mapping[str, Format] = {form.name: form for form in _ALL}


def read_topology(
    path: Path | str, options: ReadOptions = DEFAULT_OPTIONS, *, form: str | None = None
) -> Topology:
    """The topology in a file of any known format; `form` names one instead of recognising it."""
    source = read_source(Path(path))
    found = find_format(source, form)
    given = {"level": options.levels, "nodes": options.nodes, "topology": options.topology}
    for name, value in given.items():
        if value and name not in found.takes:
            raise BadOption(f"--{name}: means nothing to a file of this kind ({found.title}). Leave it out.")
    return found.read(source, options)


def find_format(source: Source, form: str | None = None) -> Format:
    """The named format, or the one that the file's content shows."""
    if form is not None:
        if form not in FORMATS:
            hint = nearest_hint(form, FORMATS)
            raise BadOption(f"--format {form}: is no format{hint}. Choose one of {', '.join(FORMATS)}.")
        return FORMATS[form]
    for known in _ALL:
        if known.recognise(source):
            return known
    titles = ", ".join(known.title for known in _ALL)
    raise source.complain(f"is in no format that is known here ({titles})", "Name its format with --format")
