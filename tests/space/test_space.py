"""Which space is this, and where its data lives."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kinen import Memory, config, paths
from kinen.config.trust import trust
from kinen.errors import ConfigError, SpaceError, StoreError
from kinen.space import find as spaces
from kinen.space import registry
from kinen.space.registry import Space
from kinen.space.repository import normalise_origin
from kinen.storage import atomic

URL = "git@example.org:team/tool.git"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command += ["-c", "protocol.file.allow=always", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path, *, commit: str = "first", origin: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", commit)
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


def remember(space: Space, text: str = "knowledge") -> Space:
    """Register a space and give it data, as an index would."""
    registered = spaces.register(space)
    Path(registered.data).mkdir(parents=True)
    (Path(registered.data) / "journal.db").write_text(text)
    return registered


def remembered(space: Space) -> str:
    file = Path(space.data) / "journal.db"
    return file.read_text() if file.exists() else ""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def data(home: Path) -> Path:
    return home / "kinen"


# Which folder


def test_the_nearest_parent_with_kinen_wins_over_the_git_top_level(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo")
    inner = top / "docs"
    (inner / ".kinen").mkdir(parents=True)
    (inner / "deep" / "er").mkdir(parents=True)
    assert spaces.find(inner / "deep" / "er").root == str(inner.resolve())
    assert spaces.find(top).root == str(top.resolve())


def test_a_folder_inside_a_repository_belongs_to_its_top_level(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo")
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file.md").write_text("x")
    assert spaces.find(top / "a" / "b").root == str(top.resolve())
    assert spaces.find(top / "a" / "file.md").root == str(top.resolve())
    assert spaces.find(top / ".git").root == str(top.resolve())


def test_the_current_folder_is_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "repo")
    monkeypatch.chdir(top)
    assert spaces.find().root == str(top.resolve())


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the current folder")
def test_a_current_folder_that_is_gone_is_a_space_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SpaceError, match="working folder"):
        spaces.find()


def test_no_space_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SpaceError) as raised:
        spaces.find(tmp_path)
    assert raised.value.message == "no space here"
    assert raised.value.hint == "run `kinen init` in the project's folder, or name a space"
    assert spaces.locate(tmp_path) == ""
    with pytest.raises(SpaceError, match="no folder"):
        spaces.find(tmp_path / "nowhere")


def test_a_registered_parent_is_a_space_without_any_mark(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "sub").mkdir(parents=True)
    spaces.register(spaces.at(folder))
    assert spaces.find(folder / "sub").root == str(folder.resolve())


def test_a_linked_folder_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo")
    try:
        (tmp_path / "link").symlink_to(top, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    assert spaces.find(tmp_path / "link") == spaces.find(top)


def test_a_worktree_has_the_identity_of_its_main_repository_and_its_own_root(
    tmp_path: Path,
) -> None:
    main = repository(tmp_path / "main")
    (main / ".kinen").mkdir()
    (main / ".kinen" / "config.yml").write_text("")
    (main / "docs").mkdir()
    (main / "docs" / "x.md").write_text("x")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "files")
    tree = tmp_path / "elsewhere" / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    assert (tree / ".kinen").is_dir()
    for _ in range(2):
        results, own = spaces.find(tree / "docs"), spaces.find(main)
        assert (results.id, results.name, results.data) == (own.id, own.name, own.data)
        assert (results.root, own.root) == (str(tree.resolve()), str(main.resolve()))
        shutil.rmtree(tree / ".kinen", ignore_errors=True)


def test_worktrees_of_a_bare_repository_share_one_identity(tmp_path: Path) -> None:
    seed = repository(tmp_path / "seed")
    git(tmp_path, "clone", "-q", "--bare", str(seed), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "remote", "remove", "origin")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / name), "-b", name)
    first, two = spaces.find(tmp_path / "one"), spaces.find(tmp_path / "two")
    assert first.root == str((tmp_path / "one").resolve())
    assert first.id == two.id
    assert first.identity == "commit"


def test_a_worktree_whose_repository_is_gone_is_a_space_by_its_path(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    tree = tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    shutil.rmtree(main)
    match = spaces.find(tree)
    assert (match.root, match.identity) == (str(tree.resolve()), "path")


def test_a_submodule_is_its_own_space(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", commit="library")
    app = repository(tmp_path / "app", commit="app")
    git(app, "submodule", "--quiet", "add", str(library), "vendor/library")
    match = spaces.find(app / "vendor" / "library")
    assert match.root == str((app / "vendor" / "library").resolve())
    assert match.origin == normalise_origin(str(library))
    assert match.id != spaces.find(app).id


@pytest.mark.skipif(os.name == "nt", reason="POSIX folders")
@pytest.mark.parametrize("folder", ["/", "/tmp", "/etc", "/usr", "/usr/bin", "/var", "/home"])
def test_system_folders_are_refused(folder: str) -> None:
    if not os.path.isdir(folder):
        pytest.skip("not on this machine")
    with pytest.raises(SpaceError, match=r"whole disk|system folder"):
        spaces.at(folder)


def test_the_root_of_the_disk_is_refused_everywhere(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="whole disk"):
        spaces.at(tmp_path.anchor)


def test_the_home_folder_is_refused(home: Path) -> None:
    with pytest.raises(SpaceError, match="is your home folder"):
        spaces.at(home)
    (home / ".kinen").mkdir()
    (home / "stuff").mkdir()
    with pytest.raises(SpaceError, match="no space here"):
        spaces.find(home / "stuff")


def test_a_home_folder_that_is_a_repository_is_refused_but_not_what_is_below(home: Path) -> None:
    repository(home, origin="git@example.org:me/dotfiles.git")
    (home / "stuff").mkdir()
    with pytest.raises(SpaceError, match="home folder and a git repository"):
        spaces.find(home / "stuff")
    (home / "stuff" / ".kinen").mkdir()
    match = spaces.find(home / "stuff")
    assert (match.identity, match.origin) == ("path", "")


def test_kinens_own_folder_is_not_mistaken_for_a_space(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    own = tmp_path / ".kinen"
    own.mkdir()
    with pytest.raises(SpaceError):
        spaces.find(tmp_path / "sub", home=own)


# Identity


def test_an_origin_identifies_in_every_spelling_and_place(tmp_path: Path) -> None:
    ssh = spaces.find(repository(tmp_path / "one", origin=URL))
    https = spaces.find(repository(tmp_path / "two", origin="https://u:p@Example.org/team/tool/"))
    assert ssh.id == https.id == sha256("https://example.org/team/tool")
    assert ssh.identity == "origin"
    assert ssh.origin == "https://example.org/team/tool"
    assert ssh.data == os.path.join(ssh.home, "spaces", ssh.id[:16])


def test_without_an_origin_the_first_commit_identifies(tmp_path: Path) -> None:
    item = repository(tmp_path / "one")
    first = git(item, "rev-parse", "HEAD")
    git(item, "commit", "-q", "--allow-empty", "-m", "second")
    git(item, "pack-refs", "--all")
    match = spaces.find(item)
    assert (match.identity, match.id) == ("commit", sha256(first))
    shutil.copytree(item, tmp_path / "copy")
    assert spaces.find(tmp_path / "copy").id == match.id


def test_of_several_first_commits_the_smallest_identifies(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo")
    first = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "--orphan", "other")
    git(top, "commit", "-q", "--allow-empty", "-m", "another root")
    other = git(top, "rev-parse", "HEAD")
    git(top, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "main")
    assert spaces.find(top).id == sha256(min(first, other))


def test_a_repository_without_commits_and_a_shallow_one_are_known_by_path(tmp_path: Path) -> None:
    empty = repository(tmp_path / "empty", commit="")
    assert spaces.find(empty).identity == "path"
    deep = repository(tmp_path / "deep")
    git(deep, "commit", "-q", "--allow-empty", "-m", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{deep}", str(shallow))
    git(shallow, "remote", "remove", "origin")
    assert spaces.find(shallow).identity == "path"


def test_a_given_id_identifies_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "repo", origin=URL)
    (top / ".kinen").mkdir()
    (top / ".kinen" / "config.yml").write_text("space:\n  id: our-tool\n  name: Tool\n")
    match = spaces.find(top)
    assert (match.identity, match.id, match.name) == ("config", sha256("id:our-tool"), "Tool")
    monkeypatch.setenv("KINEN_SPACE_ID", "from-variable")
    assert spaces.find(top).id == sha256("id:from-variable")


def test_a_given_id_never_leads_out_of_kinens_folder(tmp_path: Path, data: Path) -> None:
    top = tmp_path / "repo"
    (top / ".kinen").mkdir(parents=True)
    (top / ".kinen" / "config.yml").write_text("space:\n  id: x..y\n")
    assert Path(spaces.find(top).data).parent == data / "spaces"
    (top / ".kinen" / "config.yml").write_text("space:\n  id: ../../x\n")
    with pytest.raises(ConfigError):
        spaces.find(top)


def test_spaces_in_one_repository_have_different_ids(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo", origin=URL)
    for name in ("a", "b"):
        (top / name / ".kinen").mkdir(parents=True)
    ids = {spaces.find(folder).id for folder in (top, top / "a", top / "b")}
    assert len(ids) == 3
    assert spaces.find(top / "a").id == sha256("https://example.org/team/tool#a")


def test_git_variables_of_a_hook_do_not_mislead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = repository(tmp_path / "one"), repository(tmp_path / "other", commit="other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    match = spaces.find(first)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_WORK_TREE")
    assert match.id == sha256(git(first, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    "text",
    [
        '[remote "origin"]\n\turl = git@example.org:team/tool.git\n\turl = git@other:x\n',
        '[Remote "origin"] URL = "git@example.org:team/tool.git" ; comment\n',
        '[core]\nbare = false # x\n[remote "origin"]\nurl=ssh://git@example.org/team/\\\ntool\n',
        ';[x]\n[remote "y"]\nurl=a\n[remote "origin"]\r\nurl=example.org:team/tool\n',
    ],
)
def test_a_git_config_is_read_as_git_reads_it(text: str, tmp_path: Path) -> None:
    top = repository(tmp_path / "repo", commit="")
    (top / ".git" / "config").write_bytes(text.encode())
    assert normalise_origin(git(top, "remote", "get-url", "origin")) == (
        "https://example.org/team/tool"
    )
    assert spaces.find(top).origin == "https://example.org/team/tool"


@pytest.mark.parametrize("junk", [b"", b"\xff\x00[[[", b"[remote", b'[remote "origin"]\nurl\n'])
def test_a_damaged_git_config_is_no_crash(junk: bytes, tmp_path: Path) -> None:
    top = repository(tmp_path / "repo", commit="")
    (top / ".git" / "config").write_bytes(junk)
    assert spaces.find(top).root == str(top.resolve())


# Memory stays


def test_a_moved_repository_keeps_its_memory(tmp_path: Path) -> None:
    for number, origin in enumerate(("", URL)):
        old = repository(tmp_path / f"old{number}", commit=f"root {number}", origin=origin)
        before = remember(spaces.find(old))
        new = old.rename(tmp_path / f"new{number}")
        after = spaces.find(new)
        assert remembered(after) == "knowledge"
        assert (after.id, after.name) == (before.id, before.name)
        assert after.root == str(new.resolve())
        assert spaces.find(name=before.name).root == after.root


def test_two_clones_share_one_entry_with_two_roots(tmp_path: Path, data: Path) -> None:
    entry = remember(spaces.find(repository(tmp_path / "one", origin=URL)))
    seen = spaces.find(repository(tmp_path / "two", commit="other", origin=URL))
    assert (seen.id, remembered(seen)) == (entry.id, "knowledge")
    assert (seen.roots, seen.registered) == ((entry.root,), False)
    two = spaces.register(seen)
    assert two.roots == (two.root, entry.root)
    assert two.index_folder() == seen.index_folder() != entry.index_folder() == entry.data
    assert [space.id for space in registry.registered(data)] == [entry.id]
    assert spaces.find(entry.root).root == entry.root


def test_an_origin_added_later_takes_the_memory_along(tmp_path: Path, data: Path) -> None:
    top = repository(tmp_path / "repo")
    before = remember(spaces.find(top))
    assert before.identity == "commit"
    git(top, "remote", "add", "origin", URL)
    after = spaces.find(top)
    assert (after.identity, remembered(after)) == ("origin", "knowledge")
    assert after.id != before.id
    assert before.id in after.aliases
    assert after.name == before.name
    assert not os.path.exists(before.data)
    assert spaces.find(top) == after
    assert [space.id for space in registry.registered(data)] == [after.id]


def test_every_step_up_keeps_the_memory_and_no_step_down_loses_it(tmp_path: Path) -> None:
    top = tmp_path / "project"
    (top / ".kinen").mkdir(parents=True)
    first = remember(spaces.find(top))
    seen = [first.identity]
    repository(top)
    seen.append(spaces.find(top).identity)
    git(top, "remote", "add", "origin", URL)
    seen.append(spaces.find(top).identity)
    (top / ".kinen" / "config.yml").write_text("space:\n  id: chosen\n")
    best = spaces.find(top)
    assert [*seen, best.identity] == ["path", "commit", "origin", "config"]
    assert remembered(best) == "knowledge"

    (top / ".kinen" / "config.yml").unlink()
    assert spaces.find(top).id == best.id
    git(top, "remote", "remove", "origin")
    assert spaces.find(top).id == best.id
    shutil.rmtree(top / ".git")
    down = spaces.find(top)
    assert (down.id, remembered(down)) == (best.id, "knowledge")


def test_a_repository_that_changes_its_host_keeps_its_memory(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo", origin=URL)
    remember(spaces.find(top))
    git(top, "remote", "set-url", "origin", "https://new.example.net/team/tool")
    moved = spaces.find(top)
    assert moved.origin == "https://new.example.net/team/tool"
    assert remembered(moved) == "knowledge"


def test_another_project_in_the_same_folder_does_not_inherit(tmp_path: Path, data: Path) -> None:
    top = repository(tmp_path / "repo", origin=URL)
    old = remember(spaces.find(top))
    shutil.rmtree(top)
    repository(top, commit="something else", origin="git@example.org:team/other.git")
    new = spaces.find(top)
    assert remembered(new) == ""
    assert new.roots == ()
    spaces.register(new)
    assert remembered(old) == "knowledge"
    assert [space.missing for space in registry.registered(data)] == [True, False]


def test_where_both_ids_have_data_nothing_is_lost(tmp_path: Path) -> None:
    lone = repository(tmp_path / "lone")
    old = remember(spaces.find(lone), "old")
    clone = remember(spaces.find(repository(tmp_path / "clone", origin=URL)), "shared")
    git(lone, "remote", "add", "origin", URL)
    joined = spaces.find(lone)
    assert (joined.id, remembered(joined)) == (clone.id, "shared")
    assert old.id in joined.aliases
    assert remembered(old) == "old"
    assert spaces.find(name=old.name).id == clone.id


def test_a_registry_that_cannot_be_written_leaves_the_old_id_in_use(
    tmp_path: Path, data: Path
) -> None:
    top = repository(tmp_path / "repo")
    before = remember(spaces.find(top))
    git(top, "remote", "add", "origin", URL)
    (data / "registry.lock").unlink()
    (data / "registry.lock").mkdir()
    after = spaces.find(top)
    assert (after.id, remembered(after)) == (before.id, "knowledge")
    (data / "registry.lock").rmdir()
    moved = spaces.find(top)
    assert (moved.identity, remembered(moved)) == ("origin", "knowledge")


def test_a_move_is_undone_when_it_cannot_be_recorded(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(tmp_path / "repo")
    before = remember(spaces.find(top))
    git(top, "remote", "add", "origin", URL)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        after = spaces.find(top)
    assert (after.id, remembered(after)) == (before.id, "knowledge")
    assert not list(data.glob(".*.tmp"))
    assert remembered(spaces.find(top)) == "knowledge"


def test_a_cloned_file_cannot_take_the_memory_of_another_space(tmp_path: Path, data: Path) -> None:
    for name in ("mine", "hostile"):
        folder = tmp_path / name / ".kinen"
        folder.mkdir(parents=True)
        (folder / "config.yml").write_text("space:\n  id: shared\n")
    mine = remember(spaces.find(tmp_path / "mine"))
    with pytest.raises(SpaceError, match="has the id of another space: mine"):
        spaces.find(tmp_path / "hostile")
    assert spaces.locate(tmp_path / "hostile") == str((tmp_path / "hostile").resolve())
    trust(data, tmp_path / "hostile" / ".kinen" / "config.yml")
    assert spaces.find(tmp_path / "hostile").id == mine.id


def test_clones_of_one_project_share_a_given_id_without_trust(tmp_path: Path) -> None:
    item = repository(tmp_path / "one")
    (item / ".kinen").mkdir()
    (item / ".kinen" / "config.yml").write_text("space:\n  id: shared\n")
    git(item, "add", "-A")
    git(item, "commit", "-qm", "files")
    entry = remember(spaces.find(item))
    git(tmp_path, "clone", "-q", str(item), str(tmp_path / "two"))
    assert spaces.find(tmp_path / "two").id == entry.id


def test_a_folder_without_git_keeps_its_memory_by_a_given_id(tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / ".kinen").mkdir(parents=True)
    file = config.space_file(old)
    atomic.write(file, config.template("notes", registry.new_identity()))
    remember(spaces.find(old))
    new = old.rename(tmp_path / "new")
    assert remembered(spaces.find(new)) == "knowledge"


# Names


def test_a_second_space_of_the_same_name_gets_a_number(tmp_path: Path, data: Path) -> None:
    names = []
    for parent in ("a", "b", "c"):
        folder = tmp_path / parent / "notes"
        (folder / ".kinen").mkdir(parents=True)
        names.append(spaces.register(spaces.find(folder)).name)
    assert names == ["notes", "notes-2", "notes-3"]
    again = spaces.register(spaces.find(tmp_path / "b" / "notes"))
    assert again.name == "notes-2"
    assert spaces.find(name="notes-3").root == str((tmp_path / "c" / "notes").resolve())


@pytest.mark.parametrize(("folder", "name"), [("all", "all-2"), (".dots", "dots"), ("a,b", "a-b")])
def test_a_name_can_always_be_typed(folder: str, name: str, tmp_path: Path) -> None:
    (tmp_path / folder / ".kinen").mkdir(parents=True)
    assert spaces.register(spaces.find(tmp_path / folder)).name == name


def test_a_space_is_found_by_name_alias_id_and_path(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".kinen").mkdir(parents=True)
    registered = spaces.register(spaces.find(tmp_path / "one"), "first")
    registry.alias(data, "first", "uno")
    monkeypatch.chdir(tmp_path / "two")
    for word in (
        "first",
        "uno",
        registered.id,
        registered.id[:12],
        "../one",
        str(tmp_path / "one"),
    ):
        assert spaces.find(name=word).id == registered.id
    monkeypatch.setenv("KINEN_SPACE", "first")
    assert spaces.find().id == registered.id
    assert spaces.find(tmp_path / "two").id != registered.id
    assert spaces.find(name=str(tmp_path / "two")).root == str((tmp_path / "two").resolve())


def test_an_unknown_name_suggests_a_known_one(space: Path, tmp_path: Path) -> None:
    spaces.register(spaces.find(space), "journal")
    with pytest.raises(SpaceError) as raised:
        spaces.find(name="jornal")
    assert raised.value.hint == "did you mean journal?"
    with pytest.raises(SpaceError, match="is not in a space"):
        spaces.find(name=str(tmp_path))


def test_names_and_aliases_are_unique(tmp_path: Path, data: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".kinen").mkdir(parents=True)
        spaces.register(spaces.find(tmp_path / name))
    for value in ("two", "all", "a/b", ""):
        with pytest.raises(SpaceError, match="in use or not a valid name"):
            registry.alias(data, "one", value)
    registry.alias(data, "one", "uno")
    assert registry.alias(data, "one", "uno").aliases == ("uno",)
    with pytest.raises(SpaceError):
        registry.alias(data, "two", "uno")
    with pytest.raises(SpaceError, match="no space called 'three'"):
        registry.alias(data, "three", "x")


def test_several_names_resolve_in_order_each_once(tmp_path: Path, data: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name / ".kinen").mkdir(parents=True)
        spaces.register(spaces.find(tmp_path / name))

    def resolved(*names: str) -> list[str]:
        return [space.name for space in spaces.resolve_names(data, names)]

    assert resolved("two", "one", "two") == ["two", "one"]
    assert resolved("all") == ["one", "three", "two"]
    assert resolved("two", "all") == ["two", "one", "three"]
    shutil.rmtree(tmp_path / "three")
    assert resolved("all") == ["one", "two"]
    with pytest.raises(SpaceError, match="no space called"):
        resolved("four")


def test_a_missing_folder_is_shown_and_named_but_never_a_crash(tmp_path: Path, data: Path) -> None:
    (tmp_path / "one" / ".kinen").mkdir(parents=True)
    spaces.register(spaces.find(tmp_path / "one"))
    shutil.rmtree(tmp_path / "one")
    assert [space.missing for space in registry.registered(data)] == [True]
    with pytest.raises(SpaceError, match="the folder of one is missing") as raised:
        spaces.find(name="one")
    assert "kinen space remove one" in raised.value.hint


def test_a_removed_space_keeps_its_data_and_finds_it_again(tmp_path: Path, data: Path) -> None:
    top = repository(tmp_path / "repo", origin=URL)
    entry = remember(spaces.find(top))
    assert registry.unregister(data, entry.root).id == entry.id
    assert registry.registered(data) == ()
    assert remembered(spaces.find(top)) == "knowledge"
    with pytest.raises(SpaceError):
        registry.unregister(data, entry.name)


def test_the_default_space_is_used_where_there_is_none(
    tmp_path: Path, home: Path, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces.register(spaces.find(space), "personal")
    config.set_value(paths.user_file(), "space.default", "personal")
    assert spaces.find(home).name == "personal"
    other = repository(tmp_path / "other")
    assert spaces.find(other).root == str(other.resolve())
    monkeypatch.setenv("KINEN_SPACE_DEFAULT", "nothing")
    with pytest.raises(SpaceError, match="no space called 'nothing'"):
        spaces.find(home)


# The registry


def test_the_registry_is_readable_by_people(space: Path, data: Path) -> None:
    registered = spaces.register(spaces.find(space), "notes")
    saved = json.loads((data / "spaces.json").read_text())
    assert saved["version"] == 1
    entry = saved["spaces"][registered.id]
    assert entry.pop("added").endswith("Z")
    assert entry == {
        "name": "notes",
        "origin": "",
        "identity": "path",
        "key": str(space.resolve()),
        "roots": [str(space.resolve())],
        "aliases": [],
        "root_commits": {},
    }


def test_looking_does_not_register(space: Path, data: Path) -> None:
    spaces.find(space)
    assert registry.registered(data) == ()


DAMAGE = ("", "{", "[]", '{"version": 1}', '{"version": 1, "spaces": {"a": {}}}', "\0", "folder")


def damage(file: Path, how: str) -> None:
    """Put junk, or a folder, in the place of a table."""
    file.unlink(missing_ok=True)
    if how == "folder":
        file.mkdir()
        (file / "junk").write_text("junk")
    else:
        file.write_text(how)


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_registry_is_rebuilt_from_its_spaces_and_kept_beside_it(
    how: str, tmp_path: Path, data: Path
) -> None:
    for name, url in (("one", URL), ("two", ""), ("three", "")):
        top = repository(tmp_path / name, commit=name, origin=url)
        spaces.register(spaces.find(top), f"my-{name}")
    registry.alias(data, "my-two", "second")
    registry.unregister(data, "my-three")
    before = registry.registered(data)
    damage(data / "spaces.json", how)
    assert registry.registered(data) == before
    assert spaces.find(name="second").name == "my-two"
    (kept,) = data.glob("spaces.json.damaged-*")
    assert kept.is_dir() if how == "folder" else kept.read_text() == how
    assert json.loads((data / "spaces.json").read_text())["version"] == 1


def test_a_registry_that_is_gone_is_rebuilt(space: Path, data: Path) -> None:
    registered = spaces.register(spaces.find(space), "notes")
    (data / "spaces.json").unlink()
    assert registry.registered(data) == (registered,)
    assert not list(data.glob("*.damaged-*"))


def test_a_space_of_an_older_kinen_is_rebuilt_from_its_figures(
    tmp_path: Path, data: Path, space: Path
) -> None:
    top = repository(tmp_path / "repo", commit="first")
    for folder, name in ((top, "tool"), (space, "notes")):
        spaces.register(spaces.find(folder), name)
        with Memory.open(folder) as memory:
            memory.sync(embed=False)
    before = registry.registered(data)
    for record in (data / "registry").glob("*.json"):
        record.unlink()
    (data / "spaces.json").write_text("")
    assert [entry.name for entry in registry.registered(data)] == ["notes", "tool"]
    for entry in before:
        assert spaces.find(entry.root).id == entry.id
        assert spaces.find(name=entry.name).data == entry.data
    assert registry.registered(data) == before


def test_a_removed_space_does_not_come_back_with_the_registry(space: Path, data: Path) -> None:
    spaces.register(spaces.find(space), "notes")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
    registry.unregister(data, "notes")
    (data / "spaces.json").write_text("{")
    assert registry.registered(data) == ()


def test_processes_that_rebuild_at_the_same_time_lose_nothing(tmp_path: Path, data: Path) -> None:
    for number in range(20):
        (tmp_path / f"old{number}").mkdir()
        spaces.register(spaces.at(tmp_path / f"old{number}"))
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from kinen.space import find, registry\n"
        "for number in range(5):\n"
        "    open(f'{sys.argv[2]}/spaces.json', 'w').close()\n"
        "    find.register(find.at(f'{sys.argv[1]}/{number}'))\n"
        "    registry.read(sys.argv[2])\n"
    )
    running = []
    for worker in range(4):
        for number in range(5):
            (tmp_path / str(worker) / str(number)).mkdir(parents=True)
        command = [sys.executable, "-c", code, str(tmp_path / str(worker)), str(data)]
        running.append(subprocess.Popen(command))
    assert [process.wait(120) for process in running] == [0] * 4
    assert len(registry.registered(data)) == 40


@pytest.mark.parametrize("at", ["rename", "replace"])
def test_a_process_that_is_killed_while_it_rebuilds_loses_nothing(
    at: str, space: Path, data: Path
) -> None:
    registered = spaces.register(spaces.find(space), "notes")
    (data / "spaces.json").write_text("{")
    code = (
        f"import os, sys; sys.path[:] = {sys.path!r}\n"
        "from kinen.space import registry\n"
        f"real = os.{at}\n"
        f"os.{at} = lambda *names: (real(*names) if {at == 'rename'} else None, os._exit(9))\n"
        "registry.read(sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(data)], check=False).returncode == 9
    assert registry.registered(data) == (registered,)


def test_a_registry_from_the_future_is_left_alone(space: Path, data: Path) -> None:
    data.mkdir()
    (data / "spaces.json").write_text('{"version": 2, "spaces": []}')
    with pytest.raises(StoreError, match="newer kinen"):
        spaces.register(Space(str(space), "0" * 64, "x", "", "path", str(data), key="x"))
    assert (data / "spaces.json").read_text() == '{"version": 2, "spaces": []}'


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path, data: Path) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from kinen.space import find as space\n"
        "for number in range(5):\n"
        "    space.register(space.at(f'{sys.argv[1]}/{number}'))\n"
    )
    running = []
    for worker in range(4):
        for number in range(5):
            (tmp_path / str(worker) / str(number)).mkdir(parents=True)
        command = [sys.executable, "-c", code, str(tmp_path / str(worker))]
        running.append(subprocess.Popen(command))
    assert [process.wait(60) for process in running] == [0] * 4
    existing = registry.registered(data)
    assert len(existing) == 20
    assert len({space.name for space in existing}) == 20


def test_a_writer_that_was_killed_leaves_no_lock(space: Path, data: Path) -> None:
    code = (
        f"import os, sys; sys.path[:] = {sys.path!r}\n"
        "from kinen.space import registry\n"
        "registry.update(sys.argv[1], lambda book: os._exit(9))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(data)], check=False).returncode == 9
    assert spaces.register(spaces.find(space)).roots


def test_a_change_that_fails_changes_nothing(space: Path, data: Path) -> None:
    spaces.register(spaces.find(space))
    before = (data / "spaces.json").read_bytes()
    with pytest.raises(ZeroDivisionError):
        registry.update(str(data), lambda book: book.clear() or 1 / 0)
    assert (data / "spaces.json").read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_folder_whose_name_is_not_utf8_is_a_space(tmp_path: Path, data: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9"
    os.makedirs(odd + b"/.kinen")
    registered = spaces.register(spaces.find(os.fsdecode(odd)))
    assert registry.registered(data) == (registered,)


def test_a_known_space_is_found_without_starting_git(tmp_path: Path, data: Path) -> None:
    for number, origin in enumerate(("", URL)):
        top = repository(tmp_path / str(number), commit=str(number), origin=origin)
        spaces.register(spaces.find(top))
        code = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            "from kinen import config\nfrom kinen.space import find as space\n"
            "found = space.find(sys.argv[1])\n"
            "config.load(found.home, found.root)\n"
            "print(*sys.modules)"
        )
        command = [sys.executable, "-S", "-c", code, str(top)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        heavy = {"subprocess", "yaml", "dataclasses", "pathlib", "inspect", "hashlib", "sqlite3"}
        assert not heavy & set(done.stdout.split())
