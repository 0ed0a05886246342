"""Messages between the agents of a team in Claude Code, which reach each of them as prompts.

`<teammate-message teammate_id="NAME" …>` is around each message. The lead hands out tasks, the
others report; what only says who is idle or has ended is left out.
"""

from __future__ import annotations

import json
import re

STATES = ("idle_", "shutdown_", "teammate_terminated")
"""How the types of messages begin that only say who is idle or has ended."""
_MESSAGE = re.compile(
    r"""\s*<teammate-message\s[^<>]{0,200}?teammate_id="(?P<sender>[^"<>]{1,100})"[^<>]{0,1000}>
    (?P<text>(?:(?!</?teammate-message\b).)*)
    </teammate-message>\s*""",
    re.DOTALL | re.VERBOSE,
)


def messages(prompt: str) -> list[tuple[str, str]]:
    """Sender and text of each message; none if a prompt has anything else.

    The text of a message that only reports a state is empty.
    """
    pairs = []
    place = 0
    while message := _MESSAGE.match(prompt, place):
        pairs.append((message["sender"], _readable(message["text"].strip())))
        place = message.end()
    return pairs if place == len(prompt) else []


def _readable(text: str) -> str:
    """A message as a person reads it: of an assigned task its subject and description.

    A kind of message that is not known stays as it is.
    """
    if not text.startswith("{"):
        return text
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if str(fields.get("type")).startswith(STATES):
        return ""
    parts = [fields.get(name) for name in ("subject", "description")]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part) or text
