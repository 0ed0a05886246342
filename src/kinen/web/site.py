"""Which page an address shows, and what a form does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.web import changes, records, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.memory import Memory
    from kinen.web.changes import Change
    from kinen.web.page import Page, Visit

VIEWS: dict[str, Callable[[Memory, Visit], Page]] = {
    "search": search.page,
    "record": records.page,
}
"""Pages of one space by the last part of their address."""
VIEWS_OF_ALL: dict[str, Callable[[Visit], Page]] = {"search": search.page_of_all}
"""Pages that show all spaces at once."""
ACTIONS: dict[str, Callable[[Memory, Visit], Change]] = {
    "record/pin": changes.pin,
    "record/unpin": changes.unpin,
}
"""What forms do, by page and name."""
DATA: dict[str, Callable[[Memory, Visit], bytes]] = {}
"""What scripts of pages draw."""
