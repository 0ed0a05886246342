"""Reads the hook payloads of Claude Code.

Its transcripts contain the same objects: a hook's `tool_response` is a line's `toolUseResult`.
`tool_use` reads them for both. Kinds, content and provenance are Kindling's. Hooks load this
module: it imports nothing that `sqlite3` does not.
"""

from __future__ import annotations

from kinen.agents import tool_use as rules
from kinen.agents.tool_use import Draft, Sieve, ToolUse, text_of
from kinen.privacy.injected import is_kinen_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Payload = dict[str, Any]

REFUSED = "The user doesn't want to"
"""Start of the result of a tool use that the user refused."""
INSTEAD = "the user said:\n"
EXIT_UNKNOWN = ("backgroundTaskId", "returnCodeInterpretation", "exit_unknown")
"""Fields of a response that say nothing of how a command ended."""
RESCUED_TEXTS = ("prompt", "last_assistant_message", "compact_summary", "error")


def event(payload: Payload, sieve: Sieve) -> Draft | None:
    """The event of a payload; None if nothing of it is stored."""
    read = READERS.get(text_of(payload, "hook_event_name"))
    if read is None or payload.get("agent_type") == "" or payload.get("isMeta"):
        return None  # agents without a type are the client's own
    draft = read(payload, sieve)
    agent_id = text_of(payload, "agent_id")
    if draft is not None and agent_id:
        draft.provenance["agentId"] = agent_id
        draft.provenance["agentType"] = text_of(payload, "agent_type")
    return draft


def summary(payload: Payload, sieve: Sieve) -> str:
    """The summary of a compacted conversation, without the analysis before it."""
    text = text_of(payload, "compact_summary").rpartition("<summary>")[2]
    return rules.summary(text.partition("</summary>")[0], sieve)


def rescued(payload: Payload, sieve: Sieve) -> Draft | None:
    """An event of the plain texts in a payload whose reader failed; None if there are none."""
    tool = text_of(payload, "tool_name")
    inputs = _inputs(payload)
    if is_kinen_tool(tool):
        return None
    texts = [text_of(payload, name) for name in RESCUED_TEXTS]
    input_texts = [value for value in inputs.values() if isinstance(value, str)]
    response = payload.get("tool_response")
    results = response.values() if isinstance(response, dict) else [response]
    texts += input_texts[: rules.MANY_INPUTS]
    texts += [value for value in results if isinstance(value, str)]
    text = "\n".join(rules.clip(sieve.clean(part), rules.RESULT) for part in texts if part)
    if not text:
        return None
    about = {"event": text_of(payload, "hook_event_name"), "toolName": tool}
    draft = Draft("message", text, about)
    names = (*rules.FILE_INPUTS, *rules.FOLDER_INPUTS)
    draft.files = [sieve.place(text_of(inputs, name)) for name in names if text_of(inputs, name)]
    words = [word for part in input_texts for word in part.split()[: rules.MANY_WORDS]]
    draft.mentions = [word.strip(rules.QUOTES) for word in words]
    return draft


def tool_use(tool: str, inputs: Payload, response: Any) -> ToolUse | None:
    """A successful tool use, from the client's response; None if it still runs."""
    if not isinstance(response, dict):
        return ToolUse(tool, inputs, result_text(response), exit_code=0)
    if response.get("status") == "async_launched":
        return None  # a subagent in the background: its report comes later
    use = ToolUse(tool, inputs, exit_code=0, interrupted=response.get("interrupted") is True)
    if tool in rules.SHELLS:
        if response.get("isImage") is not True:  # a picture is not text
            streams = (text_of(response, name).strip("\n") for name in ("stdout", "stderr"))
            use.result = "\n".join(streams)
        if any(response.get(name) for name in EXIT_UNKNOWN):
            use.exit_code = None
    elif tool in rules.EDITS:
        use.diff = diff(inputs, response)
    elif tool not in rules.WITHOUT_RESULT:
        use.result = result_text(response)
    return use


def refusal(error: str, sieve: Sieve) -> Draft | None:
    """The message of a user who refused a tool use; None if there is none."""
    return rules.message("user", error.partition(INSTEAD)[2], sieve)


def diff(inputs: Payload, response: Payload) -> str:
    """What an edit changed, as a short unified diff."""
    if text_of(response, "diff"):
        return text_of(response, "diff")
    lines: list[str] = []
    hunks = response.get("structuredPatch")
    for hunk in hunks if isinstance(hunks, list) else ():
        if isinstance(hunk, dict):
            old = f"{hunk.get('oldStart')},{hunk.get('oldLines')}"
            new = f"{hunk.get('newStart')},{hunk.get('newLines')}"
            lines.append(f"@@ -{old} +{new} @@")
            changes = hunk.get("lines")
            lines += changes if isinstance(changes, list) else ()
    lines = [line for line in lines if isinstance(line, str)]
    if lines or response.get("type") == "update":
        return "\n".join(lines)
    return rules.changed(inputs)


def result_text(response: Any) -> str:
    """The text of a tool's result, whatever its shape."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(filter(None, map(result_text, response)))
    if not isinstance(response, dict) or not response:
        return ""
    for name in ("result", "text", "content", "stdout", "results"):
        text = result_text(response.get(name))
        if text:
            return text
    if response.get("type") in ("image", "audio", "resource"):
        return ""
    if text_of(response, "title") and text_of(response, "url"):
        return f"{response['title']} {response['url']}"
    import json  # rarely needed: few results have another shape

    return json.dumps(response, ensure_ascii=False)


def _inputs(payload: Payload) -> Payload:
    inputs = payload.get("tool_input")
    return inputs if isinstance(inputs, dict) else {}


def _with_key(draft: Draft | None, *key: str) -> Draft | None:
    """The draft with its key in the client; a key that lacks a part is none."""
    if draft is not None and all(key):
        draft.key = key
    return draft


def _prompt(payload: Payload, sieve: Sieve) -> Draft | None:
    draft = rules.message("user", text_of(payload, "prompt"), sieve)
    text = draft.text if draft else ""
    return _with_key(draft, text_of(payload, "session_id"), text_of(payload, "prompt_id"), text)


def _answer(payload: Payload, sieve: Sieve) -> Draft | None:
    draft = rules.message("assistant", text_of(payload, "last_assistant_message"), sieve)
    key = (text_of(payload, "session_id"), text_of(payload, "prompt_id"), "answer")
    return _with_key(draft, *key, draft.text if draft else "")


def _subagent_stop(payload: Payload, sieve: Sieve) -> Draft | None:
    text = text_of(payload, "last_assistant_message")
    draft = rules.report(text_of(payload, "agent_type"), text, sieve)
    return _report(payload, draft, text_of(payload, "agent_id"))


def _report(payload: Payload, draft: Draft | None, agent_id: str) -> Draft | None:
    """A report of a subagent; its tool use and its end have the same key, so it is stored once."""
    return _with_key(draft, text_of(payload, "session_id"), agent_id, draft.text if draft else "")


def _tool_succeeded(payload: Payload, sieve: Sieve) -> Draft | None:
    response = payload.get("tool_response")
    use = tool_use(text_of(payload, "tool_name"), _inputs(payload), response)
    draft = rules.observe(use, sieve) if use else None
    if draft is not None and draft.kind == "node_end" and isinstance(response, dict):
        return _report(payload, draft, text_of(response, "agentId"))
    return _tool_event(payload, draft)


def _tool_failed(payload: Payload, sieve: Sieve) -> Draft | None:
    error = text_of(payload, "error")
    if error.startswith(REFUSED):
        return _tool_event(payload, refusal(error, sieve))
    use = ToolUse(text_of(payload, "tool_name"), _inputs(payload), error, failed=True)
    use.interrupted = payload.get("is_interrupt") is True
    return _tool_event(payload, rules.observe(use, sieve))


def _tool_event(payload: Payload, draft: Draft | None) -> Draft | None:
    id_ = text_of(payload, "tool_use_id")
    if draft is not None and id_ and "toolName" in draft.provenance:
        draft.provenance["toolUseId"] = id_
    return _with_key(draft, id_)


READERS = {
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool_succeeded,
    "PostToolUseFailure": _tool_failed,
    "SubagentStop": _subagent_stop,
    "Stop": _answer,
}
