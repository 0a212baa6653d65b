"""The decisions of a run on disk while it goes on, one JSON line a slot, so that it can be taken up again.

Before a decision that left prices stands a line with these: the next slot starts from them, whether or not
the run was broken off between the two. They are no part of any result.
"""

import fcntl
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from gadget.errors import BadFile
from gadget.model.cluster import Cluster
from gadget.model.codec import format_json, parse_decision
from gadget.model.decision import Decision
from gadget.model.prices import Floats, Prices

_PRICES = b'{"prices"'


class PartFile:
    """Reads what an earlier process decided, then takes down what this one does.

    A process that was killed may have left its last line unfinished; that line is dropped. The file is
    locked: a process that outlives its parent by a moment cannot write between our lines.
    """

    def __init__(self, path: Path, policy: str, seed: int) -> None:
        self._path = path
        self._policy = policy
        self._seed = seed
        self._file: BinaryIO
        self._read_slots = 0
        self._read_bytes = 0
        self._ahead: tuple[Decision, bytes] | None = None
        self._left = b""

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("a+b")
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise BadFile(
                f"{self._path}: cannot be opened ({error.strerror}). Choose another folder."
            ) from None
        self._file.seek(0)
        self._ahead = self._advance()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def has_more(self) -> bool:
        """True while `replay` has something to give."""
        return self._ahead is not None

    def replay(self) -> Iterator[Decision]:
        """The decisions taken down earlier."""
        while self._ahead is not None:
            (decision, self._left), self._ahead = self._ahead, self._advance()
            yield decision

    def recall(self, cluster: Cluster) -> Prices | None:
        """The prices that the decision last replayed left, on the cluster that stood then; None if none."""
        if not self._left:
            return None
        try:
            return _parse_prices(self._left, cluster)
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise BadFile(
                f"{self._path}: holds no prices of this cluster where they should be ({error}). "
                "Start over with --force."
            ) from None

    def append(self, decision: Decision) -> None:
        """Take down one more; it is out of our hands before the next slot begins."""
        prices = b"" if decision.prices is None else _format_prices(decision.prices)
        try:
            self._file.write(prices + format_json(decision, indent=None).encode())
            self._file.flush()
        except OSError as error:
            raise BadFile(
                f"{self._path}: cannot be written ({error.strerror}). Make room and resume."
            ) from None

    def _advance(self) -> tuple[Decision, bytes] | None:
        """The next decision of the file with its line of prices; at its end what is unfinished is cut off."""
        line = self._file.readline()
        prices = line if line.startswith(_PRICES) else b""
        if prices:
            line = self._file.readline()
        if not line.endswith(b"\n"):
            self._file.truncate(self._read_bytes)
            return None
        slot = self._read_slots
        self._read_slots += 1
        self._read_bytes += len(prices) + len(line)
        try:
            decision = parse_decision(line)
        except ValueError as error:
            raise BadFile(
                f"{self._path}:{slot + 1}: is no decision ({error}). Start over with --force."
            ) from None
        if (decision.slot, decision.policy, decision.seed) != (slot, self._policy, self._seed):
            raise BadFile(
                f"{self._path}:{slot + 1}: is not the decision of {self._policy!r}, seed {self._seed}, on "
                f"slot {slot}. Start over with --force."
            )
        return decision, prices


def finished_lines(path: Path) -> Iterator[bytes]:
    """The finished decisions of a part file, a line each, as they are; none if there is no file."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n") and not line.startswith(_PRICES))


def _format_prices(prices: Prices) -> bytes:
    """All bits of every price: many are alike or 0, so that they pack well."""
    packed = {"resources": _pack(prices.resources), "links": _pack(prices.links)}
    return json.dumps({"prices": packed}).encode() + b"\n"


def _parse_prices(line: bytes, cluster: Cluster) -> Prices:
    packed = json.loads(line)["prices"]
    resources = _unpack(packed["resources"]).reshape(len(cluster.servers), len(cluster.resource_names))
    return Prices(cluster, resources, _unpack(packed["links"]).reshape(2 * len(cluster.links)))


def _pack(numbers: Floats) -> str:
    return b64encode(zlib.compress(numbers.astype("<f8").tobytes(), level=1)).decode()


def _unpack(text: str) -> Floats:
    return np.frombuffer(zlib.decompress(b64decode(text, validate=True)), dtype="<f8").astype(np.float64)
