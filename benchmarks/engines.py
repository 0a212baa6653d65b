"""Engines side by side: what a start, a resize and a crash cost, and what placement does to a step.

Ray and Slurm run as several real nodes on this machine, each in a network namespace; the local engine too.
`--quick` takes fewer rounds; `--only ray` one engine. As root on Linux with iproute2, Ray
(`scripts/test` installs it) and Slurm (`scripts/setup-slurm`); an engine that cannot start here is named.
"""

import argparse
import importlib.util
import statistics
from collections.abc import Iterator, Sequence
from itertools import chain

from benchmarks.parts import engine_placements as placements
from benchmarks.parts import engine_resizes as resizes
from benchmarks.parts.engine_stage import ENGINES, GBPS, Placements, Stage, staged
from benchmarks.parts.table import Row, print_head, print_row
from tests.engines_slurm import why_no_slurm

from gadget.backends.netns import why_no_namespaces

PROGRAMS = {"NumPy ring": ("train_ring.py", 3), "PyTorch DDP": ("train_torch.py", 1)}
BATCHES = ((1, False), (2, False), (3, False), (4, True), (5, True), (6, True))
# What the noise of a shared machine may add where both place alike.
SLOWEST = 1.15


def why_not(engine: str) -> str:
    """Why the engine cannot be started here; empty when it can."""
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        return "Ray is not installed"
    return why_no_slurm() if engine == "slurm" else ""


def measure_changes(stage: Stage, *, quick: bool) -> Iterator[Row]:
    """Starts, resizes and a crash, of a light program and of PyTorch."""
    for name, (script, rounds) in PROGRAMS.items():
        told = resizes.measure(stage, script, 1 if quick else rounds)
        case = f"{stage.name}, {name}"
        yield Row(f"{case}: decision to first step, start", "", f"{told.start:.2f} s")
        for what, seconds in (
            ("decision to first step, resize", [change.seconds for change in told.resizes]),
            ("without training, resize", [change.pause for change in told.resizes]),
        ):
            least, middle, most = min(seconds), statistics.median(seconds), max(seconds)
            yield Row(f"{case}: {what}", "", f"{middle:.2f} s ({least:.2f} … {most:.2f}, n = {len(seconds)})")
        lost = [change.lost for change in told.resizes]
        yield Row(f"{case}: steps lost in a resize", "0", f"{max(lost)} at most", max(lost) == 0)
        yield Row(
            f"{case}: steps lost when a worker is killed",
            f"≤ {resizes.CHECKPOINT_EVERY}, those since its checkpoint",
            f"{told.crash.lost}; {told.crash.seconds:.2f} s to the next step",
            told.crash.lost <= resizes.CHECKPOINT_EVERY,
        )


def measure_placements(stage: Stage, *, quick: bool) -> Iterator[Row]:
    """The same jobs, placed by each way of the engine and by us, all running at once."""
    for how, default in stage.defaults.items():
        ratios = []
        for seed, some_leave in BATCHES[::2] if quick else BATCHES:
            changes = placements.draw_changes(seed, some_leave=some_leave)
            theirs = default(changes)
            ours = placements.place(stage.cluster, {job: len(workers) for job, workers in theirs.items()})
            seconds = measure_both(stage, theirs, ours, quick=quick)
            edges = [placements.find_fullest(one) for one in (theirs, ours)]
            ratios.append(seconds[0] / seconds[1])
            before = "after some left" if some_leave else "as they came"
            yield Row(
                f"{stage.name}, {how}: {len(theirs)} jobs, {before}",
                f"≤ {SLOWEST} ×",
                f"{seconds[0]:.2f} s theirs, {seconds[1]:.2f} s ours: {ratios[-1]:.2f} × as fast; "
                f"{edges[0]} and {edges[1]} edges on the fullest link",
                1 / ratios[-1] <= SLOWEST,
            )
        yield Row(
            f"{stage.name}, {how}: geometric mean", "", f"{statistics.geometric_mean(ratios):.2f} × as fast"
        )


def measure_both(stage: Stage, *both: Placements, quick: bool) -> list[float]:
    """Mean seconds of an all-reduce for each, in turn and in turn the other way: what drifts hits both."""
    found: list[list[float]] = [[], []]
    for place in (0, 1) if quick else (0, 1, 1, 0):
        found[place].append(statistics.mean(placements.run(stage, both[place]).values()))
    return list(map(statistics.mean, found))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", choices=ENGINES, action="append", help="this engine; may be repeated")
    parser.add_argument("--no-resizes", action="store_true", help="placements only")
    given = parser.parse_args(words)
    if why := why_no_namespaces():
        print(f"Not measured: network namespaces cannot be made here ({why}).")
        return 0
    size = placements.BYTES / 1e6
    print(f"Four servers in two racks, links of {GBPS * 1000:g} Mbit/s; all-reduces of {size:g} MB\n")
    print_head("case", "must be", "measured", "")
    met = True
    for engine in given.only or ENGINES:
        if why := why_not(engine):
            print_row(Row(engine, "", f"not measured: {why}"))
            continue
        with staged(engine) as stage:
            changes = iter(()) if given.no_resizes else measure_changes(stage, quick=given.quick)
            for row in chain(changes, measure_placements(stage, quick=given.quick)):
                print_row(row)
                met = met and row.is_met is not False
    claim = f"No step is lost in a resize, and no placement of ours takes more than {SLOWEST} times as long"
    print(f"\n{claim}: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
