"""The rings of runs, read from the decisions that they left."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from gadget.errors import BadFile
from gadget.model.codec import parse_decision
from gadget.model.ring import Ring
from gadget.simulate.folder import DECISIONS

# How a line of ours begins: enough to tell whether it is wanted, without reading its rings.
_HEAD = re.compile(rb'\{"version": \d+, "slot": (\d+), "policy": ("(?:[^"\\]|\\.)*"), "seed": (\d+)')


@dataclass(frozen=True, slots=True)
class Held:
    """Rings that ran from one slot up to another, which they did not reach."""

    start: int
    end: int
    rings: tuple[Ring, ...]


def read_rings(folder: Path, seed: int, slots: int | None, *, every: int = 1) -> dict[str, list[Held]]:
    """For each policy what ran when, with one seed; equal slots in a row are one.

    A decision holds until the next, and the last one until `slots`, if these are known. Of long runs only
    what ran in slots 0, every, 2·every … is kept.
    """
    file = folder / DECISIONS
    found: dict[str, list[Held]] = {}
    try:
        with file.open("rb") as lines:
            for policy, start, end, line in _spans(lines, seed, slots):
                kept = found.setdefault(policy, [])
                if -(-start // every) * every < end:
                    _append(kept, Held(start, end, parse_decision(line).allocation.rings))
    except (OSError, ValueError) as error:
        raise BadFile(f"{file}: does not tell of decisions ({error}). Start over with --force.") from None
    return found


def _spans(lines: BinaryIO, seed: int, slots: int | None) -> Iterator[tuple[str, int, int, bytes]]:
    """Every decision of a seed with its policy, its slot and that of the next one; runs come one by one."""
    last: tuple[str, int, bytes] | None = None
    for line in lines:
        slot, policy, its_seed = _read_head(line)
        if its_seed != seed:
            continue
        if last is not None:
            before, start, kept = last
            yield before, start, slot if before == policy else max(start + 1, slots or 0), kept
        last = policy, slot, line
    if last is not None:
        policy, start, kept = last
        yield policy, start, max(start + 1, slots or 0), kept


def _append(found: list[Held], one: Held) -> None:
    if found and found[-1].end == one.start and found[-1].rings == one.rings:
        found[-1] = replace(found[-1], end=one.end)
    else:
        found.append(one)


def _read_head(line: bytes) -> tuple[int, str, int]:
    """Slot, policy and seed of a decision."""
    head = _HEAD.match(line)
    if head is not None:
        return int(head[1]), str(json.loads(head[2])), int(head[3])
    decision = parse_decision(line)
    return decision.slot, decision.policy, decision.seed
