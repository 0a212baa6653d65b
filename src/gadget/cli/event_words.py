"""Entries of the journal in a line for people."""

import time
from collections.abc import Callable, Mapping
from typing import Any

_MOST_NAMES = 5


def tell_time(at: float) -> str:
    """The time of day, here."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def tell_event(entry: dict[str, Any]) -> str:
    """What happened, in one line; a kind that a newer service has is told by its name."""
    tell = _WORDS.get(entry["kind"])
    return entry["kind"].replace("-", " ") if tell is None else tell(entry["event"])


def _tell_decision(decision: dict[str, Any], remark: str = "") -> str:
    rings, waiting = len(decision["rings"]), len(decision["waiting"])
    return (
        f"slot {decision['slot']}: {rings} ring{'' if rings == 1 else 's'}, {waiting} waiting{remark} "
        f"({decision['seconds']:.2f} s)"
    )


def _tell_arrival(jobs: list[dict[str, Any]]) -> str:
    names = [job["name"] for job in jobs]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more} came"


def _tell_reason(reason: str) -> str:
    return f": {reason}" if reason else ""


_WORDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "jobs-arrived": lambda e: _tell_arrival(e["jobs"]),
    "job-left": lambda e: f"{e['job']} was cancelled",
    "job-finished": lambda e: f"{e['job']} finished, {e['work']:.6g} work done",
    "ring-failed": lambda e: (
        f"the ring of {e['job']} broke: {e['reason'].rstrip('.')}; back to {e['work']:.6g} work"
    ),
    "work-lost": lambda e: f"{e['job']} lost work: {e['reason'].rstrip('.')}; back to {e['work']:.6g}",
    "speed-measured": lambda e: f"the speed of {e['job']} was measured",
    "slot-decided": lambda e: _tell_decision(e["decision"]),
    "slot-observed": lambda e: _tell_decision(e["decision"], ", observed only"),
    "slot-served": lambda e: f"slot {e['slot']} is over",
    "noted": lambda e: f"{e['topic']}: {e['text']}",
    "server-failed": lambda e: f"server {e['server']} went away{_tell_reason(e['reason'])}",
    "server-returned": lambda e: f"server {e['server']} came back",
    "server-drained": lambda e: f"server {e['server']} is drained",
    "server-undrained": lambda e: f"server {e['server']} takes workers again",
    "cluster-changed": lambda e: f"the cluster has {len(e['cluster']['servers'])} servers now",
}
