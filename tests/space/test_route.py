"""What a hook remembers of a folder is what it would find out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kinen import config, paths
from kinen.cli.log import observe
from kinen.errors import Excluded, SpaceError
from kinen.journal.store import Journal
from kinen.privacy.exclude import matching_glob
from kinen.space import find as spaces
from kinen.space import read_head, registry, route

URL = "https://example.org/team/tool"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command += ["-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"first of {folder.name!r}")
    return folder


@pytest.fixture
def data(home: Path) -> str:
    return str(home / "kinen")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a folder in it."""
    (repository(tmp_path / "repo") / "src" / "deep").mkdir(parents=True)
    return tmp_path / "repo"


def routed(home: str, folder: Path) -> route.Route:
    """The route of a folder, which is the space that would be found."""
    match = route.find(home, str(folder), str(folder))
    space = spaces.find(folder, home=home)
    assert (match.root, match.data) == (space.root, space.data)
    assert match.repo == (space.origin or space.name)
    assert match.excluded == list(config.load(home, space.root).privacy.exclude)
    return match


def file_of(home: str, folder: Path) -> Path:
    return Path(route._file(home, os.path.realpath(folder)))


def contents_of(data: str) -> list[str]:
    """What a journal has."""
    with closing(Journal(data, [f"{data}-spool"])) as journal:
        return [row[0] for row in journal.db.execute("SELECT content FROM observations")]


# The same space


def test_a_folder_of_a_repository(repo: Path, data: str) -> None:
    results = routed(data, repo / "src" / "deep")
    assert results.root == str(repo.resolve())
    assert (results.git, results.common) == (str(repo / ".git"), str(repo / ".git"))
    assert ".env" in results.excluded


def test_a_folder_below_one_with_kinen(repo: Path, data: str) -> None:
    (repo / "src" / ".kinen").mkdir()
    results = routed(data, repo / "src" / "deep")
    assert results.root == str((repo / "src").resolve())
    assert results.git == str(repo / ".git")


def test_a_worktree_shares_the_journal_and_has_its_own_branch_and_index(
    repo: Path, tmp_path: Path, data: str
) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    (tmp_path / "tree" / "src").mkdir()
    results = routed(data, tmp_path / "tree" / "src")
    assert results.root == str((tmp_path / "tree").resolve())
    assert read_head(results.git, results.common)[0] == "side"
    main = routed(data, repo)
    assert main.data == results.data
    assert main.index != results.index
    assert read_head(main.git, main.common)[0] == "main"


@pytest.mark.parametrize("marked", [".kinen", ".git"])
def test_a_linked_folder_is_the_folder_it_leads_to_now(
    tmp_path: Path, data: str, marked: str
) -> None:
    first, two = tmp_path / "one", tmp_path / "two"
    for folder in (first, two):
        if marked == ".git":
            repository(folder)
        else:
            (folder / marked).mkdir(parents=True)
        spaces.register(spaces.at(folder))
    link = tmp_path / "link"
    for folder in (first, two, first):
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        assert routed(data, link).root == str(folder.resolve())


def test_a_route_is_remembered_and_read_without_looking(repo: Path, data: str) -> None:
    first = routed(data, repo)
    code = (
        "import sys; from kinen.space import route\n"
        f"found = route.find({data!r}, {str(repo)!r}, {str(repo)!r})\n"
        "print(found.data)\n"
        "slow = {'json', 're', 'typing', 'kinen.space.find', 'kinen.config'}\n"
        "print(*sorted(slow & {*sys.modules}))"
    )
    source = os.path.dirname(os.path.dirname(os.path.dirname(route.__file__)))
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [first.data, ""]


def test_a_folder_that_is_no_space_is_refused_and_nothing_is_stored(
    tmp_path: Path, home: Path, data: str
) -> None:
    for _ in range(2):
        with pytest.raises(SpaceError, match="no space here"):
            route.find(data, str(tmp_path), str(tmp_path))
        with pytest.raises(SpaceError, match="no space here"):
            observe("lost", folder=str(tmp_path))
    assert [path for path in (home / "kinen").rglob("*") if path.is_file()] == []


# Following changes


def test_a_nearer_kinen_that_appears_is_followed(repo: Path, data: str) -> None:
    deep = repo / "src" / "deep"
    assert routed(data, deep).root == str(repo.resolve())
    (repo / "src" / ".kinen").mkdir()
    assert routed(data, deep).root == str((repo / "src").resolve())
    (deep / ".kinen").mkdir()
    assert routed(data, deep).root == str(deep.resolve())
    shutil.rmtree(deep / ".kinen")
    shutil.rmtree(repo / "src" / ".kinen")
    assert routed(data, deep).root == str(repo.resolve())


def test_an_origin_that_is_added_takes_the_journal_along(repo: Path, data: str) -> None:
    deep = str(repo / "src")
    row, written = observe("before", folder=deep)
    assert written
    old = routed(data, repo / "src")
    git(repo, "remote", "add", "origin", URL)
    assert observe("after", folder=deep)[1]
    new = routed(data, repo / "src")
    assert (old.repo, new.repo) == ("repo", URL)
    assert new.data != old.data
    assert contents_of(new.data) == ["before", "after"]
    assert not os.path.exists(old.data)
    assert new.spool_folders[1:] == old.spool_folders
    assert row[0] < observe("later", folder=deep)[0][0]


def test_another_process_that_moved_the_data_is_followed(repo: Path, data: str) -> None:
    """The route was remembered when the registry changed under it."""
    observe("before", folder=str(repo))
    old = routed(data, repo)
    (repo / ".kinen").mkdir()
    (repo / ".kinen" / "config.yml").write_text("space:\n  id: tools\n")
    assert spaces.find(repo).data != old.data
    assert observe("after", folder=str(repo))[1]
    assert contents_of(routed(data, repo).data) == ["before", "after"]
    assert not os.path.exists(old.data)


def test_a_space_that_is_taken_off_the_register_is_found_anew(tmp_path: Path, data: str) -> None:
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    spaces.register(spaces.at(plain, home=data))
    assert routed(data, plain / "sub").root == str(plain.resolve())
    registry.unregister(data, "plain")
    with pytest.raises(SpaceError):
        route.find(data, str(plain / "sub"), str(plain / "sub"))


def test_a_changed_exclusion_is_followed(repo: Path, home: Path, data: str) -> None:
    def observe_plan(text: str) -> bool:
        return observe(text, files=[str(repo / "src" / "plan.md")], folder=str(repo))[1]

    assert observe_plan("one")
    user = home / ".config" / "kinen" / "config.yml"
    user.parent.mkdir(parents=True)
    user.write_text('privacy:\n  exclude: ["src/*"]\n')
    with pytest.raises(Excluded, match=r"src/plan\.md is never captured"):
        observe_plan("two")
    user.write_text('privacy:\n  exclude: ["docs/*"]\n')
    assert observe_plan("three")
    assert contents_of(routed(data, repo).data) == ["one", "three"]


def test_a_changed_exclusion_of_the_space_is_followed(space: Path, data: str) -> None:
    (space / "deep").mkdir()
    file = space / ".kinen" / "config.yml"
    for glob in ("a/*", "long/*", "b/*"):
        file.write_text(f'privacy:\n  exclude: ["{glob}"]\n')
        assert glob in routed(data, space / "deep").excluded
    file.unlink()
    assert "b/*" not in routed(data, space / "deep").excluded


def test_a_variable_that_names_the_space_holds_for_the_current_folder_only(
    repo: Path, tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other")
    spaces.register(spaces.at(other))
    monkeypatch.chdir(repo)
    for _ in range(2):
        assert route.find(data, str(repo)).root == str(repo.resolve())
        monkeypatch.setenv("KINEN_SPACE", "other")
        assert route.find(data, str(repo)).root == str(other.resolve())
        assert spaces.find().root == str(other.resolve())
        assert routed(data, repo).root == str(repo.resolve())
        monkeypatch.delenv("KINEN_SPACE")
    monkeypatch.setenv("KINEN_PRIVACY_EXCLUDE", "*.secret")
    assert "*.secret" in route.find(data, str(repo)).excluded


# Damage


def test_a_route_that_is_cut_off_anywhere_is_found_anew(repo: Path, data: str) -> None:
    fresh = routed(data, repo)
    file = file_of(data, repo)
    whole = file.read_bytes()
    breaks = {n + more for n, sign in enumerate(whole) if sign == 10 for more in (0, 1)}
    for length in sorted({*range(0, len(whole), 13), *breaks, len(whole) - 1}):
        file.write_bytes(whole[:length])
        results = route._cached(data, str(repo.resolve()), route.environment(str(repo)))
        assert results is None, f"{length} of {len(whole)} bytes were believed"
    assert routed(data, repo).exclude == fresh.exclude
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    "garbage", [b"", b"\xff\xfe\x00", b"route 3\n", b"route 9\n" * 20, b"\n" * 50, b"end"]
)
def test_a_corrupt_route_is_found_anew(repo: Path, data: str, garbage: bytes) -> None:
    routed(data, repo)
    file = file_of(data, repo)
    whole = file.read_bytes()
    file.write_bytes(garbage)
    routed(data, repo)
    assert file.read_bytes() == whole


def test_a_route_of_another_folder_under_the_same_name_is_not_believed(
    repo: Path, tmp_path: Path, data: str
) -> None:
    """The name is a short sum of the folder's: two may share it."""
    other = repository(tmp_path / "other")
    for folder in (other, repo, other):
        routed(data, folder)
    shutil.copy(file_of(data, other), file_of(data, repo))
    assert routed(data, repo).root == str(repo.resolve())


@pytest.mark.parametrize("wrong", ["file", "folder"])
def test_a_route_that_cannot_be_remembered_is_still_found(
    repo: Path, home: Path, data: str, wrong: str
) -> None:
    if wrong == "file":
        (home / "kinen").mkdir()
        (home / "kinen" / "routes").write_text("in place of the folder")
    else:
        file_of(data, repo).mkdir(parents=True)
    assert observe("kept", folder=str(repo))[1]
    assert contents_of(routed(data, repo).data) == ["kept"]


@pytest.mark.skipif(os.name == "nt", reason="no such names on Windows")
def test_a_folder_with_a_strange_name_has_a_route(tmp_path: Path, data: str) -> None:
    for name in ("line\nbreak", "tab\there", os.fsdecode(b"caf\xe9"), "carriage\rreturn", "#%?"):
        folder = repository(tmp_path / name)
        for _ in range(2):
            assert routed(data, folder).root == os.path.realpath(folder)
        assert observe("kept", folder=str(folder), files=[f"{folder}/x.md"])[1], name


# HEAD


@pytest.fixture
def commit(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


def checked_out(folder: Path) -> tuple[str, str]:
    common = folder / git(folder, "rev-parse", "--git-common-dir")
    return read_head(str(folder / git(folder, "rev-parse", "--git-dir")), str(common))


def test_head_of_a_loose_ref(repo: Path, commit: str) -> None:
    assert checked_out(repo) == ("main", commit)
    git(repo, "switch", "-q", "-c", "feature/deep/branch")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    assert checked_out(repo) == ("feature/deep/branch", git(repo, "rev-parse", "HEAD"))


def test_head_of_a_packed_ref(repo: Path, commit: str) -> None:
    """Among others that look like it."""
    git(repo, "switch", "-q", "--detach")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    for ref in ("heads/main-2", "heads/a", "z/refs/heads/main", "heads/z/main"):
        git(repo, "update-ref", f"refs/{ref}", "HEAD")
    git(repo, "tag", "-a", "-m", "x", "main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/main")
    git(repo, "pack-refs", "--all")
    assert not (repo / ".git" / "refs" / "heads" / "main").exists()
    assert checked_out(repo) == ("main", commit)


def test_a_loose_ref_is_newer_than_a_packed_one(repo: Path, commit: str) -> None:
    git(repo, "pack-refs", "--all")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    assert checked_out(repo) == ("main", git(repo, "rev-parse", "HEAD"))
    assert checked_out(repo)[1] != commit


def test_a_detached_head_has_no_branch(repo: Path, commit: str) -> None:
    git(repo, "switch", "-q", "--detach")
    assert checked_out(repo) == ("", commit)


def test_a_branch_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert checked_out(tmp_path) == ("main", "")


def test_a_worktree_has_its_own_head(repo: Path, tmp_path: Path, commit: str) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "second")
    assert checked_out(tmp_path / "tree") == ("side", git(tmp_path / "tree", "rev-parse", "HEAD"))
    assert checked_out(repo) == ("main", commit)


def test_where_head_cannot_be_read_it_is_empty(tmp_path: Path) -> None:
    assert read_head("", "") == ("", "")
    assert read_head(str(tmp_path), str(tmp_path)) == ("", "")
    (tmp_path / "HEAD").write_text("ref: refs/heads/.invalid\n")  # refs are kept in a table
    assert read_head(str(tmp_path), str(tmp_path)) == ("", "")


# Paths


@pytest.mark.parametrize(
    ("glob", "caught", "free"),
    [
        (".env", (".env", "a/.env", ".env/x", "a/.env/b"), (".envrc", "x.env", "a/b")),
        ("*.pem", ("x.pem", "a/b/x.pem", "x.pem/y"), ("x.pem.txt", "pem")),
        (".env.*", (".env.local", "a/.env.prod"), (".env", "env.x")),
        ("id_rsa*", ("id_rsa", "id_rsa.pub", ".ssh/id_rsa"), ("my_id_rsa",)),
        ("secrets/", ("secrets/x", "a/secrets/x"), ("secrets.md", "a/b")),
        ("secrets/**", ("secrets/x", "secrets/a/b"), ("secrets2/x",)),
        ("src/keys/*", ("src/keys/a", "src/keys/a/b"), ("keys/a", "a/src/keys/b", "src/keys")),
        ("/top.txt", ("top.txt",), ("a/top.txt",)),
        ("**/vault", ("vault", "a/vault/x", "a/b/vault"), ("avault", "vaults")),
        ("**/a/b", ("a/b", "x/a/b", "x/y/a/b/c"), ("xa/b", "a/bc", "b")),
        ("a/**/b", ("a/b", "a/x/b", "a/x/y/b/c"), ("ab", "a/xb", "xa/b", "a")),
        ("a/**/b/**/c", ("a/b/c", "a/1/b/c", "a/b/2/c", "a/1/b/2/c"), ("a/c", "a/bc")),
        ("**/a/**/b", ("a/b", "x/a/y/b"), ("xa/b", "a/xb")),
        ("?.key", ("a.key", "x/b.key"), ("ab.key", ".key")),
        ("[ab].key", ("a.key", "x/b.key"), ("c.key",)),
        ("/home/me/private/*", ("/home/me/private/x",), ("/home/me/public", "private/x")),
        ("*", ("x", "a/b"), ()),
        ("naïve*", ("naïveté.md",), ("naive.md",)),
    ],
)
def test_a_glob_catches_a_name_or_a_path(
    glob: str, caught: tuple[str, ...], free: tuple[str, ...]
) -> None:
    assert [path for path in caught if matching_glob(path, ["zzz", glob]) != glob] == []
    assert [path for path in free if matching_glob(path, ["zzz", glob])] == []


pieces = st.text("ab.*", max_size=8)


@given(st.text("ab.", min_size=1, max_size=8), pieces)
@example("ab", "ab*b")
@example("aba", "ab*ba")
@example("a", "a**")
def test_a_star_is_what_it_is_everywhere(name: str, glob: str) -> None:
    assert bool(matching_glob(name, [glob])) == fnmatchcase(name, glob)


def test_a_path_is_told_as_the_space_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    top = str(root)
    monkeypatch.chdir(root / "a")
    assert paths.inside("x.md", top) == "a/x.md"
    assert paths.inside("../y.md", top) == "y.md"
    assert paths.inside(f"{top}/a/../b/z.md", top) == "b/z.md"
    assert paths.inside("../../out.md", top) == (tmp_path / "out.md").as_posix()
    assert paths.inside(f"{top}-2/x.md", top) == f"{root.as_posix()}-2/x.md"


def test_a_path_through_a_link_is_inside_too(tmp_path: Path) -> None:
    """As /tmp leads to /private/tmp on a Mac; a glob from the root must still catch it."""
    root = tmp_path / "root"
    (root / "secrets").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    assert paths.inside(f"{tmp_path}/link/secrets/x", str(root)) == "secrets/x"
    assert paths.inside(f"{root}/secrets/x", f"{tmp_path}/link") == "secrets/x"
    (root / "shortcut").symlink_to(tmp_path)
    assert paths.inside(f"{root}/shortcut/x", str(root)) == "shortcut/x"


def test_excluded_paths_are_not_captured_and_nothing_is_spooled(
    repo: Path, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo / "src")
    for path in (".env", "../.ssh/config", str(repo / "deep" / "server.pem")):
        with pytest.raises(Excluded):
            observe("secret", files=["fine.md", path])
    row, written = observe("fine", files=["plan.md"])
    assert written
    assert json.loads(str(row[13])) == ["src/plan.md"]
    assert contents_of(routed(data, repo).data) == ["fine"]
    assert not os.path.exists(os.path.join(data, "spool"))


def test_a_file_of_a_worktree_is_named_as_in_the_main_tree(tmp_path: Path) -> None:
    main, side = tmp_path / "main", tmp_path / "side"
    for words in (
        ("init", "-q", str(main)),
        ("-C", str(main), "config", "user.name", "a"),
        ("-C", str(main), "config", "user.email", "b"),
        ("-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"),
        ("-C", str(main), "worktree", "add", "-q", str(side)),
    ):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (side / "src").mkdir()
    row, written = observe("edited it", folder=str(side), files=[str(side / "src" / "a.py")])
    assert written
    assert '["src/a.py"]' in row
