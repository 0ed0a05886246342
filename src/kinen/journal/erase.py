"""Removes text from the journal for good: redact keeps the entry, forget leaves a tombstone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kinen.errors import NotFound
from kinen.journal import edits, queries
from kinen.journal.memories import drawn_from_any
from kinen.journal.schema import OF_CAPSULE
from kinen.model.kinds import REDACTED
from kinen.model.tuples import NamedTuple
from kinen.text import spelled

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kinen.journal.account import History
    from kinen.journal.store import Journal

_TEXT = {"observation": "content", "summary": "content", "memory": "content", "capsule": "intent"}
_SHORT = 12
"""A shorter text occurs in too many places by chance to be reported."""


class Erased(NamedTuple):
    """What was removed."""

    refs: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Refs of other entries that contain the same text."""
    suppressed: bool = False
    """Whether it is only hidden: kinen does not change files and commits."""
    waiting: str = ""
    """Who has to end before the last bytes can be removed; empty if they are gone."""


def erase(journal: Journal, name: str, *, forget: bool, now: int) -> Erased:
    """Empty an entry and the memories drawn from it; of a capsule, also everything in it.

    When this returns, no reader shows any of it.
    """
    with journal.writing() as db:
        doomed = _doomed(db, name)
        kind, id_ = doomed[0]
        if kind == "pin":
            if forget:
                db.execute("DELETE FROM pins WHERE id = ?", (id_,))
                tombstone(db, f"pin:{id_}")
            else:
                db.execute("UPDATE pins SET reason = ? WHERE id = ?", (REDACTED, id_))
            return Erased((f"pin:{id_}",))
        texts = [_text(db, kind, id_) for kind, id_ in doomed]
        for kind, id_ in doomed:
            empty(db, kind, id_, forget=forget, now=now)
        clean_up(db, doomed, texts, journal.history)
        refs = [f"{kind}:{id_}" for kind, id_ in doomed]
        for ref in drawn_from_any(db, refs):
            empty(db, "memory", ref.partition(":")[2], forget=forget, now=now)
            refs.append(ref)
        edits.settle(db)
        return Erased(tuple(refs), _containing(db, texts))


def preview(db: sqlite3.Connection, name: str) -> Erased:
    """What `erase` would remove; of one entry, also which others contain the same text."""
    doomed = _doomed(db, name)
    refs = [f"{kind}:{id_}" for kind, id_ in doomed]
    if doomed[0][0] == "pin":
        return Erased(tuple(refs))
    drawn = drawn_from_any(db, refs)
    texts = [_text(db, *doomed[0])] if len(doomed) == 1 else []
    also = set(_containing(db, texts)) - {*refs, *drawn}
    return Erased((*refs, *drawn), tuple(sorted(also)))


def _doomed(db: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    """The kind and id of an entry, and of everything that goes with it."""
    kind, id_ = queries.resolve(db, name)
    doomed = [(kind, id_)]
    if kind == "capsule":
        for table, part in (("observations", "observation"), ("summaries", "summary")):
            rows = db.execute(f"SELECT id FROM {table} WHERE {OF_CAPSULE}", (id_,))
            doomed += [(part, row[0]) for row in rows]
    return doomed


def tombstone(db: sqlite3.Connection, ref: str) -> None:
    """Note that a ref has lost text that an index may have; what is redacted is noted by itself."""
    db.execute("INSERT INTO erased(ref) VALUES (?)", (ref,))


def suppress(journal: Journal, refs: Iterable[str], now: int) -> None:
    with journal.writing() as db:
        edits.mark(db, refs, now)


def unsuppress(journal: Journal, name: str) -> str:
    """Show a ref again, by ref or path, and what was hidden with a session; returns the ref."""
    with journal.writing() as db:
        row = db.execute(
            "SELECT ref, at FROM suppressed"
            " WHERE ref = :n OR substr(ref, instr(ref, ':') + 1) = :n",
            {"n": spelled(name)},
        ).fetchone()
        if row is None:
            hint = "redacted text is gone for good; `kinen index status` shows hidden files"
            raise NotFound(f"{name!r} is not hidden", hint)
        with_it = "ref = :ref OR (at = :at AND :ref LIKE 'capsule:%')"
        db.execute(f"DELETE FROM suppressed WHERE {with_it}", {"ref": row[0], "at": row[1]})
        return str(row[0])


def _text(db: sqlite3.Connection, kind: str, id_: str) -> str:
    table = queries.KINDS[kind].table
    row = db.execute(f"SELECT {_TEXT[kind]} FROM {table} WHERE id = ?", (id_,)).fetchone()
    return str(row[0])


def clean_up(
    db: sqlite3.Connection,
    erased: list[tuple[str, str]],
    texts: list[str],
    history: History | None = None,
) -> None:
    """Remove the texts of erased entries, by kind and id, from what kinen made of them."""
    from kinen.journal.summary import summarize  # loads the markdown parser

    # Redact intents that quote a removed text: often they are the beginning of the prompt.
    for (kind, id_), text in zip(erased, texts, strict=True):
        row = db.execute(
            "SELECT c.id, c.intent FROM capsules c JOIN observations o ON o.capsule = c.id"
            " WHERE o.id = ? AND c.intent NOT IN ('', ?)",
            (id_ if kind == "observation" else "", REDACTED),
        ).fetchone()
        if row and quotes(row[1], text):
            db.execute("UPDATE capsules SET intent = ? WHERE id = ?", (REDACTED, row[0]))
    # Summaries that kinen made are written anew, without the removed observations.
    gone = {id_ for kind, id_ in erased if kind == "observation"}
    capsules: dict[str, None] = {}
    for id_ in sorted(gone):
        row = db.execute("SELECT capsule FROM observations WHERE id = ?", (id_,)).fetchone()
        if row[0]:
            capsules[row[0]] = None
    for id_ in capsules:
        capsule = queries.entry(db, "capsule", id_)
        rows = db.execute(
            "SELECT id, evidence_refs, written OR redacted FROM summaries"
            " WHERE capsule = ? AND forgotten_at = 0",
            (id_,),
        ).fetchall()
        for summary, refs, written in rows:
            tombstone(db, f"summary:{summary}")  # its title is the intent, which may be gone
            if written or capsule is None:
                evidence = [ref for ref in json.loads(refs) if ref not in gone]
                db.execute(
                    "UPDATE summaries SET evidence_refs = ? WHERE id = ?",
                    (json.dumps(evidence), summary),
                )
                continue
            text, sources = summarize(capsule, queries.stream(db, id_), history)
            db.execute(
                "UPDATE summaries SET content = ?, evidence_refs = ? WHERE id = ?",
                (text, json.dumps(sources), summary),
            )


def empty(db: sqlite3.Connection, kind: str, id_: str, *, forget: bool, now: int) -> None:
    """Take the text out of one entry of the journal."""
    settings = [f"{_TEXT[kind]} = ?"]
    values: list[str | int] = ["" if forget else REDACTED]
    if kind == "observation":
        settings.append("provenance = '{}'")
        settings += ["files = '[]'"] if forget else []
    if kind != "capsule" and not forget:
        settings.append("redacted = 1")
    if forget:
        settings.append("forgotten_at = ?")
        values.append(now)
        if kind == "capsule":  # nothing more can become part of it
            settings.append("status = 'closed', closed_at = MAX(closed_at, opened_at)")
        db.execute("DELETE FROM pins WHERE target_type = ? AND target_id = ?", (kind, id_))
    table = queries.KINDS[kind].table
    db.execute(f"UPDATE {table} SET {', '.join(settings)} WHERE id = ?", (*values, id_))


def quotes(intent: str, text: str) -> bool:
    """Whether an intent is a text, the beginning of one, or the end of a line, such as a title.

    `Compare these plans: Title` has the line and the title, which follow each other.
    """
    lines = [" ".join(line.strip("# ").split()) for line in text.splitlines()]
    prompt = " ".join(filter(None, lines)).replace(": Plan: ", ": ")
    intent = " ".join(intent.split())
    return bool(intent) and (
        intent == prompt
        or any(line.endswith(intent) for line in lines)
        or (len(intent) >= _SHORT and intent.rstrip("…. ") in prompt)
    )


def _containing(db: sqlite3.Connection, texts: list[str]) -> tuple[str, ...]:
    """Refs of entries that still contain one of the removed texts."""
    refs: dict[str, None] = {}
    for text in texts:
        part = text.strip()
        if len(part) < _SHORT or part == REDACTED:
            continue
        for kind, column in (*_TEXT.items(), ("pin", "reason")):
            rows = db.execute(
                f"SELECT id FROM {queries.KINDS[kind].table} WHERE instr({column}, ?) > 0", (part,)
            )
            refs.update((f"{kind}:{id_}", None) for (id_,) in rows)
    return tuple(refs)
