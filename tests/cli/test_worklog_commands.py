"""Checkpoints and plans by hand: lists, steps, the editor; pins of a text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from terminal import on_terminal

PLAN = "Drop Redis\n\n- [ ] sessions\n- [x] cache\n```\n- [ ] an example\n```\n1. [ ] docs\n"


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """An editor that appends a line to the file, and notes its arguments."""
    program = tmp_path / "editor"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f'open({str(tmp_path / "arguments")!r}, "w").write(" ".join(sys.argv[1:]))\n'
        'open(sys.argv[-1], "a").write("written in the editor\\n")\n'
    )
    program.chmod(0o755)
    return str(program)


def test_a_checkpoint_without_text_is_written_in_the_editor(
    kinen, space: Path, editor: str
) -> None:
    assert "no text" in kinen("checkpoint").err
    on_terminal("checkpoint", cwd=space, EDITOR=editor)
    assert "written in the editor" in kinen("checkpoint", "show").out
    assert "an empty text saves nothing" not in kinen("checkpoint", "show").out


def test_the_open_steps_of_a_plan_come_next(ask, space: Path) -> None:
    steps = "- [x] sessions\n- [ ] cache\n- [ ] queue"
    assert ask("plan", "save", "Redis", "-", stdin=steps).code == 0
    ask("checkpoint", "Sessions are in Postgres now")
    for command in ("standup", "handoff"):
        assert "## Next\n- Redis: cache\n- Redis: queue\n" in ask(command).out + "\n"


def test_steps_of_a_plan_are_ticked_off(kinen, space: Path) -> None:
    assert kinen("plan", "save", "Redis", "-", "--activate", stdin=PLAN).code == 0
    assert "1 of 3 steps done" in kinen("plan", "show").out
    listed = kinen("plan", "check").out
    assert "  1. [ ] sessions" in listed
    assert "  3. [ ] docs" in listed
    assert kinen("plan", "check", "3").code == 0
    assert kinen("plan", "check", "2", "--undo").code == 0
    text = json.loads(kinen("plan", "show", "--json").out)["text"]
    assert text == PLAN.replace("1. [ ]", "1. [x]").replace("- [x] cache", "- [ ] cache").rstrip()
    assert "Redis" in kinen("plan", "show", "red").out
    assert "`kinen plan activate redo`" not in kinen("plan", "save", "Redo", "text").err
    assert "'red' is ambiguous: " in kinen("plan", "show", "red").err
    refused = kinen("plan", "check", "4")
    assert (refused.code, refused.out) == (2, "")
    assert "no step 4: the plan has 3 steps" in refused.err


def test_a_plan_is_edited(kinen, space: Path, editor: str) -> None:
    kinen("plan", "save", "Redis", "- [ ] sessions", "--activate")
    assert kinen("plan", "edit", EDITOR=editor).code == 0
    assert "written in the editor" in kinen("plan", "show").out


def test_a_hidden_checkpoint_is_not_listed(kinen) -> None:
    ref = kinen("checkpoint", "Tokens now rotate").out.strip()
    assert kinen("forget", ref).out == f"hidden {ref}\n"
    assert kinen("checkpoint", "list").code == 1
    assert kinen("forget", "--undo", ref).code == 0
    assert "Tokens now rotate" in kinen("checkpoint", "list").out


def test_a_list_fits_the_terminal_and_its_ids_are_accepted(kinen, space: Path) -> None:
    for n in range(3):
        kinen("log", f"{n} " + "long text " * 30, "--session", "s1", "--agent", "claude-code")
    _, text = on_terminal("list", "observations", cwd=space)
    lines = text.splitlines()
    assert lines[0] == "Today"
    assert len(lines) == 4
    assert all(len(line) <= 80 for line in lines)
    assert all("just now  " in line for line in lines[1:])
    piped = kinen("list", "observations").out.splitlines()
    for line, whole in zip(lines[1:], piped, strict=True):
        short = line.split()[0]
        assert whole.startswith(f"observation:{short}")
        assert kinen("show", short).out == kinen("show", whole.split()[0]).out


def test_the_context_of_the_plan_has_the_files_it_names_and_their_companions(kinen, space) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", space, *words], check=True, capture_output=True)

    git("init", "-q")
    for number in range(4):
        for name in ("cart.py", "test_cart.py"):
            (Path(space) / name).write_text(f"total = {number}\n")
        git("add", "-A")
        git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "commit", "-qm", f"totals {number}")
    assert kinen("context", "--plan").code == 2
    kinen("plan", "save", "Round totals", "- [ ] round half up in `cart.py`", "--activate")
    result = kinen("context", "--plan")
    assert result.code == 0, result.err
    assert "Round totals" in result.out
    assert "totals 3" in result.out
    assert "test_cart.py" in result.out
    assert kinen("context", "--plan", "--file", "cart.py").code == 2
