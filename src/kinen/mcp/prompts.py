"""Prompts that a user picks in a client: recall, and checkpoint."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

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
    "recall": ("What to know before the next task", "topic", "what the work is about", RECALL),
    "checkpoint": (
        "Save what was done in this session, and why",
        "note",
        "what must be in it",
        CHECKPOINT,
    ),
}
"""By name: description, the optional argument, what it is, and the text of the prompt."""


def handlers(*, read_only: bool) -> dict[str, Any]:
    """The functions of a server that list and give the prompts.

    A server that only reads cannot save a checkpoint.
    """
    names = ["recall"] if read_only else list(PROMPTS)
    offered = [_definition(name) for name in names]

    async def list_prompts(_ctx: object, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=offered)

    async def get_prompt(
        _ctx: object, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        if params.name not in names:
            hint = f"no prompt {params.name!r} · use one of {', '.join(names)}"
            raise MCPError(types.INVALID_PARAMS, hint)
        return message(params.name, params.arguments or {})

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}


def _definition(name: str) -> types.Prompt:
    description, argument, meaning, _ = PROMPTS[name]
    parameter = types.PromptArgument(name=argument, description=meaning, required=False)
    return types.Prompt(name=name, description=description, arguments=[parameter])


def message(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    description, argument, _, text = PROMPTS[name]
    value = " ".join(arguments.get(argument, "").split())
    content = types.TextContent(
        type="text", text=text.format(about=f" about: {value}" if value else "")
    )
    return types.GetPromptResult(
        description=description, messages=[types.PromptMessage(role="user", content=content)]
    )
