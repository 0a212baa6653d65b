"""Hypothesis strategies for every value of the model, from ordinary to the edge of what is allowed."""

from hypothesis import strategies as st

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Decision,
    Energy,
    Job,
    Linear,
    Link,
    Log,
    Reason,
    Resources,
    Ring,
    Scenario,
    Server,
    Sigmoid,
    Snapshot,
    Sqrt,
    Status,
    Surrogate,
    Table,
    Timing,
    Waiting,
)
from gadget.model.quantity import LARGEST, MOST_SLOTS, MOST_WORKERS, SMALLEST

# Names that YAML or JSON could take for something else, or that need quotes.
ODD_NAMES = (
    *("yes", "No", "on", "OFF", "y", "true", "False", "null", "~", "NULL", "=", "-", "---", "...", "--- a"),
    *("1", "007", "-3", "1e3", "+1E-3", ".5", "5.", "1_000", "0x1F", "0o17", "0b1", "12:30:45", "2001-01-01"),
    *(
        ".inf",
        "-.INF",
        ".nan",
        "Infinity",
        "NaN",
        "#a",
        "a #b",
        "a: b",
        "a:",
        ":a",
        "a:b",
        "- a",
        "? a",
        "%a",
    ),
    *(
        "&a",
        "*a",
        "!a",
        "!!str a",
        "|",
        ">",
        "@a",
        "`a`",
        "'",
        '"',
        "a'b\"c",
        "''",
        '""',
        "{a}",
        "[a]",
        "a,b",
    ),
    *("{", "]", ",", "a\\b", "\\n", "\\", "/", "$", " ", " a", "a ", "a  b", "a" * 130, "a " * 90),
    *(
        "\u00e9",
        "e\u0301",
        "\u0308",
        "名前",
        "مرحبا",
        "😀",
        "𝔸",
        "ß",
        "ａ",
        "a.b",
        "a[0]",
        "[0]",
        "a[...]",
        "…",
    ),
)

printable_text = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "),
    min_size=1,
    max_size=8,
)
any_text = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.one_of(
    st.sampled_from(ODD_NAMES), printable_text, st.from_regex(r"[a-z]{1,3}[0-9]", fullmatch=True)
)

positive = st.one_of(
    st.integers(1, 100),
    st.sampled_from((0.1, 0.2, 0.3, 2.5, 1e-3, SMALLEST, LARGEST, 10**15)),
    st.floats(SMALLEST, LARGEST),
    st.integers(1, int(LARGEST)),
)
at_least_zero = st.one_of(st.sampled_from((0, 0.0)), positive)
numbers = st.one_of(at_least_zero, at_least_zero.map(lambda number: -number))
finite = st.floats(-1e300, 1e300)

resources = st.dictionaries(names, at_least_zero, max_size=3).map(Resources)


@st.composite
def demands(draw):
    """What a worker takes: at least one resource above 0."""
    amounts = draw(st.dictionaries(names, at_least_zero, max_size=2))
    return Resources({**amounts, draw(names): draw(positive)})


@st.composite
def tables(draw):
    works = draw(st.lists(at_least_zero, min_size=1, max_size=5, unique_by=float))
    return Table(tuple((work, draw(numbers)) for work in sorted(works)))


plain_utilities = st.one_of(
    st.builds(Sqrt, at_least_zero),
    st.builds(Log, at_least_zero),
    st.builds(Linear, at_least_zero),
    st.builds(Sigmoid, at_least_zero, positive, at_least_zero),
    tables(),
)
energies = st.builds(
    Energy, st.none() | plain_utilities, at_least_zero, at_least_zero, at_least_zero, at_least_zero
)
utilities = st.one_of(plain_utilities, energies)

timings = st.builds(
    Timing,
    gradient_mb=at_least_zero,
    reduce_gbps=positive,
    forward_ms_per_sample=at_least_zero,
    batch=at_least_zero,
    backward_ms=positive,
    overhead_ms=at_least_zero,
)


@st.composite
def jobs(draw, name=names):
    workers = sorted(draw(st.lists(st.integers(1, 8) | st.integers(1, MOST_WORKERS), min_size=2, max_size=2)))
    timed = draw(st.booleans())
    return Job(
        name=draw(name),
        resources=draw(demands()),
        min_workers=workers[0],
        max_workers=workers[1],
        utility=draw(utilities),
        bandwidth_gbps=draw(positive if timed else at_least_zero),
        rate=None if timed else draw(positive),
        timing=draw(timings) if timed else None,
        arrival=draw(st.integers(0, 5) | st.integers(0, MOST_SLOTS)),
        budget=draw(st.none() | resources),
    )


@st.composite
def trees(draw, max_nodes=7, max_depth=4):
    """Clusters without cycles, 1 to `max_depth` levels below the root; servers may stand inside."""
    return draw(_clusters(max_nodes, max_depth, extra_links=0))


@st.composite
def graphs(draw, max_nodes=7):
    """Connected clusters with up to four links more than a tree."""
    return draw(_clusters(max_nodes, max_nodes, extra_links=4))


@st.composite
def _clusters(draw, max_nodes, max_depth, extra_links):
    nodes = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    hosts = {draw(st.sampled_from(nodes))} | set(draw(st.lists(st.sampled_from(nodes))))
    depth = {nodes[0]: 0}
    pairs = []
    for node in nodes[1:]:
        above = draw(st.sampled_from([other for other in depth if depth[other] < max_depth]))
        depth[node] = depth[above] + 1
        pairs.append(draw(st.permutations((node, above))))
    for _ in range(draw(st.integers(0, extra_links)) if len(nodes) > 2 else 0):
        pair = draw(st.lists(st.sampled_from(nodes), min_size=2, max_size=2, unique=True))
        if set(pair) not in map(set, pairs):
            pairs.append(pair)
    return Cluster(
        tuple(Server(node, draw(resources)) for node in nodes if node in hosts),
        tuple(node for node in nodes if node not in hosts),
        tuple(Link(tuple(pair), draw(at_least_zero)) for pair in pairs),
    )


clusters = st.one_of(trees(), graphs())


@st.composite
def rings(draw, job=names, nodes=names):
    """Rings of any shape, most of them not feasible: a file may hold them, the referee judges them."""
    workers = draw(st.lists(nodes, max_size=4))
    routes = draw(st.lists(st.lists(nodes, max_size=4).map(tuple), max_size=4))
    return Ring(draw(job), tuple(workers), tuple(routes))


def allocations(**of):
    return st.lists(rings(**of), max_size=3).map(lambda some: Allocation(tuple(some)))


job_lists = st.lists(jobs(), max_size=3, unique_by=lambda job: job.name)
scenarios = st.builds(Scenario, clusters, job_lists.map(tuple), st.integers(1, MOST_SLOTS), positive)


@st.composite
def snapshots(draw):
    slots = draw(st.integers(1, 10) | st.integers(1, MOST_SLOTS))
    cluster = draw(clusters)
    actives = tuple(
        ActiveJob(job, draw(at_least_zero), draw(st.none() | at_least_zero)) for job in draw(job_lists)
    )
    return Snapshot(
        cluster,
        actives,
        slot=draw(st.integers(0, slots - 1)),
        slots=slots,
        slot_seconds=draw(positive),
        running=draw(allocations(nodes=st.sampled_from(cluster.nodes) | names)),
    )


@st.composite
def decisions(draw, text=any_text):
    return Decision(
        slot=draw(st.integers(0, MOST_SLOTS)),
        policy=draw(names),
        seed=draw(st.integers(0, 10) | st.integers(0, 2**128)),
        allocation=draw(allocations()),
        waiting=tuple(
            draw(st.lists(st.builds(Waiting, names, st.sampled_from(Reason) | names, text), max_size=3))
        ),
        objective=draw(finite),
        upper_bound=draw(st.none() | finite),
        status=draw(st.sampled_from(Status)),
        seconds=draw(st.floats(0, 1e6)),
        surrogate=draw(st.none() | st.builds(Surrogate, finite, st.none() | finite)),
    )
