"""Every command that the documentation shows is run here, and prints what the page says it prints.

In a page, a ```console block is a session: lines behind `$ ` are run, lines below them are compared with the
output, where `...` stands for anything. A comment `# exits with N` tells an exit code. A block behind
`<!-- file: NAME -->` is a file that the reader is asked to write.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL)
EXIT = re.compile(r"# exits with (\d+)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a session with the output shown below it."""
    command: str | None = None
    shown: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(shown)
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command is not None:
        yield command, "\n".join(shown)


def matches(shown: str, printed: str) -> bool:
    # Blanks at the end of a line are nothing that a reader sees.
    seen = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    return re.fullmatch(pattern, seen, re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_shown_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "120",
    }
    for block in BLOCK.finditer(page.read_text()):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["body"])
        if block["language"] != "console":
            continue
        for command, shown in commands(block["body"]):
            ended = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                text=True,
                timeout=300,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            expected = int(found[1]) if (found := EXIT.search(command)) else 0
            assert ended.returncode == expected, f"{command}\n{ended.stdout}"
            assert matches(shown, ended.stdout), f"{command}\nshown:\n{shown}\nprinted:\n{ended.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_matcher_can_say_no() -> None:
    assert matches("a ... c", "a b c")
    assert not matches("a ... d", "a b c")
    assert matches("a\nb", "a  \nb\n")
    assert not matches("a\nb", "a  b")
    assert not matches("", "something")


def test_the_picture_of_the_readme_is_what_its_commands_draw(tmp_path: Path) -> None:
    found = re.findall(
        r"^\$ (gadget generate .*|gadget solve .*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(
        ["bash", "-ec", "\n".join(found)], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    shown = (ROOT / "docs/images/rings.svg").read_text()

    # Digits of coordinates may differ in the last place between machines; texts and colours may not.
    def words(text: str) -> list[str]:
        return re.findall(r"<text[^>]*>([^<]*)<", text)

    assert words((tmp_path / "rings.svg").read_text()) == words(shown)
    assert "22 rings" in " ".join(words(shown))
