"""What can go wrong, as a tree.

GadgetError              anything this package raises on purpose
├── BadInput             the caller can mend it; the command line exits with 2
│   ├── InvalidValue     a value that breaks its own rules (also a ValueError)
│   ├── BadFile          a file that cannot be read as what it should be
│   │   └── BadJournal   a journal that is damaged, or of a newer release
│   ├── JournalTaken     a journal that another process has, or has written to
│   ├── BadOption        options that do not go together or name nothing known
│   └── Unreachable      the service is not there, or does not let the caller in
├── Refused              the service understood, and the answer is no
├── JournalFailed        the journal cannot be written to or read now: no room, no permission, a broken disk
├── ImpossibleEvent      an event that cannot follow the state it meets
├── BrokenConstraint     a policy or the engine broke what must always hold: a fault in it, not in the input
├── SolverFailed         a solver gave up on a program that it should solve
└── MissingPackage       an optional package is not installed (also an ImportError)
"""


class GadgetError(Exception):
    """Anything this package raises on purpose; its message is one printable line, whatever is in it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """The text with everything that could move a terminal's cursor or hide characters written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class BadInput(GadgetError):
    """Something the caller gave cannot be used; the message says what, where and how to mend it."""


class InvalidValue(BadInput, ValueError):
    """A value breaks its own rules.

    `key` is where, seen from the value that raised; `within` moves it into a larger one.
    """

    def __init__(self, key: str, problem: str, mend: str) -> None:
        super().__init__(f"{key} {problem}. {mend}." if key else f"{problem}. {mend}.")
        self.key = key
        self.problem = problem
        self.mend = mend

    def __reduce__(self) -> tuple[type["InvalidValue"], tuple[str, str, str]]:
        return type(self), (self.key, self.problem, self.mend)

    def within(self, prefix: str) -> "InvalidValue":
        """The same complaint about the value found at `prefix` of a larger value."""
        glue = "." if self.key and not self.key.startswith("[") else ""
        return InvalidValue(f"{prefix}{glue}{self.key}", self.problem, self.mend)


class BadFile(BadInput):
    """A file cannot be read as what it should be."""


class BadJournal(BadFile):
    """A journal is damaged, or a newer release wrote it; nothing of it was changed."""


class JournalTaken(BadInput):
    """Another process has the journal, or has written to it."""


class JournalFailed(GadgetError):
    """The journal cannot be written to or read now; nothing is half written, and it may be tried again."""


class BadOption(BadInput):
    """Options that do not go together, or a name that is not known."""


class Unreachable(BadInput):
    """The service is not there or does not let the caller in; the message says what to do about it."""


class Refused(GadgetError):
    """The service understood what was asked, and the answer is no."""


class ImpossibleEvent(GadgetError):
    """An event that cannot follow the state it meets."""


class BrokenConstraint(GadgetError):
    """A policy or the engine broke what must always hold; the fault is in it, not in the input."""


class MissingPackage(GadgetError, ImportError):
    """An optional package is needed and not installed."""


class SolverFailed(GadgetError):
    """A solver gave up on a program that it should solve."""
