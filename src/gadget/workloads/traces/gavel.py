"""Gavel's traces: tab-separated jobs with steps to do; their durations follow from measured throughputs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from gadget.errors import BadFile, BadOption
from gadget.files import read_bytes
from gadget.model.names import nearest_hint
from gadget.workloads.traces.assembly import assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, read_table
from gadget.workloads.traces.trace import Trace

NAME = "gavel"
REFERENCE_GPU = "v100"
"""The type whose throughputs Gavel itself turned durations into steps with."""

_JOB, _STEPS = ("job_type", "command"), ("steps_arg", "needs_data", "total_steps")
_ORDER = ("scale_factor", "priority", "slo", "arrival")
LAYOUTS: Mapping[int, tuple[str, ...]] = {
    10: (*_JOB, "working_dir", *_STEPS, *_ORDER),
    9: (*_JOB, *_STEPS, *_ORDER),
    7: (*_JOB, *_STEPS, "arrival", "scale_factor"),
}
_BATCH = re.compile(r"batch size (\d{1,9})\)")

Throughputs = Mapping[str, Mapping[str, Mapping[str, object]]]
"""Steps a second by GPU type, job type with scale, and job that shares the GPU ("null": none)."""


def recognise(head: Head) -> bool:
    """True for lines of 7, 9 or 10 cells with steps, arrival and scale where they belong."""
    return _find_layout(head) is not None


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs, with steps in place of durations (see `with_durations`)."""
    layout = _find_layout(parts[0].head) or LAYOUTS[10]
    if any(_find_layout(part.head) != layout for part in parts):
        raise BadFile(f"{parts[0].path}: has not as many columns as the other files. Read them one by one.")
    numbers = dict.fromkeys(("total_steps", "scale_factor", "arrival"), Kind.NUMBER)
    table = read_table(
        parts,
        {"job_type": Kind.LABEL, **numbers},
        reading,
        optional={"priority": Kind.NUMBER, "slo": Kind.NUMBER},
        header=layout,
        delimiter="\t",
    )
    batches = [float(found[1]) if (found := _BATCH.search(w)) else np.nan for w in table["job_type"].words]
    extra = {
        "steps": table["total_steps"],
        "batch_size": np.array([*batches, np.nan])[table["job_type"].codes],
    }
    if "priority" in table.columns:
        extra |= {
            "priority": table["priority"],
            # −1 is none; else the deadline is this many times the duration after the submission.
            "deadline_factor": np.where(table["slo"] > 0, table["slo"], np.nan),
        }
    return assemble(
        NAME,
        table,
        reading,
        submit=table["arrival"],
        duration=np.full(len(table), np.nan),
        gpus=table["scale_factor"],
        labels={"application": table["job_type"]},
        extra=extra,
        notes=("the format tells steps, no durations: give --throughputs, or --assume-duration",),
    )


def read_throughputs(path: Path) -> Throughputs:
    """Gavel's *_throughputs.json."""
    try:
        return msgspec.json.decode(read_bytes(path), type=dict[str, dict[str, dict[str, object]]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFile(
            f"{path}: holds no throughputs ({error}). Give Gavel's simulation_throughputs.json, say."
        ) from None


def with_durations(trace: Trace, throughputs: Throughputs, gpu_type: str = REFERENCE_GPU) -> Trace:
    """The trace with durations: total steps over the steps a second of its job type and scale.

    Job types without a throughput keep an unknown duration.
    """
    steps, application = trace.extra.get("steps"), trace.application
    if trace.source != NAME or steps is None or application is None:
        raise BadOption(f"throughputs tell how long jobs of Gavel last; these are of {trace.source}.")
    if gpu_type not in throughputs:
        hint = nearest_hint(gpu_type, throughputs)
        raise BadOption(
            f"the throughputs have no GPU type {gpu_type!r}{hint}. Known: {', '.join(throughputs)}."
        )
    found = throughputs[gpu_type]
    kinds, kind = np.unique(np.stack([application.codes, trace.gpus]), axis=1, return_inverse=True)
    rates = [_rate(found.get(f"('{application.words[word]}', {gpus})")) for word, gpus in kinds.T]
    duration = steps / np.array([*rates, np.nan])[kind.ravel()]
    extra = dict(trace.extra)
    if (factor := extra.pop("deadline_factor", None)) is not None:
        extra["deadline_seconds"] = factor * duration
    kept = tuple(note for note in trace.notes if "--throughputs" not in note)
    note = f"durations are steps over Gavel's throughputs on {gpu_type}"
    return replace(trace, duration_seconds=duration, extra=extra, notes=(*kept, note))


def _find_layout(head: Head) -> tuple[str, ...] | None:
    """The layout that most of the first rows have; a bad one among them does not hide the rest."""
    rows = head.cells("\t")[:20]
    for layout in LAYOUTS.values():
        cells = [layout.index(name) for name in ("total_steps", "scale_factor", "arrival")]
        fitting = [r for r in rows if len(r) == len(layout) and all(_is_number(r[at]) for at in cells)]
        if 2 * len(fitting) > len(rows):
            return layout
    return None


def _rate(shared: Mapping[str, object] | None) -> float:
    alone = (shared or {}).get("null")
    return float(alone) if isinstance(alone, int | float) and alone > 0 else np.nan


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
