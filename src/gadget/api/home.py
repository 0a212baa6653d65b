"""Where a service and those who call it on the same machine find each other.

One folder holds all that a service leaves: its journal, its logs, and these two files. It is `$GADGET_HOME`,
or `.gadget` in the home of the user: one place to look at, to back up and to remove.
"""

import os
from pathlib import Path

ADDRESS_FILE = "address"
"""Where the service listens: http://127.0.0.1:PORT."""
TOKEN_FILE = "token"
"""The token of the local user; nobody else may read the file."""


def find_home() -> Path:
    """The folder of this user's service."""
    given = os.environ.get("GADGET_HOME")
    return Path(given) if given else Path.home() / ".gadget"
