"""Alibaba's Lingjun topo.csv (2023): for each host the access, pod and data-centre switch above it.

The names of access switches recur under several pod switches, so a switch is known by both. A host with
several rows has several uplinks, and a pod switch may stand under several data-centre switches: any graph.
"""

import csv
import io
from typing import TYPE_CHECKING

from gadget.topology.draft import Draft
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions
from gadget.topology.source import Source

if TYPE_CHECKING:
    import _csv

FORMAT = "lingjun"
_COLUMNS = ("ip", "dsw", "psw", "asw")
_LEVELS = {1: "asw", 2: "psw", 3: "dsw"}


def recognise(source: Source) -> bool:
    """True for a header with these columns."""
    header = source.text.lstrip().partition("\n")[0]
    return {*_COLUMNS} <= {name.strip().strip('"').lower() for name in header.split(",")}


def read(source: Source, options: ReadOptions) -> Topology:
    """Hosts, access, pod and data-centre switches as the rows join them."""
    rows = csv.reader(io.StringIO(source.text))
    try:
        return _read_rows(source, rows, options)
    except csv.Error as error:
        raise source.complain(f"is not CSV: {error}", "Mend the row", rows.line_num) from None


def _read_rows(source: Source, rows: "_csv.Reader", options: ReadOptions) -> Topology:
    header = next((row for row in rows if any(row)), [])
    names = [name.strip().lower() for name in header]
    if missing := [name for name in _COLUMNS if name not in names]:
        raise source.complain(f"has no column {missing[0]!r}", f"Give {', '.join(_COLUMNS)}", rows.line_num)
    places = [names.index(name) for name in _COLUMNS]
    draft = Draft(source)
    switches: dict[str, tuple[str, ...]] = {}
    seen: dict[tuple[str, ...], int] = {}
    joined: set[tuple[str, str]] = set()
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        line = rows.line_num
        if len(row) != len(header):
            raise source.complain(f"has {len(row)} cells, the header {len(header)}", "Mend the row", line)
        cells = tuple(row[place].strip() for place in places)
        if not all(cells):
            raise source.complain(f"{_COLUMNS[cells.index('')]} is empty", "Fill it in", line)
        if (first := seen.setdefault(cells, line)) != line:
            raise source.complain(f"is the row of line {first} again", "Leave out one of them", line)
        host, dsw, psw, asw = cells
        access = f"{psw}-{asw}"
        for tier, (name, key) in enumerate(((access, (psw, asw)), (psw, (psw,)), (dsw, (dsw,))), 1):
            if name not in switches:
                switches[name] = (str(tier), *key)
                draft.add_switch(name, line, tier)
            elif switches[name] != (str(tier), *key):
                raise source.complain(f"{name!r} would name two switches", "Rename one of them", line)
        if not draft.has_host(host):
            draft.add_host(host, line)
        for pair in ((host, access), (access, psw), (psw, dsw)):
            if pair not in joined:
                joined.add(pair)
                draft.add_cable(*pair)
    return draft.finish(FORMAT, join=options.join, levels=_LEVELS)
