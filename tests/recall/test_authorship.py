"""Which session wrote a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kinen.model.journal import Observation
from kinen.recall.authorship import (
    CONTENT,
    FITS,
    LINES,
    SEEN,
    STEPS,
    TRACE,
    Edit,
    FilePatch,
    Ledger,
    OwnCommit,
    Patch,
    Work,
    edits_of,
    work,
)
from kinen.sources.git import patches
from kinen.space.repository import Git, git_above
from sources.repositories import EPOCH, Repository
from sources.repositories import LINES as TEXT

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000
NOON = 1_700_000_000_000


def edit(*lines: str, path: str = "src/a.py", at: int = NOON - 60_000, id_: str = "e1") -> Edit:
    return Edit(path, lines, (), at, id_)


def session(name: str, *edits: Edit, **more: object) -> Work:
    times = tuple(sorted(row.ts for row in edits)) or (NOON - 60_000,)
    paths = frozenset(row.path for row in edits)
    return Work(name, edits=edits, **{"times": times, "paths": paths, **more})


def commit(*lines: str, path: str = "src/a.py", **more: object) -> Patch:
    files = (FilePatch(path, lines, ()),)
    return Patch("c" * 40, "a change", NOON, NOON, files)._replace(**more)


def steps(ledger: Ledger, patch: Patch) -> list[tuple[str, str]]:
    return [(author.session, author.step) for author in ledger.authors(patch)]


def test_a_trace_names_the_session_whatever_the_lines_say() -> None:
    ledger = Ledger([session("mine", edit("one line")), session("other", edit("two lines"))])
    first, *_ = ledger.authors(commit("one line", traced=("other",)))
    assert (first.session, first.step, first.certain) == ("other", TRACE, True)
    assert Ledger([]).authors(commit("x = 1", traced=("gone",)))[0].session == "gone"


def test_a_session_whose_command_made_the_commit_has_seen_it() -> None:
    made = OwnCommit("ccccccc", "a change", NOON)
    ledger = Ledger([session("mine", edit("one line"), commits=(made,))])
    assert steps(ledger, commit("one line")) == [("mine", SEEN)]


def test_a_rewritten_commit_is_known_by_subject_and_date() -> None:
    made = OwnCommit("1234567", "a change", NOON - 1000)
    ledger = Ledger([session("mine", edit("one line"), commits=(made,))])
    rebased = commit("one line", sha="d" * 40, committed=NOON + 24 * HOUR)
    assert steps(ledger, rebased) == [("mine", SEEN)]
    assert steps(ledger, rebased._replace(subject="another")) == [("mine", CONTENT)]


def test_a_session_that_only_committed_what_another_wrote_is_not_certain() -> None:
    made = OwnCommit("ccccccc", "a change", NOON)
    wrote = session("wrote", edit("one line", "another line"))
    ledger = Ledger([session("committed", edit("x = 1"), commits=(made,)), wrote])
    first, second = ledger.authors(commit("one line", "another line"))
    assert (first.session, first.certain) == ("committed", False)
    assert (second.session, second.step, second.lines) == ("wrote", CONTENT, 2)


def test_edits_that_equal_the_diff_are_certain() -> None:
    ledger = Ledger([session("mine", edit("def f():", "    return 1"))])
    (author,) = ledger.authors(commit("def f():", "  return  1"))
    assert (author.step, author.share, author.certain) == (CONTENT, 1.0, True)
    assert author.edits == ("e1",)


def test_the_same_edits_in_two_sessions_are_certain_of_neither() -> None:
    ledger = Ledger(
        [session("a", edit("one line")), session("b", edit("one line", at=NOON - 1000))]
    )
    authors = ledger.authors(commit("one line"))
    assert not any(author.certain for author in authors)
    assert authors[0].session == "b"  # the last that wrote it


def test_most_lines_are_told_with_their_share() -> None:
    ledger = Ledger([session("mine", edit("line one", "line two", "line three"))])
    (author,) = ledger.authors(commit("line one", "line two", "line three", "line four"))
    assert (author.step, author.share, author.certain) == (LINES, 0.75, False)


def test_several_sessions_of_one_commit_are_listed_with_their_lines() -> None:
    first = [f"first {n}" for n in range(8)]
    second = [f"second {n}" for n in range(6)]
    ledger = Ledger(
        [session("a", edit(*first)), session("b", edit(*second, path="src/b.py", id_="e2"))]
    )
    files = (FilePatch("src/a.py", tuple(first), ()), FilePatch("src/b.py", tuple(second), ()))
    squashed = commit(files=files)
    authors = ledger.authors(squashed)
    assert [(row.session, row.step, row.lines) for row in authors] == [
        ("a", LINES, 8),
        ("b", LINES, 6),
    ]


def test_time_and_paths_fit_without_a_line() -> None:
    ledger = Ledger([session("mine", edit("something else"))])
    assert steps(ledger, commit("one line")) == [("mine", FITS)]
    assert steps(ledger, commit("one line", path="src/b.py")) == []
    assert steps(ledger, commit("one line", authored=NOON + 5 * HOUR)) == []
    elsewhere = Ledger([session("mine", edit("something else"), branches=frozenset({"other"}))])
    assert steps(elsewhere, commit("one line", branches=frozenset({"main"}))) == []


def test_an_edit_after_the_commit_is_not_its_author() -> None:
    ledger = Ledger([session("later", edit("one line", at=NOON + HOUR))])
    assert ledger.authors(commit("one line")) == []


def test_a_line_that_only_moved_was_written_by_nobody() -> None:
    ledger = Ledger([session("mine", edit("one line"))])
    files = (FilePatch("src/a.py", ("one line",), ("    one line",)),)
    assert [row.lines for row in ledger.authors(commit(files=files))] == [0]


def test_a_worktree_and_a_former_name_are_the_same_file() -> None:
    there = edit("a = 1", path="/home/me/tree/src/a.py")
    assert steps(Ledger([session("mine", there)]), commit("a = 1")) == [("mine", CONTENT)]
    files = (FilePatch("src/new.py", ("a = 1",), (), "src/a.py"),)
    assert steps(Ledger([session("mine", edit("a = 1"))]), commit(files=files))[0][1] == CONTENT


def test_a_patch_of_several_files_is_an_edit_of_each() -> None:
    text = (
        "Tool: apply_patch\nFile: src/a.py\nFile: src/b.py\n*** Begin Patch\n"
        "*** Update File: src/a.py\n@@\n-old\n+new\n*** Add File: src/b.py\n+made\n*** End Patch"
    )
    event = Observation("o1", "file_diff", text, NOON, files=("src/a.py", "src/b.py"))
    first, second = edits_of(event)
    assert (first.path, first.added, first.removed) == ("src/a.py", ("new",), ("old",))
    assert (second.path, second.added) == ("src/b.py", ("made",))


def test_what_a_session_did_is_read_from_its_events() -> None:
    events = [
        Observation("1", "file_diff", "Tool: Edit\nFile: a.py\n+x = 1", NOON, files=("a.py",)),
        Observation("2", "command", "$ git commit -m x\n[main 1234abc] x y\n", NOON + 5),
        Observation("3", "error", "Tool: Edit\nFile: b.py\n+y = 1", NOON + 9, files=("b.py",)),
    ]
    item = work("s", "claude-code", events)
    assert [row.path for row in item.edits] == ["a.py"]
    assert item.commits == (OwnCommit("1234abc", "x y", NOON + 5),)
    assert item.times == (NOON, NOON + 5, NOON + 9)


NAMES = st.sampled_from(["a.py", "b.py", "c/d.py"])
SENTENCES = st.lists(st.sampled_from([f"value {n} = {n}" for n in range(9)]), max_size=6)
EDITS = st.builds(
    lambda path, added, removed, at, id_: Edit(path, tuple(added), tuple(removed), at, id_),
    NAMES,
    SENTENCES,
    SENTENCES,
    st.integers(NOON - HOUR, NOON + HOUR),
    st.sampled_from("pqrs"),
)
WORKS = st.lists(
    st.builds(lambda name, edits: session(name, *edits), st.sampled_from("uvw"), st.lists(EDITS)),
    max_size=3,
    unique_by=lambda item: item.session,
)
FILES = st.lists(
    st.builds(lambda path, a, b: FilePatch(path, tuple(a), tuple(b)), NAMES, SENTENCES, SENTENCES),
    max_size=3,
    unique_by=lambda file: file.path,
)


@given(WORKS, FILES)
def test_no_line_is_written_twice_and_the_surest_come_first(
    works: list[Work], files: list[FilePatch]
) -> None:
    authors = Ledger(works).authors(commit(files=tuple(files)))
    assert sum(author.lines for author in authors) <= max([row.total for row in authors], default=0)
    places = [STEPS.index(author.step) for author in authors]
    assert places == sorted(places)
    assert len({author.session for author in authors}) == len(authors)
    certain = [row for row in authors if row.certain and row.step == CONTENT]
    assert len(certain) <= 1
    assert all(row.share == 1.0 for row in certain)


@given(WORKS, FILES)
def test_the_order_of_sessions_does_not_matter(works: list[Work], files: list[FilePatch]) -> None:
    patch = commit(files=tuple(files))
    assert Ledger(works).authors(patch) == Ledger(reversed(works)).authors(patch)


def test_commits_are_read_with_their_lines(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    repository.commit("first\n\nwith a body", {"a b.txt": TEXT, "gone.txt": "x y z\n"})
    changed = TEXT.replace("line 3 of it", "line three\r")
    repository.git("mv", "a b.txt", 'ü"n.txt')
    sha = repository.commit("second", {'ü"n.txt': changed, "gone.txt": None, "bin": b"\0\1"})
    git = git_above(str(tmp_path / "r"))
    assert git is not None
    second, _ = read(git, "HEAD")
    first, message = read(git, "HEAD~")
    assert (first.subject, message) == ("first", "first\n\nwith a body")
    assert first.authored == (EPOCH + 60) * 1000
    assert [file.path for file in first.files] == ["a b.txt", "gone.txt"]
    assert second.sha == sha
    rows = {file.path: file for file in second.files}
    renamed = rows['ü"n.txt']
    assert (renamed.before, renamed.added, renamed.removed) == (
        "a b.txt",
        ("line three\r",),
        ("line 3 of it",),
    )
    assert rows["gone.txt"].removed == ("x y z",)


def test_a_commit_with_missing_contents_has_its_other_files(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    repository.commit("first", {"a.txt": TEXT, "here.txt": "x y z\n", "z.txt": TEXT})
    shas = [repository.head]
    shas.append(repository.commit("second", {"a.txt": TEXT + "more\n", "here.txt": "y z x\n"}))
    shas.append(repository.commit("third", {"a.txt": "less\n"}))
    blob = repository.git("rev-parse", f"{shas[1]}:a.txt")
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    git = git_above(str(tmp_path / "r"))
    assert git is not None
    found = [[file.path for file in read(git, sha)[0].files] for sha in shas]
    assert found == [["a.txt", "here.txt", "z.txt"], ["here.txt"], []]
    assert patches.patch(git, "0" * 40) is None


def read(git: Git, sha: str) -> tuple[Patch, str]:
    result = patches.patch(git, sha)
    assert result is not None
    return result


def test_sessions_survive_rebase_amend_cherry_pick_and_squash(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    repository.commit("start", {"base.txt": TEXT})
    repository.git("switch", "-q", "-c", "work")
    at = (EPOCH + 60 * (repository.minutes + 1)) * 1000 - 5000
    one = session("one", edit("alpha = 1", "beta = 2", path="a.py", at=at))
    two = session("two", edit("gamma = 3", path="b.py", at=at + 60_000, id_="e2"))
    repository.commit("one", {"a.py": "alpha = 1\nbeta = 2\n"})
    repository.commit("two", {"b.py": "gamma = 3\n"})
    repository.git("switch", "-q", "main")
    repository.commit("meanwhile", {"base.txt": TEXT + "more of it\n"})
    repository.git("cherry-pick", "work~1", "work")
    ledger = Ledger([one, two])
    git = git_above(str(tmp_path / "r"))
    assert git is not None

    def firsts(*revisions: str) -> list[str]:
        shas = repository.git("rev-list", *revisions).split()
        found = [ledger.authors(read(git, sha)[0]) for sha in shas]
        return [authors[0].session if authors else "" for authors in found]

    assert firsts("main", "-2") == ["two", "one"]
    repository.commit("amended", {"b.py": "gamma = 3\n", "c.py": "x\n"}, "--amend")
    assert firsts("main", "-1") == ["two"]
    repository.git("rebase", "-q", "main~1", "work", check=False)
    assert "one" in firsts("work", "-3")
    repository.git("switch", "-q", "-C", "squashed", "main~2")
    repository.git("merge", "-q", "--squash", "main")
    repository.commit("squashed")
    squashed, _ = read(git, "squashed")
    assert {row.session for row in ledger.authors(squashed)} == {"one", "two"}
