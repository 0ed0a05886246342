"""Two clones of one origin and a worktree: files of their own, one journal."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from daemon.conftest import HANGING
from kinen import Memory
from kinen.model.records import Query
from kinen.render.daemon import daemon_text
from kinen.space import registry
from sources.repositories import Repository, clone, opened

if TYPE_CHECKING:
    from daemon.conftest import Running

WORDS = {"one": "apricot", "two": "banana", "tree": "cherry"}
"""The word that only the files of each checkout have."""


class Checkouts(NamedTuple):
    one: Path
    two: Path
    tree: Path


@pytest.fixture
def checkouts(tmp_path: Path) -> Checkouts:
    origin = Repository(tmp_path / "origin")
    origin.commit("feat: tea", {"tea.md": "# Tea\n\nThe kettle whistles.\n"})
    item = clone(origin.root, tmp_path / "one")
    two = clone(origin.root, tmp_path / "two")
    item.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    results = Checkouts(item.root, two.root, tmp_path / "tree")
    for name, root in results._asdict().items():
        (root / f"{name}.md").write_text(f"# Fruit\n\nOnly here: {WORDS[name]}.\n")
    return results


def words_of(root: Path) -> set[str]:
    """Which of the words a search in a checkout finds."""
    with opened(root) as memory:
        return {
            word
            for word in WORDS.values()
            if memory.search(Query(word, mode="fulltext", kinds=("note",)))
        }


def indexed_words(root: Path) -> set[str]:
    """The same by the index as it is: a search would bring it up to date."""
    with opened(root) as memory, sqlite3.connect(memory.core.file("index.db")) as db:
        body = " ".join(row[0] for row in db.execute("SELECT body FROM chunks"))
    return {word for word in WORDS.values() if word in body}


def test_each_checkout_finds_its_own_files_and_all_see_the_journal(checkouts: Checkouts) -> None:
    for _ in range(2):
        for name, root in checkouts._asdict().items():
            with opened(root) as memory:
                report = memory.sync()
                assert report.removed == 0
            assert words_of(root) == {WORDS[name]}
    with opened(checkouts.two) as memory:
        memory.observe("The pumpkin is heavy.")
    for root in checkouts:
        with opened(root) as memory:
            assert [hit.record.kind for hit in memory.search("pumpkin")] == ["observation"]
            assert memory.sync().removed == 0
    with opened(checkouts.one) as memory, opened(checkouts.tree) as other:
        assert memory.space.id == other.space.id
        assert memory.space.name == other.space.name == "one"
        assert len(registry.registered(memory.space.home)) == 1


def test_one_daemon_watches_all_of_them(checkouts: Checkouts, daemon: Running) -> None:
    for root in checkouts:
        with opened(root) as memory:
            memory.sync()
    daemon.start()
    for root in checkouts:
        daemon.settled(root)
    for name, root in checkouts._asdict().items():
        (root / "new.md").write_text(f"# New\n\nAlso in {name}: grape-{WORDS[name]}.\n")
    end = time.monotonic() + HANGING
    for name, root in checkouts._asdict().items():
        while f"grape-{WORDS[name]}" not in _text(root):
            assert time.monotonic() < end, daemon.log()
            time.sleep(0.05)
        assert indexed_words(root) == {WORDS[name]}
    log = daemon.log()
    assert "removed" not in log


def _text(root: Path) -> str:
    with opened(root) as memory, sqlite3.connect(memory.core.file("index.db")) as db:
        return " ".join(row[0] for row in db.execute("SELECT body FROM chunks"))


def test_a_worktree_that_is_added_while_the_daemon_runs_is_watched_once_indexed(
    checkouts: Checkouts, daemon: Running
) -> None:
    with opened(checkouts.one) as memory:
        memory.sync()
    daemon.start()
    daemon.settled(checkouts.one)
    with opened(checkouts.tree) as memory:
        memory.sync()
    daemon.settled(checkouts.tree)
    assert indexed_words(checkouts.one) == {"apricot"}


def test_vectors_of_text_that_two_clones_share_are_made_once(checkouts: Checkouts) -> None:
    with Memory.open(checkouts.one) as memory:
        assert memory.sync().embedded > 1
    with Memory.open(checkouts.two) as memory:
        assert memory.sync().embedded == 1
    with Memory.open(checkouts.one) as memory:
        assert memory.sync().embedded == 0


def test_what_is_erased_in_one_clone_is_nowhere(checkouts: Checkouts) -> None:
    secret = "zanzibarian"
    with Memory.open(checkouts.one) as memory:
        entry = memory.observe(f"The word is {secret}.")
        memory.sync()
        home = Path(memory.space.home)
    for root in (checkouts.two, checkouts.tree):
        with Memory.open(root) as memory:
            memory.sync()
            assert memory.search(secret)
    with Memory.open(checkouts.two) as memory:
        memory.journal.redact(entry.ref)
    left = [
        path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert left == []
    with Memory.open(checkouts.one) as memory:
        assert memory.sync().embedded == 0, "vectors of the other clone's files were dropped"


def test_a_clone_that_was_moved_keeps_its_index(checkouts: Checkouts) -> None:
    shutil.rmtree(checkouts.two)
    with opened(checkouts.one) as memory:
        memory.sync()
    moved = checkouts.one.with_name("elsewhere")
    checkouts.one.rename(moved)
    with opened(moved) as memory:
        assert memory.space.index_folder() == memory.space.data
        report = memory.sync()
        assert (report.added, report.removed) == (0, 0)


def test_an_index_of_an_earlier_kinen_stays_with_one_clone(checkouts: Checkouts) -> None:
    for root in (checkouts.one, checkouts.two):
        with opened(root) as memory:
            memory.sync()
            data = memory.space.data
    home = memory.space.home
    shutil.rmtree(os.path.join(data, "checkouts"))

    def forget(table: registry.Table) -> None:
        for entry in table.values():
            entry.pop("first")

    registry.update(home, forget)  # as it was written before clones had indexes of their own
    with opened(checkouts.two) as memory:
        assert memory.search("banana"), "the index had the files of the other clone"
    for _ in range(2):
        assert words_of(checkouts.two) == {"banana"}
        assert words_of(checkouts.one) == {"apricot"}
        for root in (checkouts.one, checkouts.two):
            with opened(root) as memory:
                memory.sync()
                assert memory.sync().removed == 0


def test_a_worktree_without_a_config_file_has_that_of_the_main_tree(checkouts: Checkouts) -> None:
    folder = checkouts.one / ".kinen"
    folder.mkdir()
    (folder / "config.yml").write_text("space:\n  id: orchard\n  name: orchard\n")
    with opened(checkouts.tree) as memory, opened(checkouts.one) as main:
        assert memory.config.space.id == "orchard"
        assert memory.space.id == main.space.id
        assert memory.space.root == str(checkouts.tree)


def test_the_index_is_where_index_path_says(checkouts: Checkouts, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with opened(checkouts.one, index_path=str(place)) as memory:
        memory.observe("The pumpkin is heavy.")
        memory.sync()
        assert memory.search("apricot")
        assert not memory.index.check()  # opens the cache, which no vector needs here
        names = {path.name for path in place.rglob("*") if path.is_file()}
        assert {"index.db", "cache.db", "sync.lock", "meta.json"} <= names
        assert "journal.db" not in names
        assert os.path.exists(os.path.join(memory.space.data, "journal.db"))
        assert not os.path.exists(os.path.join(memory.space.data, "index.db"))


def test_clones_of_one_name_are_listed_by_their_folders() -> None:
    sync = {"state": "idle", "watch": "inotify", "why": "", "synced": "", "done": "", "error": ""}
    spaces = [
        {"name": name, "root": root, **sync}
        for name, root in (("shop", "/a/shop"), ("shop", "/b/shop"), ("site", "/c/site"))
    ]
    state = {"pid": 1, "started": "", "memory_mb": 1, "queue": [], "idle_seconds_left": None}
    text = daemon_text({**state, "spaces": spaces, "events": []}, {}, whole=True)
    names = [line.split()[0] for line in text.splitlines()[1:]]
    assert names == ["/a/shop", "/b/shop", "site"]
