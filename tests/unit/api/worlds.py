"""A small cluster and jobs as files have them."""

import json
from typing import Any

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources

# Four servers of two GPUs in two racks.
RACKS = Cluster(
    tuple(Server(f"s{n}", Resources({"gpu": 2})) for n in range(4)),
    ("rack0", "rack1", "core"),
    (
        *(Link((f"s{n}", f"rack{n // 2}"), 10) for n in range(4)),
        Link(("rack0", "core"), 20),
        Link(("rack1", "core"), 20),
    ),
)


def job(name: str, workers: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "workers": {"min": workers, "max": workers},
        "resources": {"gpu": 1},
        "bandwidth_gbps": 1,
        "rate": 10,
        "work": 100,
        "utility": {"kind": "linear"},
        **more,
    }


def jobs(*documents: dict[str, Any]) -> bytes:
    return json.dumps({"version": 1, "jobs": documents}).encode()
