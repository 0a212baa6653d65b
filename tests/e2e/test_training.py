"""Training in real rings: the same losses however it is interrupted, a bounded end when it breaks."""

import importlib.util
import json
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gadget.backends.backend import RingKey
from gadget.backends.mailbox import Mailbox
from gadget.backends.words import Kind, Word
from gadget.worker import LEFT, join
from tests.rings import EXAMPLES, read_losses, ring_environments, run_ring, wait_until

RING, TORCH = EXAMPLES / "train_ring.py", EXAMPLES / "train_torch.py"
BATCH = 13  # shared out unevenly over 2 and 3 ranks
STEPS = 60
ROUNDING = 1e-9  # of the loss: what another order of sums may change


def options(folder: Path, *more: object, steps: int = STEPS) -> list[object]:
    return ["--steps", steps, "--batch", BATCH, "--loss-file", folder / "losses", *more]


def checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / "kept").glob("*.checkpoint"))


def saved_work(path: Path) -> float:
    return float(json.loads(path.read_bytes().split(b"\n", 2)[1])["work"])


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[int, float]]:
    """The losses of runs that nothing disturbed, by size of the ring."""
    found = {}
    for size in (1, 2, 3):
        folder = tmp_path_factory.mktemp(f"size{size}")
        with run_ring(folder, RING, *options(folder), size=size) as ring:
            assert ring.wait() == [0] * size, ring.log(0)
        found[size] = read_losses(folder / "losses")
    return found


def test_the_losses_do_not_depend_on_the_size(uninterrupted: dict[int, dict[int, float]]) -> None:
    alone = uninterrupted[1]
    assert list(alone) == list(range(1, STEPS + 1))
    assert alone[STEPS] < 0.5 * alone[1]
    for size in (2, 3):
        assert uninterrupted[size] == pytest.approx(alone, rel=ROUNDING, abs=0)


def train_in_turns(folder: Path, script: Path, sizes: list[int], *more: object) -> dict[int, float]:
    """One run on rings of these sizes, each asked to leave after some steps, but the last."""
    for number, size in enumerate(sizes):
        before = max(read_losses(folder / "losses"), default=0)
        with run_ring(folder, script, *options(folder, *more), size=size, number=number) as ring:
            if number < len(sizes) - 1:
                wait_until(lambda before=before: max(read_losses(folder / "losses"), default=0) >= before + 5)
                ring.ask_to_leave()
                assert ring.wait(30) == [LEFT] * size, ring.log(0)
                last = max(read_losses(folder / "losses"))
                assert before + 5 <= last < STEPS
                assert saved_work(checkpoints(folder)[-1]) == last * BATCH
            else:
                assert ring.wait() == [0] * size, ring.log(0)
    return read_losses(folder / "losses")


def test_interrupted_at_one_size_the_losses_are_the_same_bits(
    tmp_path: Path, uninterrupted: dict[int, dict[int, float]]
) -> None:
    assert train_in_turns(tmp_path, RING, [2, 2], "--sample-ms", 3) == uninterrupted[2]


def test_interrupted_and_resized_the_losses_differ_by_rounding_only(
    tmp_path: Path, uninterrupted: dict[int, dict[int, float]]
) -> None:
    losses = train_in_turns(tmp_path, RING, [2, 3, 1], "--sample-ms", 3)
    assert losses == pytest.approx(uninterrupted[1], rel=ROUNDING, abs=0)


def test_all_leave_at_the_same_step_though_one_alone_was_asked(tmp_path: Path) -> None:
    with run_ring(tmp_path, RING, *options(tmp_path, "--sample-ms", 3, steps=10_000), size=3) as ring:
        wait_until(lambda: len(read_losses(tmp_path / "losses")) >= 3)
        asked = time.monotonic()
        ring.processes[2].send_signal(signal.SIGTERM)
        assert ring.wait(30) == [LEFT] * 3
        assert time.monotonic() - asked < 5
    assert saved_work(checkpoints(tmp_path)[-1]) == max(read_losses(tmp_path / "losses")) * BATCH


def test_asked_to_leave_before_its_neighbours_come_a_rank_leaves(tmp_path: Path) -> None:
    with run_ring(tmp_path, RING, *options(tmp_path), size=3, ranks=range(1)) as ring:
        # It listens, so that it has joined.
        wait_until(lambda: is_listening(ring.processes[0].pid))
        ring.ask_to_leave()
        assert ring.wait(10) == [LEFT]


def is_listening(process: int) -> bool:
    """By /proc: a socket that listens (state 0A) among those that the process has open."""
    listening = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    }
    try:
        open_files = [str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir()]
    except FileNotFoundError:
        return False
    return any(name.startswith("socket:[") and name[8:-1] in listening for name in open_files)


def test_a_corrupt_newest_checkpoint_falls_back_to_the_one_before(
    tmp_path: Path, uninterrupted: dict[int, dict[int, float]]
) -> None:
    with run_ring(tmp_path, RING, *options(tmp_path, "--checkpoint-every", 10, steps=20), size=2) as ring:
        assert ring.wait() == [0, 0]
    older, newest = checkpoints(tmp_path)
    newest.write_bytes(newest.read_bytes()[:-1])
    (tmp_path / "losses").unlink()
    with run_ring(tmp_path, RING, *options(tmp_path), size=2, number=1) as ring:
        assert ring.wait() == [0, 0]
        assert f"checkpoint {newest.name} cannot be used (its checksum is wrong)" in ring.log(0)
    losses = read_losses(tmp_path / "losses")
    assert min(losses) == 11
    assert losses == {step: loss for step, loss in uninterrupted[2].items() if step > 10}
    assert not older.exists()
    assert not newest.exists()


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    with run_ring(tmp_path, RING, *options(tmp_path, steps=1), size=1) as ring:
        assert ring.wait() == [0]
    with run_ring(tmp_path, RING, *options(tmp_path, "--hidden", 8), size=2, number=1) as ring:
        assert ring.wait() == [1, 1]
        assert "Give the same options, or another checkpoint folder." in ring.log(0)
    assert len(checkpoints(tmp_path)) == 1


@pytest.mark.parametrize(
    ("blow", "told"), [(signal.SIGKILL, "the ring broke"), (signal.SIGSTOP, "no neighbour moved for 2 s")]
)
def test_a_rank_that_dies_or_hangs_ends_the_others_in_bounded_time(
    tmp_path: Path, blow: signal.Signals, told: str
) -> None:
    more = ["--sample-ms", 3, "--patience-seconds", 2, "--checkpoint-every", 2]
    with run_ring(tmp_path, RING, *options(tmp_path, *more, steps=10_000), size=3) as ring:
        wait_until(lambda: len(read_losses(tmp_path / "losses")) >= 5)
        struck = time.monotonic()
        ring.processes[1].send_signal(blow)
        for rank in (0, 2):
            assert ring.processes[rank].wait(20) == 1
        assert time.monotonic() - struck < 10
        assert told in ring.log(0) + ring.log(2)
    # What it had saved is there for the next ring.
    with run_ring(tmp_path, RING, *options(tmp_path, steps=1), size=1, number=1) as ring:
        assert ring.wait() == [0]
        assert "cannot be used" not in ring.log(0)


def test_a_neighbour_that_never_comes_is_not_waited_for_without_end(tmp_path: Path) -> None:
    more = ["--patience-seconds", 1]
    with run_ring(tmp_path, RING, *options(tmp_path, *more), size=3, ranks=range(2)) as ring:
        assert ring.wait(30) == [1, 1]
        assert "the neighbours did not come within 1 s" in ring.log(0)


def test_training_goes_on_while_the_service_is_away_and_is_heard_when_it_is_back(tmp_path: Path) -> None:
    words: queue.Queue[Word] = queue.Queue()
    secret, key = b"a secret of tests, 32 bytes long", RingKey("job", 4)

    def open_box() -> Mailbox:
        box = Mailbox(secret, words.put, tmp_path / "mailbox")
        box.open()
        return box

    def heard(kind: Kind, above: float = -1) -> Word:
        while True:
            word = words.get(timeout=60)
            if word.kind is kind and word.rank == 0 and (word.work is None or word.work > above):
                return word

    box = open_box()
    more = ["--sample-ms", 2, "--checkpoint-every", 20]
    settings = options(tmp_path, *more, steps=300)
    with run_ring(tmp_path, RING, *settings, size=2, number=4, env=box.env_for(key)) as ring:
        assert heard(Kind.HELLO).key == key
        assert heard(Kind.RESUMED).work == 0
        assert heard(Kind.CHECKPOINT).work == 20 * BATCH
        first = heard(Kind.PROGRESS, above=0)
        assert first.step is not None
        assert first.work == first.step * BATCH
        assert first.step_seconds is not None
        assert 0.014 <= first.step_seconds < 1
        box.close()
        away_at = max(read_losses(tmp_path / "losses"))
        wait_until(lambda: max(read_losses(tmp_path / "losses")) > away_at + 20)
        while not words.empty():
            words.get()
        box = open_box()
        assert heard(Kind.HELLO).key == key
        heard(Kind.PROGRESS, above=away_at * BATCH)  # after what it told last, which may be older
        assert heard(Kind.DONE).work == 300 * BATCH
        assert ring.wait() == [0, 0]
        assert box.grievances == {}
        box.close()


def load_example(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("size", "length"), [(2, 2), (2, 400_000), (3, 300_000), (5, 5), (5, 100_000)])
def test_each_rank_sends_what_the_paper_says_and_all_have_the_same_sum(size: int, length: int) -> None:
    example = load_example(RING)
    vectors = np.random.default_rng(0).standard_normal((size, length))
    total = vectors.sum(axis=0)
    usual = signal.getsignal(signal.SIGTERM)
    workers = [join(environment) for environment in ring_environments(size)]
    signal.signal(signal.SIGTERM, usual)
    sent: dict[int, int] = {}

    def reduce(rank: int) -> None:
        ring = example.Ring(workers[rank], 20.0)
        ring.all_reduce(vectors[rank])
        sent[rank] = ring.sent_bytes
        ring.close()

    threads = [threading.Thread(target=reduce, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    d = length * vectors.itemsize
    assert sent == dict.fromkeys(range(size), 2 * d * (size - 1) // size)
    assert np.allclose(vectors[0], total, rtol=1e-12, atol=1e-12)
    assert all(np.array_equal(vectors[0], vector) for vector in vectors)


def test_torch_interrupted_and_resized_gives_the_same_losses(tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    with run_ring(alone, TORCH, *options(alone), size=1) as ring:
        assert ring.wait() == [0], ring.log(0)
    turns = tmp_path / "turns"
    turns.mkdir()
    losses = train_in_turns(turns, TORCH, [2, 1], "--sample-ms", 3)
    assert losses == pytest.approx(read_losses(alone / "losses"), rel=ROUNDING, abs=0)


def test_torch_ends_in_bounded_time_when_a_rank_dies(tmp_path: Path) -> None:
    more = ["--sample-ms", 3, "--patience-seconds", 10]
    with run_ring(tmp_path, TORCH, *options(tmp_path, *more, steps=10_000), size=2) as ring:
        wait_until(lambda: len(read_losses(tmp_path / "losses")) >= 3)
        ring.processes[1].kill()
        assert ring.processes[0].wait(20) == 1


def test_without_torch_the_example_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError")
    path = f"{tmp_path}:{':'.join(entry for entry in sys.path if entry)}"
    with run_ring(tmp_path, TORCH, size=1, env={"PYTHONPATH": path}) as ring:
        assert ring.wait() == [1]
        assert "Install it: pip install torch" in ring.log(0)


def test_the_program_on_the_page_leaves_when_asked_and_goes_on(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs/reference/worker.md").read_text()
    program = page.split("<!-- file: train.py -->\n```python\n")[1].split("```")[0]
    slowly = program.replace("    step += 1\n", "    step += 1\n    import time; time.sleep(0.05)\n")
    (tmp_path / "train.py").write_text(slowly)
    with run_ring(tmp_path, tmp_path / "train.py", size=1) as ring:
        wait_until(lambda: len(checkpoints(tmp_path)) > 0)
        ring.ask_to_leave()
        assert ring.wait() == [LEFT]
    assert 20 < saved_work(checkpoints(tmp_path)[-1]) < 100
    with run_ring(tmp_path, tmp_path / "train.py", size=1, number=1) as ring:
        assert ring.wait() == [0]
        assert ring.log(0) == "100 steps\n"
    assert saved_work(checkpoints(tmp_path)[-1]) == 100
