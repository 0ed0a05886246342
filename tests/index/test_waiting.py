"""Two processes that index one space: who waits, for how long, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.errors import Busy
from kinen.index.lock import sync_lock, work_at
from usage import start_indexing

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGING = 120.0
"""Seconds that only guard against waiting forever."""


@pytest.fixture(autouse=True)
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def lock(space: Path) -> str:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        return memory.core.file("sync.lock")


@pytest.fixture
def held(lock: str) -> Iterator[str]:
    """The lock, held by this process, which says that it embeds."""
    with sync_lock(lock, 0) as announce:
        announce("embed", 54, 100)
        yield lock


def test_who_waits_says_for_whom_and_how_far_that_is(space: Path, held: str) -> None:
    process = start_indexing(space, "--wait", "0.2")
    out, err = process.communicate(timeout=HANGING)
    assert process.returncode == 2
    assert out == ""
    waiting, failed = err.splitlines()
    assert waiting.startswith("note: kinen ")
    assert (
        f"(pid {os.getpid()}) is indexing this space: making vectors, 54 %; waiting up to"
        in waiting
    )
    assert f"(pid {os.getpid()}) is indexing this space: making vectors, 54 %" in failed


def test_ctrl_c_ends_the_wait_at_once(space: Path, held: str) -> None:
    process = start_indexing(space, "--wait", "86400")
    assert process.stderr is not None
    assert "is indexing this space" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANGING)
    assert process.returncode == 130


def test_ctrl_c_ends_indexing_and_leaves_a_sound_index(space: Path, lock: str) -> None:
    for n in range(400):
        (space / f"note{n}.md").write_text(f"# Note {n}\n\n" + f"word{n} kettle tea. " * 200)
    process = start_indexing(space)
    end = time.monotonic() + HANGING
    while work_at(lock) is None and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANGING)
    assert process.returncode in (0, 130), err  # it may have been done already
    assert "Traceback" not in err
    assert process.returncode == 0 or "kept: `kinen index` continues from there" in err
    assert work_at(lock) is None
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        assert memory.index.check() == ""
        assert memory.search("word399")


def test_who_waits_goes_on_when_the_other_ends(space: Path, lock: str) -> None:
    (space / "new.md").write_text("# New\n\nA samovar.\n")
    with sync_lock(lock, 0):
        process = start_indexing(space, "--wait", "600")
        assert process.stderr is not None
        assert "another kinen is indexing this space; waiting" in process.stderr.readline()
    out, _ = process.communicate(timeout=HANGING)
    assert process.returncode == 0
    assert "1 added" in out


def test_a_first_search_waits_for_who_indexes(space: Path) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    taken = threading.Event()

    def hold(path: str) -> None:
        with sync_lock(path, 0):
            taken.set()
            time.sleep(1)

    with Memory.open(space) as memory:
        holder = threading.Thread(target=hold, args=[memory.core.file("sync.lock")])
        holder.start()
        assert taken.wait(HANGING)
        assert memory.search("kettle")
        holder.join()


def test_python_learns_who_is_waited_for(space: Path, held: str) -> None:
    output: list[str] = []
    settings = {"index.embedding_provider": "none"}
    with Memory.open(space, settings=settings) as memory:
        with pytest.raises(Busy, match=r"making vectors, 54 %"):
            memory.sync(wait=0.1, on_wait=output.append)
        work = memory.index.work()
    assert len(output) == 1
    assert work is not None
    assert (work.pid, work.phase, work.done, work.total) == (os.getpid(), "embed", 54, 100)


def test_what_a_killed_process_left_is_not_shown(space: Path, lock: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    Path(f"{lock}.state").write_text(f"{child.pid}\tindex\tread\t1\t2\t0.0")
    assert work_at(lock) is None
    Path(f"{lock}.state").write_text("nonsense")
    assert work_at(lock) is None
