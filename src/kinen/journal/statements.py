"""What a message states: decisions, lessons, rules, what is next; and what is only a step.

Precision before number: a wrong memory costs more than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from kinen.markdown.sentences import is_certain, paragraphs, sentences, stands_alone
from kinen.model.tuples import NamedTuple
from kinen.text import excerpt, lazy_pattern

Kind = Literal["decision", "lesson", "pattern", "next"]
Role = Literal["user", "assistant"]

LONGEST = {"user": 4_000, "assistant": 10_000}
"""Characters of a message; a longer one was pasted."""
SHORT_CUE = 40
LENGTH = 400
"""Characters of a statement."""
WORDS = range(4, 60)
"""Words of a sentence that states one thing."""

_FILLER = lazy_pattern(
    r"(?i)^(?:(?:no|nope|ok|okay|yes|yeah|yep|right|also|and|but|so(?! far)|well|actually|please"
    r"|great|good|perfect"
    r"|excellent|hmm|then|wait|indeed|alright)\b[,.!: ]+){1,4}"
)
_STEP = lazy_pattern(
    r"(?i)(?:now |first,? |next,? |then |also |finally,? |so |and |but ){0,3}"
    r"(?:let me\b(?! know)|let's (?:start|check|see|look|move|run|try|verify|continue|now|first)\b"
    r"|let us\b|i'll\b|i will\b|i'm (?:now |also |just )?\w+ing\b|i am going to\b"
    r"|i need to (?:add|fix|check|see|look"
    r"|read|also|find|import|actually|create|update|wire)\b|i should\b"
    r"|i(?: have|'ve got) (?:now )?(?:a|the|all|full|every|everything|enough|sufficient|thorough)\b"
    r"|i understand\b|i see\b|i can see\b"
    r"|expected\b|continuing\b|starting\b|moving on\b|looking at\b|checking\b"
    r"|running\b|reading\b|waiting\b"
    r"|still (?:compiling|running|waiting)\b|almost done\b|now (?:add|update|write|implement|run"
    r"|create|wire|fix|check|the|i|let|it|for|also|move|we|mark|commit|push|reply|resolve|verify)\b"
    r"|need to\b|(?:\w+ly )?\w+ing\b(?=[^.]{0,120}(?:\.\.\.|…)$)"
    r"|(?:add|update|write|implement|run|create|register|close|check)\b(?=[^.]{0,120}:$))"
)
_GOES_ON = lazy_pattern(
    r"(?i)\b(?:let me\b(?! know)|i'll\b(?! (?:be|wait|leave|stop)\b)"
    r"|i'm (?:now |also |just |still )?(?!assuming|leaving)\w+ing\b|i (?:still |now )?need to\b)"
    r"|(?:[,;:–—] |\bso )need to\b"
)
"""In a sentence: what its author does next, after the reason for it."""
_WAITS = lazy_pattern(
    r"(?i)\b(?:wait(?:ing)? (?:for|on) (?:the )?(?:your?|users?|team|further|next|new|more"
    r"|instructions?|confirmation|approval|feedback)\b|standing by\b"
    r"|i(?:'ll| will) (?:now )?(?:exit|stop)\b"
    r"|(?:if|once|when|whenever|after) you\b|just say\b|say the word\b)"
)
"""Waits for somebody, and not for a command: nothing is done next unless they say so."""
_CITES = lazy_pattern(r"https?://\S|(?<!\w)#\d|\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,40}\b")
"""A link, a number of an issue, a commit: a few words are enough beside it."""
_CODE = lazy_pattern(r"`[^`]{1,200}`")
_EMPTY = lazy_pattern(
    r"(?i)(?:done|clean compile|all green|good|perfect|great|excellent|expected|pushed|fixed|works"
    r"|here(?:'s| is) (?:a|the|what)\b.{0,80})[.!:]*"
)
_COURTESY = lazy_pattern(
    r"(?i)(?:that'?s |this is )?(?:an? )?(?:really |very )?(?:good|great|nice|fair|sound|excellent"
    r"|interesting) (?:\w+ )?(?:catch|point|question|call|idea|instinct|thought)\b.{0,40}"
    r"|you(?:'re| are) (?:absolutely |completely |quite )?right\b.{0,20}"
    r"|glad (?:it|that|they|you|this)\b.{0,40}"
)
"""An answer to the user as a person, which tells nothing."""

_PAST = "mind been seen had used work works worked did was is are got gets said asked thought knew"
_ALWAYS = (
    r"(?:^|[,;:–—] |\b(?:please|and|but|so|or|should|must|shall|to|we|instead) )(?:always|never) "
    rf"(?!(?:{_PAST.replace(' ', '|')})\b|fail|happen|return|want)(?=[\w`])"
    r"|\b(?:from now on|going forward|in all cases|at all times|under no circumstances)\b"
)
_PREFERRED = r"\b(?:i|we)(?:'d| would)? (?:(?:strongly |much )?prefer|rather)\b"
_CHOSEN = (
    r"\b(?:let'?s|we(?:'ll| will|'re going to| are going to| should)) (?:not )?"
    r"(?:use|go with|stick (?:with|to)|keep|drop|switch to|move to|adopt|avoid|support|default to"
    r"|standardi[sz]e|rename|store|target)\b(?! (?:going|it\b|working))"
    r"|\b(?:we|i)(?:'ve| have)? (?:decided|agreed|chose|opted) (?:to|on|that|against|for|not)\b"
    r"|\bwe(?:'re| are) (?:going with|sticking with|moving to|dropping)\b"
    r"|^use (?=\S.{0,200} (?:instead of|rather than) )"
    r"|\bwe (?:don'?t|do not) (?:need|want|support|care about)\b"
    r"|\b(?:must not|should not|shouldn't|mustn't) \w+"
)
_CHOSE = (
    r"\b(?:i|we)(?:'ve| have)? (?:decided|chose|opted|agreed) (?:to|on|for|against|that|not)\b"
    r"|\b(?:i|we)(?:'ll| will|'ve| have)? (?:use|used|went with|go with|switched to|kept|keep"
    r"|replaced|moved|made|dropped|removed)\b.{0,160}"
    r"\b(?:instead of|rather than|because|so that|to avoid|since)\b"
    r"|\bby design\b|\bdeliberately\b|\bintentional(?:ly)?\b|\bon purpose\b"
    r"|\bthe (?:decision|approach|trade-?off) (?:is|was)\b"
    r"|\b(?:is|are|stays?|remains?) (?:off|on|disabled|enabled|opt-in|opt-out) by default\b"
    r"|\b(?:decision|decided|chosen approach)\s*:"
)
_KEPT = r"^(?:remember(?: that| to|:)|(?:keep|bear) in mind(?: that|:)|for the record)\b"
_LESSON = (
    r"\broot cause\b|(?:\bit )?\bturn(?:s|ed) out\b(?: that)?|\b(?:was|were|is|are) caused by\b"
    r"|\bthe (?:(?:actual|real|underlying|main) )?(?:issue|problem|bug|cause|culprit|fix|solution"
    r"|reason|trick)(?: here)? (?:was|were)\b"
    r"|\bknown (?:\w+ ){0,3}(?:bug|issue|conflict|limitation|problem)\b"
    r"|\b(?:doesn't|does not|don't|do not|cannot|can't|won't|isn't|is not|aren't) (?:\w+ ){0,2}"
    r"(?:support(?:ed)?|allow(?:ed)?|work|handle|accept|exist|match|access|include|persist"
    r"|compatible|available|thread-safe|safe)\b(?! yet\b)"
    r"|\b(?:fail(?:s|ed|ing)?|broke(?:n)?|crash(?:es|ed)?|hangs?|hung|error(?:s|ed)?)\b.{0,160}"
    r"\b(?:because|since|due to|as soon as|unless|when|if)\b"
    r"|\bonly works?\b|\bworks? (?:only|because|around)\b|\bgotcha\b|\bworkaround\b"
    r"|^(?:the |one )?caveat\b(?=:| is)(?!: if)"
    r"|\b(?:has|have|needs?|must|requires?)\b.{0,80}\b(?:otherwise|or else|before it|first)\b"
    r"|^(?:note|important|warning|nb)\b ?(?:that|:)"
)
_INTENDED = lazy_pattern(
    r"(?i)\b(?:i'll|i will|i'm (?:now )?\w+ing|i (?:still |now |also )?(?:need|have) to"
    r"|we'll (?:know|see)|unrelated|untracked|untouched)\b"
)
"""Says what its author is about to do, or what was left alone: no decision and no lesson."""
_HYPOTHETICAL = lazy_pattern(r"(?i)(?:even )?if\b")
"""Begins what would be, and not what is."""
_POINTS_BACK = lazy_pattern(
    r"(?i)(?:this|that|these|those)\b(?! (?:project|repo|repository|branch)\b)"
)
"""Begins a sentence that speaks of what stands before it."""
_TASK = lazy_pattern(
    r"(?i)(?:get|fetch|find|look|check|search|read|review|update|add|create|write|fix|implement|run"
    r"|show|explain|make sure|ensure)\b"
)
"""Begins what a user wants done once, whatever the reason for it says."""
_RULES: dict[str, list[tuple[Kind, float, re.Pattern[str]]]] = {
    "user": [
        ("pattern", 0.85, lazy_pattern(_ALWAYS, re.IGNORECASE)),
        ("pattern", 0.8, lazy_pattern(_PREFERRED, re.IGNORECASE)),
        ("decision", 0.85, lazy_pattern(_CHOSEN, re.IGNORECASE)),
        ("lesson", 0.85, lazy_pattern(_KEPT, re.IGNORECASE)),
        ("pattern", 0.6, lazy_pattern(r"(?i)^(?:don'?t|do not|stop|avoid) \w+")),
    ],
    "assistant": [
        ("decision", 0.75, lazy_pattern(_CHOSE, re.IGNORECASE)),
        ("lesson", 0.75, lazy_pattern(_LESSON, re.IGNORECASE)),
    ],
}


class Statement(NamedTuple):
    """A sentence of a message that is worth keeping."""

    kind: Kind
    text: str
    confidence: float


def is_step(sentence: str) -> bool:
    """Does a sentence only announce what is done next, agree, or say that something was done?"""
    text = _plain(sentence)
    if _COURTESY.fullmatch(text):
        return True
    rest = _FILLER.sub("", text, count=1)
    return bool(_STEP.match(rest)) or bool(_EMPTY.fullmatch(rest)) or not rest


def goes_on(sentence: str) -> bool:
    """Does a sentence end on what is done next? `The branch is behind, so I'm rebasing it.`"""
    text = _plain(sentence)
    return not _WAITS.search(text) and (is_step(sentence) or bool(_GOES_ON.search(text)))


def points_back(text: str) -> bool:
    """Does a text begin with what stood before it, as in `That avoids the old layout`?"""
    return bool(_POINTS_BACK.match(text))


def spoken(text: str) -> Iterator[str]:
    """The sentences of a message in its own words: no code, no quotation, no table."""
    for paragraph in paragraphs(text):
        yield from sentences(paragraph)


def has_substance(text: str) -> bool:
    """Does a message say anything but what its author is about to do?"""
    return any(
        not is_step(sentence) and (len(sentence.split()) > 3 or bool(_CITES.search(sentence)))
        for sentence in spoken(text)
    )


def statements(role: Role, text: str) -> Iterator[Statement]:
    """The decisions, lessons and rules that a message states, each by the first rule it meets."""
    if len(text) > LONGEST[role]:
        return
    for sentence in spoken(text):
        claim = _FILLER.sub("", sentence, count=1)
        words = len(claim.split())
        if claim[:1] in "+-|=" or words not in WORDS or is_step(claim) or not _is_stated(claim):
            continue
        if role == "assistant" and (
            _INTENDED.search(_plain(claim)) or _HYPOTHETICAL.match(claim) or points_back(claim)
        ):
            continue
        for kind, confidence, rule in _RULES[role]:
            if kind == "decision" and role == "user" and _TASK.match(claim):
                continue
            match = rule.search(claim)
            if match and stands_alone(_without_cue(claim, match[0])):
                yield Statement(kind, excerpt(claim, LENGTH), confidence)
                break


def _plain(claim: str) -> str:
    return claim.replace("’", "'")


def _without_cue(claim: str, cue: str) -> str:
    """A claim without the words it is known by, unless these are most of what it says."""
    return claim.replace(cue, " ") if len(cue) < SHORT_CUE else claim


def _is_stated(claim: str) -> bool:
    """Is it certain, whatever the code in it looks like?"""
    return is_certain(_CODE.sub("`code`", claim)) and not claim.endswith(":")
