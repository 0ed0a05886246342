"""Tells what kind of memory a sentence is: decision, lesson, pattern or insight.

- decision: a choice, with its reason or with what was turned down for it;
- lesson: learned the hard way: a cause that was found, a fix after a failure, a known bug;
- pattern: how things are done here: always, never, must, the convention;
- insight: a fact about the system: what it requires, cannot do, or why it works as it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kinen.consolidation.prose import Sentence

LONGEST = 600
"""Characters of a sentence that is looked at; a longer one was not written as one."""
Kind = str
"""One of `MEMORY_TYPES`."""

_CHOICE = (
    r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|chose|opted|settled)\b"
    r"|\b(?:was|were|has been) (?:decided|agreed|chosen)\b|\bis the chosen\b"
    r"|(?<!\bcan )(?<!\bcould )(?<!\bwould )\b(?:use[sd]?|using|chose"
    r"|choose|keep|keeps|kept|keeping|switched|switch|moved|move|replaced"
    r"|replace|replaces|prefer|prefers|preferred|store[sd]?|put|stays?|remains?"
    r"|rename[sd]?|default(?:s|ed)?)\b.{0,160}"
    r"\b(?:instead of|rather than|in favou?r of|to avoid)\b"
    r"|\b(?:instead of|rather than|in favou?r of)\b.{3,160}\b(?:because|since|so that|to avoid)\b"
    r"|\bprefer(?:s|red)? .{2,60} over\b"
    r"|\b(?:kept|left|stays?|remains?)\b.{1,160}\b(?:because|so that|so we|to avoid)\b"
    r"|\b(?:kept|existing|current) .{0,20}behaviou?r\b"
    r"|\b(?:is|are|stays?|remains?) (?:off|on|disabled|enabled|opt-in|opt-out) by default\b"
    r"|\bnot (?:to )?enabled? .{0,60}by default\b"
    r"|\b(?:is|are|was|would be) (?:overkill|too heavy|over-?engineer\w*|not worth|premature)\b"
    r"|\b(?:out of scope|not included|skipped|deferred)\b.{2,160}"
    r"\b(?:because|since|so that|to avoid)\b"
)
_MEANT = (
    r"|\b(?:is|are|stays?|remains?) (?:\S+ ){0,4}?(?:deliberate(?:ly)?|intentional(?:ly)?"
    r"|on purpose|by design)\b|\b(?:deliberate|intentional)ly [a-z]{2,20}s\b"
)
_LIMIT = (
    r"\b(?:throttled|limited|capped|debounced|restricted|truncated|rounded to|expires?"
    r"|times? out)\b.{0,60}(?<![\w-])\d"
    r"|\b(?:max(?:imum)?|at most|no more than|once per|every) .{0,20}\d+ ?\w{0,12}\b"
    r".{0,40}"
    r"\b(?:per|each|by default)\b"
)
_USER_CHOICE = (
    r"\b(?:let'?s|we(?:'ll| will|'re going to| are going to| should)) (?:not )?"
    r"(?:use|keep|store|go with|stick (?:with|to)|drop|switch to|move to|adopt|avoid|support"
    r"|default to|standardi[sz]e|target|treat|require)\b(?! (?:it|this|that)\b)"
    r"|\bwe(?:'re| are) (?:going with|sticking with|moving to|dropping)\b"
    r"|\bwe (?:don'?t|do not) (?:(?:need|want)(?! to)|support|care about)\b"
)
_DUTY = (
    r"\bmust (?:not|never|always|only)\b|\bmustn't\b|\bshould (?:never|always)\b"
    r"|\bmust (?:be|have(?! (?:already|been|\w+ed)\b)|use|go|come"
    r"|stay|match|include|pass|run|live|start|end|keep|contain|exist|deploy|normalize|return)\b"
    r"|\bby convention\b|\bis (?:the|our|a) (?:\w+ )?convention\b"
    r"|\b(?:from now on|going forward|at all times"
    r"|under no circumstances)\b"
    r"|^(?:always|never) (?![a-z]+(?:s|ed)\b)[a-z]"
)
_WISH = r"|\bshould (?:not|only)\b(?! (?:mean|cost|take)\b)|\bshouldn't\b(?! (?:mean|cost|take)\b)"
"""A rule where a user says it; of an agent it is an opinion."""
_RULE = (
    _DUTY + _WISH + r"|(?:[,;:–—] |\b(?:please|and|but|so|or|to|we|instead) )"
    r"(?:always|never) (?!(?:an?|the|any|in|on"
    r"|mind|been|seen|had|did|was|is|are|got|gets|said|asked|thought|knew"
    r"|happen|want|failed|even|called|used|[a-z]{2,20}s|[a-z]{2,20}ed|[a-z]{2,20}able)\b)(?=[\w`])"
)
_PREFERENCE = r"\b(?:i|we)(?:'d| would)? (?:strongly |much |greatly )?(?:prefer|value|rather)\b"
_CAUSE = (
    r"\broot cause (?:is|was|:)|\bturn(?:s|ed) out\b|\b(?:was|were|is|are|been) caused by\b"
    r"|(?:^|[,;:–—] )the (?:(?:actual|real|underlying|main) )?(?:issue|problem|bug|cause|culprit"
    r"|reason)(?: here| now)?(?: is|'s| was| were)\b"
    r"(?! (?:to|in|with|on|at|fixed|gone|solved|resolved|contained|limited|isolated|confined)\b)"
    r"|\b(?:an?|the) (?:known|documented|long-standing) (?:\w+ ){0,3}"
    r"(?:bug|issue|conflict|limitation|problem|quirk)\b"
    r"|\b(?:was|were) (?:too \w+|wrong|broken|missing|incorrect|incomplete)\b.{0,60}\bbecause\b"
    r"|\bgotcha:|\bworkaround (?:for .{3,80} )?(?:is|was)\b"
)
_FAILURE = (
    r"\b(?:fails|breaks|crashes|hangs|rejects|refuses|is rejected)\b.{0,160}"
    r"\b(?:because|due to|since (?!v?\d)|as soon as|if|when|unless)\b"
    r"|, so .{3,160}\b(?:crashes|fails|breaks|rejects)\b"
)
"""Why something fails: a guess unless it cites the error."""
_FACT = (
    r"\b(?:doesn't|does not|don't|do not|cannot|can't|won't|isn't|is not|aren't|are not) "
    r"(?:\w+ ){0,2}(?:support(?:ed)?|allow(?:ed)?|permit(?:ted)?|work|accept|access|persist"
    r"|compatible|available|thread-safe|safe|reachable|enforced|tracked|trigger|fire|propagate"
    r"|inherit|expire)\b"
    r"|\b(?:doesn't|does not|don't|do not|cannot|can't|won't) \w+ .{1,120}"
    r"(?: [–—]|[,;]) (?:so )?(?:we |you )?(?:needs?|must|use|have to)\b"
    r"|\b(?:is|are|was) (?:unsupported|incompatible)\b"
    r"|\bonly works?\b|\bworks? (?:only|because)\b"
    r"|\brequires?\b.{2,160}\b(?:because|since|otherwise)\b|\b(?:is|are) required (?:for|to|by)\b"
    r"|\bmust\b.{2,120}\b(?:because|since|otherwise|or else|before)\b"
    r"|\bfalls? back to\b.{2,120}\b(?:when|if|unless)\b"
    r"|\b(?:RFC \d{3,5}|(?:[A-Z]\w+(?:'s)? |the \w* ?)(?:spec|docs|documentation))\b.{0,30}"
    r"\b(?:says?|defines?|requires?|states?|confirms?)\b"
)
_FLAGS = re.IGNORECASE
_OBLIGATION = re.compile(_DUTY + _WISH, _FLAGS)
_CONTRAST = re.compile(
    r"(?i)\b(?:is|are|has|have|takes?|uses?|stays?|maps? to)\b.{3,160}, (?:not|never) (?:an?|the|`)"
)
"""Says what something is by what it is not."""
_ROLES: dict[str, list[tuple[Kind, float, re.Pattern[str]]]] = {
    "user": [
        ("pattern", 0.85, re.compile(_RULE, _FLAGS)),
        ("pattern", 0.8, re.compile(_PREFERENCE, _FLAGS)),
        ("decision", 0.85, re.compile(f"{_CHOICE}|{_USER_CHOICE}", _FLAGS)),
        (
            "insight",
            0.85,
            re.compile(r"^(?:\w+,? )?(?:remember|(?:keep|bear) in mind|for the record)\b", _FLAGS),
        ),
    ],
    "assistant": [
        ("lesson", 0.8, re.compile(_CAUSE, _FLAGS)),
        ("lesson", 0.75, re.compile(_FAILURE, _FLAGS)),
        ("decision", 0.75, re.compile(_CHOICE + _MEANT, _FLAGS)),
        ("pattern", 0.75, re.compile(_DUTY, _FLAGS)),
        ("insight", 0.7, re.compile(_FACT, _FLAGS)),
    ],
    "plan": [
        ("pattern", 0.8, _OBLIGATION),
        ("decision", 0.8, _CONTRAST),
    ],
}
_FOUND_OUT = ("lesson", "insight")
"""What an agent may find out on its way; what it decides is decided at the end of a turn."""
_CLOSING: list[tuple[Kind, float, re.Pattern[str]]] = [
    ("decision", 0.75, re.compile(_LIMIT, _FLAGS)),
    ("insight", 0.75, re.compile(r"^Why [^:?]{3,80}: (?=[\w`])")),
    ("insight", 0.7, re.compile(r"^`[^`]{2,80}`: .{10,}\bbecause\b")),
]
"""What counts only in the last message of a turn."""
_SITUATION = re.compile(
    r"(?i)(?:(?:\w+ ){0,3}(?:context|background|problems?|symptoms?|root causes?(?: analysis)?)"
    r"|current (?:state|behaviou?r|situation|flow)|(?:the )?(?:issue|bug|why)s?|motivation"
    r"|overview)"
)
"""Headings of a plan under which it tells how things are now, and not what was decided."""
_CHECKS = re.compile(
    r"(?i)(?:\w+ ){0,2}(?:verification|validation|test(?:s|ing)?(?: plan| steps)?|checks?)"
)
"""Headings under which a plan says how it is verified."""
_VERB = re.compile(
    r"(?i)\b(?:is|are|was|will|has|have|does|uses?|stays?|remains?|must|only|no|not|never|instead|because"
    r"|so|default|keeps?|prefer|shows?|requires?|selects?|goes|gets|runs?|returns?|without)\b"
)
_CONCRETE = re.compile(r"`|\d|(?<=[a-z,;] )[A-Z][A-Za-z]+|\b[A-Z]{2,}\b|\w_\w|[a-z][A-Z]")
"""Signs that a sentence speaks of something in particular: code, numbers, names."""
_BARE_RULE = re.compile(r"(?i)(?:always|never)\b")
"""In a plan, a rule that names nothing is about the one thing that the plan makes."""
_NAMED = re.compile(r"`|\w_\w|[a-z][A-Z]|[A-Z]{2,}[a-z]|\w\.[a-z]{2,4}\b")
"""A name from code: without one, what an agent says is advice or talk."""
DECISIONS = re.compile(
    r"(?i)(?!.*\b(?:waiting|open|pending|needed|remaining|to make|for you)\b)"
    r"(?:(?:(?!few|good|some|possible|other|better|best|strong|safe)\w+ ){0,3}"
    r"(?:decisions?|choices)(?: made| taken| locked)?(?: \w+){0,4}"
    r"|(?:\w+ ){0,2}assumptions(?: and defaults)?|(?:key |design |hard )?constraints|non-?goals"
    r"|what we (?:decided|agreed).{0,30}|agreed (?:behaviou?r|approach|design)|locked(?: in)?"
    r"|why (?:this|we) (?:approach|design|chose .{1,40})"
    r"|(?:explicitly |what(?:'s| is) )?(?:not included|excluded).{0,60})"
)
"""Headings under which every item is a decision."""
_EXCLUDED = re.compile(
    r"(?i)^(?:(?:explicitly|what's|what is) )?(?:not included|excluded|non-?goals)"
)
_EXPLICIT = re.compile(r"(?i)\b(?:decided|agreed|chose|opted|settled|turn(?:s|ed) out|known)\b")
"""Words that say by themselves that something was decided or found out."""
_ASIDE = re.compile(r" \([^()]{1,200}\)")
"""What is said by the way in brackets is no reason to keep a sentence."""
_FAULT = re.compile(
    r"(?i)\b(?:stale|wrong|incorrect|broken|hard-?coded|duplicates?|repeats?|ignores?|misses)\b"
    r".{0,80}\b(?:instead of|rather than)\b"
)
"""`uses the stale number instead of the fresh one` is what an agent found, and nobody's choice."""
_ALLEGED = re.compile(_FAILURE, _FLAGS)
_GUESS = re.compile(r"(?i)\b(?:issue|problem|bug|cause|culprit|reason)(?: here| now)?(?: is|'s)$")
_LESSONS = re.compile(
    r"(?i)(?:root causes?|the cause|what (?:went wrong|broke)|lessons?(?: learned)?|gotchas?"
    r"|why (?:it|this) (?:failed|broke|happened)|errors? and fixes|what was wrong)"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What kind of memory a sentence would be, and how sure that is."""

    kind: Kind
    confidence: float
    cue: str = ""
    explains: bool = False
    """Is it labelled as the cause of something?"""

    @property
    def alleged(self) -> bool:
        """Does it only say why something fails? Then it must cite the error."""
        return self.kind == "lesson" and bool(_ALLEGED.fullmatch(self.cue))

    @property
    def tentative(self) -> bool:
        """Is it a cause in the present tense? That is a guess until something is changed for it."""
        return self.kind == "lesson" and bool(_GUESS.search(self.cue))

    @property
    def excluded(self) -> bool:
        """Is it listed among what was decided not to be done?"""
        return self.kind == "decision" and bool(_EXCLUDED.search(self.cue))


def is_cause(title: str) -> bool:
    """Does a label or heading say that what follows is the cause of something?"""
    return bool(_LESSONS.fullmatch(title))


def is_one_statement(sentence: Sentence) -> bool:
    """Do all sentences of its item belong together: a listed decision, or a cause?"""
    title = (sentence.lead or sentence.heading).strip(" :")
    return is_cause(sentence.label) or (sentence.listed and bool(DECISIONS.fullmatch(title)))


def is_bare_rule(text: str) -> bool:
    """Is it a rule in the imperative: always, never?"""
    return bool(_BARE_RULE.match(text))


def is_clause(text: str) -> bool:
    """Does a list item say something, rather than name a thing?"""
    return bool(_VERB.search(text))


def classify(
    sentence: Sentence, role: str, *, closing: bool = True, planned: bool = False
) -> Verdict | None:
    """The kind of memory that a sentence states; None if it states none.

    `closing` says that it is of the last message of a turn: what is explained there was found out.
    `planned` says that it is of a plan that the user handed over: what has a reason was decided.
    """
    text = sentence.text
    if len(text) > LONGEST:
        return None
    title = (sentence.lead or sentence.heading).strip(" :")
    if planned and (_CHECKS.fullmatch(title) or _is_task(sentence)):
        return None
    if sentence.listed and DECISIONS.fullmatch(title):
        return Verdict("decision", 0.85, title) if is_clause(text) or sentence.label else None
    named = role == "user" or bool(_NAMED.search(text))
    if role == "assistant" and is_cause(sentence.label) and _explains(sentence):
        return Verdict("lesson", 0.75, sentence.label, explains=True)
    for kind, confidence, rule in _ROLES["plan" if planned else role]:
        if role == "assistant" and not (closing or kind in _FOUND_OUT):
            continue
        fault = kind == "decision" and _FAULT.search(text)
        match = None if fault else rule.search(_ASIDE.sub("", text))
        if match and (named or _EXPLICIT.search(match[0])):
            return Verdict(kind, confidence, match[0])
    if role == "assistant" and closing and not planned and _CONCRETE.search(text):
        for kind, confidence, rule in _CLOSING:
            if rule.search(text):
                return Verdict(kind, confidence)
        if _LESSONS.fullmatch(title) and not sentence.listed:
            return Verdict("lesson", 0.75, title)
    return None


def _explains(sentence: Sentence) -> bool:
    """Does a sentence after `Root cause:` or `Lesson:` say something of this project?"""
    if sentence.label.lower().startswith("lesson"):
        return bool(_NAMED.search(sentence.text))
    return bool(not sentence.before or _CONCRETE.search(sentence.text))


def _is_task(sentence: Sentence) -> bool:
    """Does a plan tell here how things are before it, name a command to run, or no thing at all?"""
    if _BARE_RULE.match(sentence.text) and not _CONCRETE.search(sentence.text):
        return True
    titles = (sentence.label, sentence.lead, sentence.heading)
    if any(_SITUATION.fullmatch(title.strip(" :")) for title in titles):
        return not _OBLIGATION.search(sentence.text)
    return bool(re.match(r"(?i)(?:run|verify|confirm|check) ", sentence.text))
