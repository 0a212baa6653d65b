"""The folder that a simulation leaves: its results, and while it is not complete, what it needs to go on.

run.json tells what is simulated and whether that is complete. parts/ holds the decisions of every run so
far, until they are all in decisions.jsonl.
"""

import csv
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gadget.errors import BadFile, BadOption
from gadget.files import read_bytes, write_whole
from gadget.model.codec import format_json
from gadget.model.snapshot import Scenario
from gadget.simulate.network import NetworkMode
from gadget.simulate.part import finished_lines
from gadget.simulate.result import SimulationResult
from gadget.simulate.rows import JOB_COLUMNS, SLOT_COLUMNS, job_rows, slot_rows
from gadget.simulate.summary import PolicySummary

VERSION = 1
SUMMARY, SLOTS, JOBS, DECISIONS, REPORT = (
    "summary.json",
    "slots.csv",
    "jobs.csv",
    "decisions.jsonl",
    "report.html",
)
RUN, PARTS = "run.json", "parts"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated; a run can only go on with the same."""

    scenario: str
    """A digest of the scenario, its number of slots, and how rings get their bandwidth."""
    policies: tuple[str, ...]
    seeds: tuple[int, ...]

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        policies: Sequence[str],
        seeds: Sequence[int],
        network: NetworkMode = NetworkMode.RESERVED,
    ) -> "Setting":
        """The setting of a simulation."""
        told = "" if network is NetworkMode.RESERVED else network.value
        digest = hashlib.sha256((format_json(scenario, indent=None) + told).encode()).hexdigest()
        return cls(digest, tuple(policies), tuple(seeds))


def find_part(folder: Path, policy: int, seed: int) -> Path:
    """Where the run of a policy, by its place among all, with a seed is written down."""
    return folder / PARTS / f"{policy}-{seed}.jsonl"


class ResultFolder:
    """A folder that belongs to this process, ready for the given setting."""

    def __init__(self, path: Path, setting: Setting, *, is_complete: bool) -> None:
        self.path = path
        self.is_complete = is_complete
        """True when there is nothing left to do."""
        self._setting = setting

    def write(self, result: SimulationResult, report: str) -> None:
        """Write all results, each file whole. When they are complete the parts are no longer needed."""
        write_whole(self.path / SLOTS, _format_csv(SLOT_COLUMNS, slot_rows(result)))
        write_whole(self.path / JOBS, _format_csv(JOB_COLUMNS, job_rows(result)))
        write_whole(self.path / DECISIONS, self._decisions())
        write_whole(self.path / REPORT, report.encode())
        write_whole(self.path / SUMMARY, _format_summary(result))
        if result.complete:
            self.is_complete = True
            _write_run(self.path, self._setting, is_complete=True)
            _remove_parts(self.path)

    def _decisions(self) -> Iterator[bytes]:
        """By policy, seed and slot, the lines as they were taken down."""
        for policy in range(len(self._setting.policies)):
            for seed in self._setting.seeds:
                yield from finished_lines(find_part(self.path, policy, seed))


@contextmanager
def open_folder(
    path: Path, setting: Setting, *, resume: bool = False, force: bool = False
) -> Iterator[ResultFolder]:
    """A folder to simulate into; BadOption if it holds something that must not be lost or gone on with."""
    with lock_folder(path):
        yield _prepare(path, setting, resume=resume, force=force)


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Make a folder and keep other processes from simulating into it meanwhile."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BadFile(f"{path}: cannot be made a folder ({error.strerror}). Choose another place.") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadOption(
                f"{path}: another process simulates into it. Wait for it, or choose another folder."
            ) from None
        yield
    finally:
        os.close(handle)


def clear_folder(path: Path) -> None:
    """Remove what a simulation leaves, and nothing else."""
    for name in _find_results(path):
        (path / name).unlink()
    _remove_parts(path)


def _find_results(path: Path) -> list[str]:
    return [name for name in (RUN, SUMMARY, SLOTS, JOBS, DECISIONS, REPORT) if (path / name).exists()]


def _prepare(path: Path, setting: Setting, *, resume: bool, force: bool) -> ResultFolder:
    found = _find_results(path)
    if force:
        clear_folder(path)
    elif found and not resume:
        raise BadOption(
            f"{path}: holds results already ({found[0]}). Go on with them by --resume, replace them by "
            "--force, or choose another folder."
        )
    elif found:
        is_complete = _check_same(path, setting)
        if is_complete:
            return ResultFolder(path, setting, is_complete=True)
    (path / PARTS).mkdir(exist_ok=True)
    _write_run(path, setting, is_complete=False)
    return ResultFolder(path, setting, is_complete=False)


def _check_same(path: Path, setting: Setting) -> bool:
    """Whether the simulation in the folder is complete; BadOption if it is another one."""
    kept = _read_run(path / RUN)
    wanted = _setting_doc(setting)
    for key, what in (
        ("scenario", "scenario (or number of slots, network or restart time)"),
        ("policies", "policies"),
        ("seeds", "seeds"),
    ):
        if kept.get(key) != wanted[key]:
            shown = "" if key == "scenario" else f": {', '.join(map(str, kept.get(key) or ['none']))}"
            raise BadOption(
                f"{path}: holds a run of other {what}{shown}. Resume with the same, or choose another folder."
            )
    return kept.get("complete") is True


def _read_run(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(read_bytes(path))
        if kept["version"] == VERSION:
            return dict(kept)
    except (ValueError, TypeError, KeyError):
        pass
    raise BadFile(f"{path}: does not tell of a run that can be resumed. Start over with --force.")


def _write_run(path: Path, setting: Setting, *, is_complete: bool) -> None:
    document = {"version": VERSION, "complete": is_complete, **_setting_doc(setting)}
    write_whole(path / RUN, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())


def _setting_doc(setting: Setting) -> dict[str, Any]:
    return {
        "scenario": setting.scenario,
        "policies": list(setting.policies),
        "seeds": list(setting.seeds),
    }


def _remove_parts(path: Path) -> None:
    parts = path / PARTS
    if parts.is_dir():
        for part in parts.glob("*-*.jsonl"):
            part.unlink()
        if not any(parts.iterdir()):
            parts.rmdir()


def _format_csv(columns: Sequence[str], rows: list[dict[str, Any]]) -> bytes:
    """The columns are those of the first row; of no rows, the ones that all have."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _format_summary(result: SimulationResult) -> bytes:
    promised = result.guarantees
    document = {
        "version": VERSION,
        "complete": result.complete,
        "slots": result.horizon,
        "servers": result.servers,
        "gamma": promised.gamma,
        "paper_ratio": promised.paper_ratio,
        "certificate_obstacle": promised.obstacle,
        "policies": {label: _summary_doc(summary) for label, summary in result.summaries.items()},
    }
    return (json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _summary_doc(summary: PolicySummary) -> dict[str, Any]:
    numbers = {name: value for name, value in asdict(summary.mean).items() if name != "seed"}
    return {**numbers, "spread": dict(summary.spread), "runs": [asdict(run) for run in summary.runs]}
