"""A tab of chromium that is signed in to the pages, and every page that a space has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from kinen.text import now
from kinen.web.site import VIEWS

if TYPE_CHECKING:
    from kinen.memory import Memory
    from web.conftest import Site

CHROMIUM = os.environ.get("KINEN_CHROMIUM") or shutil.which("chromium") or ""
TOP = Path(__file__).parents[2]
AXE = TOP / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make browser` puts it."""
SECONDS = 30_000
"""Milliseconds that only guard against waiting forever."""
OF_ONE = ("record", "session", "erase", "file", "why", "injection")
"""Pages about one thing, which their address names."""
CUT_OFF = """() => [...document.querySelectorAll("main *, #view *")].filter((item) => {
  if (!item.checkVisibility()) return false;
  const style = getComputedStyle(item);
  const hides = (way) => way !== "visible" && style.position !== "absolute";
  const box = item.getBoundingClientRect();
  return (hides(style.overflowX) && item.scrollWidth > item.clientWidth + 1)
    || (hides(style.overflowY) && item.scrollHeight > item.clientHeight + 1)
    || (style.position !== "absolute" && box.width && box.right > innerWidth + 1);
}).map((item) => item.outerHTML.slice(0, 160))"""
"""Elements of which a printed page would show only a part."""


class Tab:
    """A tab that is signed in, and what went wrong in it."""

    def __init__(self, browser: Any, site: Site, **options: Any) -> None:
        self.site = site
        self.context = browser.new_context(**options)
        self.problems: list[str] = []
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._request)
        self.page.goto(site.link())
        self.page.wait_for_url("**/today")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self.site.origin):
            self.problems.append(f"request to {request.url}")

    def open(self, page: str, **query: str) -> Any:
        """Go to a page of the space, or to one of all spaces: `all/search`."""
        url = httpx.URL(self.site.origin + self.site.path(page), params=query or None)
        self.page.goto(str(url))
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.problems == [], self.problems


def every_page(memory: Memory) -> dict[str, tuple[str, dict[str, str]]]:
    """The pages of a space with what they can show, as far as it has that: page and parameters."""
    pages: dict[str, tuple[str, dict[str, str]]] = {
        name: (name, {}) for name in VIEWS if name not in OF_ONE
    }
    pages["today-90"] = ("today", {"days": "90"})
    pages["search-none"] = ("search", {"q": "zzyzx"})
    for session in memory.sessions.overviews(1):
        words = " ".join(session.title.split()[:6])
        pages["search-hits"] = ("search", {"q": words})
        pages["told-question"] = ("told", {"q": words})
        pages["session"] = ("session", {"id": session.id})
        pages["session-all"] = ("session", {"id": session.id, "only": "all"})
        pages["erase"] = ("erase", {"ref": session.ref})
    for learned in memory.consolidation.memories()[:1]:
        pages["memory"] = ("record", {"ref": learned.ref})
        pages["why-memory"] = ("why", {"target": learned.ref})
        pages["knowledge-merge"] = ("knowledge", {"choose": "merge", "ref": learned.ref})
        pages["knowledge-next"] = ("knowledge", {"next": "1"})
        pages["knowledge-past"] = ("knowledge", {"as_of": "3d"})
        pages["compare-year"] = ("compare", {"begin": "365d"})
    notes = [note.ref for note in memory.records.select(["note"])]
    for ref in notes[:1]:
        pages["note"] = ("record", {"ref": ref})
        pages["search-open"] = (
            "search",
            {"q": ref.split("/")[-1], "open": ref, "why": ref, "as_of": "1d"},
        )
        pages["graph-note"] = ("graph", {"ref": ref})
    tracked = {file.path: file for file in memory.git.files()[0]}
    edited = [file.path for file in memory.journal.edited_files(0, round(1000 * now()))]
    for path in [*(path for path in edited if path in tracked), *tracked][:1]:
        pages["code-folder"] = ("code", {"folder": path.rpartition("/")[0]})
        pages["file"] = ("file", {"path": path})
        pages["file-lines"] = ("file", {"path": path, "lines": "1"})
        pages["why"] = ("why", {"target": f"{path}:1"})
        pages["commit"] = ("record", {"ref": memory.git.history(path)[-1].ref})
    for injection in memory.ledger.injections()[0][:1]:
        pages["injection"] = ("injection", {"id": injection.id})
    for name in ("search", "today", "sessions", "knowledge"):
        pages[f"all-{name}"] = (f"all/{name}", {})
    return pages
