"""`kinen lsp` in a real Neovim, with the settings of the guide."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pygls")

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ran

NOTES = 1000
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "editors.md"


def settings_of_the_guide() -> str:
    """The Lua of the guide for the Neovim that is installed."""
    new, old = re.findall(r"```lua\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    output = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"v(\d+)\.(\d+)", output.stdout)
    assert version
    return new if (int(version[1]), int(version[2])) >= (0, 11) else old


@pytest.mark.skipif(not shutil.which("nvim"), reason="Neovim is not installed")
def test_neovim_gets_every_answer_in_a_thousand_notes(
    space: Path, kinen: Callable[..., Ran], tmp_path: Path
) -> None:
    for n in range(NOTES):
        links = f"[[note-{(n + 1) % NOTES}]] [[note-7|seven]]"
        (space / f"note-{n}.md").write_text(f"# Note {n}\n\nWords of {n}. {links}\n")
    (space / "note-3.md").write_text("# Start\n\nSee [[note-7]] and [[nowhere]].\n")
    script = os.path.join(os.path.dirname(__file__), "neovim.lua")
    settings = tmp_path / "settings.lua"
    settings.write_text(settings_of_the_guide())
    answers = tmp_path / "answers.json"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-n", "note-3.md", "-c", f"luafile {script}"],
        cwd=space,
        env={**os.environ, "PATH": path, "SETTINGS": str(settings), "ANSWERS": str(answers)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert answers.exists(), ran.stderr.decode()
    reply = json.loads(answers.read_text())
    assert reply.get("problem") is None
    assert reply["diagnostics"] == [[2, "broken link: nothing is called nowhere"]]
    assert reply["definition"] == (space / "note-7.md").as_uri()
    assert reply["references"] == NOTES + 1
    assert reply["hover"].startswith("Note 7\nnote-7.md\n\nWords of 7.")
    assert "note-1" in reply["completion"]
    assert (space / "seventh.md").exists()
    assert not (space / "note-7.md").exists()
    assert "[[seventh|seven]]" in (space / "note-900.md").read_text()
    assert kinen("graph", "broken").out == "note-3.md:3: nowhere\n"
