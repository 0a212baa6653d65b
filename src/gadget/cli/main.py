"""The `gadget` command."""

import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated, TextIO

import typer
from rich.text import Text

from gadget.cli import (
    compare,
    decide,
    fit,
    generate,
    inspect,
    live_events,
    live_jobs,
    live_nodes,
    reproduce,
    serve,
    simulate,
    submit,
    topology,
    trace,
    trace_run,
    up,
    watch,
)
from gadget.cli.console import remarks
from gadget.errors import BadInput, GadgetError

app = typer.Typer(
    name="gadget",
    help="Schedules elastic ring-all-reduce training jobs on GPU clusters.",
    epilog="Example:  gadget generate paper --jobs 60 -o scenario.yaml && gadget show scenario.yaml",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(generate.app)
decide.add_to(app)
simulate.add_to(app)
compare.add_to(app)
inspect.add_to(app)
reproduce.add_to(app)
app.add_typer(topology.app)
fit.add_to(app)
trace_run.add_to(trace.app)
trace.add_to(app)
serve.add_to(app)
up.add_to(app)
submit.add_to(app)
live_jobs.add_to(app)
live_nodes.add_to(app)
live_events.add_to(app)
watch.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gadget {version('gadget-scheduler')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Schedules elastic ring-all-reduce training jobs on GPU clusters."""


def main() -> None:
    """Run the command line; bad input ends it with one message and exit code 2."""
    # As an exception, so that whatever is half done is cleaned up on the way out.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP:  # as nohup wants it
            signal.signal(number, lambda caught, _: sys.exit(128 + caught))
    # A stream that the caller closed is None; what goes there is not wanted.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere())
    try:
        try:
            app()
        except GadgetError as error:
            remarks().print(Text(f"error: {error}"), soft_wrap=True)
            sys.exit(2 if isinstance(error, BadInput) else 1)
        finally:
            sys.stdout.flush()
    except (SystemExit, BrokenPipeError) as ended:
        # Whoever read has seen enough; typer and rich make an exit of their own of it.
        if not isinstance(ended, BrokenPipeError) and not isinstance(ended.__context__, BrokenPipeError):
            raise
        sys.stdout = _nowhere()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        if error.filename is not None:
            raise
        sys.stdout = _nowhere()
        remarks().print(Text(f"error: standard output cannot be written ({error.strerror}). Give it room."))
        sys.exit(2)


def _nowhere() -> TextIO:
    return open(os.devnull, "w")  # noqa: PTH123 - it stays open to the end
