"""An engine to look at: it offers a cluster, has no rings and obeys nobody."""

from collections.abc import Callable, Sequence

from gadget.backends.backend import Dismissal, Inventory, Launch, Report, RingFound, RingKey
from gadget.errors import BadOption
from gadget.model.cluster import Cluster


class StillBackend:
    """A backend (see `gadget.backends.backend.Backend`) that touches nothing."""

    name = "none"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def open(self, deliver: Callable[[Report], None]) -> Inventory:  # noqa: ARG002 - it has nothing to report
        """What it offers."""
        return Inventory(self._cluster)

    def survey(self) -> Sequence[RingFound]:
        """No rings."""
        return ()

    def launch(self, order: Launch) -> None:
        """Nothing is started."""

    def dismiss(self, order: Dismissal) -> None:
        """Nothing is stopped."""

    def forget(self, key: RingKey) -> None:
        """Nothing is known."""

    def read_log(self, job: str, *, rank: int, lines: int) -> str:  # noqa: ARG002 - there are none
        """There are no logs."""
        raise BadOption(f"job {job!r} has no logs: this service only observes.")

    def close(self, *, keep_rings: bool) -> None:
        """Nothing to end."""
