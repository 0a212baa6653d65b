"""States as the journal holds them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gadget.engine.apply import apply
from gadget.engine.events import JobsArrived, RingFailed, ServerDrained, SlotDecided
from gadget.engine.json_text import format_document
from gadget.engine.state import State
from gadget.engine.state_documents import build_state, state_document
from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster
from gadget.model.prices import Prices
from tests.unit.engine.worlds import PAIR, ROW, decision, job, ring, start


def again(state: State) -> State:
    return build_state(format_document(state_document(state)))


def test_a_state_with_a_ring_that_broke():
    state = replace(start(), is_measured=True)
    for event in (
        JobsArrived((job("a"), job("b"))),
        SlotDecided(decision(0, ring("a", "a", "b"), ring("b", "b"))),
        RingFailed("a", 0.0, "exit 1", share=0.5),
    ):
        state = apply(state, event)
    found = again(state)
    assert found == state
    assert found.active["a"].last_failure == "exit 1"
    assert found.running.ring_of.keys() == {"b"}


def test_what_is_available_is_one_object_with_the_cluster_until_something_is_gone():
    """Solvers compile a cluster once."""
    found = again(start())
    assert found.available is found.cluster
    drained = apply(start(cluster=ROW), ServerDrained("y"))
    assert again(drained).available == drained.available != drained.cluster


def test_prices_are_not_written():
    state = start()
    state = replace(state, prices=Prices(state.cluster, np.zeros((2, 1)), np.zeros(4)))
    assert again(state) == state
    assert again(state).prices is None


def test_an_empty_cluster_in_parts():
    cluster = Cluster((), ("x", "y"), ())
    state = replace(start(), cluster=cluster, available=cluster)
    assert again(state) == state


def test_a_newer_version_says_so():
    body = json.dumps({**state_document(start()), "version": 2, "mood": "new"})
    with pytest.raises(InvalidValue, match="version is 2; this release reads up to 1"):
        build_state(body)


def test_a_complaint_names_the_place():
    document = state_document(apply(start(), JobsArrived((job("a"), job("b")))))
    document["active"][1]["job"]["workers"]["min"] = 3
    with pytest.raises(InvalidValue, match=r"active\[1\]\.job\.workers\.min is 3, above workers\.max = 2"):
        build_state(json.dumps(document))


def test_the_cluster_that_is_written_is_the_whole_one():
    assert state_document(start())["cluster"]["servers"][0]["name"] == PAIR.servers[0].name
