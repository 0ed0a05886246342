from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinen.sources.files.ignore import LARGEST, Ignore

if TYPE_CHECKING:
    from pathlib import Path

CASES = 30
NAMES = ("a", "b", "ab", "a.b", "b.a", "a b", "A1", "-")
WORDS = (
    *("a", "b", "ab", ".", "a.b", "*", "**", "***", "/", "?", "[ab]", "[!a]", "[^b]", "[a-b]"),
    *("\\", "\\a", "\\*", "\\/", " ", "!", "#", "[[:alpha:]]", "[[:digit:]-]", "[", "]", "-"),
    *("[]a]", "[b-a]", "[a/b]", "[[:nope:]]", "[[:a]", "**/", "/**", "*.b", "a*b", "\t"),
)


def written(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | plain
    command = ["git", "-c", "core.ignoreCase=false", "-c", "core.excludesFile=", *arguments]
    done = subprocess.run(
        command, cwd=root, env=environment, input=stdin, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_without_rules_only_the_works_of_tools_are_ignored(tmp_path: Path) -> None:
    ignore = Ignore(tmp_path)
    for name in (".git", ".kinen", ".venv", "node_modules", "__pycache__", ".obsidian"):
        assert ignore.ignored(name, directory=True)
        assert ignore.ignored(f"deep/{name}", directory=True)
        assert ignore.ignored(f"deep/{name}/notes/a.md", directory=False)
    for name in ("build", "dist", "target", "notes", ".memories", "out"):
        assert not ignore.ignored(name, directory=True)
        assert not ignore.ignored(f"{name}/a.md", directory=False)


def test_the_root_itself_is_never_ignored(tmp_path: Path) -> None:
    assert not Ignore(written(tmp_path, {".kinenignore": "*\n/\n"})).ignored("", directory=True)


def test_nested_rules_hold_for_their_folder_only(tmp_path: Path) -> None:
    ignore = Ignore(written(tmp_path, {"sub/.gitignore": "/top.md\n*.tmp\n", "a.tmp": ""}))
    assert ignore.ignored("sub/top.md", directory=False)
    assert ignore.ignored("sub/deep/x.tmp", directory=False)
    assert not ignore.ignored("sub/deep/top.md", directory=False)
    assert not ignore.ignored("a.tmp", directory=False)


def test_a_deeper_file_overrides_the_one_above(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {".gitignore": "*.log\n", "keep/.gitignore": "!*.log\n"}
    ignore = Ignore(written(tmp_path, files))
    assert ignore.ignored("a.log", directory=False)
    assert not ignore.ignored("keep/a.log", directory=False)


def test_kinenignore_brings_back_what_gitignore_hides(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        ".gitignore": "drafts/\n",
        "drafts/.gitignore": "*.md\n",
        ".kinenignore": "!drafts/\n!*.md\n",
    }
    ignore = Ignore(written(tmp_path, files))
    assert not ignore.ignored("drafts", directory=True)
    assert not ignore.ignored("drafts/a.md", directory=False)
    assert not ignore.ignored("drafts/a.txt", directory=False)


def test_kinenignore_brings_back_tools_but_not_stores(tmp_path: Path) -> None:
    ignore = Ignore(written(tmp_path, {".kinenignore": "!.vscode/\n!.git/\n"}))
    assert not ignore.ignored(".vscode/notes.md", directory=False)
    assert ignore.ignored(".git", directory=True)


def test_memory_folders_are_hidden_by_kinenignore_only(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        ".gitignore": ".memories/\nsessions/\n*.pdf\n*.md\n",
        ".memories/.gitignore": "*\n",
        ".kinenignore": "/sessions/private/\n",
    }
    ignore = Ignore(written(tmp_path, files))
    assert not ignore.ignored(".memories", directory=True)
    assert not ignore.ignored(".memories/2025/a.md", directory=False)
    assert not ignore.ignored("resources/a.pdf", directory=False)
    assert not ignore.ignored("artifacts/a.md", directory=False)
    assert ignore.ignored("sessions/private", directory=True)
    assert ignore.ignored("sessions/private/a.md", directory=False)
    assert ignore.ignored("elsewhere/sessions/a", directory=False)
    assert ignore.ignored("docs/a.pdf", directory=False)


def test_the_rules_of_a_clone_hold_in_its_worktrees_too(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "main/.git/info/exclude": "*.tmp\n",
        "main/.git/worktrees/w/commondir": "../..\n",
        "w/.git": "gitdir: ../main/.git/worktrees/w\n",
        "main/.gitignore": "!keep.tmp\n",
    }
    written(tmp_path, files)
    assert Ignore(tmp_path / "main").ignored("a.tmp", directory=False)
    assert not Ignore(tmp_path / "main").ignored("keep.tmp", directory=False)
    assert Ignore(tmp_path / "w").ignored("a.tmp", directory=False)


def test_rules_in_an_ignored_folder_are_not_read(tmp_path: Path) -> None:
    written(tmp_path, {".gitignore": "out/\n"})
    before = Ignore(tmp_path)
    assert before.ignored("out/a.md", directory=False)
    written(tmp_path, {"out/.kinenignore": "!*\n"})
    after = Ignore(tmp_path)
    assert after.ignored("out/a.md", directory=False)
    assert after.digest == before.digest


def test_the_digest_tells_whether_rules_changed(tmp_path: Path) -> None:
    def digest() -> str:
        ignore = Ignore(tmp_path)
        ignore.ignored("a/b/c.md", directory=False)
        return ignore.digest

    bare = digest()
    assert bare == digest()
    written(tmp_path, {"a/b/.gitignore": "x\n"})
    nested = digest()
    assert nested != bare
    written(tmp_path, {"a/b/.gitignore": "y\n"})
    assert digest() not in (bare, nested)
    (tmp_path / "a/b/.gitignore").rename(tmp_path / "a/.gitignore")
    assert digest() not in (bare, nested)


def test_rule_files_from_powershell_and_with_marks_are_understood(tmp_path: Path) -> None:
    utf16 = "drafts/\r\nsecret*\r\n".encode("utf-16")
    files = {".kinenignore": utf16, ".gitignore": b"\xef\xbb\xbfx.md\r\ny.md  \r\n"}
    ignore = Ignore(written(tmp_path, files))
    assert ignore.ignored("drafts", directory=True)
    assert ignore.ignored("secret plan.md", directory=False)
    assert ignore.ignored("x.md", directory=False)
    assert ignore.ignored("y.md", directory=False)


def test_bad_lines_are_passed_over(tmp_path: Path) -> None:
    content = b"\x00\x01\x02\n[\n[[:nope:]]\n\\\n!\n/\n\xff\xfe*.bin\ngood\n" + b"x" * 9999 + b"\n"
    ignore = Ignore(written(tmp_path, {".gitignore": content}))
    assert ignore.ignored("good", directory=False)
    assert not ignore.ignored("x" * 100, directory=False)
    assert not ignore.ignored("[", directory=False)


def test_a_folder_in_place_of_a_rule_file_is_no_rule_file(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").mkdir()
    assert not Ignore(tmp_path).ignored("a.md", directory=False)


@pytest.mark.skipif(sys.platform == "win32", reason="such names exist on POSIX only")
def test_names_that_are_no_text_can_be_ignored(tmp_path: Path) -> None:
    ignore = Ignore(written(tmp_path, {".gitignore": b"caf\xe9.md\n"}))
    assert ignore.ignored(os.fsdecode(b"caf\xe9.md"), directory=False)
    assert len(ignore.digest) == 64


def test_hostile_patterns_are_answered_at_once(tmp_path: Path) -> None:
    rules = "*a" * 40 + "b\n" + "**/a/" * 40 + "b\n" + "**/" * 60 + "b\n" + "a*/" * 40 + "b\n"
    ignore = Ignore(written(tmp_path, {".gitignore": rules}))
    assert not ignore.ignored("a" * 250, directory=False)
    assert not ignore.ignored("a/" * 120 + "c", directory=False)


def test_a_file_with_too_many_rules_is_skipped(tmp_path: Path) -> None:
    rules = b"a.md\n" * (LARGEST // 5)
    assert Ignore(written(tmp_path, {".gitignore": rules})).ignored("a.md", directory=False)
    rules += b"a.md\n"
    assert not Ignore(written(tmp_path, {".gitignore": rules})).ignored("a.md", directory=False)


@given(st.binary(max_size=300), st.text("ab/.*[]!\\ ", min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_rules(tmp_path: Path, content: bytes, path: str) -> None:
    (tmp_path / ".gitignore").write_bytes(content)
    Ignore(tmp_path).ignored(path.strip("/") or "a", directory=False)


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, bool]]]:
    """A repository with the same small tree under many folders, each to be given its own rules."""
    root = tmp_path_factory.mktemp("forest")
    git(root, "init", "-q")
    paths: list[tuple[str, bool]] = []
    for case in range(CASES):
        for first in NAMES:
            folder = f"{case}/{first}"
            paths.append((folder, True))
            for second in NAMES[:5]:
                leaf = second in NAMES[1:4]
                paths.append((f"{folder}/{second}", not leaf))
                if not leaf:
                    paths += [(f"{folder}/{second}/{third}", False) for third in NAMES[:4]]
    for path, directory in paths:
        if directory:
            (root / path).mkdir(parents=True)
        else:
            (root / path).touch()
    return root, paths


lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map("".join)
rule_files = st.lists(lines, max_size=5).map("\n".join)


@given(st.lists(st.tuples(rule_files, rule_files), min_size=CASES, max_size=CASES))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_verdicts_are_those_of_git(
    forest: tuple[Path, list[tuple[str, bool]]], rules: list[tuple[str, str]]
) -> None:
    root, paths = forest
    for case, (outer, inner) in enumerate(rules):
        written(root, {f"{case}/.gitignore": outer, f"{case}/a/.gitignore": inner})
    names = "\0".join(path for path, _ in paths).encode() + b"\0"
    theirs = set(git(root, "check-ignore", "-z", "--stdin", stdin=names).decode().split("\0"))
    ignore = Ignore(root)
    ours = {path for path, directory in paths if ignore.ignored(path, directory)}
    differing = sorted(ours ^ (theirs - {""}))
    assert not differing, [(path, rules[int(path.split("/")[0])]) for path in differing[:3]]
