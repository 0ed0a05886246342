"""`kinen tui` as a program of its own on a terminal of 80 × 24 without colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("textual")

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60
ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|[()][A-Z0-9]|\][^\x07]*\x07|P[^\x1b]*\x1b\\|[=>])"
)
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[1-68]|4[1-68]|9[1-6]|10[1-6])(?:;[0-9;]*)?m")
"""Any colour but black, white and grey."""


class Terminal:
    """The program on a terminal: type keys, wait for words on the screen."""

    def __init__(self, folder: Path, *words: str, **env: str) -> None:
        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.run = subprocess.Popen(
            [sys.executable, "-m", "kinen", *words],
            cwd=folder,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **env},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self.raw = ""

    def expect(self, words: str) -> None:
        """Wait until words are written; what was written before them is forgotten."""
        until = time.monotonic() + PATIENCE
        while words not in ESCAPES.sub("", self.raw):
            ready, _, _ = select.select([self.leader], [], [], max(0, until - time.monotonic()))
            assert ready, f"{words!r} is not in {ESCAPES.sub('', self.raw)!r}"
            self.raw += os.read(self.leader, 65536).decode(errors="replace")

    def type(self, keys: str) -> None:
        self.raw = ""
        os.write(self.leader, keys.encode())

    def close(self) -> int:
        """The exit code, once the program has ended."""
        while True:
            try:
                if not os.read(self.leader, 65536):
                    break
            except OSError:  # the other end is closed
                break
        os.close(self.leader)
        return self.run.wait(PATIENCE)


def test_a_person_types_moves_edits_and_quits(space: Path, tmp_path: Path) -> None:
    (space / "tea.md").write_text("# Tea\n\nGreen leaves are brewed at eighty degrees.\n")
    (space / "coffee.md").write_text("# Coffee\n\nBeans are brewed under pressure.\n")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "$@" >"$EDITED"\necho "Rewritten kettle." >>tea.md\n')
    editor.chmod(0o755)
    edited = tmp_path / "edited"
    terminal = Terminal(
        space,
        "tui",
        EDITOR=str(editor),
        EDITED=str(edited),
        KINEN_INDEX_EMBEDDING_PROVIDER="none",
    )
    try:
        terminal.expect("1 Today")
        terminal.type("/brewed eighty")
        terminal.expect("tea.md")
        terminal.type("\r")
        terminal.expect("resume")  # the keys of the list
        terminal.type("jk")
        terminal.type("e")
        until = time.monotonic() + PATIENCE
        while not edited.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert "tea.md" in edited.read_text()
        terminal.expect("resume")  # the screen is drawn again
        terminal.type("?")
        terminal.expect("undo the last change")
        assert not COLOUR.search(terminal.raw)
        terminal.type("?")
        terminal.expect("resume")
        terminal.type("q")
        assert terminal.close() == 0
    finally:
        if terminal.run.poll() is None:
            terminal.run.kill()
    assert "Rewritten kettle." in (space / "tea.md").read_text()


def test_the_program_ends_when_its_terminal_is_closed(space: Path) -> None:
    terminal = Terminal(space, "tui", KINEN_INDEX_EMBEDDING_PROVIDER="none")
    try:
        terminal.expect("1 Today")
        os.close(terminal.leader)
        assert terminal.run.wait(PATIENCE) == 1
    finally:
        if terminal.run.poll() is None:
            terminal.run.kill()
