"""What the daemon does for the spaces it watches, and how it gets over what happens to them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from daemon.conftest import DEBOUNCE, HANGING
from kinen import Memory
from properties.test_rebuild import contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from daemon.conftest import Running

LONG = bool(os.environ.get("KINEN_STRESS"))


@pytest.fixture
def tended(space: Path, write: Callable[[str, str], Path], daemon: Running) -> Path:
    """A space that is indexed and watched."""
    write("tea.md", "# Tea\n\nThe kettle whistles.\n")
    with Memory.open(space) as memory:
        memory.sync()
    daemon.start()
    daemon.settled(space)
    return space


def syncs(daemon: Running, space: Path) -> list[str]:
    """What each sync of a space did, by the log."""
    name = f" INFO {space.name}: "
    lines = [line.partition(name)[2] for line in daemon.log().splitlines() if name in line]
    return [line.rpartition(" (")[0] for line in lines if " s)" in line]


def counts(daemon: Running, space: Path) -> tuple[int, Counter[str]]:
    """How many syncs after the first did something, and what all of them did together."""
    done = [line for line in syncs(daemon, space)[1:] if line != "nothing changed"]
    total = Counter[str]()
    for part in ", ".join(done).split(", "):
        count, _, what = part.partition(" ")
        total[what] += int(count.replace(",", "") or 0)
    return len(done), total


def has_word(space: Path, word: str) -> bool:
    """Whether full text has a word, by the database itself: a question would look for news."""
    with Memory.open(space) as memory:
        path = memory.core.file("index.db")
    with sqlite3.connect(path) as db:
        return bool(db.execute("SELECT 1 FROM chunks WHERE instr(body, ?)", (word,)).fetchone())


def test_an_edit_is_one_sync_after_the_interval(
    tended: Path, daemon: Running, tmp_path: Path
) -> None:
    times = []
    for n in range(5):
        draft = tmp_path / "draft.md"
        draft.write_text(f"# Tea\n\nword{n}\n")
        began = time.monotonic()
        draft.replace(tended / ("tea.md" if n % 2 else f"new-{n}.md"))
        while not has_word(tended, f"word{n}"):
            assert time.monotonic() - began < HANGING, daemon.log()
            time.sleep(0.005)
        times.append(time.monotonic() - began)
        daemon.settled(tended)
    # How fast is for benchmarks/daemon.py to say; that it is not by chance or by polling is ours.
    assert min(times) > DEBOUNCE / 2
    assert len(syncs(daemon, tended)) == 6  # the first one, and one per edit


def test_a_storm_is_indexed_in_few_syncs(
    tended: Path, daemon: Running, tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    count = 10_000 if LONG else 600
    elsewhere = tmp_path / "elsewhere"
    for n in range(count):
        folder = elsewhere / f"part-{n % 50}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note-{n}.md").write_text(f"# Note {n}\n\nstorm{n}\n")
    shutil.copytree(elsewhere, tended / "many")
    # Copying pauses on a busy machine, and whoever syncs in a pause may meet one half of a file.
    # What counts is that each file is read once, and that there are few syncs for many files.
    daemon.until(lambda _: counts(daemon, tended)[1]["added"] >= count)
    daemon.until(lambda state: not state["queue"])
    turns, total = counts(daemon, tended)
    assert total["added"] == count and total["removed"] == 0
    assert total["changed"] < turns <= count // 10
    for n in range(0, count, 2):  # and changed at once, by an editor that saves atomically
        path = tended / "many" / f"part-{n % 50}" / f"note-{n}.md"
        draft = path.with_suffix(".tmp")
        draft.write_text(f"# Note {n}\n\ncalm{n}\n")
        draft.replace(path)
    daemon.until(lambda _: all(has_word(tended, f"calm{n}") for n in range(0, count, 2)))
    daemon.until(lambda state: not state["queue"])
    more, after = counts(daemon, tended)
    assert after["changed"] - total["changed"] == count // 2
    assert (after["added"], after["removed"]) == (count, 0)
    assert more - turns <= count // 10


def test_a_checkout_is_indexed_once_with_its_history(tmp_path: Path, daemon: Running) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
    who |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}

    def git(*words: str) -> None:
        line = ["git", "-C", str(root), *words]
        subprocess.run(line, check=True, capture_output=True, env={**os.environ, **who})

    git("init", "-qb", "main")
    (root / "README.md").write_text("# Here\n")
    git("add", ".")
    git("commit", "-qm", "feat: begin")
    git("checkout", "-qb", "other")
    for n in range(200):
        (root / f"note-{n}.md").write_text(f"# Note {n}\n\nbranch{n}\n")
    git("add", ".")
    git("commit", "-qm", "feat(notes): a branchful of them")
    git("checkout", "-q", "main")
    with Memory.open(root) as memory:
        memory.sync(embed=False)
    daemon.start()
    daemon.settled(root)
    daemon.until(lambda _: bool(syncs(daemon, root)))  # the first is not counted below
    git("checkout", "-q", "other")
    daemon.until(lambda _: has_word(root, "a branchful of them") and has_word(root, "branch199"))
    daemon.until(lambda state: not state["queue"])
    turns, total = counts(daemon, root)
    assert total["added"] == 201 and turns <= 20


def test_what_nobody_reads_wakes_nobody(
    tended: Path, daemon: Running, write: Callable[[str, str], Path]
) -> None:
    write(".kinenignore", "logs/\n*.draft.md\n")
    daemon.until(lambda _: len(syncs(daemon, tended)) >= 2)
    daemon.settled(tended)
    before = len(syncs(daemon, tended))
    for n in range(20):
        write("logs/today.md", f"line {n}\n")
        write("x.draft.md", f"line {n}\n")
        write("build.o", f"{n}")
        time.sleep(0.01)
    time.sleep(3 * DEBOUNCE)
    assert len(syncs(daemon, tended)) == before


def test_a_space_that_vanishes_keeps_its_index_and_is_known_again(
    tended: Path, daemon: Running, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    tended.rename(away)
    daemon.until(lambda _: daemon.space(tended).get("state") == "gone")
    assert "is gone" in daemon.space(tended)["error"]
    away.rename(tended)
    daemon.settled(tended)
    message = [item["what"] for item in daemon.state()["happened"]]
    assert "is gone" in message[-2] and message[-1].endswith("works again")
    assert syncs(daemon, tended)[-1] == "nothing changed"
    (tended / "more.md").write_text("# More\n\nafterwards\n")
    daemon.until(lambda _: has_word(tended, "afterwards"))


def test_a_folder_moved_away_and_back_is_one_sync(
    tended: Path, daemon: Running, tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    write("deep/down/here.md", "# Here\n\ndeepword\n")
    daemon.until(lambda _: has_word(tended, "deepword"))
    daemon.settled(tended)
    before = len(syncs(daemon, tended))
    (tended / "deep").rename(tmp_path / "deep")
    (tmp_path / "deep").rename(tended / "deep")
    daemon.until(lambda _: len(syncs(daemon, tended)) > before)
    daemon.settled(tended)
    done = syncs(daemon, tended)[before:]
    # A busy machine may pause between the two moves.
    assert done in (["nothing changed"], ["1 removed", "1 added"])
    write("deep/down/here.md", "# Here\n\notherword\n")  # it is watched where it is now
    daemon.until(lambda _: has_word(tended, "otherword"))


def test_new_spaces_are_met_and_removed_ones_left(
    tended: Path, daemon: Running, tmp_path: Path, kinen: Any
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n\nfirstword\n")
    assert kinen("init", cwd=other).code == 0
    daemon.until(lambda _: kinen("search", "firstword", cwd=other).code == 0)
    daemon.settled(other)
    assert kinen("search", "firstword", cwd=other).code == 0
    (other / "b.md").write_text("# B\n\nsecondword\n")
    daemon.until(lambda _: has_word(other, "secondword"))
    assert kinen("space", "remove", "other", cwd=other).code == 0
    daemon.until(lambda _: not daemon.space(other))


def test_a_space_is_met_when_somebody_indexes_it(
    tended: Path, daemon: Running, tmp_path: Path, kinen: Any
) -> None:
    """Nobody had searched there when it was registered."""
    later = tmp_path / "later"
    later.mkdir()
    (later / "a.md").write_text("# A\n\nfirstword\n")
    assert kinen("init", cwd=later).code == 0
    known = tmp_path / "known"
    known.mkdir()
    assert kinen("init", cwd=known).code == 0
    assert kinen("index", cwd=known).code == 0
    daemon.settled(known)  # so the daemon has read the registry since
    assert not daemon.space(later)
    assert kinen("index", cwd=later).code == 0
    daemon.settled(later)
    (later / "b.md").write_text("# B\n\nsecondword\n")
    daemon.until(lambda _: has_word(later, "secondword"))


def test_vectors_follow_by_themselves(
    tended: Path, daemon: Running, write: Callable[[str, str], Path]
) -> None:
    write("more.md", "# More\n\nA balloon rose above the harbour.\n")
    daemon.until(lambda _: has_word(tended, "balloon"))
    daemon.settled(tended)
    with Memory.open(tended) as memory:
        assert memory.index.status().pending == 0


def test_what_waits_in_the_spool_is_taken_in(tended: Path, daemon: Running, kinen: Any) -> None:
    with Memory.open(tended) as memory:
        memory.observe("first of all")
        journal = memory.core.store.path
        spool = memory.core.spools[0]
    db = sqlite3.connect(journal, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    hook = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(tended)}
    hook |= {"tool_name": "Bash", "tool_input": {"command": "ls spoolword"}, "tool_use_id": "t"}
    assert kinen("hook", "claude-code", stdin=json.dumps(hook), cwd=tended).code == 0
    assert [name for name in os.listdir(spool) if "." not in name]
    db.execute("ROLLBACK")
    db.close()
    daemon.until(lambda _: has_word(tended, "spoolword"))
    assert not [name for name in os.listdir(spool) if "." not in name]


def test_a_damaged_index_is_built_again_and_the_journal_untouched(
    tended: Path, daemon: Running, write: Callable[[str, str], Path], kinen: Any
) -> None:
    with Memory.open(tended) as memory:
        remaining = memory.observe("what must not be lost").id
        index, journal = memory.core.file("index.db"), memory.core.store.path
    daemon.settled(tended)
    with sqlite3.connect(journal) as db:
        before = list(db.iterdump())
    db.close()
    for suffix in ("", "-wal"):
        if os.path.exists(index + suffix):
            with open(index + suffix, "r+b") as file:
                file.truncate(0)
                file.write(os.urandom(60_000))
    write("more.md", "# More\n\nmorewords\n")
    daemon.until(lambda state: any("was damaged" in item["what"] for item in state["happened"]))
    daemon.settled(tended)
    assert has_word(tended, "morewords") and has_word(tended, "what must not be lost")
    with sqlite3.connect(journal) as db:
        assert list(db.iterdump()) == before
    db.close()
    data = json.loads(kinen("search", "--fulltext", "must not be lost", "--json").out)
    assert data["results"][0]["source"]["ref"] == f"observation:{remaining}"
    assert "was damaged" in kinen("daemon", "status").out


def test_killed_in_the_middle_of_a_sync_it_comes_back_to_the_same_index(
    space: Path, tmp_path: Path, daemon: Running
) -> None:
    rng = random.Random(5)
    notes = range(300 if LONG else 90)
    for n in notes:
        words = " ".join(rng.choices(["alpha", "beta", "gamma", "delta"], k=80))
        (space / f"note-{n}.md").write_text(f"# Note {n}\n\n{words}\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
    for turn in range(20 if LONG else 3):
        daemon.start()
        for n in rng.sample(notes, 2 * len(notes) // 3):
            (space / f"note-{n}.md").write_text(f"# Note {n}\n\nturn {turn} word{n}\n")
        time.sleep(DEBOUNCE + rng.uniform(0, 0.4))
        daemon.kill()
    daemon.start()
    daemon.settled(space)
    happened = [item["what"] for item in daemon.state()["happened"]]
    assert any("was killed" in what for what in happened)
    daemon.end()
    with Memory.open(space) as memory:
        ours = contents(memory)
    with Memory.open(space, home=tmp_path / "fresh") as memory:
        memory.sync()
        assert contents(memory) == ours


def small_disk(folder: Path, megabytes: int) -> tuple[str, ...]:
    """A command prefix under which a folder is a file system of that size, if that can be had."""
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "{folder}" && exec "$@"'
    prefix = ("unshare", "-rm", "sh", "-c", mount, "sh")
    if not shutil.which("unshare"):
        return ()
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else ()


FULL = """
import json, os, subprocess, sys, time
from pathlib import Path
from kinen import Memory
from kinen.daemon import control
home, root = sys.argv[1], Path(sys.argv[2])
os.environ["KINEN_HOME"] = home
with Memory.open(root) as memory:
    memory.sync(embed=False)
line = [sys.executable, "-m", "kinen", "daemon", "run"]
daemon = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def until(holds):
    end = time.monotonic() + 300
    # One that is busy may not answer in time.
    while not ((state := control.look(home).state).get("spaces") and holds(state)):
        assert time.monotonic() < end, state
        time.sleep(0.05)
    return state
until(lambda state: state["spaces"][0]["state"] == "idle")
ballast = os.path.join(home, "ballast")
file = os.open(ballast, os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(file, b"x" * 4096)
except OSError:
    os.close(file)
for n in range(120):
    (root / f"more-{n}.md").write_text("# More\\n\\n" + f"word{n} " * 400)
state = until(lambda state: state["spaces"][0]["error"])
line = [sys.executable, "-m", "kinen", "daemon", "status"]
said = subprocess.run(line, capture_output=True, text=True)
os.unlink(ballast)
(root / "last.md").write_text("# Last\\n\\nlastword\\n")
until(lambda state: not state["spaces"][0]["error"])
with Memory.open(root) as memory:
    found = memory.search("lastword")[0].record.path, memory.index.status().counts.documents
control.stop(home)
print(json.dumps([state["spaces"][0]["error"], said.stdout, found, daemon.wait()]))
"""


def test_a_full_disk_is_said_and_got_over(space: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = small_disk(disk, 24)
    if not prefix:
        pytest.skip("no file system of one's own can be made here")
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    env = {**os.environ, "TMPDIR": str(disk), "KINEN_DAEMON_WATCH_DEBOUNCE_MS": "500"}
    line = [*prefix, sys.executable, "-c", FULL, str(disk / "kinen"), str(space)]
    run = subprocess.run(line, capture_output=True, text=True, env=env, check=False, timeout=900)
    assert run.returncode == 0, run.stderr
    error, status, results, code = json.loads(run.stdout)
    assert "disk is full" in error and "disk is full" in status
    assert results == ["last.md", 122]
    assert code == 0


def test_signals_during_a_long_sync_end_it_soon(space: Path, daemon: Running) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
    for n in range(3000):
        (space / f"note-{n}.md").write_text(f"# Note {n}\n\n{'word ' * 200}{n}\n")
    daemon.start()
    daemon.until(lambda _: daemon.space(space).get("state") in ("syncing", "embedding"))
    daemon.kill(signal.SIGTERM)
    assert len(syncs(daemon, space)) <= 1  # it did not go on to what else there was to do
    assert (daemon.home / "daemon.json").read_text().count("SIGTERM") == 1
