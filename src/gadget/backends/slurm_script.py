"""A ring as a Slurm job: the options of sbatch, and the scripts that its batch step and its ranks run.

Servers with as many workers each are one part; a ring with several parts is a heterogeneous job, because one
job has as many tasks and GPUs on each of its nodes. Slurm numbers tasks as it likes: which rank a task is, it
finds by its node and its place there in the file `ranks`. The scripts are plain `sh`, since nothing else is
sure to be on a node; all of them stand in the folder of the ring, which every node must see.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from gadget.backends.backend import Launch
from gadget.backends.local_shepherd import SHEPHERD, WORKER
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.slurm_nodes import GIB
from gadget.backends.slurm_options import SlurmOptions, find_warn_seconds
from gadget.backends.worker_environment import build_worker_environment
from gadget.model.quantity import TOLERANCE

# What the environment of the service and of Slurm adds.
_SPARE_BYTES = 200_000
_LONGEST_PATH, _LONGEST_NAME = 4095, 255

# Two jobs may be for one ring, if nobody heard that Slurm took the first: who makes the folder runs it.
_BATCH = """#!/bin/sh
here={folder}
# Given up before it began?
[ ! -e "$here/over.json" ] || exit 0
mkdir "$here/began" 2>/dev/null || exit 0
echo "$SLURM_JOB_ID" >"$here/number"
trap 'srun {shape} {aside} sh "$here/ask.sh" &' USR1
trap 'srun {shape} {aside} sh "$here/end.sh" &' USR2
srun {shape} --quiet --kill-on-bad-exit=0 --input=none sh "$here/launch.sh" &
main=$!
# A signal ends the waiting, not what is waited for.
while wait "$main"; kill -0 "$main" 2>/dev/null; do :; done
"""
# Steps beside the one of the workers, which has all that the job has.
_ASIDE = "--overlap --gres=none --mem=0 --mpi=none --quiet"
_FIND_RANK = """while read -r _gadget_node _gadget_place _gadget_found; do
  [ "$_gadget_node" = "$SLURMD_NODENAME" ] && [ "$_gadget_place" = "$SLURM_LOCALID" ] && \
    _gadget_rank=$_gadget_found
done <{folder}/ranks
[ -n "$_gadget_rank" ] || {{ echo "no rank is for place $SLURM_LOCALID on $SLURMD_NODENAME" >&2; exit 1; }}
"""
_LAUNCH = """[ ! -e {folder}/leaving.json ] || exit 0
exec sh {folder}/"$_gadget_rank".sh
"""
# The worker alone is asked, not what it has started; and once. It may be about to start.
_ASK = """tries=0
base={folder}/$_gadget_rank
while [ ! -s "$base.worker" ] && [ ! -e "$base.exit" ] && [ $tries -lt 100 ]; do
  sleep 0.1; tries=$((tries + 1))
done
if [ ! -e "$base.asked" ] && [ ! -e "$base.exit" ]; then
  read -r pid rest <"$base.worker" && : >"$base.asked" && kill -TERM "$pid"
fi
exit 0
"""
# Not every Slurm finds processes whose parent is gone, so what is in the group that Slurm has made for a task
# goes by our own hand, at its end or when a ring is broken off; but for the script that leads it.
# All are stopped before the first is killed: none is to tell of another's death.
_SWEEP = """for signal in STOP KILL; do
  for file in /proc/[0-9]*/stat; do
    read -r stat <"$file" || continue
    set -- "${stat%% *}" ${stat##*) }
    [ "$4" != "$group" ] || [ "$1" = "$group" ] || kill -$signal "$1"
  done
done 2>/dev/null
"""
_END = """base={folder}/$_gadget_rank
: >"$base.ended"
read -r group <"$base.group" || exit 0
"""
_RANK = """exec >>{log} 2>&1 </dev/null
echo $$ >{base}.group
[ ! -e {base}.ended ] || exit 0
refuse() {{ echo "$1"; echo 127 >{base}.exit; exit 1; }}
cd {working_dir} 2>/dev/null || \
  refuse {no_folder}
{search}{check}{devices}trap : TERM INT HUP QUIT USR1 USR2
exec 3>&2 2>/dev/null
( exec env {env} sh -c {shepherd} gadget-shepherd {base} {worker} {command} ) 2>&3 3>&-
# All tasks of a node are in one group, that of the first: nothing is swept before all of them have ended.
while read -r node place rank; do
  [ "$node" != "$SLURMD_NODENAME" ] || [ -e {folder}/"$rank".exit ] || exit 0
done <{folder}/ranks
group=$$
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Servers that have as many workers each."""

    servers: tuple[str, ...]
    each: int


def find_parts(workers: Sequence[str]) -> tuple[Part, ...]:
    """The parts of a ring, in the order in which it comes to them."""
    by_count: dict[int, dict[str, None]] = {}
    for server in workers:
        by_count.setdefault(workers.count(server), {})[server] = None
    return tuple(Part(tuple(servers), each) for each, servers in by_count.items())


def build_sbatch(order: Launch, folder: RingFolder, options: SlurmOptions, comment: str) -> list[str]:
    """The words after `sbatch` for a ring."""
    path = folder.ring(order.key)
    program = order.job.program
    assert program is not None  # refused otherwise
    # sbatch reads % in this path as the start of a pattern.
    log = str(path / "batch.out").replace("%", "%%")
    # The last of two that contradict each other holds.
    common = [
        *options.words(dict(program.env)),
        f"--job-name={find_job_name(comment)}",
        f"--comment={comment}",
        f"--output={log}",
        "--open-mode=append",
        f"--chdir={path}",
        "--no-requeue",
        f"--signal=B:USR1@{find_warn_seconds(program.checkpoint_grace_seconds)}",
    ]
    words: list[str] = []
    for part in find_parts(order.ring.workers):
        words += [":"] if words else []
        words += [*common, *_size(order, part)]
    return [*words, str(path / "batch.sh")]


def find_job_name(comment: str) -> str:
    """What Slurm shows as the name of a ring's job."""
    return f"gadget-{comment.rpartition(':')[2][:80]}"


def _size(order: Launch, part: Part) -> list[str]:
    amounts = find_amounts(order.job.resources)
    words = [
        f"--nodes={len(part.servers)}",
        f"--nodelist={','.join(part.servers)}",
        f"--ntasks-per-node={part.each}",
        f"--cpus-per-task={amounts.pop('cpu'):.0f}",
    ]
    if memory := amounts.pop("memory_gib", 0.0):
        words.append(f"--mem={math.ceil(part.each * memory * GIB)}M")
    if amounts:
        gres = (f"{name}:{part.each * amount:.0f}" for name, amount in amounts.items())
        words.append(f"--gres={','.join(gres)}")
    return words


def find_amounts(needs: Mapping[str, float]) -> dict[str, float]:
    """What a worker gets: whole CPUs, one at least, and whole GPUs and the like; memory has parts."""
    found = {"cpu": float(max(1, math.ceil(needs.get("cpu", 0.0) - TOLERANCE)))}
    for name, amount in needs.items():
        if name != "cpu" and amount > TOLERANCE:
            found[name] = amount if name == "memory_gib" else float(math.ceil(amount - TOLERANCE))
    return found


def why_not_handed_in(order: Launch, options: SlurmOptions) -> str:
    """Why Slurm could not take a ring that could run, in words for its owner; empty when it can."""
    assert order.job.program is not None  # refused before
    gpu = order.job.resources.get("gpu", 0.0)
    if abs(gpu - round(gpu)) > TOLERANCE:
        return f"each worker takes {gpu:g} gpu, and Slurm hands out whole ones. Give a whole number."
    return options.why_too_short(order.job.program.checkpoint_grace_seconds)


def write_scripts(
    order: Launch, record: Record, folder: RingFolder, *, instance: str, interface: str
) -> None:
    """Write what the job of a ring runs."""
    path = folder.ring(order.key)
    parts = find_parts(order.ring.workers)
    shape = f"--cpus-per-task={record.amounts['cpu']:.0f}"
    if len(parts) > 1:
        shape += f" --het-group=0-{len(parts) - 1}"
    here = quote(str(path))
    find_rank = _FIND_RANK.format(folder=here)
    _write(path / "batch.sh", _BATCH.format(folder=here, shape=shape, aside=_ASIDE))
    _write(path / "launch.sh", find_rank + _LAUNCH.format(folder=here))
    _write(path / "ask.sh", find_rank + _ASK.format(folder=here))
    _write(path / "end.sh", find_rank + _END.format(folder=here) + _SWEEP)
    places: dict[str, int] = {}
    lines = []
    for rank, seat in enumerate(record.seats):
        place = places[seat.server] = places.get(seat.server, -1) + 1
        lines.append(f"{seat.server} {place} {rank}\n")
        text = _write_rank(order, record, folder, rank, place, instance=instance, interface=interface)
        _write(path / f"{rank}.sh", text)
    _write(path / "ranks", "".join(lines))


def _write_rank(
    order: Launch,
    record: Record,
    folder: RingFolder,
    rank: int,
    place: int,
    *,
    instance: str,
    interface: str,
) -> str:
    program, key = order.job.program, order.key
    assert program is not None  # refused otherwise
    env = build_worker_environment(
        order,
        record.seats,
        rank,
        instance=instance,
        master_port=record.master_port,
        checkpoint_dir=folder.checkpoints(key.job),
        interface=interface,
        base={},
    )
    if not interface:
        env.pop("GLOO_SOCKET_IFNAME", None)
    # Programs that ask Slurm for their rank get that of the ring.
    env = {
        "SLURM_PROCID": env["RANK"],
        "SLURM_LOCALID": env["LOCAL_RANK"],
        "SLURM_NTASKS": env["WORLD_SIZE"],
    } | env
    gpu = math.ceil(record.gpu_per_worker - TOLERANCE)
    words = [quote(f"{name}={value}") for name, value in env.items()]
    if devices := gpu and "CUDA_VISIBLE_DEVICES" not in {**order.env, **dict(program.env)}:
        own = quote(f"CUDA_VISIBLE_DEVICES={env['CUDA_VISIBLE_DEVICES']}")
        words = ['CUDA_VISIBLE_DEVICES="$_gadget_devices"', *(word for word in words if word != own)]
    first = place * gpu
    working_dir = str(Path(program.working_dir).absolute() if program.working_dir else folder.work(key.job))
    size = sum(len(word) + 9 for word in (*words, *map(quote, program.command)))
    if size + _SPARE_BYTES > os.sysconf("SC_ARG_MAX"):
        raise ValueError(f"its command and environment have {size:,} bytes, more than a program may be given")
    if any(map(_is_too_long, (program.command[0], working_dir))):
        raise ValueError("run.command or run.working_dir is no path that can be used (too long). Correct it.")
    search = dict(program.env).get("PATH")
    text = _RANK.format(
        log=quote(str(folder.log(key, rank))),
        base=quote(str(folder.ring(key) / str(rank))),
        folder=quote(str(folder.ring(key))),
        working_dir=quote(working_dir),
        no_folder=quote(
            f"run.working_dir {working_dir!r} is no folder that can be entered here. Correct the path."
        ),
        search="" if search is None else f"PATH={quote(search)}\n",
        check=_check_command(program.command[0]),
        devices=f'_gadget_devices=$(echo "$CUDA_VISIBLE_DEVICES" | cut -d, -f{first + 1}-{first + gpu})\n'
        if devices
        else "",
        env=" ".join(words),
        shepherd=quote(SHEPHERD),
        worker=quote(WORKER),
        command=" ".join(map(quote, program.command)),
    )
    return text + _SWEEP


def _check_command(word: str) -> str:
    """Lines of `sh` that say on the node itself why a command cannot be run there."""

    def refuse(test: str, why: str) -> str:
        return f"{test} || refuse {quote(f'run.command {word!r} {why}')}\n"

    if "/" not in word:
        why = "is not found on PATH. Install it on the nodes, or give its full path."
        return refuse(f"command -v {quote(word)} >/dev/null", why)
    path = quote(word)
    return refuse(f"[ -e {path} ]", "does not exist. Correct the path.") + refuse(
        f"[ ! -d {path} ] && [ -x {path} ]", "may not be executed. Give it the permission (chmod +x)."
    )


def _is_too_long(path: str) -> bool:
    return len(os.fsencode(path)) > _LONGEST_PATH or any(
        len(os.fsencode(part)) > _LONGEST_NAME for part in path.split("/")
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text)
