"""Bad values in good files: the file, the line, the key, what is wrong and how to mend it."""

import pytest

from tests.samples import DECISION_JSON, SCENARIO_YAML, SNAPSHOT_JSON
from tests.unit.model.complaints import changed, complaint

# Each: what is replaced, by what, the line, and what is said.

BAD_SCENARIOS = {
    # wrong type
    "text for a number": ("slots: 200", "slots: many", 2, 'slots is "many". It should be: whole number.'),
    "fraction for a whole": ("slots: 200", "slots: 2.5", 2, "slots is 2.5. It should be: whole number."),
    "list for a number": (
        "gbps: 40",
        "gbps: [40]",
        11,
        "cluster.links[1].gbps is [40]. It should be: number.",
    ),
    "number for a name": (
        "name: resnet-7",
        "name: 7",
        14,
        "jobs[0].name is 7. It should be: text.",
    ),
    "null for a number": ("rate: 120", "rate:", 20, "jobs[0].rate is null. It should be: number."),
    "true for an amount": (
        "gpu: 8,",
        "gpu: true,",
        6,
        "cluster.servers[0].resources.gpu is true. It should be: number.",
    ),
    "quoted number": ("rate: 120", "rate: '120'", 20, 'jobs[0].rate is "120". It should be: number.'),
    "mapping for a list": (
        "switches: [rack0, core]",
        "switches: {rack0: core}",
        8,
        'cluster.switches is {"rack0": "core"}. It should be: list.',
    ),
    "list for a mapping": (
        "workers: {max: 4}",
        "workers: [4]",
        23,
        "jobs[1].workers is [4]. It should be: mapping of keys to values.",
    ),
    "three ends": ("ends: [s1, rack0]", "ends: [s1, rack0, core]", 11, "cluster.links[1].ends is"),
    "half a point": ("[10, 5]", "[10]", 35, "jobs[1].utility.progress.points[1] is [10]."),
    # missing key
    "no slots": ("slots: 200\n", "", None, "slots is missing. Add it."),
    "no capacity": ("gbps: 40", "", 11, "cluster.links[1].gbps is missing. Add it."),
    "no speed": ("    rate: 120\n", "", 14, "jobs[0].rate is missing. Give rate, or timing instead."),
    "no kind": (
        "kind: sigmoid, ",
        "",
        21,
        "jobs[0].utility.kind is missing. Choose one of sqrt, log, linear, sigmoid, table, energy.",
    ),
    "no version": ("version: 1\n", "", None, "version is missing. Add it."),
    # unknown key
    "unknown key": (
        "arrival: 3",
        "arival: 3",
        15,
        "jobs[0].arival is not a known key (nearest: 'arrival'). Known here: name, arrival, workers, ",
    ),
    "unknown key of one kind": (
        "target: 900",
        "taget: 900",
        21,
        "jobs[0].utility.taget is not a known key (nearest: 'target'). "
        "Known here: kind, priority, sensitivity, target.",
    ),
    "key of another kind": (
        "weight: 0.1",
        "scale: 2",
        36,
        "jobs[1].utility.scale is not a known key. Known here: kind, progress, weight, energy_per_work, ",
    ),
    "snapshot's key": ("slots: 200", "slots: 200\nslot: 3", 3, "slot is not a known key (nearest: 'slots')."),
    # wrong word
    "unknown kind": (
        "kind: sigmoid",
        "kind: sigmoyd",
        21,
        "jobs[0].utility.kind is \"sigmoyd\" (nearest: 'sigmoid'). "
        "Choose one of sqrt, log, linear, sigmoid, table, energy.",
    ),
    "other version": ("version: 1", "version: 2", 1, "version is 2. This release reads version 1."),
    "version as text": ("version: 1", "version: '1'", 1, 'version is "1". This release reads version 1.'),
    # numbers
    "negative": ("rate: 120", "rate: -3", 20, "jobs[0].rate is -3. It should be: number > 0."),
    "zero": ("slots: 200", "slots: 0", 2, "slots is 0. It should be: whole number >= 1."),
    "negative amount": (
        "gpu: 4, ",
        "gpu: -4, ",
        7,
        "cluster.servers[1].resources.gpu is -4, below 0. Give 0 or more.",
    ),
    "negative budget": ("gpu: 4000", "gpu: -1", 18, "jobs[0].budget.gpu is -1, below 0. Give 0 or more."),
    "nan": ("rate: 120", "rate: .nan", 20, "jobs[0].rate is NaN. It should be: number > 0."),
    "infinite": ("gbps: 40", "gbps: .inf", 11, "cluster.links[1].gbps is Infinity. It should be: number <="),
    "nan amount": ("gpu: 4, ", "gpu: .NaN, ", 7, "cluster.servers[1].resources.gpu is NaN."),
    "infinite amount": ("gpu: 4, ", "gpu: -.inf, ", 7, "cluster.servers[1].resources.gpu is -Infinity."),
    "overflow": ("rate: 120", "rate: 1e999", 20, "jobs[0].rate is Infinity. It should be: number <="),
    "too large": (
        "gpu: 8,",
        "gpu: 1e16,",
        6,
        "cluster.servers[0].resources.gpu is 1e+16, larger than 1e+15. Choose a larger unit.",
    ),
    "too small": (
        "bandwidth_gbps: 2.5",
        "bandwidth_gbps: 1e-13",
        19,
        "jobs[0].bandwidth_gbps is 1e-13, smaller than 1e-12. Choose a smaller unit, or 0.",
    ),
    "huge whole": ("slots: 200", f"slots: {10**390}", 2, "slots is 1000"),
    "huge amount": ("gpu: 8,", f"gpu: {10**390},", 6, "cluster.servers[0].resources.gpu is 1000"),
    "100,000 digits": ("rate: 120", f"rate: {'9' * 100_000}", 20, "jobs[0].rate is Infinity."),
    "many slots": ("slots: 200", "slots: 10000001", 2, "slots is 10000001. It should be: whole number <= 1"),
    # names
    "name twice": (
        "name: s1",
        "name: s0",
        7,
        "cluster.servers[1].name is 's0', a name that servers[0].name has already. Rename one of them.",
    ),
    "server as switch": (
        "switches: [rack0, core]",
        "switches: [rack0, s1, core]",
        8,
        "cluster.switches[1] is 's1', a name that servers[1].name has already. Rename one of them.",
    ),
    "job twice": (
        "name: bert-2",
        "name: resnet-7",
        22,
        "jobs[1].name is 'resnet-7', as is jobs[0].name. Rename one of them.",
    ),
    "empty name": (
        "name: s1",
        "name: ''",
        7,
        'cluster.servers[1].name is "". It should be: text of length >= 1',
    ),
    "unprintable name": (
        "name: s1",
        'name: "a\\tb"',
        7,
        "cluster.servers[1].name is 'a\\tb', which holds unprintable characters. Use printable characters.",
    ),
    "unprintable resource": (
        "memory_gib: 512",
        '"a\\eb": 1',
        6,
        "a resource name is 'a\\x1bb', which holds unprintable characters. Use printable characters.",
    ),
    # the cluster
    "link to nowhere": (
        "[s1, rack0]",
        "[s1, rock0]",
        11,
        "cluster.links[1].ends name 'rock0', which is no server or switch (nearest: 'rack0'). "
        "Correct the name, or add the node.",
    ),
    "link to itself": (
        "[s1, rack0]",
        "[s1, s1]",
        11,
        "cluster.links[1].ends join 's1' to itself. Name two different nodes.",
    ),
    "link twice": (
        "[s1, rack0]",
        "[rack0, s0]",
        11,
        "cluster.links[1].ends join 'rack0' and 's0', as links[0] does. Merge both into one link",
    ),
    "not connected": (
        "    - {ends: [s1, rack0], gbps: 40}\n",
        "",
        9,
        "cluster.links leave 's1' with no route to 's0'; the cluster is not connected. Add the missing link.",
    ),
    # the jobs
    "min above max": (
        "{min: 1, max: 5}",
        "{min: 6, max: 5}",
        16,
        "jobs[0].workers.min is 6, above workers.max = 5. Lower min or raise max.",
    ),
    "takes nothing": (
        "    resources: {gpu: 1}\n",
        "    resources: {gpu: 0}\n",
        17,
        "jobs[0].resources takes nothing. Name at least one resource with an amount above 0.",
    ),
    "two speeds": (
        "    bandwidth_gbps: 2\n",
        "    bandwidth_gbps: 2\n    rate: 4\n",
        26,
        "jobs[1].rate is given beside timing. Keep one of the two.",
    ),
    "no bandwidth": (
        "    bandwidth_gbps: 2\n",
        "    bandwidth_gbps: 0\n",
        25,
        "jobs[1].bandwidth_gbps is 0, so a ring with timing would never finish an iteration. Raise it.",
    ),
    "points out of order": (
        "{kind: sigmoid, priority: 50, sensitivity: 0.3, target: 900}",
        "{kind: table, points: [[0, 0], [5, 1], [5, 2]]}",
        21,
        "jobs[0].utility.points[2][0] is 5, not above the work of the point before. "
        "List points by rising work.",
    ),
    "no points": ("[[0, 0], [10, 5], [20, 7.5]]", "[]", 35, "jobs[1].utility.progress.points is []."),
    "one reduces nothing": (
        "reduce_gbps: 4",
        "reduce_gbps: 0",
        28,
        "jobs[1].timing.reduce_gbps is 0. It should be: number > 0.",
    ),
}


@pytest.mark.parametrize(("old", "new", "line", "said"), BAD_SCENARIOS.values(), ids=BAD_SCENARIOS)
def test_bad_scenarios(tmp_path, old, new, line, said):
    where = f"bad.yaml:{line}: " if line else "bad.yaml: "
    found = complaint(tmp_path, changed(SCENARIO_YAML, old, new))
    assert found.startswith(where)
    assert said in found
    # What is wrong and how to mend it are two sentences.
    assert ". " in found.removeprefix(where)


def test_a_cluster_of_nothing(tmp_path):
    text = "version: 1\nslots: 1\ncluster: {servers: []}\njobs: []\n"
    assert complaint(tmp_path, text) == (
        "bad.yaml:3: cluster.servers is []. It should be: list of length >= 1."
    )


def test_an_iteration_that_takes_no_time(tmp_path):
    text = SCENARIO_YAML
    for key in ("batch: 32", "backward_ms: 20", "overhead_ms: 4"):
        text = changed(text, key, f"{key.split(':')[0]}: 0")
    assert complaint(tmp_path, text) == (
        "bad.yaml:26: jobs[1].timing an iteration of one worker would take no time. "
        "Give forward_ms_per_sample and batch, backward_ms or overhead_ms above 0."
    )


BAD_SNAPSHOTS = {
    "no slot": (
        '"slot": 17,',
        "",
        None,
        "slot is missing. Add it; a file without it is a scenario, and `--slot N` takes slot N of one.",
    ),
    "past the end": ('"slot": 17', '"slot": 200', 3, "slot is 200, outside 0 … 199."),
    "served less than nothing": (
        '"served": 12',
        '"served": -1',
        20,
        "jobs[0].served is -1. It should be: number >= 0.",
    ),
    "work of NaN": ("1400.5", "NaN", 21, "jobs[0].work_done is NaN. It should be: number >= 0."),
    "infinite": ("1e2", "Infinity", 10, "cluster.links[0].gbps is Infinity. It should be: number <="),
    "minus infinity": ("4.5", "-Infinity", 8, "cluster.servers[1].resources.gpu is -Infinity."),
    "huge": ("4.5", "1" + "0" * 4000, 8, "cluster.servers[1].resources.gpu is 1000"),
    "route of no list": ('["s1", "s0"]]', "3]", 25, "running[0].routes[1] is 3. It should be: list."),
    "worker of no name": (
        '["s0", "s1"], "routes"',
        '["s0", ""], "routes"',
        25,
        'running[0].workers[1] is "".',
    ),
    "unknown key": ('"served"', '"serve"', 20, "jobs[0].serve is not a known key (nearest: 'served')."),
}


@pytest.mark.parametrize(("old", "new", "line", "said"), BAD_SNAPSHOTS.values(), ids=BAD_SNAPSHOTS)
def test_bad_snapshots_in_json(tmp_path, old, new, line, said):
    found = complaint(tmp_path, changed(SNAPSHOT_JSON, old, new), "bad.json", "snapshot")
    assert found.startswith(f"bad.json:{line}: {said}" if line else f"bad.json: {said}")


BAD_DECISIONS = {
    "unknown status": (
        '"certified"',
        '"certain"',
        3,
        "status is \"certain\" (nearest: 'certified'). Choose one of certified, heuristic, optimal.",
    ),
    "status of no text": ('"certified"', "5", 3, "status is 5."),
    "objective of nothing": (
        '431.7, "upper_bound": 432.0',
        'null, "upper_bound": 432.0',
        3,
        "objective is null.",
    ),
    "bound as text": ("432.0", '"high"', 3, 'upper_bound is "high".'),
    "bound of NaN": ("432.0", "NaN", 3, "upper_bound is NaN."),
    "negative seed": ('"seed": 0', '"seed": -1', 2, "seed is -1. It should be: whole number >= 0."),
    "negative time": ("0.041", "-1", 3, "seconds is -1. It should be: number >= 0."),
    "no reason": ('"reason": "capacity", ', "", 11, "waiting[0].reason is missing. Add it."),
    "no rings": ('"rings"', '"ring"', 4, "ring is not a known key (nearest: 'rings')."),
    "half a surrogate": (', "upper_bound": null', "", 12, "surrogate.upper_bound is missing. Add it."),
}


@pytest.mark.parametrize(("old", "new", "line", "said"), BAD_DECISIONS.values(), ids=BAD_DECISIONS)
def test_bad_decisions_in_json(tmp_path, old, new, line, said):
    found = complaint(tmp_path, changed(DECISION_JSON, old, new), "bad.json", "decision")
    assert found.startswith(f"bad.json:{line}: {said}")


def test_a_long_value_is_cut_short(tmp_path):
    text = changed(SCENARIO_YAML, "slots: 200", f"slots: {'x' * 1000}")
    assert complaint(tmp_path, text) == f'bad.yaml:2: slots is "{"x" * 56}…. It should be: whole number.'
