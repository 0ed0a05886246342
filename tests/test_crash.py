"""Killed processes, two at once, full disks, strange databases: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinen import Memory
from properties.test_rebuild import contents
from usage import start_indexing

LONG = bool(os.environ.get("KINEN_STRESS"))


def fill(space: Path, documents: int = 400) -> None:
    rng = random.Random(3)
    for n in range(documents):
        words = " ".join(rng.choices(["alpha", "beta", "gamma", "delta", "tokens"], k=60))
        link = f"[[note-{rng.randrange(documents)}]]"
        page = f"# Note {n}\n\n{words}\n\n## Part\n\nSee {link}. {words}\n"
        (space / f"note-{n}.md").write_text(page)


def from_scratch(space: Path, home: Path) -> dict[str, list[object]]:
    with Memory.open(space, home=home) as memory:
        memory.sync(embed=False)
        return contents(memory)


@pytest.mark.slow
def test_killed_at_any_moment_then_indexed_gives_the_same_index(
    space: Path, tmp_path: Path
) -> None:
    fill(space)
    expected = from_scratch(space, tmp_path / "fresh")
    rng = random.Random(11)
    for _ in range(60 if LONG else 6):
        rebuild = ("--rebuild",) if rng.random() < 0.5 else ()
        process = start_indexing(space, "--no-embed", *rebuild)
        time.sleep(rng.uniform(0.05, 1.2))
        process.kill()
        process.communicate()
    process = start_indexing(space, "--no-embed")
    assert process.communicate() and process.returncode == 0
    with Memory.open(space) as memory:
        assert contents(memory) == expected
        assert memory.index.check() == ""


def test_embedding_goes_on_where_it_was_killed(space: Path) -> None:
    fill(space, 60)
    process = start_indexing(space)
    cache = None
    for _ in range(6000):
        time.sleep(0.05)
        cache = next(Path(os.environ["KINEN_HOME"]).rglob("cache.db"), None)
        if process.poll() is not None or (cache and _vectors(cache)):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert cache is not None
    before = _vectors(cache)
    with Memory.open(space) as memory:
        report = memory.sync()
        counts = memory.index.status().counts
        assert report.pending == 0
        assert counts.vectors == counts.chunks
    assert report.embedded == _vectors(cache) - before


def _vectors(cache: Path) -> int:
    try:
        with sqlite3.connect(f"file:{cache}?mode=ro", uri=True) as db:
            row: int = db.execute("SELECT COUNT(*) FROM vectors").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        db.close()
    return row


def test_two_at_once_neither_corrupt_nor_double(space: Path, tmp_path: Path) -> None:
    fill(space, 200)
    expected = from_scratch(space, tmp_path / "fresh")
    both = [start_indexing(space, "--no-embed") for _ in range(3)]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    with Memory.open(space) as memory:
        assert contents(memory) == expected


def test_a_search_answers_while_another_process_indexes(space: Path, kinen) -> None:
    fill(space, 300)
    assert kinen("index", "--no-embed").code == 0  # so that no search indexes the space itself
    process = start_indexing(space, "--no-embed", "--rebuild")
    try:
        for _ in range(3):
            ran = kinen("search", "--fulltext", "alpha")
            assert ran.code in (0, 1), ran.err
            assert "Traceback" not in ran.err
    finally:
        process.communicate(timeout=300)
    assert process.returncode == 0


@pytest.mark.parametrize("damage", ["garbage", "other schema", "truncated"])
def test_a_damaged_or_foreign_index_is_built_again(space: Path, damage: str, kinen) -> None:
    fill(space, 20)
    assert kinen("index", "--no-embed").code == 0
    index = next(Path(os.environ["KINEN_HOME"]).rglob("index.db"))
    if damage == "garbage":
        index.write_bytes(b"this is no database at all" * 400)
    elif damage == "truncated":
        index.write_bytes(index.read_bytes()[:5000])
    else:
        with sqlite3.connect(index) as db:
            db.execute("PRAGMA user_version = 999")
        db.close()
    assert kinen("index", "--no-embed", "--rebuild").code == 0
    assert kinen("search", "--fulltext", "alpha").code == 0


def test_a_full_disk_is_one_line_and_loses_nothing(space: Path, kinen) -> None:
    fill(space, 50)
    assert kinen("index", "--no-embed").code == 0
    before = len(kinen("search", "--fulltext", "alpha", "-l", "--limit", "100").out.splitlines())
    fill(space, 300)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from kinen.cli import main; main(['index', '--no-embed'])"
    )
    run = subprocess.run([sys.executable, "-c", limited], cwd=space, capture_output=True, text=True)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert kinen("index", "--no-embed").code == 0
    after = len(kinen("search", "--fulltext", "alpha", "-l", "--limit", "1000").out.splitlines())
    assert after == 300 >= before
