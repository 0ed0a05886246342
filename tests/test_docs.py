"""The docs say what the code does: reference pages, links, the console blocks, the picture."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.tool import load

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
)


def test_the_reference_is_what_the_code_says() -> None:
    for name, text in load("build_docs").pages().items():
        written = (ROOT / "docs" / "reference" / name).read_text()
        assert written == text, f"{name} is stale: run `make docs`"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_first_screen_of_the_readme_names_the_two_commands() -> None:
    first = "\n".join((ROOT / "README.md").read_text().splitlines()[:25])
    for command in ("make demo", "make test", "pipx install 'kinen[all]'"):
        assert command in first


def console_blocks() -> list[list[str]]:
    texts = [(ROOT / page).read_text() for page in ("README.md", "docs/guides/start.md")]
    return [
        block.strip().splitlines()
        for text in texts
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("block", console_blocks(), ids=lambda block: block[0][2:30])
def test_the_console_blocks_do_what_they_show(block: list[str], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    script = 'kinen() { "$PYTHON" -m kinen "$@"; }\nset -e\n'
    marker = "=== end of a command ==="
    expected: list[list[str]] = []
    for line in block:
        if line.startswith("$ "):
            expected.append([])
            script += f"{line[2:]}\necho '{marker}'\n"
        else:
            expected[-1].append(line)
    author = {f"GIT_{who}_NAME": "Mira" for who in ("AUTHOR", "COMMITTER")}
    author |= {f"GIT_{who}_EMAIL": "mira@example.org" for who in ("AUTHOR", "COMMITTER")}
    env = {**os.environ, **author, "PYTHON": sys.executable}
    run = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    printed = run.stdout.split(marker)
    for output, real in zip(expected, printed, strict=False):
        assert_shown(output, real.strip("\n").splitlines())


def assert_shown(values: list[str], real: list[str]) -> None:
    """Every shown line is there, in order; an ellipsis stands for anything."""
    rest = iter(real)
    for line in values:
        pattern = ".*".join(re.escape(part) for part in line.split("…"))
        assert any(re.fullmatch(pattern, result) for result in rest), f"{line!r} not in {real}"


@pytest.mark.slow
def test_the_picture_of_the_terminal_is_what_the_commands_print() -> None:
    drawer = load("terminal_picture")
    drawn = drawer.picture(drawer.session())
    # Scores differ in the last digit between processors, and with them the width of a text.
    assert without_numbers(drawn) == without_numbers(drawer.PICTURE.read_text()), "run `make docs`"
    assert "url(http" not in drawn


def without_numbers(text: str) -> str:
    return re.sub(r"[\d.]+", "0", re.sub(r"\b01[0-9A-Z]{6,}\b", "ID", text))
