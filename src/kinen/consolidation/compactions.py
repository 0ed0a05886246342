"""Draws memories from the summary that a client writes when it compacts a session.

Such a summary has numbered sections. Errors and fixes, problem solving and technical concepts are
sources; what was asked, what is pending and what is being worked on are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinen.consolidation.kinds import Verdict, classify
from kinen.consolidation.prose import Sentence, read_sentences
from kinen.consolidation.wording import (
    LONGEST,
    SHORTEST,
    capitalized,
    holds,
    is_sound,
    standalone,
    without_code,
    without_opening,
)

FIXED = 0.85
STATED = 0.75
_SECTION = re.compile(
    r"^ {0,3}(?:#{1,4} {1,3})?(?:\d{1,2}[.)] {1,3})?\*{0,2}(?P<title>[A-Z][A-Za-z ,/&-]{3,60}?)"
    r"\*{0,2}:?\*{0,2}$"
)
_ITEM = re.compile(r"^ {0,8}(?:[-*+•]|\d{1,2}[.)]) {1,4}(?P<text>\S.*)$")
_ERRORS = re.compile(r"(?i)errors?(?: and| &|/)? ?(?:fixes|solutions)?|bugs? (?:and fixes|fixed)")
_SOLVED = re.compile(r"(?i)problem[- ]solving|solved problems|lessons?(?: learned)?")
_CHOICES = re.compile(
    r"(?i)(?:key |technical |design |architectural |important )*(?:decisions?|choices)(?: made)?"
)
_CONCEPTS = re.compile(r"(?i)key technical concepts|technical (?:concepts|context|details)")
_UNSOLVED = re.compile(
    r"(?i)\b(?:need(?:s)? to be (?:fixed|done)|not yet|still (?:fail|open|broken|need)|in progress"
    r"|pending"
    r"|unresolved|to be (?:fixed|decided)|todo|\(current\)|currently|now)\b"
)
_CORRECTION = re.compile(
    r"(?i)^(?:user (?:feedback|correction|request)|error|issue|problem|fix)(?: \d{1,2})?"
    r"(?: [–—-]{1,2} |: )"
)
"""What the label of an item says of itself, before what it is about."""
_TRIFLE = re.compile(
    r"(?i)\b(?:lint(?:ing|er)?|format(?:ting)?)\b.{0,24}\b(?:errors?|issues?|failures?)\b"
    r"|\bunused imports?\b"
)
"""Labels of errors that a formatter or linter puts right by itself: nobody learns from them."""
_SLIP = re.compile(
    r"(?i)\bwrong (?:path|directory|folder|file|branch|line)\b|\b(?:initially|first) tried\b"
    r"|\bexpected (?:intermediate|during|while)\b|\bnot (?:a )?real (?:errors?|issues?)\b"
    r"|\b(?:missing|forgot(?:ten)?|adding|added) (?:the |an? )?(?:missing )?`?imports?\b|\btypos?\b"
    r"|\bnot (?:been )?read (?:yet|first)\b|\bstring to replace\b|\b(?:parallel|research) agents?\b"
    r"|\bsuccessfully (?:established|completed|implemented|created)\b|\bturn \d"
)
"""Trouble that the agent had with its own work: a wrong path, an import that it forgot."""
_FIRST_PERSON = re.compile(r"\bI (?=[a-z])")
_POSSESSIVE = re.compile(r"\bmy (?=[a-z])")
_CONCLUSION = re.compile(
    r"(?i)\b(?:fix(?:ed|es)?|resolved|solved|solution|workaround|replaced|switched|changed|added|used"
    r"|updated|removed|rewrote|moved|corrected|established|set up|passing|required)\b"
)
_FACT = re.compile(
    r"(?i)\b(?:requires?|required|must|needs?|cannot|can't|won't|doesn't|does not|don't|do not"
    r"|unsupported|by default)\b|\bmissing \S+ (?:dependency|package)\b"
)
"""What an error showed of something that stays so, beside what was done about it."""
_TEACHES = re.compile(
    r"(?i)\bonly\b|(?<![\w-])(?:required?|requires|must|needs?|instead of|rather than|because"
    r"|prefer|never|always|cannot|can't|doesn't|does not|workaround|by default|convention"
    r"|(?:layout|workflow)(?=.*(?:[a-z]{3,} ){2}[a-z]{3}|.*\w/))(?![\w-])"
)
"""Words of a concept that says something, rather than name a tool or list its files."""


def sections(summary: str) -> dict[str, str]:
    """The sections of a summary by their titles in small letters."""
    parts: dict[str, list[str]] = {}
    title = ""
    for line in summary.splitlines():
        head = _SECTION.match(line)
        if head and not (line.startswith("   ") and not line.lstrip().startswith("#")):
            title = head["title"].strip().lower()
        elif title:
            parts.setdefault(title, []).append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}


def from_compaction(summary: str) -> Iterator[tuple[Verdict, str]]:
    """The memories that a compaction summary holds, each with its kind."""
    for title, text in sections(summary).items():
        if _ERRORS.fullmatch(title):
            yield from _errors(text)
        elif _SOLVED.fullmatch(title) or _CHOICES.fullmatch(title):
            yield from _items(text)
        elif _CONCEPTS.fullmatch(title):
            yield from _concepts(text)


def _entries(text: str) -> Iterator[str]:
    """The items of a list, nested ones and continued lines joined to the one above them."""
    entry: list[str] = []
    outer = -1
    for line in text.splitlines():
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if item and (outer < 0 or depth <= outer):
            outer = depth
            if entry:
                yield " ".join(entry)
            entry = [item["text"]]
        elif line.strip() and entry:
            piece = item["text"] if item else line.strip()
            if item and entry[-1][-1] not in ".:;!?":
                entry[-1] += "."
            entry.append(piece)
    if entry:
        yield " ".join(entry)


def _errors(text: str) -> Iterator[tuple[Verdict, str]]:
    """`**Problem**: what it was. Fixed by …` as one lesson."""
    for entry in _entries(text):
        found = list(read_sentences(entry))
        if not found or _UNSOLVED.search(entry) or _SLIP.search(entry):
            continue
        if _TRIFLE.search(found[0].label):
            continue
        lesson = _condensed(found[0].label, [sentence.text for sentence in found])
        if lesson and _CONCLUSION.search(lesson) and _FACT.search(lesson) and is_sound(lesson):
            yield Verdict("lesson", FIXED), capitalized(lesson)


def _condensed(label: str, texts: list[str]) -> str:
    """A problem and its fix in the length of a memory: label, cause, and the last sentence."""
    texts = [_impersonal(without_opening(text)) for text in texts]
    label = _CORRECTION.sub("", label)
    head = f"{label}: " if label else ""
    for some in (texts, [texts[0], texts[-1]], [texts[-1]], [texts[0]]):
        lesson = head + " ".join(capitalized(text) for text in dict.fromkeys(some))
        if len(lesson) <= LONGEST and _CONCLUSION.search(lesson):
            return lesson
    return ""


def _impersonal(text: str) -> str:
    return _POSSESSIVE.sub("the ", _FIRST_PERSON.sub("the agent ", text))


def _items(text: str) -> Iterator[tuple[Verdict, str]]:
    for entry in _entries(text):
        for sentence in read_sentences(entry):
            if _UNSOLVED.search(sentence.text) or _SLIP.search(sentence.text):
                continue
            verdict = classify(Sentence(sentence.text), "assistant", closing=True)
            memory = standalone(sentence, directive=True, task=True)
            if verdict and memory and holds(memory):
                yield verdict, memory


def _concepts(text: str) -> Iterator[tuple[Verdict, str]]:
    for entry in _entries(text):
        for sentence in read_sentences(entry):
            memory = standalone(sentence, directive=True, task=True)
            if len(memory) < SHORTEST or _UNSOLVED.search(memory):
                continue
            if _TEACHES.search(without_code(memory)):
                own = classify(Sentence(sentence.text), "assistant", closing=True)
                yield own or Verdict("insight", STATED), memory
