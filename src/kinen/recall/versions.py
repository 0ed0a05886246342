"""The versions of a file that edits in sessions replaced, rebuilt from what is known of it.

Pure functions. What is known is the file as it is, the file at commits, and the edits of sessions.
An edit is undone in the text after it, or made in the text before it, where it fits in one place
only. A version that is reached both ways and differs is not known, and neither is one next to an
edit of which only a part was kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    from kinen.recall.authorship import Happened

WRITERS = frozenset("Write write write_file write_to_file create create_file".split())
"""Tools that write a whole file."""
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")
_LOST = re.compile(r"\[masked:|\[private\]|\[cut: the rest\]|(?m:^…$)|…\Z")
"""What stands for text that was not kept."""


class Hunk(NamedTuple):
    """Lines that an edit replaced by others; with the lines around them, where these are known."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    old_line: int = 0
    """The number of its first line before the edit; 0 if that is unknown."""
    new_line: int = 0


class Step(NamedTuple):
    """An edit of one file in a session."""

    id: str
    ts: int
    hunks: tuple[Hunk, ...]
    whole: bool = False
    """Whether it wrote the whole file: its only hunk has all of it."""
    complete: bool = True
    """Whether all of the edit was kept, without a mask."""


class State(NamedTuple):
    """A file as a commit has it."""

    ts: int
    text: str
    commit: str


class Version(NamedTuple):
    """What an edit replaced."""

    step: Step
    text: str | None
    """The whole file before the edit; None if it cannot be rebuilt."""
    passage: str
    """The lines that the edit replaced, as far as they were kept."""
    commit: str = ""
    """A commit that has the same file."""


def steps(event: Happened) -> Iterator[tuple[str, Step]]:
    """The edits that an event has, each with its path; a patch may be of several files."""
    tool = str(event.provenance.get("toolName", ""))
    complete = not _LOST.search(event.content)
    headings = [match[2].strip() for match in map(_FILE.match, _lines(event.content)) if match]
    placed = dict(zip(headings, event.files, strict=False))
    path = event.files[0] if event.files else ""
    whole = tool in WRITERS
    rows: list[str] = []
    for line in _lines(event.content):
        header = _FILE.match(line)
        if header is None:
            rows.append(line)
            continue
        if rows:
            yield from _step(path, rows, event, whole=whole, complete=complete)
        rows = []
        if header[2]:
            path = placed.get(header[2].strip(), header[2].strip())
            whole = header[1] == "Add"
        else:  # the edits below are of the file by its former name
            whole = False
    yield from _step(path, rows, event, whole=whole, complete=complete)


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _step(
    path: str, rows: list[str], event: Happened, *, whole: bool, complete: bool
) -> Iterator[tuple[str, Step]]:
    hunks = tuple(hunks_of(rows))
    if hunks:
        alone = whole and len(hunks) == 1 and not hunks[0].old and not hunks[0].new_line
        yield path, Step(event.id, event.ts, hunks, alone, complete)


def hunks_of(rows: Sequence[str]) -> Iterator[Hunk]:
    """The hunks of a diff: with or without numbers, and with or without lines around."""
    old: list[str] = []
    new: list[str] = []
    place = (0, 0)
    before = ""
    for number, row in enumerate(rows):
        sign = row[:1]
        # Whether a line of a diff is `--- a/path` or `+++ b/path`; a removed line may look like
        # it.
        first = number - rows[number].startswith("+++ ")
        signs = ("--- ", "+++ ", "@@")
        head = rows[max(0, first) : first + 3]
        if len(head) == 3 and all(map(str.startswith, head, signs)):
            continue
        # Without lines between them, a removed line after an added one begins another edit.
        if row.startswith("@@") or (sign == "-" and before == "+"):
            if old != new:
                yield Hunk(tuple(old), tuple(new), *place)
            old = []
            new = []
            hunk = _HUNK.match(row)
            place = (int(hunk[1]), int(hunk[2])) if hunk else (0, 0)
        if sign in ("-", " "):
            old.append(row[1:])
        if sign in ("+", " "):
            new.append(row[1:])
        before = sign
    if old != new:
        yield Hunk(tuple(old), tuple(new), *place)


def undo(text: str | None, hunks: Sequence[Hunk]) -> str | None:
    """The text before an edit, from the one after it; None where it does not fit in one place."""
    for hunk in reversed(hunks):
        text = _replaced(text, hunk.new, hunk.old, hunk.new_line)
    return text


def redo(text: str | None, hunks: Sequence[Hunk]) -> str | None:
    """The text after an edit, from the one before it; None where it does not fit in one place."""
    numbered = all(hunk.old_line for hunk in hunks)
    for hunk in reversed(hunks) if numbered else hunks:
        text = _replaced(text, hunk.old, hunk.new, hunk.old_line)
    return text


def _replaced(text: str | None, old: Sequence[str], new: Sequence[str], line: int) -> str | None:
    if text is None:
        return None
    replaced = _replaced_lines(text, old, new, line)
    if replaced is None and "\n  " not in f"\n{text}":
        # Claude Code tells of a tab at the beginning of a line as two spaces. In a file where no
        # line begins with these they can be nothing else.
        replaced = _replaced_lines(text, [*map(_tabbed, old)], [*map(_tabbed, new)], line)
    return replaced


def _tabbed(line: str) -> str:
    rest = line.lstrip(" ")
    tabs, spaces = divmod(len(line) - len(rest), 2)
    return "\t" * tabs + " " * spaces + rest


def _replaced_lines(text: str, old: Sequence[str], new: Sequence[str], line: int) -> str | None:
    lines = text.split("\n")
    if line and old:  # elsewhere it would be in another text
        end = line - 1 + len(old)
        fits = lines[line - 1 : end] == list(old)
        return "\n".join([*lines[: line - 1], *new, *lines[end:]]) if fits else None
    passage = "\n".join(old)
    # Where one side is empty nobody knows whether the end of the line belongs to it.
    if not passage or not new or text.count(passage) != 1:
        return None
    return text.replace(passage, "\n".join(new))


def versions(edits: Iterable[Step], states: Iterable[State], now: str | None) -> list[Version]:
    """What each edit of a file replaced, the latest first, each text once."""
    anchors = list(states)
    moments: list[Step | State] = [*anchors, *edits]
    moments.sort(key=lambda moment: moment.ts)
    forward, unsure = _forward(moments)
    backward, unsure_back = _backward(moments, now)
    commits = {state.text: state.commit for state in anchors}
    seen = {now}
    rebuilt = []
    for place, step in reversed([*enumerate(moments)]):
        if isinstance(step, State):
            continue
        before = forward[place]
        after = backward[place]
        passage = "\n".join("\n".join(hunk.old) for hunk in step.hunks if hunk.old)
        text = before if before == after else None
        if before is None or after is None:
            doubt = place in (unsure_back if before is None else unsure)
            text = None if doubt else after if before is None else before
        if (text is None and passage) or (text is not None and text not in seen):
            rebuilt.append(Version(step, text, passage, commits.get(text or "", "")))
            seen.add(text)
    return rebuilt


def _forward(moments: Sequence[Step | State]) -> tuple[list[str | None], set[int]]:
    """The text before each moment, from what was known earlier; an edit has to fit it.

    Also the moments whose text is unsure: something known later, an edit that does not fit or a
    commit with another text, shows that the file was changed otherwise since the last that is sure.
    """
    texts: list[str | None] = []
    unsure: set[int] = set()
    run: list[int] = []
    text: str | None = None
    for place, moment in enumerate(moments):
        before = text
        if isinstance(moment, State):
            after: str | None = moment.text
            fits = before is None or _bare(before) == _bare(moment.text)
        elif moment.whole or not moment.complete:
            after = "\n".join([*moment.hunks[0].new, ""]) if moment.complete else None
            fits = True
        else:
            after = redo(before, moment.hunks)
            fits = after is not None or before is None
        run.append(place)
        if not fits:
            unsure.update(run)
        if not fits or isinstance(moment, State) or moment.whole or after is None:
            run = []
        texts.append(before if fits else None)
        text = after
    return texts, unsure


def _backward(
    moments: Sequence[Step | State], now: str | None
) -> tuple[list[str | None], set[int]]:
    """The same from what was known later."""
    texts: list[str | None] = []
    unsure: set[int] = set()
    run: list[int] = []
    text = now
    for place, moment in reversed([*enumerate(moments)]):
        after = text
        if isinstance(moment, State):
            text = moment.text
            fits = after is None or _bare(after) == _bare(moment.text)
        elif moment.whole or not moment.complete:
            text = None
            fits = True
        else:
            text = undo(after, moment.hunks)
            fits = text is not None or after is None
        if not fits:
            unsure.update(run)
        if not fits or isinstance(moment, State) or text is None:
            run = []
        run.append(place)
        texts.append(text)
    return texts[::-1], unsure


def _bare(text: str) -> str:
    """A text without white space: a formatter runs at many commits, and does not make it unsure."""
    return "".join(text.split())
