"""The turns of a session: a prompt, and the message with which the agent ended its work on it."""

from __future__ import annotations

from collections.abc import Iterable

from kinen.journal.choices import accepted
from kinen.model.tuples import NamedTuple
from kinen.recall.order import QUESTION


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


def acceptance(question: str, reply: str) -> str:
    """What a reply such as "yes" or "the second one" decides; empty if it is no mere acceptance."""
    choice = accepted(question, reply)
    if choice is None:
        return ""
    what = choice.option or choice.question.rstrip("".join(QUESTION) + " ")
    return f"accepted by the user (“{' '.join(reply.split())}”): {what}"
