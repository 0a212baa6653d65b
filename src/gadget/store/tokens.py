"""Bearer tokens: who may ask what. Only digests are kept; a token is shown once, when it is made."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Column, Double, MetaData, Row, Table, Text, delete, insert, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from gadget.errors import BadFile, InvalidValue
from gadget.model.names import check_name, nearest_hint
from gadget.store.sqlite import open_reader, open_writer, reason_of

SCHEMA_VERSION = 1
LOCAL_NAME = "local"
# Tells a token from other secrets where one turns up by mistake.
_PREFIX = "gadget_"
_MOST_BYTES = 4096

_metadata = MetaData()
_tokens = Table(
    "tokens",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("made_at", Double, nullable=False),
)


class Role(StrEnum):
    """What a holder may do; each may do all that those before it may."""

    VIEWER = "viewer"
    """Look."""
    USER = "user"
    """Submit and cancel jobs."""
    OPERATOR = "operator"
    """Drain servers."""
    ADMIN = "admin"
    """Everything."""

    def includes(self, other: "Role") -> bool:
        """True when this role may do all that the other may."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who has a token."""

    name: str
    role: Role
    made_at: float
    """Seconds since 1970."""


class Tokens:
    """The tokens in a file of their own; several processes may use it at once, from any thread."""

    def __init__(self, path: Path | str) -> None:
        """Open the file, made if there is none; BadFile says what is wrong with it."""
        self._path = Path(path)
        self._writer = open_writer(self._path)
        self._reader = open_reader(self._path)
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise BadFile(
                f"{self._path}: cannot be opened ({error.strerror}). Correct the path or its permissions."
            ) from None
        with self._complaining(), self._writer.begin() as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version > SCHEMA_VERSION:
                raise BadFile(
                    f"{self._path}: has version {version}; this release reads up to {SCHEMA_VERSION}. "
                    "Use the release that wrote it, or a newer one."
                )
            _metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")

    def make_token(self, name: str, role: Role, at: float) -> str:
        """A new token; only its digest is kept. InvalidValue if the name has one already."""
        check_name("name", name)
        text = _PREFIX + secrets.token_urlsafe(32)
        row = {"name": name, "role": str(role), "digest": _digest(text), "made_at": at}
        with self._complaining(), self._writer.begin() as connection:
            try:
                connection.execute(insert(_tokens), [row])
            except IntegrityError:
                raise InvalidValue(
                    "name", f"is {name!r}, which has a token already", "Revoke that one first, or rename"
                ) from None
        return text

    def find_token(self, text: str) -> Holder | None:
        """Who holds this token; it takes as long for a wrong one as for a right one."""
        asked, found = _digest(text), None
        for row in self._rows():
            if hmac.compare_digest(asked, row.digest):
                found = row
        return None if found is None else self._holder(found)

    def list_holders(self) -> list[Holder]:
        """All who hold tokens, by name."""
        return [self._holder(row) for row in self._rows()]

    def revoke_token(self, name: str) -> None:
        """From now on nobody has this token; InvalidValue if nobody has one by this name."""
        with self._complaining(), self._writer.begin() as connection:
            gone = connection.execute(delete(_tokens).where(_tokens.c.name == name)).rowcount
        if not gone:
            known = [holder.name for holder in self.list_holders()]
            raise InvalidValue(
                "name", f"is {name!r}, which has no token{nearest_hint(name, known)}", "Name one that has"
            )

    def close(self) -> None:
        """Let go of the file."""
        self._reader.dispose()
        self._writer.dispose()

    def __enter__(self) -> "Tokens":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self) -> list[Row[tuple[str, str, str, float]]]:
        with self._complaining(), self._reader.connect() as connection:
            return list(connection.execute(select(_tokens).order_by(_tokens.c.name)).all())

    def _holder(self, row: Row[tuple[str, str, str, float]]) -> Holder:
        try:
            return Holder(row.name, Role(row.role), row.made_at)
        except ValueError:
            raise BadFile(
                f"{self._path}: {row.name!r} has the role {row.role!r}, which this release does not know. "
                "Use the release that wrote it, or revoke that token."
            ) from None

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:
            raise BadFile(
                f"{self._path}: cannot be used as a file of tokens ({reason_of(error)}). "
                "Look for room and permissions on its disk, or move it away to begin anew."
            ) from None


def ensure_local_token(tokens: Tokens, path: Path | str, at: float) -> str:
    """The administrator's token of this machine, from a file that only its owner can read.

    The first time it is made; afterwards it is read. BadFile if others could read it or it is not known.
    """
    target = Path(path)
    text = _read_private(target)
    if text is None:
        return _make_local(tokens, target, at)
    holder = tokens.find_token(text)
    if holder is None or holder.role is not Role.ADMIN:
        raise BadFile(f"{target}: holds no administrator's token. Delete it, and a new one is made.")
    return text


def _make_local(tokens: Tokens, path: Path, at: float) -> str:
    # Without its file nobody has the token of before: it ends here.
    if any(holder.name == LOCAL_NAME for holder in tokens.list_holders()):
        tokens.revoke_token(LOCAL_NAME)
    text = tokens.make_token(LOCAL_NAME, Role.ADMIN, at)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "w") as stream:
            stream.write(f"{text}\n")
            stream.flush()
            os.fsync(file)
        aside.rename(path)
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be written ({error.strerror}). Correct the path or its permissions."
        ) from None
    finally:
        aside.unlink(missing_ok=True)
    return text


def _read_private(path: Path) -> str | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be read ({error.strerror}). Correct the path or its permissions."
        ) from None
    try:
        # Of the open file, not of the path: it could be exchanged in between.
        mode = os.fstat(file).st_mode & 0o777
        if mode & 0o077:
            raise BadFile(
                f"{path}: holds a secret, and others can get at it (mode {mode:04o}). "
                "Delete it, so that a new token is made, or run chmod 600 if nobody has read it."
            )
        return os.read(file, _MOST_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise BadFile(f"{path}: holds no token. Delete it, and a new one is made.") from None
    finally:
        os.close(file)


def _digest(text: str) -> str:
    # 256 random bits cannot be guessed, so that a slow digest would protect nothing.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
