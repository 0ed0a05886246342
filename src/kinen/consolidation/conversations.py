"""Draws memories from a session: what was labelled, what the user ruled or chose, and failures.

What an agent merely says is no source: sentences of its prose that look like a decision or a lesson
were wrong in a quarter to two thirds of all cases in projects that nobody had looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kinen.consolidation.claims import Claim, claim, overlap, share
from kinen.journal import events
from kinen.journal.ledger import bare_command
from kinen.model.journal import Finding, Observation, Summary
from kinen.model.tuples import NamedTuple
from kinen.privacy.injected import asks_kinen, is_kinen_tool, own_words, without_reminders
from kinen.text import excerpt, iso
from kinen.text.choices import accepted
from kinen.text.labels import labelled
from kinen.text.sentences import statement
from kinen.text.statements import (
    LABEL,
    LEAST,
    LONGEST,
    RULE,
    Role,
    choice_about,
    request_of,
    statements,
    telling_words,
)

LABELLED = 0.85
RULED = 0.85
CHOSEN = 0.8
AGREED = 0.6
"""How sure a mere yes to a question is: most of those questions are about the next step. So is an
option that nothing says the subject of."""
NEARLY = 0.75
"""The share of the fewer terms from which on two statements of one session are the same."""
_ROLES = {"user_only": ("user",), "assistant_only": ("assistant",), "hybrid": ("user", "assistant")}


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, and its place among the observations of the session."""

    place: int
    role: Role
    text: str
    event: Observation
    closing: bool
    """Is it the last message before the user speaks again, or before the end?"""


def speaking_roles(strategy: str) -> tuple[str, ...]:
    """Whose words count: `user`, `assistant` or both."""
    return _ROLES[strategy]


def from_session(
    observations: Iterable[Observation],
    summaries: Sequence[Summary] = (),
    strategy: str = "hybrid",
) -> list[Finding]:
    """What can be drawn from a session: its observations in order, and summaries written of it."""
    readable = [
        entry
        for entry in observations
        if not (entry.redacted or entry.forgotten_at or is_ours(entry))
    ]
    roles = _ROLES[strategy]
    findings: list[Finding] = []
    before = ""
    request = ""
    for message in read_messages(readable, ("user", "assistant")):
        if message.role in roles:
            findings += _stated(message, before, request)
        before = message.text if message.role == "assistant" else ""
        request = (message.role == "user" and request_of(message.text)) or request
    for summary in summaries:
        if summary.written and not (summary.redacted or summary.forgotten_at):
            at = iso(summary.created_at / 1000)
            findings += [
                _labelled(entry.type, entry.text, entry.reason, summary.ref, at)
                for entry in labelled(summary.content)
            ]
    return [*distinct(dict.fromkeys(findings)), *from_repeated(readable)]


def _labelled(type_: str, text: str, reason: str, ref: str, at: str) -> Finding:
    return Finding(type_, statement("", text, reason), LABELLED, (ref,), at)


def _stated(message: Message, before: str, request: str) -> Iterator[Finding]:
    """What a message states.

    `before` is the agent's message that a prompt replies to, `request` what the user had asked for.
    """
    ref = message.event.ref
    at = iso(message.event.ts / 1000)
    for entry in statements(message.role, message.text):
        if entry.by == LABEL and (message.role == "user" or message.closing):
            yield _labelled(entry.kind, entry.text, entry.reason, ref, at)
        elif entry.by == RULE:
            yield Finding(entry.kind, entry.text, RULED, (ref,), at)
    if message.role != "user":
        return
    choice = accepted(before, message.text) if before else None
    if choice and choice.option:
        about = choice_about(choice, request)
        sure = CHOSEN if about or telling_words(choice.option) >= LEAST else AGREED
        # Only a question that says itself what it is about is the same when it is asked again.
        topic = choice.question if telling_words(choice.question) >= LEAST else ""
        yield Finding("decision", statement(about, choice.taken), sure, (ref,), at, topic)
    elif choice:
        yield Finding("decision", f"{choice.question} Yes.", AGREED, (ref,), at)


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
    """Does one of two claims hold the other? Where each has a term of its own, it may be a name."""
    numbers = [{term for term in each.terms if term.isdigit()} for each in (first, other)]
    same = numbers[0] == numbers[1] and share(first, other) > 0
    return same and overlap(first, other) >= NEARLY


def read_messages(observations: Sequence[Observation], roles: Sequence[str]) -> list[Message]:
    """The messages in their authors' own words; those that are too long to be that are left out."""
    spoken = [(place, role) for place, entry in enumerate(observations) if (role := speaker(entry))]
    messages = []
    for number, (place, role) in enumerate(spoken):
        event = observations[place]
        following = spoken[number + 1][1] if number + 1 < len(spoken) else "user"
        text = own_words(event.content) if role == "user" else without_reminders(event.content)
        if role in roles and len(text) <= LONGEST[role]:
            closing = role == "assistant" and following == "user"
            messages.append(Message(place, role, text, event, closing))
    return messages


def speaker(event: Observation) -> Role | None:
    """Whose words an observation has: `user`, `assistant`, or nobody's."""
    if event.kind == "message":
        return "assistant" if events.teammate(event) else events.role(event)
    return "assistant" if event.kind in ("node_end", "node_output") else None


OFTEN = 3
"""The number of failures from which a command yields a finding."""

_NOTHING_SAID = re.compile(r"(?i)\bexit(?:ed)?\b.{0,20}\b(?:code|status)\b|\bcommand failed\b")
"""An error that only says that there was one."""
_VARYING = re.compile(r"(?i)0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|\d+(?:\.\d+)*|(?:/[\w.@-]+){2,}")


def is_ours(event: Observation) -> bool:
    """Whether an event is a use of kinen, whose results are already stored."""
    return is_kinen_tool(events.string(event, "toolName")) or asks_kinen(events.command(event)) > 0


class _Trouble(NamedTuple):
    """The failures of a command with the same error, and the activity since the last of them."""

    error: str
    failures: tuple[Observation, ...]
    since: tuple[str, ...] = ()
    """Other commands that succeeded."""
    edited: bool = False

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(failure.ref for failure in self.failures)

    @property
    def at(self) -> str:
        return iso(self.failures[0].ts / 1000)


def from_repeated(observations: Iterable[Observation]) -> Iterator[Finding]:
    """Commands that failed often and succeeded after exactly one other command."""
    open_: dict[str, _Trouble] = {}
    for event in observations:
        command = _command(event)
        error = _error(event)
        if command and error:
            before = open_.get(command, _Trouble(error, ()))
            again = before.failures if _signature(before.error) == _signature(error) else ()
            open_[command] = _Trouble(error, (*again, event))
        elif event.kind == "file_diff":
            open_ = {name: trouble._replace(edited=True) for name, trouble in open_.items()}
        elif command and events.succeeded(event):
            was = open_.pop(command, None)
            if was and len(was.failures) >= OFTEN and len(was.since) == 1 and not was.edited:
                text = f"`{command}` failed with `{was.error}` until `{was.since[0]}` was run"
                sources = (*was.refs, event.ref)
                yield Finding("lesson", statement("", text), 0.75, sources, was.at)
            open_ = {
                name: trouble._replace(since=(*trouble.since, command))
                for name, trouble in open_.items()
            }


def from_events(observations: Iterable[Observation]) -> list[Finding]:
    """Commands that failed often with the same error, in two sessions, and did not pass since."""
    troubles: dict[tuple[str, str], _Trouble] = {}
    for event in observations:
        command = _command(event)
        error = _error(event)
        if command and events.succeeded(event):
            troubles = {key: trouble for key, trouble in troubles.items() if key[0] != command}
        elif command and error and not (event.redacted or event.forgotten_at or is_ours(event)):
            key = command, _signature(error)
            trouble = troubles.get(key, _Trouble(error, ()))
            troubles[key] = trouble._replace(failures=(*trouble.failures, event))
    return [
        Finding(
            "pattern",
            statement("", f"`{command}` keeps failing: `{trouble.error}`"),
            0.7,
            trouble.refs,
            trouble.at,
        )
        for (command, _), trouble in troubles.items()
        if len(trouble.failures) >= OFTEN
        and len({failure.capsule for failure in trouble.failures}) > 1
    ]


def _command(event: Observation) -> str:
    return excerpt(bare_command(events.command(event)), 120)


def _error(event: Observation) -> str:
    """The line with the error of a failed command, or an empty string."""
    line = events.named_error(event) if events.failed(event) else ""
    return "" if _NOTHING_SAID.search(line) else excerpt(line, 160).replace("`", "'")


def _signature(error: str) -> str:
    return _VARYING.sub("#", error)
