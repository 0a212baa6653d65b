"""Microsoft's Philly trace: the CSV derived from it, and the original cluster_job_log."""

from collections.abc import Sequence

import msgspec
import numpy as np

from gadget.errors import BadFile
from gadget.workloads.traces.assembly import NEVER_RAN, assemble
from gadget.workloads.traces.columns import LONGEST_WORD, Kind, to_labels, to_moment, to_names
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, Table, read_table
from gadget.workloads.traces.trace import Trace

CSV, LOG = "philly", "philly-log"

_UNKNOWN = float("nan")


def recognise_csv(head: Head) -> bool:
    """True for timestamp, duration, num_gpus, gpu_time, cluster."""
    return head.has_columns("timestamp", "duration", "num_gpus", "cluster")


def read_csv(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs of the derived CSV, which has no names for them."""
    table = read_table(
        parts,
        {
            "timestamp": Kind.MOMENT,
            "duration": Kind.MAYBE_NUMBER,
            "num_gpus": Kind.NUMBER,
            "cluster": Kind.LABEL,
        },
        reading,
    )
    return assemble(
        CSV,
        table,
        reading,
        submit=table["timestamp"],
        duration=table["duration"],
        gpus=table["num_gpus"],
        labels={"group": table["cluster"]},
    )


def recognise_log(head: Head) -> bool:
    """True for a JSON list of jobs with attempts."""
    return (
        head.text.lstrip().startswith("[") and '"attempts"' in head.text and '"submitted_time"' in head.text
    )


class _Detail(msgspec.Struct):
    gpus: list[str] = []


class _Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Detail] = []


class _Job(msgspec.Struct):
    submitted_time: str | None
    attempts: list[_Attempt]
    jobid: str
    vc: str = ""
    user: str = ""
    status: str = ""


def read_log(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs of cluster_job_log: as long as all attempts together, with the GPUs of the largest one."""
    decoder = msgspec.json.Decoder(_Job)
    jobs: list[_Job] = []
    part_of: list[int] = []
    places: list[int] = []
    numbers: list[tuple[float, float, float]] = []
    for number, part in enumerate(parts):
        for place, raw in enumerate(_list_jobs(part, reading), 1):
            try:
                job = decoder.decode(raw)
                numbers.append(_measure(job))
            except (ValueError, UnicodeDecodeError) as error:
                reading.refuse(part, place, f"entry {place}: {error}")
                continue
            jobs.append(job)
            part_of.append(number)
            places.append(place)
    submit, duration, gpus = np.array(numbers, dtype=np.float64).reshape(-1, 3).T
    lines = np.array(places, dtype=np.int64)
    return assemble(
        LOG,
        Table(parts, {}, np.array(part_of, dtype=np.int32), lines),
        reading,
        names=to_names([job.jobid for job in jobs]),
        submit=submit,
        duration=duration,
        gpus=gpus,
        labels={
            "user": to_labels([job.user for job in jobs]),
            "group": to_labels([job.vc for job in jobs]),
            "status": to_labels([job.status for job in jobs]),
        },
        notes=(
            "a job lasts as long as its attempts together, with the GPUs of the largest; bad rows are named "
            "by their place in the list",
        ),
        left_out={NEVER_RAN: np.array([not job.attempts for job in jobs], dtype=bool)},
    )


def _list_jobs(part: Part, reading: Reading) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(part.content(reading.progress), type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFile(f"{part.path}: is no list of jobs as JSON ({error}). Check the file.") from None


def _measure(job: _Job) -> tuple[float, float, float]:
    """Submission, duration and GPUs of a job; the duration is not known when an attempt has no end."""
    submit = to_moment(job.submitted_time)
    if np.isnan(submit):
        raise ValueError(f"submitted_time is {str(job.submitted_time)[:40]!r}, no moment")
    for word in (job.jobid, job.user, job.vc, job.status):
        if len(word) > LONGEST_WORD or not word.isprintable():
            raise ValueError("holds a word that is too long or not printable")
    spans = [to_moment(one.end_time) - to_moment(one.start_time) for one in job.attempts]
    gpus = max((sum(len(server.gpus) for server in one.detail) for one in job.attempts), default=0)
    return submit, sum(spans) if spans else _UNKNOWN, float(gpus)
