"""The chat history of Aider: one Markdown file in a repository, with a heading for each session.

`####` begins a line that the user typed, `> ` one that Aider printed; everything else is the
model's. A session has the time of its start and no other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial

from kinen.agents.tool_use import WINDOW, ToolUse
from kinen.agents.transcripts.session import Event, Past
from kinen.agents.transcripts.values import milliseconds

HISTORY = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_USER = "####"
_PRINTED = "> "
_APPLIED = "Applied edit to "
_SEARCH = "<<<<<<< SEARCH"
_REPLACE = ">>>>>>> REPLACE"


def is_history(path: str) -> bool:
    return os.path.basename(path) == HISTORY


def sessions(path: str, lines: Iterable[str]) -> Iterator[Past]:
    """The sessions of a history, in the folder that it lies in."""
    reader = _Reader(lines)
    cwd = os.path.dirname(os.path.abspath(path))
    while reader.start:
        start = reader.start
        read = partial(_events, reader=reader, start=start)
        past = Past("aider", f"aider-{start.replace(' ', 'T')}", path, read, cwd=cwd)
        yield past
        if not past.taken:
            return


class _Reader:
    """The lines of a history, one session at a time."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.start = ""
        """The start of the session whose lines are next; empty at the end."""
        for _ in self.session():
            pass

    def session(self) -> Iterator[str]:
        """The lines up to the start of the next session."""
        self.start = ""
        for line in self._lines:
            heading = _START.match(line)
            if heading:
                self.start = heading[1]
                return
            yield line.rstrip("\r\n")


def _events(past: Past, reader: _Reader, start: str) -> Iterator[Event]:
    local = datetime.fromisoformat(start).astimezone()
    at = milliseconds(local.timestamp() * 1000)
    # Ids are made of the time as it is written: it does not depend on the zone of this machine.
    moment = milliseconds(datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp() * 1000)
    for number, event in enumerate(_turns(past, reader.session())):
        yield event._replace(id=past.event_id(moment, f"{past.id}:{number}"), ts=at)


def _turns(past: Past, lines: Iterable[str]) -> Iterator[Event]:
    """Prompts, answers, and the edits that Aider applied of an answer."""
    prompt = _Text()
    answer = _Text()
    for line in lines:
        if line.startswith(_USER):
            yield from _message(past, "assistant", answer)
            prompt.add(line.removeprefix(_USER).strip())
            continue
        yield from _message(past, "user", prompt)
        if not f"{line} ".startswith(_PRINTED):
            answer.add(line)
        elif line[1:].strip().startswith(_APPLIED):
            file = line[1:].strip().removeprefix(_APPLIED)
            edit = past.tool_use(ToolUse("edit", {"file_path": file}, diff=answer.take_edit(file)))
            yield from _message(past, "assistant", answer)
            if edit:
                yield edit
    yield from _message(past, "user", prompt)
    yield from _message(past, "assistant", answer)


def _message(past: Past, role: str, words: _Text) -> Iterator[Event]:
    event = past.message(role, words.take())
    if event:
        yield event


class _Text:
    """The lines of a message, as far as they are looked at."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0

    def add(self, line: str) -> None:
        self._size += len(line) + 1
        if self._size <= WINDOW:
            self._lines.append(line)

    def take(self) -> str:
        """The text; the next one begins empty."""
        words = "\n".join(self._lines).strip()
        self._lines = []
        self._size = 0
        return words

    def take_edit(self, file: str) -> str:
        """The edits of a file, as lines of a diff; they are taken out of the text."""
        prose: list[str] = []
        diff: list[str] = []
        sign = ""
        fenced = False
        for line in self._lines:
            # Whether the lines before an edit name a file, with or without a fence between.
            if line.startswith(_SEARCH) and any(line.strip("` :*#") == file for line in prose[-3:]):
                sign = "-"
                # The lines before an edit, without its fence and the name of the file.
                end = len(prose)
                while end and (
                    prose[end - 1].startswith("```") or prose[end - 1].strip("` :*#") == file
                ):
                    end -= 1
                prose = prose[:end]
            elif sign and line.startswith("======="):
                sign = "+"
            elif sign and line.startswith(_REPLACE):
                sign = ""
                fenced = True
            elif fenced and not sign and line.startswith("```"):
                fenced = False
            elif sign:
                diff.append(sign + line)
            else:
                prose.append(line)
        self._lines = prose if diff else self._lines
        return "\n".join(diff)
