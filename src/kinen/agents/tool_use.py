"""What is kept of a tool use or a message of a coding agent: the rules, in one place.

Live hooks and transcript imports both use them, so that a session is remembered in the same words
whether it was recorded or imported. Secrets are masked before anything is cut, since half a secret
is not known as one. What kinen itself answered is never kept. Hooks load this module: it imports
nothing that `sqlite3` does not.
"""

from __future__ import annotations

import os

from kinen import paths
from kinen.privacy.entrance import masked, plain
from kinen.privacy.exclude import matching_glob
from kinen.privacy.injected import (
    asks_kinen,
    is_kinen_tool,
    own_words,
    without_reminders,
    without_wrappers,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Fields = dict[str, Any]

TEAM_LEAD = "team-lead"
"""What Claude Code calls the agent that hands out tasks to the others of a team."""
MESSAGE = 10_000
"""Characters kept of a prompt or an answer."""
REPORT = 5_000
"""Characters kept of what a subagent reports."""
SUMMARY = 20_000
"""Characters kept of the summary of a compacted conversation."""
COMMAND = 2_000
OUTPUT = 4_000
DIFF = 4_000
RESULT = 2_000
INPUT = 300
"""Characters kept of one input of a tool."""
WINDOW = 1 << 18
"""Characters of one text that are looked at; all that is kept of it is a small part of that."""
MARGIN = 1 << 12
"""Characters dropped at the cuts of such a text: a secret may be cut in half there."""
MANY_INPUTS = 100
"""Inputs of a tool that are kept."""
MANY_WORDS = 64
"""Words of a command that are checked for private paths."""
LONGEST_PATH = 4096
"""Characters: nothing longer is the path of a file."""

SHELLS = frozenset(
    "Bash bash shell Shell shell_command local_shell exec_command run_shell_command powershell"
    " run_terminal_cmd run_terminal_command run_terminal_command_v2 execute_command terminal"
    " run_commands container.exec Execute run_command developer__shell".split()
)
EDITS = frozenset(
    "Write Edit MultiEdit NotebookEdit write edit multiedit patch apply_patch write_file replace"
    " create edit_file edit_file_v2 search_replace StrReplace Delete delete_file write_to_file"
    " replace_in_file apply_diff insert_content editor str_replace_editor Create ApplyPatch"
    " StrReplaceFile WriteFile create_file edit_existing_file single_find_and_replace multi_edit"
    " create_new_file replace_file_content multi_replace_file_content text_editor"
    " developer__text_editor developer__edit developer__write".split()
)
SUBAGENTS = frozenset("Task Agent task".split())
FILE_READS = frozenset(
    "Read NotebookRead read read_file read_files read_file_v2 read_many_files view view_image"
    " ReadFile view_file read_file_range read_currently_open_file".split()
)
SEARCHES = frozenset(
    "Grep Glob LS grep glob rg list list_dir list_dir_v2 list_files list_directory find_path"
    " search_files search_codebase search_file_content codebase_search grep_search file_search"
    " glob_file_search ripgrep_raw_search semantic_search_full ls find_by_name codebase".split()
)
TASK_LISTS = frozenset(
    "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet todowrite todoread update_plan"
    " write_todos todo_write update_todo_list report_intent SetTodoList TodoList todos"
    " todo".split()
)
"""They repeat a whole list of things to do at each call, so nothing of them is kept."""
DROPPED = TASK_LISTS | {"ToolSearch"}
WITHOUT_RESULT = FILE_READS | SEARCHES
"""Tools whose result stands in files, which are indexed themselves."""

FILE_INPUTS = (
    *("file_path", "filePath", "target_file", "notebook_path", "absolute_path"),
    *("filepath", "TargetFile", "AbsolutePath"),
)
COMMANDS = ("command", "cmd", "CommandLine")
FOLDER_INPUTS = ("path", "dir_path")
LABELS = (
    ("pattern", "Pattern"),
    ("path", "Path"),
    ("dir_path", "Path"),
    ("url", "URL"),
    ("query", "Query"),
)
"""Inputs with a label of their own in the text; they have their own name in the provenance."""
PATH_WORDS = ("path", "file", "uri", "dir")
"""What the name of an input contains that holds a path."""
NEW_TEXT = (
    *(
        "new_string",
        "newString",
        "new_str",
        "new_text",
        "newText",
        "content",
        "contents",
        "new_source",
    ),
    *("file_text", "code_edit", "new", "after", "changes", "CodeContent", "ReplacementContent"),
)
OLD_TEXT = (
    *("old_string", "oldString", "old_str", "old_text", "oldText"),
    *("old", "before", "TargetContent"),
)
EDIT_LISTS = ("edits", "edit", "ReplacementChunks")
PATCHES = ("input", "patch", "patchText")
PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
QUOTES = "'\"()<>;&|"


class ToolUse:
    """One use of a tool and its result, as any client reports it.

    `exit_code` is None where nothing is known about it. `diff` is what an edit changed, where the
    client reports it; otherwise the diff is built from the inputs.
    """

    __slots__ = ("diff", "exit_code", "failed", "inputs", "interrupted", "result", "tool")

    def __init__(
        self,
        tool: str,
        inputs: Fields,
        result: str = "",
        *,
        failed: bool = False,
        exit_code: int | None = None,
        diff: str | None = None,
        interrupted: bool = False,
    ) -> None:
        self.tool = tool
        self.inputs = inputs
        self.result = result
        self.failed = failed
        self.exit_code = exit_code
        self.diff = diff
        self.interrupted = interrupted


class Draft:
    """The parts of an observation that come from one event of an agent."""

    __slots__ = ("files", "key", "kind", "mentions", "provenance", "text")

    def __init__(self, kind: str, text: str, provenance: Fields) -> None:
        self.kind = kind
        self.text = text
        self.provenance = provenance
        self.files: list[str] = []
        self.mentions: list[str] = []
        """Words that may be paths: if one of them is private, nothing is kept."""
        self.key: tuple[str, ...] = ()
        """What identifies the event in the client: those with the same key are stored once."""


class Sieve:
    """Cleans the texts of one event, and counts the secrets that it masked."""

    def __init__(self, place: Callable[[str], str], diff: int = DIFF) -> None:
        self.place = place
        """Gives a path as the space knows it."""
        self.diff = diff
        """Characters kept of what an edit changed."""
        self.masked: dict[str, int] = {}

    def clean(self, text: str) -> str:
        """The text as it may be kept: no secrets, and nothing that was meant for the agent alone.

        Of a very long text the beginning and the end are looked at.
        """
        text = plain(text)
        if len(text) <= WINDOW:
            return self._clean(text).strip()
        start = self._clean(text[: WINDOW // 2])[:-MARGIN]
        if _opens_block(text.lower()):
            return f"{start.strip()}\n[cut: the rest]"  # the end may be inside that block
        end = text[-WINDOW // 2 :].partition("\n")[2]
        return f"{start.strip()}\n…\n{self._clean(end)[MARGIN:].strip()}"

    def _clean(self, text: str) -> str:
        text, counts = masked(without_wrappers(without_reminders(text)))
        for name, count in counts.items():
            self.masked[name] = self.masked.get(name, 0) + count
        return text


def _opens_block(low: str) -> bool:
    """Whether a text in lower case opens something that is dropped up to its end."""
    if "-----begin" in low or "<kinen-memory" in low:
        return True
    start = low.find("private")
    while start >= 0:
        if low[max(0, start - 64) : start].rstrip().endswith("<"):
            return True
        start = low.find("private", start + 1)
    return False


ANNOUNCING = frozenset("please implement execute follow the following this plan".split())
"""Words of a prompt that only announces a plan."""


def intent(prompt: str) -> str:
    """What a prompt is for; of a document that it announces, the announcement and its title.

    The rest of a plan is no intent, and `Implement the following plan:` says nothing.
    """
    head, _, rest = prompt.strip().partition("\n")
    below = rest.lstrip()
    if not head.rstrip().endswith(":") or not below.startswith("#"):
        return prompt
    title = below.partition("\n")[0].strip("# \r")
    if title.lower().startswith("plan:"):
        title = title[len("plan:") :].lstrip()
    if title and ANNOUNCING.issuperset(head.lower().rstrip(": ").split()):
        return title
    return f"{head.rstrip()} {title}"


def message(role: str, text: str, sieve: Sieve) -> Draft | None:
    """A message of a user or an agent; None if no text of their own is left."""
    if role == "user" and text.lstrip().startswith("<teammate-message "):
        from kinen.agents.teammates import messages  # few sessions are those of a team

        if pairs := messages(text):
            # Of other agents a prompt is kept, if the lead wrote one, or else a report.
            written = [(sender, words) for sender, words in pairs if words]
            senders = list(dict.fromkeys(sender for sender, _ in written))
            several = len(senders) > 1
            texts = [f"{sender}: {words}" if several else words for sender, words in written]
            joined_texts = "\n\n".join(texts)
            if TEAM_LEAD not in senders:
                return report(", ".join(senders), joined_texts, sieve)
            content = clip(sieve.clean(joined_texts), MESSAGE)
            about = {"role": "user", "teammate": TEAM_LEAD}
            return Draft("message", content, about) if content else None
    words = own_words(text) if role == "user" else text
    content = clip(sieve.clean(words), MESSAGE)
    return Draft("message", content, {"role": role}) if content else None


def report(agent_type: str, text: str, sieve: Sieve) -> Draft | None:
    """What a subagent came back with."""
    content = clip(sieve.clean(text), REPORT)
    if not content:
        return None
    head = f"Agent: {agent_type}\n" if agent_type else ""
    return Draft("node_end", head + content, {"agentType": agent_type, "hasError": False})


def summary(text: str, sieve: Sieve) -> str:
    """The summary of a compacted conversation, as far as it is kept."""
    return clip(sieve.clean(text), SUMMARY)


def observe(use: ToolUse, sieve: Sieve) -> Draft | None:
    """What is kept of a tool use; None for kinen's own tools and commands and for task lists."""
    command = first_text(use.inputs, COMMANDS)
    runs_kinen = asks_kinen(command)
    if use.tool in DROPPED or is_kinen_tool(use.tool) or runs_kinen == 2:
        return None
    if use.tool in SUBAGENTS and not use.failed:
        outcome = report(text_of(use.inputs, "subagent_type"), use.result, sieve)
        if outcome is not None:
            outcome.provenance["toolName"] = use.tool
            description = text_of(use.inputs, "description")
            if description:
                outcome.provenance["description"] = clip(sieve.clean(description), INPUT)
        return outcome
    ran = use.tool in SHELLS and command
    draft = _command(use, command, sieve) if ran else _call(use, sieve)
    draft.provenance["toolName"] = use.tool
    draft.provenance["hasError"] = use.failed or draft.provenance.get("exitCode", 0) != 0
    if draft.provenance["hasError"]:
        draft.kind = "error"
    if use.interrupted:
        draft.provenance["interrupted"] = True
    result = _result(use, sieve)
    if runs_kinen:  # what kinen answered is known already
        result = result.partition("\n")[0] if use.failed else ""
    if result:
        draft.text += f"\n{result}"
    return draft


def _command(use: ToolUse, line: str, sieve: Sieve) -> Draft:
    command = clip(sieve.clean(_placed(line, sieve)), COMMAND)
    draft = Draft("command", f"$ {command}", {"command": command})
    exit_code = use.exit_code
    if use.failed and not exit_code:
        first = use.result.lstrip().partition("\n")[0].removeprefix("Error: ")
        code = first.removeprefix("Exit code ").strip()
        exit_code = int(code) if code != first and code.isdecimal() and len(code) <= 6 else None
    if exit_code is not None:
        draft.provenance["exitCode"] = exit_code
    words = line.replace("=", " ").split()[:MANY_WORDS]
    draft.mentions = [word.strip(QUOTES) for word in words]
    return draft


def _placed(line: str, sieve: Sieve) -> str:
    """A line whose first `cd` has an absolute path, with the folder as the space knows it.

    So `cd /home/me/project && make` is known as what `make` does there.
    """
    start = line.lstrip()
    target = start.removeprefix("cd ").lstrip()
    ends = [at for at in map(target.find, ("&&", ";", "\n")) if at >= 0]
    written = target[: min(ends, default=len(target))].rstrip()
    path = written.strip("'\"")
    if target == start or not path.startswith("/") or len(path) > LONGEST_PATH:
        return line
    # The place of a folder itself is not known, that of what is in it is.
    folder = sieve.place(f"{path.rstrip('/')}/.kinen").rpartition("/")[0] or "."
    if folder.startswith("/"):
        return line
    quote = written[:1] if written[:1] in ("'", '"') else ""
    return f"cd {quote}{folder}{quote}{target[len(written) :]}"


def _call(use: ToolUse, sieve: Sieve) -> Draft:
    """A call by its inputs: those with a label, else all that are short."""
    draft = Draft("file_diff" if use.tool in EDITS else "tool_call", "", {})
    draft.files = [sieve.place(path) for path in _files(use)]
    lines = [f"Tool: {use.tool}", *(f"File: {clip(path, INPUT)}" for path in draft.files)]
    if draft.files:
        draft.provenance["filePath"] = clip(draft.files[0], INPUT)
    for name, label in LABELS:
        value = text_of(use.inputs, name)
        if value and not (name in FOLDER_INPUTS and draft.files):
            value = sieve.place(value) if name in FOLDER_INPUTS else sieve.clean(value)
            draft.provenance[name] = clip(value, INPUT)
            lines.append(f"{label}: {draft.provenance[name]}")
    if len(lines) == 1 and use.inputs:
        names = sorted(use.inputs, key=str)[:MANY_INPUTS]
        draft.provenance["inputKeys"] = [clip(plain(str(name)), INPUT) for name in names]
        short = [item for item in use.inputs.items() if isinstance(item[1], (str, int))]
        for name, value in short[:MANY_INPUTS]:
            lines.append(clip(sieve.clean(f"{name}: {value}"), INPUT))
    draft.text = "\n".join(lines)
    names = [name for name in use.inputs if any(word in str(name).lower() for word in PATH_WORDS)]
    draft.mentions = [text_of(use.inputs, name) for name in names]
    return draft


def _files(use: ToolUse) -> list[str]:
    """The files that a tool use is about, as the agent named them."""
    if use.tool in ("apply_patch", "ApplyPatch"):
        lines = first_text(use.inputs, PATCHES).splitlines()
        heads = [line for line in lines if line.startswith(PATCH_LINES)]
        return [line.partition(": ")[2].strip() for line in heads]
    takes_files = use.tool in EDITS or use.tool in FILE_READS
    names = (*FILE_INPUTS, *FOLDER_INPUTS) if takes_files else FILE_INPUTS
    paths = [text_of(use.inputs, name) for name in names]
    return [path for path in paths if path and len(path) <= LONGEST_PATH][:1]


def _result(use: ToolUse, sieve: Sieve) -> str:
    """What is kept of a result: of outputs and errors the end counts most."""
    if use.failed or use.tool in SHELLS:
        result = use.result.removeprefix("Error: ") if use.failed else use.result
        return clip_middle(sieve.clean(result), OUTPUT)
    if use.tool in EDITS:
        diff = use.diff if use.diff is not None else changed(use.inputs)
        return clip(sieve.clean(diff), sieve.diff)
    if use.tool in WITHOUT_RESULT:
        return ""
    return clip(sieve.clean(use.result), RESULT)


def changed(inputs: Fields) -> str:
    """What an edit changed, from its inputs, as the lines of a short diff."""
    patch = first_text(inputs, PATCHES)
    if patch:
        return patch
    edits = next((inputs[name] for name in EDIT_LISTS if name in inputs), ())
    lines: list[str] = []
    for edit in (inputs, *(edits if isinstance(edits, (list, tuple)) else (edits,))):
        if isinstance(edit, dict):
            lines += [f"-{line}" for line in first_text(edit, OLD_TEXT).splitlines()]
            lines += [f"+{line}" for line in first_text(edit, NEW_TEXT).splitlines()]
    return "\n".join(lines)


def first_text(fields: Fields, names: Iterable[str]) -> str:
    """The first of some fields that is text and not empty."""
    for name in names:
        text = text_of(fields, name)
        if text:
            return text[:WINDOW]
    return ""


def text_of(fields: Fields, name: str) -> str:
    """A field that is text, else nothing."""
    value = fields.get(name)
    if not isinstance(value, str):
        return ""
    # Most fields are ASCII: a hook reads dozens of them.
    return value if value.isascii() and "\0" not in value else plain(value)


def is_private(
    files: Iterable[str],
    mentions: Iterable[str],
    globs: Sequence[str],
    folder: str,
    roots: tuple[str, ...],
) -> bool:
    """Whether an observation is about a path that is never captured.

    A word of a command without a slash may only look like a path, so it has to exist in `folder`.
    """
    if not globs:
        return False
    for word in mentions:
        if not word or len(word) > LONGEST_PATH:
            continue
        full = os.path.join(folder, os.path.expanduser(word))
        path = paths.inside(full, *roots) if "/" in word else word
        if matching_glob(path, globs) and ("/" in word or os.path.lexists(full)):
            return True
    return any(matching_glob(path, globs) for path in files)


def clip(text: str, limit: int) -> str:
    """The beginning of a text, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clip_middle(text: str, limit: int) -> str:
    """The first quarter and the end of a text: a command tells its outcome at the end."""
    if len(text) <= limit:
        return text
    start = limit // 4
    return f"{text[:start].rstrip()}\n…\n{text[-(limit - start - 3) :].lstrip()}"
