"""The shapes of our files, key by key: what is written here is what `gadget schema` prints.

Numbers carry their ranges for the schema's readers; the values in this package check them again, because
values are made in Python too.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

# pydantic reads only this TypedDict before Python 3.12.
from typing_extensions import NotRequired, TypedDict

from gadget.model.decision import Status
from gadget.model.quantity import LARGEST, MOST_SLOTS, MOST_WORKERS

VERSION = 1

_STRICT = ConfigDict(extra="forbid", strict=True)

Name = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
AtLeastZero = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
Workers = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
Slot = Annotated[int, Field(ge=0, le=MOST_SLOTS)]
Slots = Annotated[int, Field(ge=1, le=MOST_SLOTS)]
Amounts = dict[Name, AtLeastZero]


class ServerDoc(TypedDict):
    """A server and what it offers."""

    __pydantic_config__ = _STRICT
    name: Name
    resources: Amounts


class LinkDoc(TypedDict):
    """A full-duplex link; the capacity holds in each direction on its own."""

    __pydantic_config__ = _STRICT
    ends: Annotated[list[Name], Field(min_length=2, max_length=2)]
    gbps: AtLeastZero


class ClusterDoc(TypedDict):
    """Servers and switches joined by links into one connected graph."""

    __pydantic_config__ = _STRICT
    servers: Annotated[list[ServerDoc], Field(min_length=1)]
    switches: NotRequired[list[Name]]
    links: NotRequired[list[LinkDoc]]


class WorkersDoc(TypedDict):
    """Ring size: 0 when the job waits, else min … max."""

    __pydantic_config__ = _STRICT
    min: NotRequired[Workers]
    max: Workers


class TimingDoc(TypedDict):
    """d, G, t_f, M, t_b, γ of Eq. (1)."""

    __pydantic_config__ = _STRICT
    gradient_mb: AtLeastZero
    reduce_gbps: Positive
    forward_ms_per_sample: AtLeastZero
    batch: AtLeastZero
    backward_ms: AtLeastZero
    overhead_ms: NotRequired[AtLeastZero]


class SqrtDoc(TypedDict):
    """scale·√work."""

    __pydantic_config__ = _STRICT
    kind: Literal["sqrt"]
    scale: NotRequired[AtLeastZero]


class LogDoc(TypedDict):
    """scale·log(1 + work)."""

    __pydantic_config__ = _STRICT
    kind: Literal["log"]
    scale: NotRequired[AtLeastZero]


class LinearDoc(TypedDict):
    """scale·work."""

    __pydantic_config__ = _STRICT
    kind: Literal["linear"]
    scale: NotRequired[AtLeastZero]


class SigmoidDoc(TypedDict):
    """priority / (1 + exp(−sensitivity·(work − target)))."""

    __pydantic_config__ = _STRICT
    kind: Literal["sigmoid"]
    priority: AtLeastZero
    sensitivity: Positive
    target: AtLeastZero


class TableDoc(TypedDict):
    """Straight lines between points, flat outside them; work rises from point to point."""

    __pydantic_config__ = _STRICT
    kind: Literal["table"]
    points: Annotated[
        list[Annotated[list[Number], Field(min_length=2, max_length=2)]], Field(min_length=1)
    ]


ProgressDoc = Annotated[SqrtDoc | LogDoc | LinearDoc | SigmoidDoc | TableDoc, Field(discriminator="kind")]


class EnergyDoc(TypedDict):
    """progress(work) − weight·(quadratic·e² + linear·e) with e = energy_per_work·work."""

    __pydantic_config__ = _STRICT
    kind: Literal["energy"]
    progress: NotRequired[ProgressDoc]
    weight: NotRequired[AtLeastZero]
    energy_per_work: NotRequired[AtLeastZero]
    quadratic: NotRequired[AtLeastZero]
    linear: NotRequired[AtLeastZero]


UtilityDoc = Annotated[
    SqrtDoc | LogDoc | LinearDoc | SigmoidDoc | TableDoc | EnergyDoc, Field(discriminator="kind")
]


class JobDoc(TypedDict):
    """A job of a scenario; exactly one of `rate` and `timing` gives its speed."""

    __pydantic_config__ = _STRICT
    name: Name
    arrival: NotRequired[Slot]
    workers: WorkersDoc
    resources: Amounts
    budget: NotRequired[Amounts]
    bandwidth_gbps: AtLeastZero
    rate: NotRequired[Positive]
    timing: NotRequired[TimingDoc]
    utility: UtilityDoc


class ActiveJobDoc(JobDoc):
    """A job of a snapshot: with what it has been served so far."""

    served: NotRequired[AtLeastZero]
    work_done: NotRequired[AtLeastZero]


class RingDoc(TypedDict):
    """workers[k] hosts rank k, which sends to rank k+1 along routes[k]; one worker has no routes."""

    __pydantic_config__ = _STRICT
    job: Name
    workers: list[Name]
    routes: list[list[Name]]


class ScenarioDoc(TypedDict):
    """A cluster and its jobs over a horizon."""

    __pydantic_config__ = _STRICT
    version: Literal[1]
    slots: Slots
    slot_seconds: NotRequired[Positive]
    cluster: ClusterDoc
    jobs: list[JobDoc]


class SnapshotDoc(TypedDict):
    """A scenario at one slot."""

    __pydantic_config__ = _STRICT
    version: Literal[1]
    slot: Slot
    slots: Slots
    slot_seconds: NotRequired[Positive]
    cluster: ClusterDoc
    jobs: list[ActiveJobDoc]
    running: NotRequired[list[RingDoc]]


class WaitingDoc(TypedDict):
    """A job that gets no ring, and why."""

    __pydantic_config__ = _STRICT
    job: Name
    reason: Name
    detail: str


class SurrogateDoc(TypedDict):
    """Objective and bound in the surrogate that was decided on."""

    __pydantic_config__ = _STRICT
    objective: Finite
    upper_bound: Finite | None


class DecisionDoc(TypedDict):
    """What one slot gets."""

    __pydantic_config__ = _STRICT
    version: Literal[1]
    slot: Slot
    policy: Name
    seed: Annotated[int, Field(ge=0)]
    objective: Finite
    upper_bound: Finite | None
    status: Status
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    rings: list[RingDoc]
    waiting: list[WaitingDoc]
    surrogate: NotRequired[SurrogateDoc]


class _Schema(GenerateJsonSchema):
    schema_dialect = "https://json-schema.org/draft/2020-12/schema"


def build_schema(adapter: TypeAdapter[Any], title: str) -> JsonSchemaValue:
    """The JSON Schema of one of the documents."""
    schema = adapter.json_schema(schema_generator=_Schema)
    return {"$schema": _Schema.schema_dialect, **schema, "title": title}
