"""The pages in a real browser: keys, live updates, scripts off, hostile content, accessibility.

`make browser` runs them. They need chromium and Playwright, and skip without; `KINEN_CHROMIUM` is
the path of another browser of its kind. Every test fails on an error in the console, a violation of
the policy, or a request to elsewhere.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from web.hostile import NAME, NOTE, write_hostile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daemon.served import Project
    from web.conftest import Site

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = os.environ.get("KINEN_CHROMIUM") or shutil.which("chromium") or ""
AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make browser` puts it."""
SCOPE = {"session": "s1", "agent": "claude"}
SECONDS = 30_000
"""Milliseconds that only guard against waiting forever."""
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


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
        self.page.wait_for_url("**/search")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self.site.origin):
            self.problems.append(f"request to {request.url}")

    def open(self, page: str, **query: str) -> Any:
        import httpx

        url = httpx.URL(f"{self.site.origin}/web/s/parcelry/{page}", params=query or None)
        self.page.goto(str(url))
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.problems == []


@pytest.fixture
def tab(chromium: Any, site: Site) -> Iterator[Tab]:
    tab = Tab(chromium, site)
    yield tab
    tab.close()


def consolidated(site: Site) -> int:
    with site.memory() as memory:
        memory.consolidation.consolidate()
        return len(memory.consolidation.memories())


def test_results_appear_as_one_types(tab: Tab) -> None:
    page = tab.open("search")
    page.keyboard.type("redis")
    page.wait_for_selector(".hits article")
    page.wait_for_url("**q=redis*")
    page.locator(".why summary").first.click()
    assert page.locator(".why table").first.is_visible()
    page.locator(".preview-link").first.click()
    page.wait_for_selector("#preview h2")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('.hits') !== null")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


def test_searching_and_reading_work_without_scripts(chromium: Any, site: Site) -> None:
    tab = Tab(chromium, site, java_script_enabled=False)
    page = tab.open("search")
    page.fill("input[name=q]", "redis")
    page.click("form[role=search] button")
    assert page.locator(".hits article").count()
    page.locator(".preview-link").first.click()
    assert page.locator("#preview h2").first.is_visible()
    page.locator(".hits h2 a").first.click()
    assert page.locator("#text").is_visible()
    page.click("nav >> text=Sessions")
    assert page.locator("h1").inner_text() == "Sessions"
    tab.close()


def test_keys_hide_undo_pin_and_edit_memories(tab: Tab, site: Site) -> None:
    count = consolidated(site)
    page = tab.open("memories")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.wait_for_selector(".banner")
    assert page.locator("#memories > li").count() == count - 1
    page.keyboard.press("u")
    page.wait_for_url("**done=restored**")
    assert page.locator("#memories > li").count() == count
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("p")
    page.wait_for_selector(".chip.good")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("Sessions stay in PostgreSQL.")
    page.click("form.stacked button >> visible=true")
    page.wait_for_url("**done=edited**")
    assert "Sessions stay in PostgreSQL." in page.locator("#memories").inner_text()


def test_a_page_follows_what_is_recorded(tab: Tab, site: Site) -> None:
    import httpx

    from daemon.served import TOKEN

    page = tab.open("sessions")
    assert "No session" not in page.locator("h1").inner_text()
    with page.expect_response("**/web/events"):
        page.reload()
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Kinen-Space": str(site.project.root)}
    body = {"intent": "paint the shed", "scope": SCOPE}
    httpx.post(f"{site.origin}/v1/capsules", headers=headers, json=body).raise_for_status()
    message = {"content": "Paint the shed.", "scope": SCOPE, "kind": "message"}
    httpx.post(f"{site.origin}/v1/observations", headers=headers, json=message).raise_for_status()
    page.wait_for_selector("text=paint the shed")


def test_hostile_content_runs_nothing(tab: Tab, site: Site, project: Project) -> None:
    with site.memory() as memory:
        write_hostile(project, memory)
        memory.consolidation.consolidate()
        memory.ledger.record_answer(
            "<b>x</b>", "<b>y</b>", "<script>window.kinenxss=1</script>", []
        )
        sent = memory.ledger.injections()[0][0].id
    visits = [
        ("search", {"q": "needle", "open": NOTE, "context": "2"}),
        ("record", {"ref": NOTE}),
        ("record", {"ref": NAME}),
        ("session", {"id": "last", "only": "all"}),
        ("file", {"path": NAME}),
        ("injection", {"id": sent}),
        *((name, {}) for name in ("timeline", "sessions", "memories", "files", "ledger", "health")),
        ("budget", {"q": "needle"}),
    ]
    for name, query in visits:
        page = tab.open(name, **query)
        for summary in page.locator("main summary").all()[:20]:
            summary.click()
        assert page.evaluate("window.kinenxss") is None, name


def test_other_sites_cannot_frame_or_post(chromium: Any, site: Site) -> None:
    tab = Tab(chromium, site)
    other = tab.context.new_page()
    markup = f'<iframe src="{site.origin}/web/s/parcelry/search"></iframe>'
    other.set_content(markup)
    other.wait_for_timeout(500)
    frames = [frame for frame in other.frames if frame != other.main_frame]
    assert all("Search" not in frame.content() for frame in frames)
    post = f"fetch('{site.origin}/web/s/parcelry/record/pin', {{method: 'POST', mode: 'no-cors',"
    other.evaluate(post + " credentials: 'include', body: 'ref=notes/oncall.md'}).catch(() => 0)")
    with site.memory() as memory:
        assert memory.journal.entries("pins")[0] == []
    tab.close()


def test_somebody_new_finds_their_way_by_clicking(tab: Tab, site: Site) -> None:
    count = consolidated(site)
    page = tab.open("search")
    page.fill("input[name=q]", "why did sessions move to postgresql")
    page.wait_for_selector(".hits article")
    assert "one system fewer" in page.locator(".hits").inner_text()
    page.click("nav >> text=Budget")
    assert "tokens" in page.locator("main h2").first.inner_text()
    page.click("nav >> text=Memories")
    page.locator("#memories > li", has_text="rate-limiter").locator("text=Hide").click()
    page.wait_for_selector(".banner")
    assert page.locator("#memories > li").count() == count - 1


PAGES = {
    "search": {"q": "redis", "why": "notes/oncall.md", "open": "notes/oncall.md"},
    "record": {"ref": "artifacts/adr-007-session-store.md"},
    "timeline": {},
    "sessions": {},
    "session": {"id": "last"},
    "memories": {},
    "files": {},
    "file": {"path": "notes/oncall.md"},
    "graph": {"ref": "artifacts/adr-007-session-store.md"},
    "budget": {"q": "redis"},
    "ledger": {},
    "health": {},
}


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: `make browser` does it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Any, site: Site, scheme: str) -> None:
    consolidated(site)
    tab = Tab(chromium, site, color_scheme=scheme, bypass_csp=True)
    found = []
    for name, query in PAGES.items():
        page = tab.open(name, **query)
        page.add_script_tag(path=str(AXE))
        result = page.evaluate("axe.run()")
        found += [
            (name, violation["id"], node["html"][:160])
            for violation in result["violations"]
            for node in violation["nodes"][:2]
        ]
    tab.close()
    assert found == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(chromium: Any, site: Site, width: int) -> None:
    consolidated(site)
    tab = Tab(chromium, site, viewport={"width": width, "height": 800})
    for name, query in PAGES.items():
        page = tab.open(name, **query)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    tab.close()
