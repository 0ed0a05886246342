"""Translates the payload of any agent's hook into the shared shape, by its description.

The shared shape is that of Claude Code, so that the same readers, rules and handlers serve every
agent. Hooks load this module: it imports nothing that `sqlite3` does not.
"""

from __future__ import annotations

from kinen import ids
from kinen.agents.claude_code import result_text
from kinen.agents.client import SHARED_EVENTS
from kinen.agents.tool_use import EDITS, SHELLS, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kinen.agents.client import Client, Result

    Payload = dict[str, Any]

STARTS = {"new": "startup"}
"""What agents call the start of a session that Claude Code calls otherwise."""
EMPTY = "(empty)"
"""What stands in a report for no output."""
LONGEST_CODE = 6
"""Digits of an exit code."""


def shared(
    payload: Payload, client: Client, event: str, parse: Callable[[bytes], Payload]
) -> Payload:
    """A payload in the shared shape; its event is empty if kinen does nothing with it.

    `event` is the client's name of the event, and `parse` reads JSON that stands in a text.
    """
    fields = dict(payload)
    for name, paths in client.fields.items():
        values = (at(payload, path) for path in paths)
        value = next((value for value in values if value not in (None, "")), None)
        if value is not None:
            fields[name] = value
    fields["hook_event_name"] = event_name(client, event)
    if client.result is None:
        return fields
    fields["source"] = STARTS.get(text_of(fields, "source"), text_of(fields, "source"))
    for name in ("tool_input", "tool_response"):
        value = fields.get(name)
        if isinstance(value, str) and value[:1] == "{":
            fields[name] = parse(value.encode()) or value
    for name in ("prompt_id", "tool_use_id"):
        if "timestamp" in client.fields.get(name, ()):
            fields[name] = _stamp(fields, name)
    inputs = fields.get("tool_input")
    if text_of(fields, "tool_name") == "apply_patch" and isinstance(inputs, dict):
        fields["tool_input"] = {"input": text_of(inputs, "command"), **inputs}
    if fields["hook_event_name"] == "PostToolUse":
        _add_outcome(fields, client.result)
    elif fields["hook_event_name"] == "PostToolUseFailure" and client.result.report:
        report = text_of(fields, "error")
        code = _exit_code(None, [report], client.result)
        if text_of(fields, "tool_name") in SHELLS and code:
            fields["error"] = f"Exit code {code}\n{_printed(report, client.result)}"
    return fields


def event_name(client: Client, event: str) -> str:
    """The shared name of a client's event; a client that runs Claude Code's hooks uses theirs."""
    if event in client.before_tools:
        return "PreToolUse"
    return client.events.get(event) or (event if event in SHARED_EVENTS else "")


def at(value: Any, path: str) -> Any:
    """The value at a path of keys and numbers joined by dots, or None."""
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _stamp(fields: Payload, name: str) -> str:
    """A key of an event that has only a time: the same whether that is a text or a number."""
    moment = fields.get("timestamp")
    if isinstance(moment, (int, float)) and 0 < moment < 1e14:
        from kinen.text import iso

        moment = iso(moment / 1000)
    if not isinstance(moment, str):
        return ""
    inputs = fields.get("tool_input")
    values = inputs.values() if isinstance(inputs, dict) and name == "tool_use_id" else ()
    return ids.key_id(text_of(fields, "session_id"), moment, *map(str, values))


def _add_outcome(fields: Payload, result: Result) -> None:
    """Put a tool's outcome where Claude Code has it; a failure becomes an event of its own."""
    response = fields.get("tool_response")
    tool = text_of(fields, "tool_name")
    if isinstance(response, dict):  # the text that is recorded comes first
        values = (at(response, path) for path in result.text)
        texts = [result_text(value) for value in values if isinstance(value, (str, list))]
        texts = [text for text in texts if text]
    else:
        texts = [result_text(response)]
    text = texts[0] if texts else ""
    code = _exit_code(response, texts, result)
    if result.noise:
        lines = text.split("\n")
        text = "\n".join(line for line in lines if not line.startswith(result.noise)).rstrip()
    ran = tool in SHELLS
    if ran:
        text = _printed(text, result)
    if (ran and code) or (result.failed and at(response, result.failed)):
        fields["hook_event_name"] = "PostToolUseFailure"
        fields["error"] = f"Exit code {code}\n{text}" if ran and code else text
    elif ran:
        fields["tool_response"] = {"stdout": text, "exit_unknown": code is None}
    elif tool in EDITS:
        diff = at(response, result.diff) if result.diff else None
        fields["tool_response"] = {"diff": diff if isinstance(diff, str) else ""}
    else:
        fields["tool_response"] = text


def _printed(text: str, result: Result) -> str:
    """The output in the report of a command; a text that is not a report is the output itself."""
    if not result.report or not text.startswith(result.report[0]):
        return text
    output = text.partition(result.report[1])[2].rpartition(result.report[2])[0]
    return "" if output == EMPTY else output


def _exit_code(response: Any, texts: list[str], result: Result) -> int | None:
    code = at(response, result.exit_code) if result.exit_code else None
    if isinstance(code, int):
        return code
    text = texts[-1] if texts else ""
    for mark in result.marks:
        digits = text.rpartition(mark)[2][:LONGEST_CODE] if mark in text else ""
        while digits and not digits.isdecimal():
            digits = digits[:-1]
        if digits:
            return int(digits)
    return result.silent
