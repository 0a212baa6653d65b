"""Hypothesis strategies for every value of the model.

By default a value is small enough to be solved by hand: a handful of nodes, jobs that share the servers'
resources, amounts below ten. With `wild=True` it may be anything a file may hold: any resource, amounts
of any size. Names are odd in both.
"""

from dataclasses import replace

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
from gadget.model.profile import Profile, Profiles
from gadget.model.program import Program
from gadget.model.quantity import LARGEST, MOST_SLOTS, MOST_WORKERS, SMALLEST

# Names that YAML or JSON could take for something else, or that need quotes.
_ODD_WORDS = """
yes No on OFF y true False null ~ NULL = - --- ... 1 007 -3 1e3 +1E-3 .5 5. 1_000 0x1F 0o17 0b1 12:30:45
2001-01-01 .inf -.INF .nan Infinity NaN #a a: :a a:b %a &a *a !a | > @a `a` ' '' a'b"c " "" { ] , {a} [a]
a,b a\\b \\n \\ / $ 名前 مرحبا 😀 𝔸 ß ａ a.b a[0] [0] a[...] … \u00e9 e\u0301 \u0308
"""
ODD_NAMES = (
    *_ODD_WORDS.split(),
    *("<<", "a #b", "a: b", "- a", "? a", "--- a", "!!str a", " ", " a", "a ", "a  b", "a" * 130, "a " * 90),
)

printable_text = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "),
    min_size=1,
    max_size=8,
)
any_text = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.one_of(
    st.from_regex(r"[a-z]{1,3}[0-9]", fullmatch=True), st.sampled_from(ODD_NAMES), printable_text
)
finite = st.floats(-1e300, 1e300)

_small = st.one_of(st.integers(1, 8), st.integers(1, 80).map(lambda tenths: tenths / 10))
_extreme = st.one_of(
    st.sampled_from((SMALLEST, LARGEST, int(LARGEST), 1e-3, 0.3)),
    st.floats(SMALLEST, LARGEST),
    st.integers(1, int(LARGEST)),
)


def positive(wild=False):
    return _small | _extreme if wild else _small


def at_least_zero(wild=False):
    return st.one_of(positive(wild), st.sampled_from((0, 0.0)))


def numbers(wild=False):
    return st.one_of(at_least_zero(wild), at_least_zero(wild).map(lambda number: -number))


def _resource_names(wild):
    return names if wild else st.sampled_from(("gpu", "gpu", "memory_gib"))


def resources(wild=False):
    """What a server offers or a budget allows."""
    return st.dictionaries(_resource_names(wild), at_least_zero(wild), max_size=3).map(Resources)


@st.composite
def demands(draw, wild=False):
    """What a worker takes: at least one resource above 0."""
    amount = positive(wild) if wild else st.sampled_from((1, 1, 2, 0.1, 0.5, 3))
    amounts = draw(st.dictionaries(_resource_names(wild), at_least_zero(wild), max_size=1))
    return Resources({**amounts, draw(_resource_names(wild)): draw(amount)})


@st.composite
def tables(draw, wild=False):
    works = draw(st.lists(at_least_zero(wild), min_size=1, max_size=5, unique_by=float))
    return Table(tuple((work, draw(numbers(wild))) for work in sorted(works)))


def plain_utilities(wild=False):
    """Every kind but energy."""
    scale = at_least_zero(wild)
    sharp = positive(wild) if wild else st.floats(0.01, 1)
    target = at_least_zero(wild) if wild else st.just(0) | st.floats(0.1, 3000)
    return st.one_of(
        st.builds(Sqrt, scale),
        st.builds(Log, scale),
        st.builds(Linear, scale),
        st.builds(Sigmoid, scale, sharp, target),
        tables(wild),
    )


def utilities(wild=False):
    number = at_least_zero(wild)
    energy = st.builds(Energy, st.none() | plain_utilities(wild), number, number, number, number)
    return st.one_of(plain_utilities(wild), energy)


def timings(wild=False):
    return st.builds(
        Timing,
        gradient_mb=at_least_zero(wild),
        reduce_gbps=positive(wild),
        forward_ms_per_sample=at_least_zero(wild),
        batch=at_least_zero(wild),
        backward_ms=positive(wild),
        overhead_ms=at_least_zero(wild),
        local_gbps=st.none() | positive(wild),
        hop_ms=st.just(0) | at_least_zero(wild),
        overlap=st.just(0) | st.floats(SMALLEST, 1) | st.just(1),
    )


@st.composite
def profiles(draw, wild=False):
    found = draw(st.lists(names, max_size=3, unique=True))
    return Profiles(tuple(Profile(name, draw(positive(wild)), draw(timings(wild))) for name in found))


@st.composite
def jobs(draw, wild=False):
    size = st.integers(1, MOST_WORKERS if wild else 5)
    fewest, most = sorted((draw(st.just(1) | size), draw(size)))
    timed = draw(st.booleans())
    budget = st.dictionaries(_resource_names(wild), st.integers(0, 30) | at_least_zero(wild), max_size=2)
    utility = draw(utilities(wild))
    # Where more work is worth less, losing some is a gain, and no solver looks for that.
    costs = wild or utility.non_decreasing
    arrival = draw(st.integers(0, (MOST_SLOTS if wild else 6) - 1))
    return Job(
        name=draw(names),
        resources=draw(demands(wild)),
        min_workers=fewest,
        max_workers=most,
        utility=utility,
        bandwidth_gbps=draw(positive(wild) if timed else at_least_zero(wild)),
        rate=None if timed else draw(st.integers(1, 500) | positive(wild)),
        timing=draw(timings(wild)) if timed else None,
        arrival=arrival,
        budget=draw(st.none() | budget.map(Resources)),
        resize_cost=draw(st.just(0) | at_least_zero(wild)) if costs else 0,
        restart_seconds=draw(st.sampled_from((None, None, 0, 0.25, 8))) if costs else None,
        work=draw(st.none() | st.integers(1, 5000) | positive(wild)),
        deadline=draw(st.none() | st.integers(arrival + 1, MOST_SLOTS if wild else 12)),
        priority=draw(st.just(1) | positive(wild)),
    )


def programs(text=printable_text):
    return st.builds(
        Program,
        command=st.lists(text, min_size=1, max_size=3).map(tuple),
        working_dir=st.none() | text,
        env=st.dictionaries(st.from_regex(r"[A-F_]{1,3}", fullmatch=True), text, max_size=2).map(
            lambda env: tuple(env.items())
        ),
        checkpoint_grace_seconds=at_least_zero(),
        start_seconds=positive(),
        silence_seconds=positive(),
    )


@st.composite
def live_jobs(draw, wild=False):
    """Jobs as the live service has them: with a program, and rings that are left alone for a while."""
    return replace(
        draw(jobs(wild)),
        program=draw(st.none() | programs()),
        min_runtime_seconds=draw(st.just(0) | at_least_zero(wild)),
    )


def _job_lists(wild):
    return st.lists(jobs(wild), max_size=4, unique_by=lambda job: job.name)


def trees(wild=False, max_nodes=7, max_depth=4):
    """Clusters without cycles, up to `max_depth` levels below the root; servers may stand inside."""
    return _clusters(wild, max_nodes, max_depth, extra_links=0)


def graphs(wild=False, max_nodes=7):
    """Connected clusters with up to four links more than a tree."""
    return _clusters(wild, max_nodes, max_nodes, extra_links=4)


def clusters(wild=False):
    return st.one_of(trees(wild), graphs(wild))


@st.composite
def _clusters(draw, wild, max_nodes, max_depth, extra_links):
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
        tuple(Server(node, draw(resources(wild))) for node in nodes if node in hosts),
        tuple(node for node in nodes if node not in hosts),
        tuple(Link(tuple(pair), draw(at_least_zero(wild))) for pair in pairs),
    )


@st.composite
def rings(draw, job=names, nodes=names):
    """Rings of any shape, most of them not feasible: a file may hold them, the referee judges them."""
    workers = draw(st.lists(nodes, max_size=4))
    routes = draw(st.lists(st.lists(nodes, max_size=4).map(tuple), max_size=4))
    return Ring(draw(job), tuple(workers), tuple(routes))


def allocations(job=names, nodes=names):
    return st.lists(rings(job, nodes), max_size=3).map(lambda some: Allocation(tuple(some)))


def _slots(wild):
    return st.integers(1, MOST_SLOTS if wild else 8)


def scenarios(wild=False):
    return st.builds(Scenario, clusters(wild), _job_lists(wild).map(tuple), _slots(wild), positive(wild))


@st.composite
def snapshots(draw, wild=False):
    """A slot with jobs under way, and rings of any shape said to be running."""
    slots = draw(_slots(wild))
    cluster = draw(clusters(wild))
    actives = tuple(
        ActiveJob(job, draw(at_least_zero(wild)), draw(st.none() | at_least_zero(wild)))
        for job in draw(_job_lists(wild))
    )
    known = st.sampled_from([active.job.name for active in actives]) if actives else names
    return Snapshot(
        cluster,
        actives,
        slot=draw(st.integers(0, slots - 1)),
        slots=slots,
        slot_seconds=draw(positive(wild)),
        running=draw(allocations(known | names, st.sampled_from(cluster.nodes) | names)),
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
