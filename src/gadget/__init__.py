"""GADGET: online scheduling of elastic ring-all-reduce training jobs on GPU clusters."""

from gadget.engine.events import JobLeft, ServerFailed, ServerReturned
from gadget.errors import BadFile, BadInput, BadOption, GadgetError, InvalidValue
from gadget.model.builders import (
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)
from gadget.model.claims import find_false_claims
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.codec import read, read_decision, read_scenario, read_snapshot, write
from gadget.model.decision import Decision, Reason, Status, Surrogate, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import Violation, find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.timing import Timing, parameter_server_mb, ring_mb_per_worker
from gadget.model.utility import (
    Energy,
    Linear,
    Log,
    Sigmoid,
    Sqrt,
    Table,
    Utility,
    find_majorant,
    majorant_gains,
)
from gadget.policies.policy import Policy
from gadget.policies.registry import build_policy
from gadget.policies.solving import solve
from gadget.report.notebook import simulate
from gadget.simulate.loop import Planned
from gadget.simulate.result import SimulationResult

__all__ = [
    "ActiveJob",
    "Allocation",
    "BadFile",
    "BadInput",
    "BadOption",
    "Cluster",
    "Decision",
    "Energy",
    "GadgetError",
    "InvalidValue",
    "Job",
    "JobLeft",
    "Linear",
    "Link",
    "Log",
    "Planned",
    "Policy",
    "Reason",
    "Resources",
    "Ring",
    "Scenario",
    "Server",
    "ServerFailed",
    "ServerReturned",
    "Sigmoid",
    "SimulationResult",
    "Snapshot",
    "Sqrt",
    "Status",
    "Surrogate",
    "Table",
    "Timing",
    "Utility",
    "Violation",
    "Waiting",
    "build_fat_tree",
    "build_leaf_spine",
    "build_paper_cluster",
    "build_policy",
    "build_ring4",
    "build_torus",
    "find_false_claims",
    "find_majorant",
    "find_violations",
    "majorant_gains",
    "parameter_server_mb",
    "read",
    "read_decision",
    "read_scenario",
    "read_snapshot",
    "ring_mb_per_worker",
    "simulate",
    "solve",
    "write",
]
