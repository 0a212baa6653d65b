"""The fleet as people see it."""

from collections.abc import Mapping

from gadget.live.fleet import Fleet
from gadget.live.speeds import find_speed, predict_speed, predict_step_seconds
from gadget.live.view import RingShown


def show_rings(fleet: Fleet, slot_seconds: float) -> Mapping[str, RingShown]:
    """Each job's newest ring, with what was predicted of it beside what was measured."""
    shown: dict[str, RingShown] = {}
    for one in sorted(fleet, key=lambda one: one.key):
        job = one.job
        shown[one.key.job] = RingShown(
            key=one.key,
            ring=one.ring,
            phase=one.phase,
            since=one.since,
            work=one.work,
            safe_work=one.safe_work,
            heard_at=one.heard_at,
            step_seconds=one.step_seconds,
            predicted_step_seconds=None if job is None else predict_step_seconds(job, one.ring),
            work_per_second=find_speed(one),
            predicted_work_per_second=None if job is None else predict_speed(job, one.ring, slot_seconds),
        )
    return shown
