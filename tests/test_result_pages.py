"""What a page of results says beside the text of each: order, records, limits, whole messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kinen import Memory, Query
from kinen.mcp.tools import VERB_TOOLS
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Kinen = Callable[..., Ran]

WORDS = "Some more words about kettles, boiling and what else is in a kitchen. " * 30


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = tmp_path / "kitchen"
    parts = [f"## Part {n}\n\nThe kettle {n} boils water for tea.\n{WORDS}" for n in range(12)]
    files = {
        f"{name}.md": f"# {name}\n\nA {name} needs a kettle.\n" for name in ("tea", "cup", "pot")
    }
    files |= {"kettle.md": "# Kettle\n\n" + "\n\n".join(parts), "water.md": "Boils at 100 °C.\n"}
    repository = Repository(root)
    repository.commit("docs: kettles\n\nWater must boil.\n\nAll of it.", files)
    return repository


@pytest.fixture
def kitchen(repository: Repository) -> Path:
    return repository.root


def test_a_record_is_on_a_page_once_and_no_hit_claims_more_than_one_before_it(
    kitchen: Path,
) -> None:
    with Memory.open(kitchen) as memory:
        for question in ("kettle boils water", "kettle", "water for tea", "a pot needs a kettle"):
            hits = memory.search(question)
            refs = [hit.record.ref for hit in hits]
            assert len(refs) == len(set(refs)) > 1, question
            strengths = [hit.strength for hit in hits]
            assert strengths == sorted(strengths, reverse=True), question


def test_a_record_stands_where_its_best_passage_is_whatever_the_limit(kitchen: Path) -> None:
    with Memory.open(kitchen) as memory:
        for question in ("kettle boils water", "kettle", "water for tea", "a pot needs a kettle"):
            passages = memory.search(Query(question, limit=50))
            best = list(dict.fromkeys(hit.record.ref for hit in passages))
            for limit in (1, 2, 5, 50):
                page = memory.search(Query(question, limit=limit, once=True))
                assert [hit.record.ref for hit in page] == best[:limit], (question, limit)


def test_a_text_is_asked_as_the_settings_say(kitchen: Path) -> None:
    (kitchen / ".kinen").mkdir()
    settings = "search:\n  default_limit: 2\n  default_mode: fulltext\n"
    (kitchen / ".kinen" / "config.yml").write_text(settings)
    with Memory.open(kitchen) as memory:
        hits = memory.search("kettle")
    assert len(hits) == 2
    assert hits.mode == "fulltext"


def test_a_negative_limit_is_refused(kitchen: Path, kinen: Kinen) -> None:
    for noun in ("observations", "capsules"):
        done = kinen("list", noun, "--limit", "-3", cwd=kitchen)
        assert done.code == 2
        assert "-3" in done.err
        assert not done.out


def test_the_history_of_a_file_has_whole_messages_oldest_first(
    repository: Repository, kitchen: Path
) -> None:
    repository.commit("fix: tea\n\nIt was cold.", {"tea.md": "# tea\n\nHot.\n"})
    with Memory.open(kitchen) as memory:
        memory.sync(embed=False)
        history = VERB_TOOLS["kinen_get_provenance"].model_validate({"path": "tea.md"})
        text = history.answer(memory).text
    places = [text.index(part) for part in ("docs: kettles", "Water must", "All of", "It was cold")]
    assert places == sorted(places)


def test_symbols_stay_in_outcomes_lists_and_hits(kitchen: Path, kinen: Kinen) -> None:
    answer = "Renamed größe ✓ to 日本語 🚀 in every label of the shop."
    with Memory.open(kitchen) as memory:
        capsule = memory.journal.open_capsule("Rename it", scope={"session": "s", "agent": "x"})
        memory.journal.observe(
            answer, provenance={"role": "assistant"}, capsule=capsule.id, scope={"session": "s"}
        )
        _, summary = memory.journal.close_capsule(capsule.ref)
        assert summary
        assert f"**Outcome**: {answer}" in summary.content
        assert any(answer in hit.chunk.text for hit in memory.search("renamed every label"))
    assert answer in kinen("session", "list", cwd=kitchen).out


@pytest.mark.parametrize(
    ("last", "edited", "outcome"),
    [
        (
            "Committed as `b01e5547`.",
            False,
            "The limiter now waits for its bucket, not for a second.",
        ),
        ("提交 b01e5547。", False, "The limiter now waits for its bucket, not for a second."),
        ("Changed to argon2id.", True, "Changed to argon2id."),
    ],
)
def test_the_outcome_in_a_list_is_the_work_and_no_remark_after_it(
    kitchen: Path, kinen: Kinen, last: str, edited: bool, outcome: str
) -> None:
    turns = (
        ("Fix the limiter", "The limiter now waits for its bucket, not for a second.", True),
        ("commit it", last, edited),
    )
    scope = {"session": "s", "agent": "x"}
    with Memory.open(kitchen) as memory:
        capsule = memory.journal.open_capsule("Fix the limiter", scope=scope)

        def observe(text: str, kind: str = "message", **about: str) -> None:
            memory.journal.observe(
                text, kind=kind, provenance=about, capsule=capsule.id, scope=scope, files=files
            )

        for prompt, answer, edits in turns:
            files: tuple[str, ...] = ()
            observe(prompt, role="user")
            if edits:
                files = ("limiter.py",)
                observe("Tool: Edit\nFile: limiter.py\n-1\n+2", "file_diff", toolName="Edit")
                files = ()
            observe(answer, role="assistant")
        memory.journal.close_capsule(capsule.ref)
    assert f"→ {outcome[:40]}" in kinen("session", "list", cwd=kitchen).out


def test_a_changed_file_is_found_by_the_next_search(kitchen: Path, kinen: Kinen) -> None:
    def search(words: str) -> str:
        return kinen("search", words, cwd=kitchen).out

    assert "tea.md" in search("tea")
    with (kitchen / "tea.md").open("a") as file:
        file.write("\nThe zeppelin is full of helium.\n")
    assert "tea.md" in search("zeppelin helium")
    (kitchen / "cup.md").unlink()
    assert "cup.md" not in search("a cup needs a kettle")
