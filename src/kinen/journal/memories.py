"""Stores memories: what was learned from other records, what it is about, and the clock of
surprises.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from kinen.journal import events, queries
from kinen.model.journal import Clock, Learned, Observation, Scope, Summary
from kinen.model.tuples import NamedTuple
from kinen.privacy.entrance import name, names
from kinen.storage.database import writing

_COLUMNS = (
    "id",
    "type",
    "content",
    "confidence",
    "created_at",
    "derived_from",
    "superseded_by",
    "edits",
    *Scope._fields,
)
_PLACES = ", ".join(f":{column}" for column in _COLUMNS)
_INSERT = f"INSERT INTO memories({', '.join(_COLUMNS)}) VALUES ({_PLACES})"
_UPDATE = (
    "UPDATE memories SET confidence = :confidence, created_at = :created_at,"
    " derived_from = :derived_from, superseded_by = :superseded_by WHERE id = :id"
)
LOOKED_AT = 20
"""Sources of a memory that are looked at."""
MOST = 8
"""Names of each sort that a memory keeps."""
_SPAN = re.compile(r"`([^`\n]{2,200})`")
_PATH = re.compile(r"(?:[\w.@~-]{1,80}/){0,12}[\w.@-]{1,80}\.[A-Za-z]\w{0,7}(?::\d{1,7})?")
_BARE_PATH = re.compile(r"(?<![\w/`.])(?:[\w.@-]{1,80}/){1,12}[\w.@-]{1,80}\.[A-Za-z]\w{0,7}\b")
_SYMBOL = re.compile(
    r"[@:$]?[A-Za-z_][\w]{1,80}(?:(?:\.|::|#)[A-Za-z_]\w{0,80}){0,6}[?!]?(?:\(\)|/\d)?"
)
_EXTENSIONS = frozenset(
    """py js ts tsx jsx mjs cjs go rs rb ex exs erl java kt swift c h cc cpp hpp cs php sh bash zsh
    sql css scss html md mdx json jsonl yaml yml toml lock cfg ini env xml txt proto vue svelte lua
    zig nix tf gradle dockerfile heex eex lean hs ml scala clj dart""".split()
)


class Counts(NamedTuple):
    """How many memories were added and changed."""

    added: int = 0
    changed: int = 0


def learn(db: sqlite3.Connection, learned: Sequence[Learned]) -> Counts:
    """Store memories, their secrets masked, all of them or none.

    One that exists gets the sources it lacks; one that was forgotten or redacted stays so. One
    whose source was erased while it was drawn is not stored.
    """
    added = 0
    changed = 0
    with writing(db):
        for memory in learned:
            if any(_is_erased(db, ref) for ref in memory.derived_from):
                continue
            existing: Learned | None = queries.entry(db, "memory", memory.id)
            if existing is None:
                db.execute(_INSERT, new_cells(memory))
                added += 1
            elif not (existing.forgotten_at or existing.redacted):
                merged = merge(existing, memory)
                if merged != existing:
                    db.execute(_UPDATE, cells(merged))
                    changed += 1
    return Counts(added, changed)


def _is_erased(db: sqlite3.Connection, ref: str) -> bool:
    kind, _, id_ = ref.partition(":")
    entry = queries.entry(db, kind, id_) if kind in queries.KINDS else None
    return bool(getattr(entry, "redacted", False) or getattr(entry, "forgotten_at", 0))


def drop_sources(db: sqlite3.Connection, id_: str, sources: Sequence[str]) -> None:
    """Take sources away from a memory; others that it has got stay. In a transaction."""
    memory: Learned | None = queries.entry(db, "memory", id_)
    if memory is None:
        return
    left = tuple(ref for ref in memory.derived_from if ref not in sources)
    db.execute(_UPDATE, cells(memory._replace(derived_from=left)))


def cells(memory: Learned) -> dict[str, str | int | float]:
    """The cells that an update changes, and the id."""
    return {
        "confidence": memory.confidence,
        "created_at": memory.created_at,
        "derived_from": json.dumps(memory.derived_from, ensure_ascii=False),
        "superseded_by": memory.superseded_by,
        "id": memory.id,
    }


def new_cells(memory: Learned) -> dict[str, str | int | float]:
    """All cells of a new memory, its secrets masked."""
    scope = dict(zip(Scope._fields, names(memory.scope), strict=True))
    fixed = {"type": memory.type, "content": name(memory.content), "edits": memory.edits}
    return {**cells(memory), **fixed, **scope}


def merge(existing: Learned, memory: Learned) -> Learned:
    """A memory with what another process may have added meanwhile."""
    sources = dict.fromkeys((*existing.derived_from, *memory.derived_from))
    return existing._replace(
        confidence=max(existing.confidence, memory.confidence),
        created_at=min(existing.created_at, memory.created_at),
        derived_from=tuple(sources),
        superseded_by=memory.superseded_by,
    )


def memories(db: sqlite3.Connection, *, everything: bool = False) -> list[Learned]:
    """The memories, newest first; with `everything` also those that are hidden or forgotten."""
    entries, _ = queries.entries(db, "memories", queries.EntryFilter(audit=everything))
    hidden = set() if everything else queries.suppressed(db)
    return [memory for memory in entries if memory.ref not in hidden]


def clock(db: sqlite3.Connection) -> Clock:
    row = db.execute("SELECT value FROM meta WHERE key = 'clock'").fetchone()
    return Clock(*json.loads(row[0])) if row else Clock()


def keep_clock(db: sqlite3.Connection, clock: Clock) -> None:
    with writing(db):
        db.execute("INSERT OR REPLACE INTO meta VALUES ('clock', ?)", (json.dumps(clock),))


def drawn_from_any(db: sqlite3.Connection, refs: Sequence[str]) -> list[str]:
    """Refs of the memories that any of these entries is a source of."""
    sources = set(refs)
    return [
        memory.ref
        for memory in memories(db, everything=True)
        if not (memory.redacted or memory.forgotten_at) and sources & set(memory.derived_from)
    ]


@dataclass(frozen=True, slots=True)
class Origin:
    """The session and capsule in which something was first said, and what it is about."""

    session: str = ""
    capsule: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


def origin(db: sqlite3.Connection, memory: Learned) -> Origin:
    """What the text of a memory names, and which files were edited in the events it rests on."""
    session = ""
    capsule = ""
    edited: list[str] = []
    for ref in memory.derived_from[:LOOKED_AT]:
        kind, _, id_ = ref.partition(":")
        if kind not in ("observation", "summary"):
            continue
        source: Observation | Summary | None = queries.entry(db, kind, id_)
        if source is None:
            continue
        capsule = capsule or source.capsule
        if kind == "observation":
            event: Observation = source  # type: ignore[assignment]
            session = session or event.scope.session
            saved = event.provenance.get("event") == "remember"  # with the files it is about
            edited += events.files(event) if saved or event.kind == "file_diff" else []
    if capsule and not session:  # a summary has the session of its capsule
        parent = queries.entry(db, "capsule", capsule)
        session = parent.scope.session if parent else ""
    files = dict.fromkeys((*files_in(memory.content), *edited))
    return Origin(session, capsule, tuple(files)[:MOST], symbols_in(memory.content))


def files_in(text: str) -> tuple[str, ...]:
    """Paths and file names in a text, without line numbers, each once."""
    spans = (span for span in _SPAN.findall(text) if _PATH.fullmatch(span))
    names = (name.partition(":")[0] for name in (*spans, *_BARE_PATH.findall(text)))
    files = (name for name in names if name.rpartition(".")[2].lower() in _EXTENSIONS)
    return tuple(dict.fromkeys(files))[:MOST]


def symbols_in(text: str) -> tuple[str, ...]:
    """Names of code in a text: what stands in backticks and is an identifier, each once."""
    files = files_in(text)
    names = (
        span.removesuffix("()").partition("/")[0]
        for span in _SPAN.findall(text)
        if _SYMBOL.fullmatch(span)
    )
    return tuple(dict.fromkeys(name for name in names if name not in files))[:MOST]
