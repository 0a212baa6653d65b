"""What a reader is told besides the file."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Each format takes those that mean something to it."""

    levels: tuple[str, ...] = ()
    """Kubernetes: node labels from the top of the network down, or one of the presets."""
    nodes: Path | None = None
    """Volcano: the nodes that patterns and labels choose from, as `kubectl get nodes -o json` tells them."""
    topology: str | None = None
    """Slurm's topology.yaml: which of its topologies."""
    join: str | None = None
    """The switch above parts that the file leaves apart."""


DEFAULT_OPTIONS = ReadOptions()
