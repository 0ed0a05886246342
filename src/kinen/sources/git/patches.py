"""Commits with the lines that they changed, read from git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kinen.recall.authorship import FilePatch, Patch
from kinen.space import gitcommand
from kinen.space.repository import Git

LONGEST = 100_000
"""Lines of one file in a commit that are compared; the rest of a generated file tells nothing."""
FORMAT = "--format=%x00%H%x00%at%x00%ct%x00%B%x00"
OPTIONS = ("-p", "-U0", "-M", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")


def patches(git: Git, revisions: Sequence[str], *options: str) -> Iterator[tuple[Patch, str]]:
    """Commits that `git log` lists for some arguments, each with its whole message."""
    import io

    process = gitcommand.start(git, "log", FORMAT, *OPTIONS, *options, *revisions, "--")
    assert process.stdout is not None
    try:
        stream = io.TextIOWrapper(process.stdout, "utf-8", "replace", newline="\n")
        yield from parse(stream)
    finally:
        gitcommand.stop(process)


def patch(git: Git, sha: str) -> tuple[Patch, str] | None:
    """One commit by its id; of a merge nothing but its message."""
    for commit in patches(git, [sha], "--no-walk"):
        return commit
    return None


def described(sha: str, data: bytes) -> tuple[Patch, str]:
    """A commit without its changes, from git's object, and its message."""
    head, _, body = data.partition(b"\n\n")
    times = {}
    encoding = "utf-8"
    for row in head.decode("utf-8", "replace").split("\n"):
        name, _, value = row.partition(" ")
        words = value.split()
        if name == "encoding":
            encoding = value
        elif name in ("author", "committer") and len(words) > 1 and words[-2].isdecimal():
            times[name] = int(words[-2]) * 1000
    try:
        message = body.decode(encoding, "replace").strip()
    except LookupError:
        message = body.decode("utf-8", "replace").strip()
    subject = message.partition("\n")[0]
    return Patch(sha, subject, times.get("author", 0), times.get("committer", 0), ()), message


def parse(lines: Iterable[str]) -> Iterator[tuple[Patch, str]]:
    """The commits in what `git log` prints with `FORMAT` and `OPTIONS`."""
    head = ""
    body: list[str] = []
    for line in lines:
        if line.startswith("\0") or (head and head.count("\0") < 5):
            if head.count("\0") >= 5:
                yield _commit(head, body)
                head = ""
                body = []
            head += line
        else:
            body.append(line.rstrip("\n"))
    if head.count("\0") >= 5:
        yield _commit(head, body)


def _commit(head: str, body: list[str]) -> tuple[Patch, str]:
    _, sha, authored, committed, message, _ = head.split("\0", 5)
    times = int(authored) * 1000, int(committed) * 1000
    subject = message.strip().partition("\n")[0]
    return Patch(sha, subject, *times, tuple(file_patches(body))), message.strip()


def file_patches(lines: Iterable[str]) -> Iterator[FilePatch]:
    """The files of a diff without context."""
    file = _File()
    for line in lines:
        if file.takes(line):
            continue
        if line.startswith("diff --git "):
            if file.path:
                yield file.patch()
            file = _File()
        else:
            file.read_header(line)
    if file.path:
        yield file.patch()


class _File:
    """A file of a diff while it is read."""

    def __init__(self) -> None:
        self.path = ""
        self._before = ""
        self._added: list[str] = []
        self._removed: list[str] = []
        self._left = 0
        """Lines that the hunk still removes."""
        self._right = 0

    def patch(self) -> FilePatch:
        return FilePatch(self.path, tuple(self._added), tuple(self._removed), self._before)

    def takes(self, line: str) -> bool:
        """Whether a line belongs to a hunk; inside one a line may look like a header."""
        if self._left > 0 and line.startswith("-"):
            self._left -= 1
            lines = self._removed
        elif self._right > 0 and line.startswith("+"):
            self._right -= 1
            lines = self._added
        else:
            return False
        if len(lines) < LONGEST:
            lines.append(line[1:])
        return True

    def read_header(self, line: str) -> None:
        if line.startswith("@@ "):
            # How many lines a hunk removes and adds: `@@ -12,0 +13,2 @@`.
            words = line.split(" ", 3)
            sizes = (word.partition(",")[2] or "1" for word in words[1:3])
            self._left, self._right = (int(size) if size.isdecimal() else 0 for size in sizes)
        elif line.startswith("rename from "):
            self._before = unquoted(line[len("rename from ") :])
        elif line.startswith("rename to "):
            self.path = unquoted(line[len("rename to ") :])
        elif line.startswith(("--- ", "+++ ")) and not line.endswith(" /dev/null"):
            self.path = _name(line) if line[0] == "+" else self.path or _name(line)


def unquoted(name: str) -> str:
    """A path as git prints it, which quotes those with unusual characters."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = name[1:-1].encode("ascii", "backslashreplace").decode("unicode_escape", "replace")
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")


def _name(line: str) -> str:
    """The path of a line `+++ b/path`; git ends one with blanks in it by a tab."""
    return unquoted(line[4:].removesuffix("\t"))[2:]
