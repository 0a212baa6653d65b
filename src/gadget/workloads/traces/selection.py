"""A part of a trace: a window of time, a sample, and durations for jobs that have none."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.model.wording import say_count
from gadget.workloads.traces.trace import Trace

EVERY = ""
"""The key of the duration that holds for every application."""


def take_window(trace: Trace, start: float = 0.0, end: float = np.inf) -> Trace:
    """The jobs submitted from `start` to before `end`, in seconds after the first job; time begins there."""
    if not start < end:
        raise BadOption(f"the window from {start:g} s to {end:g} s is empty. Let it end after it starts.")
    since = trace.since_start
    inside = (since >= start) & (since < end)
    if not inside.any():
        last = since[-1] if len(trace) else 0.0
        raise BadOption(
            f"no job is submitted from {start:g} s on and before {end:g} s. Choose a window within "
            f"0 … {last:.0f} s after the first job."
        )
    return trace.take(inside, later=start)


def take_sample(trace: Trace, sample: float, rng: np.random.Generator) -> Trace:
    """A number of jobs (1 or more) or a share of them (below 1), each as likely as the others."""
    wanted = round(sample * len(trace)) if sample < 1 else int(min(sample, len(trace)))
    if wanted >= len(trace):
        return trace
    if wanted < 1:
        raise BadOption(f"a share of {sample:g} of {say_count(len(trace), 'job')} is none. Raise the share.")
    return trace.take(np.sort(rng.choice(len(trace), wanted, replace=False)))


def assume_durations(trace: Trace, seconds: Mapping[str, float]) -> Trace:
    """Durations for the jobs that have none: by application, or the same for all (under `EVERY`)."""
    duration = trace.duration_seconds.copy()
    unknown = np.isnan(duration)
    words = () if trace.application is None else trace.application.words
    for word in seconds:
        if word != EVERY and word not in words:
            raise BadOption(
                f"no job is of the application {word!r}{nearest_hint(word, words)}. "
                f"Known: {', '.join(words[:20]) or 'none'}."
            )
    duration[unknown] = seconds.get(EVERY, np.nan)
    if trace.application is not None:
        for code, word in enumerate(words):
            if word in seconds:
                duration[unknown & (trace.application.codes == code)] = seconds[word]
    assumed = int((unknown & ~np.isnan(duration)).sum())
    kept = tuple(note for note in trace.notes if "--assume-duration" not in note)
    note = f"durations of {say_count(assumed, 'job')} are assumed"
    return replace(trace, duration_seconds=duration, notes=(*kept, note) if assumed else trace.notes)
