"""Removes what clients and kinen inject into a conversation for the agent alone.

Hooks and transcript imports both use these rules: nothing is imported, and the time is linear in
the text. Only complete blocks are removed. A tag without its end, or in backticks, is a mention,
and the text after it stays.
"""

from __future__ import annotations

from kinen.characters import spliced
from kinen.model.kinds import MACHINE, MEMORY, MEMORY_OPEN, REMINDERS, VOICES, WRAPPERS

SYNTHETIC = (
    *("<task-notification>\n", "<task-notification><", '{"task_id":', "/kinen:"),
    *VOICES[:-2],
)
"""Beginnings of prompts that no user typed, or that only run kinen."""
_REQUEST = "## My request for Codex:"
_RUNNERS = frozenset("env time exec sudo uvx nohup command ( { ! if then do while".split())
_RUN = frozenset("uv poetry pipx pdm hatch rye".split())
LONGEST_TAG = 2_000
"""Characters of a tag with its attributes."""


def without_blocks(text: str, name: str) -> str:
    """The text without the complete blocks `<name …>…</name>`; of nested ones the outermost go."""
    closing = f"</{name}>"
    if closing not in text or f"<{name}" not in text:
        return text
    blocks: list[tuple[int, int]] = []
    open_tags: list[int] = []
    for start, end, closes in _tags(text, name):
        if not closes:
            open_tags.append(start)
        elif open_tags:
            first = open_tags.pop()
            while blocks and blocks[-1][0] > first:
                blocks.pop()
            blocks.append((first, end))
    return spliced(text, ((start, end, "") for start, end in blocks))


def _tags(text: str, name: str) -> list[tuple[int, int, bool]]:
    """Start and end of each tag of a name, and whether it closes; not those in backticks."""
    tags = []
    for head, closes in ((f"<{name}", False), (f"</{name}>", True)):
        start = text.find(head)
        while start >= 0:
            end = start + len(head)
            if not closes:
                end = _tag_end(text, end)
            quoted = text[start - 1 : start] == "`" == text[end : end + 1]
            if end > 0 and not quoted:
                tags.append((start, end, closes))
            start = text.find(head, start + len(head))
    return sorted(tags)


def _tag_end(text: str, place: int) -> int:
    """Where the opening tag ends whose name ends at `place`; 0 if it is not a tag."""
    following = text[place : place + 1]
    if following == ">":
        return place + 1
    if not following.isspace():
        return 0
    end = text.find(">", place, place + LONGEST_TAG)
    return end + 1 if end >= 0 and text.find("<", place, end) < 0 else 0


def without_injected(text: str) -> str:
    """The text without the blocks that kinen injected."""
    return without_blocks(text, MEMORY) if MEMORY_OPEN in text else text


def without_reminders(text: str) -> str:
    """The text without the blocks that kinen and clients injected."""
    if "</" not in text:
        return text
    for name in (MEMORY, *REMINDERS):
        text = without_blocks(text, name)
    return text


def without_wrappers(text: str) -> str:
    """The text without terminal colours, tags around results, and Codex' directives to its app."""
    tagged = "<" in text and any(name in text for name in WRAPPERS)
    if not (tagged or "\x1b[" in text or "::git-" in text):
        return text
    import re  # few texts have any of them

    names = "|".join(WRAPPERS)
    directive = r"(?m:^::git-[a-z-]{2,20}\{cwd=[^\n]*\}$\n?)"
    return re.sub(rf"</?(?:{names})\b[^<>]*>\n?|\x1b\[[\d;?]*[A-Za-z]|{directive}", "", text)


def own_words(prompt: str) -> str:
    """A prompt as its user typed it, without what the client added; empty if no user typed it."""
    text = prompt
    if "</" in text:
        text = _slash_command(text) or text
        for name in (MEMORY, *REMINDERS, *MACHINE):
            text = without_blocks(text, name)
    text = (text.partition(_REQUEST)[2] or text).strip()
    if text.startswith("<codex_delegation>"):
        text = _inside(text, "input") or text
    notified = text.startswith("<task-notification>") and "</task-notification>" in text
    return "" if notified or text.startswith(SYNTHETIC) else text


def _slash_command(prompt: str) -> str:
    """The slash command of a prompt with its arguments: `/fix the login`; empty if it has none."""
    command = _inside(prompt, "command-name")
    arguments = _inside(prompt, "command-args")
    if not command or not arguments or not prompt.lstrip().startswith("<command-"):
        return ""
    return " ".join(f"{command} {arguments}".split())


def _inside(text: str, name: str) -> str:
    """The text between the tags of a name, empty if there are none."""
    after = text.partition(f"<{name}>")[2]
    content, closed, _ = after.partition(f"</{name}>")
    return content.strip() if closed else ""


def asks_kinen(command: str) -> int:
    """Whether a command line runs kinen: 2 if nothing else, 1 if among others, 0 if not."""
    if "kinen" not in command:
        return 0
    for separator in ("&&", "||", "|", "\n", "$(", "`", "&"):
        command = command.replace(separator, ";")
    runs = [_runs_kinen(piece.split()) for piece in command.split(";")]
    relevant = [run for run in runs if run is not None]
    return any(relevant) + all(relevant) if relevant else 0


def _runs_kinen(words: list[str]) -> bool | None:
    """Whether the words of one command run kinen; None if they run nothing, or only `cd`."""
    place = 0
    while place < len(words):
        word = words[place]
        name = word.strip("\"'()").replace("\\", "/").rpartition("/")[2]
        if name in _RUN and words[place + 1 : place + 2] == ["run"]:
            place += 2
        elif "=" in word or word.startswith("-") or name in _RUNNERS or not name:
            place += 1
        else:
            break
    else:
        return None
    if name == "cd":
        return None
    if name.startswith("python"):
        return words[place + 1 : place + 3] == ["-m", "kinen"]
    return name in ("kinen", "kinen.exe")


def is_kinen_tool(name: str) -> bool:
    """Whether a tool of an MCP client is kinen's own: its results are in the memory already."""
    return (
        name.startswith(("mcp__kinen", "mcp__plugin_kinen", "kinen_", "kinen-"))
        or "_kinen_" in name
    )
