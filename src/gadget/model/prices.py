"""What room is worth: prices on servers and links that one slot leaves for the next."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.cluster import Cluster

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prices:
    """Gain per unit of each resource on each server, and per Gbps in each direction of each link.

    They say what bound a decision and which room was short. A slot that starts from the prices of the slot
    before finds its own sooner; what it decides stays feasible and certified whatever they are.
    """

    cluster: Cluster
    resources: Floats
    """(servers × `cluster.resource_names`)."""
    links: Floats
    """Two for each of `cluster.links`: along its ends as named, and back."""
