"""The numbers of a comparison, read from the files of its scenarios, with confidence intervals."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadFile
from gadget.experiments.compare import NUMBERS, TABLE, VERSION, read_grid_file
from gadget.files import read_bytes, write_whole
from gadget.simulate.folder import JOBS, SUMMARY
from gadget.simulate.network import NetworkMode

LEVEL = 0.95
METHOD = "Student's t over the seeds of each policy; over all scenarios: over the scenarios' means"
EVERYWHERE = "*"
"""Stands for all scenarios in the table."""
_NOT_COMPARED = frozenset(("slots", "spread", "runs"))
_WORST = "certified_ratio"
"""What is no mean over runs, but that of the worst."""

Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval; without one where there are too few numbers."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Numbers behind it."""


Means = Sequence[float | None]
Judge = Callable[[Means, Means], Interval]
"""Of a policy's means by scenario, beside those of the first policy."""


@dataclass(frozen=True)
class ScenarioNumbers:
    """One scenario: the numbers of every policy, by name."""

    name: str
    slots: int
    servers: int
    complete: bool
    policies: Mapping[str, Mapping[str, Interval]]

    @property
    def file(self) -> str:
        """Where they stand, seen from the folder of the comparison."""
        return f"{self.name}/{SUMMARY}"


@dataclass(frozen=True)
class Comparison:
    """All scenarios, and every policy over all of them."""

    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    scenarios: tuple[ScenarioNumbers, ...]
    network: NetworkMode = NetworkMode.RESERVED

    @property
    def complete(self) -> bool:
        """True when every run covers its whole horizon."""
        return all(one.complete for one in self.scenarios)

    def overall(self) -> dict[str, dict[str, Interval]]:
        """By policy and name: the mean over the scenarios of what each scenario's mean is."""
        return self._over_scenarios(lambda numbers, _: estimate(numbers))

    def relative(self) -> dict[str, dict[str, Interval]]:
        """By policy and name: the geometric mean over the scenarios of the ratio to the first policy.

        Scenarios differ in size, and ratios do not. Only of numbers that are above 0 everywhere.
        """
        return self._over_scenarios(_estimate_ratio)

    def _over_scenarios(self, judge: Judge) -> dict[str, dict[str, Interval]]:
        names = dict.fromkeys(
            name for one in self.scenarios for policy in one.policies.values() for name in policy
        )
        table: dict[str, dict[str, Interval]] = {policy: {} for policy in self.policies}
        for name in names:
            base = self._means(self.policies[0], name)
            for policy in self.policies:
                table[policy][name] = judge(self._means(policy, name), base)
        return table

    def _means(self, policy: str, name: str) -> list[float | None]:
        return [
            one.policies[policy][name].mean if name in one.policies[policy] else None
            for one in self.scenarios
        ]


def estimate(numbers: Sequence[float | None]) -> Interval:
    """The mean of independent numbers and where the true one lies, by Student's t.

    What not every run or scenario has is not averaged: the rest would be a choice of the lucky ones.
    """
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or not known:
        return Interval(None, None, None, len(known))
    mean = known[0] if len(set(known)) == 1 else fmean(known)
    if len(known) == 1:
        return Interval(mean, None, None, 1)
    half = _student(len(known) - 1) * stdev(known) / sqrt(len(known))
    return Interval(mean, mean - half, mean + half, len(known))


def _student(freedom: int) -> float:
    """How many standard errors from the mean the limits lie."""
    from scipy.special import stdtrit  # noqa: PLC0415 - takes a moment to load, which no other command needs

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def read_comparison(path: Path) -> Comparison:
    """The comparison whose scenarios' results stand in the folder."""
    kept = read_grid_file(path)
    scenarios = tuple(_read_scenario(path, name) for name in kept["scenarios"])
    network = NetworkMode(kept["network"])
    return Comparison(tuple(kept["policies"]), tuple(kept["seeds"]), scenarios, network)


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write comparison.json and comparison.csv."""
    rows = list(_rows(comparison))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("scenario", "policy", "metric", "mean", "ci_low", "ci_high", "n", "file"))
    writer.writerows(rows)
    write_whole(path / TABLE, text.getvalue().encode())
    document = {
        "version": VERSION,
        "complete": comparison.complete,
        "confidence": LEVEL,
        "method": METHOD,
        "policies": list(comparison.policies),
        "seeds": list(comparison.seeds),
        "network": comparison.network.value,
        "scenarios": {one.name: _scenario_doc(one) for one in comparison.scenarios},
    }
    if len(comparison.scenarios) > 1:
        document["overall"] = _table_doc(comparison.overall())
        document["relative_to_first_policy"] = _table_doc(comparison.relative())
    content = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_whole(path / NUMBERS, content.encode())


@dataclass(frozen=True)
class Completions:
    """Completion times of one run, in order, and the number of jobs that arrived in it."""

    slots: NDArray[np.int64]
    jobs: int


def read_completions(path: Path, name: str) -> dict[str, list[Completions]]:
    """For every policy the completion times of each of its runs on a scenario, from its jobs.csv."""
    file = path / name / JOBS
    times: dict[str, dict[str, list[int]]] = {}
    counts: dict[tuple[str, str], int] = {}
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if missing := sorted({"policy", "seed", "completion_slots"} - set(rows.fieldnames or ())):
                raise ValueError(f"no column {missing[0]}")
            for row in rows:
                policy, seed, took = row["policy"], row["seed"], row["completion_slots"]
                counts[policy, seed] = counts.get((policy, seed), 0) + 1
                run = times.setdefault(policy, {}).setdefault(seed, [])
                if took:
                    run.append(int(took))
    except (OSError, ValueError) as error:
        raise BadFile(f"{file}: does not tell of jobs ({error}). Start over with --force.") from None
    return {
        policy: [
            Completions(np.sort(np.array(run, dtype=np.int64)), counts[policy, seed])
            for seed, run in runs.items()
        ]
        for policy, runs in times.items()
    }


def _read_scenario(path: Path, name: str) -> ScenarioNumbers:
    file = path / name / SUMMARY
    try:
        document = json.loads(read_bytes(file))
        policies = {label: _read_policy(policy) for label, policy in document["policies"].items()}
        return ScenarioNumbers(
            name, document["slots"], document["servers"], document["complete"] is True, policies
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadFile(f"{file}: is no summary of a simulation. Start over with --force.") from None


def _read_policy(document: dict[str, Any]) -> dict[str, Interval]:
    means, runs = _flatten(document), [_flatten(run) for run in document["runs"]]
    found: dict[str, Interval] = {}
    for name, mean in means.items():
        if name in _NOT_COMPARED:
            continue
        judged = estimate([run.get(name) for run in runs])
        found[name] = Interval(mean, None, None, judged.n) if name == _WORST else judged
    return found


def _flatten(document: Mapping[str, Any]) -> Row:
    """Numbers by name; those by resource are named as in the CSV files."""
    row: dict[str, float | None] = {}
    for name, content in document.items():
        if isinstance(content, dict):
            row.update({f"{name}_{key}": number for key, number in content.items() if name != "spread"})
        elif not isinstance(content, list):
            row[name] = content
    return row


def _rows(comparison: Comparison) -> Iterable[tuple[object, ...]]:
    for one in comparison.scenarios:
        for policy, numbers in one.policies.items():
            for name, found in numbers.items():
                yield one.name, policy, name, found.mean, found.low, found.high, found.n, one.file
    if len(comparison.scenarios) > 1:
        for policy, numbers in comparison.overall().items():
            for name, found in numbers.items():
                yield EVERYWHERE, policy, name, found.mean, found.low, found.high, found.n, NUMBERS


def _scenario_doc(one: ScenarioNumbers) -> dict[str, Any]:
    return {
        "complete": one.complete,
        "slots": one.slots,
        "servers": one.servers,
        "file": one.file,
        "policies": _table_doc(one.policies),
    }


def _table_doc(table: Mapping[str, Mapping[str, Interval]]) -> dict[str, Any]:
    return {
        policy: {
            name: {"mean": found.mean, "ci_low": found.low, "ci_high": found.high, "n": found.n}
            for name, found in numbers.items()
        }
        for policy, numbers in table.items()
    }


def _estimate_ratio(numbers: Sequence[float | None], base: Sequence[float | None]) -> Interval:
    pairs = list(zip(numbers, base, strict=True))
    ratios = [log(a / b) if a is not None and b is not None and a > 0 and b > 0 else None for a, b in pairs]
    found = estimate(ratios)
    bounds = (found.mean, found.low, found.high)
    mean, low, high = (None if one is None else exp(one) for one in bounds)
    return Interval(mean, low, high, found.n)
