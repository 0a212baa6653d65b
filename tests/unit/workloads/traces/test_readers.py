"""Every format, on files of our own: what each job is, what is left out, what is assumed."""

from pathlib import Path

import numpy as np
import pytest

from gadget.errors import BadFile, BadOption
from gadget.workloads.traces.gavel import read_throughputs, with_durations
from gadget.workloads.traces.registry import read_trace
from gadget.workloads.traces.trace import Labels, Trace
from tests.unit.workloads.traces import samples
from tests.unit.workloads.traces.samples import SAMPLES, save

DAY = 86_400
OCTOBER_9 = 1_507_507_200


def read(folder: Path, *texts: str, zipped: bool = False) -> Trace:
    return read_trace(save(folder, texts, zipped=zipped))


def words(labels: Labels | None) -> list[str]:
    assert labels is not None
    return [labels.words[code] for code in labels.codes]


def jobs(trace: Trace) -> list[tuple[str, float, float | None, int]]:
    durations = [None if np.isnan(d) else d for d in trace.duration_seconds.tolist()]
    return list(
        zip(
            trace.names.tolist(),
            trace.submit_seconds.tolist(),
            durations,
            trace.gpus.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", SAMPLES)
def test_formats_are_told_by_content_and_sorted_by_submission(
    tmp_path: Path, name: str, zipped: bool
) -> None:
    source, texts = SAMPLES[name]
    trace = read(tmp_path, *texts, zipped=zipped)
    assert trace.source == source
    assert len(trace) >= 2
    assert (np.diff(trace.submit_seconds) >= 0).all()
    assert (trace.gpus >= 1).all()
    assert trace.bad.count == 0
    assert trace.since_start[0] == 0


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n", "\r\n", "  \n"])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "philly-log"])
def test_how_a_file_ends_is_no_bad_row(tmp_path: Path, name: str, ending: str) -> None:
    _, texts = SAMPLES[name]
    trace = read(tmp_path, *(text.rstrip() + ending for text in texts))
    assert trace.bad.count == 0
    assert jobs(trace) == jobs(read(tmp_path, *texts))


def test_google_job_table(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.GOOGLE_TABLE)
    assert jobs(trace) == [("13", 600, None, 1), ("12", 700, 60, 1), ("14", 900, 0, 1)]
    assert trace.left_out == {"were there before the trace began": 1}
    assert words(trace.status) == ["", "FINISH", "KILL"]
    assert words(trace.user) == ["1", "1", "2"]
    assert any("no GPUs" in note for note in trace.notes)


def test_google_events_of_one_job_may_lie_in_several_parts(tmp_path: Path) -> None:
    lines = samples.GOOGLE_EVENTS.splitlines(keepends=True)
    whole = read(tmp_path, samples.GOOGLE_EVENTS)
    assert jobs(whole) == [("2", 600, 40, 1), ("3", 700, None, 1)]
    assert whole.left_out == {
        "have no submission in the files read": 1,
        "were there before the trace began": 1,
    }
    assert words(whole.status) == ["FINISH", ""]
    assert words(whole.application) == ["l2", "l2"]
    assert jobs(read(tmp_path, "".join(lines[4:]), "".join(lines[:4]))) == jobs(whole)


def test_a_folder_is_read_as_its_parts(tmp_path: Path) -> None:
    lines = samples.GOOGLE_EVENTS.splitlines(keepends=True)
    save(tmp_path, ["".join(lines[:4]), "".join(lines[4:]), "a licence"], zipped=True)
    deep = tmp_path / "of" / "parts"
    deep.mkdir(parents=True)
    (tmp_path / "file-1").rename(deep / "file-1")
    (tmp_path / ".hidden").write_text("no trace")
    trace = read_trace([tmp_path])
    assert jobs(trace) == jobs(read(tmp_path, samples.GOOGLE_EVENTS))
    assert any("1 file in it passed over as no trace" in note for note in trace.notes)


def test_philly_csv(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.PHILLY)
    second, first = OCTOBER_9 + 7 * 3600 + 115, OCTOBER_9 + 6 * 3600 + 783
    assert jobs(trace) == [
        ("philly-1", first, 2951, 8),
        ("philly-0", second, 66, 1),
        ("philly-2", second + DAY, 10, 1),
    ]
    assert words(trace.group) == ["6214e9", "11cb48", "11cb48"]


def test_philly_log_counts_all_attempts_and_the_gpus_of_the_largest(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.PHILLY_LOG)
    midnight = OCTOBER_9 - 2 * DAY
    assert jobs(trace) == [
        ("application_3", midnight + 3600, None, 1),
        ("application_1", midnight + 3600 + 699, 74 + 60, 3),
    ]
    assert trace.left_out == {"never ran": 1}
    assert words(trace.status) == ["Killed", "Pass"]
    assert words(trace.user) == ["0a0a0a", "ce2f4c"]


def test_helios_leaves_out_what_has_no_gpu_or_never_ran(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.HELIOS)
    assert [(name, duration, gpus) for name, _, duration, gpus in jobs(trace)] == [
        ("503", 60, 16),
        ("501", 600, 4),
    ]
    assert trace.left_out == {"never ran": 1, "ask for no GPU": 1}
    assert words(trace.group) == ["vcD", "vcB"]


def test_pai_jobs_have_the_gpus_of_all_their_tasks(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.PAI_TASKS, samples.PAI_JOBS, samples.PAI_TAGS)
    prefix = "4f057009a5d481acec67b0"
    assert jobs(trace) == [
        (f"{prefix}88", 990, 600, 2),
        (f"{prefix}89", 1900, 60, 6),
        (f"{prefix}8b", 2500, None, 1),
    ]
    assert trace.gpu_share is not None
    assert trace.gpu_share.tolist() == [0.5, 1, 1]
    assert trace.gpu_demand.tolist() == [1, 6, 1]
    assert trace.left_out == {"never ran": 1, "ask for no GPU": 1}
    assert words(trace.application) == ["", "bert", ""]
    assert words(trace.group) == ["group-a", "group-b", ""]
    assert words(trace.status) == ["Terminated", "Failed", "Running"]


def test_pai_tasks_alone_are_submitted_when_they_start(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.PAI_TASKS)
    assert trace.submit_seconds.tolist() == [1100, 2000, 3000]
    assert any("pai_job_table" in note for note in trace.notes)


def test_pai_tables_may_have_their_headers(tmp_path: Path) -> None:
    task_header = (
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
    )
    job_header = "job_name,inst_id,user,status,start_time,end_time\n"
    with_headers = read(tmp_path, task_header + samples.PAI_TASKS, job_header + samples.PAI_JOBS)
    assert jobs(with_headers) == jobs(read(tmp_path, samples.PAI_TASKS, samples.PAI_JOBS))


def test_pai_jobs_without_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="pai_task_table"):
        read(tmp_path, samples.PAI_JOBS)


def test_openb_pods_run_from_when_they_are_scheduled(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.OPENB)
    assert jobs(trace) == [("openb-pod-0001", 50, 300, 8), ("openb-pod-0000", 100, 950, 1)]
    assert trace.gpu_demand.tolist() == [8, 0.46]
    assert trace.left_out == {"never ran": 1, "ask for no GPU": 1}


def test_gavel_tells_steps_and_priorities(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.GAVEL_10)
    assert jobs(trace) == [("gavel-0", 0, None, 2), ("gavel-1", 120.5, None, 1)]
    assert trace.extra["steps"].tolist() == [3000, 500]
    assert trace.extra["batch_size"].tolist() == [128, 5]
    assert trace.extra["priority"].tolist() == [1, 4]
    assert words(trace.application) == ["ResNet-18 (batch size 128)", "LM (batch size 5)"]


def test_gavel_of_seven_columns_has_the_arrival_before_the_scale(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.GAVEL_7)
    assert jobs(trace) == [("gavel-1", 5, None, 1), ("gavel-0", 10, None, 2)]
    assert trace.left_out == {"ask for no GPU": 1}


def test_gavel_lasts_as_long_as_its_steps_at_the_throughput_of_its_scale(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.GAVEL_10)
    (tmp_path / "throughputs.json").write_text(samples.THROUGHPUTS)
    throughputs = read_throughputs(tmp_path / "throughputs.json")
    timed = with_durations(trace, throughputs)
    assert timed.duration_seconds.tolist() == [300, 200]
    assert np.isnan(timed.extra["deadline_seconds"][0])
    assert timed.extra["deadline_seconds"][1] == pytest.approx(240)
    # A throughput of 0 or none at all tells no duration.
    assert np.isnan(with_durations(trace, throughputs, "k80").duration_seconds).all()
    with pytest.raises(BadOption, match="nearest: 'v100'"):
        with_durations(trace, throughputs, "v10")
    with pytest.raises(BadOption, match="these are of pollux"):
        with_durations(read(tmp_path, samples.POLLUX), throughputs)


@pytest.mark.parametrize("content", ["{", "[1]", '{"v100": 3}', "\xff"])
def test_what_holds_no_throughputs_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "throughputs.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(BadFile, match="holds no throughputs"):
        read_throughputs(path)


def test_tiresias(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.TIRESIAS)
    assert jobs(trace) == [("0", 0, 164, 1), ("1", 30, 147, 8)]
    assert trace.extra["steps"].tolist() == [606, 133]
    assert words(trace.application) == ["vgg19", "vgg11"]


def test_pollux_tells_no_durations(tmp_path: Path) -> None:
    trace = read(tmp_path, samples.POLLUX)
    assert jobs(trace) == [("bert-1", 90, None, 2), ("cifar10-0", 107, None, 6)]
    assert trace.extra["batch_size"].tolist() == [96, 2048]
    assert any("--assume-duration" in note for note in trace.notes)
