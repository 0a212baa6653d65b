"""What an operator may set."""

from dataclasses import dataclass

from gadget.errors import BadOption
from gadget.live.view import Mode
from gadget.policies.registry import DEFAULT_POLICY


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the live service decides."""

    slot_seconds: float = 30.0
    """Length of a slot, if nothing makes the next one begin early."""
    spacing_seconds: float = 2.0
    """Between two decisions there is at least this much time, whatever happens."""
    decision_seconds: float = 10.0
    """How long the solver may take; after that the rings stay as they are."""
    policy: str = DEFAULT_POLICY
    seed: int = 0
    mode: Mode = Mode.ENFORCE
    keep_ended: int = 1_000
    """How many jobs that have ended are kept in memory; the journal has the others."""
    compact_every: int = 20_000
    """After so many entries the journal's state is written down, so that the next start is short."""

    def __post_init__(self) -> None:
        for name in ("slot_seconds", "decision_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise BadOption(f"{name} is {getattr(self, name)}. Give a number above 0.")
        if not 0 <= self.spacing_seconds <= self.slot_seconds:
            raise BadOption(
                f"spacing_seconds is {self.spacing_seconds}. Give 0 … {self.slot_seconds}, a slot."
            )
