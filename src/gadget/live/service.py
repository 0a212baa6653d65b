"""What others may ask of the live service."""

from collections.abc import Sequence
from typing import Protocol

from gadget.live.view import View
from gadget.model.job import Job
from gadget.store.journal import Entry


class Service(Protocol):
    """The running service, as the HTTP interface sees it. Its methods may be called from any thread."""

    def view(self) -> View:
        """Where it stands; never waits."""
        ...

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs into the queue, all or none; BadInput or ImpossibleEvent says why not."""
        ...

    def cancel(self, job: str) -> None:
        """Take a job out, waiting or running; ImpossibleEvent if there is none."""
        ...

    def drain(self, server: str) -> None:
        """Let a server become empty; ImpossibleEvent if that cannot be."""
        ...

    def undrain(self, server: str) -> None:
        """Let a server take workers again; ImpossibleEvent if that cannot be."""
        ...

    def read_entries(self, after: int, limit: int) -> Sequence[Entry]:
        """Journal entries with numbers above `after`, oldest first."""
        ...

    def wait_for_entries(self, after: int, seconds: float) -> bool:
        """Wait until there is an entry above `after`, at most this long; True if there is."""
        ...

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines that a rank of the job's newest ring has printed; BadInput if there are none."""
        ...
