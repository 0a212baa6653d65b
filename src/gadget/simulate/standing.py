"""Slots in which nothing can change: the decision of the slot before stands, and nobody is asked."""

from dataclasses import replace

from gadget.engine.state import State
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import Policy, Steadiness


class Standing:
    """The last decision of a policy, as long as it would decide the same again."""

    def __init__(self, policy: Policy) -> None:
        self._steadiness: Steadiness | None = getattr(policy, "steadiness", None)
        self._decision: Decision | None = None
        self._jobs: frozenset[str] = frozenset()
        self._cluster: Cluster | None = None

    def note(self, snapshot: Snapshot, decision: Decision) -> None:
        """Take a decision down, if it may stand."""
        steady = self._steadiness is Steadiness.ALWAYS or (
            self._steadiness is Steadiness.WHEN_NOBODY_WAITS and not decision.waiting
        )
        bounded = any(active.job.budget is not None for active in snapshot.jobs)
        self._decision = decision if steady and not bounded else None
        self._jobs, self._cluster = frozenset(snapshot.job_by_name), snapshot.cluster

    def find(self, state: State, snapshot: Snapshot) -> Decision | None:
        """The decision for the present slot, if it is that of the slot before; None if one must ask."""
        last = self._decision
        if last is None or state.running != last.allocation or snapshot.cluster is not self._cluster:
            return None
        if len(snapshot.jobs) != len(self._jobs) or not self._jobs.issuperset(snapshot.job_by_name):
            return None
        return replace(last, slot=snapshot.slot, objective=snapshot.objective(last.allocation), seconds=0.0)
