"""What a reader says of a bad file, caught and checked for form."""

import pytest

from gadget import BadFile, read_decision, read_scenario, read_snapshot

READERS = {"scenario": read_scenario, "snapshot": read_snapshot, "decision": read_decision}


def complaint(folder, text, name="bad.yaml", kind="scenario"):
    """What is said of a file, from its name on; always one line that a terminal can print."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadFile) as caught:
        READERS[kind](path)
    said = str(caught.value)
    assert said.startswith(str(folder))
    assert said.isprintable()
    assert said.endswith(".")
    return said.removeprefix(f"{folder}/")


def changed(text, old, new):
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)
