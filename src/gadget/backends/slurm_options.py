"""What an operator says to sbatch for all rings, and what a job says for its own."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gadget.backends.backend import Launch
from gadget.errors import BadOption

_LEAST_WARN_SECONDS = 120
# What is left of a time limit when the grace is over: Slurm looks at time limits once in a while.
_AFTER_GRACE_SECONDS = 60
# And what a ring needs at least before it is warned.
_LEAST_RUN_SECONDS = 60
_NO_LIMIT = ("0", "-1", "INFINITE", "UNLIMITED")
# What sbatch itself would read of a user's environment: whom a job is charged to.
_CHARGED = {"SBATCH_ACCOUNT": "account", "SBATCH_QOS": "qos", "SBATCH_WCKEY": "wckey"}

# Options of sbatch that a ring has for itself, or that have an option of their own here.
_OURS = {
    "array": "a",
    "chdir": "D",
    "clusters": "M",
    "comment": "",
    "cpus-per-task": "c",
    "error": "e",
    "gpus": "G",
    "gpus-per-node": "",
    "gpus-per-socket": "",
    "gpus-per-task": "",
    "gres": "",
    "help": "h",
    "hold": "H",
    "input": "i",
    "job-name": "J",
    "mem": "",
    "no-requeue": "",
    "nodefile": "F",
    "nodelist": "w",
    "nodes": "N",
    "ntasks": "n",
    "ntasks-per-node": "",
    "open-mode": "",
    "output": "o",
    "parsable": "",
    "requeue": "",
    "signal": "",
    "test-only": "",
    "usage": "",
    "version": "V",
    "wait": "W",
    "wrap": "",
}
_ELSEWHERE = {
    "account": ("A", "--account"),
    "partition": ("p", "--partition"),
    "qos": ("q", "--qos"),
    "time": ("t", "--ring-time"),
}


@dataclass(frozen=True, slots=True)
class SlurmOptions:
    """What a user of Slurm says to sbatch."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    time: str = ""
    """The time limit of each ring, as sbatch takes it."""
    extra: tuple[str, ...] = ()
    """More options of sbatch."""

    @property
    def has_reservation(self) -> bool:
        """True when rings may use reserved nodes, and only these."""
        return any(word.startswith("--reserv") for word in self.extra)

    def words(self, own: Mapping[str, str]) -> list[str]:
        """As sbatch takes them; `own` is the environment that the job's file gives to its workers."""
        named = {"partition": self.partition, "account": self.account, "qos": self.qos, "time": self.time}
        named |= {option: own[name] for name, option in _CHARGED.items() if own.get(name)}
        return [*self.extra, *(f"--{name}={value}" for name, value in named.items() if value)]

    def why_too_short(self, grace_seconds: float) -> str:
        """Why rings that need this grace do not fit in the time limit; empty if they do."""
        limit, warn = parse_time(self.time), find_warn_seconds(grace_seconds)
        if limit is None or limit >= warn + _LEAST_RUN_SECONDS:
            return ""
        return (
            f"--ring-time {self.time} is too short: with a checkpoint grace of {grace_seconds:g} s workers "
            f"are asked to leave {warn} s before it is over. Give {math.ceil(warn / 60) + 1} minutes at "
            "least, better hours"
        )


def find_warn_seconds(grace_seconds: float) -> int:
    """So long before the time limit of a job its workers are asked to leave."""
    return max(_LEAST_WARN_SECONDS, math.ceil(grace_seconds) + _AFTER_GRACE_SECONDS)


def says_whom_to_charge(order: Launch) -> bool:
    """True when the job itself says whom it is charged to."""
    return order.job.program is not None and any(name in _CHARGED for name, _ in order.job.program.env)


def check_extra(words: Sequence[str]) -> None:
    """BadOption if one of these options of sbatch would break how rings are run."""
    is_value = False
    for word in words:
        if word == ":":
            raise BadOption("--sbatch: the parts of a ring are made by the service. Leave : out.")
        name, letter = word.partition("=")[0][2:], word[1:2]
        is_long = word.startswith("--") and name != ""
        if not is_long and not re.match("-[A-Za-z]", word):
            if not is_value:
                raise BadOption(f"--sbatch {word}: is no option, and sbatch would take it for a script.")
            is_value = False
            continue
        is_value = "=" not in word
        for option, (short, here) in _ELSEWHERE.items():
            if (is_long and option.startswith(name)) or (not is_long and letter == short):
                raise BadOption(f"--sbatch {word}: has an option of its own. Give {here} instead.")
        for option, short in _OURS.items():
            # sbatch takes the beginning of a name for the name.
            if (is_long and option.startswith(name)) or (not is_long and letter == short):
                raise BadOption(
                    f"--sbatch {word}: the service decides this for each ring (--{option}). Leave it out."
                )


def parse_time(text: str) -> float | None:
    """Seconds of a time as sbatch takes it; None if there is no limit. BadOption if it is no time."""
    if not text or text.upper() in _NO_LIMIT:
        return None
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if found is None:
        raise BadOption(
            f"--ring-time {text}: is no time. Give minutes, or hours:minutes:seconds, or "
            "days-hours:minutes:seconds."
        )
    days, *rest = found.groups()
    numbers = [int(part) for part in rest if part is not None]
    if days is not None:
        numbers += [0] * (3 - len(numbers))
    elif len(numbers) < 3:  # minutes, or minutes:seconds
        numbers = [0, *numbers, *[0] * (2 - len(numbers))]
    hours, minutes, seconds = numbers
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60.0 + seconds
