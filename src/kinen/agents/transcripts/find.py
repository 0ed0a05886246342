"""Past sessions of coding agents, where their clients left them or in a folder of yours."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from glob import escape, glob
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from kinen.agents.transcripts import (
    aider,
    claude,
    cline,
    codex,
    copilot,
    cursor,
    databases,
    gemini,
    opencode,
    pi,
    qwen,
    streams,
    zed,
)
from kinen.agents.transcripts.session import Past, Unsupported
from kinen.agents.transcripts.values import LONGEST
from kinen.errors import StoreError, UnsafeFile
from kinen.paths import user_folder
from kinen.storage import regular
from kinen.transfer import stream

if TYPE_CHECKING:
    from io import BufferedReader

    Line = dict[str, Any]

_HEAD = 20
"""Lines by which a client is known."""
_SHOWN = 5
HEAD_BYTES = 200
"""Bytes by which a single document is told from lines."""
_DATABASES = (
    (cursor.is_database, cursor.sessions),
    (zed.is_threads, zed.sessions),
    (databases.is_database, databases.sessions),
)
_DOCUMENTS = ((streams.is_amp, streams.amp), (streams.is_continue, streams.continue_session))
_LISTS = ((cline.is_task, cline.task), (cline.is_session, cline.session))
_READERS = (
    (opencode.is_export, opencode.exported),
    (codex.is_codex, codex.sessions),
    (gemini.is_gemini, gemini.sessions),
    (copilot.is_copilot, copilot.sessions),
    (qwen.is_qwen, qwen.sessions),
    (pi.is_pi, pi.sessions),
    (streams.is_droid, streams.droid),
    (streams.is_goose, streams.goose),
    (streams.is_kimi, streams.kimi),
    (streams.is_grok, streams.grok),
    (streams.is_antigravity, streams.antigravity),
    (cursor.is_cursor, cursor.transcript),
    (claude.is_claude, claude.sessions),
)
_ANTIGRAVITY = ("antigravity", "antigravity-cli", "antigravity-ide")
_APART = {"subagents", "tool-results"}
"""Folders with what a session already tells of its subagents and tools."""


class Tally:
    """What could not be taken."""

    def __init__(self) -> None:
        self.unknown: dict[str, int] = {}
        """Types of lines that kinen does not know."""
        self.broken: dict[str, int] = {}
        """Lines that are no JSON or cut short, by file."""
        self.strange: dict[str, str] = {}
        """Files that are no transcripts, with what they are."""

    def notes(self) -> list[str]:
        """All that in words, a few files at most by name."""
        remarks = [f"{path}: {what}" for path, what in self.strange.items()]
        remarks += [f"{path}: broken lines left out: {n:,}" for path, n in self.broken.items()]
        more = len(remarks) - _SHOWN
        return [*remarks[:_SHOWN], *([f"and {more:,} more such files"] if more > 0 else [])]


def places(env: Mapping[str, str], roots: Iterable[str] = ()) -> list[str]:
    """Where clients leave their sessions, as far as it exists; `roots` are those of a space."""
    home = user_folder(env)
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    cline_data = env.get("CLINE_DATA_DIR") or os.path.join(home, ".cline", "data")
    zed_data = os.path.join(home, "Library", "Application Support", "Zed")
    hermes = env.get("HERMES_HOME") or os.path.join(home, ".hermes")
    goose = env.get("GOOSE_PATH_ROOT")
    goose_data = os.path.join(goose, "data") if goose else os.path.join(data, "goose")
    candidates = (
        os.path.join(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects"),
        codex_sessions(env),
        os.path.join(os.path.dirname(codex_sessions(env)), "archived_sessions"),
        os.path.join(home, ".gemini", "tmp"),
        os.path.join(data, "opencode", "storage", "session"),
        os.path.join(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "session-state"),
        os.path.join(home, ".qwen", "projects"),
        os.path.join(home, ".pi", "agent", "sessions"),
        cursor.database(env),
        os.path.join(home, ".cursor", "projects"),
        os.path.join(cline_data, "tasks"),
        os.path.join(cline_data, "sessions"),
        *cline.extension_tasks(cursor.user_data(env)),
        os.path.join(
            zed_data if sys.platform == "darwin" else os.path.join(data, "zed"), "threads"
        ),
        os.path.join(goose_data, "sessions"),
        os.path.join(env.get("OPENCLAW_STATE_DIR") or os.path.join(home, ".openclaw"), "agents"),
        os.path.join(hermes, "state.db"),
        *sorted(glob(os.path.join(escape(hermes), "profiles", "*", "state.db"))),
        os.path.join(env.get("KIMI_CODE_HOME") or os.path.join(home, ".kimi-code"), "sessions"),
        os.path.join(env.get("KIMI_SHARE_DIR") or os.path.join(home, ".kimi"), "sessions"),
        os.path.join(env.get("GROK_HOME") or os.path.join(home, ".grok"), "sessions"),
        os.path.join(home, ".grok", "grok.db"),
        *(os.path.join(home, ".gemini", name, "brain") for name in _ANTIGRAVITY),
        os.path.join(data, "amp", "threads"),
        os.path.join(home, ".factory", "sessions"),
        os.path.join(env.get("CONTINUE_GLOBAL_DIR") or os.path.join(home, ".continue"), "sessions"),
        *(os.path.join(root, aider.HISTORY) for root in roots),
        *(os.path.join(root, ".crush", "crush.db") for root in roots),
    )
    return [place for place in candidates if os.path.exists(place)]


def codex_sessions(env: Mapping[str, str]) -> str:
    """The folder in which Codex leaves its sessions."""
    codex_home = env.get("CODEX_HOME") or os.path.join(user_folder(env), ".codex")
    return os.path.join(codex_home, "sessions")


def recognises(path: str) -> bool:
    """Whether a folder or file holds past sessions of a client that kinen reads."""
    if os.path.isdir(path):
        return any(True for _ in _files(path))
    if not os.path.isfile(path):
        return False  # looking into a pipe would consume what is in it
    if _is_store(path):
        return True
    with _opened(path, explicit=False) as file:
        head = list(islice(_lines(file, path, Tally()), _HEAD))
    return any(knows(line) for line in head for knows, _ in _READERS)


def _is_store(path: str) -> bool:
    """Whether a file is recognised by its name."""
    others = (aider.is_history, opencode.is_session)
    stores = (knows for knows, _ in (*_DATABASES, *_DOCUMENTS, *_LISTS))
    return any(knows(path) for knows in (*stores, *others))


def sessions_in(
    path: str, tally: Tally | None = None, unchanged: Callable[[str], bool] = lambda _: False
) -> Iterator[Past]:
    """The sessions in a file or folder, each to be read before the next is asked for.

    A file of a folder that has all of its sessions in itself is left out if it is unchanged.
    """
    tally = tally or Tally()
    for file in _files(path):
        try:
            if file != path and not _is_store(file) and unchanged(file):
                continue
            yield from _sessions(file, tally, explicit=file == path)
        except (UnsafeFile, StoreError) as error:
            tally.strange[file] = error.message
        except (Unsupported, sqlite3.Error) as error:
            tally.strange[file] = str(error)
        except OSError as error:
            tally.strange[file] = error.strerror or str(error)


def latest_session(path: str, size: int) -> Iterator[Past]:
    """The session of a transcript of lines: what its first line and its last bytes tell of it.

    Nothing of a file that cannot be read now.
    """
    tally = Tally()
    try:
        with os.fdopen(regular.open_file(path), "rb") as file:
            head = list(islice(_lines(file, path, tally), 1))
            end = os.fstat(file.fileno()).st_size
            if end - size > file.tell():
                file.seek(end - size)
                file.readline(LONGEST)  # it is cut
            for knows, sessions in _READERS:
                if head and knows(head[0]):
                    yield from sessions(chain(head, _lines(file, path, tally)), path, {})
                    return
    except (UnsafeFile, OSError):
        return


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - _APART)
        whole = [name for name in names if name in streams.WHOLE]
        for name in whole or sorted(names):
            path = os.path.join(folder, name)
            if _is_transcript(path) and os.path.isfile(path):
                yield path


def _is_transcript(path: str) -> bool:
    name = os.path.basename(path)
    if name.endswith(".jsonl"):
        return ".checkpoint." not in name and name != streams.REPEATED
    return _is_store(path) or (name.startswith(("session-", "ses_")) and name.endswith(".json"))


def _opened(path: str, *, explicit: bool) -> BufferedReader:
    """A transcript; one that the user named may be a pipe, as in `<(zcat old.jsonl.gz)`."""
    return open(path, "rb") if explicit else os.fdopen(regular.open_file(path), "rb")


def _sessions(path: str, tally: Tally, *, explicit: bool) -> Iterator[Past]:
    if opencode.is_session(path):
        yield from opencode.sessions(path, tally.unknown, tally.broken)
        return
    for is_store, stored in _DATABASES:
        if is_store(path):
            yield from stored(path, tally.strange, tally.broken)
            return
    for is_document, sessions in _DOCUMENTS:
        if is_document(path):
            yield from sessions(path, tally.broken)
            return
    for is_list, listed in _LISTS:
        if is_list(path):
            with _opened(path, explicit=explicit) as file:
                yield from listed(path, _messages(file, path, tally))
            return
    if aider.is_history(path):
        with _opened(path, explicit=explicit) as file:
            yield from aider.sessions(path, _text_lines(file))
        return
    with _opened(path, explicit=explicit) as file:
        yield from sessions_from(file, path, tally)


def sessions_from(file: BufferedReader[Any], path: str, tally: Tally) -> Iterator[Past]:
    """The sessions of an open transcript of lines or of one document; `path` is its name."""
    empty = not file.peek(1)
    # One JSON document, whatever it is called; nothing is read from it here.
    start = file.peek(HEAD_BYTES)[:HEAD_BYTES]
    whole = path.endswith(".json") or re.match(rb'\s*\{\s*"info"\s*:', start)
    lines = (_document if whole else _lines)(file, path, tally)
    head = list(islice(lines, _HEAD))
    for line in head:
        for knows, sessions in _READERS:
            if knows(line):
                yield from sessions(chain(head, lines), path, tally.unknown)
                return
    tally.strange[path] = "empty" if empty else "unrecognised transcript format"
    tally.broken.pop(path, None)


def _lines(file: IO[bytes], path: str, tally: Tally) -> Iterator[Line]:
    """The objects of a file of lines; what is none is counted."""
    while raw := file.readline(LONGEST):
        cut = len(raw) == LONGEST and not raw.endswith(b"\n")
        while cut and (more := file.readline(LONGEST)) and not more.endswith(b"\n"):
            pass
        try:
            line = None if cut else json.loads(raw)
        except (ValueError, RecursionError):
            line = None
        if isinstance(line, dict):
            yield line
        elif raw.strip():
            tally.broken[path] = tally.broken.get(path, 0) + 1


def _document(file: IO[bytes], path: str, tally: Tally) -> Iterator[Line]:
    """The messages of one document, after what it says of itself."""
    about: Line = {}
    try:
        for key, value in stream.document(file):
            if key != "messages":
                about[key] = value
                continue
            if about:
                yield about
                about = {}
            if isinstance(value, dict):
                yield value
    except StoreError:
        tally.broken[path] = 1
    if about:
        yield about


def _messages(file: IO[bytes], path: str, tally: Tally) -> Iterator[object]:
    """The messages of a document: a list of them, or an object that has it."""
    try:
        yield from stream.elements(file, "messages")
    except StoreError:
        tally.broken[path] = tally.broken.get(path, 0) + 1


def _text_lines(file: IO[bytes]) -> Iterator[str]:
    """The lines of a text, each as far as it is looked at."""
    while raw := file.readline(LONGEST):
        yield raw.decode("utf-8", "replace")
