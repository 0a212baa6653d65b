"""The command line, called as a user calls it, without the cost of a new process."""

import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gadget.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Gadget = Callable[..., Ended]


@pytest.fixture
def gadget(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Gadget]:
    """Run `gadget` with the given arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["gadget", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfdbinary.readouterr()
        code = ended.value.code
        assert isinstance(code, int | None)
        return Ended(code or 0, out.decode(), err.decode())

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
