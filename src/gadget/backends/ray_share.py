"""Our share of a Ray cluster, as a file said it: kept for starts that do not say it again."""

from pathlib import Path

from gadget.errors import BadFile
from gadget.model.cluster import Cluster
from gadget.model.codec import read_cluster, write
from gadget.model.snapshot import Scenario


def keep_share(folder: Path, instance: str, cluster: Cluster) -> None:
    """Write down what is ours."""
    write(_path(folder, instance), Scenario(cluster, (), 1, 1.0))


def find_share(folder: Path, instance: str) -> Cluster | None:
    """What was ours when this service was last started with a file; None if it never was."""
    path = _path(folder, instance)
    try:
        return read_cluster(path) if path.exists() else None
    except BadFile as error:
        raise BadFile(f"{error} Or give the servers again: --cluster.") from None


def _path(folder: Path, instance: str) -> Path:
    return folder / f"share-{instance}.json"
