"""The pages in a real browser: keys, mutations, live updates, scripts off, accessibility.

`make browser` runs them. They need chromium and Playwright, and skip without; `KINEN_CHROMIUM` is
the path of another browser of its kind. Every test fails on an error in the console, a violation of
the policy, or a request to elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from daemon.served import Project
from kinen.memory import Memory
from kinen.web.site import VIEWS
from web.conftest import served
from web.demo import LABELS, fill
from web.hostile import NAME, NOTE, write_hostile
from web.tab import AXE, CHROMIUM, CUT_OFF, SECONDS, Tab, every_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from web.conftest import Site

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The demo space with its sessions, for tests that leave it as it was."""
    with pytest.MonkeyPatch.context() as patch:
        project = Project(tmp_path_factory.mktemp("demo"))
        project.enter(patch)
        (project.root / ".kinen").mkdir()
        fill(project)
        with served(project) as site:
            yield site


@pytest.fixture
def demo_tab(chromium: Any, demo: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tab]:
    demo.project.enter(monkeypatch)
    tab = Tab(chromium, demo)
    yield tab
    tab.close()


@pytest.fixture
def tab(chromium: Any, site: Site) -> Iterator[Tab]:
    tab = Tab(chromium, site)
    yield tab
    tab.close()


def consolidated(site: Site) -> int:
    with site.memory() as memory:
        memory.consolidation.consolidate()
        return len(memory.consolidation.memories())


def test_results_appear_as_one_types(demo_tab: Tab) -> None:
    page = demo_tab.open("search")
    page.keyboard.type("redis")
    page.wait_for_selector(".hits article")
    page.wait_for_url("**q=redis*")
    page.locator(".why summary").first.click()
    points = page.locator(".why[open] tbody td:last-child").all_inner_texts()
    assert sum(map(float, points[:-1])) == pytest.approx(float(points[-1]), abs=0.3)
    page.locator(".preview-link").first.click()
    page.wait_for_selector("#preview h2")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.hits') !== null")
    page.evaluate("document.getElementById('results').dataset.old = '1'")
    page.keyboard.press("o")
    page.wait_for_selector("#results:not([data-old])")  # what is typed before would be replaced
    assert "open=" in page.url
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.fill("input[name=why]", "notes/onboarding.md")
    page.click("#why button")
    page.wait_for_selector(".standing")


def test_filters_are_in_the_address_and_neighbours_come_on_demand(demo_tab: Tab) -> None:
    page = demo_tab.open("search", q="labels")
    page.wait_for_selector(".hits article")
    page.click("text=Filters and time")
    page.select_option("select[name=types]", "commits")
    page.wait_for_url("**types=commits*")
    assert set(page.locator(".hits .about .chip:first-child").all_inner_texts()) == {"commit"}
    page.fill("input[name=since]", "1h")
    page.wait_for_url("**since=1h*")
    page = demo_tab.open("search", q="why are labels blank")
    page.wait_for_selector(".hits article")
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.wait_for_url("**around=*")
    page.wait_for_selector("text=Hide neighbours")
    assert page.evaluate("document.activeElement.closest('.hits') !== null"), "keeps the focus"
    page.click("text=Hide neighbours")
    page.wait_for_selector("text=Hide neighbours", state="detached")


def test_the_slider_goes_back_in_time(demo_tab: Tab) -> None:
    page = demo_tab.open("search", q="labels")
    page.click("text=Filters and time")
    slider = page.locator("#as-of")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.wait_for_url("**as_of=20*")
    page.wait_for_selector("text=as of 20")
    assert "utf-8-sig" not in page.locator("#results").inner_text()
    page.click("text=Back to now")
    page.wait_for_selector("#results >> text=utf-8-sig", state="attached")


def test_searching_and_reading_work_without_scripts(
    chromium: Any, demo: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.project.enter(monkeypatch)
    tab = Tab(chromium, demo, java_script_enabled=False)
    page = tab.open("search")
    page.fill("input[name=q]", "redis")
    page.press("input[name=q]", "Enter")
    assert page.locator(".hits article").count()
    page.locator(".preview-link").first.click()
    assert page.locator("#preview h2").first.is_visible()
    page.locator(".hits h2 a").first.click()
    assert page.locator("#text, .steps").first.is_visible()
    for name, heading in (("Sessions", "Sessions"), ("Code", "Code"), ("Knowledge", "Knowledge")):
        page.click(f"nav >> text={name}")
        assert page.locator("h1").inner_text() == heading
    page = tab.open("graph")
    assert page.locator("svg.graph").is_visible()
    assert not page.locator("#canvas").is_visible()
    page.locator("svg .dot").first.click()
    tab.close()


def test_keys_hide_undo_pin_and_edit_memories(tab: Tab, site: Site) -> None:
    count = consolidated(site)
    page = tab.open("knowledge")
    hide, edit = (
        page.locator(f"#memories > li:first-child >> text={name}") for name in ("Hide", "Edit")
    )
    seen = "item => getComputedStyle(item.closest('.on-hover > *')).opacity"
    assert hide.evaluate(seen) == edit.evaluate(seen) == "0"
    page.hover("#memories > li:first-child")
    assert hide.evaluate(seen) == edit.evaluate(seen) == "1"
    page.hover("h1")
    page.keyboard.press("j")
    assert hide.evaluate(seen) == "1", "keys show what can be done, too"
    page.keyboard.press("x")
    page.wait_for_url("**done=hidden**")
    assert page.locator("#memories > li").count() == count - 1
    page.keyboard.press("u")
    page.wait_for_url("**done=restored**")
    assert page.locator("#memories > li").count() == count
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("p")
    page.wait_for_url("**done=pinned**")
    assert page.locator(".chip.good").count() == 1
    page.keyboard.press("u")
    page.wait_for_url("**done=unpinned**")
    assert page.locator(".chip.good").count() == 0
    content = page.locator("#memories .content").first.inner_text()
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("Sessions stay in PostgreSQL.")
    page.click("form.stacked button >> visible=true")
    page.wait_for_url("**done=edited**")
    assert "Sessions stay in PostgreSQL." in page.locator("#memories").inner_text()
    page.keyboard.press("u")
    page.wait_for_url("**done=restored**")
    assert content in page.locator("#memories").inner_text()
    assert "Sessions stay in PostgreSQL." not in page.locator("#memories").inner_text()


def test_every_other_change_and_its_undo(tab: Tab, site: Site) -> None:
    count = consolidated(site)
    page = tab.open("knowledge")
    last = page.locator("#memories > li").last.get_attribute("id")
    first = page.locator("#memories > li").first
    for button, done in (("Superseded by", "superseded"), ("Merge into", "merged")):
        first = page.locator("#memories > li").first
        first.locator("summary", has_text="Edit").click()
        first.locator("a", has_text=button).click()
        page.wait_for_url("**choose=*")
        page.locator(f"[id='{last}'] >> text=This one").click()
        page.wait_for_url(f"**done={done}**")
        page.click("#undo")
        page.wait_for_url("**done=restored**")
        assert page.locator("#memories > li").count() == count
    page = tab.open("record", ref="notes/oncall.md")
    page.click("text=Pin")
    page.click("text=Unpin")
    page.wait_for_selector("button:text-is('Pin')")
    page = tab.open("health")
    for button, done in (
        ("Update the index", "up to date"),
        ("Build the index again", "built again"),
        ("Import pending events", "spool is empty"),
    ):
        page.click(f"#repairs >> text={button}")
        page.wait_for_selector(f".banner >> text={done}")


def test_a_page_of_the_daemon_follows_what_a_hook_records(
    chromium: Any, space: Path, kinen: Any
) -> None:
    (space / "tea.md").write_text("# Tea\n")
    assert kinen("index").code == 0
    browser = chromium.new_context()
    try:
        page = browser.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(kinen("web", "--no-open").out.strip())
        page.wait_for_url("**/today")
        with page.expect_response("**/web/events"):
            page.click("nav >> text=Today")
        assert "paint the shed" not in page.locator("main").inner_text()
        payload = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s9",
            "prompt": "paint the shed",
            "cwd": str(space),
        }
        command = [sys.executable, "-m", "kinen", "hook", "claude-code"]
        subprocess.run(command, input=json.dumps(payload), text=True, cwd=space, check=True)
        page.wait_for_selector("main >> text=paint the shed >> visible=true")
    finally:
        browser.close()
        kinen("daemon", "stop")


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
        ("knowledge", {"next": "1"}),
        ("knowledge", {"as_of": "1m"}),
        ("graph", {"all": "1"}),
        *((name, {}) for name in ("today", "week", "errors", "sessions", "code", "sent", "health")),
        ("told", {"q": "needle"}),
    ]
    for name, query in visits:
        page = tab.open(name, **query)
        for summary in page.locator("main summary").all()[:20]:
            summary.click()
        if name == "graph":
            page.wait_for_selector("#graph[data-ready]")
            page.mouse.move(700, 600)
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


def test_somebody_new_finds_their_way_by_clicking(demo_tab: Tab) -> None:
    page = demo_tab.page
    page.click("nav >> text=Knowledge")
    page.click("#memories >> text=Sessions move to PostgreSQL")
    page.wait_for_selector("h1 >> text=one system fewer")
    assert not page.locator("#text").count(), "a memory of one sentence is its own title"
    page.click("aside >> text=Round 2")
    assert "nothing else uses it" in page.locator("#text").inner_text()
    page.click("nav >> text=Sessions")
    page.click(f"main >> text={LABELS}")
    assert "utf-8-sig" in page.locator("main").inner_text()
    page.click("nav >> text=Told")
    assert "tokens" in page.locator("main h2").first.inner_text()
    page.click("nav >> text=Knowledge")
    page.wait_for_url("**/knowledge")
    count = page.locator("#memories > li").count()
    page.locator("#memories > li", has_text="rate-limiter").first.locator("text=Hide").click()
    page.wait_for_url("**done=hidden**")
    assert page.locator("#memories > li").count() == count - 1
    page.click("#undo")
    page.wait_for_url("**done=restored**")
    assert page.locator("#memories > li").count() == count


class Person:
    """Somebody who only clicks and types; their clicks are counted."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.page = tab.open("today")
        self.clicks = 0

    def click(self, *names: str) -> None:
        """Click what a person sees by its words, or by a selector, one after the other."""
        for name in names:
            self.page.locator(name).locator("visible=true").first.click()
            self.clicks += 1

    def search(self, words: str) -> None:
        self.page.keyboard.press("/")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(".hits article")

    def sees(self, text: str) -> None:
        playwright.expect(self.page.locator("main")).to_contain_text(text)


def why_it_was_decided(person: Person) -> None:
    person.click(
        "nav >> text=Knowledge", "text=Sessions move to PostgreSQL", "aside >> text=Round 2"
    )
    person.sees("nothing else uses it")


def which_session_changed_a_file(person: Person) -> None:
    person.click("nav >> text=Code", ".rows >> text=labels/render.py")
    person.sees("Sessions that changed it")
    person.sees(LABELS)


def what_an_agent_was_told(person: Person) -> None:
    person.click("nav >> text=Told", "text=Sent so far", "tbody th a")
    person.sees("Left out")


def what_changed_between_two_dates(person: Person) -> None:
    person.click("nav >> text=Knowledge", "text=Compare", "text=30 days")
    person.sees("New")


def how_an_error_was_fixed(person: Person) -> None:
    person.click("text=Errors")
    person.page.fill("main input[name=q]", "KeyError: 'carrier'")
    person.page.keyboard.press("Enter")
    person.sees("✓ fixed")


def where_a_note_leads(person: Person) -> None:
    person.search("session store decision")
    person.click(".hits h2 a:has-text('ADR')", "aside a")
    assert "ref=" in person.page.url


def hand_a_session_to_a_colleague(person: Person) -> None:
    person.click("nav >> text=Sessions", f"main >> text={LABELS}")
    person.click("text=Share…")
    person.sees("with secrets masked")
    with person.page.expect_download() as download:
        person.click("text=Download")
    assert LABELS in Path(download.value.path()).read_text()


def what_agents_did_last_week(person: Person) -> None:
    person.click("text=Week")
    person.sees(LABELS)


def correct_a_memory(person: Person) -> None:
    person.click("nav >> text=Knowledge", "#memories summary")
    person.page.fill("#memories textarea >> visible=true", "Sessions stay in PostgreSQL.")
    person.click("#memories details[open] >> text=Save")
    person.sees("Sessions stay in PostgreSQL.")


def forget_a_secret(person: Person) -> None:
    person.search("deploy labels done")
    person.click(".hits article:has-text('./deploy') h2 a", "text=Erase…", "text=Erase for good")
    person.sees("Erased")


TASKS = (
    why_it_was_decided,
    which_session_changed_a_file,
    what_an_agent_was_told,
    what_changed_between_two_dates,
    how_an_error_was_fixed,
    where_a_note_leads,
    hand_a_session_to_a_colleague,
    what_agents_did_last_week,
    correct_a_memory,
    forget_a_secret,
)
"""What people come for, from Today on; those that change something are last."""
FEW = 3


def test_ten_tasks_take_few_clicks(chromium: Any, project: Project) -> None:
    fill(project)
    with Memory.open(project.root) as memory:
        scope = {"session": "s9", "agent": "gemini"}
        capsule = memory.journal.open_capsule("carriers without a name", scope=scope)
        for code, output in ((1, "KeyError: 'carrier'"), (0, "3 passed")):
            about = {"command": "pytest -q tests/shipping", "exitCode": code}
            memory.observe(output, kind="command", scope=scope, provenance=about)
        memory.journal.close_capsule(capsule.ref)
    with served(project) as site:
        tab = Tab(chromium, site)
        clicks = {}
        for task in TASKS:
            person = Person(tab)
            task(person)
            clicks[task.__name__] = person.clicks
        tab.close()
    print(json.dumps(clicks, indent=1))
    assert sum(count <= FEW for count in clicks.values()) >= len(TASKS) - 2, clicks


def test_the_graph_pans_zooms_filters_and_names(demo_tab: Tab) -> None:
    page = demo_tab.open("graph", all="1")
    page.wait_for_selector("#graph[data-ready]")
    assert not page.locator("svg.graph").is_visible()
    look = "document.getElementById('canvas').toDataURL()"
    before = page.evaluate(look)
    canvas = page.locator("#canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    while page.evaluate(look) == before:
        page.wait_for_timeout(50)
    page.click("button:text-is('Fit')")
    place = canvas.bounding_box()
    page.mouse.move(place["x"] + 20, place["y"] + 20)
    page.mouse.down()
    page.mouse.move(place["x"] + 80, place["y"] + 60, steps=4)
    page.mouse.up()
    page.mouse.wheel(0, -200)
    page.check("input[name=kinds][value=note]")
    page.click("button:text-is('Show')")
    page.wait_for_url("**kinds=note*")
    page.wait_for_selector("#graph[data-ready]")
    page.click("text=As a list")
    page.locator("main details a").first.click()
    page.wait_for_selector("#text")


def test_control_k_goes_to_pages_and_hits_and_does_what_the_page_can(demo_tab: Tab) -> None:
    page = demo_tab.open("today")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to or do")
    chosen = page.locator('#palette [aria-selected="true"]')
    box.fill("knowl")
    playwright.expect(chosen).to_contain_text("Knowledge")
    page.keyboard.press("Enter")
    page.wait_for_url("**/knowledge*")
    page.keyboard.press("Control+k")
    box.fill("blank labels")
    entry = page.locator("#palette a").filter(has_text="session").first
    entry.wait_for()
    while "session" not in chosen.inner_text():
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/session?*")
    page.keyboard.press("Control+k")
    box.fill("light or")
    playwright.expect(chosen).to_contain_text("action")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    playwright.expect(box).to_be_hidden()


def test_dragging_over_the_lanes_chooses_days(demo_tab: Tab) -> None:
    page = demo_tab.open("today")
    box = page.locator(".lanes").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 8, steps=5)
    page.mouse.up()
    page.wait_for_url("**days=4*")
    page.click("text=7 days")
    page.wait_for_url("**days=7")
    page.locator(".lanes a:has(.bar)").first.click()
    page.wait_for_selector(".steps")


def test_the_scheme_can_be_switched_and_stays(demo_tab: Tab) -> None:
    page = demo_tab.open("today")
    back = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(back)
    page.click(".theme")
    after = page.evaluate(back)
    assert after != before
    page = demo_tab.open("sessions")
    assert page.evaluate(back) == after
    page.click(".theme")
    assert page.evaluate(back) == before


def test_what_the_next_agent_is_told_changes_by_a_click(chromium: Any, project: Project) -> None:
    fill(project)
    with served(project) as site:
        tab = Tab(chromium, site)
        page = tab.open("told", start="200")
        brief, row = page.locator("main pre"), page.locator(".points > li:has-text('Send instead')")
        name = row.first.locator("a").inner_text()
        before = brief.inner_text()
        row.first.locator("button").click()
        page.wait_for_selector("button:text-is('Unpin')")
        assert "Pinned" in brief.inner_text()
        assert page.locator(".points > li:has-text('Unpin') a").inner_text() == name
        page.click("button:text-is('Unpin')")
        page.wait_for_selector("button:text-is('Unpin')", state="detached")
        assert tab.open("told", start="200").locator("main pre").inner_text() == before
        page = tab.open("told", start="2000")
        row = page.locator(".points > li:has-text('Drop')").first
        words = row.locator("a").inner_text().partition(": ")[2][:24]
        assert words in brief.inner_text()
        row.locator("button").click()
        page.wait_for_url("**done=hidden**")
        assert words not in tab.page.locator("aside").inner_text()
        page.click("text=Undo")
        page.wait_for_url("**done=restored**")
        assert words in tab.open("told", start="2000").locator("main pre").inner_text()
        tab.close()


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_for_whoever_wants_that(
    chromium: Any, demo: Site, motion: str, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.project.enter(monkeypatch)
    tab = Tab(chromium, demo, reduced_motion=motion)
    moving = """[...document.querySelectorAll("*")].filter((item) => {
      const style = getComputedStyle(item);
      return style.transitionDuration !== "0s" || style.animationName !== "none";
    }).length"""
    for name in ("today", "sessions", "knowledge", "told", "graph"):
        assert bool(tab.open(name).evaluate(moving)) == moves, name
    assert tab.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    tab.close()


PRINTED = {
    "session": {"id": "last", "only": "all"},
    "record": {"ref": "artifacts/adr-007-session-store.md"},
    "knowledge": {},
    "today": {},
    "week": {},
    "compare": {},
}


def test_pages_are_printed_whole(
    chromium: Any, demo: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.project.enter(monkeypatch)
    tab = Tab(chromium, demo, color_scheme="dark", viewport={"width": 720, "height": 900})
    for name, query in PRINTED.items():
        page = tab.open(name, **query)
        page.emulate_media(media="print")
        for hidden in ("nav", ".top", "main form", "main button"):
            assert not [item for item in page.locator(hidden).all() if item.is_visible()], name
        cut = page.evaluate(CUT_OFF)
        assert cut == [], name
        paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert paper == "rgb(255, 255, 255)", "dark pages are printed light"
        if name == "session":
            assert page.locator("details pre").first.is_visible(), "what is folded is printed"
        page.emulate_media(media="screen")
        assert page.pdf(format="A4").startswith(b"%PDF-"), name
    tab.close()


def pages(site: Site) -> dict[str, tuple[str, dict[str, str]]]:
    """Every page of a site, and none that its space has nothing for is missing."""
    with site.memory() as memory:
        found = every_page(memory)
    assert {place for place, _ in found.values()} >= set(VIEWS)
    return found


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    chromium: Any, demo: Site, scheme: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AXE.exists():
        assert not os.environ.get("CI"), "axe-core is not installed: `make browser` does it"
        pytest.skip("axe-core is not installed: `make browser` does it")
    demo.project.enter(monkeypatch)
    size = {"width": width, "height": 800}
    tab = Tab(chromium, demo, color_scheme=scheme, bypass_csp=True, viewport=size)
    results = []
    for name, (place, query) in pages(demo).items():
        page = tab.open(place, **query)
        page.add_script_tag(path=str(AXE))
        result = page.evaluate("axe.run()")
        results += [
            (name, violation["id"], node["html"][:160])
            for violation in result["violations"]
            for node in violation["nodes"][:2]
        ]
    tab.close()
    assert results == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(
    chromium: Any, demo: Site, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.project.enter(monkeypatch)
    tab = Tab(chromium, demo, viewport={"width": width, "height": 800})
    for name, (place, query) in pages(demo).items():
        page = tab.open(place, **query)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        links = [link.bounding_box() for link in page.locator("nav a").all()]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in links), name
        skipped = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]"
            ".filter((item) => item.checkVisibility() && item.tabIndex < 0).map(e => e.outerHTML)"
        )
        assert skipped == [], "the keyboard reaches everything"
    tab.close()


HEBREW = "תקן את התוויות הריקות בקובץ labels.py"
ARABIC = "القرار: تُحفظ الجلسات في PostgreSQL"
FLOW = """([words]) => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(words);
    const box = walker.currentNode.parentElement;
    if (at < 0 || !box.checkVisibility() || box.closest("textarea")) continue;
    const side = (from) => {
      const range = document.createRange();
      range.setStart(walker.currentNode, from);
      range.setEnd(walker.currentNode, from + 1);
      return range.getBoundingClientRect().left;
    };
    found.push([getComputedStyle(box).direction, side(at) > side(at + 3), box.outerHTML]);
  }
  return found;
}"""
"""Of each place that shows words: its direction, and whether their first letter is to the right."""


def test_text_that_is_written_from_the_right_is_shown_so(chromium: Any, site: Site) -> None:
    with site.memory() as memory:
        scope = {"session": "s1", "agent": "claude-code"}
        capsule = memory.journal.open_capsule(HEBREW, scope=scope)
        memory.observe(HEBREW, kind="message", scope=scope, provenance={"role": "user"})
        memory.observe("It is done.", kind="message", scope=scope, provenance={"role": "assistant"})
        memory.journal.close_capsule(capsule.ref, f"**Outcome**: {ARABIC}")
        memory.consolidation.remember(ARABIC, type="decision")
        memory.sync()
    hebrew, arabic = HEBREW[:8], ARABIC[8:16]
    tab = Tab(chromium, site)
    for words, name, query in (
        (hebrew, "today", {}),
        (hebrew, "sessions", {}),
        (hebrew, "session", {"id": "last"}),
        (hebrew, "search", {"q": HEBREW.split()[2]}),
        (arabic, "session", {"id": "last"}),
        (arabic, "knowledge", {}),
    ):
        places = tab.open(name, **query).evaluate(FLOW, [words])
        assert places, (name, words)
        assert [place for place in places if place[:2] != ["rtl", True]] == [], name
        assert tab.page.evaluate("getComputedStyle(document.body).direction") == "ltr"
    page = tab.open("session", id="last", only="all")
    assert (
        page.locator(".passage >> text=It is done").evaluate(
            "item => getComputedStyle(item).direction"
        )
        == "ltr"
    )
    tab.close()
