"""The environment of each rank, as docs/reference/worker.md fixes it, and whether its program can start."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gadget.backends.backend import Launch
from gadget.model.program import Program

_OWN_PREFIX = "GADGET_"


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one rank runs and what it holds there."""

    server: str
    address: str
    port: int
    """It listens here for its predecessor."""
    gpus: tuple[int, ...] = ()

    @property
    def listen(self) -> str:
        """host:port."""
        return f"{self.address}:{self.port}"


def build_worker_environment(
    order: Launch,
    seats: Sequence[Seat],
    rank: int,
    *,
    instance: str,
    master_port: int,
    checkpoint_dir: Path,
    interface: str,
    base: Mapping[str, str],
) -> dict[str, str]:
    """Everything one rank is given; later entries win: the service's, the contract's, then the job's own."""
    seat = seats[rank]
    env = {name: value for name, value in base.items() if not name.startswith(_OWN_PREFIX)}
    env |= {
        "RANK": str(rank),
        "WORLD_SIZE": str(len(seats)),
        "LOCAL_RANK": str(sum(other.server == seat.server for other in seats[:rank])),
        "MASTER_ADDR": seats[0].address,
        "MASTER_PORT": str(master_port),
        "GADGET_JOB": order.key.job,
        "GADGET_RING": str(order.key.number),
        "GADGET_SERVER": seat.server,
        "GADGET_LISTEN": seat.listen,
        "GADGET_NEXT": seats[(rank + 1) % len(seats)].listen,
        "GADGET_PREVIOUS": seats[rank - 1].listen,
        "GADGET_ADDRESSES": ",".join(other.listen for other in seats),
        "GADGET_CHECKPOINT_DIR": str(checkpoint_dir),
        "GADGET_INSTANCE": instance,
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, seat.gpus)),
        "GLOO_SOCKET_IFNAME": interface,
    }
    env |= order.env
    if order.job.program is not None:
        env |= dict(order.job.program.env)
    return env


def why_it_cannot_start(program: Program, working_dir: Path, env: Mapping[str, str]) -> str:
    """Why a program cannot be started on this machine, in words for its owner; empty when it can."""
    try:
        return _why_no_folder(working_dir) or _why_no_command(
            program.command[0], working_dir, env.get("PATH", os.defpath)
        )
    except (OSError, ValueError) as error:  # a name too long for any file
        return f"run.command or run.working_dir is no path that can be used ({error}). Correct it."


def _why_no_folder(working_dir: Path) -> str:
    if not working_dir.is_dir():
        what = "is no folder" if working_dir.exists() else "does not exist"
        return f"run.working_dir {str(working_dir)!r} {what}. Make it, or correct the path."
    if not os.access(working_dir, os.X_OK):
        return f"run.working_dir {str(working_dir)!r} may not be entered. Correct its permissions."
    return ""


def _why_no_command(word: str, working_dir: Path, search: str) -> str:
    if "/" not in word:
        if shutil.which(word, path=search) is None:
            return f"run.command {word!r} is not found on PATH. Install it, or give its full path."
        return ""
    path = working_dir / word
    if not path.exists():
        return f"run.command {word!r} does not exist. Correct the path."
    if path.is_dir() or not os.access(path, os.X_OK):
        return f"run.command {word!r} may not be executed. Give it the permission (chmod +x)."
    return ""
