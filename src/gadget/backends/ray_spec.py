"""What Ray is told of one rank: its node, its resources, and what its actor runs."""

from gadget.backends.backend import Launch
from gadget.backends.ray_cluster import Node, demand
from gadget.backends.ray_ring import Spec
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.worker_environment import build_worker_environment

_MARKS = ("GADGET_INSTANCE", "GADGET_JOB", "GADGET_RING", "RANK")


def build_spec(
    order: Launch, record: Record, rank: int, *, node: Node, folder: RingFolder, has_runtime_dir: bool
) -> Spec:
    """Everything that Ray is told of this rank; it runs on `node`."""
    program, key, seat = order.job.program, order.key, record.seats[rank]
    assert program is not None  # refused otherwise
    env = build_worker_environment(
        order,
        record.seats,
        rank,
        instance=record.instance,
        master_port=record.master_port,
        checkpoint_dir=folder.checkpoints(key.job),
        interface="",
        base={},
    )
    if not env["GLOO_SOCKET_IFNAME"]:
        del env["GLOO_SOCKET_IFNAME"]
    spec = {
        "command": list(program.command),
        "working_dir": program.working_dir,
        "has_runtime_dir": has_runtime_dir,
        "work": str(folder.work(key.job)),
        "log": str(folder.log(key, rank)),
        "env": env,
        "own": [name for name, _ in program.env],
        "number": key.number,
        "marks": {name: env[name] for name in _MARKS},
        "address": seat.address,
    }
    return node.id, demand(order.job.resources, node.amounts), spec
