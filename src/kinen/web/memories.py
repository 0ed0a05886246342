"""The page Memories: what was drawn, from where, and one key to put it right."""

from __future__ import annotations

from kinen.consolidation.rivals import Rivals, rivals
from kinen.memory import Memory
from kinen.memory.past import Moment
from kinen.model.journal import Learned
from kinen.model.kinds import MEMORY_TYPES
from kinen.render.text import counted
from kinen.text import excerpt, iso
from kinen.web import asof, html
from kinen.web.html import Html
from kinen.web.markdown import inline
from kinen.web.page import (
    Page,
    Visit,
    about,
    banner,
    cards,
    chips,
    date,
    empty,
    mutation,
    notes,
    of_all_spaces,
    ref_link,
)

MOST = 200
"""Memories on a page."""
SOURCES = 6
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


def page(memory: Memory, visit: Visit) -> Page:
    chosen = visit.fields.get("type")
    at = asof.moment(memory, visit)
    if at:
        return _past_page(memory, visit, at)
    hidden = chosen == "hidden"
    kind = chosen if chosen in MEMORY_TYPES else ""
    memories = memory.consolidation.memories(kind, hidden=hidden)
    pinned = {pin.target for pin in memory.journal.entries("pins")[0]}
    body = html.join(
        [
            banner(visit, DONE, _undo(visit)),
            asof.form(memory, visit),
            _tabs(visit, memory, chosen),
            None if visit.reader else _next(memory, visit),
            None if hidden or visit.reader else _pairs(visit, rivals(memories)[:PAIRS]),
            None if hidden else _superseded(memories),
            cards(
                [_card(visit, memory, entry, pinned, hidden) for entry in memories[:MOST]],
                "No memories here. `kinen consolidate` draws them from sessions and notes.",
                id="memories",
            ),
            None
            if visit.reader
            else html.p(
                "Keys: j and k go through the list, e edits, p pins, x hides, u undoes.",
                class_="quiet scripted",
            ),
        ]
    )
    return Page("Memories", body, ("memories.js",), live=True)


def _past_page(memory: Memory, visit: Visit, at: Moment) -> Page:
    """The memories that held at an earlier time, without the buttons that change them."""
    then = memory.past.memories(at)
    now = {entry.ref: entry for entry in memory.consolidation.memories()}
    since = [
        counted(len(now.keys() - {entry.ref for entry in then}), "memories") + " drawn since",
        f"{sum(entry.ref not in now for entry in then):,} hidden since",
        f"{sum(_overtaken(entry, now) for entry in then):,} superseded since",
    ]
    items = [_card(visit, memory, entry, set(), hidden=True, past=True) for entry in then[:MOST]]
    body = html.join(
        [
            asof.banner(memory, at, html.span("; ".join(since))),
            asof.form(memory, visit),
            cards(items, "No memory was drawn from anything before this time.", id="memories"),
        ]
    )
    return Page("Memories", body, ("memories.js",))


def _overtaken(entry: Learned, now: dict[str, Learned]) -> bool:
    return bool(not entry.superseded_by and entry.ref in now and now[entry.ref].superseded_by)


def _tabs(visit: Visit, memory: Memory, chosen: str) -> Html:
    counts: dict[str, int] = {}
    for entry in memory.consolidation.memories():
        counts[entry.type] = counts.get(entry.type, 0) + 1
    hidden = len(memory.consolidation.memories(hidden=True))
    names = [("", "all", sum(counts.values()))]
    names += [(name, name, counts.get(name, 0)) for name in MEMORY_TYPES]
    names.append(("hidden", "hidden", hidden))
    links = [
        html.li(
            html.a(
                f"{label} ({count:,})",
                href=visit.url(type=value),
                aria_current="true" if value == chosen else None,
            )
        )
        for value, label, count in names
    ]
    return html.ul(links, class_="legend", aria_label="Types of memories")


def _undo(visit: Visit) -> Html | None:
    """A way back from what the last form did."""
    undo = visit.fields.get("undo")
    if undo not in ("hide", "restore", "unpin", "unedit", "unsupersede"):
        return None
    fields = {name: visit.fields.get(name) for name in ("ref", "other")}
    return mutation(visit, undo, "Undo", fields=fields, id="undo", aria_keyshortcuts="u")


def _card(
    visit: Visit, memory: Memory, entry: Learned, pinned: set[str], hidden: bool, past: bool = False
) -> Html:
    origin = memory.consolidation.origin(entry)
    facts = [
        html.span(entry.type, class_="chip"),
        html.span(f"{entry.confidence:.0%} sure"),
        date(iso(entry.created_at / 1000)),
        html.span("pinned", class_="chip good") if entry.ref in pinned else None,
        html.a("its session", href=visit.url("session", id=origin.capsule))
        if origin.capsule
        else None,
        *chips(origin.files[:4]),
    ]
    newer = None
    if entry.superseded_by:
        link = ref_link(visit, f"memory:{entry.superseded_by}", "a newer one")
        newer = html.p("superseded by ", link, class_="bad")
    sources = [html.li(ref_link(visit, ref)) for ref in entry.derived_from[:SOURCES]]
    more = len(entry.derived_from) - len(sources)
    return html.li(
        html.article(
            html.p(html.a(inline(entry.content), href=visit.record(entry.ref), class_="content")),
            about(facts),
            newer,
            html.details(
                html.summary(counted(len(entry.derived_from), "sources")),
                html.ul(sources, html.li(f"{more:,} more") if more > 0 else None),
            ),
            None if past or visit.reader else _actions(visit, entry, entry.ref in pinned, hidden),
        ),
        tabindex="-1",
        id=entry.id,
    )


def _actions(visit: Visit, entry: Learned, pinned: bool, hidden: bool) -> Html:
    ref = {"ref": entry.ref}
    if hidden:
        return html.div(mutation(visit, "restore", "Show again", fields=ref), class_="actions")
    pin = ("unpin", "Unpin") if pinned else ("pin", "Pin")
    undo = None
    if entry.superseded_by:
        undo = mutation(visit, "unsupersede", "Still holds", fields=ref)
    edit = html.details(
        html.summary("Edit", data_key="e", aria_keyshortcuts="e"),
        mutation(
            visit,
            "edit",
            "Save",
            html.label("Wording", html.textarea(entry.content, name="content", required=True)),
            fields=ref,
            form_class="stacked",
        ),
        [
            mutation(
                visit,
                action,
                button,
                html.label(label, html.input_(name="other", required=True)),
                fields=ref,
                form_class="fields",
            )
            for action, button, label in (
                ("merge", "Merge into", "Id of the memory that stays"),
                ("supersede", "Superseded by", "Id of the newer memory"),
            )
        ],
    )
    return html.div(
        mutation(visit, *pin, fields=ref, data_key="p", aria_keyshortcuts="p"),
        mutation(
            visit, "hide", "Hide", fields=ref, data_key="x", aria_keyshortcuts="x", class_="danger"
        ),
        undo,
        edit,
        class_="actions",
    )


def _next(memory: Memory, visit: Visit) -> Html:
    """What the next consolidation would draw; only on request, since it reads all that is new."""
    if not visit.fields.get("next"):
        link = html.a("What would be drawn next?", href=visit.here(next="1", done=""))
        return html.p(link)
    report = memory.consolidation.consolidate(dry_run=True)
    items = [
        html.li(html.span(entry.type, class_="chip"), " ", inline(excerpt(entry.content, 300)))
        for entry in report.learned[:MOST]
    ]
    count = f"{report.added:,} new, {report.changed:,} changed, {report.below:,} not sure enough"
    return html.section(
        html.h2(f"Drawn next: {count}"),
        html.ul(items, class_="plain") if items else empty("Nothing is new since the last time."),
        mutation(visit, "consolidate", "Draw them now") if items else None,
        id="next",
    )


def _pairs(visit: Visit, pairs: list[Rivals]) -> Html | None:
    """Memories that contradict each other or say the same, side by side, with a way to decide."""
    if not pairs:
        return None
    rows = []
    for pair in pairs:
        both = {"ref": pair.older.ref, "other": pair.newer.id}
        label = "contradiction" if pair.contradict else "much the same"
        rows.append(
            html.div(
                html.div(html.p(html.span("older ", class_="quiet"), _anchor(pair.older))),
                html.div(html.p(html.span("newer ", class_="quiet"), _anchor(pair.newer))),
                html.div(
                    html.span(label, class_="chip bad" if pair.contradict else "chip"),
                    mutation(visit, "supersede", "The newer holds", fields=both)
                    if pair.contradict
                    else mutation(visit, "merge", "Merge into the newer", fields=both),
                    mutation(visit, "hide", "Hide the newer", fields={"ref": pair.newer.ref}),
                    class_="actions",
                ),
                class_="pair",
            )
        )
    title = f"{counted(len(pairs), 'pairs')} to look at: contradictions and duplicates"
    return html.details(html.summary(title), rows, id="rivals")


def page_of_all(visit: Visit) -> Page:
    """The memories of all spaces, to read; each is changed in its own space."""
    pairs, remarks = of_all_spaces(
        lambda memory: memory.consolidation.memories(), lambda entry: entry.created_at
    )
    items = [
        html.li(
            html.p(
                html.a(
                    inline(entry.content),
                    href=visit.record(entry.ref, space=space),
                    class_="content",
                )
            ),
            about(
                (
                    *chips((space, entry.type)),
                    date(iso(entry.created_at / 1000)),
                    html.span("superseded", class_="chip bad") if entry.superseded_by else None,
                )
            ),
        )
        for space, entry in pairs[:MOST]
    ]
    return Page("Memories", html.join([notes(remarks), cards(items, "No memories in any space.")]))


def _superseded(memories: list[Learned]) -> Html | None:
    """Memories beside those that superseded them."""
    by_id = {memory.id: memory for memory in memories}
    pairs = [
        (memory, by_id[memory.superseded_by])
        for memory in memories
        if memory.superseded_by in by_id
    ]
    if not pairs:
        return None
    rows = [
        html.div(
            html.p(html.span("before ", class_="quiet"), _anchor(older)),
            html.p(html.span("now ", class_="quiet"), _anchor(newer)),
            class_="pair",
        )
        for older, newer in pairs[:20]
    ]
    return html.details(html.summary(f"{len(pairs)} superseded, side by side"), rows)


def _anchor(memory: Learned) -> Html:
    return html.a(inline(excerpt(memory.content, 200)), href=f"#{memory.id}")
