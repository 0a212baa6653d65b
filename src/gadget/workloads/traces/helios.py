"""SenseTime's Helios traces of 2020: cluster_log.csv of a cluster."""

from collections.abc import Sequence

import numpy as np

from gadget.workloads.traces.assembly import NEVER_RAN, assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, read_table
from gadget.workloads.traces.trace import Trace

NAME = "helios"


def recognise(head: Head) -> bool:
    """True for a header with the columns of Slurm's log as Helios has them."""
    return head.has_columns("job_id", "gpu_num", "submit_time", "start_time", "duration", "state")


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs with GPUs; those that never started are left out."""
    table = read_table(
        parts,
        {
            "job_id": Kind.TEXT,
            "gpu_num": Kind.NUMBER,
            "state": Kind.LABEL,
            "submit_time": Kind.MOMENT,
            "start_time": Kind.MAYBE_MOMENT,
            "duration": Kind.MAYBE_NUMBER,
        },
        reading,
        optional={"user": Kind.LABEL, "vc": Kind.LABEL},
    )
    started = ~np.isnan(table["start_time"])
    return assemble(
        NAME,
        table,
        reading,
        names=table["job_id"],
        submit=table["submit_time"],
        duration=table["duration"],
        gpus=table["gpu_num"],
        labels={"user": table.get("user"), "group": table.get("vc"), "status": table["state"]},
        left_out={NEVER_RAN: ~started},
    )
