"""A session as a timeline: prompts, edits, commands, errors and messages, repeats folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from kinen.journal import events
from kinen.model.journal import Capsule, Learned, Observation
from kinen.privacy.injected import own_words
from kinen.text import excerpt
from kinen.text.sentences import plain, sentences
from kinen.text.statements import has_substance

Kind = Literal["prompt", "message", "edit", "command", "tool", "error", "round"]

LINES = 64
"""Lines of a timeline unless all is asked for, as `_lines` estimates them."""
TURNS = 10
"""Turns that it shows; of more, the first and the last."""
FIRST_TURNS = 2
LEAST = 3
"""Steps that each turn may have at least."""
NAMES = 3
"""Names in a line that stands for several steps which only looked around."""
LONGEST = 300
"""Characters of a command or an error."""
TITLE = 300
"""Characters of a title or an outcome."""
FIRST_PROMPTS = 12
"""Messages that are looked through for one that somebody typed."""
READS = frozenset("status log diff show branch rev-parse".split())
"""What git is asked that changes nothing."""
_MARKUP = re.compile(r"^\s*(?:#{1,6}|>|[-*+]|\d{1,2}[.)])\s+")
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,60}>")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened in a session, or several equal things in a row."""

    kind: Kind
    at: int
    """Epoch milliseconds of the first."""
    text: str
    """The prompt or message, the command line, the path, or the tool and its target."""
    ref: str = ""
    """The first observation, or the file of a round."""
    ok: bool | None = None
    """Whether it succeeded, where that is known."""
    code: int | None = None
    error: str = ""
    """The line that names what went wrong."""
    result: str = ""
    """Of tests, the line that counts them."""
    files: tuple[str, ...] = ()
    count: int = 1
    look: bool = False
    """Whether it only read something: nothing changed, and a failure breaks nothing."""
    by: str = ""
    """Who recorded it, if that is not the author of the session."""

    @property
    def failed(self) -> bool:
        return self.ok is False

    @property
    def broken(self) -> bool:
        """Whether it is an error, and not merely a search that found nothing."""
        return self.failed and not self.look


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are not shown."""

    steps: int
    prompts: int = 0


@dataclass(frozen=True, slots=True)
class SessionOverview:
    """A session in a list."""

    ref: str
    """`capsule:ID`, or `session:NAME` of a folder."""
    id: str
    """As much of its id as tells it apart; the name of a folder."""
    kind: str
    """`agent`, or `folder` where it is kept by hand."""
    session: str
    """The id that the client gave it, or the name of the folder."""
    agent: str
    status: str
    started: str
    """ISO 8601, UTC."""
    ended: str
    """When it was closed, else when something happened in it last."""
    title: str
    """What it was for: its intent, or the first prompt that somebody typed."""
    outcome: str
    """The first sentence of what it came to."""
    prompts: int = 0
    edits: int = 0
    commands: int = 0
    errors: int = 0
    rounds: int = 0
    by: str = ""
    """The colleague whose session it was; empty for one's own."""

    @property
    def seconds(self) -> int:
        """How long it took; 0 where that is not known."""
        from datetime import datetime

        try:
            began, ended = map(datetime.fromisoformat, (self.started, self.ended))
        except ValueError:
            return 0
        if (began.tzinfo is None) != (ended.tzinfo is None):
            return 0
        return max(0, round((ended - began).total_seconds()))


@dataclass(frozen=True, slots=True)
class SessionTimeline:
    """A session with what happened in it."""

    overview: SessionOverview
    steps: tuple[Step, ...]
    parts: dict[str, str]
    """Of its summary: `intent`, `outcome`, `next`, `state`, `unresolved`, as far as known."""
    memories: tuple[Learned, ...]
    rounds: tuple[str, ...] = ()
    """Of a folder, the paths of its files."""
    artifacts: tuple[str, ...] = ()
    summary_file: str = ""


def steps(observations: Iterable[Observation]) -> Iterator[Step]:
    """What observations tell, in their order; what was redacted is left out."""
    for event in observations:
        if not (event.redacted or event.forgotten_at):
            step = _step(event)
            if step.text.strip() or step.error:
                yield step


def counts(observations: Iterable[Observation]) -> dict[str, int]:
    """How many prompts, edits, commands and errors there are."""
    counts = Counter[str]()
    for step in steps(observations):
        counts[f"{step.kind}s"] += 1
        counts["errors"] += step.broken and step.kind != "error"
    return {name: counts[name] for name in ("prompts", "edits", "commands", "errors")}


def headline(prompt: str) -> str:
    """A prompt on one line, as its user typed it; empty where nobody did."""
    words = own_words(prompt)
    return " ".join(_TAG.sub(" ", words).split()) if words else ""


def title_of(capsule: Capsule, observations: Iterable[Observation]) -> str:
    """What a session was opened for, as somebody typed it; else its first prompt."""
    intent = capsule.intent
    if not intent or intent.lstrip().startswith("<"):  # a client wrote something around it
        prompts = (event.content for event in observations if events.role(event) == "user")
        for prompt in islice(prompts, FIRST_PROMPTS):
            line = headline(prompt)
            if line:
                return excerpt(line, TITLE)
    return excerpt(headline(intent), TITLE)


def first_sentence(text: str) -> str:
    """The first sentence of a text on one line, without markup; a lead-in with what follows it."""
    words = ""
    for line in text.splitlines():
        bare = plain(_MARKUP.sub("", line))
        if not bare or bare.startswith(("|", "<", "```", "---")):
            continue
        words = f"{words} {bare}".strip()
        if not words.endswith(":"):
            break
    sentence = next(iter(sentences(words)), words)
    return excerpt(sentence if len(sentence.split()) > 2 else words, LONGEST)


def _step(event: Observation) -> Step:
    speaker = events.role(event)
    if speaker:
        text = own_words(event.content) if speaker == "user" else event.content.strip()
        return Step("prompt" if speaker == "user" else "message", event.ts, text, event.ref)
    ok = events.succeeded(event)
    step = Step(
        kind="tool",
        at=event.ts,
        text="",
        ref=event.ref,
        ok=ok,
        code=events.exit_code(event),
        error=excerpt(events.error_line(event), LONGEST) if ok is False else "",
        files=tuple(events.files(event)),
        look=events.looks_around(event),
    )
    line = events.command(event)
    if line:
        result = events.test_result(event) if events.is_test(event) else ""
        programs = (program.partition(" ") for program in events.programs(line))
        reads = all(name == "git" and verb in READS for name, _, verb in programs)
        return replace(step, kind="command", text=line, result=result, look=step.look or reads)
    if event.kind == "file_diff":
        return replace(step, kind="edit", text=", ".join(step.files), look=False)
    if event.kind in ("error", "node_error"):
        return replace(step, kind="error", text=events.tool_use(event), look=False)
    if event.kind == "tool_call":
        tool = events.tool_use(event) or events.string(event, "toolName")
        return replace(step, text=tool or excerpt(event.content, LONGEST))
    task = events.string(event, "description") if event.kind == "node_end" else ""
    name = ": ".join(filter(None, [event.content.partition("\n")[0], task]))
    return replace(step, text=excerpt(name, LONGEST), look=False)


def fold(timeline: Iterable[Step]) -> list[Step]:
    """Equal steps in a row as one with a count."""
    folded: list[Step] = []
    for step in timeline:
        last = folded[-1] if folded else None
        same = last and all(
            getattr(last, name) == getattr(step, name) for name in ("kind", "text", "ok", "by")
        )
        if last and same and step.kind not in ("prompt", "message"):
            folded[-1] = replace(step, at=last.at, ref=last.ref, count=last.count + step.count)
        else:
            folded.append(step)
    return folded


def select(
    found: Iterable[Step], only: Sequence[str] = (), file: str = "", failed: bool = False
) -> list[Step]:
    """The steps of some kinds (`prompts`, `edits`, …), about a file, or that failed."""
    chosen = []
    named = re.compile(rf"(?<!\w){re.escape(file)}(?!\w)")
    for step in found:
        names = {f"{step.kind}s", *(["errors"] if step.broken else [])}
        about = not file or any(named.search(text) for text in (*step.files, step.text))
        if (not only or names & set(only)) and about and (step.failed or not failed):
            chosen.append(step)
    return chosen


def overview(timeline: Sequence[Step], lines: int = LINES) -> list[Step | Gap]:
    """The timeline on a page: each prompt, what was done for it, and the message that ends it.

    Steps that only look around are gathered. Of a long session each turn gets its share of the
    lines; failures and edits are shown before commands that went well.
    """
    by_prompt: list[list[Step]] = []
    for step in timeline:
        if step.kind == "prompt" or not by_prompt:
            by_prompt.append([])
        by_prompt[-1].append(step)
    turns = [_gathered(turn) for turn in by_prompt]
    if turns and turns[-1][-1].kind == "message" and len(turns[-1]) > 1:
        turns[-1].pop()  # the outcome tells it
    hidden: list[list[Step]] = []
    if len(turns) > TURNS:
        last = len(turns) - (TURNS - FIRST_TURNS)
        hidden = turns[FIRST_TURNS:last]
        turns = [*turns[:FIRST_TURNS], *turns[last:]]
    share = max(map(len, turns), default=0)
    while share > LEAST and sum(_lines(_cut(turn, share)) for turn in turns) > lines:
        share -= 1
    page: list[Step | Gap] = []
    for number, turn in enumerate(turns):
        if hidden and number == FIRST_TURNS:
            page.append(Gap(sum(map(_size, hidden)), len(hidden)))
        page += _cut(turn, share)
    return page


def _lines(page: Iterable[Step | Gap]) -> int:
    """How many lines steps take, about."""
    count = 0
    for step in page:
        if isinstance(step, Gap):
            count += 1
        elif step.kind in ("prompt", "message"):
            count += 2
        else:
            count += 2 if step.error or step.result else 1
    return count


def _gathered(turn: Sequence[Step]) -> list[Step]:
    """A turn with its looks in a row as one step each, and equal steps folded.

    Of the messages of the agent it has the last that says something.
    """
    spoken = [step for step in turn if step.kind == "message" and has_substance(step.text)]
    gathered: list[Step] = []
    looks: list[Step] = []
    for step in turn:
        if step.kind == "message" and step not in spoken[-1:]:
            continue
        if step.look and not step.broken:
            looks.append(step)
            continue
        gathered += _looks(looks)
        looks = []
        gathered.append(step)
    return fold([*gathered, *_looks(looks)])


def _looks(looks: Sequence[Step]) -> list[Step]:
    if len(looks) < 2:
        return list(looks)
    names = list(dict.fromkeys(_look_name(step) for step in looks))
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    text = f"looked at {', '.join(names[:NAMES])}{more}"
    first = looks[0]
    return [Step("tool", first.at, text, first.ref, True, count=len(looks), look=True)]


def _look_name(step: Step) -> str:
    if step.files:
        return step.files[0].rpartition("/")[2]
    return next(iter(events.programs(step.text)), excerpt(step.text, 40))


def _cut(turn: Sequence[Step], share: int) -> list[Step | Gap]:
    """A turn in at most `share` lines, and how much of it is not shown."""
    if len(turn) <= share:
        return list(turn)
    order = sorted(range(len(turn)), key=lambda n: (_rank(turn[n]), n))
    chosen = set(order[: max(1, share - 1)])
    page: list[Step | Gap] = [*fold(step for n, step in enumerate(turn) if n in chosen)]
    hidden = [step for n, step in enumerate(turn) if n not in chosen]
    place = len(page) - 1 if turn[-1].kind == "message" and len(page) > 1 else len(page)
    page.insert(place, Gap(_size(hidden)))
    return page


def _rank(step: Step) -> int:
    """What is shown first where not everything can be."""
    if step.kind in ("prompt", "message"):
        return 0
    if step.broken:
        return 1
    return {"edit": 2, "command": 3}.get(step.kind, 5 if step.look else 4)


def _size(some: Sequence[Step]) -> int:
    return sum(step.count for step in some)
