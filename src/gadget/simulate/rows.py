"""Results as flat rows, one name and one number a column: for CSV files and data frames."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gadget.simulate.result import JobResult, SimulationResult, SlotResult

SLOT_COLUMNS = (
    "policy",
    "seed",
    *(field.name for field in fields(SlotResult) if field.name != "utilisation"),
)
JOB_COLUMNS = ("policy", "seed", *(field.name for field in fields(JobResult)))


def slot_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """One row for every slot of every run."""
    return [
        {"policy": run.policy, "seed": run.seed, **flatten(slot)} for run in result.runs for slot in run.slots
    ]


def job_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """One row for every job of every run."""
    return [
        {"policy": run.policy, "seed": run.seed, **flatten(job)} for run in result.runs for job in run.jobs
    ]


def flatten(value: Any) -> dict[str, Any]:
    """The fields of a result; what is a mapping by resource becomes a column for each resource."""
    row: dict[str, Any] = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if isinstance(content, Mapping):
            row.update({f"{field.name}_{key}": number for key, number in content.items()})
        else:
            row[field.name] = content
    return row
