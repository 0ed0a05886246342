"""The page of `kinen export --html` in a real browser, opened from disk.

`make browser` runs it; see test_browser.py. Every test fails on an error in the console, a
violation of the policy, or any request but that for the file itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kinen.memory import Memory
from web.hostile import write_hostile
from web.payloads import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemon.served import Project

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from web.tab import AXE, CHROMIUM, CUT_OFF, SECONDS
from web.test_browser import chromium  # noqa: F401

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")
VIEWS = ("search", "timeline", "sessions", "memories", "checkpoints", "plans", "pins", "about")
PLAN = """- [x] rotate
- [ ] tell the warehouse
  - by mail
    1. the list
    2. the reason, in
       two lines
  - by phone
- print

| who | what \\| how |
|:----|-----:|
| Ada | `rotate` |
| Bob |
"""
ADA = {"session": "s1", "agent": "claude"}


def fill(project: Project) -> None:
    """Two sessions, a memory, a checkpoint, a plan and a pin."""
    with Memory.open(project.root) as memory:
        capsule = memory.journal.open_capsule("fix the labels", scope=ADA)
        prompt = memory.observe("The labels print upside down.", kind="message", scope=ADA)
        memory.observe(
            "$ make labels\nError: no paper",
            kind="command",
            scope=ADA,
            provenance={"command": "make labels", "exitCode": 2},
            files=["src/labels.py"],
        )
        diff = "Tool: Edit\nFile: src/labels.py\n-rotate(0)\n+rotate(180)"
        memory.observe(diff, kind="file_diff", scope=ADA, files=["src/labels.py"])
        memory.journal.close_capsule(
            capsule.ref, "**Outcome**: labels are `upright`\n\n**Next**: tell the warehouse"
        )
        bob = {"session": "s2", "agent": "gemini"}
        memory.journal.open_capsule("move sessions to PostgreSQL", scope=bob)
        memory.observe("We decided on PostgreSQL: one system fewer.", kind="message", scope=bob)
        memory.journal.pin(prompt.ref, "the report")
        memory.worklog.checkpoint("Decided to rotate in the driver.", tags=["printing"])
        memory.worklog.save_plan("Labels", PLAN, activate=True)
        memory.sync()
        memory.consolidation.consolidate()


class Tab:
    """A page from disk, and what went wrong in it."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.problems: list[str] = []
        self.url = file.as_uri()
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._request)
        self.page.goto(self.url)

    def _request(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.url:
            self.problems.append(f"request to {request.url}")

    def ready(self) -> Any:
        self.page.wait_for_selector("html[data-state=ready]")
        return self.page

    def until(self, expression: str) -> None:
        """Wait for an expression to be true; Playwright's own way needs `eval`."""
        for _ in range(SECONDS // 50):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"still not: {expression}")

    def show(self, view: str) -> Any:
        """Go to a view, by its address."""
        self.page.evaluate("hash => { location.hash = hash }", f"#{view}")
        self.until("document.documentElement.dataset.view === location.hash")
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.problems == []


@pytest.fixture
def file(project: Project, tmp_path: Path) -> Path:
    fill(project)
    file = tmp_path / "memory.html"
    with Memory.open(project.root) as memory:
        memory.transfer.export(file, form="html")
    return file


@pytest.fixture
def tab(chromium: Any, file: Path) -> Iterator[Tab]:  # noqa: F811
    tab = Tab(chromium, file)
    tab.ready()
    yield tab
    tab.close()


def test_words_are_found_as_one_types(tab: Tab) -> None:
    page = tab.page
    page.keyboard.type("print label")
    tab.until("location.hash.includes('q=print+label')")
    page.wait_for_selector(".hits mark")
    assert "upside down" in page.locator(".hits > li").first.inner_text()
    page.fill("input[name=q]", "warehou")
    page.wait_for_selector(".hits >> text=tell the warehouse")
    page.fill("input[name=q]", '"one system fewer"')
    page.wait_for_selector(".hits >> text=one system fewer")
    hits = page.locator(".hits > li").all_inner_texts()
    assert all("one system fewer" in hit for hit in hits), hits
    page.fill("input[name=q]", "zzqx")
    page.wait_for_selector("text=No hits")
    page.locator("#search h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


def test_filters_are_in_the_address_and_survive_a_reload(tab: Tab) -> None:
    page = tab.page
    page.click("text=Filters")
    page.select_option("select[name=agent]", "gemini")
    tab.until("location.hash.includes('agent=gemini')")
    tab.until("document.querySelectorAll('.hits > li').length === 2")
    page.reload()
    tab.ready()
    assert page.locator(".hits > li").count() == 2
    for query, words in {
        "type=checkpoint": "rotate in the driver",
        "type=edit": "src/labels.py",
        "session=s1&type=command": "make labels",
        "tag=printing": "rotate in the driver",
        "file=src/labels.py&type=edit": "src/labels.py",
    }.items():
        tab.show(f"search?{query}")
        page.wait_for_selector(f".hits >> text={words}")
        assert page.locator(".hits > li").count() == 1, query
    tab.show("search?until=2001-01-01")
    page.wait_for_selector("text=No hits")


def test_every_view_is_reached_by_clicking(tab: Tab) -> None:
    page = tab.page
    titles = [link.inner_text() for link in page.locator("nav a").all()]
    assert [title.lower() for title in titles] == list(VIEWS)
    for title in titles:
        page.click(f"nav >> text={title}")
        page.wait_for_selector(f"nav a[aria-current=page] >> text={title}")
    page.click("nav >> text=Sessions")
    page.wait_for_selector("#sessions.shown .cards code")
    assert page.locator(".shown .cards code").all_inner_texts() == ["upright"]
    page.select_option("#sessions select[name=agent]", "gemini")
    tab.until("document.querySelectorAll('#sessions .cards > li:not([hidden])').length === 1")
    page.select_option("#sessions select[name=agent]", "")
    page.fill("#sessions input[name=q]", "upright")
    tab.until("document.querySelectorAll('#sessions .cards > li:not([hidden])').length === 1")
    page.click("#sessions >> text=fix the labels")
    page.wait_for_selector(".shown aside >> text=labels are upright")
    assert "make labels" in page.locator(".shown .steps").inner_text()
    page.click(".shown .edit summary")
    assert page.locator(".shown .steps .gi").inner_text() == "+rotate(180)"
    page.select_option(".shown select[name=only]", "error")
    tab.until("document.querySelectorAll('.shown .steps > li:not([hidden])').length === 1")
    page.click(".shown .command summary")
    assert "exitCode: 2" in page.locator(".shown .command details").inner_text()
    page.click("nav >> text=Pins")
    page.click(".shown .cards p a")
    page.wait_for_selector(".shown .steps > li:target >> text=upside down")
    page.go_back()
    page.wait_for_selector("#pins.shown")
    page.click("nav >> text=Timeline")
    page.locator(".shown .heat a").first.click()
    page.wait_for_selector("#search.shown .hits >> text=upside down")


def test_markdown_of_a_record_is_rendered(tab: Tab) -> None:
    page = tab.show("plan:.memories/plans/labels.md")
    shape = page.evaluate(
        """() => {
          const lists = (item) => [...item.querySelectorAll(":scope > ul, :scope > ol")];
          const tree = (list) => [...list.children].map((item) => [
            item.firstChild.textContent, ...lists(item).map(tree),
          ]);
          return lists(document.querySelector(".shown .prose")).map(tree);
        }"""
    )
    mail = ["by mail", [["the list"], ["the reason, in\ntwo lines"]]]
    tell = ["☐ tell the warehouse", [mail, ["by phone"]]]
    assert shape == [[["☑ rotate"], tell, ["print"]]]
    assert page.locator(".shown .prose thead th").all_inner_texts() == ["who", "what | how"]
    rows = [
        row.locator("td").all_inner_texts() for row in page.locator(".shown .prose tbody tr").all()
    ]
    assert rows == [["Ada", "rotate"], ["Bob", ""]]
    assert page.locator(".shown .prose pre").count() == 0


def test_nothing_that_people_and_agents_wrote_runs(
    chromium: Any,  # noqa: F811
    project: Project,
    tmp_path: Path,
) -> None:
    file = tmp_path / "hostile.html"
    with Memory.open(project.root) as memory:
        write_hostile(project, memory)
        for payload in PAYLOADS:
            memory.worklog.checkpoint(f"needle {payload}\n\n{payload}")
        memory.worklog.save_plan("needle <script>window.kinenxss=1</script>", "\n\n".join(PAYLOADS))
        memory.consolidation.consolidate()
        memory.transfer.export(file, form="html")
    tab = Tab(chromium, file)
    page = tab.ready()
    for view in (
        *VIEWS,
        "search?q=needle",
        "memories",
        "search?q=%3Cscript%3E&tag=%22%3E",
    ):
        tab.show(view)
        while page.locator("button.more:visible").count():
            page.locator("button.more:visible").first.click()
        addresses = page.evaluate(
            "[...document.querySelectorAll('main a')].map(a => a.getAttribute('href') ?? '#')"
        )
        bad = [url for url in addresses if not url.startswith(("#", "https:", "http:", "mailto:"))]
        assert bad == []
        assert page.evaluate("window.kinenxss") is None, view
    refs = [url for url in addresses if url.startswith("#")][:40]
    tab.show("search?q=needle")
    refs += page.evaluate("[...document.querySelectorAll('.hits h2 a')].map(a => a.hash)")
    for ref in dict.fromkeys(refs):
        tab.show(ref.removeprefix("#"))
        for summary in page.locator(".shown summary").all()[:5]:
            summary.click()
        assert page.evaluate("window.kinenxss") is None, ref
    names = page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName))]")
    assert not {"img", "iframe", "object", "embed", "video", "base", "link"} & set(names)
    tab.close()


def test_a_page_that_is_cut_short_says_so(chromium: Any, file: Path) -> None:  # noqa: F811
    data = file.read_bytes()
    file.write_bytes(data[: data.index(b"x-kinen-bundle")])
    tab = Tab(chromium, file)
    tab.ready()
    tab.page.wait_for_selector("#status >> text=cut short")
    tab.show("sessions")
    assert "fix the labels" in tab.page.locator("#sessions").text_content()
    tab.close()


def test_without_scripts_everything_is_shown(chromium: Any, file: Path) -> None:  # noqa: F811
    tab = Tab(chromium, file, java_script_enabled=False)
    text = tab.page.locator("main").inner_text()
    for words in ("kinen import", "upside down", "make labels", "rotate in the driver", "tell the"):
        assert words in text, words
    assert not tab.page.locator("#search").is_visible()
    tab.close()


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: `make browser` does it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_page(chromium: Any, file: Path, scheme: str) -> None:  # noqa: F811
    tab = Tab(chromium, file, color_scheme=scheme, bypass_csp=True)
    page = tab.ready()
    page.add_script_tag(path=str(AXE))
    results = []
    page.fill("input[name=q]", "labels")
    page.wait_for_selector(".hits mark")
    session = page.evaluate("document.querySelector('.hits .about a').hash.slice(1)")
    record = page.evaluate("document.querySelector('.hits h2 a').hash.slice(1)")
    for view in (*VIEWS, "search?q=labels&type=edit", session, record):
        tab.show(view)
        for violation in page.evaluate("axe.run()")["violations"]:
            results += [
                (view, violation["id"], node["html"][:160]) for node in violation["nodes"][:2]
            ]
    tab.close()
    assert results == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_view_is_wider_than_the_screen(chromium: Any, file: Path, width: int) -> None:  # noqa: F811
    tab = Tab(chromium, file, viewport={"width": width, "height": 800})
    page = tab.ready()
    session = page.evaluate("document.querySelector('.hits .about a').hash.slice(1)")
    for view in (*VIEWS, "search?type=edit", session, "plan:.memories/plans/labels.md"):
        tab.show(view)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    tab.close()


def test_a_page_can_be_printed(chromium: Any, file: Path) -> None:  # noqa: F811
    tab = Tab(chromium, file, color_scheme="dark", viewport={"width": 720, "height": 900})
    page = tab.ready()
    tab.show("sessions")
    links = "[...document.querySelectorAll('main a')]"
    chosen = f"{links}.find((link) => link.textContent.includes('fix the labels'))"
    session = page.evaluate(f"{chosen}.hash.slice(1)")
    for view in ("search", "timeline", "memories", session):
        tab.show(view)
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert not [form for form in page.locator("form").all() if form.is_visible()]
        assert page.evaluate(CUT_OFF) == [], view
        page.emulate_media(media="screen")
    page.emulate_media(media="print")
    folded = page.locator(".shown details:not([open]) pre").first
    assert folded.is_visible(), "what is folded is printed"
    assert page.pdf(format="A4").startswith(b"%PDF-")
    tab.close()
