"""Commits with the lines that they changed, read from git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kinen.recall.authorship import FilePatch, Patch
from kinen.space import gitcommand
from kinen.space.repository import Git

LONGEST = 100_000
"""Lines of one file in a commit that are compared; the rest of a generated file tells nothing."""
FORMAT = "--format=%x00%H%x00%at%x00%ct%x00%B%x00"
OPTIONS = ("-p", "-U0", "-M", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")


def patch(git: Git, sha: str) -> tuple[Patch, str] | None:
    """A commit with its whole message; of a merge nothing else.

    Files of which a partial clone has no contents are left out. None if git cannot read it.
    """
    words = ("log", FORMAT, "--no-walk", sha, *OPTIONS, "--")
    result = gitcommand.run(git, *words)
    output = result.stdout.decode("utf-8", "replace")
    if result.returncode:
        others = (f":(exclude,literal){path}" for path in missing(git, sha))
        head = gitcommand.text(git, "log", FORMAT, "--no-walk", "--no-patch", sha, "--")
        output = head + gitcommand.text(git, *words, *others).rpartition("\0")[2]
    if output.count("\0") < 5:
        return None
    _, sha, authored, committed, message, diff = output.split("\0", 5)
    times = int(authored) * 1000, int(committed) * 1000
    message = message.strip()
    subject = message.partition("\n")[0]
    return Patch(sha, subject, *times, tuple(file_patches(diff.split("\n")))), message


def missing(git: Git, sha: str) -> list[str]:
    """The files changed by a commit whose contents, before or after it, are not in the clone."""
    listed = ("--objects", "--missing=print", "--no-walk", sha, f"{sha}^@", "--")
    objects = {
        row[1:] for row in gitcommand.text(git, "rev-list", *listed).split("\n") if row[:1] == "?"
    }
    rows = gitcommand.text(git, "diff-tree", "-r", "-z", "--root", "--no-renames", sha, "--")
    fields = rows.split("\0")[1:]
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return [path for about, path in pairs if objects.intersection(about.split()[2:4])]


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
