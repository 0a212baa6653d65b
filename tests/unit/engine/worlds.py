"""Small clusters and jobs whose course can be worked out by hand."""

from gadget.engine.state import State, begin
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Status
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario
from gadget.model.timing import Timing
from gadget.model.utility import Linear

# Two servers of two GPUs behind one switch, 10 Gbps each.
PAIR = Cluster(
    (Server("a", Resources({"gpu": 2})), Server("b", Resources({"gpu": 2}))),
    ("sw",),
    (Link(("a", "sw"), 10), Link(("b", "sw"), 10)),
)
# Three servers in a row: what goes from one end to the other passes through the middle.
ROW = Cluster(
    tuple(Server(name, Resources({"gpu": 1})) for name in "xyz"),
    (),
    (Link(("x", "y"), 10), Link(("y", "z"), 10)),
)
# Compute 1 s, all-reduce of 1 Gb: 1.5 s at two workers, so τ(1) = 1 s and τ(2) = 2.5 s.
TIMING = Timing(gradient_mb=125, reduce_gbps=1, forward_ms_per_sample=1000, batch=1, backward_ms=0)


def job(name: str, **fields: object) -> Job:
    usual = {
        "resources": Resources({"gpu": 1}),
        "max_workers": 2,
        "bandwidth_gbps": 1,
        "rate": 5,
        "utility": Linear(),
    }
    return Job(name=name, **{**usual, **fields})  # type: ignore[arg-type]


def ring(name: str, *workers: str, through: str = "sw") -> Ring:
    """A ring over servers that all hang from one node, or of one worker."""
    if len(workers) == 1:
        return Ring(name, workers, ())
    after = (*workers[1:], workers[0])
    routes = tuple(
        (here,) if here == there else (here, through, there)
        for here, there in zip(workers, after, strict=True)
    )
    return Ring(name, workers, routes)


def decision(slot: int, *rings: Ring, policy: str = "test", objective: float = 0.0) -> Decision:
    return Decision(slot, policy, Allocation(rings), (), objective, None, Status.HEURISTIC)


def start(*, cluster: Cluster = PAIR, slots: int = 10, slot_seconds: float = 10) -> State:
    return begin(Scenario(cluster, (), slots, slot_seconds))
