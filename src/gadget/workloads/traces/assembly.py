"""From the columns of any format to a trace: checked, what is none of ours left out, sorted."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gadget.model.quantity import MOST_WORKERS
from gadget.workloads.traces.table import Reading, Table
from gadget.workloads.traces.trace import Floats, Labels, Texts, Trace

LATEST_SECONDS = 1e12
"""Times beyond this are no times: thirty thousand years."""

NO_GPU = "ask for no GPU"
NEVER_RAN = "never ran"


def assemble(
    source: str,
    table: Table,
    reading: Reading,
    *,
    submit: Floats,
    duration: Floats,
    gpus: Floats,
    names: Texts | None = None,
    gpu_share: Floats | None = None,
    labels: Mapping[str, Labels | None] | None = None,
    extra: Mapping[str, Floats] | None = None,
    notes: tuple[str, ...] = (),
    left_out: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Trace:
    """The trace of a table whose rows are jobs; `left_out` masks rows that are none of ours, by reason.

    Rows with times or GPUs that cannot be are bad ones; jobs that ask for 0 GPUs are left out.
    """
    columns: dict[str, Any] = {"submit": submit, "duration": duration, "gpus": gpus}
    columns["names"] = number_names(source, len(table)) if names is None else names
    if gpu_share is not None:
        columns["share"] = gpu_share
    columns |= {f"label {name}": found for name, found in (labels or {}).items() if found is not None}
    columns |= {f"extra {name}": found for name, found in (extra or {}).items()}
    rows = Table(table.parts, columns, table.part, table.line)
    counts: dict[str, int] = {}
    gone = np.zeros(len(rows), dtype=bool)
    for reason, mask in (left_out or {}).items():
        counts[reason] = int((mask & ~gone).sum())
        gone |= mask
    rows = rows.keep(~gone)
    rows = _refuse_odd(rows, reading)
    reading.check()
    none = rows["gpus"] == 0
    counts[NO_GPU] = int(none.sum())
    rows = rows.keep(~none)
    rows = rows.keep(np.argsort(rows["submit"], kind="stable"))
    return Trace(
        source=source,
        files=tuple(str(part.path) for part in table.parts),
        names=rows["names"],
        submit_seconds=rows["submit"],
        duration_seconds=rows["duration"],
        gpus=rows["gpus"].astype(np.int64),
        gpu_share=rows.get("share"),
        **{name: rows.get(f"label {name}") for name in ("user", "group", "application", "status")},
        extra={name: rows[f"extra {name}"] for name in extra or {}},
        notes=notes,
        left_out={reason: count for reason, count in counts.items() if count},
        bad=reading.bad,
    )


def number_names(prefix: str, count: int) -> Texts:
    """Names for jobs that have none: numbered by row."""
    return np.array([f"{prefix}-{row}" for row in range(count)], dtype=np.dtypes.StringDType())


def _refuse_odd(rows: Table, reading: Reading) -> Table:
    rules: tuple[tuple[str, Callable[[Any], Any], str], ...] = (
        ("submit", lambda t: ~(t >= 0), "is submitted at {:g} s, before time began"),
        ("submit", lambda t: t > LATEST_SECONDS, "is submitted at {:g} s, which is no time"),
        ("duration", lambda t: t < 0, "ends before it starts, by {:g} s"),
        ("duration", lambda t: t > LATEST_SECONDS, "lasts {:g} s, which is no time"),
        ("gpus", lambda g: ~(g >= 0), "asks for {:g} GPUs"),
        ("gpus", lambda g: g != np.floor(g), "asks for {:g} GPUs, no whole number"),
        ("gpus", lambda g: g > MOST_WORKERS, f"asks for {{:g}} GPUs, more than {MOST_WORKERS:,}"),
        ("share", lambda s: ~((s >= 0) & (s <= 1)), "asks for {:g} of a GPU"),
    )
    for name, odd, reason in rules:
        values = rows.get(name)
        if values is not None:
            rows = rows.refuse(reading, odd(values), lambda row, v=values, r=reason: r.format(v[row]))  # type: ignore[misc]
    return rows
