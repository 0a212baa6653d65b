"""The controller on a set clock, in a world of its own, decides as the simulator does, event for event."""

from dataclasses import replace

import numpy as np
import pytest

from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    Noted,
    RingFailed,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    SlotServed,
)
from gadget.engine.state import begin
from gadget.live.controller import Controller
from gadget.live.decider import Here
from gadget.live.origin import Origin
from gadget.live.settings import Settings
from gadget.model.builders import build_leaf_spine
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.utility import Linear, Log, Sqrt
from gadget.policies.registry import build_policy
from gadget.simulate.loop import Planned, Step, run_slots
from tests.live_world import MemoryLog, SetClock, World, WorldBackend, work_a_slot

POLICIES = ("fifo", "drf", "las", "srtf", "gadget-paper", "gadget", "gadget:objective=completion")
SLOT_SECONDS = 32.0  # a power of two: times and shares are exact


def some_scenario(seed: int) -> Scenario:
    """Jobs whose work is counted in whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    jobs = tuple(
        Job(
            name=f"job-{number}",
            arrival=int(rng.integers(0, 12)),
            resources=Resources({"gpu": int(rng.integers(1, 3))}),
            min_workers=int(rng.integers(1, 3)),
            max_workers=int(rng.integers(3, 7)),
            bandwidth_gbps=float(rng.choice([0, 5, 20])),
            rate=float(rng.integers(1, 5) * 16),
            work=float(rng.integers(3, 40) * 64),
            resize_cost=float(rng.choice([0, 16])),
            budget=Resources({"gpu": 60}) if rng.random() < 0.2 else None,
            utility=(Sqrt(3), Log(40), Linear(0.25))[int(rng.integers(0, 3))],
            priority=float(rng.integers(1, 4)),
        )
        for number in range(14)
    )
    cluster = build_leaf_spine(
        leaves=2,
        spines=1,
        servers_per_leaf=3,
        resources=Resources({"gpu": 4}),
        server_gbps=40,
        uplink_gbps=60,
    )
    return Scenario(cluster, tuple(sorted(jobs, key=lambda job: job.arrival)), 24, SLOT_SECONDS)


def planned_for(scenario: Scenario) -> tuple[Planned, ...]:
    first, second = (server.name for server in scenario.cluster.servers[:2])
    return (
        Planned(5, ServerFailed(first)),
        Planned(9, ServerReturned(first)),
        Planned(9, ServerFailed(second)),
        Planned(14, ServerReturned(second)),
    )


def run_live(scenario: Scenario, policy: str, planned: tuple[Planned, ...]) -> list[Event]:
    clock = SetClock()
    world = World(scenario.cluster, clock)
    backend = WorldBackend(world)
    start = begin(scenario, is_measured=True)
    log = MemoryLog(start)
    controller = Controller(
        Origin(start, 0, None),
        log,
        backend=backend,
        decider=Here(build_policy(policy), 0),
        clock=clock,
        settings=Settings(slot_seconds=SLOT_SECONDS, policy=policy),
        env_for=lambda _: {},
    )
    controller.open(controller.take)
    for slot in range(scenario.slots):
        clock.now = slot * SLOT_SECONDS
        for one in planned:
            if one.slot == slot:
                happen(world, backend, one.event)
        if arrived := [job for job in scenario.jobs if job.arrival == slot]:
            controller.submit(arrived)
        controller.tick()
        # Rings that leave for a resize have left; their successors start in the same moment.
        controller.tick()
        work_a_slot(world, controller.hear, SLOT_SECONDS)
    clock.now = scenario.slots * SLOT_SECONDS
    controller._close_slot()
    return [entry.event for entry in log.entries]


def happen(world: World, backend: WorldBackend, event: ServerFailed | ServerReturned | JobLeft) -> None:
    match event:
        case ServerFailed():
            for one in world.live():
                world.safe[one.launch.key.job] = one.work
            backend.lose_server(event.server)
        case ServerReturned():
            backend.return_server(event.server)


def told(events: list[Event]) -> list[object]:
    """What both sides tell: who came, what was decided and what it did. The order within a slot is free."""
    lines: list[object] = []
    for event in events:
        match event:
            case JobsArrived():
                lines.append(("arrived", tuple(job.name for job in event.jobs)))
            case ServerFailed() | ServerReturned():
                lines.append((type(event).__name__, event.server))
            case SlotDecided():
                lines[_slot_start(lines) :] = sorted(lines[_slot_start(lines) :], key=repr)
                lines.append(replace(event.decision, seconds=0.0, policy=""))
            case SlotServed():
                lines.append(("served", event.slot))
            case RingFailed():
                assert event.cause == "server"
            case _:
                assert isinstance(event, Noted), event
    return lines


def _slot_start(lines: list[object]) -> int:
    """Where the present slot begins among the lines."""
    return 1 + max(
        (n for n, line in enumerate(lines) if isinstance(line, tuple) and line[0] == "served"), default=-1
    )


def as_events(steps: list[Step], planned: tuple[Planned, ...]) -> list[Event]:
    events: list[Event] = []
    for slot, step in enumerate(steps):
        events.extend(one.event for one in planned if one.slot == slot)
        if step.arrived:
            events.append(JobsArrived(step.arrived))
        events.extend((SlotDecided(step.decision), SlotServed(slot)))
    return events


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", POLICIES)
def test_the_controller_decides_as_the_simulator_does(policy: str, seed: int) -> None:
    scenario = some_scenario(seed)
    planned = planned_for(scenario)
    steps = list(run_slots(scenario, build_policy(policy), planned=planned))
    assert sum(len(step.decision.allocation.rings) for step in steps) > 40
    live = told(run_live(scenario, policy, planned))
    assert live == told(as_events(steps, planned))
