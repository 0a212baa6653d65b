"""A worker that only moves bytes as a ring-all-reduce does: 2(w−1) steps, in each a chunk of d/w to the next.

Standard library alone, so that it is up at once. Rank 0 prints the seconds of every round as a JSON list.
`python ring_bytes.py BYTES ROUNDS`, in the environment of a worker. With a folder as the third word, rank 0
leaves the file JOB.ready there, begins when there is a file `go`, and goes on until there is a file `stop`.
"""

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

PATIENCE_SECONDS = 60.0
GO, STOP = b"g", b"s"


def connect(address: str) -> socket.socket:
    """To the next rank, which may not listen yet."""
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def receive(before: socket.socket, count: int) -> bytes:
    """The last piece of so many bytes."""
    got, piece = 0, b""
    while got < count:
        piece = before.recv(min(1 << 16, count - got))
        if not piece:
            raise ConnectionError("the previous rank has gone")
        got += len(piece)
    return piece


def go_round(before: socket.socket, after: socket.socket, size: int, chunk: bytes) -> None:
    """Share-reduce and share-only: what is sent in a step was received in the one before."""
    for _ in range(2 * (size - 1)):
        sending = threading.Thread(target=after.sendall, args=(chunk,))
        sending.start()
        receive(before, len(chunk))
        sending.join()


def agree(before: socket.socket, after: socket.socket, rank: int, word: bytes) -> bytes:
    """The word of rank 0, on every rank; nobody goes on before everybody is there."""
    if rank == 0:
        after.sendall(word)
        return receive(before, 1)
    word = receive(before, 1)
    after.sendall(word)
    return word


def main() -> None:
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    gate = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["GADGET_LISTEN"].rsplit(":", 1)
    with socket.create_server((host, int(port))) as server:
        server.settimeout(PATIENCE_SECONDS)
        after = connect(os.environ["GADGET_NEXT"])
        before, _ = server.accept()
    before.settimeout(PATIENCE_SECONDS)
    if rank == 0 and gate is not None:
        (gate / f"{os.environ['GADGET_JOB']}.ready").touch()
        while not (gate / "go").exists():
            time.sleep(0.01)
    seconds: list[float] = []
    while True:
        is_over = len(seconds) >= rounds if gate is None else (gate / "stop").exists()
        if agree(before, after, rank, STOP if is_over else GO) == STOP:
            break
        start = time.monotonic()
        go_round(before, after, size, bytes(count // size))
        seconds.append(time.monotonic() - start)
    if rank == 0:
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
