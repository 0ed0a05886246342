"""Two versions of kinen on one home at once, as after an update that only some processes have.

The newer one is a copy of this one with a higher version, one more migration of the journal and
another schema of the index.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kinen as package
from kinen.daemon import control
from kinen.index.schema import SCHEMA as INDEX_SCHEMA
from kinen.journal.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = bool(os.environ.get("KINEN_STRESS"))
ROUNDS = 25 if LONG else 2
GUARD = 300.0
"""Seconds that only guard against waiting forever."""
MIGRATION = "CREATE TABLE colours(id TEXT PRIMARY KEY, colour TEXT NOT NULL);\n"
NEWER = "99.0.0"


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, path
    path.write_text(text.replace(before, after))


class Version:
    """One installed kinen, run in processes of its own."""

    def __init__(self, folder: Path, space: Path) -> None:
        self.folder = folder
        self.space = space

    def environment(self, **env: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder), **env}

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kinen", *words],
            cwd=self.space,
            env=self.environment(**env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=GUARD,
            check=False,
        )

    def prompt(self, text: str) -> None:
        """One event of an agent; a hook ends well and quietly, whatever it finds."""
        payload = {
            "session_id": "s1",
            "cwd": str(self.space),
            "hook_event_name": "UserPromptSubmit",
            "prompt": text,
        }
        result = self.run("hook", "claude-code", stdin=json.dumps(payload))
        assert (result.returncode, result.stderr) == (0, "")

    def contents(self) -> list[str]:
        """What the journal has, in no order."""
        result = self.run("list", "observations", "--json", "--limit", "0")
        assert result.returncode == 0, result.stderr
        return sorted(entry["content"] for entry in json.loads(result.stdout)["observations"])


@pytest.fixture
def older(space: Path) -> Version:
    return Version(Path(package.__file__).parents[1], space)


@pytest.fixture
def newer(space: Path, tmp_path: Path) -> Version:
    folder = tmp_path / "newer"
    root = folder / "kinen"
    shutil.copytree(
        Path(package.__file__).parent, root, ignore=shutil.ignore_patterns("__pycache__")
    )
    edit(root / "__init__.py", f'__version__ = "{package.__version__}"', f'__version__ = "{NEWER}"')
    edit(root / "journal" / "schema.py", f"SCHEMA = {SCHEMA}\n", f"SCHEMA = {SCHEMA + 1}\n")
    edit(
        root / "index" / "schema.py", f"SCHEMA = {INDEX_SCHEMA}\n", f"SCHEMA = {INDEX_SCHEMA + 1}\n"
    )
    (root / "journal" / "migrations" / f"{SCHEMA + 1:03}_colours.sql").write_text(MIGRATION)
    return Version(folder, space)


@pytest.fixture
def home_folder(home: Path) -> Iterator[Path]:
    folder = home / "kinen"
    yield folder
    control.stop(str(folder))


def spooled(home_folder: Path) -> list[Path]:
    files = (path for path in (home_folder / "spool").rglob("*") if path.is_file())
    return [path for path in files if not path.name.startswith(".")]


def daemon_version(home_folder: Path) -> str:
    return str(control.last_run(str(home_folder)).get("version", ""))


@pytest.mark.quick
def test_a_newer_journal_is_refused_by_commands_and_its_events_wait(
    home_folder: Path, older: Version, newer: Version
) -> None:
    older.prompt("written before the update")
    newer.prompt("written after the update")
    expected = ["written before the update", "written after the update"]
    for number in range(ROUNDS):
        older.prompt(f"prompt {number}")
        logged = older.run("log", f"logged {number}")
        assert logged.returncode == 0, logged.stderr
        expected += [f"prompt {number}", f"logged {number}"]
    for words in (
        ("list", "observations"),
        ("recall", "update"),
        ("export",),
        ("pin", "a pin"),
        ("search", "update"),
        ("index",),
        ("status",),
    ):
        refused = older.run(*words)
        assert refused.returncode == 2, words
        assert "is of a newer kinen" in refused.stderr and "update kinen" in refused.stderr, words
    assert older.run("doctor").returncode == 1
    assert len(spooled(home_folder)) == 2 * ROUNDS
    newer.prompt("the next event")
    assert spooled(home_folder) == []
    assert newer.contents() == sorted([*expected, "the next event"])
    with closing(sqlite3.connect(next(home_folder.rglob("journal.db")))) as journal:
        assert journal.execute("PRAGMA user_version").fetchone() == (SCHEMA + 1,)
        assert journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.quick
def test_hooks_of_both_at_once_lose_nothing_while_the_journal_is_migrated(
    space: Path, home_folder: Path, older: Version, newer: Version
) -> None:
    older.prompt("before")
    words = [f"event {number}" for number in range(16 * ROUNDS)]
    for start in range(0, len(words), 8):
        batch = words[start : start + 8]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "kinen", "log", text],
                cwd=space,
                env=(newer if number % 2 else older).environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number, text in enumerate(batch)
        ]
        for process in processes:
            message = process.communicate(timeout=GUARD)[1]
            assert message == "" or "in the spool" in message
            assert process.returncode == 0
    newer.prompt("after")
    assert newer.contents() == sorted(["before", *words, "after"])
    assert spooled(home_folder) == []


def test_a_newer_daemon_is_left_alone_by_the_older_kinen(
    space: Path, home_folder: Path, older: Version, newer: Version
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    assert older.run("daemon", "start").returncode == 0
    started = newer.run("daemon", "start")  # the older one gives way
    assert (started.returncode, started.stdout[:8]) == (0, "started "), started.stderr
    pid = control.last_run(str(home_folder))["pid"]
    assert daemon_version(home_folder) == NEWER
    for _ in range(ROUNDS):
        status = older.run("daemon", "status")
        assert status.returncode == 1
        reason = f"does not serve this version of kinen: this daemon is of kinen {NEWER}"
        assert reason in status.stdout
        refused = older.run("daemon", "start")
        assert refused.returncode == 2 and f"this daemon is of kinen {NEWER}" in refused.stderr
        assert "`kinen daemon restart` replaces it" in refused.stderr
        end = time.monotonic() + GUARD
        result = older.run("search", "kettle", KINEN_DAEMON_AUTO_START="true")
        while "still under way" in result.stderr and time.monotonic() < end:  # by that daemon
            result = older.run("search", "kettle", KINEN_DAEMON_AUTO_START="true")
        assert result.returncode == 0 and "tea.md" in result.stdout, result.stderr
        doctor = older.run("doctor")
        assert f"this daemon is of kinen {NEWER}" in doctor.stdout
        assert newer.run("index").returncode == 0
        assert newer.run("search", "kettle", KINEN_DAEMON_AUTO_START="true").returncode == 0
    assert newer.run("daemon", "status").returncode == 0
    assert control.last_run(str(home_folder))["pid"] == pid  # never ended, never replaced
    replaced = older.run("daemon", "restart")
    assert replaced.returncode == 0, replaced.stderr
    assert daemon_version(home_folder) == package.__version__
