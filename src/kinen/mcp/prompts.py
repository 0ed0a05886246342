"""Prompts that a user picks in a client: recall, and checkpoint."""

from __future__ import annotations

import mcp_types as types

RECALL = (
    "Call kinen_recall{about}, then tell me in a few lines what is planned, decided and open, each"
    " with its ref. Do not start working yet."
)
CHECKPOINT = (
    "Save a checkpoint of this session with kinen_checkpoint{about}: what was done or learned and"
    " why, decisions with their alternatives, and the next step. Tick off the steps of the active"
    " plan that are done with kinen_plan."
)
PROMPTS = {
    "recall": (
        "What to know before the next task",
        "topic",
        "what the work is about",
        RECALL,
    ),
    "checkpoint": (
        "Save what was done in this session, and why",
        "note",
        "what must be in it",
        CHECKPOINT,
    ),
}
"""By name: description, the optional argument, what it is, and the text of the prompt."""


def definitions(*, read_only: bool) -> list[types.Prompt]:
    """The prompts that this server offers; one that only reads cannot save a checkpoint."""
    names = ["recall"] if read_only else list(PROMPTS)
    return [_definition(name) for name in names]


def _definition(name: str) -> types.Prompt:
    description, argument, meaning, _ = PROMPTS[name]
    parameter = types.PromptArgument(name=argument, description=meaning, required=False)
    return types.Prompt(name=name, description=description, arguments=[parameter])


def message(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """The prompt as the user's message."""
    description, argument, _, text = PROMPTS[name]
    value = " ".join(arguments.get(argument, "").split())
    content = types.TextContent(
        type="text", text=text.format(about=f" about: {value}" if value else "")
    )
    return types.GetPromptResult(
        description=description, messages=[types.PromptMessage(role="user", content=content)]
    )
