"""The passage to show for a match: the fewest lines that make sense by themselves.

Search matches small units. A reader wants the section around the match if it is short, else the
lead-in with its list or code, else the neighbouring blocks, all within a limit of tokens.

Lines are told apart by their first characters and not by expressions: compiling those took a cold
search longer than all passages.
"""

from __future__ import annotations

from kinen.model.tuples import NamedTuple
from kinen.text import QUARTERS
from kinen.text import weight as weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 400
"""Tokens of a passage: a lead-in with its list or code up to here is shown whole."""
SHORT = 2
"""A section is short, and neighbours are added, up to the limit divided by this."""
LEAD = 2
"""A lead-in above distant lines of its list takes at most half of what the match leaves."""

INDENT = 3
"""Spaces before a heading, a fence or a rule; more make it code."""
LONGEST_NUMBER = 9
"""Digits of the number of a list item."""
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
        return not fence_of(lines[-1])
    return len(lines) == 1 and _is_bold(stripped)


def _is_bold(line: str) -> bool:
    """Is all of a line, but a period or a colon after it, between one pair of marks?"""
    text = line[:-1] if line.endswith((".", ":")) else line
    mark = text[:2]
    return (
        mark in ("**", "__")
        and len(text) > len(mark) * 2
        and text.endswith(mark)
        and mark not in text[2:-1]
    )


def is_heading(line: str) -> bool:
    """One to six `#`, then a space or the end."""
    text = _unindented(line)
    level = len(text) - len(text.lstrip("#"))
    return 0 < level <= 6 and (level == len(text) or text[level].isspace())


def fence_of(line: str) -> str:
    """The three or more characters that open or close a block of code; empty if it has none."""
    text = _unindented(line)
    mark = text[:1]
    if mark not in ("`", "~"):
        return ""
    length = len(text) - len(text.lstrip(mark))
    return mark * length if length >= 3 else ""


def is_rule(line: str) -> bool:
    """Three or more of `-`, `*` or `_` and nothing else."""
    text = _unindented(line)
    if text[:1] not in ("-", "*", "_"):
        return False
    marks = "".join(text.split())
    return len(marks) >= 3 and not marks.strip(marks[0])


def is_item(line: str) -> bool:
    """`- `, `* `, `+ `, `1. ` or `1) `."""
    text = line.lstrip()
    if text[:1] in ("-", "*", "+"):
        return text[1:2].isspace()
    head = text[: LONGEST_NUMBER + 1].replace(")", ".").partition(".")
    return head[0].isdecimal() and bool(head[1]) and text[len(head[0]) + 1 :][:1].isspace()


def _unindented(line: str) -> str:
    """A line without its indentation; empty if that makes it code."""
    text = line.lstrip()
    return text if len(line) - len(text) <= INDENT else ""


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
    start, end = _section(lines, sections, first, last)
    if _weight(lines, start, end) <= room:
        return [_trimmed(lines, start, end, first, last)]
    groups = _groups(lines, start, end)
    touched = [group for group in groups if group.start <= last and group.end > first]
    group_start = min([first, *(group.start for group in touched)])
    group_end = max([last + 1, *(group.end for group in touched)])
    if _weight(lines, group_start, group_end) > SHORT * room:
        if best >= 0:
            first = last = best
        rows = touched and touched[-1].kind in ("fence", "table")
        size = room if rows else SHORT * room
        return _inside(lines, range(group_start, group_end), first, last, size)
    steps_before = [group.start for group in reversed(groups) if group.end <= group_start]
    steps_after = [group.end for group in groups if group.start >= group_end]
    grown = _grown(lines, group_start, group_end, steps_before, steps_after, room)
    return [_trimmed(lines, grown.start, grown.stop, first, last)]


def _weight(lines: Sequence[str], start: int, end: int) -> int:
    """The weight of some lines: the sum of the weights of each, which takes longer."""
    return weigh("\n".join(lines[start:end]))


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
    if line[:1].isalpha():
        return False
    return not line.strip() or is_heading(line) or is_rule(line)


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
    if not line[:1].isalpha():
        fence = fence_of(line)
        if fence:
            return "fence", _fence_end(lines, at + 1, end, fence)
        if is_heading(line):
            return "heading", at + 1
        if is_rule(line):
            return "rule", at + 1
        if is_item(line):
            return "list", _list_end(lines, at + 1, end)
    stop = at + 1
    while stop < end and lines[stop].strip() and not _opens(lines[stop]):
        stop += 1
    is_table = stop > at + 1 and "|" in line and _is_delimiter(lines[at + 1])
    return "table" if is_table else "text", stop


def _is_delimiter(line: str) -> bool:
    """Is it the line between the header and the rows of a table?"""
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    dashes = [cell.strip().removeprefix(":").removesuffix(":") for cell in cells]
    return all(cell and not cell.strip("-") for cell in dashes)


def _opens(line: str) -> bool:
    """Does a line begin a block of its own, even without a blank line before it?"""
    if line[:1].isalpha():
        return False
    return bool(fence_of(line)) or is_heading(line) or is_item(line)


def _fence_end(lines: Sequence[str], at: int, end: int, mark: str) -> int:
    while at < end:
        closing = fence_of(lines[at])
        at += 1
        if closing.startswith(mark) and not lines[at - 1].strip(" `~"):
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
    if is_heading(line) or fence_of(line):
        return True
    return blank and not is_item(line)


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


def _inside(lines: Sequence[str], group: range, first: int, last: int, room: int) -> list[range]:
    """The match with the lines around it, below the lead-in or the header of its table."""
    lead = _lead(lines, group, first, room - _weight(lines, first, last + 1))
    left = room - _weight(lines, lead.start, lead.stop)
    before = list(range(first - 1, (lead.stop if lead else group.start) - 1, -1))
    after = [at + 1 for at in range(last + 1, group.stop)]
    window = _trimmed_range(lines, _grown(lines, first, last + 1, before, after, left))
    window = range(min(window.start, first), max(window.stop, last + 1))
    if not lead:
        return [window]
    if window.start <= lead.stop or not any(
        line.strip() for line in lines[lead.stop : window.start]
    ):
        return [range(lead.start, window.stop)]
    return [lead, window]


def _lead(lines: Sequence[str], group: range, first: int, room: int) -> range:
    """The lines that lead to the block of a match, and the header if that is a table."""
    blocks = blocks_of(lines, group.start, group.stop)
    own = next((block for block in blocks if block.start <= first < block.end), None)
    stop = own.start if own else group.start
    if own and own.kind == "table":
        stop = own.start + 2
    lead = range(group.start, min(stop, first))
    spent = _weight(lines, lead.start, lead.stop)
    while lead and spent > room // LEAD:
        spent -= weigh(lines[lead.start])
        lead = lead[1:]
    return _trimmed_range(lines, lead)


def _grown(
    lines: Sequence[str],
    start: int,
    end: int,
    before: Sequence[int],
    after: Sequence[int],
    room: int,
) -> range:
    """A stretch grown by whole steps to both sides, first downwards, while it fits the room.

    `before` has the starts that it may be moved to, `after` the ends, each the nearest first.
    """
    room -= _weight(lines, start, end)
    downwards = list(reversed(after))
    upwards = list(reversed(before))
    while downwards or upwards:
        if downwards:
            stop = downwards.pop()
            cost = _weight(lines, end, stop)
            if cost <= room:
                room -= cost
                end = stop
            else:
                downwards.clear()
        if upwards:
            begin = upwards.pop()
            cost = _weight(lines, begin, start)
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
