"""GADGET: online scheduling of elastic ring-all-reduce training jobs on GPU clusters.

The names below are loaded when they are first asked for: a worker that imports `gadget.worker`, thousands of
times a day, does not wait for solvers.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "gadget.engine.events": (
        "JobLeft",
        "ServerFailed",
        "ServerReturned",
    ),
    "gadget.errors": (
        "BadFile",
        "BadInput",
        "BadOption",
        "GadgetError",
        "InvalidValue",
    ),
    "gadget.model.builders": (
        "build_fat_tree",
        "build_leaf_spine",
        "build_paper_cluster",
        "build_ring4",
        "build_torus",
    ),
    "gadget.model.claims": ("find_false_claims",),
    "gadget.model.cluster": (
        "Cluster",
        "Link",
        "Server",
    ),
    "gadget.model.codec": (
        "read",
        "read_decision",
        "read_scenario",
        "read_snapshot",
        "write",
    ),
    "gadget.model.decision": (
        "Decision",
        "Reason",
        "Status",
        "Surrogate",
        "Waiting",
    ),
    "gadget.model.job": (
        "ActiveJob",
        "Job",
    ),
    "gadget.model.referee": (
        "Violation",
        "find_violations",
    ),
    "gadget.model.resources": ("Resources",),
    "gadget.model.ring": (
        "Allocation",
        "Ring",
    ),
    "gadget.model.snapshot": (
        "Scenario",
        "Snapshot",
    ),
    "gadget.model.timing": (
        "Timing",
        "parameter_server_mb",
        "ring_mb_per_worker",
    ),
    "gadget.model.utility": (
        "Energy",
        "Linear",
        "Log",
        "Sigmoid",
        "Sqrt",
        "Table",
        "Utility",
        "find_majorant",
        "majorant_gains",
    ),
    "gadget.policies.policy": ("Policy",),
    "gadget.policies.registry": ("build_policy",),
    "gadget.policies.solving": ("solve",),
    "gadget.report.notebook": ("simulate",),
    "gadget.simulate.loop": ("Planned",),
    "gadget.simulate.result": ("SimulationResult",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """`gadget.solve` and `gadget.simulate` are functions; loading packages of these names hides neither."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
