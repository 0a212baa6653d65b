"""The servers as Ray tells them, look after look: who is there, who went or came, what others have taken."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gadget.backends.backend import ClusterFound, Report, ServerCameBack, ServerWentAway
from gadget.backends.ray_cluster import Node, find_cluster, limit_cluster, read_nodes
from gadget.model.cluster import Cluster

SETTLED_SECONDS = 3.0
"""What others take counts when it has stayed so long: Ray's accounts lag behind what comes and goes."""

Told = Iterable[Mapping[str, Any]]


class RayServers:
    """All servers of one service. Those that go stay in the cluster, and are away."""

    def __init__(
        self, wanted: Cluster | None, known: Cluster | None = None, only: Mapping[str, str] | None = None
    ) -> None:
        """`wanted` is the cluster of a file; without one, `known` is that of an earlier life."""
        self._wanted, self._only = wanted, dict(only or {})
        self.nodes: dict[str, Node] = {}
        self.away: set[str] = set()
        self.whole = wanted or known or Cluster((), (), ())
        """Every server with all that is ours of it, if nobody else had any."""
        self.shown = self.whole
        """As last told."""
        self._doubt: tuple[Cluster, float] | None = None

    @property
    def is_known(self) -> bool:
        """True when there are servers even before Ray was asked."""
        return bool(self.whole.servers)

    @property
    def addresses(self) -> dict[str, str]:
        """Where each server is reached; empty of those that are away."""
        nodes = self.nodes
        return {name: nodes[name].address if name in nodes else "" for name in self.whole.server_by_name}

    def begin(self, told: Told) -> None:
        """The first look: what is there."""
        self.nodes, _ = read_nodes(told, only=self._only)
        self.whole = self._find_whole()
        # What others take is told once it has stayed.
        empty = {name: replace(node, free=node.amounts) for name, node in self.nodes.items()}
        self.shown = limit_cluster(self.whole, empty, {})
        self.away = self.whole.server_by_name.keys() - self.nodes.keys()

    def look(
        self, told: Told, held: Mapping[str, Mapping[str, float]], calm_now: float | None
    ) -> list[Report]:
        """Another look; `held` is what our ranks hold, `calm_now` the time if none of them comes or goes."""
        alive, dead = read_nodes(told, only=self._only)
        before, self.nodes = self.nodes, alive
        self.whole = self._find_whole()
        reports: list[Report] = []
        for server in self.whole.server_by_name:
            node, old = alive.get(server), before.get(server)
            is_new = node is not None and old is not None and old.id != node.id
            if (node is None or is_new) and server not in self.away:
                self.away.add(server)
                reports.append(ServerWentAway(server, dead.get(server) or "its node is gone"))
            if node is not None and server in self.away:
                self.away.discard(server)
                reports.append(ServerCameBack(server))
        return [*reports, *self._look_at_use(held, calm_now)]

    def _look_at_use(
        self, held: Mapping[str, Mapping[str, float]], calm_now: float | None
    ) -> Iterable[Report]:
        seen = limit_cluster(self.whole, self.nodes, held)
        if seen == self.shown or calm_now is None:
            self._doubt = None
        elif self._doubt is None or self._doubt[0] != seen:
            self._doubt = (seen, calm_now)
        elif calm_now - self._doubt[1] >= SETTLED_SECONDS:
            self.shown, self._doubt = seen, None
            yield ClusterFound(seen)

    def _find_whole(self) -> Cluster:
        found = find_cluster(self.nodes, self._wanted, self.whole if self.is_known else None)
        return self.whole if found == self.whole else found
