"""SpecStory's histories: conversations as markdown below `.specstory/history`.

A file names its client and session in a comment, then has blocks `_**User**_` and `_**Agent**_`
(`_**Assistant**_` in version 1) with a line `---` between them. Version 2 has tools as elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from kinen.agents.tool_use import EDITS, SHELLS, ToolUse
from kinen.agents.transcripts.session import Event, Past
from kinen.agents.transcripts.values import milliseconds

FOLDER = ".specstory/history"
FILES = 5_000
LARGEST = 16 << 20
"""Bytes of a history that is read."""
_SESSION = re.compile(r"<!-- ([\w .-]{1,40}?) Session ([\w-]{1,100})(?: \(([^)\n]{1,40})\))? -->")
_TITLE = re.compile(r"(?m)^# [^\n]*?(\d{4}-\d\d-\d\d)[ _T](\d\d)[:-](\d\d)(?:[:-](\d\d))?")
_NAME = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)(?:-(\d\d))?")
_SPEAKER = re.compile(r"(?m)^_\*\*(User|Agent|Assistant)(?: \(([^)\n]*)\))?\*\*_[ \t]*$")
_ELEMENT = re.compile(r"<(tool-use|think|details)([^<>]{0,300})>")
_ATTRIBUTE = re.compile(r'data-tool-(type|name)="([^"]{0,80})"')
_CODED = re.compile(r"`([^`\n]{1,300})`")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?")


def session(text: str, path: str) -> Past | None:
    """The session of a history; None if it is none."""
    if "SpecStory" not in text[:400] or not _SPEAKER.search(text):
        return None
    header = _SESSION.search(text[:2000])
    client = header[1].lower().replace(" ", "-") if header else "specstory"
    id_ = header[2] if header else path.rpartition("/")[2]
    # When it began: as its header says, its title or its name; 1 if nothing does.
    start = milliseconds((header[3] or "" if header else "").replace("Z", "+00:00"))
    for match in (_TITLE.search(text[:2000]), _NAME.match(path.rpartition("/")[2])):
        if match and not start:
            clock = f"{match[2]}:{match[3]}:{match[4] or '00'}"
            start = milliseconds(f"{match[1]}T{clock}+00:00")
    return Past(client, id_, path, partial(_events, text=text, start=start or 1))


def _events(past: Past, text: str, start: int) -> Iterator[Event]:
    """The messages and tool uses in order; without times of their own each is a second later."""
    heads = list(_SPEAKER.finditer(text))
    at = start
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        body = text[head.end() : end].strip().removesuffix("---").strip()
        moment = _MOMENT.search(head[2] or "")
        at = max(at + 1000, milliseconds(moment[0].replace("Z", "+00:00")) if moment else 0)
        role = "user" if head[1] == "User" else "assistant"
        for place, event in enumerate(_block(past, role, body)):
            if event:
                yield event._replace(
                    id=past.event_id(at + place, f"{number}:{place}"), ts=at + place
                )


def _block(past: Past, role: str, body: str) -> Iterator[Event | None]:
    prose, tools = _prose_and_tools(body)
    yield past.message(role, prose.strip())
    for about, inner in tools:
        yield past.tool_use(_use(about, inner))


def _prose_and_tools(body: str) -> tuple[str, list[tuple[str, str]]]:
    """What a block says outside of elements, and the attributes and contents of its tools.

    A search for an end that is missing would be made again at every beginning: it is made once.
    """
    prose: list[str] = []
    tools: list[tuple[str, str]] = []
    endless: set[str] = set()
    place = 0
    while head := _ELEMENT.search(body, place):
        name = head[1]
        end = -1 if name in endless else body.find(f"</{name}>", head.end())
        if end < 0:
            endless.add(name)
            prose.append(body[place : head.end()])
            place = head.end()
            continue
        prose.append(body[place : head.start()])
        if name == "tool-use":
            tools.append((head[2], body[head.end() : end]))
        place = end + len(name) + 3
    return "".join([*prose, body[place:]]), tools


def _use(about: str, body: str) -> ToolUse:
    attributes = dict(_ATTRIBUTE.findall(about))
    name = attributes.get("name", "")
    kind = attributes.get("type", "")
    summary = body.partition("</summary>")[0]
    coded = _CODED.search(summary) or _CODED.search(body)
    # What stands between fences, without the line of the first one.
    pieces = body.split("```")
    fences = [piece.partition("\n")[2] for piece in pieces[1 : len(pieces) - 1 : 2]]
    if kind == "shell" or name in SHELLS:
        command = coded[1] if coded else (fences[0].strip() if fences else "")
        tool = name if name in SHELLS else "Bash"
        return ToolUse(tool, {"command": command}, "\n".join(fences).strip())
    inputs = {"file_path": coded[1]} if coded and "/" in coded[1] + "." else {}
    if kind == "write" or name in EDITS:
        diff = "\n".join(fences)
        signed = any(line.startswith(("+", "-")) for line in diff.splitlines())
        lines = diff if signed else "\n".join(f"+{line}" for line in diff.splitlines())
        return ToolUse(name if name in EDITS else "Edit", inputs, diff=lines)
    return ToolUse(name or kind, inputs)
