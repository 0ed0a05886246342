"""Edits of a memory by several people are versions of one memory, and none is lost."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from team_service import Person, token
from web.conftest import Site, served

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.postgres.connection import Database

DECISION = "Kettle sessions live in Postgres"
HERS = "Kettle sessions live in Postgres 16"
HIS = "Kettle sessions live in Redis"


@pytest.fixture
def people(
    kinen: Any, tmp_path: Path, server: str, database: Database, request: Any
) -> list[Person]:
    """Ada and Bob, who both have Ada's decision."""
    space = request.node.name
    both = [
        Person(kinen, tmp_path, name, server, token(database, name, space), space)
        for name in ("ada", "bob")
    ]
    assert both[0].run("memories", "add", DECISION).code == 0
    sync(*both)
    return both


def sync(*people: Person) -> None:
    for person in (*people, *people):
        done = person.run("sync")
        assert (done.code, done.err) == (0, ""), done.err


def listed(person: Person, *words: str) -> list[dict[str, Any]]:
    return list(json.loads(person.run("memories", "list", *words, "--json").out)["memories"])


def edit(person: Person, text: str) -> str:
    """Give the memory that is shown other words; returns its ref then."""
    ref = listed(person)[0]["ref"]
    return str(json.loads(person.run("memories", "edit", ref, text, "--json").out)["ref"])


def start(person: Person) -> str:
    """What an agent is told that begins now: each session has an id of its own."""
    return person.event("SessionStart", os.urandom(8).hex(), source="startup")


SURFACES = (("handoff",), ("recall", "kettle sessions"), ("search", "kettle sessions"))


def test_the_latest_edit_is_shown_with_who_else_edited_until_they_are_merged(
    people: list[Person],
) -> None:
    ada, bob = people
    hers = edit(ada, HERS)
    edit(bob, "Kettle sessions live in MySQL")
    his = edit(bob, HIS)
    sync(ada, bob)
    for person in people:
        (memory,) = listed(person)
        assert (memory["ref"], memory["content"]) == (his, HIS), memory
        other = {"ref": hers, "by": "ada", "content": HERS}
        assert memory["also"] == [other]
        assert f"also edited by ada: {HERS}" in person.run("memories", "list").out
        for shown in (start(person), *(person.run(*words).out for words in SURFACES)):
            assert HIS in shown, shown
            assert HERS not in shown, shown
            assert "MySQL" not in shown, shown
        for shown in (start(person), person.run("handoff").out):
            assert DECISION not in shown, shown
        for shown in (start(person), *(person.run(*words).out for words in SURFACES[1:])):
            assert "also edited by ada" in shown, shown
    assert ada.run("memories", "merge", his).code == 0
    sync(ada, bob)
    for person in people:
        (memory,) = listed(person)
        assert memory["content"] == HIS
        assert "also" not in memory
        assert "also edited" not in start(person) + person.run("search", "kettle").out
    assert ada.run("memories", "undo").code == 0
    assert "also" in listed(ada)[0]
    # one may also keep the other words
    assert ada.run("memories", "restore", hers).code == 0
    sync(ada, bob)
    assert [memory["content"] for memory in listed(bob)] == [HERS]
    assert "also" not in listed(bob)[0]


def test_what_was_forgotten_while_a_colleague_edited_it_is_a_question(people: list[Person]) -> None:
    ada, bob = people
    assert ada.run("memories", "forget", listed(ada)[0]["ref"]).code == 0
    his = edit(bob, HIS)
    sync(ada, bob)
    for person in people:
        (memory,) = listed(person)
        assert memory["content"] == HIS
        assert memory["question"] == "forgotten by ada while it was edited", memory
        assert f"`kinen memories restore {his}` keeps it" in person.run("memories", "list").out
        assert "forgotten by ada while it was edited" in start(person)
    assert bob.run("memories", "restore", his).code == 0
    sync(bob, ada)
    for person in people:
        assert "question" not in listed(person)[0]
    assert ada.run("memories", "forget", his).code == 0
    sync(ada, bob)
    for person in people:
        assert listed(person) == []
        assert DECISION not in start(person)
        assert person.run("search", "--fulltext", "redis").code == 1
    assert {memory["content"] for memory in listed(bob, "--forgotten")} == {DECISION, HIS}


def test_edits_of_one_person_are_one_memory_and_are_undone_one_by_one(people: list[Person]) -> None:
    ada, _ = people
    edit(ada, HERS)
    edit(ada, DECISION)
    assert [memory["content"] for memory in listed(ada)] == [DECISION]
    edit(ada, "Kettle sessions live nowhere")
    for words in (DECISION, HERS, DECISION):
        assert ada.run("memories", "undo").code == 0
        assert [memory["content"] for memory in listed(ada)] == [words]


def test_a_page_shows_edits_of_two_people_and_settles_them(
    people: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = people
    edit(ada, HERS)
    his = edit(bob, HIS)
    sync(ada, bob)
    for name, value in ada.env.items():
        monkeypatch.setenv(name, value)
    with served(ada) as site:  # type: ignore[arg-type]
        site.space = "shop"
        page = site.page("knowledge")
        row = LexborHTMLParser(page).css_first("#memories li")
        words = " ".join(row.text().split())
        assert HIS in words
        assert f"also edited by ada: {HERS}" in words
        token = Site.token_of(page)
        assert site.post("knowledge/merge", token=token, ref=his).status_code == 303
        page = site.page("knowledge", done="merged", ref=his, undo="restore")
        assert HIS in page
        assert "also edited" not in page
        sync(ada, bob)
        assert "also" not in listed(bob)[0]
        # what a colleague forgot while it was edited is a question
        assert bob.run("memories", "forget", his).code == 0
        edit(ada, HERS)
        sync(ada, bob)
        page = site.page("knowledge")
        assert "forgotten by bob while it was edited" in page
        (kept,) = listed(ada)
        assert site.post("knowledge/restore", token=token, ref=kept["ref"]).status_code == 303
        assert "forgotten by bob" not in site.page("knowledge")
