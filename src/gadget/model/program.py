"""What the workers of a job run, and how they are asked to leave."""

from dataclasses import dataclass

from gadget.errors import InvalidValue
from gadget.model.quantity import check_at_least_zero, check_positive, check_whole

# A name that every shell takes; the service sets names that begin like this itself.
_RESERVED_PREFIX = "GADGET_"
_MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One worker: a command that follows the worker contract (docs/reference/worker.md)."""

    command: tuple[str, ...]
    working_dir: str | None = None
    """Where it starts; without it, a folder of the job's own."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables beside those of the contract."""
    checkpoint_grace_seconds: float = 30.0
    """From the wish that it leaves to the moment when it is made to."""
    start_seconds: float = 120.0
    """How long it may take from its start to its first word."""
    silence_seconds: float = 60.0
    """How long it may say nothing afterwards before it counts as hung."""

    retries: int = 5
    """How often in a row its ring may break without getting any further before the job is given up."""

    def __post_init__(self) -> None:
        check_whole("retries", self.retries, 0, 1_000_000)
        if not self.command or not self.command[0]:
            raise InvalidValue("command", "is empty", "Give the program and its arguments")
        for place, word in enumerate(self.command):
            _check_text(f"command[{place}]", word)
        if self.working_dir is not None:
            _check_text("working_dir", self.working_dir)
        for name, value in self.env:
            if not name or "=" in name or name.startswith(_RESERVED_PREFIX):
                raise InvalidValue(
                    "env",
                    f"names {name!r}",
                    f"Give a name without '=' that does not begin {_RESERVED_PREFIX}",
                )
            _check_text(f"env.{name}", name)
            _check_text(f"env.{name}", value)
        check_at_least_zero("checkpoint_grace_seconds", self.checkpoint_grace_seconds)
        check_positive("start_seconds", self.start_seconds)
        check_positive("silence_seconds", self.silence_seconds)


def _check_text(key: str, text: str) -> None:
    if "\0" in text or len(text.encode(errors="surrogatepass")) > _MOST_BYTES:
        raise InvalidValue(key, "is no text that a process can be given", "Shorten it, and leave out NUL")
