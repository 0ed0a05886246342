"""Real repositories for tests: made by git itself, by people and at times that never change."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query
from properties.test_history import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

    Files = Mapping[Any, str | bytes | None]

EPOCH = 1_700_000_000
ALONE = {
    "GIT_CONFIG_GLOBAL": str(Path(__file__).parents[1] / "gitconfig"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file",
}
LINES = "".join(f"line {n} of it\n" for n in range(12))
"""Enough for git to know a file again after a small change."""


class Repository:
    """A repository in a folder; every commit is a minute after the one before."""

    def __init__(self, root: Path, *init: str) -> None:
        self.root, self.minutes = root, 0
        if init != ("existing",):
            root.mkdir(parents=True)
            self.git("init", "-q", "-b", "main", *init)

    def git(self, *words: str | bytes, data: bytes = b"", check: bool = True, **env: str) -> str:
        """What git prints, without the last line's end."""
        at = f"{EPOCH + 60 * self.minutes} +0000"
        who = {f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")}
        mail = {f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")}
        when = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        done = subprocess.run(
            ["git", "-C", os.fspath(self.root), *words],
            env={**os.environ, **ALONE, **who, **mail, **when, **env},
            input=data,
            capture_output=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode("utf-8", "backslashreplace").rstrip("\n")

    def copied(self, root: Path) -> Repository:
        """The same in another folder."""
        shutil.copytree(self.root, root, symlinks=True)
        copy = Repository(root, "existing")
        copy.minutes = self.minutes
        return copy

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def path(self, name: str | bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), os.fsencode(name))

    def put(self, files: Files) -> None:
        """Write files and stage them; None deletes one."""
        for name, content in files.items():
            full = self.path(name)
            if content is None:
                os.unlink(full)
            else:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "wb") as file:
                    file.write(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A")

    def commit(
        self, message: str | bytes = "change", files: Files | None = None, *flags: str, **env: str
    ) -> str:
        """A commit with its message byte by byte, even an empty one; its sha."""
        self.put(files or {})
        self.minutes += 1
        text = message.encode() if isinstance(message, str) else message
        options = ("--allow-empty", "--allow-empty-message", "--cleanup=verbatim", *flags)
        done = self.git("-c", "core.abbrev=no", "commit", *options, "-F", "-", data=text, **env)
        return re.findall(r" ([0-9a-f]{40,64})\] ", done)[0]

    def raw(self, message: bytes, when: str = f"{EPOCH} +0000") -> str:
        """A commit as git itself would not write it, on top of the head; its sha."""
        tree, parent = self.git("rev-parse", "HEAD^{tree}", "HEAD").split()
        who = f"Ada <ada@example.org> {when}"
        head = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n"
        words = ("hash-object", "--literally", "-t", "commit", "-w", "--stdin")
        sha = self.git(*words, data=head.encode() + message)
        self.git("update-ref", "HEAD", sha)
        return sha

    def rename(self, before: str, after: str, message: str = "rename") -> str:
        os.makedirs(os.path.dirname(self.path(after)), exist_ok=True)
        self.git("mv", before, after)
        return self.commit(message)

    def merge(self, *branches: str, message: str = "Merge", files: Files | None = None) -> str:
        """A merge commit; with files, one that also does what neither side did."""
        self.minutes += 1
        flags = ("--no-ff", "--no-commit") if files is not None else ("--no-ff", "-m", message)
        self.git("merge", "-q", *flags, *branches)
        return self.head if files is None else self.commit(message, files)

    def tree(self, ref: str = "HEAD") -> list[str]:
        """What git says is there at a commit."""
        return sorted(filter(None, self.git("ls-tree", "-rz", "--name-only", ref).split("\0")))

    def object(self, name: str) -> Path:
        """The file of a loose object."""
        sha = self.git("rev-parse", "--verify", name)
        return self.root / ".git" / "objects" / sha[:2] / sha[2:]


def clone(source: Path, root: Path, *flags: str) -> Repository:
    """A clone over the transport that remote ones use."""
    command = ["git", "clone", "-q", *flags, source.as_uri(), os.fspath(root)]
    subprocess.run(command, env={**os.environ, **ALONE}, check=True, capture_output=True)
    return Repository(root, "existing")


def opened(root: Path, home: Path | None = None, **settings: Any) -> Memory:
    """A memory without a model; a setting is given as git_exclude for git.exclude."""
    dotted = {key.replace("_", ".", 1): value for key, value in settings.items()}
    return Memory.open(root, home=home, settings={"index.embedding_provider": "none", **dotted})


def remembered(root: Path, home: Path | None = None, **settings: Any) -> Memory:
    """An open memory that is up to date."""
    memory = opened(root, home, **settings)
    memory.sync()
    return memory


def says(memory: Memory) -> dict[str, list[Any]]:
    """What the index says of files and history, by names and not by numbers."""
    output = dump(memory.core.reader.db)
    return {**output, "states": [row for row in output["states"] if row[0] != "journal"]}


def sync_source_files(memory: Memory) -> None:
    """Sync after questions about the history, which follow commits but read no files.

    Only the states of source files may change: the rest was up to date before.
    """
    followed = _without_symbols(says(memory))
    memory.sync()
    assert _without_symbols(says(memory)) == followed


def _without_symbols(output: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {**output, "states": [row for row in output["states"] if row[0] != "symbols"]}


def assert_as_built_anew(memory: Memory, **settings: Any) -> None:
    """An index that kept up equals one that another home builds from nothing."""
    memory.sync()
    with (
        tempfile.TemporaryDirectory() as home,
        remembered(Path(memory.space.root), Path(home), **settings) as anew,
    ):
        grown, built = says(memory), says(anew)
    for part, rows in built.items():
        assert grown[part] == rows, part


def found(memory: Memory, text: str, **filters: Any) -> list[str]:
    """The refs that a search by word finds, best first."""
    return [hit.record.ref for hit in memory.search(Query(text, mode="fulltext", **filters))]


def alive(memory: Memory) -> list[str]:
    """The paths that there are at the head, as the index has it."""
    return [record.path for record in memory.git.files(ignored=True)[0]]


def commits(memory: Memory) -> dict[str, str]:
    """The subject of every commit that is shown, by its sha."""
    return {
        record.ref.removeprefix("commit:"): record.title
        for record in memory.records.select(["commit"])
    }
