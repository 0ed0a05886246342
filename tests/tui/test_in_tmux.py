"""`kinen tui` and `kinen pick` as a person uses them: in tmux, 80 × 24, with an editor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("textual")

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60
pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Tmux:
    """A server of its own with one pane: type keys, wait for words on the screen."""

    def __init__(self, folder: Path, socket: Path, command: str) -> None:
        self._tmux = ["tmux", "-S", str(socket)]
        size = ["-x", "80", "-y", "24", "-c", str(folder)]
        env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        words = [*self._tmux, "-f", "/dev/null", "new-session", "-d", *size, command]
        subprocess.run(words, check=True, env=env, cwd=folder)

    def ask(self, *words: str) -> str:
        ran = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True)
        return ran.stdout

    def type(self, *keys: str) -> None:
        self.ask("send-keys", *keys)

    def expect(self, words: str) -> str:
        until = time.monotonic() + PATIENCE
        while words not in (screen := self.ask("capture-pane", "-p")):
            assert time.monotonic() < until, f"{words!r} is not on the screen:\n{screen}"
            time.sleep(0.05)
        return screen

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def tmux(space: Path, tmp_path: Path) -> Iterator[Tmux]:
    (space / "tea.md").write_text("# Tea\n\nGreen leaves are brewed at eighty degrees.\n")
    (space / "coffee.md").write_text("# Coffee\n\nBeans are brewed under pressure.\n")
    editor = tmp_path / "editor"
    change = 'sed -i \'s/eighty/seventy/\' "${1#+}" "$2" 2>/dev/null'
    editor.write_text(f"#!/bin/sh\n{change}\necho the file is edited\nread -r line\n")
    editor.chmod(0o755)
    kinen = f"{sys.executable} -m kinen"
    command = f"{kinen} tui; echo tui ended $?; {kinen} pick beans; echo pick ended $?; cat"
    env = f"export EDITOR={editor} KINEN_INDEX_EMBEDDING_PROVIDER=none;"
    pane = Tmux(space, tmp_path / "tmux", f"{env} {command}")
    yield pane
    pane.close()


def test_a_person_types_moves_edits_quits_and_picks(tmux: Tmux, space: Path) -> None:
    tmux.expect("[1 Today]")
    tmux.type("2")
    tmux.expect("[2 Sessions]")
    tmux.type("/brewed eighty")
    tmux.expect("tea.md")
    tmux.type("Enter", "Enter")
    tmux.expect("at eighty")
    tmux.expect("fulltext")
    tmux.type("Tab", "e")
    tmux.expect("the file is edited")
    tmux.type("Enter")  # the editor ends
    tmux.expect("resume")  # the screen is drawn again
    tmux.type("Enter")
    tmux.expect("at seventy")  # the list and the page are read again
    tmux.type("?")
    tmux.expect("undo the last change")
    tmux.type("q")
    tmux.expect("at seventy")
    tmux.type("2")
    tmux.expect("no sessions yet")
    tmux.type("q")
    tmux.expect("tui ended 0")
    tmux.expect("coffee.md")
    tmux.type("Enter")
    tmux.expect("resume")
    tmux.type("Enter")
    screen = tmux.expect("pick ended 0")
    assert "coffee.md:3" in screen
    assert "seventy" in (space / "tea.md").read_text()
