"""The passage to show for a match: the fewest lines that make sense by themselves.

Search matches small units. A reader wants the section around the match if it is short, else the
lead-in with its list or code, else the neighbouring blocks, all within a limit of tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kinen.text import QUARTERS
from kinen.text import weight as weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 400
"""Tokens of a passage: a lead-in with its list or code up to here is shown whole."""
SHORT = 2
"""A section is short, and neighbours are added, up to the limit divided by this."""
LEAD = 2
"""A lead-in above distant lines of its list takes at most half of what the match leaves."""

_HEADING = re.compile(r"\s{0,3}#{1,6}(\s|$)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_DELIMITER = re.compile(r"\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+(?:\|\s*+)?$")
_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_BOLD = re.compile(r"(?:\*\*(?:(?!\*\*).)+\*\*|__(?:(?!__).)+__)[.:]?")
_CLOSING_MARKS = "*_` \t)"


class Block(NamedTuple):
    """Lines `start` to `end` (exclusive) that belong together, and what they are."""

    kind: str
    """`heading`, `rule`, `list`, `fence`, `table` or `text`."""
    start: int
    end: int


def is_lead_in(text: str) -> bool:
    """Does a block only introduce what follows: does it end in a colon, or is it all bold?"""
    stripped = text.strip()
    if not stripped:
        return False
    lines = stripped.splitlines()
    if lines[-1].rstrip(_CLOSING_MARKS).endswith((":", "：")):
        return not _FENCE.match(lines[-1])
    return len(lines) == 1 and _BOLD.fullmatch(stripped) is not None


def is_heading(line: str) -> bool:
    return _HEADING.match(line) is not None


def passage(
    lines: Sequence[str],
    sections: Sequence[object],
    first: int,
    last: int,
    limit: int = LIMIT,
    best: int = -1,
) -> list[range]:
    """The lines to show for a match from line `first` to line `last` (inclusive, from 0).

    `best` is the line that counts where the match cannot be shown whole with what it belongs to.

    `sections` names the section of each line. The result has one range, or two: a lead-in or the
    header of a table, then the lines around the match. It contains the match. Blocks that are only
    understood together are whole up to `limit` tokens; anything else is added up to half of that.
    Only a match that is longer by itself is beyond the limit. A passage stays in its section,
    unless that is a bare heading: then it goes on into the next.
    """
    room = limit * QUARTERS // SHORT
    weights = [weigh(line) for line in lines]
    start, end = _section(lines, sections, first, last)
    if sum(weights[start:end]) <= room:
        return [_trimmed(lines, start, end, first, last)]
    groups = _groups(lines, start, end)
    touched = [group for group in groups if group.start <= last and group.end > first]
    group_start = min([first, *(group.start for group in touched)])
    group_end = max([last + 1, *(group.end for group in touched)])
    if sum(weights[group_start:group_end]) > SHORT * room:
        if best >= 0:
            first = last = best
        rows = touched and touched[-1].kind in ("fence", "table")
        size = room if rows else SHORT * room
        return _inside(lines, weights, range(group_start, group_end), first, last, size)
    steps_before = [group.start for group in reversed(groups) if group.end <= group_start]
    steps_after = [group.end for group in groups if group.start >= group_end]
    grown = _grown(weights, group_start, group_end, steps_before, steps_after, room)
    return [_trimmed(lines, grown.start, grown.stop, first, last)]


def _section(
    lines: Sequence[str], sections: Sequence[object], first: int, last: int
) -> tuple[int, int]:
    """The lines of the sections of a match; a bare heading includes the section after it."""
    start = first
    while start > 0 and sections[start - 1] == sections[first]:
        start -= 1
    end = _section_end(sections, last)
    if all(_is_bare(line) for line in lines[start:end]) and end < len(lines):
        end = _section_end(sections, end)
    return start, end


def _section_end(sections: Sequence[object], at: int) -> int:
    end = at + 1
    while end < len(sections) and sections[end] == sections[at]:
        end += 1
    return end


def _is_bare(line: str) -> bool:
    return not line.strip() or bool(_HEADING.match(line) or _RULE.match(line))


def blocks_of(lines: Sequence[str], start: int, end: int) -> list[Block]:
    """The blocks of some lines of markdown, recognised line by line without a parser."""
    blocks: list[Block] = []
    at = start
    while at < end:
        if not lines[at].strip():
            at += 1
            continue
        kind, stop = _block_at(lines, at, end)
        if blocks and kind == blocks[-1].kind == "list":
            blocks[-1] = blocks[-1]._replace(end=stop)
        else:
            blocks.append(Block(kind, at, stop))
        at = stop
    return blocks


def _block_at(lines: Sequence[str], at: int, end: int) -> tuple[str, int]:
    line = lines[at]
    fence = _FENCE.match(line)
    if fence:
        return "fence", _fence_end(lines, at + 1, end, fence[1])
    if _HEADING.match(line):
        return "heading", at + 1
    if _RULE.match(line):
        return "rule", at + 1
    if _ITEM.match(line):
        return "list", _list_end(lines, at + 1, end)
    stop = at + 1
    while stop < end and lines[stop].strip() and not _opens(lines[stop]):
        stop += 1
    is_table = stop > at + 1 and "|" in line and _DELIMITER.match(lines[at + 1])
    return "table" if is_table else "text", stop


def _opens(line: str) -> bool:
    """Does a line begin a block of its own, even without a blank line before it?"""
    return bool(_FENCE.match(line) or _HEADING.match(line) or _ITEM.match(line))


def _fence_end(lines: Sequence[str], at: int, end: int, mark: str) -> int:
    while at < end:
        closing = _FENCE.match(lines[at])
        at += 1
        if closing and closing[1].startswith(mark) and not lines[at - 1].strip(" `~"):
            break
    return at


def _list_end(lines: Sequence[str], at: int, end: int) -> int:
    """A list contains items, indented lines and lazy continuation, up to a new block."""
    blank = False
    while at < end:
        line = lines[at]
        if _ends_list(line, blank=blank):
            break
        blank = not line.strip()
        at += 1
    return at


def _ends_list(line: str, *, blank: bool) -> bool:
    """Does a line after an item, or after the `blank` line below one, end its list?"""
    if not line.strip() or line.startswith((" ", "\t")):
        return False
    if _HEADING.match(line) or _FENCE.match(line):
        return True
    return blank and not _ITEM.match(line)


def _groups(lines: Sequence[str], start: int, end: int) -> list[Block]:
    """Blocks that are only understood together: lead-ins with what they lead to."""
    groups: list[Block] = []
    open_group = False
    previous = ""
    for block in blocks_of(lines, start, end):
        follows = block.kind in ("list", "fence", "table") and previous == "text"
        if groups and (open_group or follows):
            groups[-1] = groups[-1]._replace(kind=block.kind, end=block.end)
        else:
            groups.append(block)
        text = "\n".join(lines[block.start : block.end])
        open_group = block.kind in ("heading", "rule") or (
            block.kind in ("text", "list") and is_lead_in(text)
        )
        previous = block.kind
    return groups


def _inside(
    lines: Sequence[str], weights: Sequence[int], group: range, first: int, last: int, room: int
) -> list[range]:
    """The match with the lines around it, below the lead-in or the header of its table."""
    lead = _lead(lines, weights, group, first, room - sum(weights[first : last + 1]))
    left = room - sum(weights[at] for at in lead)
    before = list(range(first - 1, (lead.stop if lead else group.start) - 1, -1))
    after = [at + 1 for at in range(last + 1, group.stop)]
    window = _trimmed_range(lines, _grown(weights, first, last + 1, before, after, left))
    window = range(min(window.start, first), max(window.stop, last + 1))
    if not lead:
        return [window]
    if window.start <= lead.stop or not any(
        line.strip() for line in lines[lead.stop : window.start]
    ):
        return [range(lead.start, window.stop)]
    return [lead, window]


def _lead(
    lines: Sequence[str], weights: Sequence[int], group: range, first: int, room: int
) -> range:
    """The lines that lead to the block of a match, and the header if that is a table."""
    blocks = blocks_of(lines, group.start, group.stop)
    own = next((block for block in blocks if block.start <= first < block.end), None)
    stop = own.start if own else group.start
    if own and own.kind == "table":
        stop = own.start + 2
    lead = range(group.start, min(stop, first))
    spent = sum(weights[at] for at in lead)
    while lead and spent > room // LEAD:
        spent -= weights[lead.start]
        lead = lead[1:]
    return _trimmed_range(lines, lead)


def _grown(
    weights: Sequence[int],
    start: int,
    end: int,
    before: Sequence[int],
    after: Sequence[int],
    room: int,
) -> range:
    """A stretch grown by whole steps to both sides, first downwards, while it fits the room.

    `before` has the starts that it may be moved to, `after` the ends, each the nearest first.
    """
    room -= sum(weights[start:end])
    downwards = list(reversed(after))
    upwards = list(reversed(before))
    while downwards or upwards:
        if downwards:
            stop = downwards.pop()
            cost = sum(weights[end:stop])
            if cost <= room:
                room -= cost
                end = stop
            else:
                downwards.clear()
        if upwards:
            begin = upwards.pop()
            cost = sum(weights[begin:start])
            if cost <= room:
                room -= cost
                start = begin
            else:
                upwards.clear()
    return range(start, end)


def _trimmed(lines: Sequence[str], start: int, end: int, first: int, last: int) -> range:
    """A stretch without blank lines at its ends, except those of the match."""
    trimmed = _trimmed_range(lines, range(start, end))
    return range(min(trimmed.start, first), max(trimmed.stop, last + 1))


def _trimmed_range(lines: Sequence[str], stretch: range) -> range:
    start = stretch.start
    end = stretch.stop
    while end > start and not lines[end - 1].strip():
        end -= 1
    while start < end and not lines[start].strip():
        start += 1
    return range(start, end)
