"""What the `gadget` command starts with: Ctrl-C is minded before the package, which takes a second to load.

It stands beside the package, so that not even the package's own first lines come before it.
"""

import os
import signal


def main() -> None:
    """Load the command line and run it; a signal before that ends the process at once, and quietly."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not as an exception: nothing is half done yet, and what is being imported might catch it.
        signal.signal(number, lambda caught, _: os._exit(128 + caught))
    from gadget.cli.main import main as run  # noqa: PLC0415 - after the above, which is the point

    run()


if __name__ == "__main__":
    main()
