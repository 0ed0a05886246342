"""What Claude Code tells its hooks → what is kept of it: pure, and light, as all that hooks load.

Kinds, content and provenance are Kindling's; an edit is kept with what it changed besides.
"""

from __future__ import annotations

from kinen.privacy.injected import asks_kinen, is_kinen_tool, own_words, without_reminders
from kinen.privacy.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Said = dict[str, Any]

PROMPT, ANSWER, SUMMARY = 10_000, 5_000, 20_000
"""Characters of what the user says, what an agent answers, and what a conversation came to."""
COMMAND, OUTPUT, DIFF, RESULT, INPUT = 2_000, 4_000, 4_000, 2_000, 300
WINDOW = 1 << 18
"""Characters of one text that are looked at; all that is kept of it is a small part of that."""
MARGIN = 1 << 12
"""Characters at the cuts of such a text that are not kept: a secret may be cut in half there."""
MANY = 100
"""Inputs of a tool that are told."""
EDITS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
QUIET = ("Read", "NotebookRead", "Grep", "Glob", "LS", "Agent", "Task", "TodoWrite", "ToolSearch")
"""Tools whose result is in files, or is told by another event."""
LABELS = {
    "file_path": ("File", "filePath"),
    "notebook_path": ("File", "filePath"),
    "pattern": ("Pattern", "pattern"),
    "path": ("Path", "path"),
    "url": ("URL", "url"),
    "query": ("Query", "query"),
}
"""What an input is called in the text, and in the provenance."""
PATHS = ("file_path", "notebook_path", "path")
PATH_NAMES = ("path", "file", "uri", "dir")
"""What the name of an input has in it that holds a path."""


class Sieve:
    """Keeps back what is not to be kept: secrets, before a cut can hide them, and kinen's words."""

    def __init__(self, place: Callable[[str], str]) -> None:
        self.place = place
        """Gives a path as the space knows it."""
        self.found: dict[str, int] = {}

    def clean(self, text: str) -> str:
        """The text as it may be kept. Of a very long one the beginning and the end are looked at.

        More than is kept is masked, so that no secret is cut in half where it would show.
        """
        if len(text) <= WINDOW:
            return self._masked(text).strip()
        start = self._masked(text[: WINDOW // 2])[:-MARGIN]
        if _opens(text.lower()):
            return f"{start.strip()}\n[cut: the rest]"  # the end may be part of what is open
        end = text[-WINDOW // 2 :].partition("\n")[2]
        return f"{start.strip()}\n…\n{self._masked(end)[MARGIN:].strip()}"

    def _masked(self, text: str) -> str:
        text, found = mask(without_reminders(text))
        for name, count in found.items():
            self.found[name] = self.found.get(name, 0) + count
        return text


def _opens(low: str) -> bool:
    """Whether a text in lower case opens something that is left out up to its end."""
    if "-----begin" in low or "<kinen-memory" in low:
        return True
    at = low.find("private")
    while at >= 0:
        if low[max(0, at - 64) : at].rstrip().endswith("<"):
            return True
        at = low.find("private", at + 1)
    return False


class Event:
    """One observation in the making."""

    __slots__ = ("about", "files", "key", "kind", "mentions", "text")

    def __init__(self, kind: str, text: str, about: Said, *key: str) -> None:
        self.kind, self.text, self.about = kind, text, about
        self.key = key if all(key) else ()
        """What names it in the client, if anything does."""
        self.files: list[str] = []
        self.mentions: list[str] = []
        """Words that may be paths: if one of them is private, nothing is kept."""


def event(said: Said, sieve: Sieve) -> Event | None:
    """What is to be kept of a payload."""
    make = MAKERS.get(text_of(said, "hook_event_name"))
    if make is None or said.get("agent_type") == "" or said.get("isMeta"):
        return None  # agents without a type are the client's own
    made = make(said, sieve)
    if made is not None and text_of(said, "agent_id"):
        made.about.update(agentId=said["agent_id"], agentType=text_of(said, "agent_type"))
    return made


def text_of(said: Said, name: str) -> str:
    found = said.get(name)
    return found if isinstance(found, str) else ""


def summary(said: Said, sieve: Sieve) -> str:
    """What a compacted conversation came to, without how the model got there."""
    text = text_of(said, "compact_summary").rpartition("<summary>")[2].partition("</summary>")[0]
    return clipped(sieve.clean(text), SUMMARY)


def rescued(said: Said, sieve: Sieve) -> Event | None:
    """What can be kept of an event that could not be read as what it is: the texts in it."""
    tool, given = _tool(said)
    if is_kinen_tool(tool):
        return None
    texts = [text_of(said, name) for name in TEXTS]
    inputs = [one for one in given.values() if isinstance(one, str)]
    result = said.get("tool_response")
    results = result.values() if isinstance(result, dict) else [result]
    texts += [*inputs[:MANY], *(one for one in results if isinstance(one, str))]
    text = "\n".join(clipped(sieve.clean(one), RESULT) for one in texts if one)
    name = text_of(said, "hook_event_name")
    found = Event("message", text, {"event": name, "toolName": tool}) if text else None
    if found is not None:
        found.files = [sieve.place(text_of(given, name)) for name in PATHS if text_of(given, name)]
        found.mentions = [word.strip("'\"()<>;&|") for one in inputs for word in one.split()[:64]]
    return found


TEXTS = ("prompt", "last_assistant_message", "compact_summary", "error")


# One maker for each event


def _prompt(said: Said, sieve: Sieve) -> Event | None:
    text = clipped(sieve.clean(own_words(text_of(said, "prompt"))), PROMPT)
    key = (text_of(said, "session_id"), text_of(said, "prompt_id"), text)
    return Event("message", text, {"role": "user"}, *key) if text else None


def _answer(said: Said, sieve: Sieve) -> Event | None:
    text = clipped(sieve.clean(text_of(said, "last_assistant_message")), ANSWER)
    key = (text_of(said, "session_id"), text_of(said, "prompt_id"), "answer", text)
    return Event("message", text, {"role": "assistant"}, *key) if text else None


def _ended(said: Said, sieve: Sieve) -> Event | None:
    text = clipped(sieve.clean(text_of(said, "last_assistant_message")), ANSWER)
    key = (text_of(said, "session_id"), text_of(said, "agent_id"), text)
    told = f"Agent: {text_of(said, 'agent_type')}\n{text}"
    return Event("node_end", told, {}, *key) if text else None


def _called(said: Said, sieve: Sieve) -> Event | None:
    tool, given = _tool(said)
    if is_kinen_tool(tool):
        return None
    came = said.get("tool_response")
    if tool == "Bash":
        return _ran(said, given, came, sieve)
    made = _told(said, given, sieve)
    if tool in EDITS:
        made.kind = "file_diff"
        changed = diff(given, came if isinstance(came, dict) else {})
        made.text += _below(clipped(sieve.clean(changed), DIFF))
    elif tool not in QUIET:
        made.text += _below(clipped(sieve.clean(_result(came)), RESULT))
    return made


def _failed(said: Said, sieve: Sieve) -> Event | None:
    tool, given = _tool(said)
    ours = asks_kinen(text_of(given, "command")) if tool == "Bash" else 0
    if is_kinen_tool(tool) or ours == 2:
        return None
    error = ends(sieve.clean(text_of(said, "error")), OUTPUT)
    if tool == "Bash":
        made = _commanded(said, given, sieve)
        first = error.partition("\n")[0]
        code = first.removeprefix("Exit code ")
        if code != first and code.isdecimal():
            made.about["exitCode"] = int(code)
        error = first if ours else error
    else:
        made = _told(said, given, sieve)
    made.kind = "error"
    made.text += _below(error)
    made.about["hasError"] = True
    if said.get("is_interrupt") is True:
        made.about["interrupted"] = True
    return made


MAKERS = {
    "UserPromptSubmit": _prompt,
    "PostToolUse": _called,
    "PostToolUseFailure": _failed,
    "SubagentStop": _ended,
    "Stop": _answer,
}


# Tools


def _tool(said: Said) -> tuple[str, Said]:
    given = said.get("tool_input")
    return text_of(said, "tool_name"), given if isinstance(given, dict) else {}


def _event(said: Said, text: str, about: Said) -> Event:
    id_ = text_of(said, "tool_use_id")
    about.update(toolName=text_of(said, "tool_name"), hasError=False)
    if id_:
        about["toolUseId"] = id_
    return Event("tool_call", text, about, id_)


def _told(said: Said, given: Said, sieve: Sieve) -> Event:
    """A call by what it was given: the inputs that have a name, else all that are short."""
    lines: list[str] = [f"Tool: {text_of(said, 'tool_name')}"]
    about: Said = {}
    for name, (label, key) in LABELS.items():
        value = text_of(given, name)
        if value:
            value = sieve.place(value) if name in PATHS else sieve.clean(value)
            about[key] = clipped(value, INPUT)
            lines.append(f"{label}: {about[key]}")
    if not about and given:
        about["inputKeys"] = [clipped(str(name), INPUT) for name in sorted(given)[:MANY]]
        short = [(name, one) for name, one in given.items() if isinstance(one, (str, int))]
        for name, one in short[:MANY]:
            lines.append(clipped(sieve.clean(f"{name}: {one}"), INPUT))
    made = _event(said, "\n".join(lines), about)
    made.files = [about["filePath"]] if "filePath" in about else []
    paths = [name for name in given if any(part in str(name).lower() for part in PATH_NAMES)]
    made.mentions = [text_of(given, name) for name in paths]
    return made


def _commanded(said: Said, given: Said, sieve: Sieve) -> Event:
    line = text_of(given, "command")
    command = clipped(sieve.clean(line), COMMAND)
    made = _event(said, f"$ {command}", {"command": command})
    made.mentions = [word.strip("'\"()<>;&|") for word in line.replace("=", " ").split()[:64]]
    return made


def _ran(said: Said, given: Said, came: Any, sieve: Sieve) -> Event | None:
    ours = asks_kinen(text_of(given, "command"))
    if ours == 2:
        return None
    made = _commanded(said, given, sieve)
    made.kind = "command"
    told = came if isinstance(came, dict) else {"stdout": came}
    if not (told.get("backgroundTaskId") or told.get("returnCodeInterpretation")):
        made.about["exitCode"] = 0
    if told.get("interrupted") is True:
        made.about["interrupted"] = True
    if not ours:
        output = "\n".join(text_of(told, name).strip("\n") for name in ("stdout", "stderr"))
        made.text += _below(ends(sieve.clean(output), OUTPUT))
    return made


def diff(given: Said, came: Said) -> str:
    """What an edit changed, as a short unified diff."""
    lines: list[str] = []
    for hunk in _list(came.get("structuredPatch")):
        if isinstance(hunk, dict):
            at = [f"{hunk.get(f'{one}Start')},{hunk.get(f'{one}Lines')}" for one in ("old", "new")]
            lines.append(f"@@ -{at[0]} +{at[1]} @@")
            lines += [one for one in _list(hunk.get("lines")) if isinstance(one, str)]
    if lines or came.get("type") == "update":
        return "\n".join(lines)
    for one in (given, *_list(given.get("edits"))):
        if isinstance(one, dict):
            lines += [f"-{line}" for line in text_of(one, "old_string").splitlines()]
            new = next(filter(None, (text_of(one, name) for name in _NEW)), "")
            lines += [f"+{line}" for line in new.splitlines()]
    return "\n".join(lines)


_NEW = ("new_string", "content", "new_source")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _result(came: Any) -> str:
    """The text of a tool's answer, whatever its shape."""
    if isinstance(came, str):
        return came
    if isinstance(came, list):
        texts = (text_of(one, "text") for one in came if isinstance(one, dict))
        return "\n".join(filter(None, texts))
    if not isinstance(came, dict) or not came:
        return ""
    for name in ("result", "text", "content", "stdout"):
        if name in came and (found := _result(came[name])):
            return found
    import json

    return json.dumps(came, ensure_ascii=False)


# Cutting


def _below(text: str) -> str:
    return f"\n{text}" if text else ""


def clipped(text: str, most: int) -> str:
    """The beginning of a text, with a sign where it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def ends(text: str, most: int) -> str:
    """The beginning and, more of it, the end: there a command says what it came to."""
    if len(text) <= most:
        return text
    return f"{text[: most // 4].rstrip()}\n…\n{text[-(most - most // 4 - 3) :].lstrip()}"
