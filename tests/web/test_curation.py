"""What the pages of files, memories, sessions and health offer besides lists."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import stat
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from kinen.cli import doctor
from kinen.consolidation.fold import rivals
from kinen.journal import memories as learn
from kinen.memory import Memory, checks
from kinen.model.journal import Learned
from kinen.model.kinds import MEMORY_TYPES
from kinen.text import now
from kinen.web.health import FIXES
from web.demo import LABELS, fill

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from web.conftest import Site


def tree(text: str) -> LexborHTMLParser:
    return LexborHTMLParser(text)


def memory_of(content: str, at: int, type_: str = "decision") -> Learned:
    return Learned(content.lower().replace(" ", "-"), type_, content, 0.9, at)


def test_rivals_are_duplicates_and_contradictions() -> None:
    old = memory_of("Cache tokens in Redis", 1)
    opposite = memory_of("Do not cache tokens in Redis", 2)
    same = memory_of("Retry webhooks for 24 hours", 3)
    again = memory_of("Retry webhooks for 24 hours always", 4)
    other = memory_of("The kettle is blue", 5)
    pairs = rivals([other, again, same, opposite, old])
    assert [(pair.older, pair.newer, pair.contradict) for pair in pairs] == [
        (old, opposite, True),
        (same, again, False),
    ]
    assert rivals([old._replace(superseded_by=opposite.id), opposite]) == []


def test_a_contradiction_is_decided_side_by_side(site: Site) -> None:
    with site.memory() as memory:
        memory.observe("x")
        pair = [memory_of("Cache tokens in Redis", 1), memory_of("Do not cache tokens in Redis", 2)]
        learn.learn(memory.core.store.db, pair)
    page = tree(site.page("knowledge"))
    forms = page.css("#rivals form")
    assert [form.attributes["action"].rpartition("/")[2] for form in forms] == ["supersede", "hide"]
    fields = {node.attributes["name"]: node.attributes["value"] for node in forms[0].css("input")}
    site.post("knowledge/supersede", ref=fields["ref"], other=fields["other"])
    with site.memory() as memory:
        assert memory.consolidation.get(pair[0].ref).superseded_by == pair[1].id
    assert not tree(site.page("knowledge")).css("#rivals")


def test_knowledge_shows_memories_of_every_type(site: Site) -> None:
    with site.memory() as memory:
        memory.observe("x")
        all_types = [memory_of(f"The {name} holds", 1, name) for name in MEMORY_TYPES]
        learn.learn(memory.core.store.db, all_types)
    types = [node.text() for node in tree(site.page("knowledge")).css(".rows .when small")]
    assert sorted(types) == sorted(MEMORY_TYPES)


def test_what_would_be_drawn_next(site: Site) -> None:
    page = tree(site.page("knowledge", next="1"))
    items = page.css("#next li")
    assert items
    with site.memory() as memory:
        assert memory.consolidation.memories() == [], "looking draws nothing"
    assert site.post("knowledge/consolidate").status_code == 303
    with site.memory() as memory:
        assert len(memory.consolidation.memories()) == len(items)


def test_a_file_says_who_changed_it_and_why(site: Site) -> None:
    fill(site.project)
    page = tree(site.page("file", path="labels/render.py"))
    history = page.css_first("ol.cards")
    commits = history.css("li")
    assert len(commits) == 3
    text = " ".join(history.text().split())
    assert "Monday's batch came out blank" in text, "the reason in the message"
    assert "#printing" in page.css_first("main h2").text(), "a tag of most commits, once"
    aside = page.css_first("aside").text()
    assert LABELS in aside
    assert "claude" in aside
    ref = commits[0].css_first("p:nth-of-type(2) a:last-child").attributes["href"] or ""
    opened = site.client.get(ref).text
    assert tree(opened).css_first("ol.cards pre") is not None


def test_a_commit_belongs_to_the_session_that_made_the_edit(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = round(now()) + 10  # git has seconds alone, and the last commit is of this one
    with site.memory() as memory:
        scope = {"session": "s1", "agent": "claude"}
        memory.journal.open_capsule("say who is on call", scope=scope)
        edited = {"files": ["notes/oncall.md"], "at": soon * 1000}
        memory.observe("edit", kind="file_diff", scope=scope, **edited)
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, f"@{soon + 10} +0000")
    note = site.project.root / "notes" / "oncall.md"
    note.write_text(note.read_text() + "\nAda is on call.\n")
    site.project.commit("docs(oncall): who\n\nNobody knew.")
    with site.memory() as memory:
        memory.sync()
    newest = tree(site.page("file", path="notes/oncall.md")).css_first("ol.cards li").text()
    assert "say who is on call" in newest
    assert "claude" in newest
    assert "Ada" in newest
    assert "Nobody knew." in newest


def test_a_session_says_when_a_failure_was_resolved(site: Site) -> None:
    with site.memory() as memory:
        scope = {"session": "s1", "agent": "claude"}
        capsule = memory.journal.open_capsule("tests", scope=scope)
        failed = {"exitCode": 1}
        memory.observe("$ pytest -q\n1 failed", kind="command", scope=scope, provenance=failed)
        worked = {"exitCode": 0}
        memory.observe("$ pytest -q\n1 passed", kind="command", scope=scope, provenance=worked)
    page = site.page("session", id=capsule.id, only="all")
    assert page.count("worked again at") == 1


def test_links_of_a_record_have_their_sentences(site: Site) -> None:
    page = tree(site.page("record", ref="artifacts/adr-007-session-store.md"))
    assert "Result" in page.css_first("aside").text()


def test_the_editor_is_started_only_if_it_has_a_window(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    program = tmp_path / "code"
    program.write_text(f'#!/bin/sh\necho "$@" > {opened}.tmp && mv {opened}.tmp {opened}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", "vi")
    assert "Open in editor" not in site.page("record", ref="notes/oncall.md")
    assert site.post("record/open", ref="notes/oncall.md").status_code == 400
    monkeypatch.setenv("VISUAL", str(program))
    assert "Open in editor" in site.page("record", ref="notes/oncall.md")
    assert site.post("record/open", ref="notes/oncall.md").status_code == 303
    while not opened.exists():
        os.sched_yield()
    assert opened.read_text().strip() == str(site.project.root / "notes" / "oncall.md")


def test_health_has_the_buttons_of_doctor(site: Site, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    (gone / ".kinen").mkdir(parents=True)
    with Memory.open(gone) as memory:
        memory.core.register()
    shutil.rmtree(gone)
    page = tree(site.page("health"))
    actions = {form.attributes["action"].rpartition("/")[2] for form in page.css("main form")}
    assert actions == {"sync", "rebuild", "collect", "remove"}
    fields = page.css_first("form[action$=remove]").css("input")
    name = {node.attributes["name"]: node.attributes["value"] for node in fields}["name"]
    for action in ("sync", "rebuild", "collect", "remove"):
        assert site.post(f"health/{action}", token="wrong", name=name).status_code == 403
        assert site.post(f"health/{action}", name=name).status_code == 303
    assert not tree(site.page("health")).css("form[action$=remove]")
    assert site.post("health/remove", name="parcelry").status_code == 404, "its folder is there"
    assert site.post("health/restart").status_code == 404, "this server cannot"
    fixes = re.findall(r'"(kinen [^"]+)"', inspect.getsource(checks) + inspect.getsource(doctor))
    by_hand = {"kinen trust", "kinen index status", "kinen daemon status", "kinen daemon"}
    by_hand |= {"kinen sync, after what the error names", "kinen hook "}
    assert {*FIXES, checks.REMOVE} == set(fixes) - by_hand, "each is what a check suggests"


@pytest.mark.parametrize("page", ["search", "today", "sessions", "knowledge"])
def test_all_spaces_at_once(site: Site, page: str, tmp_path: Path) -> None:
    fill(site.project)
    other = tmp_path / "second"
    (other / ".kinen").mkdir(parents=True)
    (other / "tea.md").write_text("# Tea\n\nredis is not a tea.\n")
    with Memory.open(other) as memory:
        memory.observe("brewed", scope={"agent": "claude", "session": "t"})
        memory.sync()
    answer: httpx.Response = site.client.get(f"/web/s/all/{page}", params={"q": "redis"})
    assert answer.status_code == 200, answer.text
    document = tree(answer.text)
    assert "parcelry" in document.css_first("main").text()
    links = [
        node.attributes["href"] or "" for node in document.css("main li a, main h2 a, main h3 a")
    ]
    assert [link for link in links if link.startswith("/web/s/parcelry/")]
    for link in links[:5]:
        assert site.client.get(link).status_code == 200
