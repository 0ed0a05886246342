"""The milestone that a question names a time by: "before the migration", 迁移之前, seit 2.0.

Whether such words name a time, and which, is not in the words ("before the loop"): the records
decide. What says that it happened is looked for in titles first (commits, sessions, checkpoints,
memories), then in messages; unless all that say so were written within a week, no time is named.
"""

from __future__ import annotations

from datetime import date, timedelta

from kinen.distill.blocks import sentences
from kinen.model.records import Query
from kinen.model.tuples import NamedTuple
from kinen.recall.dates import (
    BEHIND,
    MARKERS,
    SINCE,
    UNTIL,
    WEEK,
    Span,
    bounded,
    is_behind,
    local_day,
)
from kinen.recall.order import is_question
from kinen.recall.wording import FUNCTION
from kinen.text import STOP_WORDS, excerpt, lazy_pattern, pairs, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kinen.ports import Index

DONE = ("commit", "checkpoint", "memory")
"""Kinds whose title says what was done at their time."""
TITLED = (*DONE, "summary")
"""Kinds that have a title; that of a session may be what was asked for in it."""
KINDS = ((TITLED, ()), (("observation",), ("message",)))
"""Kinds of records and events that are asked, the surest first."""
MOST_WORDS = 12
"""Words of a milestone: more are not in a title."""
MOST_MILESTONES = 4
"""Of a question."""
GERMAN = frozenset("vor nach seit bis während".split())
"""Markers of a language whose verbs end a clause: a participle there is the question's."""
MOST = 100
"""Records that are looked at, those with most of the words first."""
AGREEING = 2
"""Records that say it at least, where none has it for a title: one may speak of anything."""
LONGEST = 4_000
"""Characters of a message in which sentences are looked at."""
SENTENCE = 400
"""Characters of one that are."""
TITLE = 80
ALIKE = 3
"""Letters that all forms of a word have in common."""
_CLAUSE = lazy_pattern(r"[,;:!?\n，。、；：！？؟،]+|\.(?=\s|$)")
_AHEAD = lazy_pattern(
    "(?i)(?<!\\w)(?:"
    + "|".join(word.replace("_", " ") for word in MARKERS if not is_behind(word))
    + r")(?!\w)"
)
_TYPE = lazy_pattern(r"^\s*(?:\[[^\]]*\]\s*)?(?:[a-z][\w-]*(?:\([^()]*\))?!?:\s)?")
_WORD = lazy_pattern(
    r"[vV]?(?P<version>\d+(?:\.\d+)+)"
    r"|(?P<run>[\u30a0-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[\uac00-\ud7a3]+|[\u0e00-\u0eff]+)"
    r"|[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+"
)

Word = tuple[str, ...]
"""A word, or the pairs of letters of several in a script without spaces."""


class Milestone(NamedTuple):
    """What a question names a time by, and the word that says on which side of it."""

    marker: str
    words: tuple[Word, ...]

    @property
    def has_name(self) -> bool:
        """Whether it has a name: several words, or a version."""
        return len(self.words) > 1 or "." in self.words[0][0]


class Line(NamedTuple):
    """A title or a sentence, and the day of its record."""

    text: str
    day: date
    titled: bool = True
    ref: str = ""


def milestones(question: str) -> list[Milestone]:
    """What a question may name a time by: the words that a marker stands before or behind."""
    every = []
    for clause in _CLAUSE.split(question):
        ahead = [*_AHEAD.finditer(clause)]
        behind = [*BEHIND.finditer(clause)] if not clause.isascii() else []
        cuts = sorted([(match.start(), match.end()) for match in (*ahead, *behind)])
        for match in ahead:
            end = min((start for start, _ in cuts if start >= match.end()), default=len(clause))
            marker = match[0].lower()
            words = clause[match.end() : end].split()
            if marker in GERMAN and any(map(str.istitle, words)) and words[-1].islower():
                words = words[:-1] if words[-1].endswith(("t", "n")) else words
            every.append(Milestone(marker, words_of(" ".join(words))))
        for match in behind:
            start = max((end for _, end in cuts if end <= match.start()), default=0)
            every.append(Milestone(match[0], words_of(clause[start : match.start()])))
    return [milestone for milestone in every if 0 < len(milestone.words) <= MOST_WORDS]


def words_of(text: str) -> tuple[Word, ...]:
    """The words that say what a text is about; a version is one, an ending of Japanese is none."""
    every: list[Word] = []
    for match in _WORD.finditer(text):
        low = match[0].lower()
        if match["version"]:
            every.append((match["version"],))
        elif match["run"]:  # what is written to a word of another script is its ending: uv로
            ending = low[0] >= "\uac00" and text[match.start() - 1 : match.start()].isalnum()
            keys = pairs(low) if len(low) > 1 and not ending else ()
            every.append(tuple(key for key in keys if key not in FUNCTION))
        elif len(low) > 1 and low not in STOP_WORDS and low not in FUNCTION:
            every.append(terms(low)[:1])
    return tuple(word for word in every if word)


def dated(milestone: Milestone, lines: Iterable[Line], stems: Mapping[str, str]) -> list[Line]:
    """The lines that say when a milestone was; none where they are not of one mind.

    Surest are titles that begin with it, as of commits that say what they did (where a marker
    stands behind its words, a verb does too, and they may end with it). Of several words, or a
    version, the first titles that have them say it, if nothing but a verb is before the words; and
    where no title has them, two sentences.
    """
    keys = {stems.get(key, key) for word in milestone.words for key in word}
    sure: list[Line] = []
    early: list[Line] = []
    titled: list[Line] = []
    spoken: list[Line] = []
    for line in lines:
        text = without_type(line.text) if line.titled else line.text
        words = _stemmed(words_of(text), stems)
        if not _covers(words, milestone.words, stems) or _refers(line.text, milestone, stems):
            continue
        ends = {words[0][0], words[-1][-1]} if is_behind(milestone.marker) else {words[0][0]}
        if line.ref.startswith(DONE) and ends & keys:
            sure.append(line)
        if line.titled and _covers(words[: len(milestone.words) + 1], milestone.words, stems):
            early.append(line)
        (titled if line.titled else spoken).append(line)
    chosen = sure
    if milestone.has_name and not sure:
        first = min((line.day for line in titled), default=None)
        chosen = early if any(line.day == first for line in early) else []
        if not titled and len({line.ref for line in spoken}) >= AGREEING:
            chosen = spoken
    # One word alone (`the migration`) may be of several things: all titles with it must agree.
    days = [line.day for line in (chosen if milestone.has_name else titled)]
    return chosen if chosen and max(days) - min(days) <= WEEK else []


def without_type(subject: str) -> str:
    """The subject of a commit without what stands before it: `fix(db): `, `[API] `."""
    return _TYPE.sub("", subject, count=1)


def _stemmed(words: Iterable[Word], stems: Mapping[str, str]) -> list[Word]:
    return [tuple(stems.get(key, key) for key in word) for word in words]


def _covers(words: Iterable[Word], needed: Iterable[Word], stems: Mapping[str, str]) -> bool:
    """Whether some words have all that are needed: of pairs of letters the last, and half of all.

    What stands before the last may be another word (我们在迁移).
    """
    every = {key for word in words for key in word}
    return all(
        word[-1] in every and 2 * sum(key in every for key in word) >= len(word)
        for word in _stemmed(needed, stems)
    )


def _refers(text: str, milestone: Milestone, stems: Mapping[str, str]) -> bool:
    """Whether a line itself names a time by the milestone: that is of another day."""
    return any(
        _covers(_stemmed(other.words, stems), milestone.words, stems) for other in milestones(text)
    )


def days_of(reader: Index, query: Query, today: date) -> tuple[Span | None, str]:
    """The days that a question names by a milestone, and a note on the record that dates it."""
    for milestone in milestones(query.text)[:MOST_MILESTONES]:
        lines: list[Line] = []
        for kinds, events in KINDS if milestone.has_name else KINDS[:1]:
            records = Query("", kinds=kinds, events=events, until=query.until)
            lines += _lines(reader, milestone, records)
            agreeing = dated(milestone, lines, _stems(reader, milestone, lines))
            if agreeing:
                last = max(line.day for line in agreeing)
                return _days(
                    milestone.marker, min(agreeing, key=lambda line: line.day), last, today
                )
    return None, ""


def _days(marker: str, line: Line, last: date, today: date) -> tuple[Span, str]:
    """The days beside a milestone, which is not before itself, and the note on it."""
    side = "before" if marker in UNTIL else "since" if marker in SINCE else "during"
    written = f"{line.day}" if line.day == last else f"{line.day} to {last}"
    first = line.day - timedelta(days=marker in UNTIL)
    note = f"{side} {written}, by {excerpt(line.text, TITLE)!r} [{line.ref}]"
    return bounded(marker, (first, last), today), note


def _lines(reader: Index, milestone: Milestone, query: Query) -> list[Line]:
    """The titles or sentences of records that have most of a milestone's words."""
    keys = [key for word in milestone.words for key in word]
    beginnings = [word[-1][:ALIKE] for word in milestone.words]
    ids = [id_ for id_, _ in reader.match(terms(" ".join(keys)), query, MOST)]
    lines: dict[Line, None] = {}
    for record, chunk in reader.load(ids).values() if ids else ():
        titled = record.kind in TITLED
        whole = record.title if titled else chunk.text[:LONGEST]
        if not record.at or not all(map(whole.lower().__contains__, beginnings)):
            continue
        for begin, end in [(0, len(whole))] if titled else sentences(whole):
            text = whole[begin : min(end, begin + SENTENCE)]
            if not is_question(text) and all(map(text.lower().__contains__, beginnings)):
                lines[Line(text, local_day(record.at), titled, record.ref)] = None
    return list(lines)


def _stems(reader: Index, milestone: Milestone, lines: Sequence[Line]) -> Mapping[str, str]:
    """The stems of a milestone's words, and of those in the lines that begin like one of them."""
    own = [word[0] for word in milestone.words if word[0].isalpha()]
    beginnings = {key[:ALIKE] for key in own}
    others = (word[0] for line in lines for word in words_of(line.text))
    alike = [key for key in others if key.isalpha() and key[:ALIKE] in beginnings]
    stems = reader.stems(list(dict.fromkeys([*own, *alike])))
    # Porter's stem of `added` is `ad`, and that of `add` is `add`.
    return {key: stem[:-1] if stem[-2:-1] == stem[-1:] else stem for key, stem in stems.items()}
