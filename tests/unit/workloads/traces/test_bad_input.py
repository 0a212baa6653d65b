"""Bad rows are counted, shown and skipped, or refused; a file that is none of ours gets one message."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadFile
from gadget.workloads.traces import source, table
from gadget.workloads.traces.registry import FORMATS, read_trace, recognise
from gadget.workloads.traces.source import Head, Part
from tests.unit.workloads.traces import samples
from tests.unit.workloads.traces.samples import SAMPLES, save

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"
GOOD = "2017-10-09 07:01:55,66.0,1,66.0,a\n"

BAD_ROWS = {
    "too few columns": ("2017-10-09 07:01:55,66.0,1\n", "has 3 columns, not 5"),
    "too many columns": (GOOD.rstrip() + ",more\n", "has 6 columns, not 5"),
    "no moment": ("yesterday,66.0,1,66.0,a\n", "timestamp is 'yesterday', no moment"),
    "no such day": ("2017-02-31 07:01:55,66.0,1,66.0,a\n", "no moment"),
    "a moment of another zone": ("2017-10-09T07:01-01,66.0,1,66.0,a\n", "no moment"),
    "no number": ("2017-10-09 07:01:55,long,1,66.0,a\n", "duration is 'long', no number"),
    "infinite": ("2017-10-09 07:01:55,inf,1,66.0,a\n", "duration is 'inf', no number"),
    "NaN GPUs": ("2017-10-09 07:01:55,66.0,nan,66.0,a\n", "num_gpus is 'nan', no number"),
    "missing GPUs": ("2017-10-09 07:01:55,66.0,,66.0,a\n", "num_gpus is missing"),
    "negative duration": ("2017-10-09 07:01:55,-5,1,66.0,a\n", "ends before it starts"),
    "negative GPUs": ("2017-10-09 07:01:55,66.0,-1,66.0,a\n", "asks for -1 GPUs"),
    "half a GPU": ("2017-10-09 07:01:55,66.0,1.5,66.0,a\n", "no whole number"),
    "too many GPUs": ("2017-10-09 07:01:55,66.0,100001,66.0,a\n", "more than 100,000"),
    "too long": ("2017-10-09 07:01:55,1e13,1,66.0,a\n", "which is no time"),
    "before 1970": ("1917-10-09 07:01:55,66.0,1,66.0,a\n", "before time began"),
    "a huge word": (f"2017-10-09 07:01:55,66.0,1,66.0,{'a' * 5000}\n", "cluster has 5,000 characters"),
    "no UTF-8": (b"2017-10-09 07:01:55,66.0,1,66.0,\xff\xfe\n", "no printable UTF-8 text"),
    "unprintable": ("2017-10-09 07:01:55,66.0,1,66.0,a\x1b[2J\n", "no printable UTF-8 text"),
    "a quote left open": ('2017-10-09 07:01:55,66.0,1,66.0,"a\n', None),
    "a digit too many": (f"2017-10-09 07:01:55,{'9' * 400},1,66.0,a\n", "no number"),
}


@pytest.mark.parametrize("name", [name for name, (_, said) in BAD_ROWS.items() if said])
def test_bad_rows_are_skipped_with_line_and_reason_or_refused(tmp_path: Path, name: str) -> None:
    row, said = BAD_ROWS[name]
    assert said is not None
    raw = row.encode() if isinstance(row, str) else row
    (path,) = save(tmp_path, [(HEADER + GOOD).encode() + raw + b"\n" + GOOD.encode()])
    trace = read_trace([path])
    assert len(trace) == 2
    assert trace.bad.count == 1
    assert trace.bad.first[0].line == 3
    assert said in trace.bad.first[0].reason
    assert str(trace.bad.first[0]).isprintable()
    with pytest.raises(BadFile) as caught:
        read_trace([path], strict=True)
    assert f"{path}:3: " in str(caught.value)
    assert said in str(caught.value)


def test_the_first_bad_row_is_the_first_of_the_file_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    """Columns are counted before cells are read, cells before jobs are judged; people read lines."""
    by_stage = [BAD_ROWS[name][0] for name in ("too few columns", "no number", "negative GPUs")]
    rows = [GOOD, *reversed(by_stage), *by_stage]
    paths = save(tmp_path, [HEADER + "".join(map(str, rows)), HEADER + str(by_stage[0])])
    bad = read_trace(paths).bad
    assert bad.count == 7
    assert [row.line for row in bad.first] == [3, 4, 5, 6, 7]
    with pytest.raises(BadFile, match=f"{paths[0]}:3: asks for -1 GPUs"):
        read_trace(paths, strict=True)
    with pytest.raises(BadFile, match=f"{paths[1]}:2: has 3 columns"):
        read_trace(paths[::-1], strict=True)


def test_the_first_file_named_counts_as_first_whichever_table_is_read_before(tmp_path: Path) -> None:
    paths = save(tmp_path, [samples.PAI_JOBS + "x\n", samples.PAI_TASKS + "x\n"])
    with pytest.raises(BadFile, match=str(paths[0])):
        read_trace(paths, strict=True)
    with pytest.raises(BadFile, match=str(paths[1])):
        read_trace(paths[::-1], strict=True)


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    """Its jobs would count twice."""
    (path,) = save(tmp_path, [HEADER + GOOD])
    with pytest.raises(BadFile, match=f"{path}: is given twice. Name each file once"):
        read_trace([path, path])
    with pytest.raises(BadFile, match="is given twice"):
        read_trace([tmp_path, path])
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(BadFile, match=f"{link}: is given twice, as {path} too"):
        read_trace([path, link])


def test_an_open_quote_spoils_its_own_row_at_most(tmp_path: Path) -> None:
    (path,) = save(tmp_path, [HEADER + GOOD + '2017-10-09 07:01:55,66.0,1,66.0,"a\n' + GOOD])
    trace = read_trace([path])
    assert len(trace) + trace.bad.count == 3
    assert len(trace) >= 2


def test_quoted_cells_are_read(tmp_path: Path) -> None:
    (path,) = save(tmp_path, [HEADER + '"2017-10-09 07:01:55",66.0,1,"66.0","a,b"\n' + GOOD])
    trace = read_trace([path])
    assert trace.bad.count == 0
    assert trace.group is not None
    assert trace.group.counts() == {"a,b": 1, "a": 1}


def test_only_the_first_bad_rows_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    (path,) = save(tmp_path, [HEADER + "x\n" * 40 + GOOD])
    bad = read_trace([path]).bad
    assert bad.count == 40
    assert [row.line for row in bad.first] == [2, 3, 4, 5, 6]


def test_lines_are_counted_over_pieces_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", 64)
    first = HEADER + GOOD * 30 + "bad\n" + GOOD * 30
    paths = save(tmp_path, [first, HEADER + GOOD * 5 + "worse\n"])
    trace = read_trace(paths)
    assert len(trace) == 65
    assert [(row.path, row.line) for row in trace.bad.first] == [(str(paths[0]), 32), (str(paths[1]), 7)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"a,b,c\n1,2,3\n", "is a trace of no known format. Known: Google 2011"),
        (b"{}", "no known format"),
        (b"num_switch,num_node_p_switch\n1,32\n", "no known format"),
        (b"\x00\x01\x02binary", "binary data"),
        (bytes(range(128, 256)) * 3, "no UTF-8 text"),
        (gzip.compress(samples.PHILLY.encode() * 99, mtime=0)[:-9], "cut short"),
        (gzip.compress(samples.PHILLY.encode(), mtime=0)[:20], "cut short"),
        (gzip.compress(b"x" * 100, mtime=0)[:12] + b"\xff" * 20, "cannot be read as a trace"),
        (HEADER.encode(), "holds no job. Check the file"),
        ((HEADER + "x\n").encode(), "holds no job (bad rows: 1, the first"),
        (b"job_id,submit_us\n1,0\n", "1 were there before the trace began"),
        (HEADER.encode() + b"x" * 2_000_000, ":2: is longer than 1,000,000 bytes"),
        (b"x" * 257 + b"ustar" + b"\0" * 300, "is a tar archive"),
        (b'[{"attempts": [], "submitted_time": "', "is no list of jobs as JSON"),
        (b'[{"attempts": [], "submitted_time": "x", "jobid": "j"}]', "submitted_time is 'x', no moment"),
    ],
)
def test_files_that_cannot_be_used_are_told_in_one_message(tmp_path: Path, content: bytes, said: str) -> None:
    (path,) = save(tmp_path, [content])
    with pytest.raises(BadFile) as caught:
        read_trace([path])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_an_empty_folder_and_no_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such file"):
        read_trace([tmp_path / "nothing"])
    with pytest.raises(BadFile, match="of 0 files in it none is a trace"):
        read_trace([tmp_path])
    with pytest.raises(BadFile, match="no file is named"):
        read_trace([])


@pytest.mark.parametrize("text", [samples.GOOGLE_EVENTS, samples.GAVEL_10 * 2, samples.GAVEL_7])
def test_a_bad_first_row_does_not_hide_the_format(tmp_path: Path, text: str) -> None:
    trace = read_trace(save(tmp_path, ["x\n" + text]))
    assert trace.bad.count == 1
    assert trace.bad.first[0].line == 1
    assert len(trace) == len(read_trace(save(tmp_path, [text])))


def test_names_that_no_file_can_have_are_told(tmp_path: Path) -> None:
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(BadFile, match=r"cannot be read|no path that can be read"):
            read_trace([tmp_path / name])


def test_gavel_files_of_different_layouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="has not as many columns"):
        read_trace(save(tmp_path, [samples.GAVEL_10, samples.GAVEL_7]))


def test_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    paths = save(tmp_path, [samples.PHILLY, samples.POLLUX])
    with pytest.raises(BadFile, match=r"is a Pollux workload, .* a Philly CSV"):
        read_trace(paths)


def test_a_trace_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 3)
    with pytest.raises(BadFile, match="more than 3 rows"):
        read_trace(save(tmp_path, [HEADER + GOOD * 4]))


def test_entries_of_a_log_that_are_none_are_named_by_their_place(tmp_path: Path) -> None:
    broken = samples.PHILLY_LOG.replace('"attempts": [],', '"attempts": 7,')
    trace = read_trace(save(tmp_path, [broken]))
    assert len(trace) == 2
    assert trace.bad.count == 1
    assert "entry 2" in trace.bad.first[0].reason


def test_progress_tells_all_bytes(tmp_path: Path) -> None:
    for zipped in (False, True):
        (path,) = save(tmp_path, [HEADER + GOOD * 100_000], zipped=zipped)
        told: list[int] = []
        read_trace([path], progress=told.append)
        assert sum(told) == path.stat().st_size


def test_no_format_takes_a_file_of_another(tmp_path: Path) -> None:
    for name, (source_name, texts) in SAMPLES.items():
        for text in texts:
            head = Part(save(tmp_path, [text])[0]).head
            assert [one.name for one in FORMATS if one.recognise(head)] == [source_name], name


@given(st.text(max_size=400))
def test_any_text_is_recognised_or_not_without_a_crash(text: str) -> None:
    lines = tuple(line for line in text.split("\n") if line.strip())
    assert recognise(Head(text, lines)) is None or lines


@given(
    st.sampled_from(sorted(SAMPLES)),
    st.integers(0, 600),
    st.sampled_from([b"", b",", b"\n", b'"', b"-1", b"nan", b"\xff", b"1e999", b"\t", b"9" * 30]),
)
def test_a_spoilt_file_is_read_or_refused_and_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, name: str, place: int, put: bytes
) -> None:
    _, texts = SAMPLES[name]
    content = texts[0].encode()
    spoilt = content[:place] + put + content[place + 1 :]
    paths = save(tmp_path_factory.mktemp("spoilt"), [spoilt, *texts[1:]])
    try:
        trace = read_trace(paths)
    except BadFile:
        return
    assert (trace.gpus >= 1).all()
    assert np.isfinite(trace.submit_seconds).all()
    assert not (trace.duration_seconds < 0).any()
