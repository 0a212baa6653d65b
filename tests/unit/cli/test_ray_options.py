"""What the operator says of a Ray cluster is checked before anything waits for it."""

from pathlib import Path
from typing import Any

import pytest

from gadget.cli.ray_engine import check_address, read_runtime_env
from gadget.errors import BadOption


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "head:6379", "ray://head:10001", "[::1]:6379"])
def test_addresses_of_heads_are_taken(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "http://10.0.0.1:8265", "ray://10.0.0.1", ":6379", "head:ray", "head:70000", ""]
)
def test_what_is_no_address_of_a_head_is_refused_with_one_that_is(address: str) -> None:
    with pytest.raises(BadOption, match="HOST:6379"):
        check_address(address)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("pip: needs.txt", {"pip": "HERE/needs.txt"}),
        ("uv: needs.txt", {"uv": "HERE/needs.txt"}),
        (
            "pip: {packages: needs.txt, pip_check: true}",
            {"pip": {"packages": "HERE/needs.txt", "pip_check": True}},
        ),
        ("pip: [torch, a.txt]", {"pip": ["torch", "a.txt"]}),
        ("conda: env.yml", {"conda": "HERE/env.yml"}),
        ("conda: installed", {"conda": "installed"}),
        ("conda: {dependencies: [b.txt]}", {"conda": {"dependencies": ["b.txt"]}}),
        ("py_modules: [mine, s3://b/m.zip]", {"py_modules": ["HERE/mine", "s3://b/m.zip"]}),
        ("working_dir: .", {"working_dir": "HERE"}),
    ],
)
def test_paths_in_a_runtime_environment_are_seen_from_its_file(
    tmp_path: Path, said: str, meant: dict[str, Any]
) -> None:
    path = tmp_path / "env.yaml"
    path.write_text(f"{said}\n")

    def place(value: Any) -> Any:
        match value:
            case str():
                return value.replace("HERE", str(tmp_path))
            case list():
                return [place(one) for one in value]
            case dict():
                return {name: place(one) for name, one in value.items()}
        return value

    assert read_runtime_env(path) == place(meant)
