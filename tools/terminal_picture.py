"""Draws docs/images/terminal.svg: real output of kinen on a terminal, as a picture.

The commands run in a temporary space with the session of docs/examples. The same output gives the
same bytes; nothing in the picture is loaded from elsewhere.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
SESSION = ROOT / "docs" / "examples" / "session.jsonl"
COLUMNS = 96
COMMANDS = (
    "kinen handoff",
    "kinen fix UnicodeDecodeError: unexpected byte order mark",
    "kinen search --explain -n 1 why does the printer choke on files from Windows",
)
NOON = 1_772_452_800
"""2026-03-02T12:00:00Z, which the commands take for now: times are shown relative to it."""
PROGRAM = (
    f"import time; time.time = lambda: {NOON}.0; time.time_ns = lambda: {NOON}_000_000_000; "
    "from kinen.cli import main; main()"
)
FONT_FACES = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)


def environment(home: str) -> dict[str, str]:
    """Variables for the commands: nothing of the user's, colours, times in UTC."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "KINEN_HOME": f"{home}/kinen",
        "KINEN_DAEMON_AUTO_START": "false",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "TZ": "UTC",
    }


def on_terminal(words: list[str], cwd: str, env: dict[str, str]) -> str:
    """What a command prints on a terminal, with its escape sequences."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        words, cwd=cwd, env=env, stdin=follower, stdout=follower, stderr=follower
    ):
        os.close(follower)
        printed = b""
        with contextlib.suppress(OSError):  # a terminal ends with an error
            while part := os.read(leader, 65536):
                printed += part
    os.close(leader)
    return printed.decode().replace("\r\n", "\n")


def session() -> Text:
    """The commands with their output, in the colours of the terminal."""
    kinen = [sys.executable, "-c", PROGRAM]
    text = Text()
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        space = os.path.join(folder, "labels")
        for words in (
            ["git", "init", "-q", "-b", "main", space],
            [*kinen, "import", "transcripts", "--space", space, str(SESSION)],
            [*kinen, "index", "--space", space],
        ):
            subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
        for command in COMMANDS:
            printed = on_terminal([*kinen, *shlex.split(command)[1:]], space, env)
            text.append(f"$ {command}\n", style="bold")
            text.append_text(Text.from_ansi(printed.rstrip()))
            text.append("\n\n")
    text.rstrip()
    return text


def picture(text: Text) -> str:
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(text)
    # The template loads its font from the network: the system's is used instead.
    template = FONT_FACES.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="kinen", code_format=template, unique_id="kinen")


def main() -> int:
    drawing = picture(session())
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    stale = not PICTURE.exists() or PICTURE.read_text() != drawing
    if stale:
        PICTURE.write_text(drawing)
    print(f"wrote: {PICTURE.relative_to(ROOT) if stale else 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
