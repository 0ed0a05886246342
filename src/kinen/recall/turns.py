"""The turns of a session: a prompt, and the message with which the agent ended its work on it."""

from __future__ import annotations

from collections.abc import Iterable

from kinen.model.tuples import NamedTuple
from kinen.recall.order import is_question
from kinen.text import QUESTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.recall.candidates import Candidate

ACCEPTED = "accepted by the user"


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
    every = [Turn("")]
    own: list[list[str]] = [[]]
    for ref, role in messages:
        last = every[-1]
        if role != "user":
            every[-1] = last._replace(final=ref)
        elif last.final:
            every[-1] = last._replace(following=ref)
            every.append(Turn(last.final, (ref,)))
            own.append([])
        else:
            every[-1] = last._replace(prompts=(*last.prompts, ref))
        own[-1].append(ref)
    return {ref: turn for turn, refs in zip(every, own, strict=True) for ref in refs}


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
