"""Commands about the jobs of a running service: queue, why, job show, job cancel, job logs."""

import time
from typing import Annotated, Any

import typer

from gadget.cli.console import Shown, ShownOption, output, table
from gadget.cli.service_option import AddressOption, TokenOption, connect, plain, print_answer, print_json
from gadget.errors import printable

job_app = typer.Typer(
    name="job",
    help="Jobs of a running service: show, cancel, logs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(help="The job's name.", show_default=False)]

_FOLLOW_SECONDS = 1.0
_FOLLOWED_LINES = 1000


def queue(address: AddressOption = None, token: TokenOption = None, shown: ShownOption = Shown.TABLE) -> None:
    """Show the jobs that wait, in order of arrival, each with one reason and the evidence for it.

    Example:  gadget queue
    """
    with connect(address, token) as client:
        found = client.get("/queue")
    title = f"{found['total']} waiting" if found["total"] else "nobody waits"
    made = table(title, "#", "job", "#workers", "#slots", "#failures", "reason", "detail")
    made.columns[5].no_wrap = True
    for one in found["jobs"]:
        made.add_row(
            str(one["position"]),
            plain(one["name"]),
            _range(one["workers_min"], one["workers_max"]),
            str(one["waited_slots"]),
            str(one["failures"]),
            plain(one["reason"]),
            plain(one["detail"]),
        )
    print_answer(found, shown, made)


def why(
    name: NameArgument,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Tell why a job waits, and what would let it run.

    Example:  gadget why bert-2
    """
    with connect(address, token) as client:
        found = client.get(_path(name))
    waiting = found["waiting"]
    if shown is Shown.JSON:
        print_json({"name": name, "status": found["status"], "waiting": waiting})
        return
    console = output()
    if waiting is None:
        ring = found["ring"] or found["decided_ring"]
        servers = "" if ring is None else f" with {len(ring['workers'])} workers on {_stops(ring['workers'])}"
        console.print(plain(f"{name} does not wait: it is {found['status']}{servers}"))
        return
    console.print(plain(f"{name} waits: {waiting['reason']}, number {waiting['position']} by arrival"))
    for part in waiting["detail"].split("; "):
        console.print(plain(f"  {part}"))
    console.print(plain(f"what would let it run: {waiting['advice']}"))


@job_app.command()
def show(
    name: NameArgument,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Show all about a job: the ring that is really there, its work and speed, why it waits, its history.

    Example:  gadget job show resnet-7
    """
    with connect(address, token) as client:
        found = client.get(_path(name))
    made = table(printable(name), "", "")
    for key, value in _rows(found):
        made.add_row(key, plain(value))
    print_answer(found, shown, made)


@job_app.command()
def cancel(
    name: NameArgument,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Take a job out, waiting or running. It cannot be brought back; submit it anew under another name.

    Example:  gadget job cancel resnet-7
    """
    with connect(address, token) as client:
        found = client.delete(_path(name))
    if shown is Shown.JSON:
        print_json(found)
    else:
        output().print(plain(f"{found['done']}: {name}"))


@job_app.command()
def logs(
    name: NameArgument,
    *,
    rank: Annotated[int, typer.Option(min=0, help="Whose log.")] = 0,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, max=10_000, help="How many lines.")] = 100,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on with what comes, until the job ends.")
    ] = False,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Print the last lines that a rank of the job's newest ring has printed.

    Example:  gadget job logs resnet-7 --rank 1 -f
    """
    with connect(address, token) as client:
        if not follow:
            found = client.get(f"{_path(name)}/logs", rank=rank, lines=lines)
            if shown is Shown.JSON:
                print_json(found)
            else:
                _print_lines(found["text"].splitlines(), name, rank, shown)
            return
        window = max(lines, _FOLLOWED_LINES)
        seen: list[str] | None = None
        while True:
            ended = client.get(_path(name))["ended"] is not None
            text = client.get(f"{_path(name)}/logs", rank=rank, lines=window)["text"]
            # A line that is not at its end yet is left for the next look.
            newest = (text if ended else text[: text.rfind("\n") + 1]).splitlines()
            _print_lines(newest[-lines:] if seen is None else find_new_lines(seen, newest), name, rank, shown)
            if ended:
                return
            seen = newest
            time.sleep(_FOLLOW_SECONDS)


def find_new_lines(seen: list[str], newest: list[str]) -> list[str]:
    """What was added to a log whose last lines, up to a number, were `seen` and are `newest` now.

    Where the two have nothing in common it is another log, and all of it is new.
    """
    for gone in range(len(seen)):
        kept = len(seen) - gone
        if newest[:kept] == seen[gone:]:
            return newest[kept:]
    return newest


def _print_lines(lines: list[str], name: str, rank: int, shown: Shown) -> None:
    console = output()
    for line in lines:
        if shown is Shown.JSON:
            print_json({"job": name, "rank": rank, "line": line}, indent=None)
        else:
            console.print(plain(line), soft_wrap=True)


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    ring, waiting, work = found["ring"], found["waiting"], found["work"]
    rows = [("status", found["status"])]
    if ring is not None:
        rows.append(("ring", f"number {ring['number']}, {ring['phase']}, {len(ring['workers'])} workers"))
        rows.append(("servers, in ring order", _stops(ring["workers"])))
    elif found["decided_ring"] is not None:
        rows.append(("ring", f"to be started on {_stops(found['decided_ring']['workers'])}"))
    rows.append(("work", _tell_work(work)))
    if work["safe"] is not None:
        rows.append(("in its checkpoint", f"{work['safe']:.6g}"))
    steps = found["step_seconds"]
    if steps["measured"] is not None:
        predicted = "" if steps["predicted"] is None else f", predicted {steps['predicted']:.4g} s"
        rows.append(("iteration", f"{steps['measured']:.4g} s{predicted}"))
    speed = found["work_per_second"]
    if speed["measured"] is not None:
        predicted = "" if speed["predicted"] is None else f", predicted {speed['predicted']:.4g}"
        rows.append(("work a second", f"{speed['measured']:.4g}{predicted}"))
    if waiting is not None:
        rows += [
            ("waits for", waiting["reason"]),
            ("detail", waiting["detail"]),
            ("what would let it run", waiting["advice"]),
        ]
    rows.append(("arrived in slot", str(found["arrived"])))
    for key, word in (("first_start", "first ring in slot"), ("ended", "ended in slot")):
        if found[key] is not None:
            rows.append((word, str(found[key])))
    rows += [
        ("slots served", f"{found['slots_served']:g}, {found['worker_slots']:g} worker-slots"),
        ("resizes, restarts", f"{found['resizes']}, {found['restarts']}"),
        ("work lost", f"{work['lost']:.6g}"),
        ("failures", str(found["failures"])),
    ]
    if found["last_failure"] is not None:
        rows.append(("last failure", found["last_failure"]))
    return [*rows, ("utility", f"{found['utility']:.6g}")]


def _tell_work(work: dict[str, Any]) -> str:
    if work["total"] is None:
        return f"{work['done']:.6g}"
    return f"{work['done']:.6g} of {work['total']:.6g} ({100 * work['done'] / work['total']:.1f}%)"


def _stops(workers: list[str]) -> str:
    counts = {server: workers.count(server) for server in dict.fromkeys(workers)}
    return " → ".join(f"{server} ×{count}" for server, count in counts.items())


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}–{most}"


def _path(name: str) -> str:
    from gadget.api.client import quote_name  # noqa: PLC0415 - as in connect

    return f"/jobs/{quote_name(name)}"


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (queue, why):
        app.command()(command)
    app.add_typer(job_app)
