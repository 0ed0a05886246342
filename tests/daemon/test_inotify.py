from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

from kinen.daemon.watch import COMING, CREATE, FOLDER, ITSELF, MOVE_SELF, OVERFLOW, Inotify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.daemon.watch import Event


@pytest.fixture
def inotify_watch() -> Iterator[Inotify]:
    watcher = Inotify()
    yield watcher
    watcher.close()


def names_of(events: list[Event]) -> set[tuple[str, str]]:
    return {(os.path.basename(event.folder), event.name) for event in events}


def test_what_happens_in_a_folder_is_told_by_name(inotify_watch: Inotify, tmp_path: Path) -> None:
    assert inotify_watch.add(str(tmp_path))
    (tmp_path / "a.md").write_text("tea")
    (tmp_path / "in").mkdir()
    events = inotify_watch.read()
    assert {event.name for event in events} == {"a.md", "in"}
    assert [event.mask for event in events if event.name == "in"] == [CREATE | FOLDER]


def test_the_same_thing_is_told_once(inotify_watch: Inotify, tmp_path: Path) -> None:
    inotify_watch.add(str(tmp_path))
    for _ in range(100):
        (tmp_path / "a.md").write_text("tea")
    assert len(inotify_watch.read()) <= 4


def test_names_that_are_no_text_come_as_python_writes_them(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    inotify_watch.add(str(tmp_path))
    name = os.fsdecode(b"caf\xe9.md")
    (tmp_path / name).touch()
    assert {event.name for event in inotify_watch.read()} == {name}


def test_what_cannot_be_watched_is_an_error(inotify_watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    for path, code in (("none", errno.ENOENT), ("a.md", errno.ENOTDIR)):
        with pytest.raises(OSError, match=path) as raised:
            inotify_watch.add(str(tmp_path / path))
        assert raised.value.errno == code


def test_closing_wakes_the_reader(tmp_path: Path) -> None:
    output, results = Inotify(), []
    output.add(str(tmp_path))
    reader = threading.Thread(target=lambda: results.append(output.read()), daemon=True)
    reader.start()
    output.close()
    reader.join(5)
    assert results == [[]]
    assert output.read() == []
    with pytest.raises(OSError, match="descriptor"):
        output.add(str(tmp_path))


def test_it_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    watcher = Inotify()
    watcher.add(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) > len(before)
    watcher.close()
    watcher.close()
    assert os.listdir("/proc/self/fd") == before


def test_a_moved_folder_and_all_below_is_no_longer_watched(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    for name in ("a", "a/b", "ab"):
        inotify_watch.add(str(tmp_path / name))
    (tmp_path / "a").rename(tmp_path / "c")
    assert [(event.name, event.mask) for event in inotify_watch.read()] == [("", MOVE_SELF)]
    (tmp_path / "c/b/x.md").touch()
    (tmp_path / "ab/y.md").touch()
    assert names_of(inotify_watch.read()) == {("ab", "y.md")}
    # Under its new path it is a new folder to watch, and its old one may be anybody's.
    assert inotify_watch.add(str(tmp_path / "c/b"))
    (tmp_path / "a/b").mkdir(parents=True)
    assert inotify_watch.add(str(tmp_path / "a/b"))
    (tmp_path / "c/b/x.md").touch()
    (tmp_path / "a/b/z.md").touch()
    assert names_of(inotify_watch.read()) == {("b", "x.md"), ("b", "z.md")}


def test_a_move_that_was_not_read_yet_is_healed_by_adding_again(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    inotify_watch.add(str(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "b")
    inotify_watch.add(str(tmp_path / "b"))  # the system gives it the number of `a`
    assert names_of(inotify_watch.read()) == {("a", ""), ("b", "")}
    assert inotify_watch.add(str(tmp_path / "b"))
    (tmp_path / "b/x.md").touch()
    assert names_of(inotify_watch.read()) == {("b", "x.md")}


def test_a_deleted_folder_is_watched_again_under_the_same_name(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    for _ in range(3):
        folder.mkdir()
        assert inotify_watch.add(str(folder))
        folder.rmdir()
    folder.mkdir()
    assert inotify_watch.add(str(folder))
    (folder / "x.md").touch()
    assert names_of(inotify_watch.read()) == {("a", "x.md")}
    inotify_watch.remove(str(folder))
    assert inotify_watch.add(str(folder))


def test_of_a_folder_on_the_way_only_its_going_is_told(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    inotify_watch.add(str(tmp_path / "a"), COMING)
    assert not inotify_watch.add(
        str(tmp_path / "a"), ITSELF
    )  # less than before, and the same folder
    (tmp_path / "a/x.md").touch()
    (tmp_path / "a").rename(tmp_path / "b")
    assert names_of(inotify_watch.read()) == {("a", "")}


def test_one_folder_under_two_paths_is_told_under_both(
    inotify_watch: Inotify, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert inotify_watch.add(str(tmp_path / "a"))
    assert inotify_watch.add(str(tmp_path / "link"), ITSELF)
    (tmp_path / "a/x.md").touch()
    assert names_of(inotify_watch.read()) == {("a", "x.md"), ("link", "x.md")}
    inotify_watch.remove(str(tmp_path / "link"))
    (tmp_path / "a/y.md").touch()
    assert names_of(inotify_watch.read()) == {("a", "y.md")}


def test_lost_events_are_told_as_such(inotify_watch: Inotify, tmp_path: Path) -> None:
    inotify_watch.add(str(tmp_path))
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 50_000:
        pytest.skip("the queue is too long to fill")
    first, second = tmp_path / "a", tmp_path / "b"
    first.touch()
    for _ in range(limit // 2 + 1):  # two that alternate are not folded into one
        first.rename(second)
        second.rename(first)
    masks = set()
    while OVERFLOW not in masks:
        masks |= {event.mask for event in inotify_watch.read() if not event.folder}


def test_a_cap_is_kept_as_the_system_keeps_its_own(tmp_path: Path) -> None:
    watcher = Inotify(most=1)
    (tmp_path / "a").mkdir()
    watcher.add(str(tmp_path))
    assert not watcher.add(str(tmp_path))
    with pytest.raises(OSError, match="a'") as raised:
        watcher.add(str(tmp_path / "a"))
    assert raised.value.errno == errno.ENOSPC
    watcher.remove(str(tmp_path))
    assert watcher.add(str(tmp_path / "a"))
    watcher.close()
