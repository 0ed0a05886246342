"""Which page an address shows, and what a form does."""

from __future__ import annotations

from collections.abc import Callable

from kinen.memory import Memory
from kinen.web import (
    changes,
    files,
    graph,
    health,
    memories,
    records,
    reports,
    search,
    sent,
    sessions,
    today,
)
from kinen.web.changes import Change
from kinen.web.page import Page, Visit

VIEWS: dict[str, Callable[[Memory, Visit], Page]] = {
    "search": search.page,
    "record": records.page,
    "today": today.page,
    "week": reports.week_page,
    "errors": reports.errors_page,
    "sessions": sessions.list_page,
    "session": sessions.page,
    "erase": sessions.erase_page,
    "knowledge": memories.page,
    "compare": memories.compare_page,
    "code": files.list_page,
    "file": files.page,
    "why": files.why_page,
    "graph": graph.page,
    "told": sent.page,
    "sent": sent.sent_page,
    "injection": sent.injection_page,
    "health": health.page,
}
"""Pages of one space by the last part of their address."""
SHARED = ("search", "record", "today", "sessions", "session", "knowledge")
"""Pages of a team's server; the others are about files and programs of one machine."""
VIEWS_OF_ALL: dict[str, Callable[[Visit], Page]] = {
    "search": search.page_of_all,
    "today": today.page_of_all,
    "sessions": sessions.page_of_all,
    "knowledge": memories.page_of_all,
}
"""Pages that show all spaces at once."""
ACTIONS: dict[str, Callable[[Memory, Visit], Change]] = {
    "record/pin": changes.pin,
    "record/unpin": changes.unpin,
    "record/open": changes.open_record,
    "erase/forget": changes.erase,
    "erase/restore": changes.unhide,
    "told/pin": changes.pin,
    "told/unpin": changes.unpin,
    "told/drop": changes.hide_memory,
    "knowledge/hide": changes.hide_memory,
    "knowledge/restore": changes.restore_memory,
    "knowledge/pin": changes.pin_memory,
    "knowledge/unpin": changes.unpin_memory,
    "knowledge/edit": changes.edit_memory,
    "knowledge/unedit": changes.unedit_memory,
    "knowledge/merge": changes.merge_memory,
    "knowledge/supersede": changes.supersede_memory,
    "knowledge/unsupersede": changes.supersede_memory,
    "knowledge/consolidate": changes.consolidate,
    "health/sync": changes.sync,
    "health/rebuild": changes.rebuild,
    "health/collect": changes.collect,
    "health/remove": changes.remove_space,
}
"""What forms do, by page and name."""
SLOW = ("erase/forget", "erase/restore", "knowledge/consolidate", "health/sync", "health/rebuild")
"""Actions that may take long: they run apart from other requests, in the background if need be."""
RESTART = "health/restart"
"""The action that restarts the daemon, if it can."""
DATA: dict[str, Callable[[Memory, Visit], Callable[[], bytes]]] = {
    "graph": graph.data,
    "labels": graph.labels,
    "health": health.progress,
    "session": sessions.share,
}
"""What scripts draw, and what is shared: read from a memory, then made without it."""
