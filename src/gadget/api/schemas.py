"""What the routes answer, as OpenAPI describes it. Files of ours keep the shape they have as files."""

from typing import Any

from pydantic import BaseModel, Field

_NUMBER = "Seconds since 1970."


class RingShown(BaseModel):
    """A ring in the world."""

    number: int = Field(description="The slot whose decision started it; later rings have larger numbers.")
    phase: str = Field(
        description="starting, running, stopping, finished, stopped or failed.", examples=["running"]
    )
    since: float = Field(description=f"When it reached this phase. {_NUMBER}")
    heard_at: float | None = Field(description=f"When one of its workers last spoke. {_NUMBER}")
    size: int = Field(description="Workers.")
    workers: list[str] = Field(description="The server of each rank, in ring order.", examples=[["s0", "s1"]])
    routes: list[list[str]] = Field(description="The nodes that each ring edge passes.")


class Work(BaseModel):
    """How far a job is, in its own unit."""

    done: float = Field(description="As its ring last told, or as the journal has it.")
    total: float | None = Field(description="All there is to do; null where it goes on for ever.")
    safe: float | None = Field(description="What its last checkpoint holds, where its ring told.")
    lost: float = Field(description="What restarts and failures have cost it.")


class StepSeconds(BaseModel):
    """Seconds of an iteration of the present ring."""

    measured: float | None
    predicted: float | None = Field(description="By Eq. (1) with the job's own timing, where it has one.")


class Speed(BaseModel):
    """Work a second of the present ring."""

    measured: float | None = Field(description="Since its first word of progress.")
    predicted: float | None = Field(description="By what the job said when the ring was started.")


class WaitingShown(BaseModel):
    """Why a job waits."""

    position: int = Field(description="Place among those that wait, by arrival, from 1 on.")
    reason: str = Field(
        description="A stable word: that of the newest decision (capacity, bandwidth, gain, queue, "
        "too-large, budget, done, not-arrived) or what came after it (undecided, ring-lost, observed).",
        examples=["capacity"],
    )
    detail: str = Field(description="The evidence, for people.")
    advice: str = Field(description="What would let it run.")


class JobBrief(BaseModel):
    """A job in a list."""

    name: str = Field(examples=["resnet-7"])
    status: str = Field(description="waiting, running, finished, left or refused.", examples=["running"])
    phase: str | None = Field(description="Of its ring in the world, if there is one.")
    size: int = Field(description="Workers of the ring that it was given; 0 while it waits.")
    work: Work
    reason: str | None = Field(description="Why it waits, if it does.")
    arrived: int = Field(description="The slot in which it came.")
    failures: int = Field(description="How often its ring broke.")


class Jobs(BaseModel):
    """Jobs: active ones in order of arrival, then those that ended, the last one first."""

    total: int = Field(description="How many there are with this status.")
    jobs: list[JobBrief]


class JobShown(JobBrief):
    """All about a job."""

    ring: RingShown | None = Field(description="What is really there.")
    decided_ring: dict[str, Any] | None = Field(
        description="What the newest decision gave it: workers and routes, as in a decision document."
    )
    step_seconds: StepSeconds
    work_per_second: Speed
    waiting: WaitingShown | None
    last_failure: str | None = Field(description="Why its ring broke last, or lost work.")
    first_start: int | None = Field(description="The first slot in which it had a ring.")
    ended: int | None = Field(description="The slot in which it ended.")
    finished_at: float | None = Field(description="In slots from the start, with the part of the last one.")
    slots_served: float
    worker_slots: float = Field(description="z: workers × slots so far.")
    resizes: int = Field(description="How often its ring went on with another number of workers.")
    restarts: int = Field(description="How often its workers had to load a checkpoint.")
    utility: float = Field(description="What its work is worth so far.")
    job: dict[str, Any] = Field(description="What was submitted, with the speed that was measured since.")


class Queued(WaitingShown):
    """A job that waits."""

    name: str
    workers_min: int = Field(description="Its smallest ring.")
    workers_max: int = Field(description="Its largest ring.")
    arrived: int = Field(description="The slot in which it came.")
    waited_slots: int = Field(description="Slots since it came.")
    failures: int


class Queue(BaseModel):
    """The jobs that wait, in order of arrival."""

    total: int
    jobs: list[Queued]


class Submitted(BaseModel):
    """The jobs that were taken into the queue, all of those that were sent."""

    names: list[str] = Field(examples=[["resnet-7", "bert-2"]])


class Done(BaseModel):
    """What was done, to what."""

    name: str
    done: str = Field(description="cancelled, drained or undrained.", examples=["drained"])


class Log(BaseModel):
    """The last lines of a rank."""

    job: str
    rank: int
    text: str


class WorkersHere(BaseModel):
    """Workers of a job on a server."""

    job: str
    workers: int
    used: dict[str, float] = Field(description="What they take together.", examples=[{"gpu": 2}])


class NodeBrief(BaseModel):
    """A server."""

    name: str = Field(examples=["s0"])
    state: str = Field(
        description="up, drained (takes no more workers) or down (cannot be reached).", examples=["up"]
    )
    resources: dict[str, float] = Field(description="What it has.", examples=[{"gpu": 8}])
    used: dict[str, float] = Field(description="What rings take of it.", examples=[{"gpu": 6}])
    workers: list[WorkersHere]


class Nodes(BaseModel):
    """The servers, in the order of the cluster."""

    total: int
    nodes: list[NodeBrief]


class LinkShown(BaseModel):
    """A link of a server."""

    to: str = Field(description="The node at its other end.")
    gbps: float = Field(description="In each direction.")
    out_gbps: float = Field(description="Reserved away from the server.")
    in_gbps: float = Field(description="Reserved towards the server.")


class NodeShown(NodeBrief):
    """A server with its links."""

    links: list[LinkShown]


class DecisionBrief(BaseModel):
    """A decision in a list."""

    entry: int = Field(description="Its number in the journal.")
    at: float = Field(description=f"When it was journaled. {_NUMBER}")
    slot: int
    carried_out: bool = Field(description="False where the service only observed.")
    policy: str
    status: str = Field(description="optimal, certified or heuristic.")
    objective: float
    upper_bound: float | None
    seconds: float = Field(description="Of the solver.")
    rings: int
    waiting: int


class Decisions(BaseModel):
    """Decisions, the newest first."""

    decisions: list[DecisionBrief]
    before: int | None = Field(description="Ask for the next page with this; null where nothing is older.")


class EventShown(BaseModel):
    """An entry of the journal."""

    number: int = Field(description="1, 2, 3 … without gaps.")
    at: float = Field(description=_NUMBER)
    kind: str = Field(description="What happened: a stable word.", examples=["server-drained"])
    event: dict[str, Any] = Field(
        description="The event itself, by its kind; its version beside it.",
        examples=[{"version": 1, "server": "s0"}],
    )


class Events(BaseModel):
    """Entries of the journal, oldest first."""

    last: int = Field(description="The newest entry of the journal.")
    events: list[EventShown]


class FaultShown(BaseModel):
    """Something that is wrong now."""

    topic: str = Field(description="solver, engine or journal.")
    since: float = Field(description=_NUMBER)
    text: str


class DecisionSummary(BaseModel):
    """The newest decision in short."""

    slot: int
    objective: float
    upper_bound: float | None
    gap: float | None = Field(description="By how much of the bound the objective may miss the best.")
    seconds: float
    status: str


class Status(BaseModel):
    """Where the service stands."""

    version: str
    mode: str = Field(description="observe or enforce.")
    engine: str
    policy: str
    slot: int
    slot_seconds: float
    slot_began: float = Field(description=_NUMBER)
    next_decision: float = Field(description=f"When it is due at the latest. {_NUMBER}")
    at: float = Field(description=f"When this was so. {_NUMBER}")
    now: float = Field(description=f"The clock of the service. {_NUMBER}")
    last_entry: int = Field(description="The newest entry of the journal.")
    jobs: dict[str, int] = Field(description="How many jobs have each status.")
    servers: dict[str, int] = Field(description="How many servers are up, drained and down.")
    utilisation: dict[str, float] = Field(description="Which share of each resource rings take.")
    faults: list[FaultShown]
    counts: dict[str, Any] = Field(description="What has happened since the service started.")
    decision: DecisionSummary | None = Field(description="The newest decision.")


class Health(BaseModel):
    """The process answers."""

    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    """Whether the service can do its work."""

    ready: bool
    faults: list[str] = Field(description="What is wrong now: solver, engine, journal.")
