"""Draws memories from a session: its messages, and failures that were fixed.

Only what user and agent say in their own words is a source. Pasted text, plans that nobody
accepted, and what kinen itself told the agent are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kinen.consolidation.claims import Claim, claim, overlap
from kinen.consolidation.compactions import from_compaction, sections
from kinen.consolidation.failures import from_repeated, is_ours
from kinen.consolidation.kinds import Verdict, classify, is_bare_rule, is_one_statement
from kinen.consolidation.prose import Sentence, items, read_sentences, whole
from kinen.consolidation.wording import LONGEST as LONGEST_MEMORY
from kinen.consolidation.wording import capitalized, holds, is_sound, standalone
from kinen.journal import events
from kinen.markdown.sentences import sentences
from kinen.model.journal import Finding, Observation, Summary
from kinen.privacy.injected import own_words, without_reminders
from kinen.text import excerpt, iso, terms

LONGEST = {"user": 4_000, "assistant": 12_000}
"""Characters of a message; a longer one was pasted or generated."""
SHORT = 300
"""Characters of a prompt up to which it need not address anybody to be its author's own."""
FORMATTED = 3
"""Paragraphs that begin in bold from which on a prompt was written by an agent."""
LONG = 1_000
"""Characters from which on a prompt may be a template."""
SHOUTED = 3
"""Words in capitals from which on a long prompt was written by a program or for a command."""
RECENT = 12
"""Observations after a failure within which a message may explain it."""
AROUND = 30
"""Observations after a message whose edits belong to what it says."""
MOST_EDITS = 4
SHARED_TERMS = 2
"""Words that an explanation has in common with the error that it explains."""
ERROR = 120
"""Characters of an error in a memory."""
NEARLY = 0.75
"""The share of the fewer terms from which on two statements of one session are the same."""
EXPLAINED = 0.8
AGREED = 0.85
"""How sure what stands under a heading of decisions is."""
_ROLES = {"user_only": ("user",), "assistant_only": ("assistant",), "hybrid": ("user", "assistant")}
_PLAN = re.compile(r"(?im)<proposed_plan>|^#{1,3} (?:[\w ]{0,40} )?plan\b")
_GIVEN_PLAN = re.compile(
    r"(?i)(?:please )?(?:implement|execute|carry out|follow|build|do) (?:this|the)(?: following)?"
    r"(?: \w+)? plan\b"
)
_ACCEPTANCE = re.compile(
    r"(?i)(?:yes|yep|yeah|ok|okay|sure|go|lgtm|perfect|great|good|approved?|proceed|do it"
    r"|sounds good"
    r"|ship it|please implement|implement|continue|looks good)\b"
)
_PASTED = re.compile(
    r"(?i)^(?:diff --git|@@ |\+|-{3} a/|traceback|\s{0,4}at \S+ ?\("
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\[?(?:info|warn|warning|error|debug)\b\]?[: ]|[|>] |error:|you are )"
)
_FORMATTED = re.compile(r"\s{0,3}(?:[-*+] |\d+[.)] )?\*\*[^*\n]{2,80}\*\*")
_SHOUTED = re.compile(r"\b(?:ALWAYS|NEVER|MUST|ONLY|IMPORTANT|CRITICAL|DO NOT|NOT|RULES)\b")
_ADDRESS = re.compile(
    r"(?i)\b(?:i|i'm|i'd|we|we're|you|your|please|let's|lets|my|our|me|us)\b|^(?:implement|add|fix|make"
    r"|create|update|remove|build|write|change|use|refactor|review|continue)\b"
)
"""Words of somebody who speaks to the agent; a review or a log has none."""
_QUOTED = re.compile(r"[`\"“]([^`\"“”\n]{4,160})[`\"”]")
_NEED = re.compile(
    r"(?i)^(?:(?:so|now|ok|and|also),? )?(?:i|we)? ?(?:just )?(?:need|have) to "
    r"(?P<what>[a-z].{10,240})$"
)
_LACK = re.compile(r"(?i)^(?:need|needs|missing|forgot|wrong|the missing) (?P<what>.{10,200})$")


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, and its place among the observations of the session."""

    place: int
    role: str
    text: str
    event: Observation
    planned: bool
    """Is it a plan that the user handed over or accepted?"""
    closing: bool
    """Is it the last message before the user speaks again, or before the end?"""


@dataclass(slots=True)
class Failure:
    """A command that failed, and what was said and done until it succeeded."""

    place: int
    event: Observation
    terms: frozenset[str]
    explanations: list[tuple[Sentence, Message]] = field(default_factory=list)
    edits: dict[str, Observation] = field(default_factory=dict)
    """The first edit of each file since."""
    commands: int = 0
    """Other commands that succeeded since."""


def speaking_roles(strategy: str) -> tuple[str, ...]:
    """Whose words count: `user`, `assistant` or both."""
    return _ROLES[strategy]


def from_session(
    observations: Iterable[Observation],
    summaries: Sequence[Summary] = (),
    strategy: str = "hybrid",
) -> list[Finding]:
    """What can be drawn from a session: its observations in order, and summaries written of it."""
    events_ = [
        entry
        for entry in observations
        if not (entry.redacted or entry.forgotten_at or is_ours(entry))
    ]
    roles = _ROLES[strategy]
    messages = read_messages(events_, roles)
    findings = [finding for message in messages for finding in _stated(message, events_)]
    findings += _fixed(
        events_,
        {message.place: message for message in messages if message.role == "assistant"},
    )
    for summary in summaries:
        if summary.written and not (summary.redacted or summary.forgotten_at):
            findings += _summarized(summary, roles)
    return [*distinct(dict.fromkeys(findings)), *from_repeated(events_)]


def _summarized(summary: Summary, roles: Sequence[str]) -> Iterator[Finding]:
    """What a summary holds that a client, an agent or a person wrote."""
    if "assistant" in roles and sections(summary.content):
        stated = from_compaction(summary.content)
    else:
        stated = (statement for role in roles for statement in statements_of(summary.content, role))
    at = iso(summary.created_at / 1000)
    for verdict, text in stated:
        if not verdict.alleged:
            yield Finding(verdict.kind, text, verdict.confidence, (summary.ref,), at)


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of one session without those that say nearly the same.

    Of two the surer is kept, else the later; it names the sources of both.
    """
    chosen: list[tuple[Finding, Claim]] = []
    for finding in findings:
        own = claim(finding.content)
        twin = next((n for n, (_, other) in enumerate(chosen) if _is_same(own, other)), None)
        if twin is None:
            chosen.append((finding, own))
            continue
        earlier, other = chosen[twin]
        better, worse = (
            (earlier, finding) if earlier.confidence > finding.confidence else (finding, earlier)
        )
        sources = tuple(dict.fromkeys((*better.sources, *worse.sources)))
        chosen[twin] = (better._replace(sources=sources), own if better is finding else other)
    return [finding for finding, _ in chosen]


def _is_same(first: Claim, other: Claim) -> bool:
    numbers = [{term for term in each.terms if term.isdigit()} for each in (first, other)]
    return (
        first.negative == other.negative
        and numbers[0] == numbers[1]
        and not (first.rejected & other.terms or other.rejected & first.terms)
        and overlap(first, other) >= NEARLY
    )


def read_messages(observations: Sequence[Observation], roles: Sequence[str]) -> list[Message]:
    """The messages in their authors' own words; pasted ones and unaccepted plans are left out."""
    spoken = [(place, role) for place, entry in enumerate(observations) if (role := speaker(entry))]
    messages = []
    for number, (place, role) in enumerate(spoken):
        event = observations[place]
        following = spoken[number + 1] if number + 1 < len(spoken) else None
        closing = role == "assistant" and (following is None or following[1] == "user")
        text = own_words(event.content) if role == "user" else without_reminders(event.content)
        answer = observations[following[0]].content if following and following[1] == "user" else ""
        if role in roles and not is_pasted(text, role) and _is_held(text, role, answer):
            planned = bool((_GIVEN_PLAN.match if role == "user" else _PLAN.search)(text))
            messages.append(Message(place, role, text, event, planned, closing))
    return messages


def speaker(event: Observation) -> str:
    """Whose words an observation has: `user`, `assistant`, or nobody's."""
    if event.kind == "message":
        return "assistant" if events.teammate(event) else events.role(event) or ""
    return "assistant" if event.kind in ("node_end", "node_output") else ""


def is_pasted(text: str, role: str) -> bool:
    """Is a message, by its length or its lines, something that was copied into the session?"""
    if len(text) > LONGEST["assistant" if role != "user" or _GIVEN_PLAN.match(text) else "user"]:
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if role != "user" or not lines:
        return False
    formatted = sum(map(bool, map(_FORMATTED.match, lines))) >= FORMATTED
    shouted = len(text) > LONG and len(_SHOUTED.findall(text)) >= SHOUTED
    if (formatted or shouted) and not _GIVEN_PLAN.match(text):
        return True
    foreign = sum(bool(_PASTED.match(line)) for line in lines)
    addressed = len(text) <= SHORT or _ADDRESS.search(text)
    return foreign * 4 > len(lines) or bool(_PASTED.match(lines[0])) or not addressed


def _is_held(text: str, role: str, answer: str) -> bool:
    """Does a message stand for what is done? A plan does if the user accepted it."""
    if role == "user" or not _PLAN.search(text):
        return True
    return bool(_ACCEPTANCE.match(answer.strip())) and len(answer) < LONGEST["user"]


def _stated(message: Message, observations: Sequence[Observation]) -> Iterator[Finding]:
    edits = _edits_after(observations, message.place) if message.role == "assistant" else []
    stated = statements_of(
        message.text, message.role, closing=message.closing, planned=message.planned
    )
    for verdict, statement in stated:
        text = statement
        if verdict.tentative and (not edits or text.startswith("`")):
            continue  # a guess, or of code that the edits changed
        if verdict.alleged and not _cites_error(text, observations[: message.place]):
            continue
        if verdict.explains and _edits_before(observations, message.place):
            text = f"Cause of a fixed bug: {text}"
        yield finding(verdict.kind, text, verdict.confidence, message.event, *edits)


def statements_of(
    text: str, role: str, *, closing: bool = True, planned: bool = False
) -> Iterator[tuple[Verdict, str]]:
    """What a text states, each as a sentence that stands alone, with its kind."""
    for options in _units(text):
        verdict = classify(options[0], role, closing=closing, planned=planned)
        if not verdict:
            continue
        agreed = verdict.confidence >= AGREED or (role == "user" and not planned)
        directive = agreed or is_bare_rule(options[0].text)
        task = planned or role == "assistant"
        statements = (standalone(option, directive=directive, task=task) for option in options)
        statement = next(filter(None, statements), "")
        if not agreed and not any(holds(part, planned=planned) for part in sentences(statement)):
            continue
        if statement and verdict.excluded:
            statement = f"Not included: {statement}"
        if statement:
            yield verdict, statement


def _units(text: str) -> Iterator[tuple[Sentence, ...]]:
    """What may be a statement: a sentence, or an item as a whole, then its first sentence alone."""
    for item in items(read_sentences(text)):
        if is_one_statement(item[0]):
            yield whole(item, LONGEST_MEMORY), item[0]
        else:
            yield from ((sentence,) for sentence in item)


def finding(kind: str, text: str, confidence: float, *sources: Observation) -> Finding:
    """A finding dated by the first of the observations that it rests on."""
    refs = tuple(dict.fromkeys(source.ref for source in sources))
    return Finding(kind, text, confidence, refs, iso(sources[0].ts / 1000))


def _cites_error(text: str, before: Sequence[Observation]) -> bool:
    """Has a statement words, in quotes or as code, that a user reported or a failure showed?"""
    quoted = [span for span in _QUOTED.findall(text) if " " in span]
    seen = (e.content for e in before if events.failed(e) or speaker(e) == "user")
    return bool(quoted) and any(span in content for content in seen for span in quoted)


def _edits_after(observations: Sequence[Observation], place: int) -> list[Observation]:
    """The first edit of each file after a message, before the user speaks again."""
    edits: dict[str, Observation] = {}
    for event in observations[place + 1 : place + 1 + AROUND]:
        if speaker(event) == "user" or len(edits) >= MOST_EDITS:
            break
        if event.kind == "file_diff":
            for path in events.files(event)[:1]:
                edits.setdefault(path, event)
    return list(edits.values())


def _edits_before(observations: Sequence[Observation], place: int) -> bool:
    """Was a file edited since the user spoke last?"""
    for event in reversed(observations[:place]):
        if event.kind == "file_diff":
            return True
        if speaker(event) == "user":
            return False
    return False


def _fixed(observations: Sequence[Observation], messages: dict[int, Message]) -> Iterator[Finding]:
    """What explains a failure that was followed by an edit or a command, and then by success."""
    open_failures: dict[tuple[str, ...], Failure] = {}
    for place, event in enumerate(observations):
        message = messages.get(place)
        if message:
            for failure in open_failures.values():
                _explain(failure, message)
        elif event.kind == "file_diff" and not events.failed(event):
            for failure in open_failures.values():
                for path in events.files(event)[:1]:
                    failure.edits.setdefault(path, event)
        elif events.command(event) and not is_ours(event):
            name = events.deeds(event)
            if events.failed(event):
                if not events.looks_around(event):
                    known = frozenset(terms(f"{events.command(event)} {_tail(event)}", 400))
                    open_failures[name] = Failure(place, event, known)
                continue
            for key in [key for key in open_failures if set(key) & set(name)]:
                yield from _lessons(open_failures.pop(key), event)
            for failure in open_failures.values():
                failure.commands += 1


def _tail(event: Observation) -> str:
    text = events.body(event)
    return text[:4_000] + " " + text[-8_000:]


def _explain(failure: Failure, message: Message) -> None:
    if message.place - failure.place > RECENT:
        return
    for sentence in read_sentences(message.text):
        shared = failure.terms & set(terms(sentence.text))
        if len(shared) >= SHARED_TERMS:
            failure.explanations.append((sentence, message))


def _lessons(failure: Failure, success: Observation) -> Iterator[Finding]:
    """What was said between a failure and the success, where something was changed for it."""
    if not (failure.edits or failure.commands):
        return
    edits = list(failure.edits.values())[:MOST_EDITS]
    for sentence, message in failure.explanations[:3]:
        text = _lesson(sentence, failure.event)
        if text:
            sources = (message.event, failure.event, *edits, success)
            yield finding("lesson", text, EXPLAINED, *sources)


def _lesson(sentence: Sentence, event: Observation) -> str:
    """What an agent said that it had to do, with the error that it did it for."""
    need = _NEED.match(sentence.text) or _LACK.match(sentence.text)
    error = excerpt(events.named_error(event), ERROR).replace("`", "'").strip()
    program = next(iter(events.programs(events.command(event))), "")
    if not (need and error and program):
        return ""
    remedy = need["what"] if need.re is _NEED else sentence.text
    if not set(terms(remedy)) & set(terms(error)):
        return ""
    text = f"`{program}` failed with `{error}`: {remedy}"
    return capitalized(text) if is_sound(text) else ""
