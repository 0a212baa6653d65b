"""The servers as Ray tells them, look after look: who is there, who went or came, what others have taken."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gadget.backends.backend import ClusterFound, Report, ServerCameBack, ServerWentAway
from gadget.backends.ray_cluster import (
    HOST_LABEL,
    Amounts,
    Node,
    Roll,
    find_cluster,
    find_taken,
    limit_cluster,
    read_nodes,
)
from gadget.model.cluster import Cluster
from gadget.model.quantity import TOLERANCE

SETTLED_SECONDS = 3.0
"""What others take counts when it has stayed so long: Ray's accounts lag behind what comes and goes."""
_MOST_NAMED = 8

Told = Sequence[Mapping[str, Any]]
Held = Mapping[str, Amounts]

_log = logging.getLogger(__name__)


class RayServers:
    """All servers of one service. Those that go stay in the cluster, and are away."""

    def __init__(
        self, wanted: Cluster | None, known: Cluster | None = None, only: Mapping[str, str] | None = None
    ) -> None:
        """`wanted` is the cluster of a file; without one, `known` is that of an earlier life."""
        self._wanted, self._only = wanted, dict(only or {})
        self.nodes: Mapping[str, Node] = {}
        self.away: set[str] = set()
        self.whole = wanted or known or Cluster((), (), ())
        """Every server with all that is ours of it, if nobody else had any."""
        self.shown = self.whole
        """As last told."""
        self._taken: dict[str, dict[str, float]] = {}
        self._doubts: dict[tuple[str, str], tuple[float, float]] = {}
        """Of a server and a resource: what others seem to have, and since when."""
        self._seen: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
        """What others had in the last two looks when nothing of ours came or went on the server."""
        self._twins: set[str] = set()

    @property
    def is_known(self) -> bool:
        """True when there are servers even before Ray was asked."""
        return bool(self.whole.servers)

    @property
    def addresses(self) -> dict[str, str]:
        """Where each server is reached; empty of those that are away."""
        nodes = self.nodes
        return {name: nodes[name].address if name in nodes else "" for name in self.whole.server_by_name}

    def want(self, cluster: Cluster) -> None:
        """These servers are ours, and no others; said before the first look."""
        self._wanted = self.whole = self.shown = cluster

    def begin(self, told: Told, held: Held) -> None:
        """The first look: what is there, and what is left of it beside what our ranks hold already."""
        self.nodes = self._read(told).alive
        self.whole = self._find_whole()
        ours = self._ours()
        self._taken = {node.server: find_taken(node, held.get(node.server, {})) for node in ours}
        self.shown = limit_cluster(self.whole, self.nodes, self._taken)
        self.away = self.whole.server_by_name.keys() - self.nodes.keys()

    @property
    def is_short(self) -> bool:
        """True when others have something of what is ours."""
        return self.shown != limit_cluster(self.whole, self.nodes, {})

    def look(self, told: Told, held: Held, unsettled: Iterable[str], now: float) -> list[Report]:
        """Another look; `held` is what our ranks hold, `unsettled` are servers where some come or go."""
        roll = self._read(told)
        alive, before, self.nodes = roll.alive, self.nodes, roll.alive
        self.whole = self._find_whole()
        reports: list[Report] = []
        for server in self.whole.server_by_name:
            node, old = alive.get(server), before.get(server)
            is_new = node is not None and old is not None and old.id != node.id
            if (node is None or is_new) and server not in self.away:
                self.away.add(server)
                reports.append(ServerWentAway(server, roll.dead.get(server) or "its node is gone"))
            if node is not None and server in self.away:
                self.away.discard(server)
                self._taken.pop(server, None)
                self._seen.pop(server, None)
                reports.append(ServerCameBack(server))
        self._look_at_use(held, frozenset(unsettled), now)
        return [*reports, *self._show()]

    def lacks_room(self, server: str, wanted: Amounts, waiting: Amounts, held: Held) -> bool:
        """Whether Ray has certainly no room for a worker; `waiting` is what all that have not come up need.

        What is in use beyond `held` may be theirs: Ray sets it aside before it starts a worker.
        """
        if (node := self.nodes.get(server)) is None:
            return False
        seen = find_taken(node, held.get(server, {}))
        last, before = self._seen.get(server, ({}, {}))

        def lacks(name: str, amount: float) -> bool:
            least = TOLERANCE * max(1.0, amount)
            # One look alone may show what ours have just given back.
            others = min(last.get(name, 0.0), before.get(name, 0.0))
            fresh = seen.get(name, 0.0) - max(others, self._taken.get(server, {}).get(name, 0.0))
            is_full = node.free.get(name, 0.0) < amount - least
            return name in node.amounts and is_full and fresh < waiting.get(name, 0.0) - least

        return any(lacks(name, amount) for name, amount in wanted.items())

    def give_up(self, server: str, held: Held) -> list[Report]:
        """Others have what is in use there, whether it has stayed or not."""
        if server in self.nodes:
            self._taken[server] = find_taken(self.nodes[server], held.get(server, {}))
        return self._show()

    def find_complaints(self, told: Told) -> list[str]:
        """What was said of the servers and does not fit what Ray has, for people."""
        there = [one for one in told if one["alive"]]
        if self._only and not self.nodes:
            label = ",".join(f"{name}={value}" for name, value in self._only.items())
            names = _list([f"{_name(one)} ({_format_labels(one['labels'])})" for one in there])
            return [
                f"no node of Ray has the label {label}; it has {names}. Correct --node-label, or start nodes "
                f"with --labels={label}."
            ]
        if self._wanted is not None and (missing := sorted(self.away)):
            others = [name for name in map(_name, there) if name not in self._wanted.server_by_name]
            return [
                f"Ray has no node for {_list(missing)} of the cluster's file; "
                f"nodes that the file does not name: {_list(others)}. Servers go by the label {HOST_LABEL} "
                "of their nodes, or by their addresses. Correct the file, or start the nodes with "
                f"--labels={HOST_LABEL}={missing[0]}."
            ]
        if not self.whole.servers:
            return [
                f"Ray has no node with GPUs or cores; it has {_list(list(map(_name, there)))}. Start some."
            ]
        return []

    def _read(self, told: Told) -> Roll:
        roll = read_nodes(told, only=self._only, before=self.nodes)
        for server in sorted(roll.twins - self._twins):
            _log.warning(
                "several Ray nodes go by the name %s; only %s counts. Give each a label %s of its own.",
                server,
                roll.alive[server].id,
                HOST_LABEL,
            )
        self._twins |= roll.twins
        return roll

    def _ours(self) -> list[Node]:
        return [self.nodes[name] for name in self.whole.server_by_name if name in self.nodes]

    def _look_at_use(self, held: Held, unsettled: frozenset[str], now: float) -> None:
        for node in self._ours():
            seen = find_taken(node, held.get(node.server, {}))
            known = self._taken.setdefault(node.server, {})
            if node.server not in unsettled:
                self._seen[node.server] = (seen, self._seen.get(node.server, (known, known))[0])
            for name in node.amounts:
                key, amount = (node.server, name), seen.get(name, 0.0)
                doubt = self._doubts.get(key)
                if node.server in unsettled or amount == known.get(name, 0.0):
                    self._doubts.pop(key, None)
                elif doubt is None or doubt[0] != amount:
                    self._doubts[key] = (amount, now)
                elif now - doubt[1] >= SETTLED_SECONDS:
                    known[name] = amount
                    del self._doubts[key]

    def _show(self) -> list[Report]:
        seen = limit_cluster(self.whole, self.nodes, self._taken)
        if seen == self.shown:
            return []
        self.shown = seen
        return [ClusterFound(seen)]

    def _find_whole(self) -> Cluster:
        found = find_cluster(self.nodes, self._wanted, self.whole if self.is_known else None)
        return self.whole if found == self.whole else found


def _name(one: Mapping[str, Any]) -> str:
    return str(one["labels"].get(HOST_LABEL) or one["address"])


def _format_labels(labels: Mapping[str, str]) -> str:
    own = [f"{name}={value}" for name, value in sorted(labels.items()) if not name.startswith("ray.io/")]
    return ", ".join(own) or "no labels"


def _list(names: Sequence[str]) -> str:
    told = ", ".join(names[:_MOST_NAMED]) or "none"
    return told if len(names) <= _MOST_NAMED else f"{told} and {len(names) - _MOST_NAMED} more"
