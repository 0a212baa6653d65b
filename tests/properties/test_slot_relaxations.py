"""Laws of the paper's linear programs: they come down to packing, written out or by columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import Snapshot
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.flow import build_flow_program
from gadget.solve.lp import LinearProgram, Outcome, solve
from gadget.solve.packing import build_packing_program
from gadget.solve.sizing import find_size_limits, keep_sizes_up_to, select_sizes
from gadget.solve.slot import SlotProblem, build_slot_problem
from tests.tiny_slots import contended_slots, tiny_slots

slots = tiny_slots() | contended_slots() | tiny_slots(tree=True) | contended_slots(loops=True)


def value(program: LinearProgram) -> float:
    found = solve(program)
    assert found.outcome is Outcome.OPTIMAL
    return found.objective


def near(number: float) -> object:
    return pytest.approx(number, rel=1e-6, abs=1e-7)


def fix_sizes(problem: SlotProblem, data: st.DataObject) -> SlotProblem:
    """The problem with one size a job, any of its own; some jobs with none."""
    keep = np.zeros(len(problem.pair_job), dtype=bool)
    for job in range(len(problem.jobs)):
        own = np.flatnonzero(problem.pair_job == job)
        if len(own) and data.draw(st.sampled_from((True, True, False))):
            keep[data.draw(st.sampled_from(own.tolist()))] = True
    return problem.keep_pairs(keep)


@settings(max_examples=120)
@given(snapshot=slots)
def test_the_relaxation_of_the_flow_program_is_a_packing_program(snapshot: Snapshot) -> None:
    problem = build_slot_problem(snapshot)
    packed = value(build_packing_program(problem))
    assert value(build_flow_program(problem).program.relax()) == near(packed)


@settings(max_examples=120)
@given(snapshot=slots, data=st.data())
def test_the_augmented_program_written_out_equals_that_by_columns(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    problem = fix_sizes(build_slot_problem(snapshot), data)
    small, mappings = build_columns(problem)
    assert len(mappings) == len(small.objective)
    assert value(build_copies(problem).program) == near(value(small))
    # And both are the packing program of the sizes that were fixed.
    assert value(small) == near(value(build_packing_program(problem)))


@settings(max_examples=60)
@given(snapshot=slots)
def test_relaxed_sizes_fit_the_cluster_and_are_worth_at_least_the_relaxation(snapshot: Snapshot) -> None:
    problem = build_slot_problem(snapshot)
    limits = find_size_limits(problem)
    assert np.all(limits >= -1e-9)
    assert np.all(limits <= problem.most_workers() + 1e-6)
    assert np.all(problem.demand.T @ limits <= problem.network.capacity.sum(axis=0) + 1e-6)
    # Fractions of a worker gain by the utility itself, which is above its chords between whole sizes.
    gains = [float(snapshot.gains(a, q)) for a, q in zip(problem.jobs, limits, strict=True)]
    assert sum(gains) >= value(build_packing_program(problem)) - 1e-6


@settings(max_examples=60)
@given(snapshot=slots)
def test_selection_keeps_the_worthiest_size_of_every_job_in_the_relaxation(snapshot: Snapshot) -> None:
    whole = build_slot_problem(snapshot).worthwhile()
    problem = keep_sizes_up_to(whole, find_size_limits(whole))
    found = solve(build_packing_program(problem))
    assert found.values is not None
    chosen = found.values[: len(problem.pair_job)]
    selected = select_sizes(problem, chosen)
    worth = problem.pair_gain * chosen
    embedded = {int(job) for job, part in zip(problem.pair_job, chosen, strict=True) if part > 1e-6}
    assert embedded <= set(selected.pair_job.tolist())
    assert len(set(selected.pair_job.tolist())) == len(selected.pair_job)
    for job, size in zip(selected.pair_job, selected.pair_size, strict=True):
        own = problem.pair_job == job
        assert worth[own & (problem.pair_size == size)][0] >= worth[own].max() - 1e-6
    # Lemma 7: at most Γ sizes share what the relaxation gives a job, so that the best has 1/Γ of it.
    gamma = max(problem.most_workers(), default=1)
    kept = sum(worth[problem.pair_job == job].max() for job in set(problem.pair_job.tolist()))
    assert kept * gamma >= found.objective - 1e-6
