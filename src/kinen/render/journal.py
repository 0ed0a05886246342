"""Entries of the journal and recalls → text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.characters import visible, visible_line
from kinen.model.journal import Capsule, Observation, Pin, Scope, Summary
from kinen.recall.tiers import shown
from kinen.render import vote_json
from kinen.render.style import PLAIN, readable
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.journal.origin import Origin
    from kinen.model.journal import Checkpoint, Digest, Learned, Plan, Recall
    from kinen.render.style import Style
    from kinen.transfer.bundle import Loaded

_TIMES = ("ts", "opened_at", "closed_at", "created_at", "expires_at", "forgotten_at")
WIDE = 100


def entry_json(entry: Any) -> dict[str, Any]:
    """An entry with its ref first, its scope beside its own fields, and times as ISO."""
    found: dict[str, Any] = {"ref": entry.ref}
    for name, value in entry._asdict().items():
        if name in _TIMES:
            found["at" if name == "ts" else name] = iso(value / 1000) if value else None
        elif isinstance(value, Scope):
            found.update(value._asdict())
        elif isinstance(value, tuple):
            found[name] = list(value)
        else:
            found[name] = dict(value) if hasattr(value, "items") else value
    return found


def entries_text(entries: Sequence[Any], style: Style = PLAIN) -> str:
    return "\n".join(entry_text(entry, style) for entry in entries)


def entry_text(entry: Any, style: Style = PLAIN) -> str:
    """One line: the ref, when, what kind, in which session, and the beginning of its text."""
    entry = readable(entry)
    at, about, text = _told(entry)
    session = getattr(entry, "scope", Scope()).session
    words = [style("path", entry.ref), style("dim", iso(at / 1000)), about]
    words += [style("dim", f"({session})")] if session else []
    gone = "[forgotten]" if getattr(entry, "forgotten_at", 0) else ""
    return "  ".join([*words, gone or excerpt(text, WIDE)]).rstrip()


def _told(entry: Any) -> tuple[int, str, str]:
    if isinstance(entry, Observation):
        return entry.ts, entry.kind, entry.content
    if isinstance(entry, Capsule):
        state = f"{entry.status} ({entry.reason})" if entry.reason else entry.status
        return entry.opened_at, f"{entry.type} {state}", entry.intent
    if isinstance(entry, Summary):
        return entry.created_at, "written" if entry.written else "made at close", entry.content
    if isinstance(entry, Pin):
        ends = f"until {iso(entry.expires_at / 1000)}" if entry.expires_at else "for good"
        return entry.created_at, ends, f"{entry.target}  {entry.note}"
    return entry.created_at, entry.type, entry.content


def capsule_text(
    capsule: Capsule,
    observations: Sequence[Observation],
    summaries: Sequence[Summary],
    style: Style,
) -> str:
    """A capsule, its summaries in full and a line for each observation."""
    head = [entry_text(capsule, style), f"{len(observations):,} observations"]
    told = [f"\n{style('bold', one.ref)}\n{one.content}" for one in map(readable, summaries)]
    rows = ["", *(entry_text(one, style) for one in observations)] if observations else []
    return "\n".join([*head, *told, *rows])


def recall_text(recall: Recall) -> str:
    return visible(shown(recall))


def recall_json(recall: Recall) -> dict[str, Any]:
    return {
        "query": recall.query,
        "budget": recall.budget,
        "tokens": recall.tokens,
        "over_budget": recall.over,
        "items": [
            {
                **one._asdict(),
                "score": round(one.score, 6),
                "votes": [vote_json(vote) for vote in one.votes],
            }
            for one in recall.items
        ],
        "dropped": [one._asdict() for one in recall.dropped],
        "digest": digest_json(recall.digest) if recall.digest else None,
        "notes": list(recall.notes),
    }


def checkpoint_json(one: Checkpoint) -> dict[str, Any]:
    return {"ref": f"checkpoint:{one.path}", **_said(one)}


def plan_json(one: Plan) -> dict[str, Any]:
    return {"ref": one.ref, **_said(one)}


def _said(one: Any) -> dict[str, Any]:
    """The fields of a value, lists as lists."""
    fields = one._asdict().items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields}


def digest_json(digest: Digest) -> dict[str, Any]:
    return _said(digest)


def learned_text(one: Learned, style: Style = PLAIN, *, sources: bool = False) -> str:
    """A memory on one line; with its sources, if they are asked for."""
    one = readable(one)
    sure = f"{one.type} {one.confidence:.2f}"
    gone = f" (superseded by memory:{one.superseded_by})" if one.superseded_by else ""
    line = f"{style('path', one.ref)}  {style('dim', sure)}  {one.content}{gone}"
    return "\n".join([line, *(f"    {ref}" for ref in one.derived_from)]) if sources else line


def memory_json(one: Learned, origin: Origin) -> dict[str, Any]:
    """A memory with the session it was drawn from, and the files and symbols it is about."""
    about = {
        "session": origin.session,
        "capsule": origin.capsule,
        "files": list(origin.files),
        "symbols": list(origin.symbols),
    }
    return {**entry_json(one), **{name: value for name, value in about.items() if value}}


def origin_text(origin: Origin) -> str:
    """Lines that say where a memory comes from and what it is about."""
    parts = {
        "session": origin.session,
        "files": ", ".join(origin.files),
        "symbols": ", ".join(origin.symbols),
    }
    return "\n".join(f"    {name}: {visible_line(text)}" for name, text in parts.items() if text)


def consolidated_json(done: Any) -> dict[str, Any]:
    told = {name: value for name, value in done._asdict().items() if name != "learned"}
    told["notes"] = list(done.notes)
    return {**told, "memories": [entry_json(one) for one in done.learned]}


def consolidated_text(done: Any, style: Style = PLAIN) -> str:
    """What consolidation drew, and a line that sums it up."""
    lines = [learned_text(one, style, sources=True) for one in done.learned]
    would = "would have " if done.dry_run else ""
    said = f"{would}{done.added:,} new, {done.changed:,} changed"
    counts = f"{said}; {done.findings:,} findings, {done.below:,} not sure enough"
    return "\n".join([*lines, *done.notes, counts])


def loaded_json(loaded: Loaded, dry_run: bool) -> dict[str, Any]:
    return {"dry_run": dry_run, **loaded._asdict(), "notes": list(loaded.notes)}


def loaded_text(loaded: Loaded, dry_run: bool) -> str:
    """What an import did, on one line."""
    parts = []
    for name in ("added", "replaced", "skipped"):
        counts = {noun: count for noun, count in getattr(loaded, name).items() if count}
        if counts:
            said = ", ".join(f"{count:,} {noun}" for noun, count in counts.items())
            parts.append(f"{name} {said}")
    if loaded.forgotten:
        parts.append(f"{loaded.forgotten:,} stay forgotten")
    line = "; ".join(parts) or "nothing in it"
    return f"would have {line}" if dry_run else line
