"""What was said and done in a session, in the same words whatever client it ran in."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.agents.session import Event, elements, fields, text
from kinen.privacy.injected import asks_kinen, is_kinen_tool, own_words, without_reminders
from kinen.privacy.masking import mask

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGE, REPORT, RESULT, GIVEN, COMMAND = 10_000, 5_000, 2_000, 600, 2_000
"""Characters of a message, of what a subagent reported, of a result or diff, of what a tool that is
not known was given, of a command."""
LOOKED_AT = 1_000_000
"""Characters of one text that are looked at, whatever its size."""
SHELLS = frozenset(
    """Bash bash shell shell_command local_shell exec_command run_shell_command
    container.exec""".split()
)
EDITS = frozenset(
    """Write Edit MultiEdit NotebookEdit write edit multiedit patch apply_patch write_file
    replace""".split()
)
_AGENTS = frozenset("Task Agent task".split())
_READS = frozenset(
    """Read Glob Grep LS NotebookRead read glob grep list read_file read_many_files list_directory
    search_file_content grep_search view_image""".split()
)
"""Their results are files, which are to be had better elsewhere."""
_LISTS = frozenset(
    """TodoWrite TodoRead TaskUpdate TaskList TaskGet ToolSearch todowrite todoread update_plan
    write_todos""".split()
)
"""They keep a list of things to do, and tell all of it each time."""
_FILES = ("file_path", "filePath", "notebook_path", "absolute_path", "path")
_OLD, _NEW = ("old_string", "oldString"), ("new_string", "newString", "content", "new_source")
_LABELS = {"pattern": "Pattern", "url": "URL", "query": "Query"}

_WRAPPED = re.compile(
    r"</?(?:tool_use_error|untrusted_context|persisted-output)\b[^<>]*>\n?|\x1b\[[\d;?]*[A-Za-z]"
)
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d{1,6})\b")
_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$")


class Use(NamedTuple):
    """A use of a tool, with what came of it."""

    tool: str
    given: Mapping[str, Any]
    result: str = ""
    failed: bool = False
    code: int | None = None
    diff: str = ""


def message(role: str, said: str) -> Event | None:
    """What somebody said, or nothing if a machine said it in their name."""
    found: dict[str, int] = {}
    content = clipped(own_words(said) if role == "user" else _cleaned(said), MESSAGE, found)
    return Event("message", content, {"role": role}, masked=found) if content else None


def report(told: str, provenance: Mapping[str, Any]) -> Event | None:
    """What a subagent came back with."""
    found: dict[str, int] = {}
    content = clipped(_cleaned(told), REPORT, found)
    return Event("node_end", content, provenance, masked=found) if content else None


def deed(use: Use, cwd: str = "") -> Event | None:
    """What was done with a tool; nothing if it is kinen's own, or keeps a list of things to do."""
    command = text(use.given.get("command") or use.given.get("cmd"))
    ours = asks_kinen(command)
    if use.tool in _LISTS or is_kinen_tool(use.tool) or ours == 2:
        return None
    about: dict[str, Any] = {"toolName": use.tool, "hasError": use.failed}
    if use.tool in _AGENTS and not use.failed:
        about["agentType"] = text(use.given.get("subagent_type"))
        return report(f"{text(use.given.get('description'))}\n\n{use.result}", about)
    found: dict[str, int] = {}
    files = tuple(os.path.join(cwd, name) for name in _named(use))
    lines = [f"Tool: {use.tool}", *(f"File: {_inside(name, cwd)}" for name in files)]
    result, kind = _cleaned(use.result), "tool_call"
    if use.tool in SHELLS and command:
        kind, about["command"] = "command", clipped(command, COMMAND, found)
        code = _EXIT.search(result[:200]) if use.failed and use.code is None else None
        about["exitCode"] = int(code[1]) if code else use.code or int(use.failed)
        lines = [f"$ {about['command']}"]
    elif use.tool in EDITS:
        kind, result = "file_diff", result if use.failed else use.diff or _changed(use.given)
    elif not files or use.tool not in _READS:
        lines += _told(use, about, found)
    if files:
        about["filePath"] = _inside(files[0], cwd)
    if use.tool in _READS and not use.failed:
        result = ""
    if ours:  # what kinen answered is known already
        result = result.partition("\n")[0] if use.failed else ""
    failed = use.failed or about.get("exitCode", 0) != 0
    content = "\n".join([*lines, clipped(result, RESULT, found)]).strip()
    about["hasError"] = failed
    return Event("error" if failed else kind, content, about, files, found)


def _told(use: Use, about: dict[str, Any], found: dict[str, int]) -> list[str]:
    """What a tool was given, one line for each thing worth a line."""
    lines = []
    for name, label in _LABELS.items():
        if text(use.given.get(name)):
            about[name] = clipped(text(use.given[name]), GIVEN, found)
            lines.append(f"{label}: {about[name]}")
    if not lines and use.given:
        about["inputKeys"] = sorted(map(text, use.given))[:20]
        lines.append(clipped(json.dumps(dict(use.given), ensure_ascii=False), GIVEN, found))
    return lines


def _named(use: Use) -> list[str]:
    """The files that a use of a tool is about."""
    if use.tool == "apply_patch":
        return [name.strip() for name in _PATCHED.findall(text(use.given.get("input")))]
    named = (text(use.given.get(key)) for key in _FILES if use.tool not in SHELLS)
    return [*filter(None, named)][:1]


def _inside(path: str, cwd: str) -> str:
    """A path from the session's folder on, where it lies in there."""
    top = cwd.rstrip("/\\")
    return path[len(top) + 1 :] if top and path.startswith((f"{top}/", f"{top}\\")) else path


def _changed(given: Mapping[str, Any]) -> str:
    """What an edit changed, from what the tool was given."""
    if text(given.get("input")):
        return text(given["input"])
    lines: list[str] = []
    for one in map(fields, elements(given.get("edits")) or [given]):
        for names, sign in ((_OLD, "-"), (_NEW, "+")):
            said = next(filter(None, (text(one.get(name)) for name in names)), "")
            lines += [sign + line for line in said[:LOOKED_AT].splitlines()]
    return "\n".join(lines)


def _cleaned(told: str) -> str:
    """A text without what clients and kinen put into it for the agent alone."""
    if "<" not in told and "\x1b" not in told:
        return told.strip()
    return _WRAPPED.sub("", without_reminders(told)).strip()


def clipped(whole: str, most: int, found: dict[str, int]) -> str:
    """The beginning and the end of a text. Secrets go first: half of one is not known as such."""
    whole = whole.strip()
    if len(whole) <= most:
        return whole
    seen, secrets = mask(whole[:LOOKED_AT])
    for name, times in secrets.items():
        found[name] = found.get(name, 0) + times
    if len(seen) <= most:
        return seen
    end = seen[-(most // 3) :].lstrip() if len(whole) <= LOOKED_AT else ""
    return f"{seen[: most * 2 // 3].rstrip()}\n… {len(seen) - most:,} characters …\n{end}".strip()
