"""Randomised rounding: mappings are drawn as often as their weights say, jobs independently."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from scipy import stats

from gadget import ActiveJob, Cluster, Job, Linear, Link, Resources, Server, Snapshot
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.policy import ask
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.decompose import decompose
from gadget.solve.lp import solve
from gadget.solve.mapping import Mapping
from gadget.solve.packing import build_packing_program
from gadget.solve.rounding import Targets, draw_one, draw_rounds
from gadget.solve.sizing import find_size_limits, keep_sizes_up_to, select_sizes
from gadget.solve.slot import SlotProblem, build_slot_problem

DRAWS = 20_000
# Chance below which a test of fixed seed would have failed for bad luck.
LUCK = 1e-4


def job(name: str, workers: int, gain: float = 1.0) -> Job:
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        min_workers=workers,
        max_workers=workers,
        bandwidth_gbps=1,
        rate=1,
        utility=Linear(gain),
    )


def check_counts(counts: list[int], chances: list[float], draws: int) -> None:
    """Four standard deviations for each, and chi-square for all together."""
    expected = np.array(chances) * draws
    spread = np.sqrt(expected * (1 - np.array(chances)))
    assert np.all(np.abs(np.array(counts) - expected) <= 4 * spread + 1e-9)
    possible = expected > 0
    assert np.array(counts)[~possible].sum() == 0
    if possible.sum() > 1:
        assert stats.chisquare(np.array(counts)[possible], expected[possible]).pvalue > LUCK


@pytest.mark.parametrize(
    "weights", [(0.5, 0.3, 0.2), (0.1, 0.05), (0.999,), (1.0,), (0.25, 0.25, 0.25, 0.25), (1e-3, 0.4)]
)
def test_each_mapping_is_drawn_with_its_weight_and_none_with_the_rest(weights: tuple[float, ...]) -> None:
    rng = np.random.default_rng(2022)
    mappings = [Mapping(0, weight, (place,), ()) for place, weight in enumerate(weights)]
    drawn = [draw_one(mappings, rng) for _ in range(DRAWS)]
    counts = [drawn.count(mapping) for mapping in (*mappings, None)]
    check_counts(counts, [*weights, max(0.0, 1 - sum(weights))], DRAWS)


# Two servers of two GPUs and a TPU. The programs give `a` its three GPUs, spread over both servers, `b` half
# of what it wants with the GPU that is left, and let `c` stand on both TPUs: all three are up to chance.
PAIR = Cluster(
    tuple(Server(name, Resources({"gpu": 2, "tpu": 1})) for name in "xy"), (), (Link(("x", "y"), 9),)
)
JOBS = (job("a", 3, 1.2), job("b", 2, 1.1), replace(job("c", 2), resources=Resources({"tpu": 1})))


def weigh_columns(problem: SlotProblem) -> tuple[float, list[Mapping]]:
    program, columns = build_columns(problem)
    found = solve(program)
    assert found.values is not None
    weighted = zip(columns, found.values, strict=True)
    return found.objective, [
        replace(column, weight=float(weight)) for column, weight in weighted if weight > 0
    ]


def weigh_copies(problem: SlotProblem) -> tuple[float, list[Mapping]]:
    copies = build_copies(problem)
    found = solve(copies.program)
    assert found.values is not None
    return found.objective, decompose(copies, found.values)


@pytest.mark.parametrize("weigh", [weigh_columns, weigh_copies])
def test_jobs_are_drawn_independently_and_gain_in_the_mean_what_the_program_says(
    weigh: Callable[[SlotProblem], tuple[float, list[Mapping]]],
) -> None:
    problem = build_slot_problem(Snapshot(PAIR, tuple(map(ActiveJob, JOBS)), 0, 1))
    value, mappings = weigh(problem)
    chances = {k: [m.weight for m in mappings if m.job == k] for k in range(len(JOBS))}
    assert [sum(own) for own in chances.values()] == pytest.approx([1, 0.5, 1])
    assert any(max(own) < 0.9 for own in chances.values())
    never = Targets(np.inf, np.ones(2), 1.0)
    draws = list(draw_rounds(problem, mappings, never, np.random.default_rng(7), rounds=5000))
    assert len(draws) == 5000
    gains = np.array([draw.objective for draw in draws])
    assert abs(gains.mean() - value) <= 4 * gains.std() / np.sqrt(len(gains)) + 1e-6
    seen = [{mapping.job: mapping for mapping in draw.mappings} for draw in draws]
    for first, second in combinations(range(len(JOBS)), 2):
        options = [[*(m for m in mappings if m.job == k), None] for k in (first, second)]
        expected = [[*chances[k], max(0.0, 1 - sum(chances[k]))] for k in (first, second)]
        together = Counter((one.get(first), one.get(second)) for one in seen)
        check_counts(
            [together[pair] for pair in product(*options)], list(map(prod, product(*expected))), 5000
        )


def test_the_papers_own_draws_serve_each_job_as_often_as_its_program_says() -> None:
    snapshot = Snapshot(PAIR, tuple(map(ActiveJob, JOBS)), 0, 1)
    problem = build_slot_problem(snapshot)
    sized = keep_sizes_up_to(problem, find_size_limits(problem))
    relaxed = solve(build_packing_program(sized)).values
    assert relaxed is not None
    chosen = select_sizes(sized, relaxed[: len(sized.pair_job)])
    _, mappings = weigh_columns(chosen)
    policy = GadgetPaper(literal=True, rounds=1)
    served = Counter(ring.job for seed in range(300) for ring in ask(policy, snapshot, seed).allocation.rings)
    for number, one in enumerate(JOBS):
        chance = sum(mapping.weight for mapping in mappings if mapping.job == number)
        check_counts([served[one.name], 300 - served[one.name]], [chance, max(0.0, 1 - chance)], 300)
