from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kinen.daemon import watch
from kinen.daemon.watch import Watch
from kinen.sources.files.watch import watch_list
from kinen.space.repository import git_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINUX = sys.platform == "linux"
BACKENDS = ("inotify", "watchfiles", "polling") if LINUX else ("watchfiles", "polling")
PATIENCE = 300.0
only_linux = pytest.mark.skipif(not LINUX, reason="inotify is Linux's")


class Lead:
    """Does what the daemon does: gives a space anew when its folders may have changed."""

    def __init__(self, backend: str, *roots: Path, **more: int) -> None:
        self.calls: list[tuple[str, bool]] = []
        self.told = threading.Condition()
        self.watch = Watch(self.changed, backend=backend, poll=0.01, **more)
        self.spools = [str(roots[0].parent / "home" / "spool" / "0123")]
        self.fence = Path(tempfile.mkdtemp(dir=roots[0].parents[2]))
        self.made = self.seen = self.passed = 0
        self.watch.watch((str(self.fence), (str(self.fence),), self.fenced, lambda _: False))
        for root in roots:
            self.tend(str(root))
        self.settle()

    def changed(self, root: str, folders: bool) -> None:
        with self.told:
            if root == str(self.fence):
                self.passed = self.seen
            else:
                self.calls.append((root, folders))
            self.told.notify()

    def fenced(self, path: str, _folder: bool) -> bool:
        if os.path.dirname(path) == str(self.fence):
            self.seen = max(self.seen, int(os.path.basename(path)))
        return os.path.dirname(path) == str(self.fence)

    def tend(self, root: str) -> None:
        if os.path.isdir(root):  # else there is no space to open
            git = git_above(root)
            both = (git.folder, git.common) if git else ("", "")
            self.watch.watch(watch_list(root, git=both, spools=self.spools))

    def settle(self) -> list[tuple[str, bool]]:
        """All that is told of what happened until now."""
        results: list[tuple[str, bool]] = []
        while True:
            # What comes after is told after; only inotify keeps the order of what came at once.
            for _ in range(1 if self.watch.backend[0] == "inotify" else 2):
                self.pass_fence()
            with self.told:
                some, self.calls = self.calls, []
            results += some
            for root in (again := {root for root, folders in some if folders}):
                self.tend(root)
            if not again:
                return results

    def pass_fence(self) -> None:
        until = time.monotonic() + PATIENCE
        expected = self.made + 1
        while self.passed < expected:
            assert time.monotonic() < until, "it is deaf"
            self.made += 1
            (self.fence / str(self.made)).touch()
            with self.told:
                self.told.wait_for(lambda: self.passed >= expected, 0.1)

    def hear(self) -> bool:
        """Wait until something is told; whether folders may have changed."""
        return any(folders for _, folders in self.heard())

    def heard(self) -> list[tuple[str, bool]]:
        with self.told:
            assert self.told.wait_for(lambda: self.calls, PATIENCE), "nothing was told"
        return self.settle()


@pytest.fixture(params=BACKENDS)
def lead(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Lead]]:
    monkeypatch.setattr(watch, "POLL_SHARE", 0.5)
    yield from leads(request.param)


@pytest.fixture
def listener() -> Iterator[Callable[..., Lead]]:
    yield from leads("inotify")


def leads(backend: str) -> Iterator[Callable[..., Lead]]:
    created: list[Lead] = []

    def make(*roots: Path, **more: int) -> Lead:
        created.append(Lead(backend, *roots, **more))
        return created[-1]

    yield make
    for item in created:
        item.watch.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    space = tmp_path / "far" / "above" / "space"
    for path in ("a.md", "notes/b.md", "notes/deep/c.md", "out/d.md"):
        write(space, path)
    write(space, ".kinenignore", "out/\n*.draft.md\n")
    return space


def write(root: Path, path: str, text: str = "tea\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def wait_for(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.01)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


# The contract, whatever tells


def test_an_edit_is_told_and_nothing_else(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    assert watcher.watch.mode(str(root))[1] == ""
    write(root, "notes/deep/c.md", "coffee\n")
    assert not watcher.hear()
    assert not watcher.settle()


def test_an_atomic_save_is_told(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    os.replace(write(root, "notes/.b.md.tmp", "coffee\n"), root / "notes/b.md")
    assert not watcher.hear()


def test_a_new_and_a_deleted_file_are_told(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    new = write(root, "notes/new.md")
    assert not watcher.hear()
    new.unlink()
    assert not watcher.hear()


def test_folders_that_come_at_once_with_files_are_watched(
    lead: Callable[..., Lead], root: Path
) -> None:
    watcher = lead(root)
    for path in ("x/y/z/a.md", "x/y/b.md", ".memories/plans/c.md"):
        write(root, path)
    assert watcher.hear()
    for path in ("x/y/z/a.md", "x/y/b.md", ".memories/plans/c.md"):
        write(root, path, "coffee\n")
        watcher.hear()


def test_a_folder_that_came_while_others_were_listed_is_watched(
    lead: Callable[..., Lead], root: Path
) -> None:
    first, what = lead(root), watch_list(str(root))
    first.watch.forget(str(root))
    first.settle()
    (root / "late" / "in").mkdir(parents=True)
    first.watch.watch(what)
    assert first.hear()
    write(root, "late/in/a.md")
    first.hear()


def test_a_folder_that_is_moved_away_and_back_is_watched(
    lead: Callable[..., Lead], root: Path
) -> None:
    watcher = lead(root)
    for there in (root.parent / "elsewhere", root / "renamed"):
        (root / "notes").rename(there)
        assert watcher.hear()
        write(there, "deep/c.md", "coffee\n")
        assert bool(watcher.settle()) == (root in there.parents)
        there.rename(root / "notes")
        assert watcher.hear()
        write(root, "notes/deep/c.md", "tea again\n")
        watcher.hear()


def test_a_folder_that_is_deleted_and_made_again_is_watched(
    lead: Callable[..., Lead], root: Path
) -> None:
    watcher = lead(root)
    for text in ("coffee\n", "water\n"):
        shutil.rmtree(root / "notes")
        write(root, "notes/deep/c.md", text)
        watcher.hear()
        write(root, "notes/deep/c.md", "tea again\n")
        watcher.hear()


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_root_that_goes_and_comes_back_is_watched(
    lead: Callable[..., Lead], root: Path, above: int
) -> None:
    first, tree = lead(root), (root, *root.parents)[above]
    away = tree.rename(tree.with_name("away"))
    assert first.hear()
    write(away / root.relative_to(tree), "a.md", "coffee\n")
    assert not first.settle()
    if above:  # a step on the way back, and there is still no space
        tree.mkdir()
        first.settle()
        tree.rmdir()
        first.settle()
    away.rename(tree)
    assert first.hear()
    write(root, "notes/deep/c.md", "coffee\n")
    assert not first.hear()


def test_a_root_that_is_deleted_and_made_again_is_watched(
    lead: Callable[..., Lead], root: Path
) -> None:
    watcher = lead(root)
    shutil.rmtree(root.parent)
    assert watcher.hear()
    write(root, "new/a.md")
    assert watcher.hear()
    write(root, "new/a.md", "coffee\n")
    watcher.hear()


def test_what_is_never_indexed_wakes_nobody(lead: Callable[..., Lead], root: Path) -> None:
    write(root, "out/deep/x.md")
    write(root, "server.log")
    watcher = lead(root)
    for n in range(5):
        for path in ("server.log", "out/d.md", "out/deep/x.md", "a.draft.md", ".a.md.swp"):
            write(root, path, f"{n}\n")
        for path in ("node_modules/tea/readme.md", ".cache/a.md", "out/more/a.md"):
            write(root, path, f"{n}\n")
        shutil.rmtree(root / "node_modules")
    assert not watcher.settle()


def test_new_rules_open_and_close_folders(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    write(root, ".kinenignore", "notes/\n")
    assert watcher.hear()
    write(root, "out/d.md", "coffee\n")
    assert not watcher.hear()
    write(root, "notes/b.md", "coffee\n")
    assert not watcher.settle()
    write(root, "sub/.gitignore", "*.md\n")
    assert watcher.hear()
    write(root, "sub/a.md")
    assert not watcher.settle()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_what_is_behind_a_link_is_not_watched(lead: Callable[..., Lead], root: Path) -> None:
    far = write(root.parent, "far/x.md").parent
    (root / "linked").symlink_to(far)
    watcher = lead(root)
    write(far, "x.md", "coffee\n")
    (far / "in").mkdir()
    assert not watcher.settle()


def test_a_repository_is_followed_from_its_beginning(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    git(root, "init")
    assert watcher.hear()
    for words in (
        ("commit", "--allow-empty", "-m", "a"),
        ("commit", "--allow-empty", "-m", "b"),
        ("checkout", "-b", "team/tea"),
        ("commit", "--allow-empty", "-m", "c"),
        ("pack-refs", "--all"),
        ("commit", "--allow-empty", "-m", "d"),
        ("checkout", "main"),
    ):
        git(root, *words)
        watcher.hear()
    git(root, "add", ".")  # the index of git is none of ours
    git(root, "status")
    assert not watcher.settle()


def test_a_worktree_follows_its_own_head_and_the_shared_branches(
    lead: Callable[..., Lead], root: Path
) -> None:
    git(root, "init")
    git(root, "commit", "--allow-empty", "-m", "a")
    tree = root.parent / "tree"
    git(root, "worktree", "add", str(tree), "-b", "tree")
    watcher = lead(tree)
    git(tree, "commit", "--allow-empty", "-m", "b")
    watcher.hear()
    git(tree, "checkout", "-b", "other")
    watcher.hear()


def test_what_waits_in_a_spool_is_told_though_there_was_none(
    lead: Callable[..., Lead], root: Path
) -> None:
    watcher = lead(root)
    spool = Path(watcher.spools[0])
    for name in ("01JD1", "01JD2"):
        os.replace(write(spool, f"{name}.1.tmp"), spool / name)
        watcher.hear()


def test_a_storm_is_told_in_few_calls(lead: Callable[..., Lead], root: Path) -> None:
    watcher = lead(root)
    for n in range(2000):
        write(root, f"storm/{n % 20}/{n}.md")
    assert len(watcher.heard()) <= 40
    write(root, "storm/7/7.md", "coffee\n")
    watcher.hear()


def test_each_space_hears_of_its_own(lead: Callable[..., Lead], root: Path) -> None:
    other = write(root.parent, "other/a.md").parent
    watcher = lead(root, root / "notes", other)
    write(root, "notes/b.md", "coffee\n")
    assert {path for path, _ in watcher.heard()} == {str(root), str(root / "notes")}
    watcher.watch.forget(str(root))
    write(root, "a.md", "coffee\n")
    assert str(root) not in {path for path, _ in watcher.settle()}
    assert watcher.watch.mode(str(root)) == ("", "")
    write(root, "notes/b.md", "water\n")
    assert {path for path, _ in watcher.heard()} == {str(root / "notes")}


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root reads all")
def test_a_folder_that_cannot_be_read_is_watched_once_it_can(
    lead: Callable[..., Lead], root: Path
) -> None:
    (root / "notes").chmod(0)
    watcher = lead(root)
    write(root, "a.md", "coffee\n")
    watcher.hear()
    (root / "notes").chmod(0o755)
    assert watcher.hear()
    write(root, "notes/b.md", "coffee\n")
    watcher.hear()


def test_closing_leaves_no_thread_and_no_file_open(root: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd")) if LINUX else 0

    threads, files = threading.active_count(), open_files()
    for backend in BACKENDS:
        item = Lead(backend, root)
        assert threading.active_count() > threads
        write(root, "a.md", backend)
        item.watch.close()
        item.watch.close()
        item.watch.watch(watch_list(str(root)))
        item.watch.forget(str(root))
        assert threading.active_count() == threads
        wait_for(lambda: open_files() <= files)  # watchfiles takes a moment


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_ends_though_nobody_closed_the_watch(root: Path, backend: str) -> None:
    code = (
        "from kinen.daemon.watch import Watch\n"
        "from kinen.sources.files.watch import watch_list\n"
        f"Watch(print, backend={backend!r}).watch(watch_list({str(root)!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=300, capture_output=True, check=True
    )
    assert not done.stderr


# What only inotify can do, or cannot


@only_linux
def test_nobody_wakes_up_while_nothing_happens(listener: Callable[..., Lead], root: Path) -> None:
    item = listener(root)
    write(root, "a.md", "coffee\n")
    item.hear()

    def wakes() -> list[str]:
        tasks = [str(thread.native_id) for thread in threading.enumerate() if thread.daemon]
        status = [Path(f"/proc/self/task/{task}/status").read_text() for task in tasks]
        return [line for text in status for line in text.splitlines() if "ctxt_sw" in line]

    def quiet() -> bool:
        before = wakes()
        time.sleep(0.5)
        return wakes() == before

    wait_for(quiet)


@only_linux
def test_what_comes_one_after_the_other_is_told_as_one(root: Path) -> None:
    calls: list[str] = []
    item = Watch(lambda root, _: calls.append(root), backend="inotify")
    item.watch(watch_list(str(root)))
    with item.lock:  # nobody listens, so that it does not matter how long the writes take
        for n in range(100):
            write(root, "a.md", f"{n}\n")
    wait_for(lambda: bool(calls))
    item.close()
    assert len(calls) <= 50


@only_linux
def test_what_is_ignored_takes_no_watch(listener: Callable[..., Lead], root: Path) -> None:
    few = len(watch_list(str(root)).folders) + 16  # with those above it
    for n in range(50):
        write(root, f"out/{n}/a.md")
    assert listener(root, most=few).watch.mode(str(root))[0] == "inotify"


@only_linux
def test_beyond_the_limit_a_space_is_polled_until_there_is_room(
    listener: Callable[..., Lead], root: Path
) -> None:
    twin, big = root.parent / "twin", root.parent / "big"
    for n in range(80):
        write((twin, big)[n % 2], f"{n // 2}/a.md")
    needed = len(watch_list(str(big)).folders) + 1  # with the spool
    for most, first in ((20, root), (needed + 15, twin)):
        item = listener(first, big, most=most)
        assert item.watch.mode(str(first)) == ("inotify", "")
        mode, why = item.watch.mode(str(big))
        text = f"{most} watches are allowed (fs.inotify.max_user_watches), {needed} needed"
        assert (mode, why.startswith(text)) == ("polling", True)
        assert why.endswith("all are in use") == (most > needed)
        for folder in (first, big):
            write(folder, "a.md", f"coffee {most}\n")
            assert not item.hear()
    item.watch.forget(str(first))
    item.tend(str(big))
    assert item.watch.mode(str(big)) == ("inotify", "")
    write(big, "7/a.md", "water\n")
    assert not item.hear()


@only_linux
def test_nobody_looks_on_where_nothing_is_polled(listener: Callable[..., Lead], root: Path) -> None:
    item = listener(root, most=1)
    assert item.watch.mode(str(root))[0] == "polling"
    for space in (root, item.fence):
        item.watch.forget(str(space))
    wait_for(lambda: "polling" not in {thread.name for thread in threading.enumerate()})


def test_looking_takes_a_hundredth_of_the_time(root: Path) -> None:
    first, looks = Watch(lambda *_: None, backend="polling", poll=0.01), []

    def slow(path: str, _folder: bool) -> bool:
        if path.endswith("a.md"):
            looks.append(time.sleep(0.005))
        return False

    began = time.monotonic()
    first.watch((str(root), (str(root),), slow, bool))
    wait_for(lambda: bool(looks))
    time.sleep(0.8)
    first.close()
    # At first, after the poll, and then after half a second each.
    assert len(looks) <= 3 + (time.monotonic() - began) / 0.5


@only_linux
@pytest.mark.parametrize(
    ("backend", "name", "count", "said"),
    [
        ("", "watches", 12, "fs.inotify.max_user_watches"),
        ("", "instances", 0, "fs.inotify.max_user_instances"),
        ("watchfiles", "watches", 12, "watchfiles: "),
    ],
)
def test_the_limits_of_the_system_are_noticed(
    root: Path, backend: str, name: str, count: int, said: str
) -> None:
    for n in range(20):
        write(root, f"{n}/a.md")
    done = apart(
        f"Path('/proc/sys/user/max_inotify_{name}').write_text('{count}')\n"
        f"one = Lead({backend!r}, Path({str(root)!r}))\n"
        f"print(one.watch.mode({str(root)!r}))\n"
        f"write(Path({str(root)!r}), '7/a.md', 'coffee')\n"
        "print(one.hear())\n"
    )
    mode, output = done.splitlines()
    assert mode.startswith("('polling', ")
    assert said in mode
    assert output == "False"


@only_linux
def test_what_is_unmounted_and_mounted_again_is_watched(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"subprocess.run(['mount', '-t', 'tmpfs', 'none', {str(disk)!r}], check=True)\n"
    place = f"root = Path({str(disk / 'space')!r})\n"
    done = apart(
        f"{place}{mount}write(root, 'a.md')\none = Lead('inotify', root)\n"
        f"subprocess.run(['umount', {str(disk)!r}], check=True)\nprint(one.hear())\n"
        f"{mount}write(root, 'notes/b.md')\nprint(one.hear())\n"
        "write(root, 'notes/b.md', 'coffee')\nprint(one.hear())\n"
        # Another disk hides the first one.
        f"{mount}print(one.hear())\nwrite(root, 'c.md')\none.hear()\n"
        "write(root, 'c.md', 'coffee')\nprint(one.hear())\n"
    )
    assert done.split() == ["True", "True", "False", "True", "False"]


def apart(code: str) -> str:
    """What a program prints that has limits and mounts of its own."""
    unshared = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*unshared, "true"], check=False).returncode:
        pytest.skip("no namespaces here")
    here = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    program = f"{here}from test_watch import *\n{code}one.watch.close()\n"
    run = [*unshared, sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@only_linux
def test_lost_events_are_made_up_for(listener: Callable[..., Lead], root: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 50_000:
        pytest.skip("the queue is too long to fill")
    item = listener(root)
    with item.watch.lock:  # nobody listens
        write(root, "a.md", "coffee\n")
        time.sleep(0.1)
        first, second = write(root, "one.log"), root / "two.log"
        for _ in range(limit // 2 + 1):
            first.rename(second)
            second.rename(first)
        (root / "notes").rename(root / "moved")
        write(root, "notes/deep/c.md")
    assert item.hear()
    for path in ("moved/deep/c.md", "notes/deep/c.md"):
        write(root, path, "water\n")
        assert not item.hear()


@only_linux
def test_after_any_turmoil_every_folder_is_watched(
    listener: Callable[..., Lead], root: Path
) -> None:
    from random import Random

    first, dice = listener(root), Random(7)
    names = [root / top / low for top in "abc" for low in ("", "x", "x/y", "z")]

    def turmoil() -> None:
        for _ in range(400):
            here, there = dice.sample(names, 2)
            if dice.random() < 0.5:
                write(here, "n.md")
            elif here.exists() and not there.exists() and here not in there.parents:
                there.parent.mkdir(parents=True, exist_ok=True)
                here.rename(there)
            elif dice.random() < 0.3:
                shutil.rmtree(here, ignore_errors=True)

    mover = threading.Thread(target=turmoil)
    mover.start()
    while mover.is_alive():
        first.settle()
    first.settle()
    folders = [folder for folder, _, _ in os.walk(root) if "out" not in folder]
    assert len(folders) > 3
    for folder in folders:
        write(Path(folder), "last.md", folder)
        assert not first.hear()
