"""The rings of one run, read from the decisions that it left."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from gadget.errors import BadFile
from gadget.model.codec import parse_decision
from gadget.model.ring import Ring
from gadget.simulate.folder import DECISIONS

# How a line of ours begins: enough to tell whether it is wanted, without reading its rings.
_HEAD = re.compile(rb'\{"version": \d+, "slot": \d+, "policy": ("(?:[^"\\]|\\.)*"), "seed": (\d+)')


@dataclass(frozen=True, slots=True)
class Held:
    """Rings that ran from one slot up to another, which they did not reach."""

    start: int
    end: int
    rings: tuple[Ring, ...]


def read_rings(folder: Path, policy: str, seed: int, slots: int | None) -> list[Held]:
    """What ran when, of one policy with one seed; equal slots in a row are one.

    A decision holds until the next, and the last one until `slots`, if these are known.
    """
    found: list[Held] = []
    file = folder / DECISIONS
    try:
        with file.open("rb") as lines:
            for line in lines:
                if not _is_of(line, policy, seed):
                    continue
                decision = parse_decision(line)
                rings = decision.allocation.rings
                if found:
                    found[-1] = replace(found[-1], end=decision.slot)
                if not found or found[-1].rings != rings:
                    found.append(Held(decision.slot, decision.slot + 1, rings))
                else:
                    found[-1] = replace(found[-1], end=decision.slot + 1)
    except (OSError, ValueError) as error:
        raise BadFile(f"{file}: does not tell of decisions ({error}). Start over with --force.") from None
    if found and slots is not None:
        found[-1] = replace(found[-1], end=max(found[-1].end, slots))
    return found


def _is_of(line: bytes, policy: str, seed: int) -> bool:
    head = _HEAD.match(line)
    if head is None:
        document = json.loads(line)
        return (document.get("policy"), document.get("seed")) == (policy, seed)
    return int(head[2]) == seed and json.loads(head[1]) == policy
