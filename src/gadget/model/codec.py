"""Values ↔ files: the only reader and writer of the formats in docs/reference/formats.md.

A path that ends in .json is JSON, one in .yaml or .yml is YAML; anything else is told by its content.
"""

import codecs
import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jiter
import msgspec

from gadget.errors import BadFile, InvalidValue
from gadget.files import read_bytes, write_whole
from gadget.model.cluster import Cluster
from gadget.model.complaint import complain_of_shape, complain_of_value
from gadget.model.decision import Decision
from gadget.model.decoding import (
    build_cluster,
    build_decision,
    build_jobs,
    build_profiles,
    build_scenario,
    build_snapshot,
)
from gadget.model.documents import DOCUMENTS, DecisionDoc
from gadget.model.encoding import to_document
from gadget.model.job import Job
from gadget.model.profile import Profiles
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.yaml_text import YamlError, format_yaml, parse_yaml

Value = TypeVar("Value")

# JSON lets a key stand twice and keeps the last. People do that by mistake, programs do not: files
# larger than people write are read in a way that is four times as fast and does not look for it.
HAND_WRITTEN_BYTES = 1_000_000


def read_scenario(path: Path | str) -> Scenario:
    """The scenario in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "scenario", build_scenario)


def read_jobs(path: Path | str) -> tuple[Job, ...]:
    """The jobs in a file: under `jobs` alone, or those of a scenario; BadFile says what is wrong with it."""
    target = Path(path)
    return read_jobs_content(target, _content(target))


def read_jobs_content(path: Path, content: bytes) -> tuple[Job, ...]:
    """The same of content that was read before; the path is for complaints."""
    parse = _parse_json if _is_json(path, content) else _parse_yaml
    raw = parse(path, content, "list of jobs")
    if isinstance(raw, dict) and "cluster" in raw:
        return _build(path, content, "scenario", build_scenario).jobs
    return _build(path, content, "jobs", build_jobs)


def read_snapshot(path: Path | str) -> Snapshot:
    """The snapshot in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "snapshot", build_snapshot)


def read_decision(path: Path | str) -> Decision:
    """The decision in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "decision", build_decision)


def read_cluster(path: Path | str) -> Cluster:
    """The cluster in a file: of a scenario or snapshot, alone under `cluster`, or with its keys on top."""
    target = Path(path)
    content = _content(target)
    parse = _parse_json if _is_json(target, content) else _parse_yaml
    raw = parse(target, content, "cluster")
    keys = raw.keys() if isinstance(raw, dict) else frozenset[str]()
    if "slot" in keys:
        return _build(target, content, "snapshot", build_snapshot).cluster
    if "jobs" in keys or "slots" in keys:
        return _build(target, content, "scenario", build_scenario).cluster
    if "servers" in keys:
        return _build(target, content, "bare-cluster", build_cluster)
    return _build(target, content, "cluster", lambda found: build_cluster(found.cluster, "cluster"))


def read_profiles(path: Path | str) -> Profiles:
    """The profiles in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "profiles", build_profiles)


def read(path: Path | str) -> Scenario | Snapshot | Decision:
    """Whatever a file holds: a decision has rings, a snapshot has a slot, and else it is a scenario."""
    target = Path(path)
    return read_content(target, _content(target))


def read_content(path: Path, content: bytes) -> Scenario | Snapshot | Decision:
    """The same of content that was read before; the path is for complaints."""
    parse = _parse_json if _is_json(path, content) else _parse_yaml
    raw = parse(path, content, "scenario, snapshot or decision")
    keys = raw.keys() if isinstance(raw, dict) else frozenset[str]()
    if "rings" in keys:
        return _build(path, content, "decision", build_decision)
    if "slot" in keys:
        return _build(path, content, "snapshot", build_snapshot)
    return _build(path, content, "scenario", build_scenario)


def write(path: Path | str, value: Scenario | Snapshot | Decision | Profiles) -> None:
    """Write a value to a file, whole or not at all; YAML unless the path ends in .json."""
    target = Path(path)
    text = format_json(value) if target.suffix.lower() == ".json" else format_yaml(to_document(value))
    write_whole(target, text.encode())


def format_json(value: Scenario | Snapshot | Decision | Profiles, *, indent: int | None = 2) -> str:
    """The value's document as JSON text."""
    return json.dumps(to_document(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


def parse_decision(line: bytes) -> Decision:
    """The decision in one line of JSON, as `format_json` writes it; ValueError if it is none."""
    found: DecisionDoc = _decoder("decision").decode(line)  # its complaints are ValueErrors, as are ours
    return build_decision(found)


def _read(path: Path, kind: str, build: Callable[[Any], Value]) -> Value:
    return _build(path, _content(path), kind, build)


def _content(path: Path) -> bytes:
    return read_bytes(path).removeprefix(codecs.BOM_UTF8)


def _build(path: Path, content: bytes, kind: str, build: Callable[[Any], Value]) -> Value:
    try:
        with no_garbage_collection():
            return build(_parse(path, content, kind))
    except InvalidValue as error:
        raise complain_of_value(path, content, error) from None


def _parse(path: Path, content: bytes, kind: str) -> Any:
    """The file's document, with the keys and types that its kind has."""
    is_json = _is_json(path, content)
    if is_json and len(content) > HAND_WRITTEN_BYTES:
        # Straight from bytes to documents. If anything is wrong, the careful way below says what.
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _decoder(kind).decode(content)
    raw = _parse_json(path, content, kind) if is_json else _parse_yaml(path, content, kind)
    try:
        return msgspec.convert(raw, DOCUMENTS[kind])
    except msgspec.ValidationError as error:
        raise complain_of_shape(path, content, kind, raw, str(error)) from None


def _is_json(path: Path, content: bytes) -> bool:
    suffix = path.suffix.lower()
    return suffix == ".json" or (suffix not in (".yaml", ".yml") and content.lstrip()[:1] in (b"{", b"["))


def _parse_json(path: Path, content: bytes, kind: str) -> Any:
    _check_some(path, content, kind)
    try:
        # NaN and Infinity pass here, so that the complaint can name the key they stand at.
        return jiter.from_json(content, allow_inf_nan=True, catch_duplicate_keys=True)
    except ValueError as error:
        raise BadFile(f"{path}: is not JSON: {error}. Give a {kind} as JSON or YAML.") from None


def _parse_yaml(path: Path, content: bytes, kind: str) -> Any:
    _check_some(path, content, kind)
    try:
        return parse_yaml(content.decode())
    except UnicodeDecodeError as error:
        raise BadFile(
            f"{path}: is not UTF-8 text (byte {error.start}). Give a {kind} as JSON or YAML."
        ) from None
    except YamlError as error:
        where = f"{path}:{error.line}" if error.line else f"{path}"
        raise BadFile(f"{where}: is not a {kind} as YAML: {error}.") from None


def _check_some(path: Path, content: bytes, kind: str) -> None:
    if not content.strip():
        raise BadFile(f"{path}: is empty. Give a {kind} as JSON or YAML.")


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(DOCUMENTS[kind])


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A large file makes a million objects, none of them garbage; looking for some doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
