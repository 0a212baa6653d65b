"""Data-parallel training with the paper's ring-all-reduce (Sec. III) written out over sockets.

Alone:                      python examples/train_ring.py
As a ring, by the service:  a job whose `run.command` is this line; the environment says the rest.

Every step takes the same samples in the same order whatever the size of the ring, because the global batch is
fixed and split over the ranks. So the losses do not depend on how often a run was interrupted and at which
sizes it ran: bit for bit while the size stays the same, since every sum is then made in the same order (by
one build of NumPy on one kind of processor); up to the rounding of sums made in another order when it
changes, which stays below 1e-9 of the loss.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one worker, one core; and sums in one order

import argparse
import hashlib
import io
import json
import select
import socket
import struct
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gadget import worker as gadget_worker
from gadget.worker import Worker

Vector = NDArray[np.float64]
SAMPLES = 2048  # the data set, passed through again and again
LEARNING_RATE, MOMENTUM = 0.05, 0.9


class RingBroke(Exception):
    """A neighbour is gone, or says nothing."""


class Ring:
    """The two connections of a rank: it sends to the next rank and receives from the one before it."""

    def __init__(self, worker: Worker, patience_seconds: float) -> None:
        self.rank, self.size = worker.rank, worker.size
        self.sent_bytes = 0
        self._patience = patience_seconds
        if self.size > 1:
            self._to_next, self._from_previous = self._meet(worker)

    def all_reduce(self, vector: Vector) -> None:
        """Make `vector` the sum of all ranks' vectors, the same bits on every rank.

        Its length d is a multiple of the ring's size w: w sub-vectors of d/w numbers each. A rank sends one
        of them 2(w-1) times, which makes 2d(w-1)/w numbers; this is counted and checked.
        """
        w, before = self.size, self.sent_bytes
        parts = vector.reshape(w, -1)
        received = np.empty_like(parts[0])
        for t in range(w - 1):  # share-reduce: after it, rank r holds the whole sum of part r+1
            self._exchange(parts[(self.rank - t) % w], received)
            parts[(self.rank - t - 1) % w] += received
        for t in range(w - 1):  # share-only
            self._exchange(parts[(self.rank + 1 - t) % w], parts[(self.rank - t) % w])
        if (self.sent_bytes - before) * w != 2 * vector.nbytes * (w - 1):
            raise AssertionError(f"sent {self.sent_bytes - before} bytes, not 2d(w-1)/w of d={vector.nbytes}")

    def share(self, content: bytes) -> bytes:
        """What rank 0 has, on every rank: passed on from each to the next."""
        if self.rank > 0:
            length = bytearray(8)
            self._exchange(b"", length)
            received = bytearray(*struct.unpack("!Q", length))
            self._exchange(b"", received)
            content = bytes(received)
        if self.rank < self.size - 1:
            self._exchange(struct.pack("!Q", len(content)), bytearray())
            self._exchange(content, bytearray())
        return content

    def close(self) -> None:
        """Part from the neighbours."""
        if self.size > 1:
            self._to_next.close()
            self._from_previous.close()

    def _exchange(self, outgoing: "Vector | bytes", incoming: "Vector | bytearray") -> None:
        """Send and receive at once: were all to send first, long messages would wait for each other."""
        rest, room = memoryview(outgoing).cast("B"), memoryview(incoming).cast("B")
        while rest or room:
            # Only what is still needed: a neighbour that has all it needs may have left already.
            readable, writable, _ = select.select(
                [self._from_previous] if room else [], [self._to_next] if rest else [], [], self._patience
            )
            if not readable and not writable:
                raise RingBroke(f"no neighbour moved for {self._patience:g} s")
            try:
                if writable:
                    count = self._to_next.send(rest)
                    self.sent_bytes += count
                    rest = rest[count:]
                if readable:
                    count = self._from_previous.recv_into(room)
                    if count == 0:
                        raise RingBroke("the rank before has left")
                    room = room[count:]
            except OSError as error:
                raise RingBroke(f"a neighbour is gone ({error.strerror})") from None

    def _meet(self, worker: Worker) -> tuple[socket.socket, socket.socket]:
        """Connect to the next rank, and be connected to by the one before it."""
        to_next = from_previous = None
        deadline = time.monotonic() + self._patience
        with socket.create_server(worker.listen, backlog=8) as server:
            server.settimeout(0.1)
            while to_next is None or from_previous is None:
                if worker.should_leave:
                    worker.leave()  # nothing was trained since the checkpoint
                if time.monotonic() > deadline:
                    raise RingBroke(f"the neighbours did not come within {self._patience:g} s")
                worker.alive()
                to_next = to_next or self._call(worker)
                from_previous = from_previous or self._answer(worker, server)
        for connection in (to_next, from_previous):
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return to_next, from_previous

    def _call(self, worker: Worker) -> socket.socket | None:
        try:
            connection = socket.create_connection(worker.next, timeout=1.0)
            connection.sendall(self._card(worker, self.rank))
        except OSError:
            time.sleep(0.05)  # it is not up yet
            return None
        return connection

    def _answer(self, worker: Worker, server: socket.socket) -> socket.socket | None:
        try:
            guest, _ = server.accept()
            guest.settimeout(1.0)
            shown = b""
            while len(shown) < 32 and (more := guest.recv(32 - len(shown))):
                shown += more
        except OSError:
            return None  # nobody yet
        if shown == self._card(worker, self.rank - 1):
            return guest
        guest.close()  # a stray, of another ring
        return None

    def _card(self, worker: Worker, rank: int) -> bytes:
        return hashlib.sha256(f"{worker.job}@{worker.ring} {rank % self.size}".encode()).digest()


class Training:
    """A network of one hidden layer that learns another one, by gradient descent with momentum."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.settings = [options.seed, options.features, options.hidden, options.batch]
        rng = np.random.default_rng(options.seed)
        self.features, self.hidden = options.features, options.hidden
        self.inputs = rng.standard_normal((SAMPLES, self.features))
        teacher = rng.standard_normal((self.features, 8)) / np.sqrt(self.features)
        self.targets = np.tanh(self.inputs @ teacher).sum(axis=1)
        self.step = 0
        self.parameters = rng.standard_normal(self.features * self.hidden + self.hidden)
        self.velocity = np.zeros_like(self.parameters)

    def add_gradient(self, samples: NDArray[np.int64], gradient: Vector) -> float:
        """Write the sum over these samples of the gradient of their losses; give the sum of the losses."""
        cut = self.features * self.hidden
        inner, outer = self.parameters[:cut].reshape(self.features, self.hidden), self.parameters[cut:]
        x, scale = self.inputs[samples], 1 / np.sqrt(self.hidden)
        active = np.tanh(x @ inner / np.sqrt(self.features))
        error = active @ outer * scale - self.targets[samples]
        back = np.outer(error * scale / np.sqrt(self.features), outer) * (1 - active**2)
        gradient[:cut] = (x.T @ back).ravel()
        gradient[cut:] = active.T @ error * scale
        return float(error @ error) / 2

    def update(self, gradient: Vector) -> None:
        """One step down the mean gradient."""
        self.velocity *= MOMENTUM
        self.velocity -= LEARNING_RATE * gradient
        self.parameters += self.velocity
        self.step += 1

    def pack(self) -> bytes:
        """All that a ring of any size needs to go on."""
        file = io.BytesIO()
        settings = np.array(self.settings)
        np.savez(file, settings=settings, step=self.step, parameters=self.parameters, velocity=self.velocity)
        return file.getvalue()

    def unpack(self, content: bytes) -> None:
        """Go on from what `pack` gave."""
        found = np.load(io.BytesIO(content))
        if found["settings"].tolist() != self.settings:
            raise SystemExit(
                f"The checkpoint is of seed, features, hidden, batch = {found['settings'].tolist()}; "
                f"this run has {self.settings}. Give the same options, or another checkpoint folder."
            )
        self.step = int(found["step"])
        self.parameters, self.velocity = found["parameters"], found["velocity"]


def train(worker: Worker, options: argparse.Namespace) -> None:
    """Train to the last step, or leave earlier if asked to."""
    training = Training(options)
    found = worker.load() if worker.rank == 0 else None
    try:
        ring = Ring(worker, options.patience_seconds)
        content = ring.share(found[0] if found else b"")
    except RingBroke:
        if worker.should_leave:  # the others were asked too, and were faster
            worker.leave()
        raise
    if content:
        training.unpack(content)
    batch, d = options.batch, training.parameters.size
    begin, end = (batch * rank // ring.size for rank in (ring.rank, ring.rank + 1))
    # The gradient, the loss and the wish to leave travel together; zeros fill up to a multiple of the size.
    vector = np.zeros(-(-(d + 2) // ring.size) * ring.size)
    loss = float("nan")
    worker.progress(training.step * batch, training.step)
    while training.step < options.steps:
        samples = (training.step * batch + np.arange(begin, end)) % SAMPLES
        vector[d] = training.add_gradient(samples, vector[:d])
        vector[d + 1] = worker.should_leave
        vector[d + 2 :] = 0
        time.sleep(options.sample_ms / 1000 * len(samples))
        ring.all_reduce(vector)
        training.update(vector[:d] / batch)
        loss, must_leave = vector[d] / batch, vector[d + 1] > 0
        worker.progress(training.step * batch, training.step)
        if worker.rank == 0:
            tell_loss(options.loss_file, training.step, loss)
        is_due = options.checkpoint_every and training.step % options.checkpoint_every == 0
        is_last = must_leave or training.step >= options.steps
        if (is_due or is_last) and worker.rank == 0:
            try:
                worker.save(training.pack(), training.step * batch)
            except OSError:  # it was told; a full disk may have room when the next one is due
                if is_last:
                    raise
        if must_leave and training.step < options.steps:
            worker.leave()
    ring.close()
    worker.done(training.step * batch)
    print(
        f"rank {ring.rank} of {ring.size}: step {training.step}, loss {loss:.6g}, each all-reduce sent "
        f"2d(w-1)/w = {2 * vector.nbytes * (ring.size - 1) // ring.size} of d = {vector.nbytes} bytes"
    )


def tell_loss(path: Path | None, step: int, loss: float) -> None:
    """Append a line. Steps may come again after a fall-back; the last line of a step counts."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"step": step, "loss": float(loss)}) + "\n")


def main() -> None:
    """Read the options, train, and say why if the ring broke."""
    parser = argparse.ArgumentParser(description="Train a small network in a ring.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step, over all ranks")
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=32, help="the gradient has (features+1)·hidden numbers")
    parser.add_argument(
        "--sample-ms", type=float, default=0.0, help="sleep as long for each sample, like a GPU"
    )
    parser.add_argument(
        "--checkpoint-every", type=int, default=50, help="steps; 0: when it leaves or is done"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss-file", type=Path, help="append every step's loss here")
    parser.add_argument(
        "--patience-seconds", type=float, default=30.0, help="how long to wait for neighbours"
    )
    options = parser.parse_args()
    worker = gadget_worker.join()
    try:
        train(worker, options)
    except RingBroke as broke:
        worker.note(f"rank {worker.rank} of {worker.size}: the ring broke: {broke}")
        sys.exit(1)


if __name__ == "__main__":
    main()
