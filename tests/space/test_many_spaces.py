"""Many registered spaces: listing, searching all of them and a daemon over them stay affordable."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.daemon import control
from usage import Usage, measured

if TYPE_CHECKING:
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
SPACES = 500 if LONG else 30
GUARD = 600.0
"""Seconds that only guard against waiting forever."""
MEGABYTES = 400
"""Resident memory that no process may pass, however many spaces there are."""


def run(folder: Path, *words: str) -> Usage:
    """A command that succeeds."""
    usage = measured(folder, *words)
    assert usage.code == 0, (words, usage.out)
    assert "Traceback" not in usage.out
    return usage


@pytest.fixture
def spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Registered and indexed spaces, each with a note of its own."""
    roots = [tmp_path / "projects" / f"project-{number:03}" for number in range(SPACES)]
    with monkeypatch.context() as patch:
        patch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
        for number, root in enumerate(roots):
            (root / ".kinen").mkdir(parents=True)
            (root / "tea.md").write_text(
                f"# Tea\n\nThe kettle{number:03} whistles in a teahouse.\n"
            )
            with Memory.open(root) as memory:
                memory.sync(embed=False)
    return roots


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a process is not known")
def test_commands_and_a_daemon_bear_many_spaces(spaces: list[Path], home: Path) -> None:
    here = spaces[0]
    listed = run(here, "space", "list", "--json")
    assert listed.out.count("project-") >= SPACES
    search = run(here, "search", "teahouse", "--space", "all", "--mode", "fulltext", "--json")
    assert json.loads(search.out[search.out.index("{") :])["results"]
    last = f"kettle{SPACES - 1:03}"
    result = run(here, "search", last, "--space", "all", "--mode", "fulltext")
    assert last in result.out
    status = run(here, "status")
    folder = str(home / "kinen")
    try:
        start = run(here, "daemon", "start")
        end = time.monotonic() + GUARD
        while len(control.look(folder).state.get("spaces", ())) < SPACES:
            assert time.monotonic() < end, control.look(folder)
            time.sleep(0.05)
        while control.look(folder).state["queue"]:
            assert time.monotonic() < end, control.look(folder)
            time.sleep(0.2)
        state = control.look(folder).state
        print(f"daemon over {SPACES} spaces: {state['memory_mb']} MB")
        served = run(here, "search", last, "--space", "all", "--mode", "fulltext")
        assert last in served.out
        assert control.look(folder).state["memory_mb"] < 2 * MEGABYTES
        assert not [space for space in state["spaces"] if space["error"]]
    finally:
        control.stop(folder)
    for usage in (listed, search, result, status, start, served):
        assert usage.megabytes < MEGABYTES
