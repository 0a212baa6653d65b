"""Slurm's command line: what is asked of it, and what its answers say."""

import logging
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from gadget.backends.backend import EngineAway
from gadget.errors import BadOption, printable

_SECONDS = 30.0
_LONGEST = 500
# Where Slurm's commands say in words that nobody answered; everything else is an answer.
_SILENCE = (
    "unable to contact slurm controller",
    "connection refused",
    "connection timed out",
    "socket timed out",
    "zero bytes were transmitted",
    "unable to establish",
    "controller not responding",
    "communication connection failure",
    "error on send/recv",
    "transport endpoint is not connected",
    "backup controller",
)

_log = logging.getLogger(__name__)


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


class Slurm:
    """Runs Slurm's commands. EngineAway if nobody answers, Refused if the answer is no."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def list_jobs(self) -> list[SlurmJob]:
        """This user's jobs, those that ended lately included."""
        told = self.ask("squeue", "--json", "--states=all", "--me")
        return parse_jobs(told, os.geteuid())

    def show_nodes(self) -> str:
        """All nodes, one a line."""
        return self.ask("scontrol", "--details", "--oneliner", "show", "node")

    def show_topology(self) -> str:
        """The switches, one a line; empty if Slurm knows of none."""
        try:
            return self.ask("scontrol", "show", "topology")
        except Refused:
            return ""

    def show_config(self) -> str:
        """The configuration."""
        return self.ask("scontrol", "show", "config")

    def submit(self, options: Sequence[str]) -> int:
        """Hand a job in; gives its number."""
        told = self.ask("sbatch", "--parsable", *options)
        number = told.strip().split(";")[0]
        if not number.isdecimal():
            raise Refused(f"sbatch said {printable(told.strip()[:_LONGEST])!r}, which is no job number")
        return int(number)

    def signal_batch(self, number: int, signal: str) -> None:
        """Signal the batch script of a job, and nothing else of it."""
        self._tell("scancel", "--batch", f"--signal={signal}", str(number))

    def kill_step(self, numbers: Sequence[int]) -> None:
        """End the first step of each of these jobs at once."""
        self._tell("scancel", "--signal=KILL", *(f"{number}.0" for number in numbers))

    def cancel(self, numbers: Sequence[int]) -> None:
        """End jobs, whatever state they are in."""
        if numbers:
            self._tell("scancel", *map(str, numbers))

    def _tell(self, *command: str) -> None:
        # What is gone already needs no telling; whether it has worked, the next look shows.
        try:
            self.ask(*command)
        except Refused as error:
            _log.debug("%s: %s", " ".join(command), error)

    def ask(self, *command: str) -> str:
        """Run a command; gives what it printed."""
        try:
            ended = subprocess.run(
                command,
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise BadOption(
                f"{command[0]} is not found. Run the service where Slurm's commands are on the PATH."
            ) from None
        except subprocess.TimeoutExpired:
            raise EngineAway(f"{command[0]} got no answer in {_SECONDS:g} s") from None
        except OSError as error:
            raise Refused(f"{command[0]} cannot be run: {error.strerror}") from None
        if ended.returncode == 0:
            return ended.stdout.decode(errors="replace")
        said = printable(ended.stderr.decode(errors="replace").strip().replace("\n", "; ")[:_LONGEST])
        if any(words in said.lower() for words in _SILENCE):
            raise EngineAway(f"slurmctld does not answer: {said}")
        raise Refused(said or f"{command[0]} ended with exit code {ended.returncode}")


def parse_jobs(text: str, user: int) -> list[SlurmJob]:
    """The user's jobs from `squeue --json`; versions of Slurm write numbers and states in two ways."""
    try:
        found = msgspec.json.decode(text)
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
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"squeue --json cannot be understood: {error!r}") from None


def _number(value: Any) -> int:
    if isinstance(value, dict):  # since 23.02
        value = value.get("number") if value.get("set") else 0
    return int(value or 0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _state(value: Any) -> str:
    if isinstance(value, str):
        return value
    # Since 23.02 a list of the state and its flags. What a flag says comes later than what the state says.
    flags = [state for state in value if _STANDINGS.get(state) in (Standing.LEAVING, Standing.WAITING)]
    return str((flags or value)[0])
