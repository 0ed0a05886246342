"""Many writers, killed at any moment, and a disk that fills: every acknowledged observation stays.

`make stress` runs it with a hundred thousand observations.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kinen import Memory, Query

if TYPE_CHECKING:
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
WRITERS = 8
TOTAL = 100_000 if LONG else 2_000

# Says each id only when the observation is durable. Every writer opens capsules now and then.
WRITER = """
import sys
from kinen import Memory
root, name, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Memory.open(root) as memory:
    for n in range(first, last):
        if n % 500 == 0:
            memory.journal.open_capsule(f"part {n}", scope={"session": name})
        scope = {"session": name}
        kept = memory.observe(f"writer {name} saw event {n}", kind="command", scope=scope)
        sys.stdout.write(kept.id + "\\n")
        sys.stdout.flush()
"""


class Writer(threading.Thread):
    """Runs one writing process after another until its share is written; some are killed."""

    def __init__(self, space: Path, name: str, share: int, kills: int) -> None:
        super().__init__()
        self.space, self.name_, self.share, self.kills = space, name, share, kills
        self.acknowledged: list[str] = []
        self.errors: list[str] = []
        self.killed = 0

    def run(self) -> None:
        rng = random.Random(self.name_)
        while len(self.acknowledged) < self.share:
            first = len(self.acknowledged)
            command = [sys.executable, "-c", WRITER, str(self.space), self.name_]
            process = subprocess.Popen(
                [*command, str(first), str(self.share)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            timer = None
            if self.killed < self.kills:
                timer = threading.Timer(rng.uniform(0.4, 12.0 if LONG else 1.5), process.kill)
                timer.start()
            assert process.stdout and process.stderr
            # A line that was cut by the kill was not acknowledged.
            whole = [line for line in process.stdout if line.endswith("\n")]
            self.acknowledged += [line.strip() for line in whole if len(line) == 27]
            wrong = process.stderr.read()
            process.wait()
            process.stdout.close()
            process.stderr.close()
            if timer:
                timer.cancel()
            if process.returncode == -9:
                self.killed += 1
            elif process.returncode or wrong:
                self.errors.append(wrong)
                return


@pytest.mark.slow
def test_eight_writers_that_are_killed_lose_and_double_nothing(space: Path, kinen) -> None:
    writers = [
        Writer(space, f"w{n}", TOTAL // WRITERS, kills=6 if LONG else 1) for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    # Readers go on meanwhile: they follow the journal while it grows.
    while any(writer.is_alive() for writer in writers):
        ran = kinen("search", "--fulltext", "event 7", "--limit", "3")
        assert ran.code in (0, 1), ran.err
        assert "locked" not in ran.err
        time.sleep(0.2)
    for writer in writers:
        writer.join()
        assert not writer.errors
    acknowledged = [id_ for writer in writers for id_ in writer.acknowledged]
    assert len(set(acknowledged)) == len(acknowledged) >= TOTAL
    assert sum(writer.killed for writer in writers) >= WRITERS // 2
    with Memory.open(space) as memory:
        rows = memory.core.store.db.execute("SELECT id, COUNT(*) FROM observations GROUP BY id")
        remaining = dict(rows.fetchall())
        assert set(acknowledged) <= set(remaining)
        assert set(remaining.values()) == {1}
        # What was killed between the commit and the acknowledgement may be there besides.
        assert len(remaining) <= len(acknowledged) + sum(writer.killed for writer in writers)
        assert memory.core.store.db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        memory.sync(embed=False)
        assert memory.index.status().kinds["observation"] == len(remaining)
        assert memory.index.check() == ""
        last = memory.search(Query(f"w3 event {TOTAL // WRITERS - 1}", mode="fulltext"))
        assert f"event {TOTAL // WRITERS - 1}" in last[0].chunk.text


def test_hooks_beside_an_import_spool_and_are_drained(space: Path, kinen) -> None:
    """A long transaction of one process does not block another: it spools within milliseconds."""
    assert kinen("log", "the first").code == 0
    with Memory.open(space) as memory:
        db = sqlite3.connect(memory.core.store.path, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        refs = []
        for n in range(20):
            ran = kinen("log", f"while it is locked {n}")
            assert ran.code == 0
            assert "spool" in ran.err
            refs.append(ran.out.strip())
        db.execute("ROLLBACK")
        db.close()
        results, count = memory.journal.entries("observations", limit=0)
        assert count == 21
        assert [result.ref for result in reversed(results)][1:] == refs


FULL = """
import json, os, sys
from kinen import Memory
from kinen.errors import KinenError
root, home = sys.argv[1], sys.argv[2]
os.makedirs(home, exist_ok=True)
with open(os.path.join(home, "ballast"), "wb") as file:
    file.write(os.urandom(1_500_000))
kept, complaint = [], ""
with Memory.open(root, home=home) as memory:
    for n in range(20_000):
        try:
            kept.append(memory.observe(f"event {n} " + "x" * 3000).id)
        except KinenError as error:
            complaint = str(error)
            break
    reserve = os.path.exists(os.path.join(home, "spool", ".reserve"))
    intact = memory.core.store.check()
os.unlink(os.path.join(home, "ballast"))
with Memory.open(root, home=home) as memory:
    kept.append(memory.observe("room again").id)
    there = [one.id for one in memory.journal.entries("observations", limit=0)[0]]
    left = len(memory.core.waiting())
    sound = memory.core.store.db.execute("PRAGMA integrity_check").fetchone()[0]
print(json.dumps([kept, complaint, intact, reserve, there, left, sound]))
"""


def small_disk(folder: Path, megabytes: int) -> list[str] | None:
    """A command prefix under which a folder is a file system of that size, if that can be had."""
    if not shutil.which("unshare"):
        return None
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "{folder}" && exec "$@"'
    prefix = ["unshare", "-rm", "sh", "-c", mount, "sh"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else None


def test_a_full_disk_is_said_and_loses_nothing(space: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = small_disk(disk, 6)
    if prefix is None:
        pytest.skip("no file system of one's own can be made here")
    command = [*prefix, sys.executable, "-c", FULL, str(space), str(disk / "kinen")]
    env = {**os.environ, "TMPDIR": str(disk)}
    run = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert run.returncode == 0, run.stderr
    remaining, complaint, intact, reserve, there, left, sound = json.loads(run.stdout)
    assert len(remaining) > 100
    assert "free some space" in complaint
    assert intact == ""
    assert not reserve  # it was given up before anything was refused
    assert (left, sound) == (0, "ok")
    assert sorted(there) == sorted(remaining)
