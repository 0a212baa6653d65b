"""Data-parallel training with PyTorch's DistributedDataParallel on gloo.

It needs PyTorch, which GADGET does not:  pip install torch
Alone:                      python examples/train_torch.py
As a ring, by the service:  a job whose `run.command` is this line; the environment says the rest.

The global batch is fixed and split over the ranks, and the checkpoint holds model, optimizer and step, so a
run may stop and go on at any size. Its losses are those of a run that was never interrupted up to the
rounding of sums made in another order, below 1e-9 of the loss in double precision. They need not be the same
bits even at one size: DistributedDataParallel lays its buckets out anew after the first step that it sees.
"""

import argparse
import datetime
import io
import json
import os
import sys
import time
from pathlib import Path

from gadget import worker as gadget_worker
from gadget.worker import Worker

try:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
except ImportError:
    sys.exit("This example needs PyTorch, and it is not installed. Install it: pip install torch")

SAMPLES = 2048  # the data set, passed through again and again


def build_data(options: argparse.Namespace) -> tuple[torch.Tensor, torch.Tensor]:
    """Random inputs, and what a random network makes of them."""
    rng = torch.Generator().manual_seed(options.seed)
    inputs = torch.randn(SAMPLES, options.features, generator=rng)
    teacher = torch.randn(options.features, 8, generator=rng) / options.features**0.5
    return inputs, torch.tanh(inputs @ teacher).sum(dim=1, keepdim=True)


def build_model(options: argparse.Namespace) -> torch.nn.Module:
    """The same first parameters for the same seed."""
    torch.manual_seed(options.seed)
    return torch.nn.Sequential(
        torch.nn.Linear(options.features, options.hidden),
        torch.nn.Tanh(),
        torch.nn.Linear(options.hidden, 1),
    )


def share(content: bytes) -> bytes:
    """What rank 0 has, on every rank."""
    box = [content]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def train(worker: Worker, options: argparse.Namespace) -> None:
    """Train to the last step, or leave earlier if asked to."""
    inputs, targets = build_data(options)
    model = build_model(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step, batch = 0, options.batch
    found = worker.load() if worker.rank == 0 else None
    if content := share(found[0] if found else b""):
        state = torch.load(io.BytesIO(content), weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    parallel = DistributedDataParallel(model)
    begin, end = (batch * rank // worker.size for rank in (worker.rank, worker.rank + 1))
    loss = float("nan")
    worker.progress(step * batch, step)
    while step < options.steps:
        samples = (step * batch + torch.arange(begin, end)) % SAMPLES
        optimizer.zero_grad()
        error = parallel(inputs[samples]) - targets[samples]
        # DDP takes the mean over the ranks: times their number it is the sum, whatever the shares' sizes.
        mine = (error**2).sum() / 2
        time.sleep(options.sample_ms / 1000 * len(samples))
        (mine * worker.size / batch).backward()
        optimizer.step()
        step += 1
        told = torch.stack([mine.detach(), torch.tensor(float(worker.should_leave))])
        dist.all_reduce(told)  # the wish to leave travels too, so that all leave after the same step
        loss, must_leave = float(told[0]) / batch, bool(told[1] > 0)
        worker.progress(step * batch, step)
        if worker.rank == 0 and options.loss_file is not None:
            with options.loss_file.open("a") as file:
                file.write(json.dumps({"step": step, "loss": loss}) + "\n")
        is_due = options.checkpoint_every and step % options.checkpoint_every == 0
        is_last = must_leave or step >= options.steps
        if (is_due or is_last) and worker.rank == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, file := io.BytesIO())
            try:
                worker.save(file.getvalue(), step * batch)
            except OSError:  # it was told; a full disk may have room when the next one is due
                if is_last:
                    raise
        if must_leave and step < options.steps:
            dist.destroy_process_group()
            worker.leave()
    dist.destroy_process_group()
    worker.done(step * batch)
    print(f"rank {worker.rank} of {worker.size}: step {step}, loss {loss:.6g}")


def main() -> None:
    """Read the options, meet the other ranks, and train."""
    parser = argparse.ArgumentParser(description="Train a small network with PyTorch.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step, over all ranks")
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument(
        "--checkpoint-every", type=int, default=50, help="steps; 0: when it leaves or is done"
    )
    parser.add_argument("--sample-ms", type=float, default=0.0, help="sleep this long for each sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss-file", type=Path, help="append every step's loss here")
    parser.add_argument(
        "--patience-seconds", type=float, default=30.0, help="how long to wait for the others"
    )
    options = parser.parse_args()
    worker = gadget_worker.join()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    patience = datetime.timedelta(seconds=options.patience_seconds)
    try:
        if "MASTER_ADDR" in os.environ:
            dist.init_process_group("gloo", timeout=patience)
        else:
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1, timeout=patience)
        train(worker, options)
    except RuntimeError as broke:  # what torch.distributed raises when another rank is gone or silent
        worker.note(f"rank {worker.rank} of {worker.size}: {broke}")
        os._exit(1)  # the usual way out leads through gloo's threads, which may abort when a rank is gone


if __name__ == "__main__":
    main()
