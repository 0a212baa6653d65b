"""Job files of Tiresias' simulator, as 60_job.csv is one."""

from collections.abc import Sequence

from gadget.workloads.traces.assembly import assemble
from gadget.workloads.traces.columns import Kind
from gadget.workloads.traces.source import Head, Part
from gadget.workloads.traces.table import Reading, read_table
from gadget.workloads.traces.trace import Trace

NAME = "tiresias"


def recognise(head: Head) -> bool:
    """True for a header with job_id, num_gpu, submit_time, duration and model_name."""
    return head.has_columns("job_id", "num_gpu", "submit_time", "duration", "model_name")


def read(parts: Sequence[Part], reading: Reading) -> Trace:
    """The jobs; `iterations` are their steps."""
    numbers = dict.fromkeys(("num_gpu", "submit_time"), Kind.NUMBER)
    table = read_table(
        parts,
        {"job_id": Kind.TEXT, **numbers, "duration": Kind.MAYBE_NUMBER, "model_name": Kind.LABEL},
        reading,
        optional={"iterations": Kind.MAYBE_NUMBER},
    )
    steps = table.get("iterations")
    return assemble(
        NAME,
        table,
        reading,
        names=table["job_id"],
        submit=table["submit_time"],
        duration=table["duration"],
        gpus=table["num_gpu"],
        labels={"application": table["model_name"]},
        extra={} if steps is None else {"steps": steps},
    )
