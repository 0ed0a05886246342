"""Which session wrote a commit: a ladder of evidence, each step with how certain it is.

Pure functions. What sessions did comes as `Work`, made of the events of a journal or a transcript;
a commit comes as `Patch`. Lines are compared by their content, so that a commit which was rebased,
squashed, cherry-picked or amended keeps its sessions. docs/decisions/0033-traces.md has the rules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    from kinen.agents.transcripts.session import Event
    from kinen.model.journal import Observation

    Happened: TypeAlias = Observation | Event
    """An event of a session, from the journal or from a transcript."""

TRACE = "trace"
"""A trace names the session: a trailer, a note or a record."""
SEEN = "seen"
"""The commit was made by a command of the session."""
CONTENT = "content"
"""The edits of the session are the diff of the commit."""
LINES = "lines"
"""Most lines of the diff are edits of the session."""
FITS = "fits"
"""Time, branch and paths fit."""
STEPS = (TRACE, SEEN, CONTENT, LINES, FITS)
CERTAIN = frozenset((TRACE, SEEN, CONTENT))
"""Steps that leave no doubt, unless another session has as much to show."""

MINUTE = 60_000
SLACK = 2 * MINUTE
"""Clocks and hooks: an edit may be recorded shortly after the commit that has it."""
REMEMBERED = 5 * MINUTE
"""How far the date of a rewritten commit is from the command that made the first of it."""
AROUND = 60 * MINUTE
"""How long after its last event a session can still be the reason for a commit."""
DISTINCTIVE = 24
"""Characters of a line that is known by itself, whatever the file is called."""
MOST = 0.5
"""The share of a diff that is most of it."""
SHORTEST = 4
"""Characters of a line that tells something; `}` is in every file."""
PART = 5
"""Lines that make a session one of several which wrote a commit together."""

_COMMITTED = re.compile(r"(?m)^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ([^\n]+)$")
"""What git prints for a commit: `[main 1a2b3c4] subject`."""
_WORD = re.compile(r"[\w@.+/-]+")
SUFFIX = 12
"""Characters of the longest suffix of a file."""
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")
_CUT = "…"
"""Ends a text of which the rest was not kept."""


class Edit(NamedTuple):
    """What one use of a tool changed in one file."""

    path: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    ts: int
    id: str
    """Of the event."""
    cut: bool = False
    """Whether only its beginning is known."""


class OwnCommit(NamedTuple):
    """A commit that a command of a session made, as git printed it."""

    sha: str
    subject: str
    ts: int


class Work(NamedTuple):
    """What a session did, as far as commits can show it."""

    session: str
    agent: str = ""
    edits: tuple[Edit, ...] = ()
    commits: tuple[OwnCommit, ...] = ()
    times: tuple[int, ...] = ()
    """Of its events, in order."""
    branches: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    """All files that its tools worked on."""


class Patch(NamedTuple):
    """A commit with its lines. Times are epoch milliseconds."""

    sha: str
    subject: str
    authored: int
    committed: int
    files: tuple[FilePatch, ...]
    traced: tuple[str, ...] = ()
    """Sessions that traces name for it."""
    branches: frozenset[str] = frozenset()
    """Those it is known to have been made on; none if unknown."""


class FilePatch(NamedTuple):
    """What a commit changed in one file."""

    path: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    before: str = ""
    """Its former path, if it was renamed."""


class Author(NamedTuple):
    """A session that wrote a commit, or may have, and how that is known."""

    session: str
    step: str
    """One of `STEPS`."""
    lines: int = 0
    """Lines of the diff that it wrote or removed last."""
    total: int = 0
    """Lines of the diff that tell something."""
    edits: tuple[str, ...] = ()
    """Ids of the events that changed these lines, in order."""
    certain: bool = False
    """Whether nothing speaks against it."""

    @property
    def share(self) -> float:
        return self.lines / self.total if self.total else 0.0


Key = tuple[str, str]
"""A sign, `+` or `-`, and a line without differences of white space."""


def normal(line: str) -> str:
    """A line without differences of white space, so that it survives formatting."""
    return " ".join(line.split())


def telling(lines: Iterable[str]) -> list[str]:
    """The lines that tell something, in their normal form."""
    normals = map(normal, lines)
    return [
        line for line in normals if len(line) >= SHORTEST and any(char.isalnum() for char in line)
    ]


def work(session: str, agent: str, events: Iterable[Happened]) -> Work:
    """What a session did; its events come in order."""
    edits: list[Edit] = []
    commits: list[OwnCommit] = []
    times: list[int] = []
    branches: set[str] = set()
    paths: set[str] = set()
    for event in events:
        times.append(event.ts)
        paths.update(event.files)
        if event.branch:
            branches.add(event.branch)
        if event.kind == "file_diff":
            edits += edits_of(event)
        elif event.kind == "command":
            words = _WORD.findall(event.content.partition("\n")[0][:2000])
            paths.update(filter(_is_path, (word.rstrip("./+-") for word in words)))
            printed = _COMMITTED.findall(event.content[:20_000])
            commits += [OwnCommit(sha, normal(subject), event.ts) for sha, subject in printed]
    return Work(
        session,
        agent,
        tuple(edits),
        tuple(commits),
        tuple(sorted(times)),
        frozenset(branches),
        frozenset(paths),
    )


def _is_path(word: str) -> bool:
    """Does a word of a command look like the path of a file?"""
    _, dot, suffix = word.rpartition(".")
    return bool(dot) and 0 < len(suffix) <= SUFFIX and "/" not in suffix


def edits_of(event: Happened) -> Iterator[Edit]:
    """The edits that an event tells of, one for each file of a patch."""
    path = event.files[0] if event.files else ""
    moved = dict(zip(_patched(event.content), event.files, strict=False))
    added: list[str] = []
    removed: list[str] = []
    cut = event.content.endswith(_CUT)
    for line in event.content.splitlines():
        header = _PATCHED.match(line)
        if header:
            if added or removed:
                yield Edit(path, tuple(added), tuple(removed), event.ts, event.id, cut)
            added = []
            removed = []
            name = (header[1] or header[2]).strip()
            path = moved.get(name, name)
        elif line.startswith("+") and not line.startswith("+++ "):
            added.append(line[1:])
        elif line.startswith("-") and not line.startswith("--- "):
            removed.append(line[1:])
    if added or removed:
        yield Edit(path, tuple(added), tuple(removed), event.ts, event.id, cut)


def _patched(text: str) -> list[str]:
    """The files that a patch names, as it names them."""
    printed = (_PATCHED.match(line) for line in text.splitlines())
    return [match[1].strip() for match in printed if match and match[1]]


class Ledger:
    """The lines of many sessions, to ask for the authors of many commits."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._works = {item.session: item for item in works}
        self._entries: dict[Key, list[Entry]] = {}
        """The edits that have a line, in order of time."""
        for item in self._works.values():
            for edit in item.edits:
                for sign, lines in (("+", edit.added), ("-", edit.removed)):
                    for line in set(telling(lines)):
                        entry = Entry(edit.ts, item.session, edit.path, edit.id)
                        self._entries.setdefault((sign, line), []).append(entry)
        for entries in self._entries.values():
            entries.sort()

    def authors(self, patch: Patch) -> list[Author]:
        """The sessions of a commit, the most certain first; none if nothing is known."""
        owned: Counter[str] = Counter()
        events: dict[str, dict[str, int]] = {}
        whole: set[str] | None = None
        total = 0
        for file, lines in changed_lines(patch):
            for key, count in lines.items():
                total += count
                entries = self._before(key, file, patch)
                entry = _last(entries, patch)
                if entry:
                    owned[entry.session] += count
                    events.setdefault(entry.session, {})[entry.id] = entry.ts
                having = {entry.session for entry in entries if same_file(entry.path, file)}
                whole = having if whole is None else whole & having
        seen = {item.session for item in self._works.values() if has_made(item, patch)}
        fitting = {item.session for item in self._works.values() if fits(item, patch)}
        most = max(owned.values(), default=0)
        authors = []
        for session in {*patch.traced, *owned, *seen, *fitting}:
            lines_of = owned[session]
            many = lines_of >= MOST * total or lines_of >= PART <= owned.total() >= MOST * total
            if session in patch.traced:
                step = TRACE
            elif session in seen:
                step = SEEN
            elif whole and session in whole:
                step = CONTENT
            else:
                step = LINES if lines_of and many else FITS
            # Of two sessions with the same edits one is it, and a session may commit what another
            # wrote: nobody knows which.
            doubtful = (step == CONTENT and len(whole or ()) > 1) or lines_of < most
            certain = step == TRACE or (step in CERTAIN and not doubtful)
            times = events.get(session, {})
            edits = tuple(sorted(times, key=lambda id_: (times[id_], id_)))
            authors.append(Author(session, step, lines_of, total, edits, certain))
        return sorted(authors, key=lambda author: self._rank(patch, author))

    def _rank(self, patch: Patch, author: Author) -> tuple[int, int, int, str]:
        item = self._works.get(author.session)
        gap = _gap(item.times, patch.authored) if item else 0
        return STEPS.index(author.step), -author.lines, gap, author.session

    def _before(self, key: Key, file: FilePatch, patch: Patch) -> list[Entry]:
        """The edits that can have brought a line into a commit: those of the file, if any is.

        A line that is known by itself may have come from a file that was moved since.
        """
        entries = [
            entry for entry in self._entries.get(key, ()) if entry.ts <= patch.committed + SLACK
        ]
        near = [entry for entry in entries if same_file(entry.path, file)]
        return near or (entries if len(key[1]) >= DISTINCTIVE else [])


class Entry(NamedTuple):
    """An edit that has a certain line."""

    ts: int
    session: str
    path: str
    id: str


def _last(entries: list[Entry], patch: Patch) -> Entry | None:
    """The last edit before a commit was written; else the first before it was rewritten."""
    before = [entry for entry in entries if entry.ts <= patch.authored + SLACK]
    return before[-1] if before else entries[0] if entries else None


def has_made(item: Work, patch: Patch) -> bool:
    """Whether a command of a session made a commit, or the one that it was rewritten from."""
    return any(
        patch.sha.startswith(commit.sha)
        or (
            commit.subject == normal(patch.subject)
            and abs(commit.ts - patch.authored) <= REMEMBERED
        )
        for commit in item.commits
    )


def fits(item: Work, patch: Patch) -> bool:
    """Whether time, branch and paths of a session fit a commit; an unknown branch fits."""
    if not item.times or not patch.files:
        return False
    if not item.times[0] <= patch.authored + SLACK <= item.times[-1] + AROUND:
        return False
    if patch.branches and item.branches and not patch.branches & item.branches:
        return False
    by_name: dict[str, list[str]] = {}
    for path in item.paths:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    touched = 0
    for file in patch.files:
        names = {path.rpartition("/")[2] for path in (file.path, file.before) if path}
        near = [path for name in names for path in by_name.get(name, ())]
        touched += any(same_file(path, file) for path in near)
    return touched >= MOST * len(patch.files)


def same_file(path: str, file: FilePatch) -> bool:
    """Whether an edit's path is that of a file of a commit; it may begin with a worktree."""
    names = (file.path, file.before) if file.before else (file.path,)
    return any(path == name or path.endswith(f"/{name}") for name in names)


def changed_lines(patch: Patch) -> Iterator[tuple[FilePatch, dict[Key, int]]]:
    """The lines of a commit that tell something, file by file, with how often they are there.

    A line that was only moved or formatted is in both, and nobody wrote it.
    """
    for file in patch.files:
        added = Counter(telling(file.added))
        removed = Counter(telling(file.removed))
        lines = {("+", line): count for line, count in (added - removed).items()}
        yield file, lines | {("-", line): count for line, count in (removed - added).items()}


def _gap(times: tuple[int, ...], at: int) -> int:
    """How long before a moment the last event was; after the end of all if there was none."""
    place = bisect_right(times, at + SLACK)
    return abs(at - times[place - 1]) if place else 1 << 60
