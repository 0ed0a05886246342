"""Histories of every shape: whatever happens to one, its index equals one built from nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kinen.errors import NotFound
from sources.repositories import (
    LINES,
    Repository,
    alive,
    assert_as_built_anew,
    clone,
    commits,
    found,
    opened,
    remembered,
    says,
    sync_source_files,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


def subjects(memory: Memory) -> set[str]:
    return set(commits(memory).values())


def steps(memory: Memory, path: str) -> list[str]:
    return [f"{entry.status} {entry.subject}" for entry in memory.git.history(path)]


# Branches and rewritten histories


def test_switching_branches_back_and_forth(repo: Repository) -> None:
    repo.commit("base", {"a.py": LINES, "b.py": "b"})
    repo.git("checkout", "-q", "-b", "side")
    repo.rename("a.py", "side.py", "on the side")
    repo.git("checkout", "-q", "main")
    repo.commit("on main", {"a.py": LINES + "x\n", "b.py": None})
    with remembered(repo.root) as memory:
        main = says(memory)
        for branch, paths in (("side", ["b.py", "side.py"]), ("main", ["a.py"])) * 2:
            repo.git("checkout", "-q", branch)
            assert alive(memory) == paths == repo.tree()
            assert_as_built_anew(memory)
        assert {part: says(memory)[part] for part in ("commits", "files")} == {
            part: main[part] for part in ("commits", "files")
        }


def test_a_rebase(repo: Repository) -> None:
    repo.commit("base", {"a.py": LINES})
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("topic one", {"t.py": LINES})
    repo.rename("t.py", "u.py", "topic two")
    repo.git("checkout", "-q", "main")
    repo.commit("main moved", {"m.py": "m"})
    repo.git("checkout", "-q", "topic")
    with remembered(repo.root) as memory:
        assert len(commits(memory)) == 3
        repo.git("rebase", "-q", "main")
        assert len(commits(memory)) == 4
        assert steps(memory, "u.py") == ["A topic one", "R topic two"]
        assert_as_built_anew(memory)


def test_a_forced_push_that_took_commits_away_and_a_collection_of_garbage(
    repo: Repository, tmp_path: Path
) -> None:
    repo.commit("kept", {"a.py": LINES})
    lost = repo.commit("lost", {"a.py": "lost", "lost.py": "1"})
    mine = clone(repo.root, tmp_path / "mine")
    with remembered(mine.root) as memory:
        repo.git("reset", "-q", "--hard", "HEAD~1")
        repo.commit("instead", {"new.py": "1"})
        mine.git("fetch", "-q", "--force", "origin", "main")
        mine.git("reset", "-q", "--hard", "FETCH_HEAD")
        mine.git("reflog", "expire", "--expire=now", "--all")
        mine.git("gc", "-q", "--prune=now")
        assert not mine.git("cat-file", "-t", lost, check=False)
        assert subjects(memory) == {"kept", "instead"}
        assert alive(memory) == ["a.py", "new.py"]
        assert not memory.git.tracks("lost.py")
        assert_as_built_anew(memory)


def test_a_reset_to_before_a_rename_and_back(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES})
    last = repo.rename("a.py", "b.py", "two")
    with remembered(repo.root) as memory:
        repo.git("reset", "-q", "--hard", "HEAD~1")
        assert (alive(memory), steps(memory, "a.py")) == (["a.py"], ["A one"])
        assert_as_built_anew(memory)
        repo.git("reset", "-q", "--hard", last)
        assert steps(memory, "b.py") == ["A one", "R two"]
        assert_as_built_anew(memory)


def test_a_detached_head(repo: Repository) -> None:
    first = repo.commit("one", {"a.py": LINES})
    repo.commit("two", {"b.py": "b"})
    with remembered(repo.root) as memory:
        repo.git("checkout", "-q", "--detach", first)
        assert (subjects(memory), alive(memory)) == ({"one"}, ["a.py"])
        repo.commit("off any branch", {"c.py": "c"})
        assert subjects(memory) == {"one", "off any branch"}
        assert_as_built_anew(memory)


def test_an_orphan_branch(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES, "b.py": "b"})
    with remembered(repo.root) as memory:
        repo.git("checkout", "-q", "--orphan", "pages")
        memory.sync()
        assert commits(memory) == {}
        assert_as_built_anew(memory)
        repo.commit("new root", {"a.py": None})
        assert (subjects(memory), alive(memory)) == ({"new root"}, ["b.py"])
        assert_as_built_anew(memory)
        repo.git("checkout", "-q", "main")
        repo.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", "pages")
        assert subjects(memory) == {"one", "new root", "join"}
        assert_as_built_anew(memory)


def test_packed_refs_and_packed_objects(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES})
    repo.git("pack-refs", "--all", "--prune")
    with remembered(repo.root) as memory:
        assert subjects(memory) == {"one"}
        repo.commit("two", {"a.py": "2"})
        assert subjects(memory) == {"one", "two"}
        repo.git("gc", "-q")
        repo.git("pack-refs", "--all", "--prune")
        repo.commit("three", {"a.py": "3"})
        assert subjects(memory) == {"one", "two", "three"}
        assert_as_built_anew(memory)


# Merges


def branch(repo: Repository, name: str, files: dict[str, str | None]) -> None:
    repo.git("checkout", "-q", "-b", name, "main")
    repo.commit(f"on {name}", files)
    repo.git("checkout", "-q", "main")


def test_an_octopus_merge(repo: Repository) -> None:
    repo.commit("base", {"a.py": LINES})
    for name in ("x", "y", "z"):
        branch(repo, name, {f"{name}.py": LINES + name})
    with remembered(repo.root) as memory:
        repo.commit("ahead", {"a.py": "ahead"})
        merge = repo.merge("x", "y", "z", message="Merge three")
        about = memory.records.get(merge).metadata
        assert about is not None
        assert about["merge"] is True
        assert alive(memory) == repo.tree() == ["a.py", "x.py", "y.py", "z.py"]
        assert steps(memory, "y.py") == ["A on y"]
        assert memory.git.cochanged("x.py") == []
        assert_as_built_anew(memory)


def test_a_merge_that_adds_changes_and_removes_files_itself(repo: Repository) -> None:
    repo.commit("base", {"a.py": LINES, "doomed.py": "x", "src/core/c.py": LINES})
    branch(repo, "side", {"side.py": LINES})
    with remembered(repo.root) as memory:
        repo.commit("ahead", {"b.py": "b"})
        files = {"added.py": "new", "a.py": "changed", "doomed.py": None, "src/core/evil.py": "e"}
        repo.merge("side", message="Merge, and more", files=files)
        assert alive(memory) == repo.tree()
        assert "doomed.py" not in alive(memory)
        assert steps(memory, "doomed.py") == ["A base"]
        assert memory.records.get("file:src/core/evil.py").tags == ("core",)
        assert memory.git.history("added.py") == []
        assert_as_built_anew(memory)
        repo.commit("after", {"added.py": "newer", "src/core/evil.py": None})
        assert (alive(memory), steps(memory, "added.py")) == (repo.tree(), ["M after"])
        assert_as_built_anew(memory)


def test_a_file_that_only_a_merge_added_keeps_a_tag_given_by_hand(repo: Repository) -> None:
    repo.commit("base", {"a.py": LINES})
    branch(repo, "side", {"side.py": LINES})
    repo.commit("ahead", {"b.py": "b"})
    repo.merge("side", files={"src/added.py": LINES})
    with remembered(repo.root) as memory:
        assert memory.git.tag("src/added.py", ["+mine"]) == ("mine",)
        for change in (
            lambda: repo.commit("next", {"b.py": "c"}),
            lambda: repo.rename("src/added.py", "src/moved.py"),
        ):
            change()
            memory.sync()
            before = says(memory)
            memory.sync(rebuild=True)
            assert says(memory) == before
        assert memory.records.get("file:src/moved.py").tags == ("mine",)


def test_a_tag_given_by_hand_waits_for_a_merge_to_bring_its_file_back(repo: Repository) -> None:
    repo.commit("base", {"b.py": "b"})
    branch(repo, "side", {"side.py": LINES})
    repo.commit("made", {"a.py": LINES})
    with remembered(repo.root) as memory:
        memory.git.tag("a.py", ["+mine"])
        repo.git("reset", "-q", "--hard", "HEAD~1")
        memory.sync()
        repo.merge("side", files={"a.py": LINES})
        memory.sync()
        before = says(memory)
        memory.sync(rebuild=True)
        assert says(memory) == before
        assert memory.records.get("file:a.py").tags == ("mine",)


# Files


def test_a_file_that_is_deleted_and_comes_back(repo: Repository) -> None:
    repo.commit("made", {"src/core/a.py": LINES, "b.py": "b"})
    with remembered(repo.root) as memory:
        memory.git.tag("src/core/a.py", ["+mine"])
        repo.commit("deleted", {"src/core/a.py": None})
        assert alive(memory) == ["b.py"]
        record = next(
            file for file in memory.git.files(deleted=True)[0] if file.path == "src/core/a.py"
        )
        assert record.metadata is not None
        assert record.metadata["alive"] is False
        repo.commit("back", {"src/core/a.py": "other"})
        assert steps(memory, "src/core/a.py") == ["A made", "D deleted", "A back"]
        assert alive(memory) == ["b.py", "src/core/a.py"]
        assert set(memory.records.get("file:src/core/a.py").tags) == {"core", "mine"}
        sync_source_files(memory)
        before = says(memory)
        memory.sync(rebuild=True)
        assert says(memory) == before


def test_two_files_that_swap_names_and_a_third_that_takes_one(repo: Repository) -> None:
    first, two = LINES.replace("it", "one"), LINES.replace("it", "two")
    repo.commit("made", {"one.py": first, "two.py": two})
    with remembered(repo.root) as memory:
        repo.commit("swapped", {"one.py": two, "two.py": first})
        repo.rename("one.py", "three.py", "moved")
        repo.commit("again", {"one.py": "another"})
        assert steps(memory, "one.py") == ["A again"]
        assert_as_built_anew(memory)


def test_a_file_becomes_a_folder_and_a_link(repo: Repository) -> None:
    repo.commit("file", {"a": LINES})
    with remembered(repo.root) as memory:
        os.unlink(repo.root / "a")
        repo.commit("folder", {"a/b.py": LINES})
        assert alive(memory) == ["a/b.py"]
        os.unlink(repo.root / "a" / "b.py")
        os.symlink("nowhere", repo.root / "a" / "b.py")
        repo.commit("link")
        assert [entry.status for entry in memory.git.history("a/b.py")][-1] == "T"
        assert_as_built_anew(memory)


# What commits say


def test_a_message_in_another_encoding(repo: Repository) -> None:
    repo.git("config", "i18n.commitEncoding", "iso-8859-1")
    output = repo.commit("Größe".encode("latin-1") + b"\n\nZug\xe4nglich", {"a.py": "1"})
    repo.git("config", "--unset", "i18n.commitEncoding")
    wrong = repo.raw(b"caf\xe9 without a word about it")
    with remembered(repo.root) as memory:
        assert commits(memory) == {output: "Größe", wrong: "caf\\xe9 without a word about it"}
        assert found(memory, "zugänglich") == [f"commit:{output}"]
        assert_as_built_anew(memory)


def test_an_empty_message(repo: Repository) -> None:
    sha = repo.commit("", {"a.py": "1"})
    repo.commit("after", {"a.py": "2"})
    with remembered(repo.root) as memory:
        assert commits(memory)[sha] == ""
        assert memory.records.show(sha)[1] == []
        assert steps(memory, "a.py") == ["A ", "M after"]
        assert_as_built_anew(memory)


@pytest.mark.parametrize(
    ("seconds", "at"),
    [
        ("0", "1970-01-01T00:00:00.000Z"),
        ("4102444800", "2100-01-01T00:00:00.000Z"),
        ("253402300799", "9999-12-31T23:59:59.000Z"),
        ("253402300800", "9999-12-31T23:59:59.000Z"),
        ("99999999999999999999999", "9999-12-31T23:59:59.000Z"),
        # Git itself has no word for these.
        ("-86400", "1970-01-01T00:00:00.000Z"),
        ("nonsense", "1970-01-01T00:00:00.000Z"),
        ("", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_dates_before_1970_and_far_in_the_future(repo: Repository, seconds: str, at: str) -> None:
    repo.commit("fine", {"a.py": "1"})
    sha = repo.raw(b"odd date\n", f"{seconds} +0000")
    with remembered(repo.root) as memory:
        assert (commits(memory)[sha], memory.records.get(sha).at) == ("odd date", at)
        assert_as_built_anew(memory)


# Hidden and shown again


def test_a_commit_that_was_forgotten_comes_back_as_it_was(repo: Repository) -> None:
    shas = [
        repo.commit(f"number {n}\n\ntags: t{n}", {"a.py": f"{n}", f"{n}.py": "1"}) for n in range(4)
    ]
    with remembered(repo.root) as memory:
        before = says(memory)
        for n, sha in enumerate(shas):
            memory.journal.forget(f"commit:{sha}")
            assert sha not in commits(memory)
            assert found(memory, f"number {n}", limit=1) != [f"commit:{sha}"]
            assert len(memory.git.history("a.py")) == 3
            assert memory.records.get("file:a.py").tags == ("t0", "t1", "t2", "t3")
            memory.journal.restore(f"commit:{sha}")
            assert says(memory) == before


def test_a_forgotten_commit_stays_hidden_through_commits_and_rebuilds(repo: Repository) -> None:
    sha = repo.commit("secret plan", {"a.py": "1"})
    with remembered(repo.root) as memory:
        memory.journal.forget(sha[:10])
        repo.commit("after", {"a.py": "2"})
        assert subjects(memory) == {"after"}
        sync_source_files(memory)
        before = says(memory)
        memory.sync(rebuild=True)
        assert says(memory) == before
        assert found(memory, "secret plan") == []


def test_a_file_that_was_forgotten_comes_back_as_it_was(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES, "b.py": "b"})
    time = (repo.root / "a.py").stat().st_mtime_ns
    with remembered(repo.root) as memory:
        before = says(memory)
        memory.journal.forget("file:a.py")
        assert alive(memory) == ["b.py"]
        assert memory.git.cochanged("b.py") == []
        repo.commit("two", {"a.py": LINES + "x\n"})
        with pytest.raises(NotFound):
            memory.records.get("file:a.py")
        repo.git("reset", "-q", "--hard", "HEAD~1")
        os.utime(repo.root / "a.py", ns=(time, time))  # git writes the file again
        memory.sync()
        memory.journal.restore("file:a.py")
        assert says(memory) == before


def test_opening_again_changes_nothing(repo: Repository) -> None:
    repo.commit("one", {"a.py": LINES})
    with remembered(repo.root) as memory:
        before = says(memory)
    with opened(repo.root) as memory:
        report = memory.sync()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)
        assert says(memory) == before
