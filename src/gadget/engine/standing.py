"""Slots in which nothing can change: the decision of the slot before stands, and nobody is asked."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gadget.engine.state import State
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import ActiveJob
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import Policy, Seeker, Steadiness

# Relative rounding of gains that are equal.
_ROUNDING = 1e-9


class Standing:
    """The last decision of a policy, as long as it would decide the same again, or as well."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._steadiness: Steadiness | None = getattr(policy, "steadiness", None)
        self._decision: Decision | None = None
        self._jobs: frozenset[str] = frozenset()
        self._cluster: Cluster | None = None
        self._gains: Mapping[str, NDArray[np.float64]] = {}

    def note(self, snapshot: Snapshot, decision: Decision) -> None:
        """Take a decision down, if it may stand."""
        self._decision = decision if self._may_stand(snapshot, decision) else None
        if self._decision is None:
            return
        self._jobs, self._cluster = frozenset(snapshot.job_by_name), snapshot.cluster
        if self._steadiness is Steadiness.WHILE_GAINS_HOLD:
            known = snapshot.job_by_name
            self._gains = {
                ring.job: _find_gains(snapshot, known[ring.job]) for ring in decision.allocation.rings
            }

    def find(self, state: State, snapshot: Snapshot) -> Decision | None:
        """The decision for the present slot, if it is that of the slot before; None if one must ask."""
        last = self._decision
        if last is None or state.running != last.allocation or snapshot.cluster is not self._cluster:
            return None
        if snapshot.job_by_name.keys() != self._jobs:
            return None
        if self._steadiness is Steadiness.WHILE_GAINS_HOLD and not self._holds(snapshot, last):
            return None
        return replace(last, slot=snapshot.slot, objective=snapshot.objective(last.allocation), seconds=0.0)

    def _may_stand(self, snapshot: Snapshot, decision: Decision) -> bool:
        if any(active.job.budget is not None for active in snapshot.jobs):
            return False
        match self._steadiness:
            case Steadiness.ALWAYS:
                may_stand = True
            case Steadiness.WHEN_NOBODY_WAITS:
                may_stand = not decision.waiting
            case Steadiness.WHEN_ALL_ARE_SATED:
                may_stand = _are_sated(snapshot, decision)
            case Steadiness.AT_REST:
                may_stand = _rests(snapshot, decision) or _are_sated(snapshot, decision)
            case Steadiness.AT_REST_IF_RIGID:
                rests = _rests(snapshot, decision) and not _is_any_elastic(snapshot)
                may_stand = rests or _are_sated(snapshot, decision)
            case Steadiness.WHILE_GAINS_HOLD:
                may_stand = (
                    isinstance(self._policy, Seeker)
                    and self._policy.is_content(snapshot, decision)
                    and not _loses_by_restarts(snapshot, decision)
                )
            case None:
                may_stand = False
        return may_stand

    def _holds(self, snapshot: Snapshot, last: Decision) -> bool:
        """True when every ring gains what it did, and its job could gain no more in any size than it could.

        Jobs without rings have done nothing since, and moving costs no less than it did.
        """
        for ring in last.allocation.rings:
            active, before = snapshot.job_by_name[ring.job], self._gains[ring.job]
            now, rounding = _find_gains(snapshot, active), _ROUNDING * np.abs(before)
            mine = ring.size - active.job.min_workers
            if now[mine] < before[mine] - rounding[mine] or (now > before + rounding).any():
                return False
        return True


def _rests(snapshot: Snapshot, decision: Decision) -> bool:
    """True when all rings were left as they were, so that the next slot asks the very same."""
    return decision.allocation == snapshot.running


def _is_any_elastic(snapshot: Snapshot) -> bool:
    return any(active.job.min_workers < active.job.max_workers for active in snapshot.jobs)


def _loses_by_restarts(snapshot: Snapshot, decision: Decision) -> bool:
    """True when a ring has more to gain in the next slot, because it restarts in this one."""
    known = snapshot.job_by_name
    return any(
        known[ring.job].job.loses_by_restart and snapshot.is_restart(ring)
        for ring in decision.allocation.rings
    )


def _are_sated(snapshot: Snapshot, decision: Decision) -> bool:
    """True when every job has its largest ring."""
    known = snapshot.job_by_name
    return not decision.waiting and all(
        ring.size == known[ring.job].job.max_workers for ring in decision.allocation.rings
    )


def _find_gains(snapshot: Snapshot, active: ActiveJob) -> NDArray[np.float64]:
    """Of every size of its rings, the smallest first."""
    return snapshot.gains(active, np.arange(active.job.min_workers, active.job.max_workers + 1))
