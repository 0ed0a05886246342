"""What may leave the machine in a page that is handed on: nothing of what was erased.

A bundle keeps the places of redacted entries and the names of forgotten files, because it is a
backup. A page is attached to tickets and archived, so they are not in it at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

HIDDEN = "SELECT substr(ref, instr(ref, ':') + 1) FROM suppressed"
"""The paths of files that were forgotten."""
CONDITIONS = {
    "observations": "NOT redacted",
    "memories": "NOT redacted",
    "summaries": "NOT redacted",
    # a session stays if only its first prompt was redacted
    "capsules": "(NOT ({erased}) OR EXISTS (SELECT 1 FROM observations"
    " WHERE capsule = capsules.id AND capsule != '' AND {observations}))",
    "pins": f"NOT ({{erased}}) AND target_id NOT IN ({HIDDEN})",
    "tag_ops": f"path NOT IN ({HIDDEN})",
    "suppressed": "0",
}
"""The SQL conditions of entries that may be handed on, by table."""
_REFERENCES = {
    "capsule": "live_ref('capsule', capsule)",
    "parent": "live_ref('capsule', parent)",
    "superseded_by": "live_ref('memory', superseded_by)",
    "evidence_refs": "live_refs('observation', evidence_refs)",
    "derived_from": "live_refs('', derived_from)",
}
"""Columns with the ids of other entries, of one kind, or with refs."""
_ERASED = (
    "SELECT 'observation:' || id FROM observations WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'memory:' || id FROM memories WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'summary:' || id FROM summaries WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'capsule:' || id FROM capsules WHERE forgotten_at"
    " UNION ALL SELECT ref FROM suppressed"
)


def column(name: str) -> str:
    """A column as it is read: without the ids of entries that were erased."""
    return _REFERENCES.get(name, name)


def prepare(db: sqlite3.Connection) -> None:
    """Have the functions that `column` uses know what is erased now."""
    erased = {str(ref) for (ref,) in db.execute(_ERASED)}

    def is_live(kind: str, ref: str) -> bool:
        return ref not in erased and f"{kind}:{ref}" not in erased

    def live_ref(kind: str, ref: str) -> str:
        return ref if is_live(kind, ref) else ""

    def live_refs(kind: str, cell: str) -> str:
        try:
            refs = json.loads(cell)
        except ValueError:
            return cell  # what reads it will say so
        live = [ref for ref in refs if is_live(kind, str(ref))]
        return cell if len(live) == len(refs) else json.dumps(live, ensure_ascii=False)

    db.create_function("live_ref", 2, live_ref)
    db.create_function("live_refs", 2, live_refs)
