"""Entire's checkpoints: transcripts of sessions on a branch, or below refs of their own.

A checkpoint is a folder `<2 digits>/<10 digits>` of the branch, or the whole tree of a ref, with a
`metadata.json` and a folder for each of its sessions. A transcript is committed again at each
checkpoint: the longest of a session is its last.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kinen.agents.transcripts.find import Tally, sessions_from
from kinen.agents.transcripts.session import Past
from kinen.agents.transcripts.values import elements, fields, milliseconds, text
from kinen.model.tuples import NamedTuple
from kinen.sources.traces.objects import Blob, Objects

BRANCHES = ("refs/heads/entire/checkpoints/v1", "refs/remotes/origin/entire/checkpoints/v1")
REFS = "refs/entire/checkpoints/"
TRANSCRIPT = "full.jsonl"
METADATA = "metadata.json"
SUBJECT = "Checkpoint: "
"""What the subject of a commit of the branch begins with, before the id."""
SESSIONS = 10_000
"""Sessions of a repository that are read."""
_FOLDER = re.compile(r"(?:([0-9a-f]{2})/([0-9a-f]{10})/)?(?:(\d{1,4})/)?([^/]+)$")
LONGEST_ID = 200


class Checkpointed(NamedTuple):
    """A session in the checkpoints of a repository."""

    id: str
    agent: str
    """As Entire calls it, such as `Claude Code`."""
    transcript: Blob
    about: Mapping[str, Any]
    """Its metadata, of the checkpoint with the longest transcript."""
    summary: Mapping[str, Any]
    """What a model wrote about it, of the last checkpoint that has it."""
    branch: str = ""
    author: str = ""
    """Who committed its last checkpoint."""


class Checkpoints(NamedTuple):
    """All that the checkpoints of a repository hold."""

    sessions: dict[str, Checkpointed]
    by_checkpoint: dict[str, tuple[str, ...]]
    """The sessions of each checkpoint, those without a transcript too."""


def refs(objects: Objects) -> dict[str, str]:
    """The refs with checkpoints; of the branch here and at the remote, the one here."""
    checkpoints_in = objects.refs(*BRANCHES, REFS)
    branch = next((name for name in BRANCHES if name in checkpoints_in), "")
    return {
        name: id_ for name, id_ in checkpoints_in.items() if name == branch or name.startswith(REFS)
    }


def checkpoints(objects: Objects) -> Checkpoints:
    """The sessions of a repository, each with its longest transcript."""
    sessions: dict[str, Checkpointed] = {}
    by_checkpoint: dict[str, list[str]] = {}
    summaries: dict[str, tuple[str, dict[str, Any]]] = {}
    authors: dict[str, str] = {}
    for ref, id_ in refs(objects).items():
        for author, subject in objects.authors(id_) if ref in BRANCHES else ():
            authors.setdefault(subject.removeprefix(SUBJECT), author)
        for checkpoint, folder in folders(ref, objects.tree(id_)):
            about = objects.json(folder[METADATA].id) if METADATA in folder else {}
            session = text(about.get("session_id"))
            if not 0 < len(session) <= LONGEST_ID or not session.isprintable():
                continue
            if session not in by_checkpoint.setdefault(checkpoint, []):
                by_checkpoint[checkpoint].append(session)
            created = text(about.get("created_at"))
            summary = fields(about.get("summary"))
            if summary and created >= summaries.get(session, ("", {}))[0]:
                summaries[session] = (created, summary)
            transcript = folder.get(TRANSCRIPT)
            longest = sessions.get(session)
            if transcript is None or (longest and longest.transcript.size >= transcript.size):
                continue
            if longest is None and len(sessions) >= SESSIONS:
                continue
            agent = text(about.get("agent"))[:60]
            branch = text(about.get("branch"))[:LONGEST_ID]
            author = text(authors.get(checkpoint))
            sessions[session] = Checkpointed(session, agent, transcript, about, {}, branch, author)
    for session, (_, written) in summaries.items():
        if session in sessions:
            sessions[session] = sessions[session]._replace(summary=written)
    return Checkpoints(sessions, {name: tuple(ids) for name, ids in by_checkpoint.items()})


def folders(ref: str, blobs: Iterator[Blob]) -> Iterator[tuple[str, dict[str, Blob]]]:
    """The folders of sessions in a tree, each with its checkpoint and its files by name."""
    own = ref.removeprefix(REFS).rpartition("/")[2] if ref.startswith(REFS) else ""
    checkpoints_in: dict[tuple[str, str], dict[str, Blob]] = {}
    for blob in blobs:
        match = _FOLDER.fullmatch(blob.path)
        if match is None or bool(match[1]) == bool(own):
            continue
        checkpoint = own or match[1] + match[2]
        checkpoints_in.setdefault((checkpoint, match[3] or ""), {})[match[4]] = blob
    for (checkpoint, _), files in sorted(checkpoints_in.items()):
        yield checkpoint, files


def past(objects: Objects, session: Checkpointed) -> Past | None:
    """A session of the checkpoints, to be read once; None if no reader knows its transcript."""
    data = objects.read(session.transcript.id)
    name = f"{session.transcript.path}.{session.transcript.id[:12]}"
    stream = io.BufferedReader(io.BytesIO(data))
    best: Past | None = None
    for checkpoints_in in sessions_from(stream, name, Tally()) if data else ():
        # A transcript may begin with what an earlier session said; the rest is this one's.
        if best is None or checkpoints_in.id == session.id:
            best = checkpoints_in
        if checkpoints_in.id == session.id:
            break
        checkpoints_in.taken = True
    return best


def summary_text(summary: Mapping[str, Any]) -> str:
    """What a model wrote about a session, as plain lines."""
    lines = [text(summary.get(name)) for name in ("intent", "outcome")]
    learned = fields(summary.get("learnings"))
    for group in (*learned.values(), summary.get("friction"), summary.get("open_items")):
        for entry in elements(group):
            finding = text(fields(entry).get("finding")) or text(entry)
            place = text(fields(entry).get("path"))
            lines.append(f"- {place}: {finding}" if place else f"- {finding}")
    return "\n".join(line for line in lines if line.strip("- "))


def created(session: Checkpointed) -> int:
    """When its last checkpoint was made; 0 if that is unknown."""
    return milliseconds(session.about.get("created_at"))
