"""Trials of the paper's experiment: what varies, and what must not."""

from dataclasses import replace

import numpy as np
import pytest

from gadget.experiments.scenario import build_trial
from gadget.experiments.settings import Settings
from gadget.model.snapshot import Scenario
from gadget.policies.workers import draw_workers
from gadget.workloads.paper import BudgetUnit

SETTINGS = Settings(slots=40, servers=12)


def server_gbps(scenario: Scenario) -> float:
    servers = scenario.cluster.server_by_name
    return sum(link.gbps for link in scenario.cluster.links if link.ends[0] in servers)


def test_a_trial_follows_from_its_seed_and_number() -> None:
    assert build_trial(SETTINGS, 1, 10) == build_trial(SETTINGS, 1, 10)
    assert build_trial(SETTINGS, 1, 10) != build_trial(SETTINGS, 2, 10)
    assert build_trial(replace(SETTINGS, seed=5), 1, 10) != build_trial(SETTINGS, 1, 10)


def test_the_reading_of_the_budget_changes_budgets_alone() -> None:
    usual = build_trial(SETTINGS, 0, 10)
    other = build_trial(SETTINGS, 0, 10, budget=BudgetUnit.ITERATIONS)
    assert other.cluster == usual.cluster
    assert [replace(job, budget=None) for job in other.jobs] == [
        replace(job, budget=None) for job in usual.jobs
    ]
    assert [job.budget for job in other.jobs] != [job.budget for job in usual.jobs]


@pytest.mark.parametrize("units", [0.05, 0.3, 1, 2.5])
def test_gpus_are_shared_out_in_proportion(units: float) -> None:
    usual = build_trial(SETTINGS, 0, 5)
    scaled = build_trial(SETTINGS, 0, 5, node_units=units)
    total = round(100 * units)
    had = [server.resources["gpu"] for server in usual.cluster.servers]
    now = [server.resources["gpu"] for server in scaled.cluster.servers]
    assert sum(now) == max(total, len(now))
    assert min(now) >= 1
    if units > 1:
        assert np.corrcoef(had, now)[0, 1] > 0.98
    assert scaled.jobs == usual.jobs
    assert scaled.cluster.links == usual.cluster.links


@pytest.mark.parametrize("units", [0.25, 4])
def test_links_are_scaled_alike(units: float) -> None:
    usual = build_trial(SETTINGS, 0, 5)
    scaled = build_trial(SETTINGS, 0, 5, link_units=units)
    assert server_gbps(scaled) == pytest.approx(200 * units)
    ratios = {
        round(b.gbps / a.gbps, 9) for a, b in zip(usual.cluster.links, scaled.cluster.links, strict=True)
    }
    assert len(ratios) == 1


def test_rigid_rings_have_one_size_and_unclipped_ones_the_number_drawn() -> None:
    rigid = build_trial(SETTINGS, 0, 20, rigid=True)
    assert all(job.min_workers == job.max_workers for job in rigid.jobs)
    loose = build_trial(replace(SETTINGS, clipped=False), 3, 20)
    assert all(job.max_workers >= draw_workers(job.name, 3) for job in loose.jobs)


def test_arrivals_of_the_trace_are_used_where_given() -> None:
    late = np.linspace(600.0, 600 + 40 * 60.0, 400)
    arrivals = [job.arrival for job in build_trial(SETTINGS, 0, 30, submissions=late).jobs]
    assert arrivals != [job.arrival for job in build_trial(SETTINGS, 0, 30).jobs]
    assert arrivals == sorted(arrivals)
