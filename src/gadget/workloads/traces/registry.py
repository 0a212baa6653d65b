"""The formats that are known, and reading whatever files hold one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gadget.errors import BadFile
from gadget.files import is_file, is_folder, list_folder
from gadget.model.wording import say_count
from gadget.workloads.traces import (
    alibaba_openb,
    alibaba_pai,
    gavel,
    google2011,
    helios,
    philly,
    pollux,
    tiresias,
)
from gadget.workloads.traces.source import Head, Part, Progress
from gadget.workloads.traces.table import Reading
from gadget.workloads.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how its files are told by their beginning, and how they are read."""

    name: str
    title: str
    recognise: Callable[[Head], bool]
    read: Callable[[Sequence[Part], Reading], Trace]


FORMATS = (
    Format(google2011.NAME, "Google 2011 job_events or job table", google2011.recognise, google2011.read),
    Format(philly.CSV, "Philly CSV", philly.recognise_csv, philly.read_csv),
    Format(philly.LOG, "Philly cluster_job_log", philly.recognise_log, philly.read_log),
    Format(helios.NAME, "Helios cluster_log", helios.recognise, helios.read),
    Format(alibaba_pai.NAME, "Alibaba PAI 2020 tables", alibaba_pai.recognise, alibaba_pai.read),
    Format(alibaba_openb.NAME, "Alibaba GPU 2023 pod list", alibaba_openb.recognise, alibaba_openb.read),
    Format(gavel.NAME, "Gavel trace", gavel.recognise, gavel.read),
    Format(tiresias.NAME, "Tiresias job file", tiresias.recognise, tiresias.read),
    Format(pollux.NAME, "Pollux workload", pollux.recognise, pollux.read),
)


def recognise(head: Head) -> Format | None:
    """The format of a file with this beginning; None if it is none of ours."""
    return next((one for one in FORMATS if one.recognise(head)), None)


def find_size(paths: Sequence[Path]) -> int:
    """Bytes of the files, as far as that is known before they are read."""
    return sum(
        Part(file).size for path in paths for file in (list_folder(path) if is_folder(path) else [path])
    )


def read_trace(paths: Sequence[Path], *, strict: bool = False, progress: Progress = lambda _: None) -> Trace:
    """The trace in some files, or in the files of a folder at any depth; its format is told by their content.

    Bad rows are counted and left out; with `strict` the first one is a BadFile.
    """
    parts: list[Part] = []
    notes: list[str] = []
    for path in paths:
        parts += _list_parts(path, notes) if is_folder(path) else [Part(path)]
    if not parts:
        raise BadFile("no file is named. Name the files of a trace.")
    _check_once(parts)
    kinds = {part: _find_format(part) for part in parts}
    first = kinds[parts[0]]
    if other := next((part for part in parts if kinds[part] is not first), None):
        raise BadFile(
            f"{other.path}: is a {kinds[other].title}, {parts[0].path} a {first.title}. "
            "Give files of one format at a time."
        )
    reading = Reading(strict=strict, progress=progress, ranks={part: k for k, part in enumerate(parts)})
    trace = first.read(parts, reading)
    if not len(trace):
        raise _complain_of_nothing(trace)
    return trace.said(*notes)


def _complain_of_nothing(trace: Trace) -> BadFile:
    why = [f"{count:,} {reason}" for reason, count in trace.left_out.items()]
    if trace.bad.count:
        why.append(f"bad rows: {trace.bad.count:,}, the first: {trace.bad.first[0]}")
    told = f" ({'; '.join(why)})" if why else ""
    return BadFile(f"{trace.files[0]}: holds no job{told}. Check the file.")


def _find_format(part: Part) -> Format:
    if not part.head.lines:
        raise BadFile(f"{part.path}: is empty. {_name_known()}")
    if found := recognise(part.head):
        return found
    raise BadFile(f"{part.path}: is a trace of no known format. {_name_known()}")


def _name_known() -> str:
    return f"Known: {', '.join(one.title for one in FORMATS)}."


def _check_once(parts: Sequence[Part]) -> None:
    """A file that is read twice would count every job twice."""
    seen: dict[Path, Path] = {}
    for part in parts:
        # Where links lead in a circle, no file is there to be read twice.
        place = part.path.resolve() if is_file(part.path) else part.path
        if place in seen:
            other = "" if seen[place] == part.path else f", as {seen[place]} too"
            raise BadFile(f"{part.path}: is given twice{other}. Name each file once.")
        seen[place] = part.path


def _list_parts(folder: Path, notes: list[str]) -> list[Part]:
    files = [Part(path) for path in list_folder(folder)]
    known = [part for part in files if _is_known(part)]
    if not known:
        raise BadFile(f"{folder}: of {say_count(len(files), 'file')} in it none is a trace. {_name_known()}")
    if rest := len(files) - len(known):
        notes.append(f"{folder}: {say_count(rest, 'file')} in it passed over as no trace")
    return known


def _is_known(part: Part) -> bool:
    try:
        return recognise(part.head) is not None
    except BadFile:
        return False
