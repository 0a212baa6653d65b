"""The program that speaks to Ray for the service: `python -m gadget.backends.ray_driver` (see `ray_link`).

Ray ends a process whose head is gone, and takes over signals and threads of the one that it lives in; so it
has a process of its own. It reads requests from its input and writes answers and news, a JSON object a line:

requests    {"id": N, "do": "start" | "adopt" | "call" | "end" | "clear" | "nodes", ...}
answers     {"id": N, "answer": ...} or {"id": N, "error": TEXT}
news        {"news": "nodes", "nodes": [...]} every second
            {"news": "rank", "space": NAMESPACE, "name": ACTOR, "state": {...} or "dead": TEXT}
            {"news": "failed", "why": TEXT, "refused": BOOL} as its last word, if it cannot connect
"""

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gadget.backends.ray_rank import Rank

_BEAT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_ADOPT_SECONDS = 10.0
_TASK_SECONDS = 60.0
_CONCURRENCY = 16


@dataclass(slots=True)
class _Watched:
    """An actor that is followed, and how far it was."""

    space: str
    name: str
    actor: Any
    seen: int = -1


class Driver:
    """A connection to a Ray cluster, and the rank actors that it follows."""

    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell
        # Nodes need nothing of this package: what an actor is made of goes there with it.
        ray.cloudpickle.register_pickle_by_value(sys.modules["gadget"])
        self._rank = ray.remote(Rank)
        self._watched: dict[Any, _Watched] = {}
        self._actors: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        self._free: dict[str, dict[str, float]] | None = None
        self._is_looking = threading.Event()

    def run(self, requests: Iterator[str]) -> None:
        """Answer what is asked."""
        for work in (self._beat, self._look):
            threading.Thread(target=self._for_ever, args=(work,), daemon=True).start()
        deeds: dict[str, Callable[..., Any]] = {
            "start": self._start,
            "adopt": self._adopt,
            "call": self._call,
            "end": self._end,
            "clear": self._clear,
            "nodes": self._list_nodes,
        }
        for line in requests:
            request = json.loads(line)
            number, deed = request.pop("id"), deeds[request.pop("do")]
            try:
                self._tell({"id": number, "answer": deed(**request)})
            except Exception as error:  # whoever asked must hear of it, whatever it is
                self._tell({"id": number, "error": _first_line(error)})

    def _start(self, space: str, name: str, node: str, amounts: dict[str, float], spec: Any) -> None:
        rest = dict(amounts)
        actor = self._rank.options(
            name=name,
            namespace=space,
            lifetime="detached",
            # The order may have been heard although its answer was not.
            get_if_exists=True,
            max_restarts=0,
            max_concurrency=_CONCURRENCY,
            num_cpus=rest.pop("CPU", 0),
            num_gpus=rest.pop("GPU", 0),
            resources=rest,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(spec)
        self._watch(_Watched(space, name, actor))

    def _adopt(self, space: str) -> dict[str, Any]:
        """All ranks of a namespace with their states; None of those that do not say."""
        found = _find_actors(space)
        asked = {actor.state.remote(): name for name, actor in found.items()}
        ready = ray.wait(list(asked), num_returns=len(asked), timeout=_ADOPT_SECONDS)[0] if asked else []
        states: dict[str, Any] = dict.fromkeys(found)
        for ref in ready:
            try:
                states[asked[ref]] = ray.get(ref)
            except ray.exceptions.RayError:  # it died; the watch tells
                continue
        for name, actor in found.items():
            if (space, name) not in self._actors:
                self._watch(_Watched(space, name, actor))
        return states

    def _call(self, space: str, name: str, method: str, given: list[Any]) -> None:
        if (actor := self._actors.get((space, name))) is not None:
            getattr(actor, method).remote(*given)

    def _end(self, space: str, name: str) -> None:
        actor = self._actors.get((space, name))
        if actor is None:
            try:
                actor = ray.get_actor(name, namespace=space)
            except ValueError:
                self._tell({"news": "rank", "space": space, "name": name, "dead": "it is not there"})
                return
        ray.kill(actor, no_restart=True)

    def _clear(self, space: str) -> None:
        """End every rank of a namespace; nobody wants to hear of them."""
        for actor in _find_actors(space).values():
            ray.kill(actor, no_restart=True)

    def _watch(self, one: _Watched) -> None:
        with self._lock:
            self._actors[one.space, one.name] = one.actor
            self._watched[one.actor.follow.remote(one.seen)] = one

    def _look(self) -> None:
        with self._lock:
            refs = list(self._watched)
        if not refs:
            time.sleep(_LOOK_SECONDS)
            return
        for ref in ray.wait(refs, num_returns=1, timeout=_LOOK_SECONDS)[0]:
            with self._lock:
                one = self._watched.pop(ref)
            news = {"news": "rank", "space": one.space, "name": one.name}
            try:
                state = ray.get(ref)
            except ray.exceptions.ActorUnavailableError:
                # It may be there yet: if not, Ray says so of the next question.
                time.sleep(_LOOK_SECONDS)
                self._watch(one)
                continue
            except ray.exceptions.RayError as error:
                with self._lock:
                    self._actors.pop((one.space, one.name), None)
                self._tell({**news, "dead": _first_line(error)})
                continue
            one.seen = state["version"]
            self._tell({**news, "state": state})
            self._watch(one)

    def _beat(self) -> None:
        self._tell({"news": "nodes", "nodes": self._list_nodes()})
        time.sleep(_BEAT_SECONDS)

    def _list_nodes(self) -> list[dict[str, Any]]:
        self._look_at_use()
        free = self._free
        return [
            {
                "id": node["NodeID"],
                "address": node["NodeManagerAddress"],
                "alive": node["Alive"],
                "labels": node.get("Labels", {}),
                "amounts": node["Resources"],
                "free": None if free is None else free.get(node["NodeID"], {}),
                "why": node.get("DeathReasonMessage", ""),
            }
            for node in ray.nodes()
        ]

    def _look_at_use(self) -> None:
        """What is free on each node, by its id; as last known while nobody can tell."""
        if not ray.util.client.ray.is_connected():
            self._free = ray._private.state.available_resources_per_node()
        elif not self._is_looking.is_set():
            # Through the client port only tasks can look, and these wait for the runtime environment.
            self._is_looking.set()
            threading.Thread(target=self._ask_a_task, daemon=True).start()

    def _ask_a_task(self) -> None:
        try:
            look = ray.remote(num_cpus=0)(ray._private.state.available_resources_per_node)
            self._free = ray.get(look.remote(), timeout=_TASK_SECONDS)
        except Exception as error:  # said, and tried again with the next beat
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            self._is_looking.clear()

    def _for_ever(self, work: Callable[[], None]) -> None:
        while True:
            try:
                work()
            except Exception as error:  # said, and tried again: silence would mean that Ray is away
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                time.sleep(_BEAT_SECONDS)


def _find_actors(space: str) -> dict[str, Any]:
    """The actors of a namespace, by name."""
    found = {}
    for one in ray.util.list_named_actors(all_namespaces=True):
        if one["namespace"] == space:
            try:
                found[one["name"]] = ray.get_actor(one["name"], namespace=space)
            except ValueError:  # gone meanwhile
                continue
    return found


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:400]}"


def main() -> None:
    """Connect as the first line of the input says, and serve until it ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Ray prints is no answer
    mouth = threading.Lock()

    def tell(said: Mapping[str, Any]) -> None:
        with mouth:
            out.write(json.dumps(said) + "\n")

    first = json.loads(sys.stdin.readline())
    # From here on, so that nothing is done any more once nobody is there who asked for it.
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    try:
        ray.init(
            address=first["address"],
            runtime_env=first["runtime_env"] or None,
            log_to_driver=False,
            logging_level="warning",
        )
    except Exception as error:  # whatever it is, it is told
        traceback.print_exc()
        # A head that is not there may come; what it says against us stays.
        is_silent = isinstance(error, (ConnectionError, TimeoutError))
        tell({"news": "failed", "why": _first_line(error), "refused": not is_silent})
        os._exit(1)
    Driver(tell).run(iter(lines.get, None))


def _read(lines: "queue.SimpleQueue[str]") -> None:
    for line in iter(sys.stdin.readline, ""):
        lines.put(line)
    # Its actors are detached; a clean farewell could wait for a head that is gone.
    os._exit(0)


if __name__ == "__main__":
    main()
