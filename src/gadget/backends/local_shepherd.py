"""One rank as processes: a shepherd that keeps its exit code, and the worker under it.

The service may be gone when a worker ends, so a few lines of `sh` around it write down who runs and how it
ended. Files of rank R in the folder of its ring: `R.shepherd` and `R.worker` (their stat lines), `R.exit`
(the code, 128 + n for signal n). A line that is not whole counts as not written.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gadget.backends.local_processes import Process, identify, read_stat

# Signals meant for the whole group pass it by: it ends when its worker has. The shell's own words about
# signals stay out of the log. `exec` keeps the number that was written down. Arguments of the shepherd: the
# path of the rank's files without their suffix, the script of the worker, and the command.
# A variable of the shell that has the name of one in the environment would change it for the worker.
WORKER = """
_gadget_base=$1; shift
read -r _gadget_stat </proc/$$/stat; printf '%s\\n' "$_gadget_stat" >"$_gadget_base.worker"
exec "$@"
"""
SHEPHERD = """
trap : TERM INT HUP QUIT USR1 USR2
exec 3>&2 2>/dev/null
read -r _gadget_stat </proc/$$/stat; printf '%s\\n' "$_gadget_stat" >"$1.shepherd"
_gadget_base=$1; _gadget_inner=$2; shift 2
( exec sh -c "$_gadget_inner" gadget-worker "$_gadget_base" "$@" ) 2>&3 3>&-
printf '%s\\n' $? >"$_gadget_base.exit"
"""


def start_rank(
    folder: Path,
    rank: int,
    command: Sequence[str],
    *,
    enter: Sequence[str],
    env: Mapping[str, str],
    working_dir: Path,
    log: Path,
) -> Process:
    """Start one rank in a session of its own, so that it outlives the service. Gives the shepherd."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            [*enter, "sh", "-c", SHEPHERD, "gadget-shepherd", str(folder / str(rank)), WORKER, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=working_dir,
            env=env,
            start_new_session=True,
        )
    # It is watched by its files and buried by the ring; the handle must not complain that it still runs.
    child.returncode = 0
    found = identify(child.pid)
    assert found is not None  # a child is there until it is buried
    return found[0]


def read_shepherd(folder: Path, rank: int) -> Process | None:
    """Who watches the rank, once it has said so."""
    return _read_process(folder / f"{rank}.shepherd")


def read_worker(folder: Path, rank: int) -> Process | None:
    """The worker itself, once it has been started."""
    return _read_process(folder / f"{rank}.worker")


def read_exit(folder: Path, rank: int) -> int | None:
    """The exit code of the rank, once it has ended."""
    text = _read_line(folder / f"{rank}.exit")
    return int(text) if text.strip().isdecimal() else None


def find_end_time(folder: Path, rank: int) -> int:
    """When the rank ended, to tell who broke first; late if nobody wrote it down."""
    try:
        return (folder / f"{rank}.exit").stat().st_mtime_ns
    except OSError:
        return 1 << 63


def _read_process(path: Path) -> Process | None:
    text = _read_line(path)
    found = read_stat(text) if text else None
    return None if found is None else found[0]


def _read_line(path: Path) -> str:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return text if text.endswith("\n") else ""
