"""The shapes of our files, key by key: what is written here is what `gadget schema` prints.

Numbers carry their ranges for the schema's readers; the values in this package check them again, because
values are made in Python too. Amounts are checked there alone, where a complaint can name the resource.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gadget.model.quantity import LARGEST, MOST_SLOTS, MOST_WORKERS
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS

VERSION = 1

Name = Annotated[str, Meta(min_length=1)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
AtLeastZero = Annotated[float, Meta(ge=0, le=LARGEST)]
# Any float that is one: the bounds keep out NaN and the infinities.
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]
Positive = Annotated[float, Meta(gt=0, le=LARGEST)]
Share = Annotated[float, Meta(ge=0, le=1)]
Workers = Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
Slot = Annotated[int, Meta(ge=0, le=MOST_SLOTS)]
Slots = Annotated[int, Meta(ge=1, le=MOST_SLOTS)]
Amounts = Annotated[
    dict[str, Finite],
    Meta(
        description="amount by resource name, each 0 or more",
        extra_json_schema={"additionalProperties": {"type": "number", "minimum": 0, "maximum": LARGEST}},
    ),
]
Point = Annotated[tuple[AtLeastZero, Number], Meta(description="[work, value]")]


class Document(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Common to all: unknown keys are errors."""


class ServerDoc(Document, frozen=True):
    """A server and what it offers."""

    name: Name
    resources: Amounts


class LinkDoc(Document, frozen=True):
    """A full-duplex link; the capacity holds in each direction on its own."""

    ends: tuple[Name, Name]
    gbps: AtLeastZero


class ClusterDoc(Document, frozen=True):
    """Servers and switches joined by links into one connected graph."""

    servers: Annotated[list[ServerDoc], Meta(min_length=1)]
    switches: list[Name] = []
    links: list[LinkDoc] = []


class LiveClusterDoc(Document, frozen=True):
    """The cluster of a running service: it may have lost all its servers, or fall into parts."""

    servers: list[ServerDoc]
    switches: list[Name] = []
    links: list[LinkDoc] = []


class WorkersDoc(Document, frozen=True):
    """Ring size: 0 when the job waits, else min … max."""

    max: Workers
    min: Workers = 1


class TimingDoc(Document, frozen=True):
    """d, G, t_f, M, t_b, γ of Eq. (1); `local_gbps`, `hop_ms` and `overlap` extend it."""

    gradient_mb: AtLeastZero
    reduce_gbps: Positive
    forward_ms_per_sample: AtLeastZero
    batch: AtLeastZero
    backward_ms: AtLeastZero
    overhead_ms: AtLeastZero = 0
    local_gbps: Positive | UnsetType = UNSET
    hop_ms: AtLeastZero = 0
    overlap: Share = 0


class _UtilityDoc(Document, tag_field="kind", frozen=True):
    """The kind tells which of the utilities it is."""


class SqrtDoc(_UtilityDoc, tag="sqrt", frozen=True):
    """scale·√work."""

    scale: AtLeastZero = 1


class LogDoc(_UtilityDoc, tag="log", frozen=True):
    """scale·log(1 + work)."""

    scale: AtLeastZero = 1


class LinearDoc(_UtilityDoc, tag="linear", frozen=True):
    """scale·work."""

    scale: AtLeastZero = 1


class SigmoidDoc(_UtilityDoc, tag="sigmoid", frozen=True):
    """priority / (1 + exp(−sensitivity·(work − target)))."""

    priority: AtLeastZero
    sensitivity: Positive
    target: AtLeastZero


class TableDoc(_UtilityDoc, tag="table", frozen=True):
    """Straight lines between points, flat outside them; work rises from point to point."""

    points: Annotated[list[Point], Meta(min_length=1)]


ProgressDoc = SqrtDoc | LogDoc | LinearDoc | SigmoidDoc | TableDoc


class EnergyDoc(_UtilityDoc, tag="energy", frozen=True):
    """progress(work) − weight·(quadratic·e² + linear·e) with e = energy_per_work·work."""

    progress: ProgressDoc | UnsetType = UNSET
    weight: AtLeastZero = 1
    energy_per_work: AtLeastZero = 1
    quadratic: AtLeastZero = 1
    linear: AtLeastZero = 0


UtilityDoc = ProgressDoc | EnergyDoc


class ProgramDoc(Document, frozen=True, kw_only=True):
    """What each worker of a job runs in the live service."""

    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    working_dir: str | UnsetType = UNSET
    env: dict[str, str] = {}
    checkpoint_grace_seconds: AtLeastZero = 30
    start_seconds: Positive = 120
    silence_seconds: Positive = 60


class JobDoc(Document, frozen=True, kw_only=True):
    """A job of a scenario; exactly one of `rate` and `timing` gives its speed."""

    name: Name
    arrival: Slot = 0
    workers: WorkersDoc
    resources: Amounts
    budget: Amounts | UnsetType = UNSET
    bandwidth_gbps: AtLeastZero
    rate: Positive | UnsetType = UNSET
    timing: TimingDoc | UnsetType = UNSET
    resize_cost: AtLeastZero = 0
    restart_seconds: AtLeastZero | UnsetType = UNSET
    work: Positive | UnsetType = UNSET
    deadline: Slots | UnsetType = UNSET
    priority: Positive = 1
    min_runtime_seconds: AtLeastZero = 0
    run: ProgramDoc | UnsetType = UNSET
    utility: UtilityDoc


class ActiveJobDoc(JobDoc, frozen=True, kw_only=True):
    """A job of a snapshot: with what it has been served so far."""

    served: AtLeastZero = 0
    work_done: AtLeastZero | UnsetType = UNSET


class RingDoc(Document, frozen=True):
    """workers[k] hosts rank k, which sends to rank k+1 along routes[k]; one worker has no routes."""

    job: Name
    workers: tuple[Name, ...]
    routes: tuple[tuple[Name, ...], ...]


class ScenarioDoc(Document, frozen=True, kw_only=True):
    """A cluster and its jobs over a horizon."""

    version: Literal[1]
    slots: Slots
    slot_seconds: Positive = DEFAULT_SLOT_SECONDS
    cluster: ClusterDoc
    jobs: list[JobDoc]


class JobsDoc(Document, frozen=True, kw_only=True):
    """Jobs to submit to the live service."""

    version: Literal[1]
    jobs: Annotated[list[JobDoc], Meta(min_length=1)]


class SnapshotDoc(Document, frozen=True, kw_only=True):
    """A scenario at one slot."""

    version: Literal[1]
    slot: Slot
    slots: Slots
    slot_seconds: Positive = DEFAULT_SLOT_SECONDS
    cluster: ClusterDoc
    jobs: list[ActiveJobDoc]
    running: tuple[RingDoc, ...] = ()


class ClusterFileDoc(Document, frozen=True, kw_only=True):
    """A cluster in a file of its own."""

    version: Literal[1] = 1
    cluster: ClusterDoc


class WaitingDoc(Document, frozen=True):
    """A job that gets no ring, and why."""

    job: Name
    reason: Name
    detail: str


class SurrogateDoc(Document, frozen=True):
    """Objective and bound in the surrogate that was decided on."""

    objective: Finite
    upper_bound: Finite | None


class DecisionDoc(Document, frozen=True, kw_only=True):
    """What one slot gets."""

    version: Literal[1]
    slot: Slot
    policy: Name
    seed: Annotated[int, Meta(ge=0)]
    objective: Finite
    upper_bound: Finite | None
    status: Literal["optimal", "certified", "heuristic"]
    seconds: Annotated[float, Meta(ge=0, le=1e300)]
    rings: tuple[RingDoc, ...]
    waiting: tuple[WaitingDoc, ...]
    surrogate: SurrogateDoc | UnsetType = UNSET


class ProfileDoc(Document, frozen=True):
    """How fast an application is: its timing, and the bandwidth that its rings reach."""

    name: Name
    bandwidth_gbps: Positive
    timing: TimingDoc


class ProfilesDoc(Document, frozen=True, kw_only=True):
    """What `gadget fit --write` leaves."""

    version: Literal[1]
    profiles: list[ProfileDoc]


FileDoc = ScenarioDoc | JobsDoc | SnapshotDoc | DecisionDoc | ProfilesDoc | ClusterFileDoc | ClusterDoc
DOCUMENTS: dict[str, type[FileDoc]] = {
    "scenario": ScenarioDoc,
    "jobs": JobsDoc,
    "snapshot": SnapshotDoc,
    "decision": DecisionDoc,
    "profiles": ProfilesDoc,
    "cluster": ClusterFileDoc,
    "bare-cluster": ClusterDoc,
}


def build_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one of the documents."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": f"GADGET {kind}", **msgspec.json.schema(DOCUMENTS[kind])}
