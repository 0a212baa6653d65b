"""The jobs of one service in Slurm's queue: each goes by its comment, gadget:SERVICE:JOB@NUMBER."""

from collections.abc import Collection
from contextlib import suppress
from urllib.parse import unquote

from gadget.backends.backend import RingKey
from gadget.backends.local_folder import LocalFolder, safe_name
from gadget.backends.slurm_commands import Slurm, SlurmJob, Standing
from gadget.errors import BadFile

_MARK = "gadget"
_STRAY_SECONDS = 5.0


class SlurmQueue:
    """What Slurm has of this service; one thread looks, any may read."""

    def __init__(self, slurm: Slurm, folder: LocalFolder, instance: str) -> None:
        self._slurm, self._folder, self._instance = slurm, folder, instance
        self._jobs: dict[str, list[SlurmJob]] = {}
        self._strays: dict[int, float] = {}
        self.asked = float("-inf")
        """When it was last looked at, in seconds since 1970."""

    def comment(self, key: RingKey) -> str:
        """What the job of a ring goes by."""
        return f"{_MARK}:{self._instance}:{_name(key)}"

    def look(self, now: float) -> None:
        """Ask Slurm for the jobs of this service."""
        jobs: dict[str, list[SlurmJob]] = {}
        for job in self._slurm.list_jobs():
            mark, _, rest = job.comment.partition(":")
            instance, _, name = rest.partition(":")
            if mark == _MARK and instance == self._instance:
                jobs.setdefault(name, []).append(job)
        self._jobs, self.asked = jobs, now

    def of(self, key: RingKey) -> list[SlurmJob]:
        """The jobs of a ring: several where it is a heterogeneous one."""
        return self._jobs.get(_name(key), [])

    def end_strays(self, rings: Collection[RingKey], now: float) -> None:
        """Cancel jobs that none of these rings is for, and let no older number of theirs start any more."""
        known = set(map(_name, rings))
        strays: set[int] = set()
        for name, jobs in self._jobs.items():
            if name not in known:
                self._raise_fence(name)
                strays |= {job.lead for job in jobs if job.standing in (Standing.WAITING, Standing.HOLDING)}
        fresh = [number for number in strays if now - self._strays.get(number, 0.0) > _STRAY_SECONDS]
        self._strays = {number: now if number in fresh else self._strays[number] for number in strays}
        self._slurm.cancel(fresh)

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
