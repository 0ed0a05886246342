"""What a recall shows of its candidates: the lines that answer, inside a number of tokens.

A prompt is shown with what came of it, and a proposal with the reply to it: see `turns`.
"""

from __future__ import annotations

from itertools import accumulate

from kinen.distill.blocks import unwrapped
from kinen.distill.extract import choose
from kinen.ids import short_id
from kinen.model.journal import Item, Passage
from kinen.model.tuples import NamedTuple
from kinen.recall.candidates import Candidate, is_output, worth
from kinen.recall.order import REPLY as REPLY_MARK
from kinen.recall.order import arranged, is_question, with_later
from kinen.recall.passages import TARGETS, event_title, without_labels
from kinen.recall.tiers import author_of, cited, item, priced
from kinen.recall.wording import memories_first
from kinen.text import QUESTION, breadth, estimate, excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMPACT = 100
"""Tokens of a record in English where there is room for all: the rest is a `kinen show` away."""
LEAST = 24
"""Tokens below which nothing is worth its citation."""
HEADING = 8
"""Tokens of the heading above the hits, and of the remark on what was left out."""
REPLY = 60
"""Tokens of the reply that a record is shown with, if it was not chosen itself."""
COMMAND = 50
"""Characters of a command above a part of its output."""
ACCEPTED = "accepted by the user"
"""Begins what a user's short reply decides."""
TRIES = 4
ROOMY = 900
"""Tokens from which on there is room to cite the session of each record, a third of a citation."""


def excerpts(
    question: str, candidates: Sequence[Candidate], room: int, limit: int = 0
) -> list[Item]:
    """The candidates in order, each with as much of it as helps to answer the question.

    At most `limit` of them, if it is not 0. All together take at most `room` tokens.
    """
    some = [_in_short(entry) for entry in candidates] if room < ROOMY else list(candidates)
    if not question.strip():
        return _beginnings(some, room - 2 * HEADING, limit)
    tokens = room - 2 * HEADING
    done = {entry.hit.record.ref: _done(entry) for entry in some}
    items: list[Item] = []
    for left in reversed(range(TRIES)):
        items = _fitted(question, some, done, tokens)
        if left and limit and len(items) > limit:
            best = {entry.ref for entry in items[:limit]}
            some = [entry for entry in some if _place(entry) in best]
            continue
        items = with_later(items, question)
        over = sum(entry.tokens for entry in items) + 2 * HEADING - room
        if over <= 0:
            break
        tokens -= over
    return memories_first(question, arranged(question, items[: limit or None]))


def _in_short(candidate: Candidate) -> Candidate:
    """A candidate that is cited without its session."""
    record = candidate.hit.record._replace(session="")
    return candidate._replace(hit=candidate.hit._replace(record=record))


def _beginnings(candidates: Sequence[Candidate], room: int, limit: int) -> list[Item]:
    """The candidates in order, as many as fit, each by its first lines."""
    from kinen.text.closing import first_lines

    items: list[Item] = []
    for candidate in candidates[: limit or None]:
        lines = unwrapped(candidate.text).splitlines()
        entry = _item(candidate, first_lines(lines, _compact(candidate.text)))
        if entry.tokens <= room:
            items.append(entry)
            room -= entry.tokens
    return items


def left_out(candidates: Sequence[Candidate], items: Sequence[Item]) -> list[Item]:
    """The candidates that have no item, as they would be shown in a few lines."""
    refs = {candidate.ref for candidate in items}
    replies = {
        reply.hit.record.ref
        for candidate in candidates
        if _place(candidate) in refs
        for reply in replies_of(candidate)
    }
    return [
        _item(candidate, excerpt(candidate.text, 4 * COMPACT))
        for candidate in candidates
        if _place(candidate) not in refs | replies
    ]


def _fitted(
    question: str, candidates: Sequence[Candidate], done: dict[str, list[str]], tokens: int
) -> list[Item]:
    if tokens < LEAST or not candidates:
        return []
    by_ref = {entry.hit.record.ref: entry for entry in candidates}
    heads = {ref: [_citation(entry)] for ref, entry in by_ref.items()}
    passages = [
        Passage(
            ref,
            without_labels(entry.text) if done[ref] else entry.text,
            "",
            entry.hit.record.at,
            is_output(entry.hit),
            worth(entry.hit),
        )
        for ref, entry in by_ref.items()
    ]
    if all(used <= tokens for used in accumulate(map(_cost, candidates))):
        each = [_lines(question, entry, heads) for entry in passages]
        lines = [line for some in each for line in some]
    else:
        lines = choose(question, passages, heads, tokens)
    grouped: dict[str, list[str]] = {}
    for ref, line in lines:
        grouped.setdefault(ref, []).append(line)
    for ref, texts in grouped.items():
        if not texts[0].startswith("$ "):
            grouped[ref] = [*done[ref], *texts]
    _add_replies(question, grouped, by_ref, min(REPLY, tokens // 5))
    return [_item(by_ref[ref], "\n".join(texts)) for ref, texts in grouped.items()]


def _done(candidate: Candidate) -> list[str]:
    """What was done where a hit is part of an edit or of an output, which does not say so."""
    about = candidate.hit.record.metadata or {}
    if not is_output(candidate.hit) or not any(map(about.get, ("command", *TARGETS))):
        return []
    title = event_title(about, candidate.text)
    return [excerpt(title, COMMAND) if title.startswith("$ ") else title]


def _add_replies(
    question: str, grouped: dict[str, list[str]], by_ref: dict[str, Candidate], tokens: int
) -> None:
    """Put the replies of each chosen candidate behind its lines, each with a ref of its own.

    A reply that was chosen itself keeps its lines, and the better place of the two.
    """
    refs = list(grouped)
    chains = {ref: replies_of(by_ref[ref]) for ref in refs}
    # The longest first: the replies to a reply are among them.
    for ref in sorted(filter(chains.get, refs), key=lambda ref: -len(chains[ref])):
        if ref not in grouped:
            continue
        lines = grouped.pop(ref)
        place = refs.index(ref)
        for reply in chains[ref]:
            own = reply.hit.record.ref
            place = min(place, refs.index(own) if own in refs else place)
            first, *others = grouped.pop(own, None) or _reply_lines(question, reply, tokens)
            lines += [f"{REPLY_MARK} [{short_id(own)}] {said_by(reply)}{first}", *others]
        rest = {other: grouped.pop(other) for other in refs[place:] if other in grouped}
        grouped[ref] = lines
        grouped.update(rest)


def _reply_lines(question: str, reply: Candidate, tokens: int) -> list[str]:
    ref = reply.hit.record.ref
    lines = choose(question, [Passage(ref, reply.text)], {ref: []}, tokens)
    return [line for _, line in lines] or [excerpt(reply.text, 4 * tokens)]


def _lines(question: str, passage: Passage, heads: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The lines of one record: all of it if it is short, else what says the most."""
    most = _compact(passage.text)
    if estimate(passage.text) <= most:
        return [(passage.ref, line) for line in passage.text.splitlines()]
    return choose(question, [passage], heads, most + estimate(heads[passage.ref][0]))


def _compact(text: str) -> int:
    """The tokens of a record where there is room for all of them."""
    return round(COMPACT * breadth(text))


def _citation(candidate: Candidate) -> str:
    record = candidate.hit.record
    return cited(
        _place(candidate),
        record.at,
        candidate.hit.space,
        author_of(record),
        record.session,
        copies=candidate.copies,
    )


def _cost(candidate: Candidate) -> int:
    return estimate(candidate.text) + estimate(_citation(candidate)) + 2


def _item(candidate: Candidate, text: str) -> Item:
    entry = item("hits", _place(candidate), text, like=candidate.hit)
    return priced(entry._replace(copies=candidate.copies)) if candidate.copies else entry


def _place(candidate: Candidate) -> str:
    """The ref of a record; of a file with the line of what was found in it."""
    record = candidate.hit.record
    line = candidate.hit.chunk.start_line
    whole = record.kind in ("checkpoint", "plan", "commit")
    return f"{record.ref}:{line}" if record.path and line and not whole else record.ref


class Turn(NamedTuple):
    """Refs of the messages of a turn; empty where there is none."""

    asked: str
    """The agent's message before the prompt, which it may reply to."""
    prompts: tuple[str, ...] = ()
    """Several if the user went on before the agent had said anything."""
    final: str = ""
    """The agent's last message before the user speaks again."""
    following: str = ""
    """The prompt of the next turn."""


def turns(messages: Iterable[tuple[str, str]]) -> dict[str, Turn]:
    """The turn of each message of a session; `messages` are refs and roles in order."""
    by_ref: dict[str, Turn] = {}
    asked = final = ""
    prompts: list[str] = []
    refs: list[str] = []
    for ref, role in messages:
        if role == "user" and final:
            by_ref |= dict.fromkeys(refs, Turn(asked, tuple(prompts), final, ref))
            asked = final
            final = ""
            prompts = []
            refs = []
        if role == "user":
            prompts.append(ref)
        else:
            final = ref
        refs.append(ref)
    return by_ref | dict.fromkeys(refs, Turn(asked, tuple(prompts), final))


def asks(message: str) -> bool:
    """Does a message end in a question, so that what it says is settled by the reply to it?"""
    return is_question(message.strip())


def acceptance(question: str, reply: str) -> str:
    """What a reply such as "yes" or "the second one" decides; empty if it is no mere acceptance."""
    from kinen.text.choices import accepted

    choice = accepted(question, reply)
    if choice is None:
        return ""
    what = choice.what.rstrip("".join(QUESTION) + " ")
    return f"{ACCEPTED} (“{' '.join(reply.split())}”): {what}"


def replies_of(candidate: Candidate) -> tuple[Candidate, ...]:
    """The messages that a candidate is shown with, in the order in which they were said."""
    chain: list[Candidate] = []
    while candidate.reply is not None:
        candidate = candidate.reply
        chain.append(candidate)
    return tuple(chain)


def said_by(reply: Candidate) -> str:
    """What stands before a reply: of a user who did not merely accept something, who says it."""
    by_user = (reply.hit.record.metadata or {}).get("role") == "user"
    return "the user: " if by_user and not reply.text.startswith(ACCEPTED) else ""
