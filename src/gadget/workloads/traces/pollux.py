"""Workloads of Pollux' simulator: who comes when with how many replicas. They do not tell durations."""

from collections.abc import Sequence

import numpy as np

from gadget.workloads.traces.assembly import assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, read_table
from gadget.workloads.traces.trace import Trace

NAME = "pollux"


def recognise(head: Head) -> bool:
    """True for a header with name, time, application and num_replicas."""
    return head.has_columns("name", "time", "application", "num_replicas")


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs; how long one lasts depends on how it is run, and is not known here."""
    table = read_table(
        parts,
        {
            "name": Kind.TEXT,
            "time": Kind.NUMBER,
            "application": Kind.LABEL,
            "num_replicas": Kind.NUMBER,
        },
        reading,
        optional={"batch_size": Kind.MAYBE_NUMBER},
    )
    batch = table.get("batch_size")
    return assemble(
        NAME,
        table,
        reading,
        names=table["name"],
        submit=table["time"],
        duration=np.full(len(table), np.nan),
        gpus=table["num_replicas"],
        labels={"application": table["application"]},
        extra={} if batch is None else {"batch_size": batch},
        notes=("the format tells no durations: assume them with --assume-duration",),
    )
