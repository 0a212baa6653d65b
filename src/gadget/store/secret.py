"""A secret of the service's own, by which it knows its workers again after a restart."""

import os
import secrets
from pathlib import Path

from gadget.errors import BadFile

_BYTES = 32


def ensure_secret(path: Path) -> bytes:
    """The secret in a file that only its owner can read, made if there is none."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be written ({error.strerror}). Correct the path or its permissions."
        ) from None
    made = secrets.token_bytes(_BYTES)
    with os.fdopen(file, "wb") as stream:
        stream.write(made)
        stream.flush()
        os.fsync(stream.fileno())
    return made


def _read(path: Path) -> bytes:
    try:
        loose = path.stat().st_mode & 0o077
        content = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}). Correct its permissions.") from None
    if loose:
        raise BadFile(f"{path}: can be read by others. Run  chmod 600 {path}")
    if len(content) == _BYTES:
        return content
    # A service that was killed while it made its first secret: nobody has been given any of it.
    path.unlink()
    return ensure_secret(path)
