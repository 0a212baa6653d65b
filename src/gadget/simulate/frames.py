"""Results as pandas data frames, for notebooks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gadget.errors import MissingPackage
from gadget.simulate.rows import flatten, job_rows, slot_rows

if TYPE_CHECKING:
    import pandas as pd

    from gadget.simulate.result import SimulationResult


@dataclass(frozen=True, slots=True)
class Frames:
    """One row a policy, a run, a slot of a run, a job of a run."""

    policies: "pd.DataFrame"
    runs: "pd.DataFrame"
    slots: "pd.DataFrame"
    jobs: "pd.DataFrame"


def build_frames(result: "SimulationResult") -> Frames:
    """The data frames of a result; the columns are those of the CSV files."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingPackage(
            "pandas is not installed, so results cannot become data frames. "
            "Install it with: pip install 'gadget-scheduler[notebook]'."
        ) from None
    return Frames(
        policies=pd.DataFrame(
            [{"policy": label, **flatten(summary.mean)} for label, summary in result.summaries.items()]
        ).drop(columns="seed", errors="ignore"),
        runs=pd.DataFrame([{"policy": run.policy, **flatten(result.summarise(run))} for run in result.runs]),
        slots=pd.DataFrame(slot_rows(result)),
        jobs=pd.DataFrame(job_rows(result)),
    )
