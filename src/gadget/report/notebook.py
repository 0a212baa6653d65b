"""Whole horizons from Python and notebooks, with progress: `simulate(scenario, ["gadget", "fifo"])`."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext

from rich.console import Console

from gadget.model.snapshot import Scenario
from gadget.policies.registry import DEFAULT_POLICY
from gadget.report.simulation.progress import show_progress
from gadget.simulate import simulation
from gadget.simulate.loop import Planned
from gadget.simulate.network import NetworkMode
from gadget.simulate.result import SimulationResult
from gadget.simulate.simulation import Policies


def simulate(
    scenario: Scenario,
    policies: Policies = DEFAULT_POLICY,
    *,
    seeds: Iterable[int] = (0,),
    slots: int | None = None,
    planned: Iterable[Planned] = (),
    processes: int = 0,
    network: NetworkMode | str = NetworkMode.RESERVED,
    restart_seconds: float | None = None,
    progress: bool = True,
) -> SimulationResult:
    """Run every policy with every seed over the horizon, or over its first `slots`.

    Policies are named as on the command line (`fifo:workers=2`), or given by names of your own. `planned`
    holds failures and returns of servers and departures of jobs. With `processes` that many runs go on at a
    time in processes of their own; the results are the same. `network` says how rings get their bandwidth
    (`reserved` or `shared`), `restart_seconds` what a restart takes of jobs that do not say it themselves
    (None: 8 s of those that have `work`).
    `progress` shows bars on standard error.
    """
    numbers = tuple(seeds)
    policies = policies if isinstance(policies, str | Mapping) else tuple(policies)
    runs = len(numbers) * (1 if isinstance(policies, str) else len(policies))
    bars = show_progress(Console(stderr=True), runs) if progress else nullcontext(None)
    with bars as on_progress:
        return simulation.simulate(
            scenario,
            policies,
            seeds=numbers,
            slots=slots,
            planned=planned,
            processes=processes,
            network=network,
            restart_seconds=restart_seconds,
            on_progress=on_progress,
        )
