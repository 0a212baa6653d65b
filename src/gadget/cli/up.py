"""`gadget up`: the service on embedded defaults, with six jobs that train."""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gadget.api.home import find_home
from gadget.backends.local import Network
from gadget.cli.console import output, remarks
from gadget.cli.demo import SLOT_SECONDS, build_demo_cluster, build_demo_jobs
from gadget.cli.engines import ENGINE_FOLDER, EngineChoice, build_local
from gadget.cli.serve import NetworkOption, tell_running
from gadget.cli.service_option import connect
from gadget.cli.watch import show_live
from gadget.errors import BadOption, GadgetError

if TYPE_CHECKING:
    from gadget.live.runtime import LiveService
    from gadget.live.view import View

_OURS = ("journal.db", "journal.db-wal", "journal.db-shm", ENGINE_FOLDER)
_MARK = "demo"
"""A file in the folder of a demo, which tells it from that of a service."""


def up(
    *,
    home: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the demo. Default: demo in $GADGET_HOME, or in ~/.gadget.", show_default=False
        ),
    ] = None,
    network: NetworkOption = Network.AUTO,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew, without what an earlier start left.")
    ] = False,
    length: Annotated[float, typer.Option(min=0.01, max=1000, help="How long the trainings are.")] = 1.0,
    until_done: Annotated[
        bool | None,
        typer.Option(
            "--until-done/--stay",
            help="End when the six jobs have ended. Default: stay on a terminal, end elsewhere.",
        ),
    ] = None,
) -> None:
    """Start the live scheduler on this machine with a small cluster and six jobs that really train.

    Each worker is a process; as root on Linux each server is a network namespace behind a link with a rate.
    Ctrl-C stops everything in good order; the next start goes on where this one stopped.

    Example:  gadget up
    """
    # What serves takes a second to load, and no other command needs it.
    from gadget.cli.serving import Place, running_service  # noqa: PLC0415
    from gadget.live.settings import Settings  # noqa: PLC0415

    place = Place(home=(home or find_home() / "demo"), port=port, keep_rings=False)
    if fresh:
        _forget(place.home)
    settings = Settings(slot_seconds=SLOT_SECONDS, spacing_seconds=2.0)
    ends = not sys.stdout.isatty() if until_done is None else until_done
    choice = EngineChoice(home=place.home, cluster=build_demo_cluster(), network=network)
    with running_service(place, settings, build_local(choice)) as running:
        (place.home / _MARK).touch()
        tell_running(running)
        with _submitting(running.service, length) as names:
            try:
                if sys.stdout.isatty():
                    with connect(running.address, running.token) as client:
                        over = partial(_is_over, running.service, names)
                        show_live(client, every=1.0, is_over=over if ends else lambda: False)
                else:
                    _show(running.service, names, ends=ends)
            except (KeyboardInterrupt, SystemExit):
                remarks().print("stopping: every worker writes a checkpoint and leaves …")
    remarks().print(
        Text(f"stopped; gadget up goes on from here, gadget up --fresh begins anew ({place.home})")
    )


@contextmanager
def _submitting(service: "LiveService", length: float) -> Iterator[tuple[str, ...]]:
    """Submit the demo's jobs as time goes by, those that an earlier start has not."""
    jobs = build_demo_jobs(length)
    over = threading.Event()

    def submit() -> None:
        began = time.monotonic()
        for delay, job in jobs:
            state = service.view().state
            if job.name in state.active or job.name in state.ended:
                continue
            if over.wait(max(began + delay - time.monotonic(), 0.0)):
                return
            try:
                service.submit((job,))
            except GadgetError as error:
                remarks().print(Text(f"{job.name}: {error}"))

    thread = threading.Thread(target=submit, name="demo", daemon=True)
    thread.start()
    try:
        yield tuple(job.name for _, job in jobs)
    finally:
        over.set()
        thread.join(70)


def _show(service: "LiveService", names: tuple[str, ...], *, ends: bool) -> None:
    """Lines of what happens, until all jobs have ended."""
    console, last = output(), ""
    while True:
        view = service.view()
        line = _tell(view, names)
        if line != last:
            console.print(Text(line), soft_wrap=True)
            last = line
        if ends and _is_over(service, names):
            return
        time.sleep(0.5)


def _is_over(service: "LiveService", names: tuple[str, ...]) -> bool:
    ended = service.view().state.ended
    return all(name in ended for name in names)


def _tell(view: "View", names: tuple[str, ...]) -> str:
    parts = [f"slot {view.state.slot}"]
    for name in names:
        if name in view.state.ended:
            parts.append(f"{name} {view.state.ended[name].ending}")
        elif name in view.state.active:
            record = view.state.active[name]
            shown = view.rings.get(name)
            done = max(record.active.work_done or 0.0, 0.0 if shown is None else shown.work or 0.0)
            part = f"{100 * done / (record.job.work or 1):.0f}%"
            ring = view.state.running.ring_of.get(name)
            size = "waits" if ring is None else f"×{ring.size}"
            parts.append(f"{name} {size} {part}")
    return ", ".join(parts)


def _forget(home: Path) -> None:
    """Remove what an earlier demo left, its processes first; one that runs, or is no demo, is left alone."""
    from gadget.backends.local_ending import clear_folder  # noqa: PLC0415 - only here
    from gadget.store.lock import ProcessLock  # noqa: PLC0415 - only here

    if not home.exists() or not any(home.iterdir()):
        return
    if not (home / _MARK).exists():
        raise BadOption(f"{home}: is no folder of a demo. Choose another one with --home.")
    lock = ProcessLock(home / "journal.db")
    try:
        clear_folder(home / ENGINE_FOLDER)
        for name in _OURS:
            target = home / name
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
    finally:
        lock.release()


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(up)
