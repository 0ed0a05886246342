"""What each page shows and what its forms do, against a real server."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from daemon.served import TOKEN
from kinen.index.lock import announced, sync_lock
from kinen.journal.queries import FileEdits
from kinen.model.records import Query
from kinen.render import html
from kinen.render.screen import Style
from kinen.render.text import highlighted
from kinen.render.treemap import treemap
from kinen.text import epoch, terms
from web.conftest import project_memory, served
from web.demo import fill
from web.tab import every_page

if TYPE_CHECKING:
    from daemon.served import Project
    from web.conftest import Site

SCOPE = {"session": "s1", "agent": "claude"}


def tree(text: str) -> LexborHTMLParser:
    return LexborHTMLParser(text)


def texts(page: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in page.css(selector)]


@pytest.fixture
def session(site: Site) -> str:
    """A recorded session that failed, edited and decided something; the id of its capsule."""
    with site.memory() as memory:
        capsule = memory.journal.open_capsule("fix the blank labels", scope=SCOPE)
        memory.observe("Labels are blank. Fix it.", scope=SCOPE, provenance={"role": "user"})
        memory.observe("$ pytest -q\n1 failed: a byte order mark", kind="command", scope=SCOPE)
        diff = "Tool: Edit\nFile: labels/render.py\n- encoding='utf-8'\n+ encoding='utf-8-sig'"
        memory.observe(diff, kind="file_diff", scope=SCOPE, files=["labels/render.py"])
        memory.journal.close_capsule(capsule.ref, "**Outcome**: templates are read as `utf-8-sig`")
        memory.consolidation.consolidate()
        memory.sync()
        return capsule.id


def test_the_page_of_a_line_has_the_answer_of_the_endpoint(site: Site) -> None:
    (site.project.root / "pot.py").write_text("steam = 7\n")
    site.project.commit("Seven cups\n\nThe kettle holds no more.")
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Kinen-Space": str(site.project.root)}
    fields = {"target": "pot.py:1"}
    answer = httpx.post(f"{site.origin}/v1/why", json=fields, headers=headers).json()
    assert answer["reason"] == "Seven cups: The kettle holds no more."
    assert answer["commits"][0]["lines"] == [1]
    page = tree(site.page("why", **fields))
    assert texts(page, "main strong") == [answer["reason"]]
    (site.project.root / "pot.py").write_text("steam = 8\n")
    assert "Not committed yet" in site.page("why", **fields)


@pytest.mark.slow
def test_every_link_of_every_page_leads_somewhere(project: Project) -> None:
    fill(project)
    with served(project) as site:
        with site.memory() as memory:
            places = every_page(memory).values()
        links = {
            (node.attributes["href"] or "").partition("#")[0]: place
            for place, query in places
            for node in tree(site.page(place, **query)).css("a[href]")
        }
        dead = [
            (place, url) for url, place in links.items() if url and site.client.get(url).is_error
        ]
    assert dead == []


def test_search_shows_the_hits_of_the_command_with_their_votes(site: Site) -> None:
    page = tree(site.page("search", q="redis"))
    with site.memory() as memory:
        hits = memory.search(Query("redis", once=True))
    assert {node.attributes["data-ref"] for node in page.css("article")} == {
        hit.record.ref for hit in hits
    }
    first = [node.css_first("article").attributes["data-ref"] for node in page.css(".hits > li")]
    assert first == [hit.record.ref for hit in hits if hit.record.ref in first]
    by_ref = {article.attributes["data-ref"]: article for article in page.css("article")}
    for hit in hits:
        article = by_ref[hit.record.ref]
        widths = [float(rect.attributes["width"] or 0) for rect in article.css("rect.vote")]
        assert sum(widths) == pytest.approx(100 * hit.score, abs=0.1)
        assert article.css_first(".score").text() == f"{100 * hit.score:.1f}"
    assert page.css("mark")


def test_filters_are_in_the_address(site: Site) -> None:
    page = tree(site.page("search", q="redis", types="rounds", since="2020-01-01"))
    assert set(texts(page, ".hits .chip")) == {"round"}
    assert page.css_first("select[name=types] option[selected]").attributes["value"] == "rounds"
    assert page.css_first("input[name=since]").attributes["value"] == "2020-01-01"
    wrong = site.get("search", q="redis", since="soon")
    assert wrong.status_code == 400
    assert "invalid time" in wrong.text


def test_search_says_why_a_record_is_missing(site: Site) -> None:
    reason = texts(tree(site.page("search", q="redis", why="notes/oncall.md")), ".standing p")
    assert "nor is it near in meaning" in reason[0] or "hit" in reason[0]
    excluded = site.page(
        "search", q="redis", types="commits", why="artifacts/adr-007-session-store.md"
    )
    assert "excluded by the filters; without them it is hit" in excluded


def test_hits_are_readable_text_with_the_words_marked(site: Site) -> None:
    page = tree(site.page("search", q="redis dropped"))
    passages = page.css(".passage")
    table = next(node for node in passages if node.css("table"))
    assert [" ".join(cell.text().split()) for cell in table.css("th")] == [
        "Decision",
        "Round",
        "Rationale",
    ]
    assert "Redis" in [mark.text() for mark in table.css("td mark")]
    text = " ".join(node.text() for node in passages)
    for markup in ("|---", "**", "`", "[["):
        assert markup not in text, markup
    assert not page.css(".passage [id]"), "anchors would be there twice"
    assert not page.css(".passage h2, .passage h3"), "headings belong to hits"


def test_a_hit_that_is_one_line_has_it_once(site: Site) -> None:
    with site.memory() as memory:
        scope = {"session": "s9", "agent": "gemini"}
        memory.observe("The kettle <b>whistles</b> twice.", kind="message", scope=scope)
        memory.sync()
    hit = tree(site.page("search", q="kettle twice")).css_first(".hits article")
    assert "The kettle <b>whistles</b> twice." in hit.css_first("h2").text()
    assert [mark.text() for mark in hit.css("h2 mark")] == ["kettle", "twice"]
    assert not hit.css(".passage, b")


def test_the_letters_of_a_short_name_mark_no_other_word() -> None:
    line = "2 examples ensure that e2e_test and E2E TESTING work, which 258 events tell"
    marked = highlighted(line, terms("the e2e tests"), Style(colour=True))
    assert re.findall(r"\x1b\[[\d;]+m(\w+)", marked) == ["2", "e2e_test", "E2E", "TESTING"]


def test_neighbours_of_one_hit_come_on_demand(site: Site) -> None:
    first = tree(site.page("search", q="logins certificates"))
    assert not first.css(".neighbours")
    for link in first.css(".around-link"):
        opened = tree(site.client.get(link.attributes["href"] or "").text)
        hits = opened.css("article")
        output = [hit for hit in hits if hit.css(".neighbours")]
        assert len(hits) == len(first.css("article"))
        if output:
            break
    assert len(output) == 1, "of the hit that was asked for alone"
    assert output[0].css(".neighbour")
    assert texts(opened, ".around-link").count("Hide neighbours") == 1
    back = output[0].css_first(".around-link").attributes["href"] or ""
    assert not tree(site.client.get(back).text).css(".neighbours")


def test_a_preview_stands_beside_the_hits(site: Site) -> None:
    page = tree(site.page("search", q="redis", open="artifacts/adr-007-session-store.md"))
    assert "ADR 7" in page.css_first("#preview").text()
    assert page.css("#results article")


def test_a_record_has_its_text_links_and_history(site: Site) -> None:
    page = tree(site.page("record", ref="artifacts/adr-007-session-store.md"))
    assert texts(page, "h1") == ["ADR 7, sessions in PostgreSQL"]
    assert "Linked from" in texts(page, "aside h2")
    assert "History" in texts(page, "aside h2")
    assert page.css("#text [id^=L]")
    assert "type/adr" in page.css_first(".front").text()


def test_the_words_of_a_record_stand_on_its_page_once(site: Site, session: str) -> None:
    ref, content = _first_memory(site)
    memory = tree(site.page("record", ref=ref))
    assert memory.css_first("main").text().count(content) == 1
    note = tree(site.page("record", ref="notes/oncall.md"))
    assert texts(note, "h1") == ["On call"]
    assert texts(note, "#text .titled > h2:first-child") == ["On call"], "read, and not seen twice"
    for page, word in ((memory, "Knowledge"), (note, "Code")):
        assert texts(page, "nav [aria-current]") == [word]


def test_a_map_of_files_cuts_no_word() -> None:
    names = ["labels/render_of_every_label_there_is.py", "src/HooksOfTheClient.tsx", ".gitignore"]
    files = [FileEdits(path=name, edits=9, sessions=1, last=0, days={}) for name in 30 * names]
    labels = {tile.label for tile in treemap(files)}
    assert () in labels, "a word that does not fit is left out"
    larger = {tile.label for tile in treemap(files[:24])}
    assert ("HooksOfThe", "Client.tsx") in larger, "a name may have several lines"
    begun = [label for label in labels if label and label[-1].endswith("…")]
    assert begun, "of a name that is too long the begin"
    words = {word for name in names for word in re.split(r"[/_.]|(?=[A-Z])", name)}
    parts = (re.split(r"[_.…]|(?=[A-Z])", line) for label in labels for line in label)
    assert {word for part in parts for word in part} <= words | {""}


def test_a_time_is_told_by_its_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "now", lambda: epoch("2026-03-02T12:00:00Z") / 1000)
    distances = {"11:59:30": "just now", "11:15:00": "45 min ago", "09:00:00": "3 h ago"}
    distances |= {"12:00:30": "just now", "12:45:00": "in 45 min", "15:00:00": "in 3 h"}
    for clock, words in distances.items():
        assert html.ago(f"2026-03-02T{clock}Z") == words
    assert html.ago("2026-03-03T01:00:00Z") == "3 Mar"


def test_a_record_can_be_pinned_and_unpinned(site: Site) -> None:
    ref = "note:notes/oncall.md"
    assert site.post("record/pin", ref=ref).status_code == 303
    with site.memory() as memory:
        assert [pin.target for pin in memory.journal.entries("pins")[0]] == [ref]
    assert "Unpin" in site.page("record", ref=ref)
    assert site.post("record/unpin", ref=ref).status_code == 303
    with site.memory() as memory:
        assert memory.journal.entries("pins")[0] == []


def test_a_session_is_a_timeline_with_diffs_and_output(site: Site, session: str) -> None:
    assert "fix the blank labels" in texts(tree(site.page("sessions")), ".rows h3 a")
    assert "No session matches" in site.page("sessions", q="nothing like it")
    for name in ("sessions", "today"):
        assert "utf-8-sig" in texts(tree(site.page(name)), ".rows code"), name
    page = tree(site.page("session", id=session))
    assert [node.attributes["class"] for node in page.css(".steps > li")] == [
        "prompt",
        "command",
        "edit",
    ]
    assert "+ encoding='utf-8-sig'" in page.css_first(".steps .edit pre").text()
    assert "1 failed" in page.css_first(".steps .command").text()
    assert "templates are read as utf-8-sig" in page.css_first("aside").text()
    edits = tree(site.page("session", id=session, only="edits"))
    assert len(edits.css(".steps > li")) == 1


def _memories(site: Site, **query: str) -> list[str]:
    return texts(tree(site.page("knowledge", **query)), "#memories .content")


def _first_memory(site: Site) -> tuple[str, str]:
    card = tree(site.page("knowledge")).css_first("#memories > li")
    return f"memory:{card.attributes['id']}", " ".join(card.css_first(".content").text().split())


def test_a_memory_can_be_hidden_and_restored(site: Site, session: str) -> None:
    ref, content = _first_memory(site)
    done = site.post("knowledge/hide", ref=ref)
    assert done.status_code == 303
    banner = tree(site.client.get(done.headers["location"]).text)
    assert "Hidden" in banner.css_first(".banner").text()
    assert "/knowledge/restore" in (banner.css_first(".banner form").attributes["action"] or "")
    assert content not in _memories(site)
    assert _memories(site, type="hidden") == [content]
    site.post("knowledge/restore", ref=ref)
    assert content in _memories(site)


def test_a_memory_can_be_edited_and_the_edit_undone(site: Site, session: str) -> None:
    ref, content = _first_memory(site)
    done = site.post("knowledge/edit", ref=ref, content="We keep sessions in PostgreSQL for good.")
    assert "We keep sessions in PostgreSQL for good." in _memories(site)
    assert content not in _memories(site)
    undo = tree(site.client.get(done.headers["location"]).text).css_first(".banner form")
    fields = {node.attributes["name"]: node.attributes["value"] for node in undo.css("input")}
    fields.pop("token")
    assert site.post("knowledge/unedit", **fields).status_code == 303
    assert content in _memories(site)
    assert "We keep sessions in PostgreSQL for good." not in _memories(site)
    assert site.post("knowledge/edit", ref=ref, content=" ").status_code == 400


def test_memories_can_be_merged_and_superseded(site: Site, session: str) -> None:
    with site.memory() as memory:
        first, second, third = memory.consolidation.memories()[:3]
    assert site.post("knowledge/merge", ref=first.ref, other=second.ref).status_code == 303
    with site.memory() as memory:
        assert first.ref not in [entry.ref for entry in memory.consolidation.memories()]
        merged = memory.consolidation.get(second.ref)
    assert set(first.derived_from) <= set(merged.derived_from)
    site.post("knowledge/supersede", ref=third.ref, other=second.ref)
    assert "superseded by" in site.page("knowledge")
    site.post("knowledge/unsupersede", ref=third.ref)
    with site.memory() as memory:
        assert memory.consolidation.get(third.ref).superseded_by == ""
        memory.consolidation.consolidate(since="2000-01-01")
        assert first.ref not in [entry.ref for entry in memory.consolidation.memories()]
    assert site.post("knowledge/merge", ref=second.ref, other=second.ref).status_code == 400


def test_a_memory_can_be_pinned(site: Site, session: str) -> None:
    ref, _ = _first_memory(site)
    site.post("knowledge/pin", ref=ref)
    assert tree(site.page("knowledge")).css(".chip.good")
    site.post("knowledge/unpin", ref=ref)
    assert not tree(site.page("knowledge")).css(".chip.good")


def test_the_ledger_replays_what_was_sent(site: Site, session: str) -> None:
    with site.memory() as memory:
        memory.ledger.record_answer("kinen_recall", "claude", "- sent <b>text</b>", ["note:a.md"])
        sent = memory.ledger.injections()[0][0]
    page = tree(site.page("sent"))
    assert "kinen_recall" in page.css_first("tbody").text()
    assert "1" in texts(page, "tbody .number")
    replay = tree(site.page("injection", id=sent.id))
    assert replay.css_first("pre").text() == "- sent <b>text</b>"
    assert "note:a.md" in replay.css_first("aside").text()
    with site.memory() as memory:
        memory.journal.open_capsule("paint", scope={"session": "s9", "agent": "claude"})
        for text in ("first", "second"):
            memory.ledger.record_answer("kinen_recall", "claude", text, [])
        last = memory.ledger.injections()[0][0]
    replay = tree(site.page("injection", id=last.id))
    for text, label, links in (("second", "earlier", 1), ("first", "later", 1), ("second", "", 1)):
        assert replay.css_first("pre").text() == text
        steps = {node.text(): node.attributes["href"] for node in replay.css(".about a")}
        assert len(steps.keys() & {"earlier", "later"}) == links
        replay = tree(site.client.get(steps[label] or "").text) if label else replay


def test_the_budget_adds_up(site: Site, session: str) -> None:
    page = tree(site.page("told", q="redis sessions postgres", budget="150"))
    heading = " ".join(texts(page, "h2"))
    tokens = int(re.findall(r"([\d,]+) of 150 tokens", heading)[0].replace(",", ""))
    legend = texts(page, "section:nth-of-type(2) .legend li")
    assert sum(int(item.split()[-1].replace(",", "")) for item in legend) == tokens
    assert "over budget" in page.css_first("table").text()
    assert site.get("told", budget="many").status_code == 400


def test_health_has_the_checks_of_doctor(site: Site, session: str) -> None:
    page = tree(site.page("health"))
    subjects = texts(page, "tbody th")
    assert {"journal", "index", "model", "claude"} <= set(subjects)
    assert site.post("health/sync").status_code == 303


def test_today_has_a_bar_for_each_session_and_what_came_of_the_days(
    site: Site, session: str
) -> None:
    page = tree(site.page("today"))
    bars = [node.attributes["aria-label"] or "" for node in page.css(".lanes a:has(.bar)")]
    assert [bar for bar in bars if bar.startswith("fix the blank labels") and "1 edit" in bar]
    assert len(page.css(".lanes circle.commit")) == 2
    assert "fix the blank labels" in texts(page, ".rows h3 a")
    assert "1 session" in texts(page, ".stats li")
    tiles = [node.attributes["aria-label"] or "" for node in page.css(".map a")]
    assert tiles == ["labels/render.py: 1 edit in 1 session"]
    told = page.css(".panel")[2].text()
    assert "tokens" in told
    assert "No session in these days." in site.page("today", days="1", until="2001-01-01")
    assert site.get("today", until="soon").status_code == 400


def test_a_long_time_is_counted_by_day_and_agent(site: Site, session: str) -> None:
    page = tree(site.page("today", days="90"))
    labels = [node.attributes["aria-label"] or "" for node in page.css("svg.heat a")]
    assert [label for label in labels if "claude: 3" in label]
    assert [label for label in labels if "commits: 2" in label]


def test_a_space_without_sessions_says_what_to_do_next(project: Project) -> None:
    shutil.rmtree(project.root / "sessions")
    with served(project) as site:
        page = site.page("today")
    for command in ("kinen install", "kinen import transcripts", "kinen index"):
        assert f"<code>{command}</code>" in page


@pytest.mark.parametrize("page", ["timeline", "memories", "files", "budget", "ledger"])
def test_addresses_of_earlier_versions_lead_on(site: Site, page: str) -> None:
    answer = site.get(page, days="7")
    assert answer.status_code == 308
    assert answer.headers["location"].endswith("?days=7")
    assert site.client.get(answer.headers["location"]).status_code == 200


def test_every_page_has_the_search_box_and_five_words(site: Site) -> None:
    page = tree(site.page("health"))
    assert texts(page, "nav a") == ["Today", "Sessions", "Knowledge", "Code", "Told"]
    keys = page.css_first(".find input[name=q]").attributes["aria-keyshortcuts"] or ""
    assert keys.split() == ["/", "Control+K", "Meta+K"]
    assert (page.css_first("a.health").attributes["href"] or "").endswith("/health")


def test_pages_say_how_far_an_index_or_an_import_is(site: Site) -> None:
    assert not tree(site.page("today")).css("#working")
    with site.memory() as memory:
        folder = memory.core.folder
    for name, phase, words in (
        ("sync.lock", "embed", "making vectors, 54 %"),
        ("import", "import", "importing sessions, 54"),
    ):
        with announced(os.path.join(folder, name)) as progress:
            progress(phase, 54, 100 if phase == "embed" else 0)
            page = tree(site.page("today"))
            assert page.css_first("#working b").text().lower() == words
            assert words in (page.css_first("a.health").attributes["title"] or "")
            assert site.get("health/data").json() == {"level": "busy", "text": words}
    assert site.get("health/data").json()["level"] == "good"


def test_pages_do_not_wait_for_the_first_index(project: Project) -> None:
    shutil.rmtree(project.root / "sessions")
    with project_memory(project) as memory:
        lock = memory.core.file("sync.lock")
    os.makedirs(os.path.dirname(lock), exist_ok=True)
    with sync_lock(lock, 0) as progress, served(project) as site:
        progress("read", 54, 100)
        page = site.page("today")
        assert "Nothing is recorded here yet" in page
        assert "kinen index" not in page, "it runs"
        for name, fields in (("search", {"q": "redis"}), ("errors", {}), ("graph", {})):
            page = site.page(name, **fields)
            assert "One moment" not in page, name
            assert "reading, 54 %" in page


def test_the_tree_of_files_counts_edits_by_folder(site: Site, session: str) -> None:
    page = tree(site.page("code"))
    assert "labels/render.py" in page.css_first(".map").html
    assert page.css(".heat a"), "edits by folder and time"
    assert "notes/" in texts(page, ".rows a")
    inside = texts(tree(site.page("code", folder="notes")), ".rows a")
    assert "oncall.md" in inside
    assert "labels/" not in inside


def test_another_memory_is_chosen_from_the_list(site: Site, session: str) -> None:
    ref, content = _first_memory(site)
    for action in ("merge", "supersede"):
        page = tree(site.page("knowledge", choose=action, ref=ref))
        assert content in page.css_first(".banner").text()
        forms = page.css("#memories form")
        assert len(forms) == len(page.css("#memories > li")) == len(_memories(site)) - 1
        assert all((form.attributes["action"] or "").endswith(f"/{action}") for form in forms)


def test_a_file_has_its_history_and_companions(site: Site) -> None:
    assert "oncall.md" in site.page("code", folder="notes")
    page = tree(site.page("file", path="notes/oncall.md"))
    assert "docs(oncall): more" in page.css_first("main").text()
    assert "notes/onboarding.md" in page.css_first("table").text()
    assert site.get("file", path="no/such/file").status_code == 404
    assert site.get("file", path="../../etc/passwd").status_code == 400


def test_a_session_begins_with_its_outcome_and_has_a_strip_of_its_steps(
    site: Site, session: str
) -> None:
    page = tree(site.page("session", id=session))
    assert [node.attributes["class"] for node in page.css(".strip rect")] == [
        "prompt",
        "command unknown",
        "edit",
    ]
    anchors = {node.attributes["href"] for node in page.css(".strip a")}
    assert anchors == {f"#{node.attributes['id']}" for node in page.css(".steps > li")}
    assert "labels/render.py" in page.css_first("aside").text()
    assert "templates are read as" in page.css_first("#handoff").text()


def test_a_session_is_shared_as_one_page(site: Site, session: str) -> None:
    link = tree(site.page("session", id=session)).css_first("a[download]")
    shared = site.client.get(link.attributes["href"] or "")
    assert shared.status_code == 200
    document = tree(shared.text)
    assert texts(document, "[data-session] h1") == ["fix the blank labels"]
    assert "default-src" in shared.text
    assert site.client.get("/web/s/parcelry/session/data?id=20").status_code in (400, 404)


def test_a_session_is_erased_after_a_preview(site: Site, session: str) -> None:
    preview = tree(site.page("erase", ref=f"capsule:{session}"))
    assert "3 events" in texts(preview, "main li")
    assert "cannot be undone" in preview.css_first("main").text()
    assert "1 failed" in site.page("session", id=session, only="all")
    assert site.post("erase/forget", token="wrong", ref=f"capsule:{session}").status_code == 403
    done = site.post("erase/forget", ref=f"capsule:{session}")
    assert done.status_code == 303
    assert "Erased" in tree(site.client.get(done.headers["location"]).text).css_first("main").text()
    assert "fix the blank labels" not in site.page("sessions")
    assert "1 failed" not in site.page("search", q="byte order mark")
    assert site.get("erase", ref="observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX").status_code == 404


def test_a_file_is_only_hidden_and_comes_back(site: Site) -> None:
    assert "you can show it again" in site.page("erase", ref="note:notes/oncall.md")
    done = site.post("erase/forget", ref="note:notes/oncall.md")
    banner = tree(site.client.get(done.headers["location"]).text).css_first(".banner form")
    shown = 'data-ref="note:notes/oncall.md"'
    assert shown not in site.page("search", q="oncall")
    fields = {node.attributes["name"]: node.attributes["value"] for node in banner.css("input")}
    token = fields.pop("token")
    assert site.post("erase/restore", token=token, **fields).status_code == 303
    assert shown in site.page("search", q="oncall")


def test_what_does_not_fit_can_be_sent_instead(site: Site, session: str) -> None:
    page = tree(site.page("told", start="60"))
    forms = page.css("form[action$='told/pin']")
    assert forms, "with so few tokens something does not fit"
    ref = forms[0].css_first("input[name=ref]").attributes["value"] or ""
    assert site.post("told/pin", ref=ref).status_code == 303
    with site.memory() as memory:
        assert ref in [pin.target for pin in memory.journal.entries("pins")[0]]
    assert tree(site.page("told", start="60")).css("form[action$='told/unpin']")


def test_code_lists_what_agents_edited_and_why_a_line_is_there(site: Site, session: str) -> None:
    assert "labels/render.py" in texts(tree(site.page("code")), ".rows .line")
    page = tree(site.page("file", path="notes/oncall.md", lines="1"))
    links = [node.attributes["href"] or "" for node in page.css("td.number a")]
    assert links
    reason = tree(site.client.get(links[0]).text)
    assert reason.css("main .cards li")
    assert site.get("why", target="notes/oncall.md:99999").status_code == 400


def test_the_week_and_errors_that_came_back(site: Site, session: str) -> None:
    assert "fix the blank labels" in texts(tree(site.page("week")), ".cards h3")
    with site.memory() as memory:
        for number in range(3):
            scope = {"session": f"e{number}", "agent": "claude"}
            text = "$ make labels\nValueError: no template for 'parcel'"
            memory.observe(text, kind="command", scope=scope, provenance={"exitCode": 1})
    page = tree(site.page("errors", q="ValueError: no template for 'parcel'"))
    assert "3 sessions" in page.css_first("main").text()
    assert site.get("errors", q="x").status_code == 200
