"""What a scenario asks for against what there is, in words and as a picture of text."""

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gadget.model.wording import say_count
from gadget.report.bars import draw_bars, thin
from gadget.report.spans import say_span
from gadget.workloads.feasibility import Feasibility

MOST_LISTED = 10


def render_feasibility(found: Feasibility) -> Group:
    """Load against capacity, and the jobs that can never run."""
    label = f"{found.resource} asked for in each slot, of {found.capacity:,.6g}"
    last = f"slot {found.slots - 1:,}"
    columns = thin(found.offered)
    if len(columns) < found.slots:
        label += "; a column shows the greatest of its slots"
    parts: list[RenderableType] = [
        Text(
            f"Feasibility: {say_count(found.jobs, 'job')} over {say_count(found.slots, 'slot')}",
            style="bold",
        ),
        *map(Text, say_load(found)),
        Text(),
        draw_bars(columns, label=label, start="slot 0", end=last, level=found.capacity),
        Text(),
        *_render_never(found),
    ]
    return Group(*parts)


def to_document(found: Feasibility) -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "jobs": found.jobs,
        "slots": found.slots,
        "slot_seconds": found.slot_seconds,
        "resource": found.resource,
        "capacity": found.capacity,
        "mean_load": _finite(found.mean_load),
        "peak_load": _finite(found.peak_load),
        "peak_slot": found.peak_slot,
        "share_of_slots_oversubscribed": float(found.over.mean()),
        "greatest_backlog": float(found.backlog.max()),
        "backlog_at_end": float(found.backlog[-1]),
        "never": [{"job": one.job, "reason": str(one.reason), "detail": one.detail} for one in found.never],
    }


def say_load(found: Feasibility) -> list[str]:
    """Load against capacity, in lines; the first sums it up."""
    lines = [
        f"load: {found.mean_load:.1%} of capacity in the mean, {found.peak_load:.1%} at its peak in slot "
        f"{found.peak_slot:,}",
        f"oversubscribed: {found.over.mean():.1%} of the slots",
    ]
    backlog = float(found.backlog.max())
    if backlog > 0 and found.capacity:
        cluster = say_span(backlog / found.capacity * found.slot_seconds)
        left = float(found.backlog[-1])
        end = f"; {left:,.6g} of it when the horizon ends" if left > 0 else "; none when the horizon ends"
        lines.append(f"backlog: up to {backlog:,.6g} {found.resource} × slots, {cluster} of the cluster{end}")
    return lines


def _render_never(found: Feasibility) -> list[RenderableType]:
    if not found.never:
        return [Text("every job could run if it were alone")]
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for column in ("job", "reason", "why"):
        table.add_column(column)
    for one in found.never[:MOST_LISTED]:
        table.add_row(Text(one.job), Text(one.reason), Text(one.detail))
    if (rest := len(found.never) - MOST_LISTED) > 0:
        table.add_row(f"… and {rest:,} more")
    reasons = Counter(one.reason for one in found.never)
    counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    return [Text(f"Jobs that can never run: {len(found.never):,} ({counts})", style="bold"), table]


def _finite(number: float) -> float | None:
    return number if number < float("inf") else None


def say_never(found: Feasibility) -> list[str]:
    """One line if some jobs can never run."""
    if found.is_possible:
        return []
    return [
        f"{len(found.never):,} of {say_count(found.jobs, 'job')} can never run; "
        "`gadget feasibility` tells why"
    ]
