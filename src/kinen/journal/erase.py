"""Takes text out of the journal for good: redact keeps the entry, forget leaves a tombstone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import NotFound
from kinen.journal import queries
from kinen.journal.summary import summarize
from kinen.model.kinds import REDACTED
from kinen.text import spelled

if TYPE_CHECKING:
    import sqlite3

    from kinen.journal.store import Journal

_TEXT = {"observation": "content", "summary": "content", "memory": "content", "capsule": "intent"}
_SHORT = 12
"""A text of fewer characters is in too many places by chance to be told of."""


class Erased(NamedTuple):
    """What was taken out."""

    refs: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Refs of entries that say the same and were not asked for."""
    suppressed: bool = False
    """Whether it is only shown no more: a file or commit is not kinen's to empty."""


def erase(journal: Journal, name: str, *, forget: bool, now: int) -> Erased:
    """Empty an entry; of a capsule, all that is part of it."""
    with journal.writing() as db:
        kind, id_ = queries.resolve(db, name)
        if kind == "pin":
            _drop_pin(db, id_, forget)
            return Erased((f"pin:{id_}",))
        doomed = [(kind, id_)]
        if kind == "capsule":
            for table, part in (("observations", "observation"), ("summaries", "summary")):
                rows = db.execute(f"SELECT id FROM {table} WHERE capsule = ?", (id_,))
                doomed += [(part, row[0]) for row in rows]
        texts = [_text(db, *one) for one in doomed]
        for one in doomed:
            _empty(db, *one, forget, now)
        _mend_intents(db, doomed, texts)
        _mend_summaries(db, doomed)
        refs = tuple(f"{kind}:{id_}" for kind, id_ in doomed)
        return Erased(refs, _also(db, texts))


def suppress(journal: Journal, ref: str, now: int) -> None:
    with journal.writing() as db:
        db.execute("INSERT OR IGNORE INTO suppressed VALUES (?, ?)", (ref, now))


def unsuppress(journal: Journal, name: str) -> str:
    """Take back a suppression, by ref or path; the ref."""
    with journal.writing() as db:
        row = db.execute(
            "SELECT ref FROM suppressed WHERE ref = :n OR substr(ref, instr(ref, ':') + 1) = :n",
            {"n": spelled(name)},
        ).fetchone()
        if row is None:
            hint = "what was emptied cannot come back; `kinen index status` shows hidden files"
            raise NotFound(f"{name!r} is not hidden", hint)
        db.execute("DELETE FROM suppressed WHERE ref = ?", (row[0],))
        return str(row[0])


def _text(db: sqlite3.Connection, kind: str, id_: str) -> str:
    table = queries.KINDS[kind].table
    row = db.execute(f"SELECT {_TEXT[kind]} FROM {table} WHERE id = ?", (id_,)).fetchone()
    return str(row[0])


def _drop_pin(db: sqlite3.Connection, id_: str, forget: bool) -> None:
    if forget:
        db.execute("DELETE FROM pins WHERE id = ?", (id_,))
    else:
        db.execute("UPDATE pins SET reason = ? WHERE id = ?", (REDACTED, id_))


def _empty(db: sqlite3.Connection, kind: str, id_: str, forget: bool, now: int) -> None:
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


def _mend_intents(db: sqlite3.Connection, doomed: list[tuple[str, str]], texts: list[str]) -> None:
    """An intent is often the beginning of the first prompt: it goes with the prompt."""
    for (kind, id_), text in zip(doomed, texts, strict=True):
        row = db.execute(
            "SELECT c.id, c.intent FROM capsules c JOIN observations o ON o.capsule = c.id"
            " WHERE o.id = ? AND c.intent NOT IN ('', ?)",
            (id_ if kind == "observation" else "", REDACTED),
        ).fetchone()
        if row is None:
            continue
        said, intent = (" ".join(one.split()) for one in (text, row[1]))
        if intent == said or (len(intent) >= _SHORT and intent.rstrip("…. ") in said):
            db.execute("UPDATE capsules SET intent = ? WHERE id = ?", (REDACTED, row[0]))


def _mend_summaries(db: sqlite3.Connection, doomed: list[tuple[str, str]]) -> None:
    """Summaries that kinen made itself are made again without what is gone."""
    gone = {id_ for kind, id_ in doomed if kind == "observation"}
    capsules: dict[str, None] = {}
    for id_ in sorted(gone):
        row = db.execute("SELECT capsule FROM observations WHERE id = ?", (id_,)).fetchone()
        capsules.update({row[0]: None} if row[0] else {})
    for id_ in capsules:
        capsule = queries.entry(db, "capsule", id_)
        rows = db.execute(
            "SELECT id, evidence_refs, written OR redacted FROM summaries"
            " WHERE capsule = ? AND forgotten_at = 0",
            (id_,),
        ).fetchall()
        for summary, refs, written in rows:
            evidence = [one for one in json.loads(refs) if one not in gone]
            if written or capsule is None:
                db.execute(
                    "UPDATE summaries SET evidence_refs = ? WHERE id = ?",
                    (json.dumps(evidence), summary),
                )
                continue
            text, made_of = summarize(capsule, queries.stream(db, id_))
            db.execute(
                "UPDATE summaries SET content = ?, evidence_refs = ? WHERE id = ?",
                (text, json.dumps(made_of), summary),
            )


def _also(db: sqlite3.Connection, texts: list[str]) -> tuple[str, ...]:
    """Entries that still say what was taken out elsewhere."""
    found: dict[str, None] = {}
    for text in texts:
        said = text.strip()
        if len(said) < _SHORT or said == REDACTED:
            continue
        for kind, column in (*_TEXT.items(), ("pin", "reason")):
            rows = db.execute(
                f"SELECT id FROM {queries.KINDS[kind].table} WHERE instr({column}, ?) > 0", (said,)
            )
            found.update((f"{kind}:{row[0]}", None) for row in rows)
    return tuple(found)
