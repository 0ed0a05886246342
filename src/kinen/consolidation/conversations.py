"""Draws memories from a session: what was labelled, what the user ruled or chose, and failures.

What an agent merely says is no source: sentences of its prose that look like a decision or a lesson
were wrong in a quarter to two thirds of all cases in projects that nobody had looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kinen.consolidation.claims import Claim, claim, overlap, share
from kinen.consolidation.failures import from_repeated, is_ours
from kinen.journal import events
from kinen.journal.choices import accepted
from kinen.journal.statements import (
    LEAST,
    STRUCTURED,
    TYPED,
    choice_about,
    request_of,
    telling_words,
)
from kinen.markdown.labels import Labelled, labelled
from kinen.markdown.sentences import (
    paragraphs,
    sentences,
    size,
    statement,
)
from kinen.model.journal import Finding, Observation, Summary
from kinen.privacy.injected import own_words, without_reminders
from kinen.text import STOP_WORDS, iso, lazy_pattern

LONGEST = {"user": 4_000, "assistant": 12_000}
"""Characters of a message; a longer one was pasted or generated."""
LABELLED = 0.85
RULED = 0.85
CHOSEN = 0.8
AGREED = 0.6
"""How sure a mere yes to a question is: most of those questions are about the next step. So is an
option that nothing says the subject of."""
NEARLY = 0.75
"""The share of the fewer terms from which on two statements of one session are the same."""
_ROLES = {"user_only": ("user",), "assistant_only": ("assistant",), "hybrid": ("user", "assistant")}

ALWAYS = frozenset(
    """always never nie niemals immer stets jamais toujours nunca siempre jamás sempre никогда
    всегда 永远 绝不 絕不 切勿 始终 总是 务必 必须 必ず 常に 絶対に 決して""".split()
)
"""Words of a standing rule, where the sentence begins with them or with an order."""
HENCEFORTH = tuple(
    phrase.strip()
    for phrase in """from now on, going forward, under no circumstances, ab jetzt,
    ab sofort, künftig, in zukunft, désormais, à partir de maintenant, dorénavant,
    a partir de ahora, de ahora en adelante, a partir de agora, daqui em diante,
    отныне, впредь, с этого момента,
    从现在开始, 从现在起, 以后都, 今后, 今後は, これからは""".replace("\n", " ").split(",")
)
"""Phrases at either end of a sentence that make it a standing rule."""
REMEMBER = tuple(
    phrase.strip()
    for phrase in """remember that, remember:, keep in mind that, merk dir, merke dir, denk daran,
    souviens-toi, retiens que, n'oublie pas que, recuerda que, recuerda:, lembre-se, lembra que,
    запомни, помни, 记住, 記住, 请记住, 覚えておいて""".replace("\n", " ").split(",")
)
"""Beginnings of a sentence that asks to remember what follows."""
_COURTESY = frozenset(
    "please bitte s'il vous plaît por favor пожалуйста 请 and but also so".split()
)
_VERBS = frozenset("be do have just".split())
_ARTICLES = frozenset("le la les un une el los las una o os as um uma encore".split())
_GERMAN = frozenset("nie niemals immer stets".split())
_PARTICLES = frozenset("ne no do not don't n'".split())
_WORD = lazy_pattern(r"[^\W_]+(?:['’-][^\W_]+)*|`[^`]+`")
_CLAUSE = lazy_pattern(r"[,;:–—]\s+|\s-\s|[，、；：]")
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, and its place among the observations of the session."""

    place: int
    role: str
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
            findings += [_finding(one, summary.ref, at) for one in labelled(summary.content)]
    return [*distinct(dict.fromkeys(findings)), *from_repeated(readable)]


def _finding(entry: Labelled, ref: str, at: str) -> Finding:
    return Finding(entry.type, statement("", entry.text, entry.reason), LABELLED, (ref,), at)


def _stated(message: Message, before: str, request: str) -> Iterator[Finding]:
    """What a message states.

    `before` is the agent's message that a prompt replies to, `request` what the user had asked for.
    """
    ref = message.event.ref
    at = iso(message.event.ts / 1000)
    if message.role == "user" or message.closing:
        yield from (_finding(entry, ref, at) for entry in labelled(message.text))
    if message.role != "user":
        return
    for rule in rules_of(message.text):
        yield Finding("pattern", rule, RULED, (ref,), at)
    choice = accepted(before, message.text) if before else None
    if choice and choice.option:
        about = choice_about(choice, request)
        sure = CHOSEN if about or telling_words(choice.option) >= LEAST else AGREED
        # Only a question that says itself what it is about is the same when it is asked again.
        topic = choice.question if telling_words(choice.question) >= LEAST else ""
        yield Finding("decision", statement(about, choice.taken), sure, (ref,), at, topic)
    elif choice:
        yield Finding("decision", f"{choice.question} Yes.", AGREED, (ref,), at)


def rules_of(prompt: str) -> Iterator[str]:
    """The standing rules that a user types: `Never …`, `From now on …`, `Remember that …`."""
    if len(prompt) > TYPED or STRUCTURED.search(prompt):
        return
    for paragraph in paragraphs(prompt):
        for sentence in sentences(paragraph):
            rule = _rule(sentence)
            if rule:
                yield rule


def _rule(sentence: str) -> str:
    """The rule in a sentence, without a word such as `no,` before it; empty if it is none."""
    if sentence.rstrip().endswith(("?", "？", ":", "：", "…", "...")):
        return ""
    clauses = _CLAUSE.split(sentence)
    if len(clauses) > 1 and size(clauses[0]) == 1:
        sentence = sentence[len(clauses[0]) :].lstrip(" ,;:–—-，、")
        clauses = clauses[1:]
    if size(sentence) < 4:
        return ""
    order = sentence
    while (first := _WORD.match(order)) and first[0].casefold() in _COURTESY:
        order = order[first.end() :].lstrip(" ,，")
    low = order.casefold().replace("’", "'")
    beginning = next((phrase for phrase in REMEMBER if low.startswith(phrase)), "")
    if beginning:
        return order[len(beginning) :].lstrip(" ,:，：、")
    if low.startswith(HENCEFORTH) or low.rstrip(" .!。！").endswith(HENCEFORTH):
        return sentence
    return sentence if any(map(_orders, clauses)) or _contrasts(clauses) else ""


def _contrasts(clauses: Sequence[str]) -> bool:
    """Do clauses end as in `Use pnpm, never npm`?"""
    if len(clauses) != 2:
        return False
    first, last = (_WORD.findall(clause.casefold()) for clause in clauses)
    alone = len(last) == 2 and last[0] in ALWAYS and last[1] not in STOP_WORDS
    return alone and len(first) > 1 and first[0] not in STOP_WORDS


def _orders(clause: str) -> bool:
    """Does a clause begin with `always` or `never`, or with an order and one of them?"""
    low = clause.casefold().replace("’", "'")
    low = low.replace("don't ever ", "never ").replace("do not ever ", "never ")
    if _CJK.search(low):
        return any(0 <= low.find(word) < 8 for word in ALWAYS)
    words = [word for word in _WORD.findall(low) if word not in _COURTESY]
    head = [word for word in words[:4] if word not in _PARTICLES][:2]
    if len(words) < 3:
        return False
    if head and head[0] in ALWAYS:
        return _is_order(head[0], words[words.index(head[0]) + 1 :])
    # English puts the word first in an order: `tests always fail` tells of something.
    return len(head) > 1 and head[1] in ALWAYS - {"always", "never"}


def _is_order(word: str, after: Sequence[str]) -> bool:
    """Is what follows `always` or `never` an order?

    `Always the same error`, `Never tested this` and `never mind` tell of something. A German order
    ends in its verb.
    """
    following = after[0] if after else ""
    if word in _GERMAN:
        return following != "noch" and after[-1:] != [] and after[-1].endswith("n")
    past = following.endswith("ed") and not following.endswith(("eed", "embed"))
    story = following == "mind" or past or (len(following) > 6 and following.endswith("ing"))
    return not story and following not in _ARTICLES and following not in STOP_WORDS - _VERBS


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


def speaker(event: Observation) -> str:
    """Whose words an observation has: `user`, `assistant`, or nobody's."""
    if event.kind == "message":
        return "assistant" if events.teammate(event) else events.role(event) or ""
    return "assistant" if event.kind in ("node_end", "node_output") else ""
