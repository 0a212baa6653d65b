"""In which order jobs get the GPUs of a pool: `fifo:backfill=true`, `srtf`, `las:queues=3250/7200`."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.policies.options import read_options, split_options, tell_options
from gadget.solve.queueing import (
    FIFO_BACKFILL,
    FIFO_BLOCKING,
    LEAST_ATTAINED,
    LEAST_REMAINING,
    MOST_QUEUES,
    QUEUES_BY_SUBMISSION,
    QUEUES_RUNNING_FIRST,
)


class Order(StrEnum):
    """What counts; ties go by submission."""

    FIFO = "fifo"
    """Submission; running jobs are never stopped."""
    SRTF = "srtf"
    """Running time left."""
    LAS = "las"
    """GPU-seconds attained so far."""


OPTIONS = {Order.FIFO: ("backfill",), Order.SRTF: (), Order.LAS: ("queues", "running_first")}


@dataclass(frozen=True, slots=True)
class BlindRule:
    """An order of all jobs; along it, each that fits beside those before it runs.

    `las` without queues decides when a job comes or ends. In slots it decides in every slot, so that jobs
    with the same service take turns; without slots these turns would be endlessly short.
    """

    order: Order
    backfill: bool = False
    """`fifo`: those behind a job that does not fit may pass it."""
    queues: tuple[float, ...] = ()
    """`las`: rising limits of attained GPU-seconds between queues; inside one, jobs go by submission."""
    running_first: bool = False
    """`las` with queues: inside one, running jobs stay before waiting ones, as in Tiresias' simulator."""

    def __post_init__(self) -> None:
        if not all(0 < low < high for low, high in pairwise((*self.queues, float("inf")))):
            shown = "/".join(f"{limit:g}" for limit in self.queues)
            raise BadOption(f"{self.order}: queues is {shown}. Give rising numbers above 0.")
        if len(self.queues) >= MOST_QUEUES:
            raise BadOption(
                f"{self.order}: queues has {len(self.queues)} limits. Give fewer than {MOST_QUEUES}."
            )
        for option in ("backfill", "queues", "running_first"):
            if getattr(self, option) and option not in OPTIONS[self.order]:
                raise BadOption(f"{self.order} has no option {option!r}. {tell_options(OPTIONS[self.order])}")
        if self.running_first and not self.queues:
            raise BadOption(f"{self.order}: running_first is an order inside queues. Give queues too.")

    @classmethod
    def parse(cls, text: str) -> "BlindRule":
        """The rule that `name` or `name:option=value,…` stands for."""
        name, _ = split_options(text)
        known = [one.value for one in Order]
        if name not in known:
            raise BadOption(
                f"{name!r} is no rule for a pool without a network{nearest_hint(name, known)}. "
                f"Choose one of {', '.join(known)}."
            )
        order = Order(name)
        where = " in a pool without a network, where each job takes exactly its workers"
        return cls(order, **read_options(text, cls, OPTIONS[order], where))

    @property
    def code(self) -> int:
        """The rule as the kernel knows it."""
        match self.order:
            case Order.FIFO:
                return FIFO_BACKFILL if self.backfill else FIFO_BLOCKING
            case Order.SRTF:
                return LEAST_REMAINING
            case Order.LAS if self.queues:
                return QUEUES_RUNNING_FIRST if self.running_first else QUEUES_BY_SUBMISSION
            case Order.LAS:
                return LEAST_ATTAINED

    @property
    def may_stop(self) -> bool:
        """True when running jobs may have to yield."""
        return self.order is not Order.FIFO
