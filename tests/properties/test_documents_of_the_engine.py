"""What the engine knows is read back exactly as it was written."""

import json
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.engine.check import check_state
from gadget.engine.event_documents import build_event, event_document, kind_of
from gadget.engine.events import Event
from gadget.engine.json_text import format_document
from gadget.engine.state import State
from gadget.engine.state_documents import build_state, state_document
from gadget.errors import InvalidValue
from tests.live_courses import EVENTS, Course, live_courses, states


def test_every_kind_of_event_is_tried() -> None:
    assert EVENTS.keys() == set(get_args(Event))


@pytest.mark.parametrize("kind", EVENTS)
@settings(max_examples=60)
@given(data=st.data())
def test_an_event_is_read_as_it_was_written(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(EVENTS[kind])
    written = format_document(event_document(event))
    assert "\n" not in written
    found = build_event(kind_of(event), written)
    assert found == event
    assert format_document(event_document(found)) == written
    assert event_document(event) == json.loads(written)


@given(states())
def test_a_state_is_read_as_it_was_written(state: State) -> None:
    written = format_document(state_document(state))
    found = build_state(written)
    assert found == state
    assert list(found.active) == list(state.active)
    assert list(found.ended) == list(state.ended)
    assert format_document(state_document(found)) == written


@settings(max_examples=50)
@given(live_courses())
def test_every_state_of_a_live_course_is_sound_and_read_as_it_was_written(course: Course) -> None:
    for state in course.states:
        assert check_state(state) == []
        assert build_state(format_document(state_document(state))) == state


@given(st.sampled_from(list(EVENTS)), st.data())
def test_a_damaged_body_is_refused_or_read(kind: type[Event], data: st.DataObject) -> None:
    """Whatever a body holds, it is an event or a complaint."""
    event = data.draw(EVENTS[kind])
    body = format_document(event_document(event)).encode()
    place = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:place] + bytes([data.draw(st.integers(0, 255))]) + body[place + 1 :]
    # Any other exception fails the test.
    with suppress(InvalidValue):
        build_event(kind_of(event), damaged)
