"""Of two states of the same thing the newer holds: older statements are left out.

A session says `12 tests pass` and later `15 tests pass`, announces a fix and makes it, keeps a
parameter and replaces it. A recall that shows the older of the two misleads whoever reads it.
Only what texts say is compared; a statement is left out only where the newer one speaks of the
same thing in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kinen.distill.blocks import sentences, stems, unwrapped
from kinen.journal.statements import is_step
from kinen.model.tuples import NamedTuple
from kinen.text import excerpt, lazy_pattern

if TYPE_CHECKING:
    import re

QUOTED = 160
"""Characters of the newer statement that are quoted in place of the older one."""
NEAR = 45
"""Characters on each side of a number in which the words tell what is counted."""
COMMON = 0.6
"""The share of an announcement that the report of its outcome repeats."""
ENOUGH = 2
SHARE = 0.3
"""Words around two numbers that are the same, or their share, from which on they count the same."""
BARE = 4
"""Words up to which a sentence says nothing beside a number."""
FEWEST = 4
"""Words in common below which two sentences may speak of anything."""
LONGEST = 400
"""Characters of a sentence that are compared."""

_SIGNS = lazy_pattern(r"[*`]{1,3}(?=[\w/.<-])|(?<=[\w/.>%)+])[*`]{1,3}")
_BULLET = lazy_pattern(r"^[\s>]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:#{1,6}\s+)?")
_DIGIT = lazy_pattern(r"\d")
_COUNT = lazy_pattern(
    r"(?<![\w.,:/#$-])(?P<value>\d[\d,]*)\+? (?P<between>(?:[\w-]+ ){0,2}?)"
    r"(?P<noun>[a-z-]{2,}[a-rt-z]s)\b"
    r"|(?<![\w.])(?P<share>\d+(?:\.\d+)?%) (?:\w+ )?(?P<of>[a-z]{4,})\b"
    r"|\b(?P<product>[A-Za-z][\w-]+) (?P<version>\d+\.\d+(?:\.\d+)*)(?![\w.]*[\w%])",
)
"""`12 failing tests`, `93% line coverage`, `go 1.24`."""
_MEASURES = frozenset("seconds minutes hours days weeks months years times lines bytes ms".split())
"""What is counted along the way and is no state of anything."""
_FUNCTION = frozenset(
    "of and or to in on at by for with is was are were the a from has had".split()
)
_EVENT = lazy_pattern(
    r"(?i)\b(?:add(?:ed|s|ing)?|wr[io]te|written|creat\w+|remov\w+|delet\w+|found|flagged|report\w+"
    r"|fix\w*|chang\w+|register\w*|read|new|more|another|additional|extra|first|last|each|every"
    r"|least|most|up to|than|went|after|before|about|was|were|had|missing|remaining)\b"
)
"""Before a number: tells what happened, or how much came to it, and not how much there is."""
_NOW = lazy_pattern(r"(?i)\b(?:now|total|all|overall|currently|in all)\b")
_DONE = lazy_pattern(
    r"(?i)\b(?:done|fixed|added|implemented|completed?|created|updated|replaced|removed|resolved"
    r"|committed|pushed|passed|passing|finished|closed)\b"
)
_UNFINISHED = lazy_pattern(
    r"(?i)\b(?:not (?:yet )?(?:committed|pushed|merged|deployed|released)|in progress)\b"
)
"""Says how far something was, which the same words say again later of what is left then."""
_HELD = lazy_pattern(
    r"(?i)\b(?:keep|keeps|kept|remains?|stays?|continues?|existing|still)\b[^`]{0,40}`([^`\s]{2,60})`"
    r"|`([^`\s]{2,60})`[^`]{0,20}\b(?:remains?|stays?|continues?)\b"
)
"""Says that something stays as it is."""
_GIVEN_UP = lazy_pattern(
    r"(?i)\b(?:replace[ds]|remove[ds]|dropped|drops|deleted|deletes|stopped using"
    r"|no longer uses?)\b"
    r"[^`.\"“]{0,40}`([^`\s]{2,60})`"
)
"""Says that it does not; `remove` and `removing` may be a plan."""
_NAME = lazy_pattern(r"(?<![\w-])[\w-]++(?:[./]\w[\w-]*+)*+")
_LABEL = lazy_pattern(
    r"(?:\b[A-Z]{2,}|\b(?i:issue|line|step|phase|item|port|round|task|section|version|chapter)) $"
)
"""Before a number that is a name: `RFC 8693`."""
_GROUP = lazy_pattern(r"(?<![\w-])([\w-]++) \([^()]*+$")
"""The word before a parenthesis: what is counted in it belongs to that."""


class Count(NamedTuple):
    """A number in a sentence: what it counts, and the words around it."""

    value: str
    unit: str
    kind: frozenset[str]
    """Words between the number and what it counts: `12 failing tests`."""
    around: frozenset[str]
    names: frozenset[str]
    """Files and identifiers around it: it holds for them only."""


class Statement(NamedTuple):
    """A sentence of a record, as it is compared with others."""

    text: str
    at: str
    session: str
    counts: tuple[Count, ...]
    shown: bool


class Source(NamedTuple):
    """A text that says how something stood, when it was said, and in which session."""

    text: str
    at: str
    session: str
    shown: bool = False
    """May it be shown itself? Then it need not be quoted in place of what it has overtaken."""


class States:
    """What texts say about how things stand; it tells which older statements no longer hold."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._counted: dict[str, list[Statement]] = {}
        self._given_up: dict[str, list[Statement]] = {}
        self._done: list[Statement] = []
        self._passing: dict[tuple[str, str], Statement] = {}
        self._quoted: set[str] = set()
        for source in sorted(sources, key=lambda source: source.at, reverse=True):
            for sentence in _sentences(unwrapped(source.text)):
                if not sentence.endswith("?"):
                    self._add(_statement(sentence, source))

    def _add(self, statement: Statement) -> None:
        for unit in {count.unit for count in statement.counts}:
            self._counted.setdefault(unit, []).append(statement)
        for match in _GIVEN_UP.finditer(statement.text) if "`" in statement.text else ():
            self._given_up.setdefault(match[1].lower(), []).append(statement)
        passing = _UNFINISHED.search(statement.text)
        if passing:
            self._passing.setdefault((statement.session, passing[0].lower()), statement)
        if _DONE.search(statement.text) and not is_step(statement.text):
            self._done.append(statement)

    def current(self, source: Source, *, versions: bool = False) -> str:
        """A text without the sentences that a newer statement has overtaken.

        The newer one is quoted in place of the first of them, unless it may be shown itself or
        the older one said nothing else. An announcement of what was done later is left out, too.
        With `versions`, so is every sentence that names a version which a file no longer has.
        """
        lines = []
        text = unwrapped(source.text)
        old_versions = self._old_versions(text, source) if versions else set()
        for line in text.splitlines():
            shown = self._current_line(line, source, old_versions)
            if shown or not line.strip():
                lines.append(shown)
        return "\n".join(lines)

    def _old_versions(self, text: str, source: Source) -> set[tuple[str, str]]:
        """The versions in a text that a file no longer has: its other sentences may name them."""
        statements = (_statement(sentence, source) for sentence in _sentences(text))
        return {
            (count.unit, count.value)
            for statement in statements
            for count in statement.counts
            if (count.unit, count.value) in _versions(statement.text)
            and self._other_count(statement, count)
        }

    def _current_line(self, line: str, source: Source, old_versions: set[tuple[str, str]]) -> str:
        head = _BULLET.match(line)
        start = head.end() if head else 0
        pieces: list[str] = []
        changed = False
        for sentence in _sentences(line[start:]):
            statement = _statement(sentence, source)
            if is_step(sentence) and not sentence.endswith(":") and self._has_outcome(statement):
                changed = True
                continue
            newer = self._overtaking(statement)
            if newer is None and old_versions & _versions(sentence):
                changed = True
                continue
            changed = changed or newer is not None
            if newer is None:
                pieces.append(sentence)
            elif newer.session != source.session or not _is_bare(sentence):
                pieces += self._in_place(self._newest(newer))
        if not changed:
            return line
        return line[:start] + " ".join(pieces) if pieces else ""

    def _in_place(self, newest: Statement) -> list[str]:
        """The newest statement as a quotation, once."""
        if newest.shown or newest.text in self._quoted:
            return []
        self._quoted.add(newest.text)
        return [f"Later: {excerpt(_plain(newest.text), QUOTED)}"]

    def _newest(self, statement: Statement) -> Statement:
        """A statement, or the one that has overtaken it in turn."""
        newer = self._overtaking(statement)
        return self._newest(newer) if newer else statement

    def _overtaking(self, old: Statement) -> Statement | None:
        """The newest statement that says otherwise, if there is one."""
        for count in old.counts:
            newer = self._other_count(old, count)
            if newer:
                return newer
        unfinished = _UNFINISHED.search(old.text)
        newer = self._passing.get((old.session, unfinished[0].lower())) if unfinished else None
        if newer and newer.at > old.at:
            return newer
        for match in _HELD.finditer(old.text) if "`" in old.text else ():
            for new in self._given_up.get((match[1] or match[2]).lower(), ()):
                if new.at > old.at and new.session == old.session:
                    return new
        return None

    def _other_count(self, old: Statement, count: Count) -> Statement | None:
        """The newest statement on what is counted, if its number is another one."""
        for new in self._counted.get(count.unit, ()):
            if new.at <= old.at:
                return None
            if not count.names <= names_in(new.text) | _words(new.text):
                continue
            values = {one.value for one in new.counts if _same_thing(count, one, new)}
            if values:
                return None if count.value in values else new
        return None

    def _has_outcome(self, step: Statement) -> bool:
        announced = _words(step.text)
        least = max(FEWEST, COMMON * len(announced))
        return any(
            new.at > step.at
            and new.session == step.session
            and len(announced & _words(new.text)) >= least
            for new in self._done
        )


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = _BULLET.sub("", line, count=1)
        for begin, end in sentences(bare):
            yield bare[begin:end]


def _is_bare(sentence: str) -> bool:
    """Does a sentence say nothing beside a number?"""
    return len(_words(sentence)) <= BARE and not sentence.endswith(":")


def _plain(sentence: str) -> str:
    return _SIGNS.sub("", sentence)


def _statement(sentence: str, source: Source) -> Statement:
    text = sentence[:LONGEST]
    return Statement(text, source.at, source.session, tuple(_counts(text)), source.shown)


def names_in(text: str) -> frozenset[str]:
    """The files and identifiers that a text names, in lower case."""
    names = _NAME.findall(text)
    return frozenset(
        name.lower()
        for name in names
        if not name[0].isdigit() and ("." in name or "/" in name or "_" in name[1:-1])
    )


@lru_cache(1 << 12)
def _words(text: str) -> frozenset[str]:
    return frozenset(stems(text))


def _counts(sentence: str) -> Iterator[Count]:
    """The numbers of a sentence that say how much there is of something, or which version."""
    if not _DIGIT.search(sentence):
        return
    text = _plain(sentence)
    for match in _COUNT.finditer(text):
        start = match.start()
        before = text[max(0, start - 60) : start]
        if match["noun"] and not _is_state(match, before):
            continue
        near = text[max(0, start - NEAR) : match.end() + NEAR]
        value = match["value"] or match["share"] or match["version"]
        unit = match["noun"] or match["of"] or match["product"]
        group = _GROUP.search(before)
        kind = frozenset(stems(" ".join([match["between"] or "", group[1] if group else ""])))
        name = _only(stems(unit)) or unit.lower()
        around = frozenset(stem for stem in stems(near) if not stem[0].isdigit())
        names = names_in(text[: match.end() + NEAR])
        mentioned = match["version"] and (not names or _LABEL.search(f"{unit.lower()} "))
        if not mentioned:  # as a version is that no file has, and a section
            yield Count(value, name, kind, around - {name} - kind, names)


def _versions(sentence: str) -> set[tuple[str, str]]:
    """The versions that a sentence names, each with what it is a version of."""
    matches = _COUNT.finditer(_plain(sentence)) if _DIGIT.search(sentence) else ()
    return {
        (_only(stems(match["product"])) or match["product"].lower(), match["version"])
        for match in matches
        if match["version"]
    }


def _only(found: Sequence[str]) -> str:
    return found[0] if found else ""


def _is_state(match: re.Match[str], before: str) -> bool:
    """Does a number say how much there is, and not how much was done or how long it took?"""
    between = match["between"].lower().split()
    if match["noun"] in _MEASURES or _FUNCTION.intersection(between) or _LABEL.search(before):
        return False
    return not _EVENT.search(" ".join([before, *between])) or bool(_NOW.search(before))


def _same_thing(old: Count, new: Count, statement: Statement) -> bool:
    """Do two numbers count the same thing?

    A later run of fewer tests is a run of some of them: it does not replace the larger number.
    """
    if old.unit != new.unit or not old.kind <= new.kind | _words(statement.text):
        return False
    if old.unit == "test" and _size(new.value) < _size(old.value):
        return False
    common = len((old.around | old.kind) & (new.around | new.kind))
    return common >= ENOUGH or (common > 0 and common >= SHARE * len(old.around))


def _size(value: str) -> int:
    digits = value.replace(",", "")
    return int(digits) if digits.isdigit() else 0
