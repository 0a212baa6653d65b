"""Network namespaces of a cluster, made with `ip` and `tc` as root on Linux.

All names begin with a prefix of the instance, so that what it made can be found and removed at any time,
also by a later life of it, and nothing of anybody else's.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache

from gadget.backends.netns_plan import Node, Plan, build_plan, namespace_prefix
from gadget.errors import GadgetError
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources

# Every call ends by then, even if the kernel's network lock is stuck.
_MOST_SECONDS = 30.0
_KILL_SECONDS = 1.0
_FORWARDING = (
    "echo 1 >/proc/sys/net/ipv4/ip_forward && "
    "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f || exit 1; done"
)


class NetworkFailed(GadgetError):
    """Namespaces could not be made, changed or removed."""


class Namespaces:
    """The namespaces of one cluster. Nothing is there before `make`, nothing after `remove`."""

    interface = "eth0"

    def __init__(self, cluster: Cluster, instance: str, *, scale: float = 1.0) -> None:
        self.instance = instance
        self.plan: Plan = build_plan(cluster, instance, scale)

    @property
    def identity(self) -> str:
        """Equal for equal networks: what is there can be used again."""
        return self.plan.fingerprint

    def make(self) -> None:
        """Make all of them, after removing what is left under their names."""
        remove_namespaces(self.instance)
        nodes = self.plan.nodes.values()
        _batch(("ip",), [*(f"netns add {node.namespace}" for node in nodes), *self.plan.cables()])
        for node in nodes:
            self._set_up(node)

    def is_made(self) -> bool:
        """True when every namespace is there (their insides are not looked at)."""
        return {node.namespace for node in self.plan.nodes.values()} == set(list_namespaces(self.instance))

    def remove(self) -> None:
        """Remove them all; the cables go with them."""
        remove_namespaces(self.instance)

    def address(self, node: str) -> str:
        """The address of a node, on its eth0."""
        return self.plan.nodes[node].address

    def enter(self, node: str) -> list[str]:
        """What to put before a command for it to run on this node."""
        return ["ip", "netns", "exec", self.plan.nodes[node].namespace]

    def set_links(self, node: str, *, up: bool) -> None:
        """Take down every cable of a node, or bring them up again with the routes that were lost."""
        found = self.plan.nodes[node]
        if up:
            self._set_up(found)
            # Who asked for it in vain would believe for seconds that it is not there.
            for other in self.plan.nodes.values():
                _run(("ip", "-n", other.namespace, "neigh", "flush", "all"))
        else:
            lines = [f"link set {port.interface} down" for port in found.ports]
            _batch(("ip", "-n", found.namespace), lines)

    def _set_up(self, node: Node) -> None:
        _batch(("ip", "-n", node.namespace), self.plan.setup(node.name))
        _batch(("tc", "-n", node.namespace), [port.qdisc for port in node.ports if port.qdisc])
        if node.forwards:
            _run(("ip", "netns", "exec", node.namespace, "sh", "-c", _FORWARDING))


def list_namespaces(instance: str) -> list[str]:
    """Names of all namespaces that the instance has."""
    prefix = namespace_prefix(instance)
    names = (line.split()[0] for line in _run(("ip", "netns", "list")).splitlines() if line.strip())
    return [name for name in names if name.startswith(prefix)]


def remove_namespaces(instance: str) -> None:
    """Remove every namespace of the instance, whichever life of it made them."""
    # A process that still runs in one keeps its network alive without a name: end processes first.
    _batch(("ip",), [f"netns delete {name}" for name in list_namespaces(instance)])


def why_no_tools() -> str:
    """Why namespaces are out of the question here; empty when they may be tried."""
    if sys.platform != "linux":
        return "network namespaces are a thing of Linux"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if missing := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"{missing[0]} is missing; install iproute2"
    return ""


@cache
def why_no_namespaces(instance: str = "") -> str:
    """Why namespaces cannot be made here; empty when they can. Tried for real, once.

    The trial is made in the name of the instance, so that what a sudden end leaves of it is removed by the
    next one.
    """
    if why := why_no_tools():
        return why
    some = Resources({"gpu": 1})
    links = (Link(("a", "switch"), 1), Link(("b", "switch"), 1))
    trial = Cluster((Server("a", some), Server("b", some)), ("switch",), links)
    namespaces = Namespaces(trial, f"trial of {instance or os.getpid()}")
    try:
        try:
            namespaces.make()
        finally:
            namespaces.remove()
    except NetworkFailed as error:
        return str(error)
    return ""


def can_make_namespaces() -> bool:
    """True when namespaces with limited links can be made here."""
    return not why_no_namespaces()


def _batch(tool: Sequence[str], lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if text:
        _run((*tool, "-batch", "-"), text)


def _run(command: Sequence[str], text: str = "") -> str:
    shown = " ".join(command)
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    except OSError as error:
        raise NetworkFailed(f"`{shown}` cannot be run ({error.strerror})") from None
    with _closing_pipes(child):
        try:
            out, told = child.communicate(text, timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            # One that waits in the kernel does not hear it: it is left behind, never waited for.
            with suppress(subprocess.TimeoutExpired):
                child.wait(_KILL_SECONDS)
            raise NetworkFailed(f"`{shown}` did not end within {_MOST_SECONDS:g} s") from None
    if child.returncode != 0:
        said = " ".join(told.split()) or f"exit code {child.returncode}"
        raise NetworkFailed(f"`{shown}` failed: {said}")
    return out


@contextmanager
def _closing_pipes(child: "subprocess.Popen[str]") -> Iterator[None]:
    try:
        yield
    finally:
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
