"""Namespaces for real: any graph connects, links are limited, and only what is ours is removed."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from gadget.backends.netns import (
    Namespaces,
    NetworkFailed,
    _run,
    list_namespaces,
    remove_namespaces,
    why_no_namespaces,
)
from gadget.model.builders import build_leaf_spine, build_ring4, build_torus
from gadget.model.cluster import Cluster

pytestmark = pytest.mark.skipif(why_no_namespaces() != "", reason=why_no_namespaces())

Make = Callable[..., Namespaces]

LISTEN = """
import socket, sys, time
with socket.create_server((sys.argv[1], 25000)) as server:
    print("up", flush=True)
    server.settimeout(20)
    peer, _ = server.accept()
    start, got = time.monotonic(), 0
    while piece := peer.recv(65536):
        got += len(piece)
    print(got, time.monotonic() - start, flush=True)
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 25000), timeout=3) as peer:
    peer.sendall(bytes(int(sys.argv[2])))
"""


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Namespaces] = []

    def build(cluster: Cluster, scale: float = 0.001) -> Namespaces:
        namespaces = Namespaces(cluster, uuid.uuid4().hex, scale=scale)
        made.append(namespaces)
        namespaces.make()
        return namespaces

    yield build
    for namespaces in made:
        namespaces.remove()


def transfer(namespaces: Namespaces, source: str, target: str, count: int) -> float | None:
    """Seconds that the bytes took; None if no connection came about."""
    address = namespaces.address(target)
    with subprocess.Popen(
        [*namespaces.enter(target), sys.executable, "-c", LISTEN, address], stdout=subprocess.PIPE, text=True
    ) as listener:
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "up\n"
            words = [*namespaces.enter(source), sys.executable, "-c", SEND, address, str(count)]
            if subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode:
                return None
            got, seconds = listener.stdout.readline().split()
            assert int(got) == count
            return float(seconds)
        finally:
            listener.kill()


@pytest.mark.parametrize("cluster", [build_leaf_spine(2, 2, 2), build_ring4(), build_torus((3, 3))])
def test_any_graph_connects_its_servers(make: Make, cluster: Cluster) -> None:
    namespaces = make(cluster)
    assert namespaces.is_made()
    assert transfer(namespaces, cluster.servers[0].name, cluster.servers[-1].name, 10) is not None
    assert transfer(namespaces, cluster.servers[1].name, cluster.servers[1].name, 10) is not None


def test_links_carry_what_they_should_and_no_more(make: Make) -> None:
    namespaces = make(build_leaf_spine(1, 1, 2, server_gbps=100))
    seconds = transfer(namespaces, "s0-0", "s0-1", 5_000_000)
    assert seconds is not None
    # 40 Mbit at 100 Mbit/s, less what the bucket held, more for headers and a busy machine.
    assert 0.39 <= seconds <= 20.0


def test_a_server_whose_links_are_down_is_away_until_they_are_up(make: Make) -> None:
    namespaces = make(build_ring4())
    namespaces.set_links("s4", up=False)
    assert transfer(namespaces, "s1", "s4", 10) is None
    namespaces.set_links("s4", up=True)
    # The kernel tells the other end of a cable about it within a second or so.
    deadline = time.monotonic() + 20
    while transfer(namespaces, "s1", "s4", 10) is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert transfer(namespaces, "s4", "s1", 10) is not None


def test_eight_servers_are_made_in_no_time_to_speak_of(make: Make) -> None:
    start = time.monotonic()
    make(build_leaf_spine(2, 1, 4))
    assert time.monotonic() - start < 20  # a busy machine is slow; it takes 0.2 s otherwise


def test_only_what_is_ours_is_removed(make: Make) -> None:
    ours, theirs = make(build_ring4()), make(build_ring4())
    ours.remove()
    assert not ours.is_made()
    assert list_namespaces(ours.instance) == []
    assert theirs.is_made()
    remove_namespaces(theirs.instance)
    assert list_namespaces(theirs.instance) == []


def test_what_is_half_there_is_made_whole(make: Make) -> None:
    namespaces = make(build_ring4())
    subprocess.run(["ip", "netns", "delete", namespaces.plan.nodes["s2"].namespace], check=True)
    assert not namespaces.is_made()
    namespaces.make()
    assert transfer(namespaces, "s1", "s2", 10) is not None


def test_a_call_that_fails_or_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetworkFailed, match="Cannot open network namespace"):
        _run(("ip", "-n", "gadget-no-such", "link"))
    monkeypatch.setattr("gadget.backends.netns._MOST_SECONDS", 0.1)
    with pytest.raises(NetworkFailed, match="did not end"):
        _run(("sleep", "5"))
