"""One process at a time: a lock that ends with its process, however that ends."""

import errno
import fcntl
import os
from pathlib import Path

from gadget.errors import JournalFailed, JournalTaken

# The system's locks are between processes; within this one we keep count ourselves. Nothing else may open
# the side file here: closing it would let go of the lock.
_held: set[Path] = set()


class ProcessLock:
    """Holds `<path>.lock` from its making until `release`; children of this process do not hold it."""

    def __init__(self, path: Path) -> None:
        real = path.resolve()
        self._side = real.with_name(f"{real.name}.lock")
        if self._side in _held:
            raise JournalTaken(f"{path}: is open in this process already. Close it there first.")
        try:
            self._file = os.open(self._side, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalFailed(
                f"{self._side}: cannot be opened ({error.strerror}). Correct the folder or its permissions."
            ) from None
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise JournalFailed(
                    f"{self._side}: cannot be locked ({error.strerror}). Choose a disk of this machine."
                ) from None
            raise JournalTaken(
                f"{path}: another service has it (process {holder}). Stop that one, or name another file."
            ) from None
        _held.add(self._side)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next one in."""
        if self._side in _held:
            os.close(self._file)
            _held.remove(self._side)
