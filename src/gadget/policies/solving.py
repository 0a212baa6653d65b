"""One slot from Python: `solve(snapshot)`."""

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import Policy, ask
from gadget.policies.registry import DEFAULT_POLICY, build_policy


def solve(
    snapshot: Snapshot,
    policy: str | Policy = DEFAULT_POLICY,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    gap: float | None = None,
) -> Decision:
    """Decide one slot.

    The policy is named as on the command line (`fifo:workers=2`), or is one of your own. `time_limit` and
    `gap` go to named policies that search.
    """
    chosen = build_policy(policy, time_limit=time_limit, gap=gap) if isinstance(policy, str) else policy
    return ask(chosen, snapshot, seed)
