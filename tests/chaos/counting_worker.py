"""A program of workers that counts, and writes down every number as it comes to it: arguments UNITS, SECONDS.

Rank 0 counts and saves every tenth number; the others are there. What it writes is what tests judge.
"""

import os
import sys
import time
from pathlib import Path

from gadget.worker import join


def main() -> None:
    units, seconds = int(sys.argv[1]), float(sys.argv[2])
    worker = join()
    folder = Path(os.environ["GADGET_CHECKPOINT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    book = os.open(folder / "book", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(word: str, number: int) -> None:
        os.write(book, f"{worker.ring} {word} {number}\n".encode())

    loaded = worker.load()
    done = 0 if loaded is None else int(loaded[1])
    if worker.rank:
        while not worker.should_leave and not (folder / "complete").exists():
            worker.alive()
            time.sleep(seconds)
        worker.leave() if worker.should_leave else worker.done(units)
        return
    write("from", done)
    worker.progress(done, done)
    while done < units:
        if worker.should_leave:
            worker.save(b"", done)
            write("saved", done)
            worker.leave()
        time.sleep(seconds)
        done += 1
        write("did", done)
        worker.progress(done, done)
        if done % 10 == 0:
            worker.save(b"", done)
            write("saved", done)
    (folder / "complete").touch()
    worker.done(units)


if __name__ == "__main__":
    main()
