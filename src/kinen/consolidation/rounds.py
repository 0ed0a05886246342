"""Extracts the decisions of a round: callouts, options, answers, headings with reasons, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.tree import SyntaxTreeNode

from kinen.markdown.frontmatter import read_frontmatter
from kinen.markdown.parse import split_lines
from kinen.markdown.sentences import (
    REASONS,
    is_sure,
    joined,
    labelled,
    parsed,
    plain,
    sentences,
    stands_alone,
    statement,
    weight,
)
from kinen.model.journal import Finding
from kinen.model.tuples import NamedTuple
from kinen.sources.files.layout import date_in

Drawn = tuple[str, str, str, float]
"""The topic, choice, reason and confidence of a decision."""


CALLOUT = 1.0
"""The confidence of a decision in a callout."""
CHOSEN = 0.9
"""The confidence of a ticked option."""
LISTED = 0.9
"""The confidence of a row or item under `Decisions`."""
ANSWERED = 0.8
"""The confidence of an answer."""
OPEN = 0.5
"""The confidence of an answer that asks back or is too short."""

_NUMBER = re.compile(r"(?i)^(?:(?:Q|D|ADR|RFC)[ -]?)?\d+[a-z]?(?:\.\d+)*\s*(?:[:.)–—-]+\s*|\s+|$)")
_DECIDED = re.compile(r"^D\d+(?:\.\d+)*\b")
_CALLOUT = re.compile(r"^\[!(?P<type>[\w-]+)\][+-]?[ \t]*(?P<title>[^\n]*)(?:\n|$)")
_TITLE = re.compile(r"(?i)^(?P<what>decision|answer)s?\s*(?:[:–—-]\s*(?P<rest>.*))?$")
_TICK = re.compile(r"^\[(?P<mark>[ xX])\]\s+")
_OPTION = re.compile(r"(?i)^(?:option\s+)?(?P<label>[A-Z]|\d{1,2})\s*[:.)–—-]+\s*(?=\S)")
_BARE = re.compile(r"(?i)^(?:option\s+)?[A-Z0-9]$")
_LETTER = re.compile(
    r"\b(?:[Oo]ption )?(?P<label>[B-H]|A(?=\s*(?:[+&,/.!:;)–—-]|and [B-H]\b|$)))\b"
)
_PERSONAL = re.compile(r"(?i)\b(?:i|my|me|you|your)\b")
_DECISIONS = re.compile(
    r"(?i)^(?:(?:key|main|final|design|previous|technical|round|architecture)\s+)*decisions?"
    r"(?:\s+(?:made|taken|log|summary))?(?:\s+(?:in this \w+|so far))?$"
)
_UNSETTLED = re.compile(r"(?i)\b(?:to be decided|tbd|undecided)\b|[❌⏳❓]|~~")
_NOT_HELD = re.compile(
    r"(?i)\b(?:pending|rejected|superseded|deprecated|withdrawn|proposed|draft|open|reverted)\b"
)
_BLANK = re.compile(
    r"(?i)^[\W_]*(?:your (?:answer|response|decision)( here)?|todo|tbd|n/?a|none"
    r"|\{\{.*\}\})?[\W_]*$"
)
_GENERIC = re.compile(
    r"(?i)^(?:round|session|part|phase|step|summary|notes?|questions?|overview|context|conclusion"
    r"|answers?|options?|details?|open questions|your input|decisions?|rationale)\b[\s\d:.–—-]*$"
)
_YES_OR_NO = re.compile(
    r"(?i)^(?:should|shall|do|does|is|are|can|could|will|would|may|must)\b.*\?$"
)
_COLUMNS = {
    "decision": "decision|decisions|decision made|key decision|decided|what was decided",
    "choice": "choice|chosen|chosen option|selected|selection|resolution|outcome|detail|details",
    "topic": "topic|question|area|aspect|subject|issue|concern",
    "reason": "rationale|reason|reasons|reasoning|why|because|justification|motivation",
    "status": "status|state",
    "beside": "date|when|round|session|source|#|id|no|nr|owner|who|by|version|adr|ref|impact",
}


class _Section(NamedTuple):
    """The content under a heading, or under a question in bold."""

    title: str
    above: str
    """The title of the heading around it."""
    nodes: list[SyntaxTreeNode]

    @property
    def topic(self) -> str:
        topics = (_NUMBER.sub("", title).rstrip(" :") for title in (self.title, self.above))
        return next((topic for topic in topics if topic and not _GENERIC.match(topic)), "")


def from_round(ref: str, text: str, at: str = "") -> list[Finding]:
    """The decisions of a round or another document, in order, each with its reason.

    `at` is the time of the decisions; the default is the date in the path.
    """
    lines = split_lines(text)
    tree = SyntaxTreeNode(parsed("\n".join(lines[read_frontmatter(lines).end :])))
    day = date_in(ref.partition(":")[2])
    at = at or (f"{day}T00:00:00.000Z" if day else "")
    decisions = dict.fromkeys(drawn for section in _sections(tree) for drawn in _drawn(section))
    return [
        Finding("decision", statement(topic, choice, reason), confidence, (ref,), at, topic)
        for topic, choice, reason, confidence in decisions
    ]


def _sections(tree: SyntaxTreeNode) -> Iterator[_Section]:
    section = _Section("", "", [])
    headings: dict[int, str] = {}
    for node in tree.children:
        question = _question(node) if node.type == "paragraph" else ""
        if node.type == "heading":
            yield section
            level = int(node.tag[1:])
            headings = {depth: title for depth, title in headings.items() if depth < level}
            above = next(reversed(headings.values()), "")
            headings[level] = plain(_inline(node))
            section = _Section(headings[level], above, [])
        elif question:
            yield section
            section = _Section(question, next(reversed(headings.values()), ""), [])
        section.nodes.append(node)
    yield section


def _question(node: SyntaxTreeNode) -> str:
    """The question that a paragraph asks in bold: `**Q2.1: Title**`, `**Q2.1**: Title?`."""
    bold = re.match(r"\*\*(Q\d[^*\n]*)\*\*:?", _inline(node))
    question = _NUMBER.sub("", plain(bold[1])) if bold else ""
    if bold and not question:
        question = " ".join(sentences(_inline(node)[bold.end() :])[:1])
    return question if weight(question) > 1 else ""


def _drawn(section: _Section) -> Iterator[Drawn]:
    topic = section.topic
    reason = _labelled(section, REASONS)
    options, ticked = _options(section)
    decided = False
    answers: list[str] = []
    for node in section.nodes:
        if node.type == "table":
            yield from _rows(node)
        elif node.type.endswith("_list") and _DECISIONS.match(section.title):
            yield from _items(node)
        for quote in node.walk():
            if quote.type == "blockquote" and getattr(quote.parent, "type", "") != "blockquote":
                what, texts = _callout(quote)
                if what == "decision" and texts:
                    decided = True
                    yield topic, joined(texts), reason, CALLOUT
                answers += texts if what == "answer" else ()
    if not decided and _DECIDED.match(section.title):
        choice = _labelled(section, ("decision", "choice"))
        if choice:
            yield topic, choice, reason, LISTED
        elif reason:
            yield "", topic, reason, LISTED
    choice, confidence = _answer(topic, answers, options)
    if ticked:
        choices = [*ticked, choice] if confidence == ANSWERED else ticked
        yield topic, joined(choices) if len(choices) > 1 else choices[0], reason, CHOSEN
    elif choice:
        yield topic, choice, reason, confidence


def _inline(node: SyntaxTreeNode) -> str:
    """The text of a node, its markup included."""
    return next((child.content for child in node.walk() if child.type == "inline"), "")


def _labelled(section: _Section, labels: Sequence[str]) -> str:
    """The text after a label such as `**Rationale**:`."""
    for node in section.nodes:
        if node.type == "paragraph":
            for line in re.split(r"\n(?=\*\*)", _inline(node)):
                label, rest = labelled(line)
                if label in labels:
                    return plain(rest)
    return ""


def _callout(quote: SyntaxTreeNode) -> tuple[str, list[str]]:
    """Whether a quotation is a decision or an answer, and its sentences; `>> text` answers too."""
    texts = [node.content for node in quote.walk() if node.type == "inline"]
    head = _CALLOUT.match(texts[0]) if texts else None
    if head is None:
        nested = len(quote.children) == 1 and quote.children[0].type == "blockquote"
        what = "answer" if nested else ""
        return what, [sentence for text in texts for sentence in sentences(text)]
    title = plain(head["title"])
    kind = _TITLE.match(title) or _TITLE.match(f"{head['type']}: {title}")
    texts[0] = texts[0][head.end() :]
    if kind is None:
        return "", []
    what = kind["what"].lower()
    wrapped = what == "decision"
    parts = [sentences(text, wrapped=wrapped) for text in (kind["rest"] or "", *texts)]
    return what, [text for part in parts for text in part if not _BLANK.match(text)]


def _answer(topic: str, answers: list[str], options: dict[str, str]) -> tuple[str, float]:
    """The choice in an answer and its confidence; a question or a mere yes is `OPEN`."""
    texts = [
        _LETTER.sub(lambda match: options.get(match["label"], match[0]), text) for text in answers
    ]
    sure = [
        text
        for text in texts
        if is_sure(text) and stands_alone(text, 1) and not _PERSONAL.search(text)
    ]
    settled = _YES_OR_NO.match(topic) and stands_alone(topic)
    if sure and (
        (settled and is_sure(texts[0]))
        or (sum(map(weight, sure)) > 1 and not _LETTER.search(sure[0]))
    ):
        return joined(sure), ANSWERED
    return joined(texts), OPEN


def _options(section: _Section) -> tuple[dict[str, str], list[str]]:
    """The options of a question by their letter, and those that are ticked.

    Ticked boxes without letters are a choice only if one of several is ticked under a question;
    otherwise they are a task list.
    """
    options: dict[str, str] = {}
    boxes: list[tuple[bool, str, str]] = []
    for node in (child for top in section.nodes for child in top.walk() if child.type == "inline"):
        for line in node.content.split("\n"):
            tick = _TICK.match(line)
            if not tick and not line.startswith("**"):
                continue
            text = plain(line[tick.end() :] if tick else line)
            label = _OPTION.match(text)
            bare = text[label.end() :] if label else "" if _BARE.match(text) else text
            if label:
                options.setdefault(label["label"].upper(), bare)
            if tick:
                boxes.append((tick["mark"] != " ", label["label"] if label else "", bare))
    ticked = [text for on, label, text in boxes if on and label and text]
    if not ticked and sum(on for on, *_ in boxes) == 1 < len(boxes) and "?" in section.title:
        ticked = [text for on, _, text in boxes if on and text]
    return options, ticked


def _items(node: SyntaxTreeNode) -> Iterator[Drawn]:
    for item in node.children:
        written = _inline(item)
        text = plain(_TICK.sub("", written))
        if weight(text) > 1 and not _UNSETTLED.search(written):
            yield "", text, "", LISTED


def _rows(table: SyntaxTreeNode) -> Iterator[Drawn]:
    rows = [[_inline(cell) for cell in row.children] for row in table.walk() if row.type == "tr"]
    heads = [plain(cell).strip(" :?").lower() for cell in rows[0]] if rows else []
    columns: dict[str, int] = {}
    for name, spellings in _COLUMNS.items():
        at = next((n for n, head in enumerate(heads) if head in spellings.split("|")), None)
        columns |= {name: at} if at is not None else {}
    if "decision" not in columns or len(heads) < 2:
        return
    if 0 not in columns.values():  # an unlabelled first column holds the topic
        columns.setdefault("topic", 0)
    for row in rows[1:]:
        cells = {name: row[at] if at < len(row) else "" for name, at in columns.items()}
        unsettled = any(map(_UNSETTLED.search, row)) or _NOT_HELD.search(cells.get("status", ""))
        values = {name: plain(cell) for name, cell in cells.items()}
        topic = values.get("topic", "")
        choice = values["decision"]
        if values.get("choice"):
            topic = choice
            choice = values["choice"]
        blank = any(map(_BLANK.match, (choice, topic or choice))) or _DECIDED.match(choice)
        if not (blank or unsettled) and " " in f"{topic} {choice}".strip():
            yield topic, choice, values.get("reason", ""), LISTED
