"""Nodes as `scontrol show node` tells of them: what they have, what is taken, whether they can be used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_PAIR = re.compile(r"(?:^|\s)([A-Za-z_:/]+)=(\S*)")
_REASON = re.compile(r"\sReason=(.*?)(?:\s\[\S+\])?\s*$")
_GRES = re.compile(r"([^:,()]+)(?::([^:,()]+))?:([0-9]+)([KMG]?)(?:\([^)]*\))?")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# States and flags of a node whose jobs are gone, and of one that takes no more.
_LOST = frozenset(("DOWN", "ERROR", "FUTURE", "POWERED_DOWN"))
_CLOSED = frozenset(
    (
        "DRAIN",
        "DRAINED",
        "DRAINING",
        "FAIL",
        "FAILING",
        "MAINT",
        "POWERING_DOWN",
        "POWER_DOWN",
        "REBOOT",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
    )
)
# Unknown is every node for a moment after slurmctld has started.
_SILENT = frozenset(("NOT_RESPONDING", "NO_RESPOND", "UNKNOWN"))
GIB = 1024.0


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node."""

    name: str
    address: str
    states: frozenset[str]
    has: Mapping[str, float] = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    """By anyone's jobs."""
    threads_per_core: int = 1
    partitions: frozenset[str] = frozenset()
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        """True when what ran there is gone."""
        return bool(self.states & _LOST)

    @property
    def is_silent(self) -> bool:
        """True when Slurm waits for an answer of it; it may yet come."""
        return bool(self.states & _SILENT)

    @property
    def is_closed(self) -> bool:
        """True when nothing more may start there, though what runs may go on for a while."""
        return bool(self.states & _CLOSED)

    @property
    def is_reserved(self) -> bool:
        """True when only jobs of a reservation may start there."""
        return "RESERVED" in self.states

    @property
    def is_planned(self) -> bool:
        """True when Slurm keeps what is free there for a job that waits."""
        return "PLANNED" in self.states

    def describe(self) -> str:
        """Its state in Slurm's words."""
        told = "+".join(sorted(self.states)).lower()
        return f"Slurm says {told}" + (f": {self.reason}" if self.reason else "")


def parse_nodes(text: str, *, counts_memory: bool) -> Iterator[SlurmNode]:
    """The nodes of `scontrol -d -o show node`."""
    for line in text.splitlines():
        # The reason is an operator's text and may hold anything, so it is cut off first.
        reason = _REASON.search(line)
        pairs: dict[str, str] = dict(_PAIR.findall(line[: reason.start()] if reason else line))
        if "NodeName" not in pairs:
            continue
        has = {**_parse_gres(pairs.get("Gres", "")), "cpu": _float(pairs, "CPUEfctv", "CPUTot")}
        used = {**_parse_gres(pairs.get("GresUsed", "")), "cpu": _float(pairs, "CPUAlloc")}
        if counts_memory:
            has["memory_gib"] = max(_float(pairs, "RealMemory") - _float(pairs, "MemSpecLimit"), 0.0) / GIB
            used["memory_gib"] = _float(pairs, "AllocMem") / GIB
        yield SlurmNode(
            name=pairs["NodeName"],
            address=pairs.get("NodeAddr", pairs["NodeName"]),
            states=_parse_states(pairs.get("State", "UNKNOWN")),
            has=has,
            used=used,
            threads_per_core=int(_float(pairs, "ThreadsPerCore")) or 1,
            partitions=frozenset(filter(None, pairs.get("Partitions", "").split(","))),
            reason=reason[1].strip() if reason else "",
        )


def _parse_states(text: str) -> frozenset[str]:
    # Older versions mark flags by a sign at the end of the state: DOWN*, IDLE~.
    words = text.replace("*", "+NOT_RESPONDING").replace("~", "+POWERED_DOWN").split("+")
    return frozenset(re.sub(r"[#%$@^!-]", "", word) for word in words if word)


def _parse_gres(text: str) -> dict[str, float]:
    """gpu:a100:4(S:0-1),gpu:2 → {"gpu": 6}; (null) is nothing, or a type that nobody has told."""
    amounts: dict[str, float] = {}
    for name, _, count, unit in _GRES.findall(text.replace(":(null)", "").replace("(null)", "")):
        amounts[name] = amounts.get(name, 0.0) + float(count) * _SCALE[unit]
    return amounts


def _float(pairs: Mapping[str, str], *names: str) -> float:
    for name in names:
        try:
            return float(pairs[name])
        except (KeyError, ValueError):
            continue
    return 0.0
