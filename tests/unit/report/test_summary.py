from io import StringIO

import pytest
from rich.console import Console

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario
from gadget.model.utility import Linear
from gadget.report.summary import JobsSummary, Spread, Usage, summarise
from tests.unit.report.small import CLUSTERS, make_core_server, make_job, make_rings


def make_scenario(*jobs: Job, cluster: Cluster | None = None, slots: int = 10) -> Scenario:
    return Scenario(cluster or make_core_server(), jobs, slots)


def jobs_of(scenario: Scenario) -> JobsSummary:
    jobs = summarise(scenario).jobs
    assert jobs is not None
    return jobs


def print_out(scenario: Scenario) -> str:
    out = StringIO()
    Console(file=out, width=120).print(summarise(scenario).render())
    return out.getvalue()


def test_servers_and_links_by_hand() -> None:
    found = summarise(make_scenario())
    assert (found.servers, found.switches, found.is_tree) == (5, 3, True)
    assert found.server_kinds == ((Resources({"gpu": 4}), 5),)
    tiers = [(tier.name, tier.count, tier.gbps, tier.total_gbps) for tier in found.link_tiers]
    assert tiers == [
        ("server–rack", 4, Spread(10, 10, 10), 40),
        ("server–core", 1, Spread(10, 10, 10), 10),
        ("rack–core", 2, Spread(5, 22.5, 40), 45),
    ]


def test_oversubscription_by_hand() -> None:
    (racks,) = summarise(make_scenario()).oversubscription
    assert (racks.tier, racks.ratios, racks.worst_switch) == ("rack", Spread(0.5, 2.25, 4), "rack0")


@pytest.mark.parametrize("name", ["torus", "ring4", "chain"])
def test_no_oversubscription_where_servers_are_joined_directly(name: str) -> None:
    scenario = make_scenario(cluster=CLUSTERS[name])
    assert summarise(scenario).oversubscription == ()
    assert "Oversubscription" not in print_out(scenario)


def test_offered_load_by_hand() -> None:
    paid = make_job("paid", budget=Resources({"gpu": 12}), resources=Resources({"gpu": 2}), max_workers=3)
    free = make_job("free", arrival=4, max_workers=2)
    late = make_job("late", arrival=10)
    (load,) = summarise(make_scenario(paid, free, late)).loads
    # 12 by budget; 2 workers over slots 4 … 9; nothing for the one that comes after the last slot.
    assert (load.resource, load.offered, load.horizon_capacity) == ("gpu", 12 + 12, 20 * 10)
    assert (load.peak, load.capacity) == (3 * 2 + 2 * 1, 20)


def test_jobs_by_hand() -> None:
    small = make_job("small", arrival=2, bandwidth_gbps=1, utility=Linear())
    large = make_job("large", arrival=5, max_workers=8, min_workers=2, resources=Resources({"gpu": 2}))
    jobs = jobs_of(make_scenario(small, large))
    assert (jobs.count, jobs.first_arrival, jobs.last_arrival, jobs.arrivals_per_slot) == (2, 2, 5, 0.5)
    assert (jobs.min_workers, jobs.max_workers) == (Spread(1, 1.5, 2), Spread(4, 6, 8))
    assert jobs.per_worker == {"gpu": Spread(1, 1.5, 2)}
    assert jobs.bandwidth_gbps == Spread(1, 3, 5)
    assert jobs.utilities == {"linear": 1, "sqrt": 1}
    assert [(job.name, job.offered) for job in jobs.largest] == [("large", 80), ("small", 32)]
    assert jobs.largest[0].share == pytest.approx(80 / 112)
    assert jobs.misfits == ()


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (make_job("j", resources=Resources({"gpu": 9})), "needs 9 gpu per worker; the largest server has 4"),
        (make_job("j", resources=Resources({"tpu": 1})), "needs 1 tpu per worker; the largest server has 0"),
        (
            make_job("j", min_workers=4, budget=Resources({"gpu": 3})),
            "its budget pays for 3 worker-slots; its smallest ring has 4 workers",
        ),
        (
            make_job("j", min_workers=21, max_workers=30),
            "needs 21 workers at least; the whole cluster holds 20",
        ),
        (make_job("j", arrival=10), "arrives in slot 10; the last one is 9"),
    ],
)
def test_jobs_that_can_never_run_are_told_why(job: Job, reason: str) -> None:
    assert jobs_of(make_scenario(make_job("fine"), job)).misfits == (("j", reason),)


def test_a_worker_needs_all_its_resources_on_one_server() -> None:
    servers = (Server("a", Resources({"gpu": 4})), Server("b", Resources({"gpu": 1, "ssd": 2})))
    cluster = Cluster(servers, ("sw",), (Link(("a", "sw"), 1), Link(("b", "sw"), 1)))
    job = make_job("j", resources=Resources({"gpu": 2, "ssd": 1}))
    reason = "needs 2 gpu and 1 ssd per worker; no server has them together"
    assert jobs_of(make_scenario(job, cluster=cluster)).misfits == (("j", reason),)


def test_sums_of_fractions_fit_as_they_do_for_the_referee() -> None:
    cluster = Cluster((Server("a", Resources({"gpu": 0.1 + 0.2})),), (), ())
    tenth = make_job("j", resources=Resources({"gpu": 0.1}), min_workers=3, budget=Resources({"gpu": 0.3}))
    assert jobs_of(make_scenario(tenth, cluster=cluster)).misfits == ()


def test_an_empty_list_of_jobs() -> None:
    scenario = make_scenario()
    assert summarise(scenario).jobs is None
    assert "No jobs." in print_out(scenario)


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_cluster_can_be_told(name: str) -> None:
    assert print_out(make_scenario(make_job("j"), cluster=CLUSTERS[name])).startswith("Cluster: ")


@pytest.mark.parametrize("name", ["[red]x", "[/]", "[link=x]", "名前", ":smile:"])
def test_names_are_printed_as_they_are(name: str) -> None:
    cluster = Cluster(
        (Server(name, Resources({name: 1})),), (name + "-switch",), (Link((name, name + "-switch"), 0),)
    )
    shown = print_out(make_scenario(make_job(name, resources=Resources({name: 2})), cluster=cluster))
    assert shown.count(name) >= 5


def test_long_lists_are_cut() -> None:
    shown = print_out(make_scenario(*(make_job(f"j{n}", arrival=99) for n in range(50))))
    assert "Jobs that can never run: 50" in shown
    assert "… and 30 more" in shown


def test_usage_by_hand() -> None:
    allocation, jobs = make_rings()
    usage = Usage(CLUSTERS["leaf-spine"], allocation, {job.name: job for job in jobs})
    assert usage.held["s0-0"] == {"wide": 2, "fat": 3}
    assert usage.used(["s0-0", "s1-0", "s3-0"]) == (6, 24)
    assert usage.loads[frozenset(("s0-0", "leaf0"))] == pytest.approx(5 / 100)
    assert usage.loads[frozenset(("leaf0", "spine0"))] == pytest.approx(5 / 400)
    assert usage.loads[frozenset(("leaf0", "spine1"))] == 0
    assert [ring.job for ring in usage.crossing[frozenset(("leaf2", "s2-0"))]] == ["near"]
    assert Usage(CLUSTERS["empty"], Allocation(), {}).used([]) == (0, 0)
