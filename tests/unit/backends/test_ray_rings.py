"""Rings on Ray when orders and answers are lost on the way; the other end of the line is written here."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gadget.backends.backend import (
    ClusterFound,
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    RingPhase,
    ServerWentAway,
)
from gadget.backends.ray_engine import RayBackend
from gadget.errors import BadOption, Unreachable
from tests.engines import TELL, Engine, build_cluster, build_launch

UP = {"version": 1, "pid": 7, "code": None, "ended": None, "why": "", "killed": False}


def tell_nodes(free: float = 4.0, **labels: str) -> list[dict[str, Any]]:
    """The servers of the tests' cluster, as the driver tells them; `free` are GPUs of s0."""
    return [
        {
            "id": f"id-{server.name}",
            "address": f"10.0.0.{place}",
            "alive": True,
            "labels": {"host": server.name, **labels},
            "amounts": {"GPU": server.resources["gpu"], "CPU": server.resources["cpu"]},
            "free": {"GPU": free if server.name == "s0" else server.resources["gpu"], "CPU": 8.0},
            "why": "",
        }
        for place, server in enumerate(build_cluster().servers)
    ]


class Line:
    """A line to a Ray that does what the test says."""

    address, has_runtime_dir, has_runtime_env = "ray:1", False, False

    def __init__(self) -> None:
        self.nodes = tell_nodes()
        self.trouble, self.is_refused, self.is_up = "", False, True
        self.actors: dict[str, dict[str, Any] | None] = {}
        """What Ray has, by name with their states."""
        self.asked: list[tuple[str, Any]] = []
        self.answer: Callable[[str, dict[str, Any]], None] = lambda do, given: None  # noqa: ARG005
        """Raises what goes wrong."""
        self.put: Callable[[dict[str, Any]], None] = print

    def subscribe(self, space: str, listener: Callable[[dict[str, Any]], None]) -> None:
        self.put = listener

    def unsubscribe(self, space: str) -> None: ...

    def wait_until_up(self, seconds: float) -> bool:
        return self.is_up

    def ask(self, do: str, **given: Any) -> Any:
        self.asked.append((do, given.get("name") or given.get("space")))
        self.answer(do, given)
        match do:
            case "adopt":
                return dict(self.actors)
            case "nodes":
                return self.nodes
            case "start":
                self.actors[given["name"]] = None
            case "call" if given["method"] == "kill":
                self.tell(given["name"], code=137)
            case "end" if given["name"] in self.actors:
                del self.actors[given["name"]]
                self.put({"news": "rank", "name": given["name"], "dead": "it was ended"})
        return None

    def tell(self, name: str, **state: Any) -> None:
        """What an actor says."""
        self.actors[name] = {**UP, **state}
        self.put({"news": "rank", "name": name, "state": self.actors[name]})

    def fall(self) -> None:
        self.put({"news": "away", "why": "the head is gone"})

    def rise(self) -> None:
        self.put({"news": "back"})
        self.put({"news": "nodes", "nodes": self.nodes})

    def count(self, do: str, name: str) -> int:
        return self.asked.count((do, name))


@contextmanager
def opened(line: Line, folder: Path, instance: str = "i", **said: Any) -> Iterator[Engine]:
    said.setdefault("cluster", build_cluster())
    engine = Engine(RayBackend(line, folder, instance, is_shared_link=True, **said))  # type: ignore[arg-type]
    try:
        yield engine
    finally:
        engine.backend.close(keep_rings=True)


def lose(do: str, given: dict[str, Any]) -> None:
    raise EngineAway("nobody answers")


def has(engine: Engine, kind: type) -> bool:
    return any(isinstance(one, kind) for one in list(engine.reports))


@pytest.mark.parametrize("heard", [0, 1, 2])
def test_a_ring_launched_as_the_head_goes_starts_once_when_it_is_back(tmp_path: Path, heard: int) -> None:
    line = Line()

    def forget_starts(do: str, given: dict[str, Any]) -> None:
        if do == "start" and given["name"] == f"job@1#{heard}":
            raise EngineAway("nobody answers")

    with opened(line, tmp_path) as engine:
        line.answer = forget_starts
        order = build_launch("job", 1, ["s0", "s1"], TELL)
        engine.backend.launch(order)
        # While nobody has said that Ray is away, it is tried again.
        engine.wait(lambda: line.count("start", f"job@1#{min(heard, 1)}") > (heard < 2))
        line.fall()
        engine.wait(lambda: has(engine, EngineWentAway))
        line.answer = lambda do, given: None  # noqa: ARG005
        if heard == 0:
            # The answer was lost, and not the order.
            line.actors["job@1#0"] = UP
        line.rise()
        engine.wait(lambda: has(engine, EngineCameBack))
        engine.wait(lambda: set(line.actors) == {"job@1#0", "job@1#1"})
        for rank in (0, 1):
            line.tell(f"job@1#{rank}")
        engine.wait_for(order.key, RingPhase.RUNNING)
        assert heard == 0 or line.count("start", "job@1#0") == 1
        for rank in (0, 1):
            line.tell(f"job@1#{rank}", code=0)
        assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED
        assert line.actors == {}


def test_an_actor_of_no_ring_that_speaks_is_ended(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path) as engine:
        line.tell("other@1#0")
        engine.wait(lambda: line.count("end", "other@1#0"))
        assert line.actors == {}


def test_orders_that_went_with_the_head_are_given_again(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path) as engine:
        orders = {name: build_launch(name, 1, ["s0"], TELL) for name in ("asked", "broken", "done")}
        for name, order in orders.items():
            engine.backend.launch(order)
            engine.wait(lambda name=name: f"{name}@1#0" in line.actors)
            line.tell(f"{name}@1#0")
            engine.wait_for(order.key, RingPhase.RUNNING)
        # Ray hears nothing of this, and nobody knows.
        kept = dict(line.actors)
        engine.dismiss(orders["asked"].key, 60)
        engine.wait(lambda: line.count("call", "asked@1#0") == 1)
        line.tell("done@1#0", code=0)
        engine.wait(lambda: line.count("end", "done@1#0") == 1)
        line.fall()
        engine.wait(lambda: has(engine, EngineWentAway))
        line.actors = kept | {"done@1#0": {**UP, "code": 0}}
        line.rise()
        engine.wait(lambda: line.count("call", "asked@1#0") == 2)
        assert engine.wait_until_over(orders["done"].key).phase is RingPhase.FINISHED
        line.tell("asked@1#0", code=75)
        assert engine.wait_until_over(orders["asked"].key).phase is RingPhase.STOPPED
        assert engine.phases(orders["broken"].key) == [RingPhase.RUNNING]


@pytest.mark.parametrize("error", [EngineAway("silent again"), RuntimeError("Ray says no"), KeyError("odd")])
def test_coming_back_is_tried_until_it_succeeds(tmp_path: Path, error: Exception) -> None:
    line = Line()
    with opened(line, tmp_path) as engine:
        line.fall()
        engine.wait(lambda: has(engine, EngineWentAway))
        line.actors["stray@1#0"] = UP

        def refuse(do: str, given: dict[str, Any]) -> None:
            if do == "end":
                raise error

        line.answer = refuse
        line.rise()
        engine.wait(lambda: line.count("end", "stray@1#0"))
        assert not has(engine, EngineCameBack)
        line.answer = lambda do, given: None  # noqa: ARG005
        line.rise()
        engine.wait(lambda: has(engine, EngineCameBack))
        assert line.actors == {}


def test_the_watch_survives_news_that_it_cannot_take(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path) as engine:
        line.put({"news": "nodes", "nodes": [{"id": "no node at all"}]})
        gone = tell_nodes()
        gone[0]["alive"] = False
        line.put({"news": "nodes", "nodes": gone})
        engine.wait(lambda: has(engine, ServerWentAway))
        assert not has(engine, EngineWentAway)


@pytest.mark.parametrize("error", [EngineAway("it fell silent"), RuntimeError("Ray says no")])
def test_a_ray_that_falls_silent_at_the_start_is_away_or_said_in_words(
    tmp_path: Path, error: Exception
) -> None:
    line = Line()

    def refuse(do: str, given: dict[str, Any]) -> None:
        raise error

    line.answer = refuse
    with pytest.raises(Unreachable, match=str(error)):
        RayBackend(line, tmp_path, "i", is_shared_link=True).open(print)  # type: ignore[arg-type]
    with opened(line, tmp_path) as engine:
        with pytest.raises(EngineAway):
            engine.backend.survey()
        line.answer = lambda do, given: None  # noqa: ARG005
        line.rise()
        engine.wait(lambda: has(engine, EngineCameBack))
        assert engine.backend.survey() == []


def test_what_ray_says_against_us_ends_the_start_also_where_servers_are_known(tmp_path: Path) -> None:
    line = Line()
    line.is_up, line.is_refused, line.trouble = False, True, "Ray has another version"
    with pytest.raises(BadOption, match="another version"), opened(line, tmp_path):
        pass


def test_a_ring_that_has_finished_stays_so_when_the_service_dies_before_its_actors_are_ended(
    tmp_path: Path,
) -> None:
    line = Line()
    order = build_launch("job", 1, ["s0"], TELL)
    with opened(line, tmp_path) as engine:
        engine.backend.launch(order)
        engine.wait(lambda: line.actors)
        line.tell("job@1#0")
        engine.wait_for(order.key, RingPhase.RUNNING)

        def lose_ends(do: str, given: dict[str, Any]) -> None:
            if do == "end":
                lose(do, given)

        line.answer = lose_ends
        line.tell("job@1#0", code=0)
        engine.wait(lambda: line.count("end", "job@1#0"))
    line.answer, line.actors = lambda do, given: None, {}  # noqa: ARG005
    with opened(line, tmp_path) as again:
        assert again.surveyed() == {order.key: RingPhase.FINISHED}


def test_what_a_service_before_this_one_left_is_ended(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path, "first"):
        assert line.count("clear", "gadget-first") == 0
    # Its journal is lost, and Ray is away at the next start.
    line.answer = lose
    with opened(line, tmp_path, "second") as engine:
        line.answer = lambda do, given: None  # noqa: ARG005
        line.asked.clear()
        line.rise()
        engine.wait(lambda: has(engine, EngineCameBack))
        assert line.count("clear", "gadget-first") == 1
    with opened(line, tmp_path, "second"):
        assert line.count("clear", "gadget-first") == 1


def test_a_ring_without_room_is_taken_back_and_what_others_have_is_told_as_lost(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path, room_seconds=0.5) as engine:
        full = tell_nodes(free=0)
        # Others have taken all of s0 just before the launch.
        for _ in range(2):
            line.put({"news": "nodes", "nodes": full})
        order = build_launch("job", 1, ["s1", "s0"], TELL)
        engine.backend.launch(order)
        engine.wait(lambda: len(line.actors) == 2)
        line.tell("job@1#0")

        def look() -> bool:
            line.put({"news": "nodes", "nodes": full})
            return RingPhase.TAKEN in engine.phases(order.key)

        engine.wait(look)
        assert engine.wait_until_over(order.key).reason == "Ray has no room for it on s0"
        told = [one.cluster for one in engine.reports if isinstance(one, ClusterFound)]
        assert told[-1].server_by_name["s0"].resources["gpu"] == 0
        assert line.actors == {}


def test_the_share_of_a_file_holds_for_starts_without_one(tmp_path: Path) -> None:
    line = Line()
    with opened(line, tmp_path) as engine:
        assert engine.inventory.cluster == build_cluster()
    line.nodes = [*tell_nodes(), {**tell_nodes()[0], "id": "x", "labels": {"host": "not-ours"}}]
    line.nodes[0]["amounts"] = line.nodes[0]["free"] = {"GPU": 8, "CPU": 64}
    with opened(line, tmp_path, cluster=None, known=build_cluster()) as engine:
        assert engine.inventory.cluster == build_cluster()
    with opened(line, tmp_path, "other", cluster=None) as engine:
        assert "not-ours" in engine.inventory.cluster.server_by_name


def test_ports_are_given_in_turn_whatever_is_found_and_services_begin_apart(tmp_path: Path) -> None:
    ports: dict[str, list[str]] = {}
    for instance in ("one", "two"):
        line = Line()

        def note(do: str, given: dict[str, Any], instance: str = instance) -> None:
            if do == "start":
                ports.setdefault(instance, []).append(given["spec"]["env"]["GADGET_LISTEN"])

        with opened(line, tmp_path / instance, instance) as engine:
            line.answer = note
            for number in (1, 2):
                order = build_launch("job", number, ["s0"], TELL)
                engine.backend.launch(order)
                engine.wait(lambda line=line: line.actors)
                line.tell(f"job@{number}#0", code=0)
                engine.wait_until_over(order.key)
                more = tell_nodes()
                more[0]["address"] = f"10.0.0.{number + 20}"
                line.put({"news": "nodes", "nodes": more})
    numbers = [listen.rpartition(":")[2] for listen in (*ports["one"], *ports["two"])]
    assert len(set(numbers)) == 4


def test_an_adopted_rank_that_does_not_answer_is_asked_before_it_is_ended(tmp_path: Path) -> None:
    line = Line()
    order = build_launch("job", 1, ["s0"], TELL)
    with opened(line, tmp_path) as engine:
        engine.backend.launch(order)
        engine.wait(lambda: line.actors)
    line.asked.clear()
    with opened(line, tmp_path) as engine:
        engine.dismiss(order.key, 60)
        engine.wait(lambda: line.count("call", "job@1#0"))
        assert not line.count("end", "job@1#0")


def test_the_wish_to_leave_is_written_down_by_a_clock_that_all_machines_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line()
    order = build_launch("job", 1, ["s0"], TELL)
    with opened(line, tmp_path) as engine:
        engine.backend.launch(order)
        engine.wait(lambda: line.actors)
        line.tell("job@1#0")
        engine.wait_for(order.key, RingPhase.RUNNING)
        engine.dismiss(order.key, 60)
        engine.wait_for(order.key, RingPhase.STOPPING)
    seconds: list[float] = []
    line.answer = lambda do, given: seconds.extend(given["given"]) if do == "call" else None
    # Another machine, which has run for long.
    began = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: began() + 1e6)
    with opened(line, tmp_path) as engine:
        engine.wait(lambda: seconds)
    assert seconds == [pytest.approx(60, abs=10)]
