import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from gadget.errors import BadFile, BadOption
from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.report.layout import find_layout
from gadget.report.picture import FREE, LINE, MOST_RINGS, OVERFULL, STRONG, build_figure, draw_cluster
from tests.unit.report.small import CLUSTERS, make_crowd, make_job, make_rings

LEAF_SPINE = CLUSTERS["leaf-spine"]
ODD_NAMES = ["$x_1^{", "[red]x", "名前-𝕏", "🦊 fox", '<&">', "a" * 300, "\\frac", "مرحبا", "%s{0}"]


def collection(figure: Figure, label: str) -> Collection:
    return next(found for found in figure.axes[0].collections if found.get_label() == label)


def colours_on(figure: Figure, cluster: Cluster, server: str) -> Counter[str]:
    """Area of each colour on a server, in cells."""
    layout = find_layout(cluster)
    box = layout.boxes[server]
    cells = collection(figure, "cells")
    found: Counter[str] = Counter()
    for path, colour in zip(cells.get_paths(), cells.get_facecolor(), strict=True):
        (left, bottom), (right, top) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        if (
            abs((left + right) / 2 - box.x) < box.width / 2
            and abs((top + bottom) / 2 - box.y) < box.height / 2
        ):
            found[to_hex(colour).upper()] += round((right - left) / (0.86 * layout.cell), 3)
    return found


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_cluster_can_be_drawn(name: str, tmp_path: Path) -> None:
    draw_cluster(CLUSTERS[name], tmp_path / "bare.svg")
    ET.parse(tmp_path / "bare.svg")


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<?xml"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")])
def test_the_same_bytes_twice(suffix: str, magic: bytes, tmp_path: Path) -> None:
    allocation, jobs = make_rings()
    for name in ("a", "b"):
        draw_cluster(LEAF_SPINE, tmp_path / (name + suffix), allocation=allocation, jobs=jobs, title="slot 3")
    first = (tmp_path / f"a{suffix}").read_bytes()
    assert first.startswith(magic)
    assert first == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["x.gif", "x", "x.svgz"])
def test_other_kinds_of_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"Use \.svg, \.png or \.pdf"):
        draw_cluster(LEAF_SPINE, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        draw_cluster(LEAF_SPINE, tmp_path / "missing" / "x.svg")


def test_nothing_global_changes(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    draw_cluster(LEAF_SPINE, tmp_path / "x.svg")
    assert dict(matplotlib.rcParams) == before


def test_cells_have_the_colours_of_the_jobs_that_hold_them() -> None:
    allocation, jobs = make_rings()
    figure = build_figure(LEAF_SPINE, allocation=allocation, jobs=jobs)
    wide, near, fat = STRONG[0], STRONG[1], STRONG[2]  # by size: three workers, two, one
    assert colours_on(figure, LEAF_SPINE, "s0-0") == {wide: 2, fat: 3, FREE: 3}
    assert colours_on(figure, LEAF_SPINE, "s1-0") == {wide: 1, FREE: 7}
    assert colours_on(figure, LEAF_SPINE, "s2-1") == {near: 1, FREE: 7}
    assert colours_on(figure, LEAF_SPINE, "s3-3") == {FREE: 8}


def test_parts_of_a_gpu_fill_parts_of_a_cell() -> None:
    half = make_job("half", resources=Resources({"gpu": 0.5}))
    allocation = Allocation((Ring("half", ("s0-0",) * 3, (("s0-0",),) * 3),))
    figure = build_figure(LEAF_SPINE, allocation=allocation, jobs=[half])
    found = colours_on(figure, LEAF_SPINE, "s0-0")
    assert found[STRONG[0]] == pytest.approx(1.5, abs=0.01)
    assert found[FREE] == pytest.approx(6.5, abs=0.01)


def test_without_jobs_a_worker_takes_one_cell() -> None:
    figure = build_figure(LEAF_SPINE, allocation=make_rings()[0])
    assert colours_on(figure, LEAF_SPINE, "s0-0")[STRONG[2]] == 1


def test_large_servers_show_their_number() -> None:
    figure = build_figure(CLUSTERS["one"])
    assert "64" in [text.get_text() for text in figure.axes[0].texts]


def test_an_overfull_server_stands_out() -> None:
    allocation = Allocation((Ring("j", ("s0-0",) * 9, (("s0-0",),) * 9),))
    figure = build_figure(LEAF_SPINE, allocation=allocation, jobs=[make_job("j")])
    edges = [to_hex(edge) for edge in collection(figure, "servers").get_edgecolor()]
    assert edges.count(OVERFULL) == 1
    assert colours_on(figure, LEAF_SPINE, "s0-0") == {STRONG[0]: 8}


def test_a_ring_is_drawn_on_each_link_it_crosses() -> None:
    allocation, jobs = make_rings()
    rings = collection(build_figure(LEAF_SPINE, allocation=allocation, jobs=jobs), "rings")
    drawn = Counter(to_hex(colour).upper() for colour in rings.get_edgecolor())
    assert drawn == {STRONG[0]: 4, STRONG[1]: 2}


def test_rings_over_one_link_lie_side_by_side() -> None:
    allocation, jobs = make_crowd(8)
    rings = collection(build_figure(LEAF_SPINE, allocation=allocation, jobs=jobs), "rings")
    lines = {tuple(np.round(path.vertices, 6).ravel()) for path in rings.get_paths()}
    assert len(lines) == len(rings.get_paths()) == 8 * 4


def test_too_many_rings_become_heat() -> None:
    allocation, jobs = make_crowd(MOST_RINGS + 1)  # 26 × 5 = 130 Gbps on links of 100 and of 400
    figure = build_figure(LEAF_SPINE, allocation=allocation, jobs=jobs)
    assert not [c for c in figure.axes[0].collections if c.get_label() == "rings"]
    colours = Counter(to_hex(colour) for colour in collection(figure, "links").get_edgecolor())
    assert colours[OVERFULL] == 2
    assert colours[LINE.lower()] == len(LEAF_SPINE.links) - 4


def test_rings_of_unknown_nodes_do_no_harm(tmp_path: Path) -> None:
    ring = Ring("ghost", ("nowhere", "s0-0"), (("nowhere", "void", "s0-0"), ("s0-0",)))
    draw_cluster(LEAF_SPINE, tmp_path / "x.svg", allocation=Allocation((ring,)), jobs=[make_job("ghost")])


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_are_written_as_they_are(name: str, suffix: str, tmp_path: Path) -> None:
    server = Server(name, Resources({name: 2}))
    cluster = Cluster((server,), (name + "-switch",), (Link((name, name + "-switch"), 10),))
    job = make_job(name, resources=Resources({name: 1}))
    allocation = Allocation((Ring(name, (name,), ()),))
    target = tmp_path / f"x.{suffix}"
    draw_cluster(cluster, target, allocation=allocation, jobs=[job], title=name)
    if suffix == "svg":
        assert name in [element.text for element in ET.parse(target).iter()]


def test_a_thousand_servers_are_drawn_in_seconds(tmp_path: Path) -> None:
    cluster = build_leaf_spine(40, 1, 32)
    rings = tuple(
        Ring(
            f"j{n}",
            (f"s{n}-0", f"s{n}-1"),
            ((f"s{n}-0", f"leaf{n}", f"s{n}-1"), (f"s{n}-1", f"leaf{n}", f"s{n}-0")),
        )
        for n in range(40)
    )
    jobs = [make_job(ring.job, resources=Resources({"gpu": 4})) for ring in rings]
    begun = time.perf_counter()
    draw_cluster(cluster, tmp_path / "x.svg", allocation=Allocation(rings), jobs=jobs)
    assert time.perf_counter() - begun < 10
    assert (tmp_path / "x.svg").stat().st_size < 3_000_000
    figure = build_figure(cluster, allocation=Allocation(rings), jobs=jobs)
    shades = Counter(to_hex(colour) for colour in collection(figure, "cells").get_facecolor())
    assert shades[FREE.lower()] == 1280 - 80
    assert "3%" in [text.get_text() for text in figure.axes[0].texts]  # 8 of 256 GPUs of each rack


@pytest.mark.parametrize("name", ["paper", "fat-tree-4", "leaf-spine", "torus"])
def test_labels_do_not_overlap(name: str) -> None:
    allocation, jobs = make_rings()
    figure = build_figure(CLUSTERS[name], allocation=allocation, jobs=jobs, title="slot 3")
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    page = figure.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes)
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])
