"""Issues of a tracker: what is stored of each, and how texts refer to them.

The ids of beads (`bd-a1b2`, `spotter-a0y.4`) look like ordinary words, so they count only where
the issue is known. `#123` and keys of Jira (`SHOP-42`) have a form of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

from kinen.model.late import Any
from kinen.model.tuples import NamedTuple
from kinen.text import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.model.records import Edge

BLOCKING = ("blocks", "conditional-blocks", "waits-for")
"""Dependencies that must be closed before the work can begin."""
CHILD = "parent-child"
NOT_WORK = ("message", "molecule", "gate", "event")
"""Types of issues that nobody works on: beads stores them beside the others."""
NO_PRIORITY = 9
"""The priority of an issue that has none: after all others."""
MOST_PARTS = 24
"""Parts of a word with hyphens in which ids are looked for."""
VALID_ID = lazy_pattern(r"[A-Za-z0-9][\w.-]{0,99}")
_WORD = lazy_pattern(r"(?<![\w#/.-])#?[A-Za-z0-9][\w-]*(?:\.\d+)*(?![\w-])")
_PATH = lazy_pattern(r"(?<![\w/.~-])(?>(?:~|\.{1,2})?)/[^\s\"'`<>|]*+")
"""A path from the root, the home or here; names of branches do not begin so."""
_NUMBER = lazy_pattern(
    r"(?:(?<=[\s(\[,;:])|^)(?:[Gg][Hh]-|#)(\d{1,7})(?:[-–]#?(\d{1,7}))?\b(?![.-]?\w)"
)
_COLOUR = lazy_pattern(r"(?:colou?r|background|fill|stroke|border[\w-]*)[\"']?\s*[:=]\s*[\"']?$")
"""What stands before `#123` where that is a colour."""
MOST_DIGITS = 7
"""Digits of the number of an issue."""
MOST_OF_RANGE = 30
"""Issues that a range such as `#29-35` names at most."""
_MERGED = lazy_pattern(r"^Merge pull request #\d+ from [\w.-]+/(\d{1,7})-[a-z]", re.MULTILINE)
"""A branch of GitHub that begins with the number of its issue."""
_LAST_PARTS = lazy_pattern(r"(?:/[A-Za-z0-9]{2,8}(?:\.\d+)*)+(?![\w/.-])")
"""What follows the first id in `shop-0911/0913/0916`."""
_SHORT = lazy_pattern(r"(?<![\w/.#-])[a-z0-9]{3,8}(?:\.\d+)*(?![\w/-]|\.\w)")
_SHORT_LIST = lazy_pattern(rf"{_SHORT.pattern}(?:(?:, *| and | & ){_SHORT.pattern})*")
_TRACKER_WORDS = lazy_pattern(
    r"\b(?:close[sd]?|closing|fix(?:e[sd])?|resolve[sd]?|beads?|issues?|tasks?|bugs?|epics?|bd)\b",
    re.IGNORECASE,
)
_KEY = lazy_pattern(r"(?<![\w.-])([A-Z][A-Z0-9]{1,9}-[1-9]\d{0,6})(?![\w-]|\.\d)")
_NO_KEYS = frozenset(
    "UTF SHA MD ISO RFC CVE CWE GH GHSA PEP ADR AES RSA DES ECDSA ED CRC BASE HTTP HTTPS TLS SSL"
    " TCP IP IPV IEEE ASCII CP EN US GPT CLAUDE COVID WCAG ECMA ES ANSI DIN USB HDMI RS UTC GMT"
    " PHASE STEP PART TASK LEVEL TIER VERSION TOP MP H P Q T X F A B C PM AM VT XTERM WIN LATIN KOI"
    " GB BIG EUC FIPS NIST SP PKCS HMAC ARGON BLAKE XXH LGPL GPL AGPL BSD APACHE MIT CC".split()
)
"""Words with a hyphen and a number that are standards, encodings, licences: no keys of Jira."""
_CLOSING = lazy_pattern(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|implement(?:s|ed)?)\b[:\s]+$", re.IGNORECASE
)
_JOINED = lazy_pattern(r"^\s*(?:,|and|&)\s*$")


class Issue(NamedTuple):
    """An issue as a record of the index has it."""

    id: str
    title: str
    status: str
    type: str = "task"
    priority: int = NO_PRIORITY
    labels: tuple[str, ...] = ()
    assignee: str = ""
    created: str = ""
    updated: str = ""
    closed: str = ""
    reason: str = ""
    """Why it was closed."""
    session: str = ""
    """The agent's session that closed it."""
    external: str = ""
    """Its id in another tracker."""
    deferred: str = ""
    """When it is taken up again."""
    dependencies: tuple[tuple[str, str], ...] = ()
    """Id of the other issue, and type."""
    source: str = ""
    """The file that it was read from."""

    @property
    def ref(self) -> str:
        return f"issue:{self.id}"

    @property
    def is_deleted(self) -> bool:
        """Whether beads has only a tombstone of it."""
        return self.status == "tombstone"

    @property
    def is_closed(self) -> bool:
        return self.status == "closed" or self.is_deleted


def state_words(issue: Issue) -> str:
    """The status, type, priority and labels of an issue, as one line."""
    priority = "" if issue.priority == NO_PRIORITY else f"P{issue.priority}"
    type_ = issue.type if issue.title else ""
    labels = (f"#{label}" for label in issue.labels)
    return " · ".join(filter(None, (issue.status.replace("_", " "), type_, priority, *labels)))


def relation(issue: Issue, edge: Edge) -> tuple[str, str]:
    """How an edge joins an issue with another record, in words, and the ref of that record."""
    outward = edge.source == issue.ref
    other = edge.target if outward else edge.source
    if edge.type == "blocks":
        return "blocks" if outward else "blocked by", other
    if edge.type == "part_of":
        return "part of" if outward else "has part", other
    return (edge.text.replace("-", " ") or edge.type), other


class Reference(NamedTuple):
    """A place in a text that names an issue."""

    id: str
    closes: bool
    """Whether the text says that it is done: `Fixes #12`."""
    start: int


class Tracked(NamedTuple):
    """The issues that are known, by their ids in lower case."""

    ids: Collection[str]
    short: Mapping[str, str]
    """Ids by their last part, such as `6xc1` of `shop-6xc1`, where only one issue has it."""


def tracked_ids(ids: Collection[str]) -> Tracked:
    """Prepare ids in lower case for `references`."""
    short: dict[str, str] = {}
    for id_ in ids:
        part = id_.rpartition("-")[2]
        short[part] = "" if part in short else id_
    return Tracked(ids, {part: id_ for part, id_ in short.items() if id_ and part != id_})


def references(text: str, tracked: Collection[str] | Tracked = ()) -> Iterator[Reference]:
    """The issues that a text names: `#12`, keys such as `SHOP-42`, and ids that are known.

    Ids of `tracked` are in lower case. `Fixes #1, #2 and #3` closes three.
    """
    closing_end = -1
    issues = tracked if isinstance(tracked, Tracked) else tracked_ids(tracked)
    numbers = list(_numbers(text))
    counted = {(place, id_) for start, end, id_ in numbers for place in (start + 1, end)}
    own = [
        (start, end, id_)
        for start, end, id_ in (*_known_ids(text, issues.ids), *_short_ids(text, issues.short))
        if (start, id_) not in counted and (end, id_) not in counted  # the 12 of #12
    ]
    places = {start for start, _, _ in own}
    keys = (
        (match.start(), match.end(), match[1])
        for match in _KEY.finditer(text)
        if match[1].partition("-")[0] not in _NO_KEYS
    )
    others = [row for row in (*numbers, *keys) if row[0] not in places]
    for start, end, id_ in sorted([*own, *others]):
        closes = bool(_CLOSING.search(text[max(0, start - 20) : start]))
        if not closes and closing_end >= 0:
            closes = bool(_JOINED.match(text[closing_end:start]))
        closing_end = end if closes else -1
        yield Reference(id_, closes, start)


def _numbers(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _NUMBER.finditer(text):
        first = int(match[1])
        last = int(match[2] or first)
        colour = _COLOUR.search(text[max(0, match.start() - 30) : match.start()])
        if first and not colour and 0 <= last - first < MOST_OF_RANGE:
            for number in range(first, last + 1):
                yield match.start(), match.end(), str(number)
    for match in _MERGED.finditer(text):
        yield match.start(1), match.end(1), match[1].lstrip("0")


def ranges_with(id_: str) -> list[tuple[int, int]]:
    """The first and last numbers of every range, such as `#29-35`, that has an issue inside."""
    if not id_.isdecimal() or len(id_) > MOST_DIGITS:
        return []
    number = int(id_)
    return [
        (first, last)
        for first in range(max(1, number - MOST_OF_RANGE + 2), number)
        for last in range(number + 1, first + MOST_OF_RANGE)
    ]


def _known_ids(text: str, tracked: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Known ids, also inside the name of a branch (`fix/bd-a1b2-login`), not of a folder."""
    if not tracked:
        return
    without_paths = _PATH.sub(lambda path: " " * len(path[0]), text)
    for match in _WORD.finditer(without_paths.replace("/", " ")):
        if without_paths[match.end() : match.end() + 1] == "/":
            yield from _elided_ids(without_paths, match, tracked)
            continue
        word = match[0].lstrip("#")
        start = match.end() - len(word)
        parts = word.lower().split("-")[:MOST_PARTS]
        for first, last in combinations(range(len(parts) + 1), 2):
            id_ = "-".join(parts[first:last])
            if id_ in tracked:
                place = start + len("-".join(parts[:first])) + bool(first)
                yield place, place + len(id_), id_


def _elided_ids(
    text: str, first: re.Match[str], tracked: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """`shop-0911/0913/0916`: known ids, of which only the first has the common beginning."""
    rest = _LAST_PARTS.match(text, first.end())
    id_ = first[0].lstrip("#").lower()
    prefix, hyphen, _ = id_.rpartition("-")
    if not (rest and hyphen):
        return
    parts = rest[0][1:].lower().split("/")
    ids = [id_, *(f"{prefix}-{part}" for part in parts)]
    if all(name in tracked for name in ids):
        start = first.end() - len(id_)
        yield from ((start, rest.end(), name) for name in ids)


def _short_ids(text: str, short: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Last parts of known ids, where the words around them speak of issues.

    `gqc.4` counts anywhere. `6xc1` counts in a line that speaks of issues; letters alone, which may
    be a word, only in a list of ids or in parentheses.
    """
    if not short:
        return
    start = 0
    for line in text.splitlines(keepends=True):
        word = _TRACKER_WORDS.search(line)
        beginning = word.end() if word else len(line)
        for listed in _SHORT_LIST.finditer(line):
            parts = list(_SHORT.finditer(listed[0]))
            whole = listed.start() >= beginning and all(part[0] in short for part in parts)
            enclosed = line[: listed.start()].endswith("(") and line.startswith(")", listed.end())
            for part in parts:
                likely = (
                    len(parts) > 1 or enclosed or not (part[0].isalpha() or part[0].isdecimal())
                )
                if part[0] in short and ("." in part[0] or (whole and likely)):
                    place = start + listed.start() + part.start()
                    yield place, place + len(part[0]), short[part[0]]
        start += len(line)


def ready(issues: Iterable[Issue], now: str) -> list[Issue]:
    """Open issues that nothing open blocks, neither them nor their parents; most urgent first.

    `now` is an ISO time: what is deferred beyond it is not ready.
    """
    by_id = {issue.id: issue for issue in issues}
    blocked = {
        issue.id
        for issue in by_id.values()
        for other, type_ in issue.dependencies
        if type_ in BLOCKING and other in by_id and not by_id[other].is_closed
    }
    return sorted(
        (
            issue
            for issue in by_id.values()
            if issue.status == "open"
            and issue.type not in NOT_WORK
            and issue.deferred <= now
            and not _inherits(issue, by_id, blocked)
        ),
        key=urgency,
    )


def urgency(issue: Issue) -> tuple[int, str, str]:
    """The order of a list: by priority, the oldest first."""
    return issue.priority, issue.created, issue.id


def _inherits(issue: Issue, by_id: Mapping[str, Issue], blocked: Collection[str]) -> bool:
    """Whether an issue or one of its parents is blocked; a circle of parents ends."""
    seen: set[str] = set()
    waiting = [issue.id]
    while waiting:
        id_ = waiting.pop()
        if id_ in blocked:
            return True
        if id_ in seen or id_ not in by_id:
            continue
        seen.add(id_)
        waiting += [other for other, type_ in by_id[id_].dependencies if type_ == CHILD]
    return False


def from_metadata(id_: str, title: str, about: Mapping[str, Any], tags: Iterable[str]) -> Issue:
    """The issue that a record of the index describes."""
    return Issue(
        id_,
        title,
        str(about.get("status", "open")),
        str(about.get("issue_type", "task")),
        int(about.get("priority", NO_PRIORITY)),
        tuple(tags),
        str(about.get("assignee", "")),
        str(about.get("created_at", "")),
        str(about.get("updated_at", "")),
        str(about.get("closed_at", "")),
        str(about.get("close_reason", "")),
        str(about.get("closed_by_session", "")),
        str(about.get("external_ref", "")),
        str(about.get("defer_until", "")),
        tuple((str(other), str(type_)) for other, type_ in about.get("dependencies", ())),
        str(about.get("source", "")),
    )
