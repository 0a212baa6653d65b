"""The jobs of one service in Slurm's queue: each goes by its comment, gadget:SERVICE:JOB@NUMBER."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from urllib.parse import unquote

from gadget.backends.backend import EngineAway, RingKey
from gadget.backends.ring_folder import RingFolder, safe_name
from gadget.backends.slurm_answers import SlurmJob, Standing
from gadget.backends.slurm_commands import Slurm
from gadget.errors import BadFile

_MARK = "gadget"
_STRAY_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 0.2


class SlurmQueue:
    """What Slurm has of this service; one thread looks, any may read."""

    def __init__(self, slurm: Slurm, folder: RingFolder, instance: str) -> None:
        self._slurm, self._folder, self._instance = slurm, folder, instance
        self._jobs: dict[str, list[SlurmJob]] = {}
        self._formers: frozenset[str] = frozenset()
        self._left: list[SlurmJob] = []
        """Of services that had the folder before."""
        self._cancelled: dict[int, float] = {}
        self.asked = float("-inf")
        """When it was last looked at, in seconds since 1970."""

    def comment(self, key: RingKey) -> str:
        """What the job of a ring goes by."""
        return f"{_MARK}:{self._instance}:{_name(key)}"

    def succeed(self, formers: Collection[str]) -> None:
        """Take the place of services that had the folder before: their journals are gone, their jobs go."""
        self._formers = frozenset(formers)

    def look(self, now: float) -> None:
        """Ask Slurm for the jobs of this service."""
        jobs: dict[str, list[SlurmJob]] = {}
        self._left = []
        for job in self._slurm.list_jobs():
            mark, _, rest = job.comment.partition(":")
            instance, _, name = rest.partition(":")
            if mark == _MARK and instance == self._instance:
                jobs.setdefault(name, []).append(job)
            elif mark == _MARK and instance in self._formers and job.standing is not Standing.OVER:
                self._left.append(job)
        self._jobs, self.asked = jobs, now

    def of(self, key: RingKey) -> list[SlurmJob]:
        """The jobs of a ring: several where it is a heterogeneous one."""
        return self._jobs.get(_name(key), [])

    def end_formers(self, patience_seconds: float) -> bool:
        """Cancel what former services left, and wait; True when nothing of theirs is there any more.

        EngineAway if it takes longer: nodes that their rings hold are not free yet.
        """
        deadline = time.monotonic() + patience_seconds
        while self._left:
            self._cancel(
                {job.lead for job in self._left if job.standing is not Standing.LEAVING}, time.time()
            )
            if time.monotonic() > deadline:
                raise EngineAway(f"{len(self._left)} jobs of an earlier service in this folder are ending")
            time.sleep(_LOOK_AGAIN_SECONDS)
            self.look(time.time())
        had_some, self._formers = bool(self._formers), frozenset()
        return had_some

    def end_strays(self, rings: Mapping[RingKey, int], now: float) -> None:
        """Cancel jobs that none of these rings goes by, and let no older number of theirs start any more.

        A ring may have two jobs, if nobody heard that Slurm took the first: it goes by one of them.
        """
        known = {_name(key): lead for key, lead in rings.items()}
        strays: set[int] = set()
        for name, jobs in self._jobs.items():
            live = {job.lead for job in jobs if job.standing in (Standing.WAITING, Standing.HOLDING)}
            if name not in known:
                self._raise_fence(name)
                strays |= live
            elif any(job.lead == known[name] for job in jobs):
                strays |= live - {known[name]}
        self._cancel(strays, now)

    def _cancel(self, numbers: Collection[int], now: float) -> None:
        """Unless they were cancelled a moment ago."""
        again = {number: self._cancelled.get(number, float("-inf")) for number in numbers}
        due = [number for number, before in again.items() if now - before > _STRAY_SECONDS]
        self._cancelled = again | dict.fromkeys(due, now)
        self._slurm.cancel(due)

    def _raise_fence(self, name: str) -> None:
        """Slurm may remember a number that the folder has lost."""
        quoted, _, number = name.rpartition("@")
        job = unquote(quoted)
        if safe_name(job) != quoted or not number.isdecimal():
            return
        if int(number) > self._folder.fence(job, self._instance):
            with suppress(BadFile):
                self._folder.raise_fence(RingKey(job, int(number)), self._instance)


def _name(key: RingKey) -> str:
    return f"{safe_name(key.job)}@{key.number}"
