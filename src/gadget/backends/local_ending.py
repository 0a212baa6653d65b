"""The end of services that are gone: what they left on this machine, found by the name that they gave it."""

import signal
from pathlib import Path

from gadget.backends.local_processes import find_by_environment, send
from gadget.backends.netns import remove_namespaces, why_no_tools
from gadget.backends.ring_folder import RingFolder


def end_instance(instance: str) -> None:
    """End every process of a service that is gone, and remove its network."""
    for process, _ in find_by_environment({"GADGET_INSTANCE": instance}):
        send(process, signal.SIGKILL)
    if not why_no_tools():
        remove_namespaces(instance)


def clear_folder(path: Path) -> None:
    """End all that was ever started from this folder, by whatever service; BadOption if one runs."""
    folder = RingFolder(path)
    folder.open()
    try:
        for instance in folder.former_instances(""):
            end_instance(instance)
    finally:
        folder.close()
