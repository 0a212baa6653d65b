"""What the local engine keeps on disk: names, fences, records, and the ends of logs."""

from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.backends.backend import RingKey
from gadget.backends.ring_folder import MOST_LOG_BYTES, Record, RingFolder, read_tail, safe_name
from gadget.backends.worker_environment import Seat
from gadget.errors import BadFile, BadOption

names = st.text(min_size=1).filter(str.isprintable)
RECORD = Record(
    instance="x",
    boot="b",
    job="a/b",
    number=3,
    workers=("s0", "s1"),
    routes=(("s0", "s1"), ("s1", "s0")),
    seats=(Seat("s0", "127.0.0.1", 1, (0, 1)), Seat("s1", "127.0.0.2", 1)),
    master_port=9,
    gpu_per_worker=2.0,
)


@given(names)
def test_a_safe_name_is_one_file_name_and_gives_the_job_back(job: str) -> None:
    name = safe_name(job)
    assert "/" not in name
    assert not name.startswith(".")
    assert name.isascii()
    assert len(name) <= 180
    if "~" not in name or "~" in job:
        assert unquote(name) == job


@given(names, names)
def test_different_jobs_have_different_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
    long = "x" * 300
    assert safe_name(long + one) != safe_name(long + other) or one == other


def test_a_ring_is_written_down_and_read_again(tmp_path: Path) -> None:
    folder = RingFolder(tmp_path)
    folder.open()
    folder.prepare(RECORD)
    assert list(folder.records("x")) == [RECORD]
    assert list(folder.records("somebody else")) == []
    (found,) = folder.records("x")
    assert (found.key, found.ring.workers) == (RingKey("a/b", 3), ("s0", "s1"))
    folder.drop(found.key)
    assert list(folder.records("x")) == []
    folder.close()


def test_a_record_cut_at_any_byte_never_began(tmp_path: Path) -> None:
    folder = RingFolder(tmp_path)
    folder.open()
    folder.prepare(RECORD)
    whole = (folder.ring(RECORD.key) / "record.json").read_bytes()
    for length in range(len(whole)):
        folder.ring(RECORD.key).mkdir(exist_ok=True)
        (folder.ring(RECORD.key) / "record.json").write_bytes(whole[:length])
        assert list(folder.records("x")) == []
        assert not folder.ring(RECORD.key).exists()
    folder.close()


def test_fences_are_of_one_job_and_one_instance(tmp_path: Path) -> None:
    folder = RingFolder(tmp_path)
    folder.open()
    assert folder.fence("a", "x") == -1
    folder.raise_fence(RingKey("a", 5), "x")
    assert [folder.fence("a", "x"), folder.fence("b", "x"), folder.fence("a", "y")] == [5, -1, -1]
    folder.close()


def test_two_services_cannot_use_one_folder(tmp_path: Path) -> None:
    first, second = RingFolder(tmp_path), RingFolder(tmp_path)
    first.open()
    with pytest.raises(BadOption, match="another service"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadFile, match="Choose another folder"):
        RingFolder(tmp_path / "file" / "below").open()


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])), max_size=8),
    st.integers(-1, 9),
)
def test_the_tail_is_the_last_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], count: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert read_tail(path, count).splitlines() == (lines[-count:] if count > 0 else [])


def test_no_more_than_its_end_is_read_of_a_long_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 99 + b"\n" + b"0123456789 23456789\xff\n" * (MOST_LOG_BYTES // 10))
    tail = read_tail(path, 10**9)
    assert len(tail) <= MOST_LOG_BYTES
    assert set(tail.splitlines()) == {"0123456789 23456789\ufffd"}
    path.write_bytes(b"x" * (2 * MOST_LOG_BYTES))
    assert len(read_tail(path, 1)) == MOST_LOG_BYTES
    assert read_tail(tmp_path / "none", 3) == ""
