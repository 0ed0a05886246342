"""Draws memories from checkpoints and from the messages of commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kinen.consolidation.claims import claim
from kinen.consolidation.wording import is_sound
from kinen.markdown.sentences import (
    LONGEST,
    REASONS,
    is_sure,
    joined,
    labelled,
    paragraphs,
    plain,
    sentences,
    stands_alone,
    statement,
    weight,
)
from kinen.model.journal import Checkpoint, Finding
from kinen.sources.git.messages import read_message, without_trailers
from kinen.text import excerpt

if TYPE_CHECKING:
    from kinen.sources.git.messages import Message

EXPLICIT = 0.85
TOLD = 0.7
"""How sure a checkpoint is that says nothing of it: one that states what it learned or decided,
and one that only tells what happened."""
BREAKING = 0.9
REVERTED = 0.85
REASONED = 0.75
HINTED = 0.65
"""How sure a commit is: its note on what breaks, a revert with its reason, a sentence with
`because` or `instead of`, and one that merely says what for."""

FEW = 3
"""Words that say something, below which nothing is told by itself."""
_LESSONS = (
    *("learning", "lesson", "lessons", "lesson learned", "takeaway", "root cause", "cause"),
    *("gotcha", "fix", "finding", "confirmed bug", "solution", "resolution"),
)
_PREFIX = re.compile(r"^[\w-]+(?:\([^()]*\))?!?: +")
_NUMBERED = re.compile(r"(?<!\s)\s*+\(#\d+\)$")
_BREAKS = re.compile(r"(?ms)^BREAKING[ -]CHANGE:\s+(.+?)(?=\n\s*\n|\n[A-Z][\w-]+: |\Z)")
_FORMAL = re.compile(
    r"(?im)^(?:[A-Z]\w*+-[\w-]++: |(?:tags|refs?|fix(?:es)?|closes|relates to|part of)\b:? [#+\w]"
    r"|BREAKING[ -]CHANGE: ).*$|this reverts commit[^.]*(?:\.|$)"
)
_SWAPPED = r"\b(?:instead of|rather than|in favou?r of)\b"
_DECIDES = re.compile(
    r"(?i)\b(?:because|(?:we|i) (?:decided|chose)|deliberately|on purpose)\b"
    r"|\b(?:us(?:e[sd]?|ing)|switch(?:es|ed)? to|mov(?:e[sd]?|ing) to|replac(?:e[sd]?|ing)|adopt"
    rf"|stor(?:e[sd]?|ing)|keeps?|prefer)\b[^.;]{{1,80}}{_SWAPPED}"
)
_AIMS = re.compile(rf"(?i){_SWAPPED}|\b(?:so that|no longer|to avoid|not worth)\b")
_CAUSES = re.compile(
    r"(?i)\b(?:root cause|was caused by|turned out|because|(?:failed|crashed) (?:when|if|on))\b"
)
_CHORE = re.compile(r"(?i)\btests?[/.]|\b\d+ (?:tests?|pass)\b|\bbump(?:s|ed)?\b")
_CONTINUES = re.compile(
    r"(?i)(?:however|then|in contrast|meanwhile|later|previously|as a side effect"
    r"|before (?:this|it)|follow-up|(?:this |it )?reverts?|(?:fixes|closes|resolves) (?:#|http)"
    r"|thanks?|(?:my )?apolog\w*|i|i've|i'm|my|update)\b"
)
"""How a sentence begins that goes on from the one before, closes an issue, or is of its author."""
_WORTHY = ("feat", "refactor", "perf", "build")


def from_checkpoint(checkpoint: Checkpoint, ref: str) -> list[Finding]:
    """What a checkpoint decided or learned; one that merely tells of work done has neither."""
    parts = [labelled(paragraph) for paragraph in paragraphs(checkpoint.text)]
    why = next((plain(text) for label, text in parts if label in REASONS), "")
    first = checkpoint.text.strip().partition("\n")[0].lstrip("# ")
    title = plain(checkpoint.summary or first)
    if checkpoint.decision or checkpoint.type == "decision":
        type_ = "decision"
        sure = EXPLICIT if checkpoint.decision else TOLD
        choice = plain(checkpoint.decision)
        # Few words say little to somebody who was not there.
        content = statement(title if choice and weight(choice) < FEW else "", choice or title, why)
    elif checkpoint.type in ("learning", "incident"):
        lessons = [plain(text) for label, text in parts if label in _LESSONS]
        type_ = "lesson"
        sure = EXPLICIT if lessons else TOLD
        content = statement(
            title, joined(lessons) or plain(checkpoint.impact), "" if lessons else why
        )
    else:
        return []
    sure = checkpoint.confidence / 5 if checkpoint.confidence else sure
    least = 2 if checkpoint.decision else FEW
    if weight(content) < least:
        return []
    return [Finding(type_, content, sure, (ref,), checkpoint.at)]


def from_commit(ref: str, text: str, at: str = "") -> list[Finding]:
    """The decision that the message of a commit states, if it does."""
    message = read_message(text)
    message = message._replace(body=_without_trailers(message))
    subject = _NUMBERED.sub("", message.subject)
    headline = plain(_PREFIX.sub("", subject) if message.type else subject)
    statements = [
        sentence
        for paragraph in paragraphs(_FORMAL.sub("", message.body))
        for sentence in sentences(paragraph, wrapped=True)
        if not _CHORE.search(sentence)
    ]
    for type_, content, confidence in _claims_of(message, headline, statements):
        if message.breaking or weight(content) > 3:
            return [Finding(type_, excerpt(content, LONGEST), confidence, (ref,), at)]
    return []


def _without_trailers(message: Message) -> str:
    """The body without trailers; a note on what breaks may stand among them and is kept."""
    if any(key.startswith("BREAKING") for key, _ in message.trailers):
        return message.body
    return without_trailers(f"{message.subject}\n\n{message.body}").partition("\n")[2].strip("\n")


def _same_subject(headline: str, sentence: str, *, first: bool) -> bool:
    """Does a sentence of the body speak of what the subject line names?

    It shares a word with it, or it is the first sentence and begins with a pronoun for it.
    """
    subject = claim(headline).terms
    shared = subject & claim(sentence).terms
    pronoun = first and sentence.startswith(("It ", "They ", "This "))
    return pronoun or len(shared) * 4 >= max(1, len(subject)) > 0 < len(shared)


def _is_whole(sentence: str) -> bool:
    """Does a sentence say something to somebody who reads it below its subject alone?"""
    return (
        is_sure(sentence)
        and stands_alone(sentence, 4)
        and is_sound(sentence)
        and not _CONTINUES.match(sentence)
    )


def _claims_of(
    message: Message, headline: str, statements: list[str]
) -> Iterator[tuple[str, str, float]]:
    """What a message may be worth, the surest first."""
    type_ = message.type
    broken = _BREAKS.search(message.body)
    if broken:
        yield "decision", statement(headline, plain(broken[1])), BREAKING
    undone = re.match(r'Revert (".+)', headline)
    reasons = [sentence for sentence in statements if not _CONTINUES.match(sentence)]
    if (type_ == "revert" or undone) and reasons:
        what = (undone[1] if undone else headline).strip('"')
        yield "decision", f"Reverted {what}, because {joined(reasons[:2])}", REVERTED
    about = [
        sentence
        for n, sentence in enumerate(statements)
        if _same_subject(headline, sentence, first=n == 0)
    ]
    if type_ == "fix":
        cause = next(
            (sentence for sentence in about if _CAUSES.search(sentence) and _is_whole(sentence)), ""
        )
        yield from [("lesson", statement(headline, cause), REASONED)] if cause else ()
    for rule, confidence in ((_DECIDES, REASONED), (_AIMS, HINTED)):
        if type_ in _WORTHY:
            reason = next(
                (sentence for sentence in about if rule.search(sentence) and _is_whole(sentence)),
                "",
            )
            yield from [("decision", statement(headline, reason), confidence)] if reason else ()
        if rule.search(headline) and (type_ in _WORTHY or not type_):
            yield "decision", headline, HINTED
    if message.breaking:
        yield "decision", f"Breaking change: {headline}", REASONED
