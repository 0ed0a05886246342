"""What cannot be written now is on disk all the same, and written once by the next who can."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory, Query
from kinen.errors import StoreError
from kinen.journal import spool, write
from kinen.journal.schema import COLUMNS
from kinen.journal.store import BRIEFLY_MS, Journal
from kinen.model.journal import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.journal.schema import Row

posix = pytest.mark.skipif(os.name == "nt", reason="no modes on Windows")
LOCK = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(data: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process has the journal to itself, until its input ends."""
    command = [sys.executable, "-c", LOCK, str(data / "journal.db")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.communicate()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the system that is ours alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TEMP" if os.name == "nt" else "TMPDIR", str(folder))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def spools(tmp_path: Path) -> list[str]:
    return [str(tmp_path / "spool" / name) for name in ("new", "old")]


@pytest.fixture
def journal(data: Path, spools: list[str]) -> Iterator[Journal]:
    """A journal that is there, and waits for its turn only briefly."""
    with closing(Journal(str(data), spools, patience_ms=50)) as opened:
        assert opened.db
        yield opened


def row(text: str, **more: str) -> Row:
    return write.row(text, "message", **more)


def keep(data: Path, spools: list[str], text: str) -> bool:
    return write.keep(str(data), spools, row(text))


def contents(journal: Journal) -> list[str]:
    """The journal's observations in the order in which they were written."""
    rows = journal.db.execute("SELECT content FROM observations ORDER BY seq")
    return [item[0] for item in rows]


def files(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


# A locked journal


def test_a_locked_journal_is_written_by_the_next_who_can(
    journal: Journal, data: Path, spools: list[str]
) -> None:
    with locked(data):
        assert keep(data, spools, "one") is False
        assert keep(data, spools, "two") is False
        assert len(files(spools[0])) == 2
        assert len(spool.waiting(spools)) == 2
    assert keep(data, spools, "three") is True
    assert files(spools[0]) == []
    assert contents(journal) == ["one", "two", "three"]


def test_a_journal_that_is_locked_before_it_has_tables_loses_nothing(
    data: Path, spools: list[str]
) -> None:
    data.mkdir()
    with locked(data):
        assert keep(data, spools, "by a hook") is False
        with closing(Journal(str(data), spools, patience_ms=50)) as journal:
            assert journal.observe(row("by a memory")).content == "by a memory"
    with closing(Journal(str(data), spools)) as journal:
        assert contents(journal) == ["by a hook", "by a memory"]


def test_what_was_spooled_is_written_in_the_order_of_its_ids(
    journal: Journal, spools: list[str]
) -> None:
    rows = [row(str(n)) for n in range(20)]
    shuffled = random.Random(5).sample(rows, len(rows))
    for n, item in enumerate(shuffled):
        spool.put(spools[n % 2], item)
    assert contents(journal) == [str(n) for n in range(20)]
    assert files(spools[0]) == files(spools[1]) == []


def test_a_large_spool_is_written_in_batches(
    journal: Journal, spools: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "BATCH", 4)
    for n in range(10):
        spool.put(spools[0], row(str(n)))
    assert contents(journal) == [str(n) for n in range(10)]
    assert files(spools[0]) == []


def test_a_reader_goes_without_what_cannot_be_written_now(
    journal: Journal, data: Path, spools: list[str]
) -> None:
    journal.observe(row("there"))
    with locked(data):
        spool.put(spools[0], row("waiting"))
        assert contents(journal) == ["there"]
        assert len(files(spools[0])) == 1
    assert contents(journal) == ["there", "waiting"]


def test_what_was_spooled_before_a_capsule_closes_is_part_of_it(
    journal: Journal, data: Path, spools: list[str]
) -> None:
    opened = journal.open_capsule("a", "session", Scope("s"), 1000)
    with locked(data):
        assert write.keep(str(data), spools, row("spooled", session="s")) is False
    summary = journal.close_capsule(opened.ref, "", 2000)[1]
    assert summary is not None
    assert "spooled" in summary.content


def test_a_capsule_waits_for_what_was_spooled_before_it_closes(
    data: Path, spools: list[str]
) -> None:
    """Longer than a reader would."""
    with closing(Journal(str(data), spools)) as journal:
        opened = journal.open_capsule("a", "session", Scope("s"), 1000)
        with locked(data) as other:
            assert write.keep(str(data), spools, row("spooled", session="s")) is False
            threading.Timer(3 * BRIEFLY_MS / 1000, other.kill).start()
            summary = journal.close_capsule(opened.ref, "", 2000)[1]
        assert summary is not None
        assert "spooled" in summary.content


def test_hooks_that_all_begin_a_journal_at_once_lose_nothing(
    data: Path, spools: list[str], tmp_path: Path
) -> None:
    code = (
        "import os, sys, time; from kinen.journal import write\n"
        "data, spool, go = sys.argv[1:]\n"
        "row = write.row('one of ten', 'message'); print(row[0], flush=True)\n"
        "while not os.path.exists(go): time.sleep(0.001)\n"
        "write.keep(data, [spool], row)\n"
    )
    go = tmp_path / "go"
    command = [sys.executable, "-c", code, str(data), spools[0], str(go)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    ten = [subprocess.Popen(command, **pipes) for _ in range(10)]
    ids = {process.stdout.readline().strip() for process in ten}
    go.touch()
    for process in ten:
        assert process.communicate(timeout=300)[1] == ""
        assert process.returncode == 0
    with closing(Journal(str(data), spools)) as journal:
        assert {item[0] for item in journal.db.execute("SELECT id FROM observations")} == ids
    assert len(ids) == 10


def test_a_memory_with_a_locked_journal_answers_and_finds_it_later(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.observe("The kettle is on.")
        journal = memory.core.store
        memory.close()
        memory.core.store = Journal(os.path.dirname(journal.path), journal.spools, patience_ms=50)
        with locked(Path(memory.space.data)):
            entry = memory.observe("The kettle whistles.", files=["stove.md"])
            assert entry.ref.startswith("observation:")
            assert [os.path.basename(path) for path in spool.waiting(journal.spools)] == [entry.id]
        hits = memory.search(Query("whistles", mode="fulltext"))
        assert [hit.record.ref for hit in hits] == [entry.ref]
        assert memory.journal.entries("observations")[0][0] == entry


# Once, whatever happens in between


def test_a_crash_after_the_commit_and_before_the_file_is_gone_doubles_nothing(
    journal: Journal, data: Path, spools: list[str]
) -> None:
    for text in ("one", "two"):
        spool.put(spools[0], row(text))
    die = (
        "import os, sys; from kinen.journal import write\n"
        "os.unlink = lambda *_: os._exit(9)\n"
        "write.keep(sys.argv[1], [sys.argv[2]], write.row('never', 'message'))\n"
    )
    command = [sys.executable, "-c", die, str(data), spools[0]]
    assert subprocess.run(command, check=False).returncode == 9
    assert len(files(spools[0])) == 2
    count = "SELECT COUNT(*) FROM observations"
    with closing(sqlite3.connect(journal.path)) as db:
        assert db.execute(count).fetchone() == (2,)
    assert keep(data, spools, "three")
    assert contents(journal) == ["one", "two", "three"]
    assert files(spools[0]) == []


def test_what_is_in_the_spool_twice_is_written_once(journal: Journal, spools: list[str]) -> None:
    first, away = row("the same"), Path(spool.elsewhere(spools[0]))
    away.parents[1].mkdir(mode=0o700)
    for folder in (*spools, str(away)):
        spool.put(folder, first)
    assert len(spool.waiting(spools)) == 3
    assert contents(journal) == ["the same"]
    assert spool.waiting(spools) == []


def test_a_draft_that_a_crash_left_is_not_taken_for_an_observation(
    journal: Journal, spools: list[str]
) -> None:
    path = Path(spool.put(spools[0], row("whole")))
    path.with_name(f"{path.name}.77.tmp").write_bytes(path.read_bytes()[:40])
    assert contents(journal) == ["whole"]
    assert files(spools[0]) == [f"{path.name}.77.tmp"]


def changed(**cells: Any) -> bytes:
    """A spooled row with some cells as they cannot be; it goes to a file that its id names."""
    output = dict(zip(COLUMNS, row("bad", id=ID), strict=True)) | cells
    return json.dumps(list(output.values())).encode()


ID = "01KDWMA8G0BBBBBBBBBBBBBBBB"
GARBAGE = {
    "empty": b"",
    "no json": b"kettle",
    "no text": b"\xff\xfe\x00",
    "cut off": changed()[:-20],
    "an object": b"{}",
    "too short": b"[1, 2]",
    "too long": changed()[:-1] + b', "more"]',
    "nested": b"[" * 100_000,
    "of another id": changed(id="01KDWMA8G0CCCCCCCCCCCCCCCC"),
    "without content": changed(content=None),
    "with a list": changed(session=["s"]),
    "with text for a time": changed(ts="now"),
    "with a time too large": changed(ts=10**30),
    "with a time of no calendar": changed(ts=10**16),
    "with half a pair": changed(content="\ud83e"),
}


@pytest.mark.parametrize("data_", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_set_aside_and_nothing_else_is_lost(
    journal: Journal, data: Path, spools: list[str], data_: bytes
) -> None:
    for id_ in ("01KDWMA8G0AAAAAAAAAAAAAAAA", "01KDWMA8G0ZZZZZZZZZZZZZZZZ"):
        spool.put(spools[0], row("good", id=id_))
    (Path(spools[0]) / ID).write_bytes(data_)
    assert keep(data, spools, "next") is True
    assert contents(journal) == ["good", "good", "next"]
    assert files(spools[0]) == [f"{ID}.bad"]
    assert (Path(spools[0]) / f"{ID}.bad").read_bytes() == data_


def test_what_the_garbage_is_made_of_would_be_fine_as_it_was(
    journal: Journal, spools: list[str]
) -> None:
    os.makedirs(spools[0])
    (Path(spools[0]) / ID).write_bytes(changed())
    assert contents(journal) == ["bad"]


@pytest.mark.parametrize(
    "id_", ["evt.1", "../../evt", "a/b", "C:x", ".", "x" * 300, "é", "lower", "A b"]
)
def test_an_id_that_is_no_name_of_a_file_is_spooled_all_the_same(
    journal: Journal, spools: list[str], tmp_path: Path, id_: str
) -> None:
    before = {path for path in tmp_path.rglob("*") if "spool" not in path.parts}
    spool.put(spools[0], row("strange", id=id_))
    assert {path for path in tmp_path.rglob("*") if "spool" not in path.parts} == before
    assert len(files(spools[0])) == 1
    assert contents(journal) == ["strange"]
    assert journal.db.execute("SELECT id FROM observations").fetchone() == (id_,)
    assert files(spools[0]) == []


# Spools of ids that the space had before


def test_the_spool_of_an_alias_is_drained(journal: Journal, spools: list[str]) -> None:
    spool.put(spools[1], row("under the old id"))
    assert contents(journal) == ["under the old id"]
    assert files(spools[1]) == []


def test_what_was_spooled_before_the_space_had_a_better_id_is_found(space: Path) -> None:
    without = {"index.embedding_provider": "none"}
    with Memory.open(space, settings=without) as memory:
        memory.observe("The kettle is on.")
        spool.put(memory.core.spools[0], row("The kettle whistles."))
        before = memory.space.id
    (space / ".kinen" / "config.yml").write_text("space:\n  id: kettles\n")
    with Memory.open(space, settings=without) as memory:
        assert memory.space.id != before
        assert len(memory.search(Query("whistles", mode="fulltext"))) == 1
        assert len(memory.search(Query("kettle", mode="fulltext"))) == 2


# Disks that refuse


def test_a_home_that_cannot_be_written_falls_back_to_the_temporary_folder(
    journal: Journal, spools: list[str], tmp_path: Path, temporary: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in place of a folder")
    there = [str(blocked / "spool" / "a")]
    path = spool.put(there[0], row("elsewhere"))
    assert path.startswith(str(temporary))
    assert spool.waiting(there) == [path]
    assert spool.waiting(spools) == []
    journal.spools = there
    assert contents(journal) == ["elsewhere"]
    assert spool.waiting(there) == []


def test_what_stands_in_the_way_as_a_reserve_is_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "spool" / ".reserve"
    folder.parent.mkdir()
    folder.write_bytes(b"x" * 1000)
    path = spool.put(str(folder), row("here"))
    assert path.startswith(str(folder))


def test_the_reserve_is_there_once_a_journal_was_opened(
    journal: Journal, spools: list[str]
) -> None:
    reserve = Path(spools[0]).parent / ".reserve"
    assert reserve.stat().st_size == spool.RESERVE
    before = reserve.read_bytes()
    assert len(set(before)) > 200, "a file system that compresses would give nothing back"
    journal.close()
    assert journal.db
    assert reserve.read_bytes() == before


@posix
@pytest.mark.parametrize("fault", ["readable", "writable", "a link", "of another"])
def test_a_temporary_folder_that_is_not_ours_alone_is_refused(
    journal: Journal, tmp_path: Path, temporary: Path, fault: str
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in place of a folder")
    there = str(blocked / "spool" / "a")
    top = temporary / f"kinen-spool-{os.getuid()}"
    (tmp_path / "ours").mkdir(mode=0o700)
    if fault == "a link":
        top.symlink_to(tmp_path / "ours")
    else:
        top.mkdir(mode=0o700)
        top.chmod({"readable": 0o750, "writable": 0o702}.get(fault, 0o700))
    if fault == "of another":
        if os.getuid():
            pytest.skip("only root can give a folder away")
        os.chown(top, 12345, 12345)
    with pytest.raises(OSError, match=r"[Nn]ot a directory|exists"):
        spool.put(there, row("private"))
    assert [path for path in top.rglob("*") if path.is_file()] == []
    # Nor is anything believed that somebody put there.
    os.makedirs(spool.elsewhere(there), exist_ok=True)
    foreign = row("put there by another")
    Path(spool.elsewhere(there), str(foreign[0])).write_text(json.dumps(foreign))
    journal.spools = [there]
    assert spool.waiting([there]) == []
    assert contents(journal) == []


def test_where_nothing_can_be_written_the_error_says_so(
    journal: Journal, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in place of a folder")
    monkeypatch.setenv("TEMP" if os.name == "nt" else "TMPDIR", str(blocked))
    journal.spools = [str(blocked / "spool" / "a")]
    with locked(data), pytest.raises(StoreError) as refused:
        journal.observe(row("nowhere"))
    assert "cannot store the observation" in refused.value.message
    assert "free some space" in refused.value.hint


FULL = """
import json, os, subprocess, sys
from contextlib import closing
from kinen.journal import spool, write
from kinen.journal.store import BRIEFLY_MS, Journal
disk = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=True)
data, spools, ballast = f"{disk}/data", [f"{disk}/spool/a"], f"{disk}/ballast"

def fill():
    with open(ballast, "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass

def spooled():
    here = os.listdir(spools[0]) if os.path.isdir(spools[0]) else []
    away = spool.elsewhere(spools[0])
    return len(here), len(os.listdir(away)) if os.path.isdir(away) else 0

told = []
with closing(Journal(data, spools)) as journal:
    journal.observe(write.row("before", "message"))
for text in ("first", "second"):
    fill()
    # Several pages: what is left of the page that the reserve gives back must not do.
    big = write.row(text + "." * 300_000, "message")
    told.append((write.keep(data, spools, big), *spooled()))
    told.append(os.path.exists(f"{disk}/spool/.reserve"))
os.unlink(ballast)
with closing(Journal(data, spools)) as journal:
    rows = journal.db.execute("SELECT content FROM observations ORDER BY seq").fetchall()
    told += [[row[0].rstrip(".") for row in rows], *spooled()]
print(json.dumps(told))
"""
APART = ["unshare", "--user", "--map-root-user", "--mount"]


def can_mount() -> bool:
    try:
        tried = subprocess.run([*APART, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False)
    except OSError:
        return False
    return tried.returncode == 0


def test_a_full_disk_gives_up_its_reserve_and_then_the_temporary_folder_is_used(
    tmp_path: Path,
) -> None:
    if not sys.platform.startswith("linux") or not can_mount():
        pytest.skip("no small disk can be made here")
    disk = tmp_path / "disk"
    disk.mkdir()
    run = subprocess.run(
        [*APART, sys.executable, "-c", FULL, str(disk)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [
        [False, 1, 0],  # the reserve made room
        False,
        [False, 1, 1],  # there was none left
        False,
        ["before", "first", "second"],
        0,
        0,
    ]


def test_a_journal_that_cannot_grow_spools(journal: Journal, data: Path, spools: list[str]) -> None:
    """The limit of a process on the size of a file is as real as a full disk."""
    pytest.importorskip("resource")
    for n in range(40):
        journal.observe(row(str(n) * 4000))
    assert Path(journal.path + "-wal").stat().st_size > 100_000
    limited = (
        "import resource, signal, sys; from kinen.journal import write\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "one = write.row('small', 'message')\n"
        "print(write.keep(sys.argv[1], sys.argv[2:], one), one[0])\n"
    )
    command = [sys.executable, "-c", limited, str(data), *spools]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    written, id_ = run.stdout.split()
    assert (written, files(spools[0])) == ("False", [id_])
    assert contents(journal)[-1] == "small"
    assert journal.check() == ""


# Nobody else reads along


@posix
def test_files_and_folders_are_for_their_owner_only(
    data: Path, spools: list[str], tmp_path: Path, temporary: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in place of a folder")
    before = os.umask(0)
    try:
        away = Path(spool.put(str(blocked / "spool" / "a"), row("away")))
        here = Path(spool.put(spools[0], row("here")))
        spool.keep_reserve(spools[0])
        assert keep(data, [spools[1]], "written")
    finally:
        os.umask(before)

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    reserve = here.parent.parent / ".reserve"
    assert {mode(file) for file in (here, away, reserve)} == {0o600}
    assert mode(here.parent) == mode(data) == 0o700
    assert mode(temporary / f"kinen-spool-{os.getuid()}") == 0o700
