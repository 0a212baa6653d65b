"""Files, read with clear complaints and written whole or not at all."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from gadget.errors import BadFile

STANDARD_STREAM = Path("-")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    if path == STANDARD_STREAM:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadFile(f"{path}: there is no such file. Correct the path.") from None
    except IsADirectoryError:
        raise BadFile(f"{path}: is a directory, not a file. Name a file in it.") from None
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be read ({error.strerror}). Correct the path or its permissions."
        ) from None


def write_whole(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write to the side, then move into place: readers see the old file or the new one, nothing between.

    What is no regular file (a pipe, a terminal) is written to directly; `-` is standard output.
    Content too large for memory comes in pieces.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    if path == STANDARD_STREAM:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
        return
    path = path.resolve()
    aside = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            _write(path, pieces)
            return
        try:
            _write(aside, pieces)
            if path.exists():
                aside.chmod(path.stat().st_mode & 0o7777)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise BadFile(f"{path}: cannot be written ({error.strerror}). Choose another place.") from None


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)
