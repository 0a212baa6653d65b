"""The protocol of all policies, and the one way to ask them."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot


class Steadiness(StrEnum):
    """When a policy would decide the same again although time has passed, if nothing else has changed.

    Nothing else: the same jobs, none with a budget that runs down, the same servers, the rings as decided.
    """

    ALWAYS = "always"
    """It looks at who is there and what runs, not at what was served."""
    WHEN_NOBODY_WAITS = "when nobody waits"
    """It orders jobs by what was served, which matters only where there is not enough for all."""
    WHEN_ALL_ARE_SATED = "when all are sated"
    """It weighs jobs by what was served, and leaves rings in place whose size stays: nothing is weighed where
    every job has its largest ring."""
    AT_REST = "at rest"
    """It looks at who is there and what runs: the same once it has left all rings as they were, or where all
    are sated."""
    AT_REST_IF_RIGID = "at rest if rigid"
    """What was served has a part only in how far rings grow: where no job is elastic, as `AT_REST`."""
    WHILE_GAINS_HOLD = "while gains hold"
    """It looks for the greatest gains. Where its `is_content` says that it would not look further, its bound
    and its rings are as good as they were while these gain what they did and no job could gain more."""


class Policy(Protocol):
    """Decides one slot. Its fields are its options; it keeps no state between slots.

    A policy that does not promise feasibility says so by a true attribute `may_violate`, one that looks at
    what links carry by `reserves`: where links are shared, all others are shown links that never refuse. One
    with a `steadiness` is not asked again while nothing changes that it looks at.
    """

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """The rings of this slot; what leaves here is feasible."""
        ...


@runtime_checkable
class Seeker(Policy, Protocol):
    """A policy that is steady while gains hold."""

    def is_content(self, snapshot: Snapshot, decision: Decision) -> bool:
        """True when it would look no further for a better decision than this one of its own."""
        ...


def ask(policy: Policy, snapshot: Snapshot, seed: int) -> Decision:
    """Ask the policy, with a generator that follows from seed and slot alone, and take the time."""
    rng = np.random.default_rng([seed, snapshot.slot])
    with _undisturbed():
        start = time.perf_counter()
        decision = policy.decide(snapshot, rng)
        seconds = time.perf_counter() - start
    return replace(decision, seed=seed, seconds=seconds)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep Python from looking for dead cycles meanwhile: in a large cluster that takes twice a decision."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
