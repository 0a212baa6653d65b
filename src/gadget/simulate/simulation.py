"""A whole simulation from Python: `simulate(scenario, ["gadget", "fifo"], seeds=range(3))`."""

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gadget.errors import BadOption
from gadget.model.job import Job
from gadget.model.snapshot import Scenario
from gadget.policies.policy import Policy
from gadget.policies.registry import build_policies
from gadget.simulate.guarantee import find_guarantees
from gadget.simulate.loop import Planned
from gadget.simulate.network import NetworkMode, is_measured, make_optimistic
from gadget.simulate.result import RunResult, SimulationResult
from gadget.simulate.sweep import OnProgress, Task, run_sweep

Policies = str | Iterable[str] | Mapping[str, Policy]


def simulate(
    scenario: Scenario,
    policies: Policies,
    *,
    seeds: Iterable[int] = (0,),
    slots: int | None = None,
    planned: Iterable[Planned] = (),
    processes: int = 0,
    allow_violations: bool | None = None,
    network: NetworkMode | str = NetworkMode.RESERVED,
    restart_seconds: float | None = 0.0,
    on_progress: OnProgress | None = None,
) -> SimulationResult:
    """Run every policy with every seed over the horizon, or over its first `slots`.

    Policies are named as on the command line (`fifo:workers=2`), or given by names of your own. `planned`
    holds failures and returns of servers and departures of jobs. With `processes` that many runs go on at a
    time in processes of their own; the results are the same. `network` says how rings get their bandwidth
    (`reserved` or `shared`); `restart_seconds` is what a restart takes of jobs that do not say it themselves.
    """
    mode = NetworkMode(network)
    shown = slow_restarts(cut(scenario, slots), restart_seconds)
    tasks = build_tasks(
        shown, policies, seeds, planned=planned, allow_violations=allow_violations, network=mode
    )
    sweep = run_sweep(tasks, processes=processes, on_progress=on_progress)
    if sweep.signal is not None:
        raise KeyboardInterrupt if sweep.signal == signal.SIGINT else SystemExit(128 + sweep.signal)
    return conclude(shown, sweep.runs, mode)


def cut(scenario: Scenario, slots: int | None) -> Scenario:
    """The scenario over its first slots only."""
    if slots is None:
        return scenario
    if not 1 <= slots <= scenario.slots:
        raise BadOption(f"slots is {slots}; the scenario has {scenario.slots}. Give 1 … {scenario.slots}.")
    return replace(scenario, slots=slots)


def build_tasks(
    scenario: Scenario,
    policies: Policies,
    seeds: Iterable[int],
    *,
    planned: Iterable[Planned] = (),
    allow_violations: bool | None = None,
    network: NetworkMode = NetworkMode.RESERVED,
    find_part: Callable[[int, int], Path] | None = None,
) -> list[Task]:
    """The runs to do, by policy, then by seed; `find_part` says where a run is written down."""
    chosen = _by_label(policies)
    numbers = _check_distinct("seed", list(seeds))
    happenings = tuple(planned)
    return [
        Task(
            scenario,
            policy,
            label,
            seed,
            happenings,
            None if find_part is None else find_part(place, seed),
            allow_violations,
            network,
        )
        for place, (label, policy) in enumerate(chosen.items())
        for seed in numbers
    ]


USUAL_RESTART_SECONDS = 8.0
"""A usual figure for PyTorch at another size from a checkpoint: 6.5 to 9.5 s, says who tried."""


def slow_restarts(scenario: Scenario, seconds: float | None) -> Scenario:
    """The scenario with this time for a restart of every job that does not name its own.

    None: the usual time for jobs that end when their `work` is done, as those of traces do; the jobs of the
    paper, which go on for ever, restart in no time there.
    """
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise BadOption(f"restart_seconds is {seconds}. Give a finite number, 0 or more.")
    return replace(scenario, jobs=tuple(_slow_restart(job, seconds) for job in scenario.jobs))


def _slow_restart(job: Job, seconds: float | None) -> Job:
    if job.restart_seconds is not None or (seconds is None and job.work is None):
        return job
    return replace(job, restart_seconds=USUAL_RESTART_SECONDS if seconds is None else seconds)


def conclude(
    scenario: Scenario, runs: Sequence[RunResult], network: NetworkMode = NetworkMode.RESERVED
) -> SimulationResult:
    """The runs together with what can be promised; the clairvoyant bound only when the runs are complete."""
    complete = all(run.complete for run in runs)
    guarantees = find_guarantees(make_optimistic(scenario, network), with_bound=complete)
    if is_measured(scenario, network):
        guarantees = replace(
            guarantees, obstacle="rings are not as fast as decisions reckon, so that nothing is certified"
        )
    return SimulationResult(scenario.slots, len(scenario.cluster.servers), tuple(runs), guarantees)


def _by_label(policies: Policies) -> Mapping[str, Policy]:
    if isinstance(policies, Mapping):
        if not policies:
            raise BadOption("no policy is given. Name at least one.")
        return policies
    return build_policies([policies] if isinstance(policies, str) else policies)


def _check_distinct(what: str, given: list[int]) -> list[int]:
    if not given:
        raise BadOption(f"no {what} is given. Name at least one.")
    for place, one in enumerate(given):
        if one in given[:place]:
            raise BadOption(f"{what} {one!r} is given twice. Name each once.")
    return given
