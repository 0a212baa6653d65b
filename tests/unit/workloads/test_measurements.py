"""Measured step times: both forms, folders of them, and every way a row or a file can be bad."""

from pathlib import Path

import pytest

from gadget.errors import BadFile
from gadget.workloads.measurements import read_measurements

BY_PLACEMENT = "placement,local_bsz,step_time,sync_time\n1,8,0.5,0.01\n311,8,1.5,0.25\n113,16,2.5,0.25\n"
BY_TOTALS = (
    "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,6,8,1.25,0.5\n1,4,8,1,0.5\n6,14,8,1.5,0.5\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "traces" / "bert"
    made.mkdir(parents=True)
    return made


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_file_by_placement(folder: Path) -> None:
    (one,) = read_measurements([write(folder / "placements.csv", BY_PLACEMENT)]).applications
    assert one.name == "bert"
    # Digits are sorted: rings that only differ in where they start are one placement.
    assert one.placements.tolist() == ["1", "113", "113"]
    assert one.servers.tolist() == [1, 3, 3]
    assert one.workers.tolist() == [1, 5, 5]
    assert one.batch.tolist() == [8, 8, 16]
    assert one.step_seconds.tolist() == [0.5, 1.5, 2.5]
    assert one.is_local.tolist() == [True, False, False]


def test_a_file_by_totals_names_placements_as_the_other_form_does_where_it_can(folder: Path) -> None:
    (one,) = read_measurements([write(folder / "x", BY_TOTALS)]).applications
    assert one.placements.tolist() == ["111111", "4", "6x14"]
    assert one.servers.tolist() == [6, 1, 6]
    assert one.workers.tolist() == [6, 4, 14]


@pytest.mark.parametrize(
    "change", ["columns in another order", "crlf", "bom", "blank lines", "no sync", "more"]
)
def test_what_does_not_matter(folder: Path, change: str) -> None:
    plain = read_measurements([write(folder / "plain.csv", BY_PLACEMENT)]).applications[0]
    text = {
        "columns in another order": "step_time, sync_time ,placement,local_bsz\n"
        "0.5,0.01,1,8\n1.5,.25,311,8\n2.5,.25,113,16",
        "crlf": BY_PLACEMENT.replace("\n", "\r\n"),
        "bom": "\ufeff" + BY_PLACEMENT,
        "blank lines": BY_PLACEMENT.replace("\n", "\n\n"),
        "no sync": "placement,local_bsz,step_time\n1,8,0.5\n311,8,1.5\n113,16,2.5\n",
        "more": "placement,local_bsz,step_time,host\n1,8,0.5,a\n311,8,1.5,b\n113,16,2.5,\n",
    }[change]
    path = folder / "changed.csv"
    path.write_bytes(text.encode())
    found = read_measurements([path], strict=True).applications[0]
    for column in ("placements", "servers", "workers", "batch", "step_seconds"):
        assert getattr(found, column).tolist() == getattr(plain, column).tolist()


def test_folders_at_any_depth_one_application_each(folder: Path) -> None:
    write(folder / "placements.csv", BY_PLACEMENT)
    write(folder / "scalability.csv", BY_TOTALS)
    write(folder / "readme.txt", "not looked at")
    write(folder / "validation.csv", "epoch,score\n1,2\n")
    ncf = folder.parent / "ncf"
    ncf.mkdir()
    write(ncf / "placements.csv", BY_PLACEMENT)
    for paths in ([folder.parent], [folder.parent.parent], [folder, ncf], [folder, folder.parent]):
        found = read_measurements(paths)
        assert [(one.name, len(one)) for one in found.applications] == [("bert", 6), ("ncf", 3)]
    assert [path.name for path in found.other_files] == ["validation.csv", "validation.csv"]


BAD_ROWS = {
    "1,8": "it has 2 fields, the header 4",
    "1,8,1,0,5": "it has 5 fields, the header 4",
    ",8,1,0": "placement is ''",
    "1-2,8,1,0": "placement is '1-2'",
    "102,8,1,0": "placement is '102'",
    "٣,8,1,0": "placement is '٣'",
    "1,x,1,0": "local_bsz is 'x'",
    "1,0,1,0": "local_bsz is '0'",
    "1,8,,0": "step_time is ''",
    "1,8,nan,0": "step_time is 'nan'",
    "1,8,inf,0": "step_time is 'inf'",
    "1,8,-1,0": "step_time is '-1'",
    "1,8,1,2": "sync_time is 2, above step_time = 1",
    "1,8,1,soon": "sync_time is 'soon'",
}


@pytest.mark.parametrize(("row", "said"), BAD_ROWS.items())
def test_bad_rows_are_left_out_and_told(folder: Path, row: str, said: str) -> None:
    path = write(folder / "placements.csv", BY_PLACEMENT + row + "\n")
    found = read_measurements([path])
    assert len(found.applications[0]) == 3
    (bad,) = found.left_out
    assert (bad.path, bad.count, bad.rows) == (path, 1, 4)
    assert bad.first.startswith("line 5: ")
    assert said in bad.first


@pytest.mark.parametrize(("row", "said"), BAD_ROWS.items())
def test_strict_refuses_them(folder: Path, row: str, said: str) -> None:
    path = write(folder / "placements.csv", BY_PLACEMENT + row + "\n")
    with pytest.raises(BadFile) as caught:
        read_measurements([path], strict=True)
    assert str(caught.value).startswith(f"{path}:5: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("6,5,8,1,0", "num_replicas is 5, below num_nodes = 6"),
        ("6.5,8,8,1,0", "num_nodes is 6.5, not a whole number"),
        ("1,1e9,8,1,0", "num_replicas is 1e9, not a whole number"),
    ],
)
def test_totals_that_make_no_sense(folder: Path, row: str, said: str) -> None:
    with pytest.raises(BadFile, match=said):
        read_measurements([write(folder / "scalability.csv", f"{BY_TOTALS}{row}\n")], strict=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no measured step times"),
        (b"placement,local_bsz\n1,8\n", "holds no measured step times"),
        (b"1,8,0.5,0.1\n", "holds no measured step times"),
        (bytes(range(128, 256)), "holds no measured step times"),
        (b"placement,local_bsz,step_time\n", "no row can be used"),
        (
            b"placement,local_bsz,step_time\n1,8,soon\n",
            "no row can be used (first: line 2: step_time is 'soon'",
        ),
        (b"placement,local_bsz,step_time\n1,8," + b"9" * 200_000, "is not CSV"),
    ],
)
def test_files_that_hold_none(folder: Path, content: bytes, said: str) -> None:
    path = folder / "x.csv"
    path.write_bytes(content)
    with pytest.raises(BadFile) as caught:
        read_measurements([path])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_without_a_usable_row_are_named_as_they_were_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    write(folder / "x.csv", "placement,local_bsz,step_time\n")
    with pytest.raises(BadFile, match=r"^x\.csv: no row can be used"):
        read_measurements([Path("x.csv")])


def test_what_is_named_twice_is_read_once(folder: Path) -> None:
    path = write(folder / "placements.csv", BY_PLACEMENT)
    (once,) = read_measurements([path]).applications
    (again,) = read_measurements([path, folder, folder.parent]).applications
    assert len(again.step_seconds) == len(once.step_seconds)


def test_a_folder_without_any(folder: Path) -> None:
    with pytest.raises(BadFile, match="no file in it holds measured step times"):
        read_measurements([folder])
    with pytest.raises(BadFile, match="there is no such file"):
        read_measurements([folder / "missing"])
