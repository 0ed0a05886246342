"""Text on its way to an agent: what clients and models take for their own is marked as quoted.

`<system-reminder>` in a note becomes `<quoted:system-reminder>`, and a line that begins with
`Human:` begins with `quoted:Human:`. Nothing else changes, what is stored stays as it is, the time
is linear, and applying it twice changes nothing more. The word needs no escape in JSON, so it can
be put into JSON that is written already.
"""

from __future__ import annotations

from kinen.characters import spliced
from kinen.model.kinds import (
    MACHINE,
    MEMORY,
    MEMORY_CLOSE,
    MEMORY_OPEN,
    REMINDERS,
    VOICES,
    WRAPPERS,
)

HARNESS = (
    # Claude Code, and how Claude calls tools
    *("teammate-message", "task-notification", "post-tool-use-hook", "pre-tool-use-hook"),
    *("stop-hook", "new-diagnostics", "user-memory-input", "available-deferred-tools"),
    *("function_calls", "function_results", "tool_use", "tool_result", "antml:invoke"),
    *("antml:parameter", "antml:function_calls", "antml:thinking", "claude-md"),
    # Codex
    *("codex_delegation", "proposed_plan", "collaboration_mode", "skills_instructions"),
    *("apps_instructions", "plugins_instructions", "user_shell_command", "personality_spec"),
    *("model_switch", "developer_instructions"),
    # Gemini CLI, Qwen Code, Copilot, OpenCode, Cursor, and templates of chats
    *("state_snapshot", "loaded_context", "global_context", "project_context", "tool_call"),
    *("extension_context", "tool_response", "tool_output_masked", "task_result", "user_query"),
    *("current_datetime", "custom_instructions", "environment_info", "workspace_info"),
    *("user_info", "additional_data", "attached_files", "agent_skills", "user_rules"),
    *("system_prompt", "system_instructions", "start_of_turn", "end_of_turn"),
    # Cline and Roo Code
    *("environment_details", "system-message"),
)
"""Tags of clients and models that are not looked for on the way in."""
EXACT = frozenset(
    "skill system invoke human assistant thinking INSTRUCTIONS SYS reminderInstructions"
    " toolUseInstructions editorContext userRequest".split()
)
"""Tags of one word: only as clients write them, since `<Skill />` is code."""
NAMES = frozenset(
    name.replace("_", "-").replace(" ", "-").replace(":", "-")
    for name in (MEMORY, *REMINDERS, *WRAPPERS, *MACHINE, *HARNESS)
    if name not in EXACT
)
"""Names of tags with hyphens: an agent reads `<System Reminder>` as `<system-reminder>`."""
TURNS = ("[INST]", "[/INST]")
"""How templates of chats mark a turn, wherever it stands."""
MARK = "quoted:"
LONGEST_OPENING = 40
"""Characters from `<` to the name of a tag."""
LONGEST_NAME = 80
MOST_WORDS = 4
"""Words of a name that may follow with blanks between them."""
OPENINGS = (
    "<",
    "\uff1c",
    "\ufe64",
    "\u2039",
    "&lt",
    "&LT",
    "&#",
    "\\u003c",
    "\\u003C",
    "\\x3c",
    "\\x3C",
)
"""How a tag begins, also where a client decodes entities or escapes."""
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_BLANKS = frozenset(" \t\r\n\f\v/" + _INVISIBLE)
_ESCAPED = frozenset(("\\n", "\\r", "\\t", "\\/"))
_ENDS = frozenset(" \t\r\n\f\v<>=/\"'`{}()[],;&\\")
"""Characters that no name has."""
_BEGINNINGS = frozenset(name[:2].lower() for name in (*NAMES, *EXACT))


def quoted(text: str) -> str:
    """The text with `quoted:` in each tag and before each voice of a client or model."""
    # Where lines begin that speak for a client, a user or a model; and marks of turns.
    places = []
    for voice in VOICES:
        place = text.find(voice)
        while place >= 0:
            before = text[max(0, place - 40) : place].rstrip(" \t")
            if not before or before.endswith(("\n", "\\n", "\r", "\u2028", "\u2029")):
                places.append(place)
            place = text.find(voice, place + len(voice))
    for turn in TURNS:
        place = text.find(turn)
        while place >= 0:
            places.append(place + 1)
            place = text.find(turn, place + len(turn))
    edits = [*_tags(text), *places]
    if not edits:
        return text
    return spliced(text, ((place, place, MARK) for place in sorted(set(edits))))


def marked(text: str) -> str:
    """Text from memory between tags that nothing in the text can open or close.

    Hooks and the tools of MCP give their text to an agent through this function.
    """
    return f"{MEMORY_OPEN}\n{quoted(text)}\n{MEMORY_CLOSE}"


def quoted_values(value: object) -> object:
    """A copy of plain values in which every text is `quoted`, the names of fields included."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return {quoted_values(key): quoted_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [quoted_values(item) for item in value]
    return value


def open_end(text: str) -> str:
    """The beginning of a tag at the end of a text, whose name may follow in the next piece."""
    end = text[-LONGEST_OPENING:]
    start = end.rfind("<")
    return end[start:] if start >= 0 and not end[start + 1 :].strip("/ \t\r\n") else ""


def _tags(text: str) -> list[int]:
    """Where the names of tags begin. Without `re`: to compile a rule takes longer than all else."""
    places = []
    plain = text.isascii()
    for opening in OPENINGS:
        if plain and not opening.isascii():
            continue
        start = text.find(opening)
        while start >= 0:
            end = start + len(opening)
            if opening[0] == "&":
                end = _entity_end(text, start)
            place = _name_start(text, end) if end else 0
            if place and _is_tag(text, start, end, place):
                places.append(place)
            start = text.find(opening, start + len(opening))
    return places


def _entity_end(text: str, start: int) -> int:
    """Where an entity that stands for `<` ends; 0 if it stands for something else."""
    body = text[start + 1 : start + 16].partition(";")[0].lower()
    if body.startswith("#"):
        base = 16 if body[1:2] == "x" else 10
        digits = body[2:] if base == 16 else body[1:]
        if digits.lstrip("0") != ("3c" if base == 16 else "60"):
            return 0
        end = start + 1 + len(body)
    elif body.startswith("lt"):
        end = start + 3
    else:
        return 0
    return end + 1 if text[end : end + 1] == ";" else end


def _name_start(text: str, place: int) -> int:
    """Where the name of a tag begins that was opened before `place`; 0 if there is none."""
    last = min(len(text), place + LONGEST_OPENING)
    while place < last:
        if text[place] in _BLANKS:
            place += 1
        elif text[place] == "\\" and text[place : place + 2] in _ESCAPED:
            place += 2
        else:
            return place
    return 0


def _is_tag(text: str, start: int, end: int, place: int) -> bool:
    """Whether a tag is known that is opened from `start` to `end` and has its name at `place`."""
    if text[place] in "|\uff5c":
        inner, bar, _ = text[place + 1 : place + 42].replace("\uff5c", "|").partition("|")
        return bool(bar and inner) and not set(inner) & _ENDS
    near = text[place : place + 3]
    if near[:2].lower() not in _BEGINNINGS and near.isascii():
        colon = text.find(":", place, place + LONGEST_NAME)
        if colon < 0 or not text[place:colon].replace("-", "").isalnum():
            return False  # most tags and signs of comparison end here
    name = _word(text, place, LONGEST_NAME)
    if not name or name.lower().startswith(MARK):
        return False
    before = text[start - 1 : start] if start else ""
    if end == place and "-" not in name and (before.isalnum() or before == "_"):
        return False  # `vector<session_context>` is code
    bare = name.rpartition(":")[2]
    if bare in EXACT and text[end:place] in ("", "/"):
        return True
    if _hyphenated(bare) in NAMES or _hyphenated(name) in NAMES:
        return True
    place += len(name)
    for _ in range(MOST_WORDS):
        blank = text[place : place + 9]
        after = place + len(blank) - len(blank.lstrip())
        word = _word(text, after, LONGEST_NAME)
        if after == place or not word or text[after + len(word) : after + len(word) + 1] == "=":
            return False  # an attribute, as in `<Session context={x}>`
        name += f" {word}"
        if _hyphenated(name) in NAMES:
            return True
        place = after + len(word)
    return False


def _word(text: str, place: int, longest: int) -> str:
    """The characters from a place on that a name may have."""
    for end, char in enumerate(text[place : place + longest], place):
        if char in _ENDS:
            return text[place:end]
    return text[place : place + longest]


def _hyphenated(name: str) -> str:
    """A name in lower case with one hyphen between its words."""
    low = name.lower()
    if not low.isascii():
        low = low.translate(dict.fromkeys(map(ord, _INVISIBLE)))
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in low)
    return "-".join(words.split())
