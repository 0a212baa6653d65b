"""A worker that only moves bytes as a ring-all-reduce does: 2(w−1) steps, in each a chunk of d/w to the next.

Standard library alone, so that it is up at once. Rank 0 prints the seconds of every round as a JSON list.
`python ring_bytes.py BYTES ROUNDS`, in the environment of a worker.
"""

import json
import os
import socket
import sys
import threading
import time

PATIENCE_SECONDS = 30.0


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


def receive(before: socket.socket, count: int) -> None:
    got = 0
    while got < count:
        piece = len(before.recv(min(1 << 16, count - got)))
        if not piece:
            raise ConnectionError("the previous rank has gone")
        got += piece


def go_round(before: socket.socket, after: socket.socket, size: int, chunk: bytes) -> None:
    """Share-reduce and share-only: what is sent in a step was received in the one before."""
    for _ in range(2 * (size - 1)):
        sending = threading.Thread(target=after.sendall, args=(chunk,))
        sending.start()
        receive(before, len(chunk))
        sending.join()


def main() -> None:
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["GADGET_LISTEN"].rsplit(":", 1)
    with socket.create_server((host, int(port))) as server:
        server.settimeout(PATIENCE_SECONDS)
        after = connect(os.environ["GADGET_NEXT"])
        before, _ = server.accept()
    before.settimeout(PATIENCE_SECONDS)
    seconds = []
    for _ in range(rounds):
        go_round(before, after, size, b"x")  # nobody begins before everybody is there
        start = time.monotonic()
        go_round(before, after, size, bytes(count // size))
        seconds.append(time.monotonic() - start)
    if rank == 0:
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
