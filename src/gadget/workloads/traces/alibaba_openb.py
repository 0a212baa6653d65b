"""Alibaba's GPU trace of 2023: the pods of openb_pod_list*.csv."""

from collections.abc import Sequence

import numpy as np

from gadget.workloads.traces.assembly import NEVER_RAN, assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, read_table
from gadget.workloads.traces.trace import Trace

NAME = "alibaba-gpu-2023"


def recognise(head: Head) -> bool:
    """True for a header with num_gpu, gpu_milli and the times of pods."""
    return head.has_columns("name", "num_gpu", "gpu_milli", "creation_time", "deletion_time")


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The pods with GPUs, each from when it was scheduled to when it was deleted."""
    table = read_table(
        parts,
        {
            "name": Kind.TEXT,
            "num_gpu": Kind.NUMBER,
            "gpu_milli": Kind.NUMBER,
            "creation_time": Kind.NUMBER,
            "deletion_time": Kind.MAYBE_NUMBER,
            "scheduled_time": Kind.MAYBE_NUMBER,
        },
        reading,
        optional={"qos": Kind.LABEL, "pod_phase": Kind.LABEL},
    )
    return assemble(
        NAME,
        table,
        reading,
        names=table["name"],
        submit=table["creation_time"],
        duration=table["deletion_time"] - table["scheduled_time"],
        gpus=table["num_gpu"],
        gpu_share=table["gpu_milli"] / 1000,
        labels={"group": table.get("qos"), "status": table.get("pod_phase")},
        left_out={NEVER_RAN: np.isnan(table["scheduled_time"]) & (table["num_gpu"] > 0)},
    )
