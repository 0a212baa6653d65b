"""show, check, schema, solve and preview on good and bad files."""

import io
import json
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from gadget.cli.console import show_decision
from gadget.model.codec import read_decision, read_scenario, write
from gadget.model.decision import Decision, Reason, Status, Waiting
from gadget.model.ring import Allocation
from tests.unit.cli.conftest import Gadget


@pytest.fixture
def scenario(gadget: Gadget) -> Path:
    path = Path("scenario.yaml")
    gadget("generate", "paper", "--servers", 12, "--jobs", 8, "--slots", 6, "--seed", 4, "-o", path)
    return path


@pytest.fixture
def snapshot(scenario: Path) -> Path:
    path = Path("snapshot.json")
    write(path, read_scenario(scenario).snapshot(5))
    return path


@pytest.fixture
def decision(gadget: Gadget, snapshot: Path) -> Path:
    path = Path("decision.json")
    assert gadget("solve", snapshot, "-o", path).code == 0
    return path


def test_solve_prints_the_decision_as_json_and_nothing_else(gadget: Gadget, snapshot: Path) -> None:
    ended = gadget("solve", snapshot, "--json", "--seed", 7, "--time-limit", 1, "--gap", 0.01)
    assert (ended.code, ended.err) == (0, "")
    printed = json.loads(ended.out)
    jsonschema.validate(printed, json.loads(gadget("schema", "decision").out))
    assert (printed["seed"], printed["slot"], printed["policy"]) == (7, 5, "gadget")
    assert printed["rings"]


def test_solve_hands_the_placement_to_the_policy(gadget: Gadget, snapshot: Path) -> None:
    by_option = json.loads(
        gadget("solve", snapshot, "--policy", "fifo", "--placement", "gadget", "--json").out
    )
    by_name = json.loads(gadget("solve", snapshot, "--policy", "fifo:placement=gadget", "--json").out)
    assert by_option["rings"] == by_name["rings"] != []
    assert gadget("solve", snapshot, "--placement", "best").code == 2


def test_solve_shows_people_rings_and_reasons(gadget: Gadget, decision: Path, snapshot: Path) -> None:
    ended = gadget("solve", snapshot)
    for ring in read_decision(decision).allocation.rings:
        assert ring.job in ended.out
    assert "objective" in ended.out


def shown(width: int, *, bound: float | None, objective: float = 99.5) -> str:
    """What is printed of a decision without rings."""
    text = io.StringIO()
    detail = "gpu is taken; its best ring, of 2, would gain 3; 1 more gpu on s3 will do"
    waiting = (Waiting("somebody", Reason.CAPACITY, detail),)
    made = Decision(0, "gadget", Allocation(), waiting, objective, bound, Status.CERTIFIED)
    show_decision(Console(file=text, width=width), made)
    return text.getvalue()


@pytest.mark.parametrize(
    ("objective", "bound", "said"),
    [
        (99.5, 100.0, "gadget: objective 99.5, bound 100, gap 0.500% (certified)"),
        (100.0, 100.0, "gadget: objective 100, bound 100 (certified)"),
        (0.0, 0.0, "gadget: objective 0, bound 0 (certified)"),
        (-2.0, 0.0, "gadget: objective -2, bound 0 (certified)"),
        (99.5, None, "gadget: objective 99.5, no bound (certified)"),
    ],
)
def test_the_gap_is_told_in_percent_of_the_bound(objective: float, bound: float | None, said: str) -> None:
    assert said in shown(120, objective=objective, bound=bound)


def test_long_reasons_wrap_beside_whole_names() -> None:
    lines = [line.rstrip() for line in shown(50, bound=None).splitlines()]
    first = next(
        place for place, line in enumerate(lines) if line.startswith("somebody  capacity  gpu is taken;")
    )
    wrapped = lines[first + 1 : first + 3]
    assert all(line.startswith(" " * len("somebody  capacity  ")) for line in wrapped)
    assert "on s3" in " ".join(wrapped)


def test_a_scenario_can_be_solved_at_a_slot_but_not_taken_for_a_snapshot(
    gadget: Gadget, scenario: Path
) -> None:
    assert gadget("solve", scenario, "--slot", 5).code == 0
    beyond = gadget("solve", scenario, "--slot", 6)
    assert (beyond.code, "slots 0 … 5" in beyond.err) == (2, True)
    bare = gadget("solve", scenario)
    assert (bare.code, bare.out) == (2, "")
    assert "scenario.yaml: slot is missing" in bare.err
    assert "--slot" in bare.err


def test_check_accepts_what_solve_made(gadget: Gadget, snapshot: Path, decision: Path) -> None:
    ended = gadget("check", snapshot, decision)
    assert ended.code == 0
    assert ended.out.startswith("feasible: ")


def test_check_prints_every_violation_and_exits_with_1(
    gadget: Gadget, snapshot: Path, decision: Path
) -> None:
    spoilt = json.loads(decision.read_text())
    spoilt["rings"][0]["workers"] = ["nowhere"]
    spoilt["rings"][0]["routes"] = []
    spoilt["objective"] += 1
    decision.write_text(json.dumps(spoilt))
    ended = gadget("check", snapshot, decision)
    assert ended.code == 1
    assert "violated: unknown name" in ended.out
    assert "violated: claim objective" in ended.out


def test_show_sums_up_and_draws(gadget: Gadget, scenario: Path) -> None:
    ended = gadget("show", scenario, "--picture", "cluster.svg")
    assert ended.code == 0
    assert "12" in ended.out
    assert Path("cluster.svg").read_text().startswith("<?xml")


def test_preview_decides_the_first_slots_and_draws_the_last(gadget: Gadget, scenario: Path) -> None:
    first = min(job.arrival for job in read_scenario(scenario).jobs)
    ended = gadget("preview", scenario, "--slots", 2, "--picture", "rings.png")
    assert ended.code == 0
    assert f"Slot {first}:" in ended.out
    assert f"Slot {first + 1}:" in ended.out
    assert f"Slot {first + 2}:" not in ended.out
    assert Path("rings.png").read_bytes().startswith(b"\x89PNG")


def test_names_that_look_like_markup_are_printed_as_they_are(gadget: Gadget, snapshot: Path) -> None:
    snapshot.write_text(snapshot.read_text().replace('"job-0"', '"[red]job[/] :smile:"'))
    assert "[red]job[/] :smile:" in gadget("solve", snapshot).out


@pytest.mark.parametrize("kind", ["scenario", "snapshot", "decision"])
def test_the_schemas_are_valid_and_accept_our_files(
    gadget: Gadget, kind: str, scenario: Path, snapshot: Path, decision: Path
) -> None:
    schema = json.loads(gadget("schema", kind).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    gadget("generate", "paper", "--jobs", 3, "-o", "scenario.json")
    jsonschema.validate(json.loads(Path(f"{kind}.json").read_text()), schema)


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "missing.json"),
        ("solve", "."),
        ("solve", "junk.yaml"),
        ("solve", "empty.json"),
        ("show", "junk.yaml"),
        ("preview", "empty.json"),
        ("check", "junk.yaml", "empty.json"),
        ("solve", "snapshot.json", "--policy", "nobody"),
        ("solve", "snapshot.json", "--seed", "-1"),
        ("solve", "snapshot.json", "--picture", "x.bmp"),
        ("schema", "nothing"),
        ("frobnicate",),
        ("solve",),
    ],
)
def test_bad_input_ends_with_2_one_message_and_no_traceback(
    gadget: Gadget, snapshot: Path, arguments: tuple[str, ...]
) -> None:
    Path("junk.yaml").write_bytes(bytes(range(256)))
    Path("empty.json").write_bytes(b"")
    ended = gadget(*arguments)
    assert ended.code == 2
    assert ended.err.strip()
    assert "Traceback" not in ended.err
    assert not list(Path().glob("*.part"))


def test_every_help_text_has_an_example(gadget: Gadget) -> None:
    commands = [[], ["solve"], ["check"], ["show"], ["schema"], ["preview"], ["generate"]]
    commands += [["generate", kind] for kind in ("paper", "fat-tree", "leaf-spine", "torus", "ring4")]
    for command in commands:
        ended = gadget(*command, "--help")
        assert ended.code == 0
        assert "Example:  gadget " in ended.out, command


def test_the_version_is_printed(gadget: Gadget) -> None:
    assert gadget("--version").out.startswith("gadget 0.")
