"""A trace: the jobs of another system as columns, and what was left out on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Texts = NDArray[Any]
"""Names as numpy holds text of any length (`numpy.dtypes.StringDType`)."""


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """A column of words of which there are few: a number for each row, and the word of each number."""

    codes: NDArray[np.int32]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "Labels":
        return Labels(self.codes[rows], self.words)

    def counts(self) -> dict[str, int]:
        """How many rows each word has, most first; words of no row are left out."""
        numbers = np.bincount(self.codes, minlength=len(self.words))
        order = np.argsort(-numbers, kind="stable")
        return {self.words[k]: int(numbers[k]) for k in order if numbers[k]}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read: where, and why."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class BadRows:
    """How many rows could not be read, and the first few of them."""

    count: int = 0
    first: tuple[BadRow, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Jobs by submission. A column that a format does not have is None; NaN stands for what is not known."""

    source: str
    """The format that it was read from."""
    files: tuple[str, ...]
    names: Texts
    submit_seconds: Floats
    """By the trace's own clock, sorted."""
    duration_seconds: Floats
    """How long the job ran with its GPUs; NaN where the trace does not tell."""
    gpus: Integers
    """Workers, one GPU or a share of one each."""
    gpu_share: Floats | None = None
    """What each worker takes of a GPU, where GPUs are shared; None: a whole one."""
    user: Labels | None = None
    group: Labels | None = None
    """Virtual cluster, scheduling class or quality of service."""
    application: Labels | None = None
    status: Labels | None = None
    extra: Mapping[str, Floats] = field(default_factory=dict)
    """steps, batch_size, priority, deadline_seconds (from submission on), where the trace has them."""
    notes: tuple[str, ...] = ()
    """What was assumed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Jobs that are none of ours, by reason."""
    bad: BadRows = BadRows()
    origin_seconds: float | None = None
    """Where its time begins, by its own clock; None: with its first job."""

    def __len__(self) -> int:
        return len(self.submit_seconds)

    @property
    def since_start(self) -> Floats:
        """Submissions in seconds after its time began."""
        return self.submit_seconds - self._origin

    @property
    def _origin(self) -> float:
        if self.origin_seconds is not None:
            return self.origin_seconds
        return float(self.submit_seconds[0]) if len(self) else 0.0

    @property
    def gpu_demand(self) -> Floats:
        """GPUs that each job holds while it runs."""
        whole = self.gpus.astype(np.float64)
        return whole if self.gpu_share is None else whole * self.gpu_share

    def take(self, rows: Any, *, later: float = 0.0) -> "Trace":
        """Only these rows, by number or by mask; time begins as before, or that many seconds later."""
        columns: dict[str, Any] = {
            one.name: value[rows]
            for one in fields(self)
            if isinstance(value := getattr(self, one.name), np.ndarray | Labels)
        }
        columns["extra"] = {key: values[rows] for key, values in self.extra.items()}
        return replace(self, **columns, origin_seconds=self._origin + later)

    def said(self, *notes: str) -> "Trace":
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))
