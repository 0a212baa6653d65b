"""`gadget serve`: the live scheduler."""

import logging
import shlex
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gadget.api.home import find_home
from gadget.backends.local import Network
from gadget.cli.cluster_option import read_cluster_option
from gadget.cli.console import remarks
from gadget.cli.decide import PolicyOption, SeedOption
from gadget.cli.engines import (
    AddressOption,
    Engine,
    EngineChoice,
    EngineOption,
    ReportOption,
    SharedOption,
    build_engine,
    complete,
    find_mailbox,
    is_loopback,
)
from gadget.cli.option_groups import spread_groups
from gadget.cli.ray_engine import RaySaid
from gadget.cli.slurm_engine import SlurmSaid
from gadget.errors import BadOption
from gadget.live.view import Mode
from gadget.policies.registry import DEFAULT_POLICY

if TYPE_CHECKING:
    from gadget.cli.serving import Running

HomeOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the service: journal, tokens, logs, checkpoints. Default: $GADGET_HOME or ~/.gadget."
    ),
]
NetworkOption = Annotated[
    Network,
    typer.Option(
        help="How the local engine joins its servers: as namespaces with links as wide as the cluster has "
        "them (needs root), or as addresses on the loopback device."
    ),
]


def serve(
    *,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="The servers: a file or a shape, as in gadget generate. Default: those of the last start."
        ),
    ] = None,
    engine: EngineOption = None,
    address: AddressOption = None,
    report: ReportOption = None,
    shared: SharedOption = None,
    ray: RaySaid,
    slurm: SlurmSaid,
    home: HomeOption = None,
    policy: PolicyOption = DEFAULT_POLICY,
    seed: SeedOption = 0,
    slot_seconds: Annotated[float, typer.Option(help="A decision is taken at least this often.")] = 30.0,
    spacing_seconds: Annotated[
        float, typer.Option(help="And not more often than this, whatever arrives or breaks.")
    ] = 2.0,
    decision_seconds: Annotated[
        float, typer.Option(help="How long the solver may take; after that the rings stay as they are.")
    ] = 10.0,
    mode: Annotated[
        Mode, typer.Option(help="enforce carries decisions out; observe takes them and touches nothing.")
    ] = Mode.ENFORCE,
    network: NetworkOption = Network.AUTO,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 7077,
    stop_rings: Annotated[
        bool,
        typer.Option(
            "--stop-rings", help="Stop all rings, with checkpoints, when the service ends; else they go on."
        ),
    ] = False,
) -> None:
    """Run the live scheduler: decide slot after slot, and make the engine follow.

    It goes on where it was when it was last stopped or killed: rings that still run are adopted.

    Example:  gadget serve --cluster cluster.yaml --slot-seconds 30
    """
    # What serves takes a second to load, and no other command needs it.
    from gadget.cli.serving import Place, running_service  # noqa: PLC0415
    from gadget.live.settings import Settings  # noqa: PLC0415

    if stop_rings and mode is Mode.OBSERVE:
        raise BadOption("--stop-rings: who observes touches no ring. Leave it out, or choose --mode enforce.")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = Settings(
        slot_seconds=slot_seconds,
        spacing_seconds=min(spacing_seconds, slot_seconds),
        decision_seconds=decision_seconds,
        policy=policy,
        seed=seed,
        mode=mode,
    )
    said = EngineChoice(
        home=home or find_home(),
        cluster=None if cluster is None else read_cluster_option(cluster),
        network=network,
        observe=mode is Mode.OBSERVE,
        address=address,
        shared=shared,
        ray=ray,
        slurm=slurm,
    )
    choice = complete(said, engine)
    place = Place(
        home=choice.home,
        host=host,
        port=port,
        keep_rings=not stop_rings,
        mailbox=find_mailbox(choice, report),
    )
    build = build_engine(choice)
    if choice.engine is not Engine.LOCAL:
        where = f" at {choice.address or 'auto'}" if choice.engine is Engine.RAY else ""
        remarks().print(f"looking for {choice.engine.capitalize()}{where} …")
    if place.mailbox is not None and is_loopback(place.mailbox[0]):
        remarks().print(
            f"workers are told to report to {place.mailbox[0]}, where those on other machines reach nobody; "
            "--report names another address of this one"
        )
    with running_service(place, settings, build) as running:
        tell_running(running)
        wait_for_signal()
    remarks().print("stopped" if stop_rings else "stopped; rings go on, and the next start finds them")


def tell_running(running: "Running") -> None:
    """Where it listens, and how to ask it."""
    console = remarks()
    console.print(Text(f"listening on {running.address}; home {running.home}"), soft_wrap=True)
    # Commands look for it in the usual place.
    where = "" if running.home == find_home().absolute() else f"GADGET_HOME={shlex.quote(str(running.home))} "
    console.print(Text(f"ask it with:  {where}gadget queue (or submit, job, events, watch); Ctrl-C ends it"))


def wait_for_signal() -> None:
    """Wait until Ctrl-C or SIGTERM."""
    asked = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup wants it to go on
            signal.signal(number, lambda *_: asked.set())
    try:
        while not asked.wait(0.5):
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(spread_groups(serve))
