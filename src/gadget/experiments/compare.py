"""A grid of runs, scenarios × policies × seeds, in one folder that can be gone on with.

Every scenario has a folder of its own there, just as a simulation leaves it. grid.json tells what the grid
is; all numbers of the comparison are read from the scenarios' folders.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gadget.errors import BadFile, BadInput, BadOption
from gadget.files import STANDARD_STREAM, read_bytes, write_whole
from gadget.model.codec import read_scenario
from gadget.model.snapshot import Scenario
from gadget.policies.registry import build_policies
from gadget.simulate.folder import ResultFolder, Setting, clear_folder, find_part, lock_folder, open_folder
from gadget.simulate.network import NetworkMode
from gadget.simulate.result import RunResult, SimulationResult
from gadget.simulate.simulation import build_tasks, conclude, cut, slow_restarts
from gadget.simulate.sweep import OnProgress, Progress, Task

VERSION = 1
GRID, NUMBERS, TABLE, REPORT = "grid.json", "comparison.json", "comparison.csv", "report.html"
_OWN = (GRID, NUMBERS, TABLE, REPORT)

BuildPage = Callable[[SimulationResult, str], str]
"""The page of one scenario, by its results and its title."""


@dataclass(frozen=True)
class Named:
    """A scenario with the name of its folder."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Grid:
    """What is compared: every policy with every seed on every scenario."""

    scenarios: tuple[Named, ...]
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    network: NetworkMode = NetworkMode.RESERVED

    def setting_of(self, named: Named) -> Setting:
        """What is simulated on one scenario."""
        return Setting.of(named.scenario, self.policies, self.seeds, self.network)


def read_grid(
    paths: Sequence[Path],
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    slots: int | None = None,
    network: NetworkMode = NetworkMode.RESERVED,
    restart_seconds: float | None = None,
) -> Grid:
    """The grid of some scenario files; BadInput, before anything is run, for what cannot be one."""
    build_policies(policies)  # complains before anything is read
    names = [_name_of(path) for path in paths]
    for place, name in enumerate(names):
        if name in names[:place]:
            other = paths[names.index(name)]
            raise BadOption(
                f"{paths[place]}: is named {name!r}, as is {other}, and each scenario gets a folder of its "
                "name. Name each file once, or rename one."
            )
    read = [
        Named(name, slow_restarts(_cut(read_scenario(path), slots, path), restart_seconds))
        for name, path in zip(names, paths, strict=True)
    ]
    grid = Grid(tuple(read), tuple(policies), tuple(seeds), network)
    build_tasks(grid.scenarios[0].scenario, grid.policies, grid.seeds)  # complains of seeds
    return grid


class GridFolder:
    """The folder of a grid, held by this process, and the runs that are left to do."""

    def __init__(self, path: Path, grid: Grid, folders: Sequence[ResultFolder]) -> None:
        self.path = path
        self._grid = grid
        self._left = [
            (named, folder)
            for named, folder in zip(grid.scenarios, folders, strict=True)
            if not folder.is_complete
        ]
        self.tasks: list[Task] = []
        """All runs of every scenario that is not complete; what their part files know is replayed."""
        self._scenario_of: list[str] = []
        for named, folder in self._left:
            some = build_tasks(
                named.scenario,
                grid.policies,
                grid.seeds,
                network=grid.network,
                find_part=lambda place, seed, folder=folder: find_part(folder.path, place, seed),  # type: ignore[misc]
            )
            self.tasks += some
            self._scenario_of += [named.name] * len(some)

    @property
    def is_complete(self) -> bool:
        """True when no run is left to do."""
        return all(folder.is_complete for _, folder in self._left)

    def naming(self, tell: OnProgress) -> OnProgress:
        """Tell of progress with the scenario's name beside that of the policy."""

        def told(progress: Progress) -> None:
            tell(replace(progress, policy=f"{self._scenario_of[progress.task]}: {progress.policy}"))

        return told

    def write(self, runs: Sequence[RunResult], build_page: BuildPage) -> None:
        """Write the results of the tasks into the folders of their scenarios."""
        size = len(self._grid.policies) * len(self._grid.seeds)
        for place, (named, folder) in enumerate(self._left):
            result = conclude(named.scenario, runs[place * size : (place + 1) * size], self._grid.network)
            folder.write(result, build_page(result, named.name))


@contextmanager
def open_grid(path: Path, grid: Grid, *, resume: bool = False, force: bool = False) -> Iterator[GridFolder]:
    """A folder to compare into; BadOption if it holds something that must not be lost or gone on with."""
    with lock_folder(path), ExitStack() as stack:
        _prepare(path, grid, resume=resume, force=force)
        folders = [
            stack.enter_context(open_folder(path / named.name, grid.setting_of(named), resume=True))
            for named in grid.scenarios
        ]
        yield GridFolder(path, grid, folders)


def read_grid_file(path: Path) -> dict[str, Any]:
    """What grid.json in the folder tells."""
    try:
        kept = json.loads(read_bytes(path / GRID))
        told = kept["policies"], kept["seeds"], NetworkMode(kept["network"])
        if all(told) and kept["version"] == VERSION and all(map(_is_plain, kept["scenarios"])):
            return dict(kept)
    except (ValueError, TypeError, KeyError):
        pass
    raise BadFile(
        f"{path / GRID}: does not tell of a comparison that can be resumed. Start over with --force."
    )


def _prepare(path: Path, grid: Grid, *, resume: bool, force: bool) -> None:
    wanted = {
        "version": VERSION,
        "scenarios": {named.name: grid.setting_of(named).scenario for named in grid.scenarios},
        "policies": list(grid.policies),
        "seeds": list(grid.seeds),
        "network": grid.network.value,
    }
    if not (path / GRID).exists():
        other = sorted(one.name for one in path.iterdir())
        if other:
            raise BadOption(
                f"{path}: holds something else ({other[0]}), and no comparison. Choose an empty folder."
            )
    elif force:
        _clear(path, [named.name for named in grid.scenarios])
    elif not resume:
        raise BadOption(
            f"{path}: holds a comparison already. Go on with it by --resume, replace it by --force, or "
            "choose another folder."
        )
    else:
        _check_same(path, wanted)
        return
    write_whole(path / GRID, (json.dumps(wanted, ensure_ascii=False, indent=2) + "\n").encode())


def _check_same(path: Path, wanted: dict[str, Any]) -> None:
    kept = read_grid_file(path)
    for key, what in (
        ("policies", "policies"),
        ("seeds", "seeds"),
        ("network", "network"),
        ("scenarios", "scenarios (or slots or restarts of them)"),
    ):
        if kept.get(key) != wanted[key]:
            found = kept.get(key) or ["none"]
            shown = found if isinstance(found, str) else ", ".join(map(str, found))
            raise BadOption(
                f"{path}: holds a comparison of other {what}: {shown}. Resume with the same, or choose "
                "another folder."
            )


def _clear(path: Path, names: Sequence[str]) -> None:
    """Remove what a comparison leaves, and nothing else."""
    try:
        kept = list(read_grid_file(path)["scenarios"])
    except BadFile:
        kept = []
    for name in {*kept, *names}:
        folder = path / name
        if folder.is_dir():
            clear_folder(folder)
            if not any(folder.iterdir()):
                folder.rmdir()
    for own in _OWN:
        (path / own).unlink(missing_ok=True)


def _name_of(path: Path) -> str:
    if path == STANDARD_STREAM:
        raise BadOption("-: a comparison reads scenarios from files. Name one.")
    name = path.stem
    if not _is_plain(name) or name in _OWN:
        raise BadOption(f"{path}: its folder cannot be named {name!r}. Rename the file.")
    return name


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _cut(scenario: Scenario, slots: int | None, path: Path) -> Scenario:
    try:
        return cut(scenario, slots)
    except BadInput as error:
        raise BadOption(f"{path}: {error}") from None
