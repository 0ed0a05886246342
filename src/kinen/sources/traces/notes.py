"""What notes and records say about lines: Git AI, whogitit, Agent Trace, trailers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinen.agents.transcripts.values import elements, fields, text
from kinen.errors import UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.sources.traces.objects import Objects, decoded
from kinen.space.repository import Git
from kinen.text import digest

GIT_AI = "refs/notes/ai"
WHOGITIT = "refs/notes/whogitit"
AGENT_TRACE = "refs/notes/agent-trace"
RECORDS = ".agent-trace/traces.jsonl"
NOTES = 20_000
LARGEST = 4 << 20
"""Bytes of one note."""
ENTRIES = 10_000
"""Lines of attributions, or of records, that are read."""
_RANGES = re.compile(r"  ([0-9a-f]{7,64}) (\d[\d,-]*)")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
CHECKPOINT = re.compile(r"(?m)^Entire-Checkpoint: ([0-9a-f]{12})[ \t]*$")
"""The trailer by which a commit names a checkpoint of Entire."""
_TRAILER = re.compile(r"(?im)^(?:[a-z][a-z-]{0,40}-)?session(?:-id)?: (\S{6,200})[ \t]*$")


class Note(NamedTuple):
    """What one note says of a commit."""

    commit: str
    sessions: tuple[str, ...]
    """Conversation ids that wrote lines of it."""
    lines: tuple[tuple[str, str, int, int], ...]
    """Path, conversation id, first and last line in that commit."""
    prompts: tuple[dict[str, Any], ...] = ()


class Share(NamedTuple):
    """What a session has of a commit, to be written down for others."""

    session: str
    agent: str
    messages: tuple[tuple[str, str, str], ...]
    """Role, text and time."""
    lines: Mapping[str, list[int]]
    """By path the lines in that commit, in order."""
    added: int
    """Lines that its edits added, and removed."""
    removed: int


def notes(objects: Objects, ref: str) -> Iterator[Note]:
    """The notes of Git AI or of whogitit that the repository has; a plain clone has none."""
    tip = objects.refs(ref).get(ref, "")
    if not tip:
        return
    read = whogitit_note if ref == WHOGITIT else git_ai_note
    for number, blob in enumerate(objects.tree(tip)):
        commit = blob.path.replace("/", "")
        if number >= NOTES:
            return
        if _SHA.fullmatch(commit):
            data = objects.read(blob.id, LARGEST)
            yield read(commit, data.decode("utf-8", "replace"))


def is_unfetched(git: Git) -> bool:
    """Whether Git AI works in a repository that does not have its notes."""
    from kinen.storage import regular

    try:
        config = regular.read(os.path.join(git.common, "config"), LARGEST)
    except (OSError, UnsafeFile):
        config = b""
    if GIT_AI.encode() not in config and not os.path.isdir(os.path.join(git.common, "ai")):
        return False
    objects = Objects(git)
    try:
        return not objects.refs(GIT_AI)
    finally:
        objects.close()


def git_ai_note(commit: str, note: str) -> Note:
    """A note in the standard's form: paths with ranges, a line `---`, and JSON."""
    head, _, tail = note.partition("\n---\n")
    if note.startswith("---\n"):
        head = ""
        tail = note[4:]
    prompts = fields(decoded(tail).get("prompts"))
    ids = {}
    for key, prompt in list(prompts.items())[:ENTRIES]:
        agent = fields(fields(prompt).get("agent_id"))
        ids[key] = text(agent.get("id"))[:200] or key
    path = ""
    lines = []
    for row in head.splitlines()[:ENTRIES]:
        match = _RANGES.fullmatch(row)
        if match is None:
            path = row.strip().strip('"') if row and not row.startswith(" ") else path
            continue
        for part in match[2].split(","):
            first, _, last = part.partition("-")
            if path and first.isdecimal():
                end = int(last) if last.isdecimal() else int(first)
                lines.append((path, ids.get(match[1], match[1]), int(first), end))
    sessions = tuple(dict.fromkeys((*ids.values(), *(row[1] for row in lines))))
    return Note(commit, sessions, tuple(lines), tuple(map(fields, prompts.values())))


def git_ai_text(commit: str, author: str, shares: Iterable[Share]) -> str:
    """The note of Git AI for a commit."""
    by_path: dict[str, list[str]] = {}
    prompts = {}
    for share in shares:
        # The key is the standard's: the beginning of SHA-256 of tool and conversation.
        key = digest(f"{share.agent}:{share.session}")[:16]
        for path, numbers in share.lines.items():
            places = ",".join(f"{a}-{b}" if a < b else str(a) for a, b in _ranges(numbers))
            by_path.setdefault(path, []).append(f"  {key} {places}")
        prompts[key] = {
            "agent_id": {"tool": share.agent, "id": share.session, "model": "unknown"},
            "human_author": author,
            "messages": [
                {"type": role, "text": words, "timestamp": at} for role, words, at in share.messages
            ],
            "total_additions": share.added,
            "total_deletions": share.removed,
            "accepted_lines": sum(map(len, share.lines.values())),
            "overriden_lines": 0,
        }
    rows = []
    for path, entries in by_path.items():
        rows += [f'"{path}"' if " " in path else path, *entries]
    about = {"schema_version": "authorship/3.0.0", "base_commit_sha": commit, "prompts": prompts}
    return "\n".join([*rows, "---", json.dumps(about)])


def agent_trace_text(commit: str, at: str, shares: Iterable[Share]) -> str:
    """The record of Agent Trace for a commit; the same for the same commit."""
    import uuid
    from urllib.parse import quote

    from kinen import __version__

    files: dict[str, list[dict[str, Any]]] = {}
    for share in shares:
        for path, numbers in share.lines.items():
            ranges = [{"start_line": a, "end_line": b} for a, b in _ranges(numbers)]
            url = f"kinen://session/{quote(share.session, safe='')}"
            talk = {"url": url, "contributor": {"type": "ai"}, "ranges": ranges}
            files.setdefault(path, []).append(talk)
    record = {
        "version": "0.1",
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"kinen://commit/{commit}")),
        "timestamp": at,
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "kinen", "version": __version__},
        "files": [{"path": path, "conversations": talks} for path, talks in files.items()],
    }
    return json.dumps(record)


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order as ranges, the ends included."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def whogitit_note(commit: str, note: str) -> Note:
    """A note of whogitit, one object of JSON, with its prompts as Git AI has them."""
    value = decoded(note)
    about = fields(value.get("session"))
    id_ = text(about.get("session_id"))[:200]
    entries = map(fields, elements(value.get("prompts"))[:ENTRIES])
    messages = [
        {"type": "user", "text": row.get("text"), "timestamp": row.get("timestamp")}
        for row in entries
    ]
    model = text(fields(about.get("model")).get("id"))
    prompt = {"agent_id": {"id": id_, "model": model}, "messages": messages}
    lines = []
    for file in map(fields, elements(value.get("files"))[:ENTRIES]):
        for row in map(fields, elements(file.get("lines"))[:ENTRIES]):
            number = row.get("line_number")
            if isinstance(number, int) and isinstance(row.get("prompt_index"), int):
                lines.append((text(file.get("path")), id_, number, number))
    return Note(commit, (id_,) if id_ else (), tuple(lines), (prompt,) if id_ else ())


def agent_trace_notes(data: str) -> Iterator[Note]:
    """The records of Agent Trace, one JSON object a line, as notes of their commits."""
    for row in data.splitlines()[:ENTRIES]:
        record = decoded(row)
        commit = text(fields(record.get("vcs")).get("revision")).lower()
        if not _SHA.fullmatch(commit):
            continue
        lines = []
        for file in map(fields, elements(record.get("files"))[:ENTRIES]):
            for talk in map(fields, elements(file.get("conversations"))[:ENTRIES]):
                url = text(talk.get("url"))[:200]
                if not url or fields(talk.get("contributor")).get("type") == "human":
                    continue
                for place in map(fields, elements(talk.get("ranges"))[:ENTRIES]):
                    first = place.get("start_line")
                    last = place.get("end_line")
                    if isinstance(first, int) and isinstance(last, int):
                        lines.append((text(file.get("path")), url, first, last))
        yield Note(commit, tuple(dict.fromkeys(line[1] for line in lines)), tuple(lines))


def trailer_sessions(message: str) -> list[str]:
    """The sessions that plain trailers of a commit name: `Session-Id: …`, `Claude-Session: …`."""
    return list(dict.fromkeys(_TRAILER.findall(message)))
