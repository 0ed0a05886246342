"""Draws memories from what is written down: markdown files, rounds, checkpoints, commits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinen.model.journal import Checkpoint, Finding
from kinen.sources.files.layout import date_in
from kinen.sources.git.messages import read_message
from kinen.text import QUESTION, lazy_pattern
from kinen.text.choices import FENCE, agrees, options, picked
from kinen.text.frontmatter import read_frontmatter
from kinen.text.labels import Labelled, is_settled, label_of, labelled, starts, value_of
from kinen.text.parse import split_lines
from kinen.text.sentences import (
    is_sure,
    joined,
    paragraphs,
    plain,
    sentences,
    size,
    stands_alone,
    statement,
)

LABELLED = 0.9
"""How sure a statement is that somebody labelled, or an option that somebody ticked."""
ANSWERED = 0.8
"""How sure an answer is."""
OPEN = 0.5
"""How sure an answer is that asks back, or says too little."""
BROKEN = 0.75
"""How sure a commit is that is marked as breaking, without a note on what breaks."""
TOLD = 0.7
"""How sure a checkpoint is whose type says decision or lesson, and which says no more of it."""

_DATE = lazy_pattern(
    r"(?im)^[-*\s]{0,6}\**(?:date|datum|fecha|data|дата|日期|日付)\**\s{0,3}[:：]\**\s{0,3}(?P<date>\d{4}-\d\d-\d\d)"
)
_HEADING = lazy_pattern(
    r"(?m)^#{1,6}[ \t]+(?P<title>.+)$|^\*\*(?P<bold>Q\d[^*\n]*)\*\*:?(?P<rest>[^\n]*)$"
)
_NUMBER = lazy_pattern(r"(?i)^(?:Q|D)?[ -]?\d+[a-z]?(?:\.\d+)*\s*(?:[:.)–—-]+\s*|\s+|$)")
_BOX = lazy_pattern(r"(?m)^[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)$")
_OPTION = lazy_pattern(r"(?i)^(?:\w+\s+)?(?P<key>[A-Z]|\d{1,2})\s*[:.)–—-]+\s*(?=\S)")
_QUOTE = lazy_pattern(r"(?m)(?:^[ \t]{0,3}>[^\n]*(?:\n|\Z))+")
_CALLOUT = lazy_pattern(r"^\[!(?P<type>[^\]\n]+)\][+-]?[ \t]*(?P<title>[^\n]*)(?:\n|$)")
_BLANK = lazy_pattern(r"^_[^_]*_$|\{\{|^(?:TODO|TBD)\b|^[\W_]*$")
_UNKNOWN = lazy_pattern(r"(?i)^(?:\w+\s+)?(?:[A-H]|\d{1,2})\W*$")
"""An option that is not there."""
_DATED = lazy_pattern("[\u2600-\u27bf\U0001f000-\U0001faff]\\s*\\d{4}-\\d\\d-\\d\\d\\s*$")
_PREFIX = lazy_pattern(r"^[\w-]+(?:\([^()]*\))?!?: +")
_PULL = lazy_pattern(r"(?<!\s)\s*+\(#\d+\)$")
_BREAKS = lazy_pattern(r"(?ms)^BREAKING[ -]CHANGE:\s+(.+?)(?=\n\s*\n|\n[A-Z][\w-]+: |\Z)")


def from_document(ref: str, text: str, at: str = "") -> list[Finding]:
    """What a markdown document labels, and what was answered and ticked in a round.

    It is dated by itself where it says so, else by its path or `at`.
    """
    front = read_frontmatter(split_lines(text)).values
    if front.get("artifact_type") == "session_summary":
        return []  # kinen wrote it, of memories that it had drawn
    stated = str(front.get("date") or "")[:10]
    line = _DATE.search(text[:4_000])
    day = stated if re.fullmatch(r"\d{4}-\d\d-\d\d", stated) else line["date"] if line else ""
    kind, _, path = ref.partition(":")
    day = day or ("" if at and kind == "round" else date_in(path))
    at = f"{day}T00:00:00.000Z" if day else at
    findings = [_finding(entry, ref, at) for entry in labelled(text)]
    if kind in ("round", "artifact"):
        findings += _answered(ref, text, at)
    return list(dict.fromkeys(findings))


def _finding(entry: Labelled, ref: str, at: str) -> Finding:
    content = statement("", entry.text, entry.reason)
    return Finding(entry.type, content, LABELLED, (ref,), at, entry.topic)


def _answered(ref: str, text: str, at: str) -> Iterator[Finding]:
    """The answers and ticked options of a round, each with its question."""
    body = FENCE.sub("", text)
    heads = list(_HEADING.finditer(body))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        section = body[head.end() : end]
        numbered = head["bold"] or head["title"]
        topic = plain(_NUMBER.sub("", numbered.strip())).strip(" :")
        topic = topic or plain((head["rest"] or "").strip(" :"))
        asks = bool(re.match(r"Q\d", numbered.strip())) or topic.endswith(QUESTION)
        if not asks or not size(topic):
            continue
        # The options that are ticked; several boxes without letters are a list of tasks.
        boxes = [
            (box["mark"] != " ", plain(_DATED.sub("", box["text"]).strip()))
            for box in _BOX.finditer(section)
        ]
        lettered = any(_OPTION.match(text) for _, text in boxes)
        chosen = [
            _OPTION.sub("", text)
            for on, text in boxes
            if on and (not lettered or _OPTION.match(text))
        ]
        ticked = chosen if lettered or len(chosen) == 1 < len(boxes) else []
        choice, sure = _answer(section)
        if ticked:
            choice = (
                joined([*ticked, *([choice] if sure == ANSWERED else ())])
                if (len(ticked) > 1 or sure == ANSWERED)
                else ticked[0]
            )
            yield Finding("decision", statement(topic, choice), LABELLED, (ref,), at, topic)
        elif choice:
            yield Finding("decision", statement(topic, choice), sure, (ref,), at, topic)


def _answer(section: str) -> tuple[str, float]:
    """What the callouts `Answer` of a section say, and how sure that is."""
    texts: list[str] = []
    for quote in _QUOTE.finditer(section):
        lines = [line.strip() for line in quote[0].splitlines()]
        nested = all(line.startswith(">>") for line in lines)
        inner = "\n".join(line.lstrip("> ") for line in lines)
        head = _CALLOUT.match(inner)
        if head:
            title = plain(head["title"])
            what = label_of(title) or starts(title)[0] or label_of(head["type"])
            inner = f"{starts(title)[1] if starts(title)[0] else ''}\n{inner[head.end() :]}".strip()
            nested = what == "answer"
        if nested:
            texts += [
                text
                for line in inner.split("\n")
                for text in sentences(line)
                if not _BLANK.search(text)
            ]
    if not texts:
        return "", 0.0
    option, rest = picked(options(_QUOTE.sub("", section)), texts[0])
    if option:
        own = [f"{option}, {rest}"] if rest[:1].islower() else [option, *filter(None, [rest])]
        return joined([*own, *texts[1:]]), ANSWERED
    sure = [text for text in texts if is_sure(text) and stands_alone(text, 1)]
    if agrees(texts[0]) or not sure or _UNKNOWN.match(sure[0]):
        return joined(texts), OPEN
    return joined(sure), ANSWERED


def from_checkpoint(checkpoint: Checkpoint, ref: str) -> list[Finding]:
    """What a checkpoint decided or learned; one that merely tells of work done has neither."""
    entries = labelled(checkpoint.text)
    parts = [starts(line) for text in paragraphs(checkpoint.text) for line in text.split("\n")]
    why = next((plain(text) for what, text in parts if what == "why"), "")
    first = checkpoint.text.strip().partition("\n")[0].lstrip("# ")
    title = plain(checkpoint.summary or first)
    own = checkpoint.confidence / 5
    content = ""
    type_ = "decision"
    if checkpoint.decision or checkpoint.type == "decision":
        choice = value_of(checkpoint.decision)
        choice = choice if is_settled(choice) else ""
        short = checkpoint.decision and size(choice) < 3
        content = statement(title if short else "", choice or ("" if short else title), why)
        entries = [entry for entry in entries if entry.type != "decision"]
        sure = own or (LABELLED if checkpoint.decision else TOLD)
        if checkpoint.decision and not choice:
            content = ""
    elif checkpoint.type in ("learning", "incident"):
        type_ = "lesson"
        lessons = [plain(text) for what, text in parts if what in ("cause", "lesson")]
        # Its impact says what is better now, and its title what was done: neither is a lesson.
        content = (
            statement(title, joined(lessons), "" if lessons else why) if lessons or why else ""
        )
        entries = [entry for entry in entries if entry.type != "lesson"]
        sure = own or (LABELLED if lessons else TOLD)
    findings = [_finding(entry, ref, checkpoint.at) for entry in entries]
    if size(content) > 2:
        findings.insert(0, Finding(type_, content, sure, (ref,), checkpoint.at))
    return findings


def from_commit(ref: str, text: str, at: str = "") -> list[Finding]:
    """What the message of a commit labels: a decision, what breaks."""
    message = read_message(text)
    subject = _PULL.sub("", message.subject)
    headline = plain(_PREFIX.sub("", subject) if message.type else subject)
    broken = _BREAKS.search(message.body)
    if broken:
        content = statement(headline, plain(broken[1]))
        return [Finding("decision", content, LABELLED, (ref,), at)]
    if message.breaking:
        return [Finding("decision", f"Breaking change: {headline}", BROKEN, (ref,), at)]
    # A trailer is `Word: text`, too: labels are read before they are taken away.
    return [_finding(entry, ref, at) for entry in labelled(message.body)]
