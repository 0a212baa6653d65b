"""What Prometheus reads: numbers of the present view. Names follow those that operators know."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from threading import Lock
from typing import Self

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from gadget.api.shown_service import count_jobs, count_servers, find_gap
from gadget.api.usage import find_utilisation
from gadget.api.waiting import list_waiting
from gadget.engine.state import JobRecord, JobStatus, State
from gadget.live.view import View
from gadget.simulate.locality import count_cross_rack, counted_resource, find_fragmentation

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class _Totals:
    """Sums over jobs."""

    jobs: int = 0
    started: int = 0
    slots_waited: int = 0
    """Of those that have started."""
    resizes: int = 0
    restarts: int = 0
    utility: float = 0.0

    def add(self, records: Iterable[JobRecord], slot_seconds: float) -> Self:
        """These jobs too."""
        for record in records:
            self.jobs += 1
            if record.first_start is not None:
                self.started += 1
                self.slots_waited += record.first_start - record.arrived
            self.resizes += record.resizes
            self.restarts += record.restarts
            self.utility += float(record.job.worth.value(record.active.work(slot_seconds)))
        return self


class Meter:
    """Reads the numbers of one view after the other; remembers sums over jobs that ended, which only grow."""

    def __init__(self) -> None:
        self._ended = _Totals()
        self._lock = Lock()

    def format(self, view: View) -> bytes:
        """All numbers as text."""
        state = view.state
        with self._lock:
            if len(state.ended) < self._ended.jobs:  # another service, or a view from before
                self._ended = _Totals()
            news = islice(state.ended.values(), self._ended.jobs, None)
            totals = replace(self._ended.add(news, state.slot_seconds))
        totals.add(state.active.values(), state.slot_seconds)
        registry = CollectorRegistry()
        registry.register(_Numbers(view, totals))
        return generate_latest(registry)


class _Numbers(Collector):
    """The numbers of one view."""

    def __init__(self, view: View, totals: _Totals) -> None:
        self._view = view
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        """Every family once."""
        yield from _tell_jobs(self._view, self._totals)
        yield from _tell_service(self._view)
        yield from _tell_decision(self._view)
        yield from _tell_cluster(self._view.state)


def _tell_jobs(view: View, totals: _Totals) -> Iterator[Metric]:
    state = view.state
    jobs = count_jobs(state)
    yield _gauge("gadget_pending_jobs", "Jobs that wait.", jobs[JobStatus.WAITING])
    yield _gauge("gadget_running_jobs", "Jobs that have a ring.", jobs[JobStatus.RUNNING])
    reasons = Counter(waiting.reason for _, waiting in list_waiting(view))
    yield _gauges("gadget_waiting_jobs", "Jobs that wait, by reason.", "reason", reasons)
    ended = {str(status): jobs[status] for status in (JobStatus.FINISHED, JobStatus.LEFT, JobStatus.REFUSED)}
    yield _counters("gadget_ended_jobs", "Jobs that ended, by how.", "status", ended)
    yield SummaryMetricFamily(
        "gadget_job_wait_seconds",
        "From arrival to the first ring, of jobs that had one: slots × their length.",
        count_value=totals.started,
        sum_value=totals.slots_waited * state.slot_seconds,
    )
    longest = max((state.slot - record.arrived for record, _ in list_waiting(view)), default=0)
    yield _gauge(
        "gadget_longest_wait_seconds",
        "How long the job that waits longest is here, likewise.",
        longest * state.slot_seconds,
    )
    yield _counter("gadget_resizes", "Rings that went on with another number of workers.", totals.resizes)
    yield _counter("gadget_restarts", "Rings that had to load a checkpoint.", totals.restarts)
    yield _gauge("gadget_utility", "What the work of all jobs is worth so far.", totals.utility)


def _tell_service(view: View) -> Iterator[Metric]:
    counts = view.counts
    info = GaugeMetricFamily("gadget_info", "What runs here.", labels=("version", "mode", "engine", "policy"))
    info.add_metric((version("gadget-scheduler"), view.mode, view.engine, view.policy), 1)
    yield info
    yield _gauge("gadget_slot", "The present slot.", view.state.slot)
    yield _gauge("gadget_journal_entry", "The newest entry of the journal.", view.last_entry)
    faults = dict.fromkeys(("solver", "engine", "journal"), 0) | Counter(fault.topic for fault in view.faults)
    yield _gauges("gadget_faults", "What is wrong now, by topic.", "topic", faults)
    yield _counters("gadget_ring_failures", "Rings that broke, by cause.", "cause", counts.ring_failures)
    for name, text, number in (
        ("launches", "Rings that were ordered.", counts.launches),
        ("dismissals", "Rings that were asked to leave.", counts.dismissals),
        ("adopted_rings", "Rings found running at a start and kept.", counts.adopted),
        ("stray_rings", "Rings found running that nobody wanted.", counts.strays),
        ("failed_decisions", "Decisions that came too late or not at all.", counts.failed_decisions),
    ):
        yield _counter(f"gadget_{name}", text, number)
    for name, text, seconds in (
        ("decision", "Of the solver.", counts.decision_seconds),
        ("slot", "From when a decision is due to when it is done, the solver included.", counts.slot_seconds),
    ):
        yield SummaryMetricFamily(
            f"gadget_{name}_seconds", text, count_value=counts.decisions, sum_value=seconds
        )
    there = {job: ring for job, ring in view.rings.items() if not ring.phase.is_over}
    measured = {job: ring.step_seconds for job, ring in there.items()}
    predicted = {job: ring.predicted_step_seconds for job, ring in there.items()}
    for kind, steps in (("measured", measured), ("predicted", predicted)):
        known = {job: seconds for job, seconds in steps.items() if seconds is not None}
        yield _gauges(
            f"gadget_step_seconds_{kind}", f"Seconds of an iteration of a job's ring, {kind}.", "job", known
        )


def _tell_decision(view: View) -> Iterator[Metric]:
    decision = view.decision
    if decision is None:
        return
    yield _gauge("gadget_last_decision_seconds", "Of the newest decision.", decision.seconds)
    yield _gauge("gadget_objective", "What the newest decision gains.", decision.objective)
    gap = find_gap(decision)
    if gap is not None:
        yield _gauge("gadget_gap", "By how much of its bound the newest decision may miss the best.", gap)


def _tell_cluster(state: State) -> Iterator[Metric]:
    yield _gauges("gadget_servers", "Servers, by state.", "state", count_servers(state))
    yield _gauges(
        "gadget_utilisation", "Share of what stands that rings take.", "resource", find_utilisation(state)
    )
    rings = state.running.rings
    edges, crossing = sum(len(ring.routes) for ring in rings), sum(map(count_cross_rack, rings))
    yield _gauge("gadget_ring_edges", "Edges of rings.", edges)
    yield _gauge("gadget_cross_rack_edges", "Edges of rings that leave a rack.", crossing)
    resource = counted_resource(state.available)
    takes = {ring.job: state.record_of(ring.job).job.resources.get(resource or "", 0.0) for ring in rings}
    total = 0.0 if resource is None else state.available.total(resource)
    share = find_fragmentation(state.available, resource, total, state.running, takes)
    if share is not None:
        yield _gauge("gadget_fragmentation", "Share of the free GPUs on servers that host a worker.", share)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)


def _gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    return _fill(GaugeMetricFamily(name, text, labels=(label,)), values.items())


def _counters(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    return _fill(CounterMetricFamily(name, text, labels=(label,)), values.items())


def _fill(family: GaugeMetricFamily | CounterMetricFamily, values: Iterable[tuple[str, float]]) -> Metric:
    for key, value in values:
        family.add_metric((key,), value)
    return family
