"""Google's cluster trace of May 2011: parts of job_events, or the job table derived from all of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gadget.workloads.traces.assembly import assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, Table, read_table
from gadget.workloads.traces.trace import Floats, Integers, Labels, Trace

NAME = "google-2011"
# Times are in microseconds; the trace starts at 600 s, and 0 stands for what was there before it.
MICROSECONDS = 1e-6
NO_GPUS = "the trace has no GPUs: each job counts as one worker with one GPU"
BEFORE = "were there before the trace began"
NO_SUBMISSION = "have no submission in the files read"

_EVENTS = ("time", "missing", "job", "event", "user", "class", "name", "logical_name")
_SUBMIT, _SCHEDULE, _ENDS = 0, 1, range(2, 7)
_WORDS = ("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE", "UPDATE")
_RUNNING = ""


def recognise(head: Head) -> bool:
    """True for a job table with header, and for job_events."""
    return _is_job_table(head) or _is_events(head)


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs of a job table, or of any number of parts of job_events."""
    if all(_is_job_table(part.head) for part in parts):
        return _read_job_table(parts, reading)
    return _read_events(parts, reading)


def read_submissions(part: Part, reading: Reading) -> Floats:
    """Only when jobs were submitted, sorted, in seconds; without those that were there before."""
    if _is_job_table(part.head):
        times = read_table([part], {"submit_us": Kind.MAYBE_NUMBER}, reading)["submit_us"]
    else:
        events = read_table([part], {"time": Kind.NUMBER, "event": Kind.NUMBER}, reading, header=_EVENTS)
        times = events["time"][events["event"] == _SUBMIT]
    reading.check()
    sorted_times: Floats = np.sort(times[times > 0]) * MICROSECONDS
    return sorted_times


def _is_job_table(head: Head) -> bool:
    return head.has_columns("job_id", "submit_us")


def _is_events(head: Head) -> bool:
    # Most of the first rows, not all: a bad one among them does not hide the rest.
    rows = head.cells()[:20]
    return 2 * sum(map(_is_event, rows)) > len(rows)


def _is_event(row: list[str]) -> bool:
    return (
        len(row) == len(_EVENTS) and row[0].isdecimal() and row[2].isdecimal() and row[3] in set("012345678")
    )


def _read_job_table(parts: Sequence[Part], reading: Reading) -> Trace:
    times = dict.fromkeys(("schedule_us", "end_us"), Kind.MAYBE_NUMBER)
    words = dict.fromkeys(("end_event", "sched_class", "user_idx", "logical_name_idx"), Kind.LABEL)
    table = read_table(
        parts, {"job_id": Kind.TEXT, "submit_us": Kind.MAYBE_NUMBER}, reading, optional={**times, **words}
    )
    submit, schedule, end = (table.floats(f"{name}_us") for name in ("submit", "schedule", "end"))
    return assemble(
        NAME,
        table,
        reading,
        names=table["job_id"],
        submit=submit * MICROSECONDS,
        duration=(end - schedule) * MICROSECONDS,
        gpus=np.ones(len(table)),
        labels={
            "user": table.get("user_idx"),
            "group": table.get("sched_class"),
            "application": table.get("logical_name_idx"),
            "status": table.get("end_event"),
        },
        notes=(NO_GPUS,),
        left_out={BEFORE: ~(submit > 0) & ~(submit < 0)},
    )


def _read_events(parts: Sequence[Part], reading: Reading) -> Trace:
    kinds = {"time": Kind.NUMBER, "job": Kind.WHOLE, "event": Kind.NUMBER}
    words = dict.fromkeys(("user", "class", "logical_name"), Kind.LABEL)
    events = read_table(parts, {**kinds, **words}, reading, header=_EVENTS)
    # By job, then by time: what comes first and last of each is then found in one go.
    events = events.keep(np.lexsort((events["time"], events["job"])))
    job, first = np.unique(events["job"], return_index=True)
    number = np.searchsorted(job, events["job"])
    submit = _find(events, number, len(job), events["event"] == _SUBMIT, last=False)
    schedule = _find(events, number, len(job), events["event"] == _SCHEDULE, last=False)
    again = _find(events, number, len(job), events["event"] == _SCHEDULE, last=True)
    ends = np.isin(events["event"], _ENDS)
    end = _find(events, number, len(job), ends, last=True)
    # A job that was evicted and scheduled again still runs.
    end = np.where(end >= again, end, np.nan)
    jobs = events.keep(first)
    return assemble(
        NAME,
        jobs,
        reading,
        names=np.array(job.astype(str), dtype=np.dtypes.StringDType()),
        submit=submit * MICROSECONDS,
        duration=(end - schedule) * MICROSECONDS,
        gpus=np.ones(len(job)),
        labels={
            "user": jobs["user"],
            "group": jobs["class"],
            "application": jobs["logical_name"],
            "status": _find_status(events, number, len(job), ends, end),
        },
        notes=(NO_GPUS,),
        left_out={NO_SUBMISSION: np.isnan(submit), BEFORE: submit == 0},
    )


def _find(events: Table, number: Integers, jobs: int, which: NDArray[np.bool_], *, last: bool) -> Floats:
    """For each job the time of its first or last event among some; NaN where it has none."""
    times = np.full(jobs, np.nan)
    rows = np.flatnonzero(which)
    # Of writes to one place the last one stays.
    rows = rows if last else rows[::-1]
    times[number[rows]] = events["time"][rows]
    return times


def _find_status(events: Table, number: Integers, jobs: int, ends: NDArray[np.bool_], end: Floats) -> Labels:
    codes = np.full(jobs, len(_WORDS), dtype=np.int32)
    rows = np.flatnonzero(ends)
    codes[number[rows]] = events["event"][rows].astype(np.int32)
    codes[np.isnan(end)] = len(_WORDS)
    return Labels(codes, (*_WORDS, _RUNNING))
