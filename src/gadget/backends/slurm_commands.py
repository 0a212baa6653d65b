"""Slurm's command line: what is asked of it, and whether anybody answers."""

import errno
import logging
import os
import subprocess
from collections.abc import Mapping, Sequence

from gadget.backends.backend import EngineAway
from gadget.backends.slurm_answers import (
    Refused,
    SlurmJob,
    SlurmSettings,
    parse_books,
    parse_jobs,
    parse_settings,
)
from gadget.errors import printable

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
# What an allocation around the service, a service around it, or its user's habits would tell our commands.
_OTHERS = ("SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SINFO_", "SCONTROL_", "SRUN_", "SACCT_", "GADGET_")
_KEPT = frozenset(("SLURM_CONF", "SLURM_JWT"))

_log = logging.getLogger(__name__)


class CommandMissing(EngineAway):
    """A command of Slurm is not there; while a service runs, somebody may be updating it."""


class Slurm:
    """Runs Slurm's commands. EngineAway if nobody answers, Refused if the answer is no."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {
            name: value
            for name, value in environment.items()
            if name in _KEPT or not name.startswith(_OTHERS)
        }

    def list_jobs(self) -> list[SlurmJob]:
        """This user's jobs, those that ended lately included."""
        told = self.ask("squeue", "--json", "--states=all", "--me")
        return parse_jobs(told, os.geteuid())

    def read_books(self, number: int, name: str) -> str:
        """How a job ended that the queue has forgotten; empty where no books are kept, or know of it."""
        try:
            return parse_books(self.ask("sacct", "--json", "-X", f"--jobs={number}"), name)
        except (EngineAway, Refused) as error:
            _log.debug("the books cannot be read: %s", error)
            return ""

    def show_nodes(self) -> str:
        """All nodes, one a line."""
        return self.ask("scontrol", "--details", "--oneliner", "show", "node")

    def show_topology(self) -> str:
        """The switches, one a line; empty if Slurm knows of none."""
        try:
            return self.ask("scontrol", "show", "topology")
        except Refused:
            return ""

    def read_settings(self) -> SlurmSettings:
        """What matters of the configuration."""
        return parse_settings(self.ask("scontrol", "show", "config"))

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
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise CommandMissing(
                f"{command[0]} is not found. Run the service where Slurm's commands are on the PATH"
            ) from None
        except subprocess.TimeoutExpired as error:
            said = _tell(error.stderr or b"")
            raise EngineAway(
                f"{command[0]} got no answer in {_SECONDS:g} s" + (f" ({said})" if said else "")
            ) from None
        except OSError as error:
            why = f"{command[0]} cannot be run: {error.strerror}"
            if error.errno == errno.E2BIG:
                raise Refused(why) from None
            raise EngineAway(why) from None
        said = _tell(ended.stderr)
        # Some say that nobody answered, and end with exit code 0.
        if any(words in said.lower() for words in _SILENCE) and (
            ended.returncode or not ended.stdout.strip()
        ):
            raise EngineAway(f"slurmctld does not answer: {said}")
        if ended.returncode:
            raise Refused(said or f"{command[0]} ended with exit code {ended.returncode}")
        return ended.stdout.decode(errors="replace")


def _tell(stderr: bytes) -> str:
    """What a command complained of, in one line."""
    return printable(stderr.decode(errors="replace").strip().replace("\n", "; ")[:_LONGEST])
