"""A home in which somebody planted links, or which is moved or deleted in mid-use."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.errors import KinenError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")

LONG = bool(os.environ.get("KINEN_STRESS"))
PRECIOUS = "what others rely on\n"


def hook(kinen: Any, space: Path, text: str, **env: str) -> Any:
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(space)}
    payload |= {"prompt": text, "prompt_id": text}
    return kinen("hook", "claude-code", stdin=json.dumps(payload), **env)


@pytest.fixture
def used(space: Path, kinen: Any) -> Path:
    """The data folder of a space in which everything was used once."""
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    assert kinen("log", "the first observation").code == 0
    assert kinen("index").code == 0
    assert kinen("search", "kettle").code == 0
    with Memory.open(space) as memory:
        return type(space)(memory.space.data)


def planted(link: Path, target: Path) -> None:
    target.write_text(PRECIOUS)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


@pytest.mark.parametrize("name", ["journal.db", "index.db", "cache.db", "sync.lock"])
def test_a_link_in_place_of_a_database_is_refused(
    used: Path, space: Path, kinen: Any, tmp_path: Path, name: str
) -> None:
    stolen = tmp_path / "stolen.db"
    shutil.move(used / name, stolen)
    (used / name).symlink_to(stolen)
    before = stolen.read_bytes()
    (space / "more.md").write_text("# More\n\nmorewords\n")
    ran = kinen("capsule", "open", "--intent", "work") if name == "journal.db" else kinen("index")
    assert ran.code == 2
    assert name in ran.err and "not a regular file" in ran.err and "bug" not in ran.err
    assert stolen.read_bytes() == before


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_hook_spools_what_a_planted_link_keeps_out_of_the_journal(
    used: Path, space: Path, kinen: Any, tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / "target"
    (used / f"journal.db{suffix}").unlink(missing_ok=True)
    planted(used / f"journal.db{suffix}", target)
    ran = hook(kinen, space, "keep this prompt")
    assert (ran.code, ran.err) == (0, "")
    assert target.read_text() == PRECIOUS
    (used / f"journal.db{suffix}").unlink()
    assert "keep this prompt" in kinen("list", "observations").out


@pytest.mark.parametrize("name", ["spaces.json", "trust.json"])
def test_a_link_in_place_of_a_table_is_refused(
    used: Path, space: Path, home: Path, kinen: Any, tmp_path: Path, name: str
) -> None:
    planted(home / "kinen" / name, tmp_path / "target")
    (space / ".kinen" / "config.yml").write_text("distill:\n  claude_model: opus\n")
    ran = kinen("trust") if name == "trust.json" else kinen("space", "list")
    assert ran.code == 2 and name in ran.err and "bug" not in ran.err
    assert (tmp_path / "target").read_text() == PRECIOUS


@pytest.mark.parametrize("name", ["daemon.lock", "daemon.log", "http.token"])
def test_a_daemon_follows_no_planted_link(
    used: Path, home: Path, kinen: Any, tmp_path: Path, name: str
) -> None:
    planted(home / "kinen" / name, tmp_path / "target")
    for words in (("serve", "--port", "0"), ("daemon", "start")):
        if name == "http.token" and words[0] == "daemon":
            continue  # over the socket there is no token
        ran = kinen(*words)
        assert ran.code == 2 and name in ran.err and "bug" not in ran.err
    assert (tmp_path / "target").read_text() == PRECIOUS
    assert "tea.md" in kinen("search", "kettle", KINEN_DAEMON_AUTO_START="true").out
    assert (tmp_path / "target").read_text() == PRECIOUS


def test_a_token_for_mcp_is_not_read_through_a_link(
    used: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    planted(home / "kinen" / "mcp.token", tmp_path / "target")
    ran = kinen("mcp", "--http", "--port", "0")
    assert ran.code == 2 and "mcp.token" in ran.err and "bug" not in ran.err


def test_starting_a_daemon_does_not_empty_what_a_link_names(
    used: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    planted(home / "kinen" / "daemon.started", tmp_path / "target")
    assert kinen("search", "kettle", KINEN_DAEMON_AUTO_START="true").code == 0
    assert (tmp_path / "target").read_text() == PRECIOUS


def test_nothing_is_asked_of_a_socket_behind_a_link(
    used: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    import socket
    import tempfile

    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as thief:
        thief.bind(f"{folder}/s")
        thief.listen()
        thief.settimeout(0)
        (home / "kinen" / "daemon.sock").symlink_to(f"{folder}/s")
        assert "tea.md" in kinen("search", "kettle").out
        with pytest.raises(BlockingIOError):
            thief.accept()


def test_derived_files_are_made_again_where_links_were_planted(
    used: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    """Routes, caches: a link is neither read nor written through, and stops nobody."""
    for name in ("routes", "cache"):
        for path in list((home / "kinen" / name).glob("*")):
            planted(path, tmp_path / "target")
    planted(used / "vectors.bin", tmp_path / "vectors")
    for words in (("search", "kettle"), ("recall", "kettle"), ("log", "one more")):
        assert kinen(*words).code == 0, words
    assert (tmp_path / "vectors").read_text() == PRECIOUS
    assert not (tmp_path / "target").exists() or (tmp_path / "target").read_text() == PRECIOUS


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_was_planted_in_a_spool_is_put_aside(
    used: Path, space: Path, home: Path, kinen: Any, tmp_path: Path, kind: str
) -> None:
    spool = home / "kinen" / "spool" / used.name
    spool.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        planted(spool / "01ARZ3NDEKTSV4RRFFQ69G5FAV", tmp_path / "target")
    else:
        os.mkfifo(spool / "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert hook(kinen, space, "a prompt after it").code == 0
    assert "a prompt after it" in kinen("list", "observations").out
    assert kind == "fifo" or (tmp_path / "target").read_text() == PRECIOUS


@pytest.mark.parametrize("where", ["spool", "space"])
def test_a_hook_goes_on_to_the_next_spool(
    used: Path, space: Path, home: Path, kinen: Any, tmp_path: Path, where: str
) -> None:
    """The journal is a link, and so is its spool: the temporary folder is left."""
    planted(used / "journal.db", tmp_path / "target")
    spool = home / "kinen" / "spool"
    shutil.rmtree(spool, ignore_errors=True)
    if where == "space":
        spool.mkdir()
        spool = spool / used.name
    planted(spool, tmp_path / "target")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert hook(kinen, space, "keep this prompt", TMPDIR=str(scratch)).code == 0
    files = [path for path in scratch.rglob("*") if path.is_file()]
    assert len(files) == 1 and "keep this prompt" in files[0].read_text()
    assert (tmp_path / "target").read_text() == PRECIOUS


def test_a_spool_in_the_temporary_folder_that_is_a_link_is_not_used(
    used: Path, space: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    planted(used / "journal.db", tmp_path / "target")
    shutil.rmtree(home / "kinen" / "spool", ignore_errors=True)
    planted(home / "kinen" / "spool", tmp_path / "target")
    scratch, trap = tmp_path / "scratch", tmp_path / "trap"
    scratch.mkdir()
    trap.mkdir()
    (scratch / f"kinen-spool-{os.getuid()}").symlink_to(trap)
    assert hook(kinen, space, "keep this prompt", TMPDIR=str(scratch)).code == 0
    assert list(trap.rglob("*")) == []


def test_a_home_that_is_itself_a_link_is_fine(
    space: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (home / "kinen").symlink_to(tmp_path / "disk")
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    assert kinen("log", "kept").code == 0
    assert "tea.md" in kinen("search", "kettle").out
    assert kinen("daemon", "start").code == 0
    assert "tea.md" in kinen("search", "kettle").out
    assert kinen("daemon", "stop").code == 0
    assert "kept" in kinen("list", "observations").out


def test_the_doctor_names_a_planted_link(
    used: Path, home: Path, kinen: Any, tmp_path: Path
) -> None:
    planted(used / "notes.db", tmp_path / "target")
    ran = kinen("doctor")
    assert ran.code == 1 and "notes.db is a link" in ran.out


def test_an_open_memory_says_that_its_home_was_deleted(
    used: Path, space: Path, home: Path, kinen: Any, write: Callable[[str, str], Path]
) -> None:
    """It says so, or goes on in a new home: nothing hangs, and nobody meets a traceback."""
    with Memory.open(space) as memory:
        assert memory.search("kettle")
        memory.observe("before")
        shutil.rmtree(home / "kinen")
        write("more.md", "# More\n\nmorewords\n")
        for call in (
            lambda: memory.observe("after"),
            lambda: memory.search("kettle"),
            lambda: memory.sync(),
            lambda: memory.recall("kettle"),
            lambda: memory.index.status(),
        ):
            try:
                call()
            except KinenError as error:
                assert error.hint
    with Memory.open(space) as memory:  # whoever opens it next is served
        memory.sync()
        assert memory.search("morewords")
        memory.observe("at last")
    assert "at last" in kinen("list", "observations").out


def test_an_observation_after_the_home_was_deleted_is_kept(
    used: Path, space: Path, home: Path, kinen: Any
) -> None:
    with Memory.open(space) as memory:
        memory.observe("before")
        shutil.rmtree(home / "kinen")
        memory.observe("after")
    assert "after" in kinen("list", "observations").out


def test_hooks_and_commands_make_a_new_home_where_the_old_one_was(
    used: Path, space: Path, home: Path, kinen: Any
) -> None:
    shutil.rmtree(home / "kinen")
    assert hook(kinen, space, "in the new home").code == 0
    assert "in the new home" in kinen("list", "observations").out
    shutil.rmtree(home / "kinen")
    assert "tea.md" in kinen("search", "kettle").out


def test_a_home_that_is_moved_away_and_back_has_lost_nothing(
    used: Path, space: Path, home: Path, kinen: Any
) -> None:
    assert hook(kinen, space, "before the move").code == 0
    away = home / "away"
    (home / "kinen").rename(away)
    assert hook(kinen, space, "somewhere else", KINEN_HOME=str(away)).code == 0
    away.rename(home / "kinen")
    out = kinen("list", "observations").out
    assert "before the move" in out and "somewhere else" in out


def test_hooks_lose_nothing_where_the_home_is_moved_away_between_them(
    used: Path, space: Path, home: Path, tmp_path: Path
) -> None:
    """Each event is in the home that was there, or in a spool."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "TMPDIR": str(scratch), "KINEN_DEBUG": "1"}
    running = []
    homes = [home / "kinen"]
    for n in range(12):
        running.append(hook_process(space, f"prompt number {n}", env))
        if n % 4 == 3:
            assert [process.wait(300) for process in running] == [0] * (n + 1)
            homes.append(home / f"away-{n}")
            (home / "kinen").rename(homes[-1])
    remaining = stored(*homes, scratch)
    assert {f"prompt number {n}" for n in range(12)} <= remaining


def test_hooks_lose_nothing_while_the_home_is_moved_away_again_and_again(
    used: Path, space: Path, home: Path, tmp_path: Path
) -> None:
    """Each event is in a home that was there when it was written, or in a spool; none is mixed
    into the journal of another home."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "TMPDIR": str(scratch)}
    count = 300 if LONG else 24
    homes = [home / "kinen"]
    events = iter(range(count))
    running: list[subprocess.Popen[str]] = []
    codes = set()
    left = True
    while left or running:
        if left and len(running) < 6:
            number = next(events, None)
            left = number is not None
            if left:
                running.append(hook_process(space, f"prompt number {number}", env))
        with contextlib.suppress(FileNotFoundError):  # nobody has made a new one yet
            away = home / f"away-{len(homes)}"
            (home / "kinen").rename(away)
            homes.append(away)
        time.sleep(random.random() / 50)
        codes |= {process.returncode for process in running if process.poll() is not None}
        running = [process for process in running if process.returncode is None]
    assert codes == {0}
    assert len(homes) > 2
    texts = stored(*homes, scratch)
    assert {f"prompt number {n}" for n in range(count)} - texts == set()
    for path in (path for folder in homes for path in folder.rglob("journal.db")):
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


def hook_process(space: Path, text: str, env: dict[str, str]) -> subprocess.Popen[str]:
    """A hook that has been told of a prompt, and runs."""
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(space)}
    payload |= {"prompt": text, "prompt_id": text}
    line = [sys.executable, "-m", "kinen", "hook", "claude-code"]
    process = subprocess.Popen(line, cwd=space, stdin=subprocess.PIPE, text=True, env=env)
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload))
    process.stdin.close()
    return process


def stored(*folders: Path) -> set[str]:
    """Everything that the journals and spools below some folders have."""
    texts = set()
    for path in (path for folder in folders for path in folder.rglob("*")):
        if path.name == "journal.db":
            db = sqlite3.connect(path)
            with contextlib.suppress(sqlite3.OperationalError):  # moved away while it was empty
                texts |= {row[0] for row in db.execute("SELECT content FROM observations")}
            db.close()
        elif "spool" in str(path.parent) and path.is_file() and "." not in path.name:
            texts.add(json.loads(path.read_text())[2])
    return texts
