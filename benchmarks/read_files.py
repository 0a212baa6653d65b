"""Reading 1,000 servers and 10,000 jobs: our reader against json.load on the same file."""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gadget.model.builders import build_leaf_spine
from gadget.model.codec import format_json, read_scenario, write
from gadget.model.snapshot import Scenario
from gadget.workloads.paper import build_paper_jobs

ROUNDS = 15
# What the JSON reader must keep to, as a multiple of json.load.
LIMIT = 3.0


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def load(path: Path) -> object:
    with path.open() as file:
        return json.load(file)


def main() -> int:
    rng = np.random.default_rng(0)
    scenario = Scenario(build_leaf_spine(40, 1, 25), build_paper_jobs(rng, np.arange(10_000) // 50), 200)
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        indented, compact, yaml = (Path(folder) / name for name in ("a.json", "b.json", "c.yaml"))
        write(indented, scenario)
        compact.write_text(format_json(scenario, indent=None))
        write(yaml, scenario)
        print(f"{'file':10} {'MB':>5} {'json.load':>10} {'ours':>10} {'ratio':>6}")
        # Medians of rounds that alternate, so that a busy machine slows both.
        for path in (indented, compact):
            pairs = [
                (seconds(lambda p=path: load(p)), seconds(lambda p=path: read_scenario(p)))
                for _ in range(ROUNDS)
            ]
            theirs, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(our / their for their, our in pairs)
            worst = max(worst, ratio)
            print(f"{path.name:10} {path.stat().st_size / 1e6:5.1f} {theirs:9.3f}s {ours:9.3f}s {ratio:6.2f}")
        ours = seconds(lambda: read_scenario(yaml))
        print(f"{yaml.name:10} {yaml.stat().st_size / 1e6:5.1f} {'':10} {ours:9.3f}s")
    print(f"JSON must stay below {LIMIT} × json.load: {'met' if worst <= LIMIT else 'MISSED'} ({worst:.2f})")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
