"""Servers without a network of their own: an address each on the loopback device, and no limit of speed."""

import hashlib

from gadget.model.cluster import Cluster


class Loopback:
    """Every server has an address 127.x.y.z; two instances on a machine seldom share one."""

    interface = "lo"
    identity = "loopback"

    def __init__(self, cluster: Cluster, instance: str) -> None:
        first, second = hashlib.sha256(instance.encode()).digest()[:2]
        self._addresses = {
            server.name: f"127.{1 + first % 254}.{(second + place // 254) % 256}.{1 + place % 254}"
            for place, server in enumerate(cluster.servers)
        }

    def make(self) -> None:
        """Nothing is needed."""

    def is_made(self) -> bool:
        """Always."""
        return True

    def remove(self) -> None:
        """Nothing was made."""

    def address(self, node: str) -> str:
        """The address of a server."""
        return self._addresses[node]

    def enter(self, node: str) -> list[str]:  # noqa: ARG002 - all servers are here
        """A command runs on a server as it is."""
        return []

    def set_links(self, node: str, *, up: bool) -> None:
        """There are no links to take down."""
