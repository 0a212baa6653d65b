"""Where the contract of engines is tried: services of one instance on one engine, and what may befall it."""

import signal
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gadget.backends.local import LocalBackend
from gadget.backends.netns import list_namespaces
from tests.engines import Engine, build_backend, build_cluster, find_workers
from tests.engines_ray import RayCluster
from tests.engines_slurm import SlurmCluster


@dataclass
class Bench:
    """Makes services one after another; what a test breaks, `mend` makes whole."""

    kind: str
    folder: Path
    ray: RayCluster | None = None
    slurm: SlurmCluster | None = None
    instance: str = field(default_factory=lambda: uuid.uuid4().hex)
    engines: list[Engine] = field(default_factory=list)
    _hurt: list[str] = field(default_factory=list)

    def open(self) -> Engine:
        link = None if self.ray is None else self.ray.link
        engine = Engine(build_backend(self.kind, self.folder, self.instance, link))
        self.engines.append(engine)
        return engine

    def close(self) -> None:
        """End all services, and all that they left; nothing of them may be there afterwards."""
        for engine in self.engines:
            engine.backend.close(keep_rings=True)
        last = self.open()
        last.backend.close(keep_rings=False)
        assert find_workers(self.instance) == []
        if self.kind == "local-namespaces":
            assert list_namespaces(self.instance) == []

    def find(self, pattern: str) -> list[Path]:
        """Files that workers wrote beside their checkpoints."""
        return sorted(self.folder.rglob(pattern))

    def kill_server(self, name: str) -> None:
        """As when its power fails."""
        self._hurt.append(name)
        if self.ray is not None:
            self.ray.end_node(name)
        elif self.slurm is not None:
            self.slurm.kill_node(name)
        else:
            self._local().fail_server(name)

    def stop_server(self, name: str) -> None:
        """As when it hangs: nothing of it answers, nothing of it ends."""
        self._hurt.append(name)
        if self.ray is not None:
            self.ray.signal_raylet(name, signal.SIGSTOP)
        else:
            assert self.slurm is not None
            self.slurm.pause_node(name)

    def mend(self) -> None:
        """Bring all servers back."""
        hurt, self._hurt = self._hurt, []
        if self.ray is not None:
            for name in hurt:
                self.ray.end_node(name)
            for name in hurt:
                self.ray.start_node(name)
            self.ray.wait_for_nodes()
        elif self.slurm is not None:
            self.slurm.resume_nodes()
            for name in hurt:
                self.slurm.ensure_node(name)
        else:
            for name in hurt:
                self._local().return_server(name)

    def stop_engine(self) -> None:
        """The engine itself answers no more."""
        if self.ray is not None:
            self.ray.kill_head()
        else:
            assert self.slurm is not None
            self.slurm.stop_controller()

    def start_engine(self) -> None:
        """It is back: Slurm with its jobs; Ray, whose nodes end with their head, with new nodes."""
        if self.ray is None:
            assert self.slurm is not None
            self.slurm.start_controller()
            return
        names: Sequence[str] = [server.name for server in build_cluster().servers]
        for name in names:
            self.ray.end_node(name)
        self.ray.start_head()
        for name in names:
            self.ray.start_node(name)
        self.ray.wait_for_nodes()

    def _local(self) -> LocalBackend:
        backend = self.engines[-1].backend
        assert isinstance(backend, LocalBackend)
        return backend
