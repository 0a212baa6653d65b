"""Files, read with clear complaints and written whole or not at all."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from gadget.errors import BadFile

STANDARD_STREAM = Path("-")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    if path == STANDARD_STREAM:
        if sys.stdin is None:
            raise BadFile("-: standard input is closed. Name a file.")
        return sys.stdin.buffer.read()
    with _complaining(path):
        return path.read_bytes()


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, fewer if it is shorter."""
    with _complaining(path), path.open("rb") as file:
        return file.read(size)


def open_bytes(path: Path) -> BinaryIO:
    """A file, open to be read piece by piece."""
    with _complaining(path):
        return path.open("rb")


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BadFile(f"{path}: there is no such file. Correct the path.") from None
    except IsADirectoryError:
        raise BadFile(f"{path}: is a directory, not a file. Name a file in it.") from None
    except ValueError:
        raise BadFile(f"{path}: is no path that can be read. Correct it.") from None
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be read ({error.strerror}). Correct the path or its permissions."
        ) from None


def is_file(path: Path) -> bool:
    """True for a regular file; False too for what cannot be a path, which is told when it is opened."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """True for a folder; False too for what cannot be a path."""
    try:
        return path.is_dir()
    except OSError:
        return False


def list_folder(folder: Path) -> list[Path]:
    """The files in a folder at any depth, sorted; without hidden ones, and not through links to folders."""
    found: list[Path] = []
    try:
        for above, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [Path(above, name) for name in names if not name.startswith(".")]
        return sorted(path for path in found if is_file(path))
    except OSError as error:
        raise BadFile(
            f"{error.filename}: cannot be read ({error.strerror}). Correct its permissions."
        ) from None


def _raise(error: OSError) -> None:
    raise error


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
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                file.writelines(pieces)
        else:
            _replace(path.resolve(), pieces)
    except OSError as error:
        raise BadFile(f"{path}: cannot be written ({error.strerror}). Choose another place.") from None
    except (RuntimeError, ValueError):  # links that lead in a circle; a path no system has
        raise BadFile(f"{path}: is no path that can be written. Choose another place.") from None


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    # A name of at most 255 bytes; the process number keeps two writers apart.
    short = path.name.encode(errors="surrogateescape")[:200].decode(errors="ignore")
    aside = path.with_name(f".{short}.{os.getpid()}.part")
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    try:
        # Nobody may read through the side what the file itself would not show.
        opener = partial(os.open, mode=0o666 if mode is None else mode & 0o600)
        with open(aside, "wb", opener=opener) as file:
            file.writelines(pieces)
        if mode is not None:
            aside.chmod(mode)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
