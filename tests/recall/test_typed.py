"""What an agent saved comes first for its question: in search, recall and ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.recall.wording import subject

if TYPE_CHECKING:
    from pathlib import Path

SAVED = {
    "queue": "Postgres",
    "cache": "Valkey",
    "search index": "SQLite",
    "mail": "Postfix",
    "login": "OAuth",
    "logging": "structlog",
    "linter": "ruff",
    "bundler": "esbuild",
    "test runner": "vitest",
    "deploy": "Nomad",
    "backup": "restic",
    "editor": "CodeMirror",
    "router": "wouter",
    "charts": "uPlot",
    "parser": "sitter",
    "migration": "alembic",
    "scheduler": "croner",
    "packages": "pnpm",
    "metrics": "Prometheus",
    "flags": "Unleash",
}
QUESTIONS = (
    "what did we decide about the {thing}",
    "which {thing} do we use",
    "why do we use {name} for the {thing}",
)
NOISE = 20


@pytest.mark.slow
def test_a_saved_memory_comes_first_for_its_question_in_60_cases(space: Path) -> None:
    with Memory.open(space) as memory:
        for thing, name in SAVED.items():
            memory.consolidation.remember(f"The {thing} is {name}", why="it needs no second server")
            for step in range(NOISE):
                memory.observe(
                    f"step {step}: looked at the {thing} again, {name} was named for the {thing};"
                    f" what did we decide about the {thing} is asked in file {step}"
                )
        memory.sync()
        wrong = []
        for thing, name in SAVED.items():
            said = f"The {thing} is {name}"
            for form in QUESTIONS:
                question = form.format(thing=thing, name=name)
                found = {
                    "search": memory.search(question)[0].chunk.text,
                    "recall": memory.recall(question).items[0].text,
                    "ask": memory.answers.ask(question).text.removeprefix("- "),
                }
                wrong += [
                    (where, question) for where, text in found.items() if said not in text[:80]
                ]
        assert wrong == []
        beside = memory.search("which queue is in file 7 do we use")[0].record.kind
        assert beside != "memory", "a memory without a word of the question gets nothing"


@pytest.mark.parametrize(
    ("saved", "question"),
    [
        ("The job queue is Postgres", "which queue do we use for jobs"),
        ("All jobs go into the queue in Postgres", "which queue do we use for a job"),
        ("The retry policy is three tries", "what did we decide about retry policies"),
        ("Die Regel für Branches ist main", "welche Regeln für Branches nehmen wir"),
    ],
)
def test_a_memory_is_found_by_another_form_of_its_words(
    space: Path, saved: str, question: str
) -> None:
    with Memory.open(space) as memory:
        memory.consolidation.remember(saved, why="it needs no second server")
        for step in range(NOISE):
            memory.observe(f"step {step}: {question}, asked of the queue, a job, jobs, policies")
        memory.sync()
        assert saved in memory.search(question)[0].chunk.text
        assert saved in memory.recall(question).items[0].text
        assert saved in memory.answers.ask(question).text.partition("\n")[0]


def test_a_memory_about_a_name_that_begins_the_same_is_no_answer(space: Path) -> None:
    with Memory.open(space) as memory:
        memory.consolidation.remember("The frontend service uses MongoDB as its database")
        memory.observe("The front service uses Postgres as its database.")
        memory.sync()
        question = "which database does the front service use"
        assert "Postgres" in memory.search(question)[0].chunk.text
        assert "Postgres" in memory.recall(question).items[0].text
        assert "Postgres" in memory.answers.ask(question).text.partition("\n")[0]


def test_only_a_question_that_asks_for_a_memory_has_a_subject() -> None:
    assert subject("what did we decide about the queue") == ("queue",)
    assert subject("queue fails at night") == ()
    assert subject("welche Queue verwenden wir") == ("queue",)
    assert subject("¿qué cache usamos?") == ("cache",)
    assert subject("почему мы используем redis") == ("redis",)
    assert subject("what did we decide") == ()
    assert subject("what did we decide about the van") == ("van",)
