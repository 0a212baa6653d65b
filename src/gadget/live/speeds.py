"""What rings were seen to do, back into what decisions reckon with: Eq. (1) closes the loop."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gadget.engine.events import SpeedMeasured
from gadget.engine.state import State
from gadget.live.fleet import Fleet, Presence
from gadget.live.orders import find_wanted
from gadget.model.job import Job
from gadget.model.ring import Ring
from gadget.solve.rescaling import rescale_timing

_NOTEWORTHY = 0.1
"""A smaller relative difference is noise."""
_LEAST_SECONDS = 2.0
"""Work done in less time says nothing of speed."""


@dataclass
class Speeds:
    """Iteration times by job and ring size, as measured in this life of the service."""

    _seconds: dict[str, dict[int, float]] = field(default_factory=dict)

    def learn(self, state: State, fleet: Fleet) -> Iterator[SpeedMeasured]:
        """What the present rings tell that differs from what their jobs say."""
        self._forget_all_but(state)
        for key in find_wanted(state):
            one = fleet.rings.get(key)
            if one is None:
                continue
            job = state.active[key.job].job
            event = self._of_timing(job, one) if job.timing is not None else _of_rate(job, one, state)
            if event is not None:
                yield event

    def _of_timing(self, job: Job, one: Presence) -> SpeedMeasured | None:
        assert job.timing is not None  # the caller asked
        if one.step_seconds is None:
            return None
        seen = self._seconds.setdefault(job.name, {})
        size = one.ring.size
        seen[size] = one.step_seconds if size not in seen else 0.5 * seen[size] + 0.5 * one.step_seconds
        said = float(job.timing.iteration_seconds(size, job.bandwidth_gbps))
        if abs(seen[size] - said) <= _NOTEWORTHY * said:
            return None
        return SpeedMeasured(job.name, timing=rescale_timing(job.timing, job.bandwidth_gbps, seen))

    def _forget_all_but(self, state: State) -> None:
        for name in self._seconds.keys() - state.active.keys():
            del self._seconds[name]


def _of_rate(job: Job, one: Presence, state: State) -> SpeedMeasured | None:
    assert job.rate is not None  # a job has one of the two
    speed = find_speed(one)
    if not speed:
        return None
    rate = speed * state.slot_seconds / one.ring.size
    return SpeedMeasured(job.name, rate=rate) if abs(rate - job.rate) > _NOTEWORTHY * job.rate else None


def find_speed(one: Presence) -> float | None:
    """Work a second, since the ring's first word of progress."""
    way = one.stretch
    if way is None or way.ended - way.began < _LEAST_SECONDS:
        return None
    return (way.ended_at - way.began_at) / (way.ended - way.began)


def predict_step_seconds(job: Job, ring: Ring) -> float | None:
    """τ by Eq. (1) where the ring lies, if the job has a timing."""
    if job.timing is None:
        return None
    is_local = len(set(ring.workers)) == 1
    return float(job.timing.iteration_seconds_on(ring.size, job.bandwidth_gbps, is_local))


def predict_speed(job: Job, ring: Ring, slot_seconds: float) -> float:
    """Work a second that the job says its ring does."""
    return float(job.work_in_slot(ring.size, slot_seconds)) / slot_seconds
