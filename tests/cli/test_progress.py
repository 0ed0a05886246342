"""What takes long says what it does, on standard error only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kinen.cli.answer import show_work
from kinen.cli.run import bar, working
from kinen.errors import Busy
from kinen.index.lock import sync_lock
from kinen.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

AT_ONCE = {"KINEN_PROGRESS": "0", "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}


@pytest.fixture
def notes(space: Path) -> Path:
    for number in range(3):
        (space / f"note{number}.md").write_text(f"# Note {number}\n\nThe kettle whistles.\n")
    return space


@pytest.mark.parametrize(
    "words",
    [
        ("index",),
        ("search", "kettle"),
        ("recall", "kettle"),
        ("save", "descaled"),
        ("plan", "save", "Tea", "- [ ] boil"),
        ("related", "note0.md"),
    ],
    ids=" ".join,
)
def test_a_command_that_indexes_says_so_in_a_pipe(
    kinen: Callable[..., Ran], notes: Path, words: tuple[str, ...]
) -> None:
    ran = kinen(*words, **AT_ONCE)
    assert "note: reading: " in ran.err
    assert "reading " not in ran.out


def test_json_stays_json_and_quiet_stays_quiet(kinen: Callable[..., Ran], notes: Path) -> None:
    ran = kinen("index", "--json", **AT_ONCE)
    assert json.loads(ran.out)["added"] == 3
    assert "note: reading: 0 of 3" in ran.err
    ran = kinen("index", "--rebuild", "--quiet", **AT_ONCE)
    assert (ran.out, ran.err) == ("", "")
    ran = kinen("index", "--rebuild", **{**AT_ONCE, "KINEN_PROGRESS": "off"})
    assert "reading" not in ran.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("memories", "draw"), "reading sessions, files and commits"),
        (("session", "close"), "summarising the session"),
        (("index", "snapshot", "create"), "copying the index"),
        (("index", "gc"), "looking for what nothing uses"),
        (("index", "daemon", "stop"), "stopping the daemon"),
    ],
)
def test_other_work_says_what_it_is(
    kinen: Callable[..., Ran], notes: Path, words: tuple[str, ...], text: str
) -> None:
    kinen("session", "new", "Tea", **AT_ONCE)
    assert f"note: {text}" in kinen(*words, **AT_ONCE).err


def test_who_is_waited_for_is_named(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(notes) as memory:
        show_work(memory)
        memory.sync(embed=False)
        with sync_lock(memory.core.file("sync.lock"), 0), pytest.raises(Busy):
            memory.sync(embed=False, wait=1.1)
    assert capsys.readouterr().err.endswith("; waiting for it\n")


def test_a_line_comes_once_a_phase_and_not_for_each_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_PROGRESS", "0")
    with bar() as update:
        for done in range(100):
            update("read", done, 100)
        update("embed", 0, 7)
    assert capsys.readouterr().err == "note: reading: 0 of 100\nnote: making vectors: 0 of 7\n"
    monkeypatch.setenv("KINEN_PROGRESS", "3600")
    with bar() as update, working("boiling"):
        update("read", 1, 2)
    assert capsys.readouterr().err == ""
