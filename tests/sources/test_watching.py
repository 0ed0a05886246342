from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinen.extract.languages import is_code
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.walk import RULES, Files, walk
from kinen.sources.files.watch import IGNORES, watch_list
from kinen.space.repository import git_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kinen.model.documents import State

FOLDERS = (
    *("", "notes", "notes/deep", "build", "node_modules", ".hidden", ".kinen", ".git/info"),
    *(".memories", ".memories/2025-01-02", ".memories/plans", "resources", "resources/data"),
    *("sessions/20250102-01-tea/rounds", "artifacts", "notes/.memories", "notes/resources"),
    *("varp.yaml", ".mailmap"),
)
NAMES = (
    *("a.md", "b.txt", "c.log", "d.png", "e.py", ".f.md", ".gitignore", ".kinenignore", "g"),
    *("exclude", ".resources.yml", "config.yml"),
)
LINES = (
    *("build/", "*.log", "notes", "!notes", "*.md", "!a.md", "resources/", "!node_modules/"),
    *(".memories", "/sessions", "deep/", "!.hidden/", "resources:\n- path: b.txt\n  tags: [x]"),
)
RULED = (
    *(("resources", ".resources.yml"), (".git/info", "exclude"), ("", ".gitignore")),
    *(("", ".kinenignore"), ("notes", ".gitignore"), ("notes", "a.md"), ("resources", "b.txt")),
    *((".hidden", "a.md"), ("build", "a.md"), (".memories/plans", "a.md")),
)
folders, names = st.sampled_from(FOLDERS), st.sampled_from(NAMES)
places = st.one_of(st.sampled_from(RULED), st.tuples(folders, names))
texts = st.lists(st.sampled_from(LINES), max_size=3).map("\n".join)
files = st.tuples(places, texts)
steps = st.one_of(
    st.tuples(st.just("write"), places, texts),
    st.tuples(st.sampled_from(("touch", "remove", "link")), places, st.just("")),
    st.tuples(st.sampled_from(("shut", "drop")), st.tuples(folders, st.just("")), st.just("")),
    st.tuples(st.just("move"), st.tuples(folders, st.just("")), folders),
    st.tuples(st.just("rename"), places, names),
)


def write(root: Path, path: str, text: str = "tea\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def put(root: Path, folder: str, name: str, text: str) -> Iterator[tuple[Path, bool]]:
    """Write a file; what the system tells of it, the new folders with it."""
    file = root / folder / name
    for parent in reversed(file.parents):
        if not parent.exists():
            parent.mkdir()
            yield parent, True
    if file.is_dir():
        return
    file.unlink(missing_ok=True)
    file.write_text(text)
    yield file, False


def done(root: Path, step: tuple[str, tuple[str, str], str]) -> list[tuple[Path, bool]]:
    """Do one thing; the paths that are told of it, and whether each is a folder."""
    what, (folder, name), more = step
    path = root / folder / name if name else root / folder
    if what == "write":
        return list(put(root, folder, name, more))
    if not path.exists() or path == root:
        return []
    kind = path.is_dir()
    if what == "touch":
        os.utime(path, ns=(1, 1))
    elif what == "shut":
        path.chmod(0)
    elif what in ("remove", "drop"):
        below = [(item, item.is_dir()) for item in path.rglob("*")] if kind else []
        shutil.rmtree(path) if kind else path.unlink()
        return [*below, (path, kind)]
    elif what == "link" and not kind:
        path.unlink()
        path.symlink_to(root / "elsewhere")
    elif what in ("move", "rename"):
        to = root / folder / more if what == "rename" else root / more / "moved"
        if to.exists() or path in to.parents or not to.parent.is_dir():
            return []
        path.rename(to)
        return [(path, kind), (to, kind)]
    return [(path, kind)]


def state(root: Path, existing: dict[str, State]) -> dict[str, State]:
    after = dict(existing)
    for change in Files(str(root)).delta(existing).changes:
        if change.removed:
            after.pop(change.key, None)
        elif change.state is not None:
            after[change.key] = change.state
    return after


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Path]:
    """A new folder each time."""
    count = iter(range(10**6))

    def make() -> Path:
        root = tmp_path / str(next(count))
        root.mkdir()
        return root

    return make


EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@given(st.lists(files, max_size=8), st.lists(steps, min_size=1, max_size=3))
@EXAMPLES
def test_whatever_changes_the_index_is_wanted_and_its_folder_watched(
    fresh: Callable[[], Path],
    there: list[tuple[tuple[str, str], str]],
    then: list[tuple[str, tuple[str, str], str]],
) -> None:
    root = fresh()
    for item in there:
        list(put(root, *item[0], item[1]))
    before, what = state(root, {}), watch_list(str(root))
    output = [entry for step in then for entry in done(root, step)]
    after, again = state(root, before), watch_list(str(root))
    for path in root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    heard = [
        (path, kind)
        for path, kind in output
        if str(path.parent) in what.folders and what.matters(str(path), kind)
    ]
    for value in (before, after):  # rules that hide nothing more or less change nothing
        value[RULES] = value[RULES]._replace(digest="")
    if before != after:
        assert heard, (then, {key for key in before | after if before.get(key) != after.get(key)})
    if {*what.folders} != {*again.folders}:
        assert any(kind or what.moves_folders(str(path)) for path, kind in heard)


@given(st.lists(files, min_size=4, max_size=12))
@EXAMPLES
def test_what_is_watched_is_what_a_walk_reads(
    fresh: Callable[[], Path], there: list[tuple[tuple[str, str], str]]
) -> None:
    root = fresh()
    for item in there:
        list(put(root, *item[0], item[1]))
    what, ignore = watch_list(str(root)), Ignore(root)
    results, others = walk(str(root), ignore)
    read = {
        path
        for path in (*results, *filter(is_code, others))
        if not ignore.ignored(path, directory=False)
    }
    output = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and str(path.parent) in what.folders and what.matters(str(path), False)
    }
    extra = {"resources/.resources.yml", ".git/info/exclude", ".kinen/config.yml"}
    assert {
        path for path in output if path.rpartition("/")[2] not in IGNORES
    } - extra == read - extra
    # Else whoever watches would wait for folders that never come to be watched.
    inside = [
        path for path in root.rglob("*") if path.is_dir() and str(path.parent) in what.folders
    ]
    assert all(str(path) in what.folders for path in inside if what.matters(str(path), True))


def test_a_log_file_and_the_works_of_tools_wake_nobody(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "out/\n*.draft.md\n")
    for path in ("a.md", "server.log", "out/a.md", "node_modules/x/readme.md", ".venv/a.txt"):
        write(tmp_path, path)
    what = watch_list(str(tmp_path))
    below = {os.path.relpath(folder, tmp_path) for folder in what.folders}
    assert not below & {"out", "node_modules", "node_modules/x", ".venv"}
    silent = ("server.log", "b.draft.md", "out/a.md", "node_modules/new.md", ".a.md.swp", "a.md~")
    assert not [item for item in silent if what.matters(str(tmp_path / item), False)]
    assert not what.matters(str(tmp_path / "new/node_modules"), True)
    assert what.matters(str(tmp_path / "new/a.md"), False)
    assert what.folders[0] == str(tmp_path)


def test_rules_count_wherever_they_are_read(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "out/\n")
    what = watch_list(str(tmp_path))
    for name in (*IGNORES, "notes/.gitignore", "notes/.kinenignore", ".git/info/exclude"):
        assert what.matters(str(tmp_path / name), False)
        assert what.moves_folders(str(tmp_path / name))
    assert not what.matters(str(tmp_path / "out/.gitignore"), False)
    assert not what.matters(str(tmp_path / ".cache/.gitignore"), False)
    assert not what.moves_folders(str(tmp_path / "notes/a.md"))


def test_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/a.md")
    root = tmp_path / "space"
    root.mkdir()
    (root / "in").symlink_to(tmp_path / "elsewhere")
    assert str(root / "in") not in watch_list(str(root)).folders


def git_files(what: Callable[[str, bool], bool], folder: str) -> set[str]:
    names = "HEAD packed-refs refs/heads/main refs/heads/a/b reftable/tables.list shallow config"
    noise = "index index.lock HEAD.lock objects/ab/cd logs/HEAD refs/heads/main.lock"
    noise += " COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD refs/remotes/origin/main packed-refs.lock"
    return {word for word in f"{names} {noise}".split() if what(os.path.join(folder, word), False)}


def test_of_a_repository_its_heads_count_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, ".git/HEAD", "ref: refs/heads/main\n")
    write(tmp_path, ".git/refs/heads/team/tea", "0" * 40)
    (tmp_path / "docs").mkdir()
    for root in (tmp_path, tmp_path / "docs"):
        git = git_above(str(root))
        assert git is not None
        what = watch_list(str(root), git=(git.folder, git.common))
        seen = git_files(what.matters, git.folder)
        text = "HEAD packed-refs refs/heads/main refs/heads/a/b reftable/tables.list"
        assert seen == {*text.split(), "shallow", "config"}
        assert {f"{git.folder}/refs/heads/team", git.folder} <= {*what.folders}
        assert what.moves_folders(f"{git.folder}/info/exclude")


def test_a_worktree_has_its_own_head_and_shared_branches(tmp_path: Path) -> None:
    write(tmp_path, "main/.git/HEAD", "ref: refs/heads/main\n")
    write(tmp_path, "main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n")
    write(tmp_path, "main/.git/worktrees/w/commondir", "../..\n")
    write(tmp_path, "w/.git", "gitdir: ../main/.git/worktrees/w\n")
    root = str(tmp_path / "w")
    git = git_above(root)
    assert git is not None
    what = watch_list(root, git=(git.folder, git.common))
    assert what.matters(f"{git.folder}/HEAD", False)
    assert what.matters(f"{git.common}/refs/heads/w", False)
    assert not what.matters(f"{git.common}/HEAD", False)  # another tree's
    assert what.moves_folders(f"{root}/.git")
    assert {git.folder, git.common} <= {*what.folders}


def test_a_repository_that_is_about_to_be_made_is_noticed(tmp_path: Path) -> None:
    what = watch_list(str(tmp_path))
    assert what.matters(str(tmp_path / ".git"), True)
    assert str(tmp_path / ".git") in what.folders
    assert what.moves_folders(str(tmp_path / ".git/HEAD"))


def test_of_a_spool_only_what_waits_in_it_counts(tmp_path: Path) -> None:
    spool = tmp_path / "home" / "spool" / "0123456789abcdef"
    what = watch_list(str(tmp_path / "space"), spools=[str(spool)])
    assert str(spool) in what.folders
    waiting = write(spool, "01JD0000000000000000000000")
    assert what.matters(str(waiting), False)
    assert not what.matters(str(write(spool, "01JD.12.tmp")), False)
    waiting.unlink()  # it was drained
    assert not what.matters(str(waiting), False)


def test_a_space_that_is_not_there_can_be_watched(tmp_path: Path) -> None:
    root = str(tmp_path / "gone")
    assert watch_list(root).folders[0] == root
