"""What Slurm's commands answer, whichever version: jobs in its queue and in its books, its settings."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from gadget.backends.backend import EngineAway
from gadget.errors import printable


class Refused(Exception):
    """Slurm answered, and said no; the text is what it said."""


class Standing(Enum):
    """Where a Slurm job stands, as far as a ring is concerned."""

    WAITING = "waiting"
    HOLDING = "holding"
    """It has its nodes."""
    LEAVING = "leaving"
    """It is being cleaned up."""
    OVER = "over"


_STANDINGS = {
    "PENDING": Standing.WAITING,
    "REQUEUED": Standing.WAITING,
    "REQUEUE_HOLD": Standing.WAITING,
    "REQUEUE_FED": Standing.WAITING,
    "SPECIAL_EXIT": Standing.WAITING,
    "RUNNING": Standing.HOLDING,
    "SUSPENDED": Standing.HOLDING,
    "STOPPED": Standing.HOLDING,
    "CONFIGURING": Standing.HOLDING,
    "RESIZING": Standing.HOLDING,
    "SIGNALING": Standing.HOLDING,
    "STAGE_OUT": Standing.LEAVING,
    "COMPLETING": Standing.LEAVING,
}


# What the books call a job of which they heard too little.
_NO_NAME = "allocation"


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job as squeue shows it; the parts of a heterogeneous job are several with one `lead`."""

    number: int
    lead: int
    """The number that the whole goes by."""
    comment: str
    state: str
    reason: str

    @property
    def standing(self) -> Standing:
        """Where it stands; states that are unknown here mean that it has ended."""
        return _STANDINGS.get(self.state, Standing.OVER)


def parse_jobs(text: str, user: int) -> list[SlurmJob]:
    """The user's jobs from `squeue --json`; versions of Slurm write numbers and states in two ways."""
    try:
        found = msgspec.json.decode(text)
        # A squeue that reached nobody ends with exit code 0, and shows no jobs.
        if errors := found.get("errors"):
            raise EngineAway(f"slurmctld does not answer: squeue says {_describe(errors)}")
        return [
            SlurmJob(
                number=_number(job["job_id"]),
                lead=_number(job.get("het_job_id")) or _number(job["job_id"]),
                comment=_text(job.get("comment")),
                state=_state(job["job_state"]),
                reason=_text(job.get("state_reason")),
            )
            for job in found["jobs"]
            if _number(job["user_id"]) == user
        ]
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Refused(f"squeue --json cannot be understood: {error!r}") from None


def parse_books(text: str, name: str) -> str:
    """How jobs of this name ended, from `sacct --json`; empty if the books do not know.

    Numbers may have been given anew since: what goes by another name is another job.
    """
    try:
        found = msgspec.json.decode(text)
        ends = [_state(job["state"]["current"]) for job in found["jobs"] if job["name"] in (name, _NO_NAME)]
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Refused(f"sacct --json cannot be understood: {error!r}") from None
    # A part that did not end well tells more than one that did.
    ends.sort(key=lambda state: state == "COMPLETED")
    return next((state for state in ends if state not in _STANDINGS), "")


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """What matters here of `scontrol show config`."""

    counts_memory: bool = False
    message_seconds: float = 10.0
    """So long commands wait for an answer."""
    slurmd_seconds: float = 300.0
    """After so long without an answer Slurm calls a node down; 0 is never."""


def parse_settings(text: str) -> SlurmSettings:
    """The settings in `scontrol show config`, with Slurm's own defaults for what is not there."""
    usual = SlurmSettings()
    return SlurmSettings(
        counts_memory=bool(
            re.search(r"^SelectTypeParameters\s*=.*MEMORY", text, re.IGNORECASE | re.MULTILINE)
        ),
        message_seconds=_seconds(text, "MessageTimeout", usual.message_seconds),
        slurmd_seconds=_seconds(text, "SlurmdTimeout", usual.slurmd_seconds),
    )


def _seconds(text: str, name: str, usual: float) -> float:
    found = re.search(rf"^{name}\s*=\s*(\d+)", text, re.MULTILINE)
    return usual if found is None else float(found[1])


def _describe(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) else errors
    words = first.get("description") or first.get("error") if isinstance(first, dict) else first
    return printable(str(words or "nothing")[:200])


def _number(value: Any) -> int:
    if isinstance(value, dict):  # since 23.02
        value = value.get("number") if value.get("set") else 0
    return int(value or 0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _state(value: Any) -> str:
    if isinstance(value, str):
        return value.split()[0]  # who has cancelled it may come behind
    # Since 23.02 a list of the state and its flags. What a flag says comes later than what the state says.
    flags = [state for state in value if _STANDINGS.get(state) in (Standing.LEAVING, Standing.WAITING)]
    return str((flags or value)[0])
