"""Tokens: nobody can make one from what is kept, and nobody else can read the one that is kept whole."""

import os
import sqlite3
import stat
from contextlib import closing
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from gadget.errors import BadFile, InvalidValue
from gadget.store.tokens import Holder, Role, Tokens, ensure_local_token


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.db"


@pytest.fixture
def tokens(path: Path):
    with Tokens(path) as opened:
        yield opened


def test_a_token_names_its_holder(tokens):
    text = tokens.make_token("ci", Role.USER, at=5.5)
    other = tokens.make_token("board", Role.VIEWER, at=6.0)
    assert tokens.find_token(text) == Holder("ci", Role.USER, 5.5)
    assert tokens.find_token(other) == Holder("board", Role.VIEWER, 6.0)
    assert tokens.list_holders() == [Holder("board", Role.VIEWER, 6.0), Holder("ci", Role.USER, 5.5)]


@pytest.mark.parametrize("wrong", ["", "gadget_", "x", "ci", "é", "\udcff", "a" * 10_000])
def test_a_wrong_token_names_nobody(tokens, wrong):
    text = tokens.make_token("ci", Role.ADMIN, at=1.0)
    for attempt in (wrong, text + wrong or "x", text[:-1], text.upper(), f" {text}"):
        assert attempt == text or tokens.find_token(attempt) is None


def test_the_token_itself_is_nowhere_in_the_file(tokens, path):
    text = tokens.make_token("ci", Role.ADMIN, at=1.0)
    tokens.close()
    for file in path.parent.iterdir():
        content = file.read_bytes()
        assert text.encode() not in content
        assert text.removeprefix("gadget_").encode() not in content
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_tokens_are_long_and_differ(tokens):
    made = {tokens.make_token(str(number), Role.USER, at=1.0) for number in range(50)}
    assert len(made) == 50
    assert all(len(text.removeprefix("gadget_")) >= 43 for text in made)  # 256 bits in base 64


def test_a_revoked_token_names_nobody_also_in_other_processes(tokens, path):
    text = tokens.make_token("ci", Role.USER, at=1.0)
    with Tokens(path) as other:
        assert other.find_token(text) is not None
        tokens.revoke_token("ci")
        assert other.find_token(text) is None
        again = other.make_token("ci", Role.USER, at=2.0)
    assert tokens.find_token(again) == Holder("ci", Role.USER, 2.0)
    assert tokens.find_token(text) is None


def test_names_are_checked(tokens):
    tokens.make_token("builds", Role.USER, at=1.0)
    with pytest.raises(InvalidValue, match="'builds', which has a token already"):
        tokens.make_token("builds", Role.ADMIN, at=1.0)
    with pytest.raises(InvalidValue, match="name is '', not a name"):
        tokens.make_token("", Role.ADMIN, at=1.0)
    with pytest.raises(InvalidValue, match=r"'build', which has no token \(nearest: 'builds'\)"):
        tokens.revoke_token("build")
    assert [holder.role for holder in tokens.list_holders()] == [Role.USER]


def test_each_role_includes_those_before_it():
    assert [*Role] == ["viewer", "user", "operator", "admin"]
    for lower, higher in combinations_with_replacement(Role, 2):
        assert higher.includes(lower)
        assert lower.includes(higher) == (lower is higher)


def test_they_are_there_when_it_is_opened_again(path):
    with Tokens(path) as tokens:
        text = tokens.make_token("ci", Role.OPERATOR, at=1.0)
    with Tokens(path) as tokens:
        assert tokens.find_token(text) == Holder("ci", Role.OPERATOR, 1.0)


def test_a_file_that_holds_no_tokens_is_told(path):
    path.write_bytes(b"not a database, but long enough to be taken for one" * 30)
    with pytest.raises(BadFile, match="cannot be used as a file of tokens"):
        Tokens(path)
    with pytest.raises(BadFile, match="cannot be opened"):
        Tokens(path.parent / "none" / "tokens.db")


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [("PRAGMA user_version=2", "has version 2"), ("UPDATE tokens SET role='king'", "the role 'king'")],
)
def test_a_newer_file_is_told(path, statement, complaint):
    with Tokens(path) as tokens:
        tokens.make_token("ci", Role.USER, at=1.0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(BadFile, match=complaint), Tokens(path) as tokens:
        tokens.list_holders()


def test_the_local_token_is_made_once_and_read_afterwards(tokens, tmp_path):
    file = tmp_path / "admin.token"
    text = ensure_local_token(tokens, file, at=3.0)
    assert tokens.find_token(text) == Holder("local", Role.ADMIN, 3.0)
    assert ensure_local_token(tokens, file, at=4.0) == text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == f"{text}\n"
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


def test_the_local_token_is_private_from_the_first_moment_whatever_the_mask(tokens, tmp_path, monkeypatch):
    seen = []
    real = os.open

    def watched(path, flags, mode=0o777, **more):
        file = real(path, flags, mode, **more)
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        return file

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        ensure_local_token(tokens, tmp_path / "admin.token", at=3.0)
    finally:
        os.umask(before)
    assert seen == [0o600]


def test_a_local_token_whose_file_is_gone_ends(tokens, tmp_path):
    file = tmp_path / "admin.token"
    old = ensure_local_token(tokens, file, at=3.0)
    file.unlink()
    new = ensure_local_token(tokens, file, at=4.0)
    assert tokens.find_token(old) is None
    assert tokens.find_token(new) == Holder("local", Role.ADMIN, 4.0)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_local_token_that_others_can_get_at_is_refused(tokens, tmp_path, mode):
    file = tmp_path / "admin.token"
    ensure_local_token(tokens, file, at=3.0)
    file.chmod(mode)
    with pytest.raises(BadFile, match=rf"mode {mode:04o}.*Delete it"):
        ensure_local_token(tokens, file, at=4.0)


@pytest.mark.parametrize("content", [b"", b"gadget_guess\n", b"\xff\xfe"])
def test_a_local_token_that_is_none_is_refused(tokens, tmp_path, content):
    file = tmp_path / "admin.token"
    file.touch(0o600)
    file.write_bytes(content)
    with pytest.raises(BadFile, match="Delete it, and a new one is made"):
        ensure_local_token(tokens, file, at=4.0)


def test_a_lesser_token_is_no_local_token(tokens, tmp_path):
    file = tmp_path / "admin.token"
    file.touch(0o600)
    file.write_text(tokens.make_token("ci", Role.OPERATOR, at=1.0))
    with pytest.raises(BadFile, match="no administrator's token"):
        ensure_local_token(tokens, file, at=4.0)


def test_a_place_where_no_local_token_can_be(tokens, tmp_path):
    with pytest.raises(BadFile):
        ensure_local_token(tokens, tmp_path, at=1.0)
    with pytest.raises(BadFile, match="cannot be written"):
        ensure_local_token(tokens, tmp_path / "none" / "admin.token", at=1.0)
