"""The page Memories: what was drawn, from where, and one key to put it right."""

from __future__ import annotations

from kinen.consolidation.claims import claim, overlap
from kinen.consolidation.fold import rivals
from kinen.memory import Memory
from kinen.memory.past import Moment, compared
from kinen.model.journal import Learned
from kinen.model.kinds import MEMORY_TYPES
from kinen.render.text import counted
from kinen.web.page import Page, Visit, of_all_spaces, past_moment, past_remark, past_slider

MOST = 200
"""Memories on a page."""
PAIRS = 30
"""Pairs of memories that are shown side by side."""
DONE = {
    "hidden": "Hidden: agents are not told of it any more.",
    "restored": "It is back.",
    "edited": "Edited: the former wording is hidden.",
    "merged": "Merged: the other has its sources now.",
    "superseded": "Marked as superseded.",
    "pinned": "Pinned: every recall begins with it.",
    "unpinned": "No longer pinned.",
}
"""What is said after a form was sent."""
CHOICES = {
    "merge": (
        "Merge into",
        "Choose the memory that stays. It gets the sources of this one, which is hidden then.",
    ),
    "supersede": (
        "Superseded by",
        "Choose the newer memory. This one stays readable, marked as out of date.",
    ),
}
"""What needs another memory: its name, and what it does."""
UNDO = ("hide", "restore", "unpin", "unedit", "unsupersede")
"""Actions that are the way back from another."""


def page(memory: Memory, visit: Visit) -> Page:
    at = past_moment(memory, visit)
    if at:
        return _past_page(memory, visit, at)
    chosen = visit.fields.get("type")
    hidden = chosen == "hidden"
    everything = memory.consolidation.memories()
    away = memory.consolidation.memories(hidden=True)
    memories = away if hidden else everything
    if chosen in MEMORY_TYPES:
        memories = memory.consolidation.memories(chosen)
    counts = dict.fromkeys(MEMORY_TYPES, 0)
    for entry in everything:
        counts[entry.type] = counts.get(entry.type, 0) + 1
    tabs = [("", "all", len(everything))]
    tabs += [(name, name, counts[name]) for name in MEMORY_TYPES]
    by_id = {entry.id: entry for entry in memories}
    choice = visit.fields.get("choose")
    source = None
    if choice in CHOICES and not visit.reader:
        source = memory.consolidation.get(visit.fields.get("ref"))
        memories = nearest(source, everything)
    values = {
        "choice": choice,
        "choices": CHOICES,
        "source": source,
        "done": DONE,
        "undo": visit.fields.get("undo") if visit.fields.get("undo") in UNDO else "",
        "slider": past_slider(memory, visit),
        "chosen": chosen,
        "tabs": [*tabs, ("hidden", "hidden", len(away))],
        "report": memory.consolidation.consolidate(dry_run=True)
        if visit.fields.get("next") and not visit.reader
        else None,
        "pairs": [] if hidden or visit.reader else rivals(memories)[:PAIRS],
        "superseded": [
            (entry, by_id[entry.superseded_by])
            for entry in memories
            if entry.superseded_by in by_id and not hidden
        ],
        "memories": _with_origins(memory, visit, memories),
        "pinned": {pin.target for pin in memory.journal.entries("pins")[0]},
        "hidden": hidden,
        "most": MOST,
    }
    return Page("Knowledge", "memories.html", values, ("memories.js",), live=True)


def nearest(source: Learned, others: list[Learned]) -> list[Learned]:
    """All but one memory, those that say the most like it first."""
    mine = claim(source.content)
    near = {entry.id: overlap(mine, claim(entry.content)) for entry in others}
    return sorted(
        (entry for entry in others if entry.id != source.id), key=lambda entry: -near[entry.id]
    )


def _with_origins(
    memory: Memory, visit: Visit, memories: list[Learned]
) -> list[tuple[Learned, str, list[str]]]:
    """The first memories, each with the address of its session, and files."""
    origins = [(entry, memory.consolidation.origin(entry)) for entry in memories[:MOST]]
    return [
        (
            entry,
            visit.url("session", id=origin.capsule) if origin.capsule else "",
            list(origin.files[:4]),
        )
        for entry, origin in origins
    ]


def _past_page(memory: Memory, visit: Visit, at: Moment) -> Page:
    """The memories that held at an earlier time, without the buttons that change them."""
    then = memory.past.memories(at)
    now = {entry.ref: entry for entry in memory.consolidation.memories()}
    overtaken = [
        entry
        for entry in then
        if not entry.superseded_by and entry.ref in now and now[entry.ref].superseded_by
    ]
    since = [
        counted(len(now.keys() - {entry.ref for entry in then}), "memories") + " drawn since",
        f"{sum(entry.ref not in now for entry in then):,} hidden since",
        f"{len(overtaken):,} superseded since",
    ]
    values = {
        "remark": past_remark(memory, at),
        "since": "; ".join(since),
        "slider": past_slider(memory, visit),
        "memories": _with_origins(memory, visit, then),
    }
    return Page("Knowledge", "memories_past.html", values, ("memories.js",))


def compare_page(memory: Memory, visit: Visit) -> Page:
    """What became of the memories between two moments."""
    begin = memory.past.moment(visit.fields.get("begin") or "1w")
    end = memory.past.moment(visit.fields.get("end") or "0d")
    first, last = sorted((begin, end))
    values = {
        "first": first,
        "last": last,
        "changes": compared(memory.past.memories(first), memory.past.memories(last)),
    }
    return Page("Compare", "compare.html", values)


def page_of_all(_: Visit) -> Page:
    """The memories of all spaces, to read; each is changed in its own space."""
    pairs, remarks = of_all_spaces(
        lambda memory: memory.consolidation.memories(), lambda entry: entry.created_at
    )
    values = {"pairs": pairs[:MOST], "remarks": remarks}
    return Page("Knowledge", "memories_all.html", values)
