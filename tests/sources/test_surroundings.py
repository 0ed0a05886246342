"""What stands around a repository: git itself, its configuration, hooks, worktrees, rules."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kinen.errors import GitError, NotFound
from sources.repositories import (
    ALONE,
    LINES,
    Repository,
    alive,
    assert_as_built_anew,
    commits,
    found,
    opened,
    remembered,
    says,
)

if TYPE_CHECKING:
    from pathlib import Path


def some_history(repo: Repository) -> None:
    """Names and messages that a setting could spoil, renames, a merge, the first commit."""
    repo.commit("first größe", {"src/größe/a.py": LINES, "b.py": "b", "src/c.py": LINES + "c"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"src/größe/a.py": LINES + "x\n"})
    repo.git("checkout", "-q", "main")
    repo.put({"src/c.py": None, "src/d.py": LINES + "d"})
    repo.commit("fix(core): moved\n\nMit Umlaut: ä.\n\ntags: x")
    repo.merge("side")
    repo.commit("deleted", {"b.py": None})


# Without git, without commits


def test_an_empty_repository_is_searched_and_then_followed(repo: Repository) -> None:
    (repo.root / "note.md").write_text("# Kettle\n")
    with opened(repo.root) as memory:
        assert found(memory, "kettle") == ["note:note.md"]
        assert (memory.git.files(), memory.git.tags(), commits(memory)) == (([], 0), [], {})
        with pytest.raises(NotFound, match=r"no commit knows 'note\.md'"):
            memory.git.history("note.md")
        assert_as_built_anew(memory)
        repo.commit("first", {"a.py": "1"})
        assert set(commits(memory).values()) == {"first"}
        assert_as_built_anew(memory)


def test_a_folder_that_is_no_repository_is_searched_and_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Kettle\n")
    with opened(tmp_path) as memory:
        assert found(memory, "kettle") == ["note:note.md"]
        request = [
            lambda: memory.git.history("note.md"),
            lambda: memory.git.files(),
            lambda: memory.git.cochanged("note.md"),
            lambda: memory.git.tags(),
            lambda: memory.git.tag("note.md", ["+x"]),
            lambda: memory.git.staged(tmp_path),
            lambda: memory.git.read("note.md"),
        ]
        for ask in request:
            with pytest.raises(GitError, match="no git repository around"):
                ask()


def test_a_repository_that_is_no_more_leaves_its_notes_searchable(repo: Repository) -> None:
    repo.commit("one", {"note.md": "# Kettle\n"})
    with remembered(repo.root) as memory:
        (repo.root / ".git").rename(repo.root.parent / "away")
        memory.sync()
        assert found(memory, "kettle") == ["note:note.md"]
    with opened(repo.root) as memory:
        memory.sync()
        assert found(memory, "kettle") == ["note:note.md"]


def test_without_git_an_index_still_answers_with_a_note(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", {"note.md": "# Kettle\n"})
    with remembered(repo.root) as memory:
        repo.commit("two", {"a.py": "1"})
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "")
            hits = memory.search("kettle")
            assert [hit.record.ref for hit in hits] == ["note:note.md"]
            assert any("git cannot be started" in note for note in hits.notes)
        assert set(commits(memory).values()) == {"one", "two"}
        assert_as_built_anew(memory)


def test_without_git_the_first_search_answers_with_a_note(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", {"note.md": "# Kettle\n"})
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        with opened(repo.root) as memory:
            hits = memory.search("kettle")
            assert [hit.record.ref for hit in hits] == ["note:note.md"]
            assert any("git cannot be started" in note for note in hits.notes)
    with opened(repo.root) as memory:
        assert set(commits(memory).values()) == {"one"}


# Other kinds of repositories


def test_a_repository_with_sha256(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo", "--object-format=sha256")
    some_history(repo)
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    assert len(first) == 64
    with remembered(repo.root) as memory:
        assert memory.records.get(first[:9]).ref == f"commit:{first}"
        assert memory.git.read("src/größe/a.py", first) == LINES
        revert = repo.commit(f"undo\n\nThis reverts commit {first}.", {"b.py": "b"})
        memory.sync()
        edges = memory.records.links(f"commit:{revert}")
        assert (f"commit:{revert}", f"commit:{first}", "reverts") in [edge[:3] for edge in edges]
        assert alive(memory) == repo.tree()
        assert_as_built_anew(memory)


def test_a_worktree_shares_the_memory_and_has_its_own_staged_files(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", {"src/a.py": LINES, "b.py": "b"})
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    tree = Repository(tmp_path / "tree", "existing")
    with remembered(repo.root) as memory, opened(tree.root) as other:
        assert other.space.id == memory.space.id
        assert other.space.root == str(tree.root)
        repo.put({"b.py": "staged in the repository"})
        tree.put({"src/a.py": "staged in the worktree", "src/new.py": "1"})
        for value in (memory, other):
            assert value.git.staged(tree.root) == value.git.staged(tree.root / "src")
            assert value.git.staged(tree.root) == ["src/a.py", "src/new.py"]
            assert value.git.staged(repo.root) == ["b.py"]
        monkeypatch.chdir(tree.root / "src")
        assert other.git.staged() == ["src/a.py", "src/new.py"]
        assert [step.subject for step in other.git.history("a.py")] == ["one"]
        assert [step.subject for step in other.git.history(tree.root / "src" / "a.py")] == ["one"]
        tree.commit("on the side")
        assert set(commits(other).values()) == {"one", "on the side"}
        assert_as_built_anew(other)


def test_a_space_in_a_subfolder_has_only_what_happens_there(repo: Repository) -> None:
    inner = repo.root / "packages" / "größe x"
    repo.commit("one", {"packages/größe x/src/a.py": LINES, "top.py": LINES})
    repo.commit("elsewhere", {"top.py": LINES + "x\n", "packages/other/b.py": "b"})
    repo.commit("both", {"packages/größe x/src/a.py": LINES + "x\n", "top.py": "y"})
    (inner / ".kinen").mkdir()
    with opened(inner) as memory:
        assert memory.sync(embed=False).added == 2  # commits elsewhere are read, and not counted
        assert (alive(memory), set(commits(memory).values())) == (["src/a.py"], {"one", "both"})
        assert [entry.path for entry in memory.git.history("src/a.py")] == ["src/a.py"] * 2
        assert memory.records.get("file:src/a.py").tags == ()
        assert memory.git.cochanged("src/a.py") == []
        assert found(memory, "elsewhere") == []
        repo.commit("elsewhere again", {"top.py": "z"})
        repo.git("mv", "top.py", "packages/größe x/top.py")
        repo.commit("moved in")
        repo.git("mv", "packages/größe x/src/a.py", "out.py")
        repo.commit("moved out")
        assert set(commits(memory).values()) == {"one", "both", "moved in", "moved out"}
        assert alive(memory) == ["top.py"]
        repo.put({"packages/größe x/c.py": "c", "d.py": "d"})
        assert memory.git.staged(inner) == ["c.py"]
        assert_as_built_anew(memory)


# Configuration


SETTINGS = """
[log]
  showSignature = true
  showRoot = false
  decorate = full
  abbrevCommit = true
  mailmap = false
  follow = true
  diffMerges = first-parent
[diff]
  renames = false
  renameLimit = 1
  noprefix = true
  relative = true
  ignoreSubmodules = all
  external = false
  orderFile = {order}
[i18n]
  logOutputEncoding = latin1
[core]
  quotePath = true
  abbrev = 5
  pager = false
[color]
  ui = always
[format]
  pretty = oneline
  notes = true
"""


def test_the_users_own_settings_of_git_change_nothing(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_history(repo)
    repo.git("notes", "add", "-m", "a note", "HEAD")
    with remembered(repo.root, tmp_path / "plain") as memory:
        plain = says(memory)
    (tmp_path / "order").write_text("*.md\n")
    (tmp_path / "gitconfig").write_text(SETTINGS.format(order=tmp_path / "order"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with remembered(repo.root, tmp_path / "set") as memory:
        assert says(memory) == plain
        assert len(memory.git.history("src/d.py")) == 2
        repo.put({"src/new.py": "1", "top.py": "2"})
        assert memory.git.staged(repo.root) == ["src/new.py", "top.py"]


def test_what_is_staged_is_the_same_from_every_folder(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", {"src/a.py": "1", "top.py": "1"})
    repo.put({"src/a.py": "2", "top.py": "2"})
    (tmp_path / "gitconfig").write_text("[diff]\nrelative = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with remembered(repo.root) as memory:
        assert memory.git.staged(repo.root / "src") == ["src/a.py", "top.py"]


def test_a_mailmap_and_its_later_change(repo: Repository) -> None:
    who = {"GIT_AUTHOR_NAME": "ada l", "GIT_AUTHOR_EMAIL": "old@example.org"}
    sha = repo.commit("one", {"a.py": "1"}, **who)
    with remembered(repo.root) as memory:

        def author() -> tuple[str, str]:
            about = memory.records.get(sha).metadata or {}
            return about["author"], about["email"]

        assert author() == ("ada l", "old@example.org")
        repo.commit("map", {".mailmap": "Ada Lovelace <ada@example.org> <old@example.org>\n"})
        memory.sync()
        assert author() == ("Ada Lovelace", "ada@example.org")
        assert memory.git.history("a.py")[0].author == "Ada Lovelace"
        assert_as_built_anew(memory)
        repo.commit("map again", {".mailmap": "A. L. <ada@example.org> <old@example.org>\n"})
        memory.sync()
        assert author()[0] == "A. L."
        assert_as_built_anew(memory)


# Rules


def test_paths_that_are_excluded_later_leave_and_come_back(repo: Repository) -> None:
    repo.commit("one", {"src/a.py": "1", "gen/b.py": "1", "web.lock": "1"})
    repo.commit("generated only", {"gen/b.py": "2"})
    with remembered(repo.root) as memory:
        before = says(memory)
        assert alive(memory) == ["gen/b.py", "src/a.py"]
    with remembered(repo.root, git_exclude=["gen/**"]) as memory:
        assert alive(memory) == ["src/a.py", "web.lock"]
        assert not memory.git.tracks("gen/b.py")
        assert memory.git.cochanged("src/a.py")[0].path == "web.lock"
        assert_as_built_anew(memory, git_exclude=["gen/**"])
    with remembered(repo.root) as memory:
        assert says(memory) == before


def test_rules_of_the_repository_that_change_later(repo: Repository) -> None:
    repo.commit("one", {"src/core/deep/a.py": LINES, "web/b.py": "1", "junk/c.py": "1"})
    with remembered(repo.root) as memory:

        def tags() -> dict[str, set[str]]:
            memory.sync()
            assert_as_built_anew(memory)
            return {
                file.path: set(file.tags) for file in memory.git.files()[0] if file.path[0] != "."
            }

        path = "src/core/deep/a.py"
        assert tags()[path] == {"core", "deep"}
        (repo.root / ".kiste.yaml").write_text("stop_tags: [deep]\nexclude: ['junk/**']\n")
        assert tags() == {path: {"core"}, "web/b.py": {"web"}}
        (repo.root / "varp.yaml").write_text("engine: {path: src/core, tags: [fast]}\n")
        assert tags()[path] == {"core", "engine", "fast"}
        repo.commit("fix(ui): two\n\ntags: -fast", {path: LINES + "x\n"})
        assert tags()[path] == {"core", "engine", "ui"}
        (repo.root / ".kiste.yaml").unlink()
        (repo.root / "varp.yaml").unlink()
        assert tags()[path] == {"core", "deep", "ui"}
        assert "junk/c.py" in alive(memory)


def test_components_of_the_configuration_that_change_later(repo: Repository) -> None:
    repo.commit("one", {"src/core/a.py": LINES})
    for components, tags in (
        ({}, {"core"}),
        ({"src/**": ["all"]}, {"core", "all"}),
        ({}, {"core"}),
    ):
        with remembered(repo.root, git_components=components) as memory:
            assert set(memory.records.get("file:src/core/a.py").tags) == tags
            assert_as_built_anew(memory, git_components=components)


# Hooks


def test_the_variables_of_a_hook_do_not_lead_to_another_repository(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(tmp_path / "other")
    other.commit("of the other", {"o.py": "1"})
    repo.commit("one", {"a.py": LINES})
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.root / ".git" / "objects"))
    monkeypatch.setenv("GIT_PREFIX", "sub/")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    with remembered(repo.root) as memory:
        assert set(commits(memory).values()) == {"one"}
        assert (alive(memory), memory.git.read("a.py")) == (["a.py"], LINES)


@pytest.mark.skipif(os.name == "nt", reason="the hook is a POSIX script")
@pytest.mark.parametrize("words", [[], ["-a"], ["src/auth/a.py"]], ids=["added", "all", "paths"])
def test_in_a_hook_the_tags_are_of_what_this_commit_takes_in(
    repo: Repository, words: list[str]
) -> None:
    repo.commit("one", {"src/auth/a.py": "1", "docs/b.md": "1"})
    hook = repo.root / ".git" / "hooks" / "prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\n"{sys.executable}" -m kinen tags --staged --into "$1"\nexit 0\n')
    hook.chmod(0o755)
    (repo.root / "src" / "auth" / "a.py").write_text("2")
    if not words:
        repo.git("add", "-A")
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=a@b.c", "commit", "-q", "-m", "two"]
    env = {**os.environ, **ALONE, "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    subprocess.run([*command, *words], cwd=repo.root, env=env, check=True, capture_output=True)
    assert repo.git("log", "-1", "--format=%B") == "two\n\ntags: auth"
