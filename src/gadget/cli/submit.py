"""gadget submit: jobs into the queue of a running service, followed to their end or tried out first."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gadget.cli.console import Shown, ShownOption, output, remarks, show_decision
from gadget.cli.decide import SeedOption
from gadget.cli.service_option import AddressOption, TokenOption, connect, plain, print_json
from gadget.errors import BadOption, printable
from gadget.model.codec import read_content, read_jobs
from gadget.model.decision import Decision
from gadget.model.documents import VERSION
from gadget.model.encoding import job_document, to_document
from gadget.model.job import ActiveJob, Job
from gadget.model.snapshot import Snapshot, check_unique_jobs
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy

if TYPE_CHECKING:
    from gadget.api.client import Client

_LOOK_SECONDS = 1.0
_ENDINGS = ("finished", "left", "refused", "failed")


def submit(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files with jobs, JSON or YAML: under `jobs` alone, or scenarios, whose jobs are taken. "
            "- is standard input.",
            show_default=False,
        ),
    ],
    *,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Follow the jobs until all have ended; exit 1 if one did not finish."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Submit nothing: show what a decision would give these jobs now."),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="With --dry-run: who decides. Default: the policy of the service.", show_default=False
        ),
    ] = None,
    seed: SeedOption = 0,
    address: AddressOption = None,
    token: TokenOption = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Submit jobs to a running service, all or none, and print their names.

    Example:  gadget submit jobs.yaml --wait
    """
    if wait and dry_run:
        raise BadOption("--dry-run submits nothing that --wait could follow. Give one of them.")
    jobs = [_at_home_here(job) for file in files for job in read_jobs(file)]
    check_unique_jobs(job.name for job in jobs)
    with connect(address, token) as client:
        if dry_run:
            _try_out(client, jobs, policy, seed, shown)
            return
        body = {"version": VERSION, "jobs": [job_document(job) for job in jobs]}
        found = client.post("/jobs", json.dumps(body).encode())
        if shown is Shown.TABLE:
            for name in found["names"]:
                output().print(plain(name), soft_wrap=True)
        elif not wait:
            print_json(found)
        if wait:
            _follow(client, found["names"], shown)


def _at_home_here(job: Job) -> Job:
    """The job with the folder in which it is submitted to start in, as its words were meant."""
    program = job.program
    if program is None:
        return job
    folder = Path.cwd() / (program.working_dir or ".")
    return replace(job, program=replace(program, working_dir=str(folder)))


def _follow(client: "Client", names: list[str], shown: Shown) -> None:
    console = remarks()
    with _bars(console) as bars:
        tasks: dict[str, TaskID] = {
            name: bars.add_task(escape(printable(name)), total=None, told="") for name in names
        }
        while True:
            found = _find_jobs(client, names)
            for name, one in found.items():
                told = one["reason"] or (f"{one['size']} workers" if one["size"] else "")
                bars.update(
                    tasks[name],
                    completed=one["work"]["done"],
                    total=one["work"]["total"],
                    told=escape(printable(f"{one['status']} {told}")),
                )
            if all(one["status"] in _ENDINGS for one in found.values()):
                break
            time.sleep(_LOOK_SECONDS)
    if shown is Shown.JSON:
        print_json({"names": names, "jobs": [found[name] for name in names]})
    failed = [name for name in names if found[name]["status"] != "finished"]
    for name in failed:
        console.print(plain(f"{name}: {found[name]['status']}"))
    if failed:
        raise typer.Exit(1)


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        console=console,
        expand=True,
        disable=not console.is_terminal,
    )


def _find_jobs(client: "Client", names: list[str]) -> dict[str, dict[str, Any]]:
    from gadget.api.client import quote_name  # noqa: PLC0415 - as in connect

    # One page has them all, but where very many came after them.
    listed = {one["name"]: one for one in client.get("/jobs", limit=10_000)["jobs"]}
    return {name: listed.get(name) or client.get(f"/jobs/{quote_name(name)}") for name in names}


def _try_out(client: "Client", jobs: list[Job], policy: str | None, seed: int, shown: Shown) -> None:
    """Ask a policy of this process about what the service has now and these jobs beside it."""
    snapshot = read_content(Path("the service's answer"), client.read("/snapshot"))
    assert isinstance(snapshot, Snapshot)
    for job in jobs:
        if job.name in snapshot.job_by_name:
            raise BadOption(f"a job named {job.name!r} is there already. Give the new one another name.")
    new = tuple(ActiveJob(replace(job, arrival=min(job.arrival, snapshot.slot)), 0, 0.0) for job in jobs)
    decider = build_policy(policy or client.get("/status")["policy"])
    decision = ask(decider, replace(snapshot, jobs=(*snapshot.jobs, *new)), seed)
    if shown is Shown.JSON:
        print_json(to_document(decision))
        return
    show_decision(output(), decision)
    remarks().print(plain(_tell_chances(decision, [job.name for job in jobs])))


def _tell_chances(decision: Decision, names: list[str]) -> str:
    running = [name for name in names if name in decision.allocation.ring_of]
    return (
        f"nothing was submitted: {len(running)} of {len(names)} new jobs would have a ring in the next slot"
    )


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(submit)
