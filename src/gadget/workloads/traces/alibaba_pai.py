"""Alibaba's PAI trace of 2020: the tables of tasks and, where given, of jobs and of group tags."""

from collections.abc import Sequence

import numpy as np

from gadget.errors import BadFile
from gadget.workloads.traces.assembly import NEVER_RAN, assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, Table, read_table
from gadget.workloads.traces.trace import Floats, Integers, Labels, Texts, Trace

NAME = "alibaba-pai-2020"

# The tables come without a header; the headers lie beside them, and people put them in.
TASKS = (
    *("job_name", "task_name", "inst_num", "status", "start_time"),
    *("end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
TAGS = ("inst_id", "user", "gpu_type_spec", "group", "workload")
_STATUSES = frozenset(("Running", "Terminated", "Failed", "Waiting"))
_HEX = frozenset("0123456789abcdef")
_UNTOLD = ""
_LATE_SUBMIT = "without pai_job_table a job is submitted when its first task starts"


def recognise(head: Head) -> bool:
    """True for any of the three tables, with or without its header."""
    return _find_layout(head) is not None


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """Jobs with the GPUs of all their tasks, from the first start of these to their last end."""
    by_layout: dict[tuple[str, ...], list[Part]] = {TASKS: [], JOBS: [], TAGS: []}
    for part in parts:
        by_layout[_find_layout(part.head) or TASKS].append(part)
    if not by_layout[TASKS]:
        raise BadFile(
            f"{parts[0].path}: tells of no GPUs, which stand in pai_task_table. Name that file beside it."
        )
    tasks = _read_tasks(by_layout[TASKS], reading)
    names, first, number = np.unique(tasks["job_name"], return_index=True, return_inverse=True)
    start, end = _span(tasks, number, len(names))
    # A task of 3 instances with 50 each is 3 workers with half a GPU; one with 200 is two workers.
    percent = np.nan_to_num(tasks["plan_gpu"])
    workers = _sum(number, tasks["inst_num"] * np.ceil(percent / 100), len(names))
    whole = _sum(number, tasks["inst_num"] * percent / 100, len(names))
    share = np.divide(whole, workers, out=np.zeros(len(names)), where=workers > 0)
    labels, submit = _join_jobs(names, start, by_layout[JOBS], by_layout[TAGS], reading)
    asks = workers > 0
    notes = () if by_layout[JOBS] else (_LATE_SUBMIT,)
    return assemble(
        NAME,
        tasks.keep(first),
        reading,
        names=names,
        submit=np.where(asks, submit, 0.0),
        duration=np.where(asks, end - start, np.nan),
        gpus=workers,
        gpu_share=share,
        labels=labels,
        notes=notes,
        left_out={NEVER_RAN: asks & (np.isnan(start) | np.isnan(submit))},
    )


def _find_layout(head: Head) -> tuple[str, ...] | None:
    rows = head.cells()[:20]
    if not rows:
        return None
    for layout in (TASKS, JOBS, TAGS):
        if tuple(rows[0]) == layout:
            return layout
    first = next((row for row in rows if len(row) in (len(TASKS), len(JOBS), len(TAGS))), [])
    if len(first) in (len(TASKS), len(JOBS)) and first[3] in _STATUSES and _is_code(first[0], 12):
        return TASKS if len(first) == len(TASKS) else JOBS
    return TAGS if len(first) == len(TAGS) and _is_code(first[0], 40) else None


def _is_code(word: str, length: int) -> bool:
    return len(word) >= length and set(word) <= _HEX


def _read_tasks(parts: Sequence[Part], reading: Reading) -> Table:
    kinds = dict.fromkeys(("inst_num", "start_time", "end_time", "plan_gpu"), Kind.MAYBE_NUMBER)
    tasks = read_table(parts, {"job_name": Kind.TEXT, **kinds}, reading, header=TASKS)
    gpu, count = tasks["plan_gpu"], tasks["inst_num"]
    odd = (gpu < 0) | (count < 0) | ((gpu > 0) & np.isnan(count))
    return tasks.refuse(reading, odd, lambda row: f"asks for {count[row]:g} × {gpu[row] / 100:g} GPUs")


def _span(tasks: Table, number: Integers, jobs: int) -> tuple[Floats, Floats]:
    """First start and last end of the tasks with GPUs; a time of 0 is none, and one without end goes on."""
    start, end = (np.where(tasks[name] > 0, tasks[name], np.nan) for name in ("start_time", "end_time"))
    has_gpu = tasks["plan_gpu"] > 0
    first, last = np.full(jobs, np.inf), np.full(jobs, -np.inf)
    ran = has_gpu & ~np.isnan(start)
    np.minimum.at(first, number[ran], start[ran])
    np.maximum.at(last, number[ran], np.where(np.isnan(end[ran]), np.inf, end[ran]))
    return np.where(np.isfinite(first), first, np.nan), np.where(np.isfinite(last), last, np.nan)


def _sum(number: Integers, values: Floats, jobs: int) -> Floats:
    return np.bincount(number, weights=np.nan_to_num(values), minlength=jobs).astype(np.float64)


def _join_jobs(
    names: Texts, start: Floats, jobs: Sequence[Part], tags: Sequence[Part], reading: Reading
) -> tuple[dict[str, Labels | None], Floats]:
    """Labels and submissions of the jobs with these names, from the other tables."""
    if not jobs:
        return {}, start
    text, label, time = Kind.TEXT, Kind.LABEL, Kind.MAYBE_NUMBER
    kinds = {"job_name": text, "inst_id": text, "user": label, "status": label, "start_time": time}
    table = read_table(jobs, kinds, reading, header=JOBS)
    row = _look_up(names, table["job_name"])
    submit = np.where(row >= 0, table["start_time"][row], start) if len(table) else start
    found: dict[str, Labels | None] = {key: _pick(table[key], row) for key in ("user", "status")}
    if tags and len(table):
        tagged = read_table(tags, {"inst_id": text, "group": label, "workload": label}, reading, header=TAGS)
        tag = np.where(row >= 0, _look_up(table["inst_id"], tagged["inst_id"])[row], -1)
        found |= {"group": _pick(tagged["group"], tag), "application": _pick(tagged["workload"], tag)}
    return found, np.where(submit > 0, submit, start)


def _look_up(names: Texts, known: Texts) -> Integers:
    """The row of each name in a column of names; −1 where it is not there."""
    place = {name: row for row, name in enumerate(known.tolist())}
    return np.array([place.get(name, -1) for name in names.tolist()], dtype=np.int64)


def _pick(labels: Labels, rows: Integers) -> Labels:
    """The labels of some rows; −1 has none."""
    codes = np.append(labels.codes, np.int32(len(labels.words)))
    return Labels(codes[rows], (*labels.words, _UNTOLD))
