"""Files are read with clear complaints and written whole or not at all."""

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gadget import BadFile
from gadget.files import list_folder, read_bytes, write_whole

# Writes 4,000 bytes where files may have no more than 1,000, as on a full disk; prints the complaint.
WRITE_TOO_MUCH = """
import resource, sys
from pathlib import Path
from gadget import BadFile
from gadget.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(Path(sys.argv[1]), b"new!" * 1000)
except BadFile as error:
    print(error)
"""


def write_too_much(path):
    ran = subprocess.run(
        [sys.executable, "-c", WRITE_TOO_MUCH, path], capture_output=True, check=True, text=True
    )
    return ran.stdout.rstrip("\n")


def test_what_is_written_is_there(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, b"one")
    assert path.read_bytes() == b"one"
    write_whole(path, b"")
    assert path.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_are_joined(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, (text for text in (b"one ", b"", b"two")))
    assert path.read_bytes() == b"one two"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    assert write_too_much(path) == f"{path}: cannot be written (File too large). Choose another place."
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_of_a_new_file_leaves_nothing(tmp_path):
    path = tmp_path / "a.json"
    assert write_too_much(path) == f"{path}: cannot be written (File too large). Choose another place."
    assert list(tmp_path.iterdir()) == []


def test_pieces_that_run_out_half_way_leave_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def pieces():
        yield b"new"
        raise LookupError("nothing more")

    with pytest.raises(LookupError, match="nothing more"):
        write_whole(path, pieces())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_old_or_the_new_and_nothing_between(tmp_path):
    path = tmp_path / "a.json"
    texts = (b"a" * 300_000, b"b" * 200_000)
    write_whole(path, texts[0])
    seen = []
    done = threading.Event()

    def read():
        while not done.is_set():
            seen.append(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(60):
        write_whole(path, texts[turn % 2])
    done.set()
    reader.join()
    assert seen
    assert set(seen) <= set(texts)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_the_mode_stays(tmp_path, mode):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode(tmp_path):
    usual = tmp_path / "usual"
    usual.write_bytes(b"")
    write_whole(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_links_are_followed(tmp_path):
    target = tmp_path / "there" / "real.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"through")
    reader.join()
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_device_is_written_to():
    write_whole(Path(os.devnull), b"gone")
    assert Path(os.devnull).is_char_device()


def test_a_dash_is_standard_output():
    script = "from pathlib import Path; from gadget.files import *; write_whole(Path('-'), b'\\xff\\x00out')"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert ran.stdout == b"\xff\x00out"


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00in")))
    assert read_bytes(Path("-")) == b"\xff\x00in"


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("a" * 250 + ".json")
    write_whole(path, b"long")
    assert path.read_bytes() == b"long"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("no/such/folder/a.json", "No such file or directory"),
        ("file/a.json", "Not a directory"),
        ("folder", "Is a directory"),
        ("a" * 300, "File name too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, place, reason):
    (tmp_path / "file").write_bytes(b"a file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile) as caught:
        write_whole(tmp_path / place, b"new")
    assert str(caught.value) == f"{tmp_path / place}: cannot be written ({reason}). Choose another place."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_bytes() == b"a file"


def test_reading(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff\x00")
    assert read_bytes(path) == b"\xff\x00"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("gone", "there is no such file. Correct the path."),
        ("folder", "is a directory, not a file. Name a file in it."),
        ("file/a.json", "cannot be read (Not a directory). Correct the path or its permissions."),
        ("loop", "cannot be read (Too many levels of symbolic links). Correct the path or its permissions."),
        ("a" * 300, "cannot be read (File name too long). Correct the path or its permissions."),
    ],
)
def test_places_that_cannot_be_read(tmp_path, place, said):
    (tmp_path / "file").write_bytes(b"a file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadFile) as caught:
        read_bytes(tmp_path / place)
    assert str(caught.value) == f"{tmp_path / place}: {said}"


def test_no_permission_is_told(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(BadFile) as caught:
        read_bytes(tmp_path / "a.json")
    assert str(caught.value) == (
        f"{tmp_path / 'a.json'}: cannot be read (Permission denied). Correct the path or its permissions."
    )


def test_a_folder_is_listed_at_any_depth_without_hidden_files_and_without_going_in_circles(
    tmp_path: Path,
) -> None:
    wanted = [tmp_path / "a", tmp_path / "b" / "c" / "d"]
    hidden = [tmp_path / ".x", tmp_path / "b" / ".x" / "y"]
    for path in (*wanted, *hidden):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "b" / "circle").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    assert list_folder(tmp_path) == wanted
    with pytest.raises(BadFile, match="missing: cannot be read"):
        list_folder(tmp_path / "missing")
