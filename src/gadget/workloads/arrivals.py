"""When jobs arrive: as in Google's 2011 cluster trace, or by a profile of our own that is like it."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadFile
from gadget.workloads.traces import google2011
from gadget.workloads.traces.source import Part
from gadget.workloads.traces.table import Reading

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Measured on the whole trace (29 days): 16.0 arrivals a minute with variance 112; a third of that variance is
# still common to minutes an hour apart. Split into independent factors of unit mean, an hour's intensity
# has a squared coefficient of variation of 0.153, a minute's 0.19 beside it.
HOUR_CV2 = 0.153
MINUTE_CV2 = 0.19


def find_google_trace() -> Path | None:
    """Google's job table: under GADGET_TRACES, or in ../shared/traces; None where there is none."""
    for folder in filter(None, (os.environ.get("GADGET_TRACES"), "../shared/traces")):
        path = Path(folder) / "google2011" / "google2011_jobs.csv.gz"
        if path.is_file():
            return path
    return None


def read_google_submissions(path: Path) -> Floats:
    """Submission times in seconds, sorted, of a job table with header or of raw job_events; gzip or plain."""
    part, reading = Part(path, "a Google job table"), Reading()
    known = google2011.recognise(part.head)
    times = google2011.read_submissions(part, reading) if known else np.array([])
    if reading.count:
        bad = reading.bad.first[0]
        raise BadFile(f"{path}:{bad.line}: holds no submission time ({bad.reason}). Give microseconds.")
    if not len(times):
        raise BadFile(f"{path}: holds no job submissions. Give a job table or job_events of the 2011 trace.")
    return times


def draw_google_arrivals(
    rng: np.random.Generator, submissions: Floats, count: int, slots: int, slot_seconds: float
) -> Integers:
    """Slots in which `count` jobs arrive: a random window of the trace, as long as the horizon, thinned.

    A window with fewer jobs than asked for is widened until it has them, and then scaled to the horizon.
    """
    span = slots * slot_seconds
    while True:
        latest = max(submissions[-1] - span, submissions[0])
        start = rng.uniform(submissions[0], latest) if latest > submissions[0] else submissions[0]
        first, last = np.searchsorted(submissions, [start, start + span])
        if last - first >= count or last - first == len(submissions):
            break
        span *= 2
    inside = submissions[first:last]
    picked = rng.choice(inside, count, replace=len(inside) < count)
    place = ((picked - start) / span * slots).astype(np.int64)
    return np.sort(np.clip(place, 0, slots - 1))


def draw_profile_arrivals(rng: np.random.Generator, count: int, slots: int, slot_seconds: float) -> Integers:
    """Slots in which `count` jobs arrive, by a profile with the trace's burstiness of hours and minutes."""
    slots_per_hour = max(1, round(3600 / slot_seconds))
    hours = _factors(rng, HOUR_CV2, -(-slots // slots_per_hour))
    # A slot of several minutes averages their factors.
    minutes = _factors(rng, MINUTE_CV2 / max(1.0, slot_seconds / 60), slots)
    intensity = np.repeat(hours, slots_per_hour)[:slots] * minutes
    return np.sort(rng.choice(slots, count, p=intensity / intensity.sum()))


def _factors(rng: np.random.Generator, cv2: float, count: int) -> Floats:
    """Log-normal factors of mean 1 and the given squared coefficient of variation."""
    variance = np.log1p(cv2)
    return rng.lognormal(-variance / 2, np.sqrt(variance), count)
