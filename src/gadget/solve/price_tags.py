"""Prices of classes on every server and link, for people and for the next slot; and back."""

import numpy as np

from gadget.model.prices import Prices
from gadget.model.snapshot import Snapshot
from gadget.solve.classes import Classes
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.market import Floats
from gadget.solve.relaxed import ClassPrices


def spread_prices(hierarchy: Hierarchy, classes: Classes, prices: ClassPrices) -> tuple[Floats, Floats]:
    """Prices of classes on every server, (servers × resources), and on every undirected link.

    A link that lies in several cuts has the mean of their prices.
    """
    unit = prices.unit[classes.class_of[hierarchy.node_of_server]]
    owner = np.repeat(np.arange(len(hierarchy.gbps)), np.diff(hierarchy.cut_start))
    links = int(hierarchy.links)
    total, count = np.zeros(links), np.zeros(links)
    np.add.at(total, hierarchy.cut_links // 2, prices.edge[classes.class_of[owner]])
    np.add.at(count, hierarchy.cut_links // 2, 1)
    return unit, total / np.maximum(count, 1)


def write_prices(snapshot: Snapshot, hierarchy: Hierarchy, classes: Classes, prices: ClassPrices) -> Prices:
    """Prices for people, and for the next slot; each direction of a link has half."""
    unit, link = spread_prices(hierarchy, classes, prices)
    return Prices(snapshot.cluster, unit, np.repeat(link / 2, 2))


def read_prices(snapshot: Snapshot, hierarchy: Hierarchy, classes: Classes) -> ClassPrices | None:
    """The prices of the slot before as means over classes; None if there are none for this cluster."""
    prices = snapshot.prices
    if prices is None or prices.cluster is not snapshot.cluster or not prices.resources.any():
        return None
    # A bound needs prices that are none below 0.
    if not all(np.isfinite(some).all() and (some >= 0).all() for some in (prices.resources, prices.links)):
        return None
    class_of, count = classes.class_of, len(classes.width)
    unit = np.zeros((count, prices.resources.shape[1]))
    np.add.at(unit, class_of[hierarchy.node_of_server], prices.resources)
    owner = np.repeat(np.arange(len(hierarchy.gbps)), np.diff(hierarchy.cut_start))
    both = prices.links[::2] + prices.links[1::2]
    edge, links = np.zeros(count), np.zeros(count)
    np.add.at(edge, class_of[owner], both[hierarchy.cut_links // 2])
    np.add.at(links, class_of[owner], 1)
    return ClassPrices(unit / classes.members[:, None], edge / np.maximum(links, 1), np.zeros(0))
