"""What rings did in a slot: only what was reported counts."""

from gadget.engine.events import Seen
from gadget.engine.state import State
from gadget.live.fleet import Fleet
from gadget.live.orders import find_wanted


def find_seen(state: State, fleet: Fleet) -> tuple[Seen, ...]:
    """For every ring that should run, the work that it reported beyond what its job is credited with."""
    seen = []
    for key in find_wanted(state):
        one = fleet.rings.get(key)
        credited = state.active[key.job].active.work_done or 0.0
        told = credited if one is None or one.work is None else one.work
        seen.append(Seen(key.job, max(told - credited, 0.0), 0.0))
    return tuple(seen)
