import math
from itertools import combinations

import pytest

from gadget.model.cluster import Cluster
from gadget.report.layout import WIDTH, cell_grid, find_layout, find_tiers, is_tiered, short_name
from tests.unit.report.small import CLUSTERS, make_core_server

EVERY = pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)


@EVERY
def test_every_node_has_a_place_of_its_own(cluster: Cluster) -> None:
    boxes = find_layout(cluster).boxes
    assert boxes.keys() == set(cluster.nodes)
    assert len({box[:2] for box in boxes.values()}) == len(boxes)
    assert all(math.isfinite(number) for box in boxes.values() for number in box)


@EVERY
def test_the_same_layout_twice(cluster: Cluster) -> None:
    assert find_layout(cluster) == find_layout(cluster)


@EVERY
def test_no_picture_is_wider_than_a_page(cluster: Cluster) -> None:
    boxes = find_layout(cluster).boxes.values()
    assert max((b.x for b in boxes), default=0) - min((b.x for b in boxes), default=0) <= WIDTH + 1


@EVERY
def test_small_boxes_do_not_overlap(cluster: Cluster) -> None:
    boxes = list(find_layout(cluster).boxes.values())
    for a, b in combinations(boxes[:250], 2):
        apart_x = abs(a.x - b.x) - (a.width + b.width) / 2
        apart_y = abs(a.y - b.y) - (a.height + b.height) / 2
        assert max(apart_x, apart_y) > -1e-9 or len(boxes) > 400


@EVERY
def test_every_link_has_a_line_unless_its_server_is_a_dot(cluster: Cluster) -> None:
    layout = find_layout(cluster)
    left_out = {link.ends for link in cluster.links} - layout.paths.keys()
    assert all(cluster.server_by_name.keys() & set(ends) for ends in left_out)
    assert not left_out or (not layout.detailed and is_tiered(cluster))


@EVERY
def test_switches_stand_above_servers_and_above_what_hangs_from_them(cluster: Cluster) -> None:
    if not is_tiered(cluster):
        return
    boxes, tiers = find_layout(cluster).boxes, find_tiers(cluster)
    for link in cluster.links:
        low, high = sorted(link.ends, key=tiers.__getitem__)
        assert boxes[low].y < boxes[high].y or tiers[low] == tiers[high]


def test_tiers_are_hops_from_the_servers() -> None:
    tiers = find_tiers(CLUSTERS["fat-tree-4"])
    assert [tiers[n] for n in ("s0-0-0", "pod0-edge0", "pod0-agg0", "core0-0")] == [0, 1, 2, 3]


def test_in_a_tree_a_core_with_a_server_of_its_own_stays_above_the_racks() -> None:
    tiers = find_tiers(make_core_server())
    assert (tiers["s4"], tiers["rack0"], tiers["core"]) == (0, 1, 2)


def test_a_tree_is_drawn_without_crossings() -> None:
    cluster = CLUSTERS["paper"]
    layout = find_layout(cluster)
    racks = sorted((layout.boxes[name].x, name) for name in cluster.switches if name.startswith("rack"))
    blocks = sorted((block.left, block.switches) for block in layout.blocks)
    assert [(name,) for _, name in racks] == [switches for _, switches in blocks]


def test_four_servers_in_a_ring_make_a_square() -> None:
    boxes = find_layout(CLUSTERS["ring4"]).boxes
    corners = {name: (round(box.x, 6), round(box.y, 6)) for name, box in boxes.items()}
    assert corners["s1"][1] == corners["s2"][1] > corners["s3"][1] == corners["s4"][1]
    assert corners["s1"][0] == corners["s3"][0] < corners["s2"][0] == corners["s4"][0]
    assert math.isclose(boxes["s2"].x - boxes["s1"].x, boxes["s1"].y - boxes["s3"].y)


def test_a_torus_is_a_grid_by_its_names() -> None:
    boxes = find_layout(CLUSTERS["torus"]).boxes
    assert len({round(box.x, 6) for box in boxes.values()}) == 4
    assert len({round(box.y, 6) for box in boxes.values()}) == 4


@pytest.mark.parametrize(
    ("cells", "grid"), [(0, (1, 1)), (1, (1, 1)), (8, (2, 4)), (16, (4, 4)), (99, (4, 4))]
)
def test_cells_of_a_server(cells: int, grid: tuple[int, int]) -> None:
    assert cell_grid(cells) == grid


def test_long_names_keep_their_tails() -> None:
    assert short_name("gpu-node-00017", 9) == "…de-00017"
    assert len(short_name("gpu-node-00017", 9)) == 9
