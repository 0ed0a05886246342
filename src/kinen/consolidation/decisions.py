"""Draws decisions from markdown: decision records (ADRs) and sections with the heading Decision.

Only what is accepted counts. A record that is proposed, rejected, deprecated or superseded gives no
memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinen.consolidation.kinds import is_clause
from kinen.consolidation.wording import LONGEST, SHORTEST
from kinen.markdown.frontmatter import read_frontmatter
from kinen.markdown.parse import split_lines
from kinen.markdown.sentences import parsed, plain, sentences, weight
from kinen.model.journal import Finding
from kinen.sources.files.layout import date_in

DECIDED = 0.9
MOST_ITEMS = 20
"""Items of a list of decisions that are read."""
LONG_ITEM = 6
"""Words of an item that say something, from which on it need not have a verb that is known."""
LARGEST = 400_000
"""Characters of a document; a larger one is no record of decisions."""
FEWEST = 4
"""Words of a decision that say something, its title aside."""
_FOLDER = re.compile(r"(?i)(?:^|/)(?:adrs?|decisions?|decision-records?|architecture-decisions)/")
_HEADING = re.compile(r"(?im)^#{1,4}[ \t]+(?:\d{1,2}\.?[ \t]+)?decisions?\b")
_DECISION = re.compile(
    r"(?i)(?:(?:the|our|key|main|final|design|architecture|architectural"
    r"|technical) ){0,2}decisions?"
    r"(?: outcome| made| taken| log| summary)?"
)
_STATUS = re.compile(r"(?im)^[-*\s]{0,6}\**status\**\s{0,3}:\**\s{0,3}(?P<status>\S.*)$")
_DATE = re.compile(
    r"(?im)^[-*\s]{0,6}\**(?:date|decided|accepted)\**(?: on)?\s{0,3}:\**\s{0,3}"
    r"(?P<date>\d{4}-\d{2}-\d{2})"
)
_NOT_HELD = re.compile(
    r"(?i)\b(?:proposed|draft|rejected|deprecated|superseded|withdrawn|pending|obsolete|rfc|open)\b"
)
_NUMBER = re.compile(
    r"(?i)^(?:(?:ADR|RFC|decision(?: record)?)[ -]?)?#?\d{1,5}\s{0,3}(?:[:.)–—-]{1,2}\s{1,3}"
    r"|\s{1,3})"
    r"|^(?:ADR|decision(?: record)?)\s{0,3}[:–—-]\s{1,3}"
)
_CHOSEN = re.compile(
    r"(?i)^chosen? option:?\s{1,3}[\"'“]?(?P<option>[^\"”\n]{2,160}?)[\"'”]?\s{0,3}"
    r"(?:,\s{0,3}because (?P<why>.+))?$"
)
_BOLD = re.compile(r"(?s)\*\*(?P<claim>[^*\n]{15,200}[.!])\*\*\s{0,3}(?P<rest>.*)$")
_IN_A_SENTENCE = re.compile(r"(?i)[;,](?: (?:and|or))?\s*$")
"""Ends an item that says nothing without the words before the list."""
_GENERIC = re.compile(
    r"(?i)(?:architecture |architectural )?decisions?(?: records?| log| outcome)?|adrs?|index"
    r"|readme"
    r"|template"
    r"|notes?|overview|summary|untitled"
)
_PREFACE = re.compile(
    r"(?i)^(?:we (?:have |will |shall )?(?:decided|agreed|chose|choose|adopt(?:ed)?) (?:to "
    r"|that |on )?"
    r"|the decision is (?:to |that )?|it was decided (?:to |that )?)"
)
_EMPTY = re.compile(r"(?i)\b(?:refer to|see (?:the|below|above|also))\b|\b(?:because|following)$")
_TEMPLATE = re.compile(
    r"\{[^}\n]{1,80}\}|\[(?:title|option|describe)[^\]\n]{0,60}\]|<[a-z][\w ]{1,40}>"
    r"|\bTBD\b|\bTODO\b"
)


@dataclass(slots=True)
class Section:
    """A heading and the paragraphs and list items below it, as markdown."""

    title: str
    level: int
    paragraphs: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)


def may_decide(path: str, text: str) -> bool:
    """Is a file a decision record, or does it have a section of that name?"""
    if len(text) > LARGEST:
        return False
    return bool(_FOLDER.search(path)) or bool(_HEADING.search(text))


def from_document(ref: str, text: str, at: str = "") -> list[Finding]:
    """The decisions that a markdown document states, dated by itself where it says so."""
    path = ref.partition(":")[2]
    lines = split_lines(text)
    front = read_frontmatter(lines)
    body = "\n".join(lines[front.end :])
    sections = list(_sections(body))
    if not _is_accepted(front.values, body, sections):
        return []
    title = _title(front.values, sections)
    when = _date(front.values, body) or date_in(path)
    stated = f"{when}T00:00:00.000Z" if when else at
    decisions = dict.fromkeys(_decisions(title, sections, record=bool(_FOLDER.search(path))))
    topic = title if _is_topic(title) else ""
    return [Finding("decision", text, DECIDED, (ref,), stated, topic) for text in decisions]


def _sections(body: str) -> Iterator[Section]:
    section = Section("", 0)
    in_heading = 0
    lists = 0
    apart = 0
    for token in parsed(body):
        if token.type == "heading_open":
            yield section
            in_heading = int(token.tag[1:])
        elif token.type == "heading_close":
            in_heading = 0
        elif token.type.startswith(("blockquote", "table")):
            apart += token.nesting
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            lists += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists -= 1
        elif token.type == "inline" and in_heading:
            section = Section(plain(token.content), in_heading)
        elif token.type == "inline" and not apart:
            (section.items if lists else section.paragraphs).append(token.content)
    yield section


def _is_accepted(values: Mapping[str, Any], body: str, sections: list[Section]) -> bool:
    """Does a document hold? One that says nothing of its status does."""
    status = str(values.get("status") or "")
    if not status:
        below = next((one for one in sections if one.title.lower() == "status"), None)
        status = " ".join([*below.paragraphs, *below.items][:1]) if below else ""
    if not status:
        line = _STATUS.search(body[:4_000])
        status = line["status"] if line else ""
    return not _NOT_HELD.search(status[:200])


def _title(values: Mapping[str, Any], sections: list[Section]) -> str:
    heading = next((one.title for one in sections if one.level == 1), "")
    title = heading or str(values.get("title") or "")
    return _NUMBER.sub("", plain(title)).strip(" .:")


def _is_topic(title: str) -> bool:
    return weight(title) > 1 and not _GENERIC.fullmatch(title)


def _date(values: Mapping[str, Any], body: str) -> str:
    day = str(values.get("date") or "")[:10]
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        return day
    line = _DATE.search(body[:4_000])
    return line["date"] if line else ""


def _decisions(title: str, sections: list[Section], *, record: bool) -> Iterator[str]:
    headed = [
        one for one in sections if _DECISION.fullmatch(_NUMBER.sub("", one.title).strip(" :"))
    ]
    for section in headed:
        if section.level > 1 or section.paragraphs or section.items:
            yield from _stated(title, section)
    if record and not any(section.paragraphs or section.items for section in headed):
        for section in sections:
            for paragraph in section.paragraphs:
                yield from _bold(title, paragraph)


def _stated(title: str, section: Section) -> Iterator[str]:
    """The first paragraph of a decision, and each item of the list that it leads in to."""
    for paragraph in section.paragraphs[:1]:
        yield from _told(title, paragraph)
        if not paragraph.rstrip().endswith(":"):
            return
    if any(_IN_A_SENTENCE.search(item) for item in section.items):
        return
    for item in section.items[:MOST_ITEMS]:
        if _is_claim(item):
            yield from _told(title, item)


def _is_claim(text: str) -> bool:
    """Does a text say something, and not only name it?"""
    return is_clause(text) or weight(plain(text)) >= LONG_ITEM


def _told(title: str, markdown: str) -> Iterator[str]:
    if _TEMPLATE.search(markdown):
        return
    decision = _cut(plain(" ".join(markdown.split())))
    if weight(decision) < FEWEST or _EMPTY.search(decision):
        return
    chosen = _CHOSEN.match(decision.rstrip("."))
    if chosen:
        decision = chosen["option"] + (f", because {chosen['why']}" if chosen["why"] else "")
    decision = _PREFACE.sub("", decision)
    if title and not _GENERIC.fullmatch(title) and not _says(decision, title):
        decision = f"{title}: {decision}"
    decision = _cut(decision)
    if len(decision) >= SHORTEST and not decision.endswith((":", "?")):
        yield decision[:1].upper() + decision[1:] if decision[:2].islower() else decision


def _says(decision: str, title: str) -> bool:
    """Does a decision begin with its title, so that it need not be said twice?"""
    return decision.lower().startswith(title.lower()[:40])


def _bold(title: str, paragraph: str) -> Iterator[str]:
    """A paragraph that begins with its conclusion in bold: that and the sentence after it."""
    bold = _BOLD.match(paragraph)
    if bold and _is_claim(bold["claim"]):
        rest = sentences(" ".join(bold["rest"].split()))
        reason = rest[0] if rest and rest[0].endswith((".", "!", ")")) else ""
        yield from _told(title, f"{bold['claim']} {reason}".strip())


def _cut(text: str) -> str:
    """As many whole sentences as a memory may have characters; nothing if the first has more."""
    kept = ""
    for sentence in sentences(text, wrapped=True):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > LONGEST or sentence.endswith(":"):
            break
        kept = longer
    return kept
