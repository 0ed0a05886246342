"""Which commit a line comes from, through renames, moves and reformatting, and what was before it.

git compares commits only: no file of the working tree is read, and so no filter is run.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from kinen.errors import GitError, UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.recall.authorship import normal
from kinen.sources.git.patches import unquoted
from kinen.space import gitcommand
from kinen.space.repository import Git
from kinen.storage import inside, regular

IGNORED = ".git-blame-ignore-revs"
"""The usual name of a list of commits that only format."""
LIST = 1 << 20
"""Bytes of such a list."""
MANY = 500
"""Commits of such a list that are used."""
ALIKE = 0.4
"""How much of a line has to be left for it to be the same line, changed."""
COMPARED = 20_000
"""Lines between the first and the last difference that are compared one by one."""
_SHA = re.compile(rb"(?m)^[ \t]*([0-9a-f]{40})\b")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Blamed(NamedTuple):
    """A line and the commit that it comes from."""

    line: int
    text: str
    sha: str
    path: str
    """The file's path in that commit."""
    original: int
    """The number of the line there."""
    at: int
    """Epoch seconds of its author date."""
    author: str
    previous: str = ""
    """The commit before it that has the file; empty if the file was made in it."""
    before: str = ""
    """The file's path in the commit before it."""
    boundary: bool = False
    """Whether the history is cut there."""


def blame(
    git: Git,
    path: str,
    lines: tuple[int, int] | None,
    at: str,
    ignored: Sequence[str] = (),
    *,
    copies: bool = True,
) -> list[Blamed]:
    """Lines of a file at a commit, each with where it comes from. Raises GitError.

    For some lines this may be another file, if `copies`.
    """
    words = ["--porcelain", "-w", "-M"]
    if lines:
        words += [*(["-C"] if copies else []), "-L", f"{lines[0]},{lines[1]}"]
    for sha in ignored:
        words += ["--ignore-rev", sha]
    try:
        output = gitcommand.output(git, "blame", *words, at, "--", path)
    except GitError as error:
        if not git.partial:
            raise
        fact = "the clone is partial, and git cannot follow the lines"
        raise GitError(fact, f"`git blame {path}` gets what is missing") from error
    return list(parse(output.decode("utf-8", "replace")))


def parse(output: str) -> Iterator[Blamed]:
    """The lines that `git blame --porcelain` prints; a commit is described once."""
    commits: dict[str, dict[str, str]] = {}
    sha = ""
    original = final = 0
    for row in output.split("\n"):
        if row.startswith("\t"):
            about = commits[sha]
            previous, _, before = about.get("previous", "").partition(" ")
            seconds = about.get("author-time", "0")
            yield Blamed(
                line=final,
                text=row[1:].removesuffix("\r"),
                sha=sha,
                path=unquoted(about.get("filename", "")),
                original=original,
                at=int(seconds) if seconds.isdecimal() else 0,
                author=about.get("author", ""),
                previous=previous,
                before=unquoted(before),
                boundary="boundary" in about,
            )
            continue
        name, _, value = row.partition(" ")
        if re.fullmatch(r"[0-9a-f]{40,64}", name):
            sha = name
            numbers = value.split()
            original = int(numbers[0])
            final = int(numbers[1])
            commits.setdefault(sha, {})
        elif name and sha:
            commits[sha][name] = value


def ignored_commits(git: Git) -> list[str]:
    """Commits that blame passes over: those of `blame.ignoreRevsFile` and of the usual list."""
    traced = gitcommand.setting(git, "blame.ignoreRevsFile", "path")
    shas: dict[str, None] = {}
    for name in filter(None, (traced, IGNORED)):
        try:
            data = (
                regular.read(name, LIST)
                if name.startswith("/")
                else inside.read(git.top, name, LIST)
            )
        except (OSError, UnsafeFile):
            continue
        shas.update(dict.fromkeys(sha.decode() for sha in _SHA.findall(data)))
    if not shas:
        return []
    listed = ("--no-walk", "--ignore-missing", *list(shas)[:MANY])
    return gitcommand.text(git, "rev-list", *listed, "--").split()


def evolution(git: Git, line: Blamed, most: int, ignored: Sequence[str] = ()) -> list[Blamed]:
    """What a line was before its commit, and before that, the latest first."""
    earlier: list[Blamed] = []
    while line.previous and len(earlier) < most:
        place = line_before(git, line)
        if not place:
            break
        try:
            rows = blame(git, line.before, (place, place), line.previous, ignored)
        except GitError:
            break  # an object is missing: what is known stays
        if not rows or rows[0].sha == line.sha:
            break
        line = rows[0]
        earlier.append(line)
    return earlier


def line_before(git: Git, line: Blamed) -> int:
    """The number of the line that a commit changed into this one; 0 if it was new."""
    names = dict.fromkeys((line.before, line.path))
    words = ("-p", "-U0", "-M", "-w", "--no-color", line.previous, line.sha, "--", *names)
    return place_before(gitcommand.text(git, "diff-tree", *words), line.original, line.text)


def place_before(diff: str, number: int, text: str) -> int:
    """The removed line of a diff that a line of it replaced: of its hunk the most similar one."""
    removed: list[str] = []
    first = 0
    inside_hunk = False
    for row in diff.split("\n"):
        hunk = _HUNK.match(row)
        if hunk:
            if inside_hunk:
                break
            start = int(hunk[3])
            size = int(hunk[4] or 1)
            inside_hunk = start <= number < start + size
            first = int(hunk[1])
        elif inside_hunk and row.startswith("-"):
            removed.append(row[1:])
    target = normal(text)
    scores = [
        SequenceMatcher(None, normal(row), target, autojunk=False).ratio() for row in removed[:200]
    ]
    best = max(scores, default=0.0)
    return first + scores.index(best) if best >= ALIKE else 0


def committed_lines(now: Sequence[str], then: Sequence[str]) -> dict[int, int]:
    """The number in a commit of each line of a file that it has; the others are not committed.

    Numbers begin at 1. Of a long file with differences far apart, lines that are there once count.
    """
    start = 0
    while start < min(len(now), len(then)) and now[start] == then[start]:
        start += 1
    end = 0
    while end < min(len(now), len(then)) - start and now[-1 - end] == then[-1 - end]:
        end += 1
    places = {n + 1: n + 1 for n in range(start)}
    places |= {len(now) - n: len(then) - n for n in range(end)}
    middle = now[start : len(now) - end]
    other = then[start : len(then) - end]
    if max(len(middle), len(other)) <= COMPARED:
        for a, b, size in SequenceMatcher(None, middle, other).get_matching_blocks():
            places |= {start + a + n + 1: start + b + n + 1 for n in range(size)}
    else:
        places |= {start + a + 1: start + b + 1 for a, b in _unique_pairs(middle, other)}
    return places


def _unique_pairs(now: Sequence[str], then: Sequence[str]) -> list[tuple[int, int]]:
    """The places of lines that both texts have once, as many as keep their order."""
    counts = Counter(now)
    others = Counter(then)
    where = {line: n for n, line in enumerate(then)}
    pairs = [
        (n, where[line])
        for n, line in enumerate(now)
        if counts[line] == 1 and others.get(line) == 1
    ]
    ends: list[int] = []
    lengths: list[int] = []
    for _, place in pairs:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
        lengths.append(at)
    kept: list[tuple[int, int]] = []
    target = len(ends) - 1
    for pair, length in zip(reversed(pairs), reversed(lengths), strict=True):
        if length == target and (not kept or pair[1] < kept[-1][1]):
            kept.append(pair)
            target -= 1
    return kept
