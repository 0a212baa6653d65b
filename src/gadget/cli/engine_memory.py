"""Which engine a home has its rings on: what was said once holds for later starts.

Another engine, or another folder of it, knows nothing of the rings that run: they would run twice.
"""

from pathlib import Path

import msgspec

from gadget.errors import BadFile, BadOption
from gadget.files import write_whole

_FILE = "engine.json"


class EngineMemory(msgspec.Struct, frozen=True):
    """What was said at the last start."""

    engine: str
    address: str | None = None
    shared: str | None = None

    def describe(self) -> str:
        """As options."""
        return f"--engine {self.engine}" + (f" --shared {self.shared}" if self.shared else "")


def recall_engine(home: Path) -> EngineMemory | None:
    """What the home was last started with; None if it never was."""
    path = home / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=EngineMemory)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadFile(
            f"{path}: cannot be read ({error}). Move it away, and start with the engine of before."
        ) from None


def keep_engine(home: Path, now: EngineMemory, unfinished: int) -> None:
    """Keep what is said now; BadOption if rings of unfinished jobs may be elsewhere."""
    before = recall_engine(home)
    if before == now:
        return
    if before is not None and unfinished and (before.engine, before.shared) != (now.engine, now.shared):
        jobs = "a job is" if unfinished == 1 else f"{unfinished} jobs are"
        raise BadOption(
            f"{home}: {jobs} unfinished, with rings or checkpoints of {before.describe()}, and this is "
            f"{now.describe()}. Start it as before, or give another --home."
        )
    write_whole(home / _FILE, msgspec.json.encode(now))
