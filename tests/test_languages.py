"""A search answers in the language of the question, and has no answer where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinen import Memory, Query
from kinen.recall.floor import LITTLE_KNOWN, NOTHING_CLOSE, UNKNOWN_SCRIPT, is_scripted
from kinen.recall.typed import informative
from kinen.text import identifier_parts, terms

TEXTS = json.loads(
    (Path(__file__).parent.parent / "benchmarks" / "languages_texts.json").read_text()
)


ENGLISH_QUESTIONS = (
    "when do I have to request vacation",
    "how long are database backups kept",
    "why did the printer print empty labels",
    "how long do we archive invoices",
)
"""About the second, third, fifth and last note of each language."""


@pytest.mark.parametrize("language", TEXTS)
def test_questions_find_their_note_and_others_find_nothing(language: str, tmp_path: Path) -> None:
    texts = TEXTS[language]
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    for name, text in texts["notes"].items():
        (root / f"{name}.md").write_text(text)
    noise = right = 0
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync()
        for question, name in zip(texts["on"], texts["notes"], strict=True):
            right += f"{name}.md" in [hit.record.path for hit in memory.search(question)]
        for question in texts["off"]:
            hits = memory.search(question)
            noise += bool(hits)
            assert hits or any(note.startswith(NOTHING_CLOSE) for note in hits.notes)
        recalled = [bool(memory.recall(Query(question)).items) for question in texts["off"]]
        assert memory.core.embedder is not None
        assert memory.core.embedder.name.startswith("kinen-multilingual")
    assert right >= 7
    assert noise <= 1
    assert sum(recalled) <= 1


@pytest.mark.parametrize("language", TEXTS)
def test_an_english_question_finds_a_note_in_another_language(
    language: str, tmp_path: Path
) -> None:
    texts = TEXTS[language]
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    for name, text in texts["notes"].items():
        (root / f"{name}.md").write_text(text)
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync()
        first = [next(iter(memory.search(question))).record.path for question in ENGLISH_QUESTIONS]
    names = [f"{name}.md" for name in texts["notes"]]
    right = sum(one == names[n] for one, n in zip(first, (1, 2, 4, 7), strict=True))
    assert right >= 2, first


@pytest.mark.parametrize("language", TEXTS)
def test_the_english_model_says_what_it_does_not_know(language: str, tmp_path: Path) -> None:
    texts = TEXTS[language]
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    for name, text in texts["notes"].items():
        (root / f"{name}.md").write_text(text)
    settings = {"index.embedding_model": "english"}
    notes: list[str] = []
    noise = 0
    with Memory.open(root, home=tmp_path / "home", settings=settings) as memory:
        memory.sync()
        for question in texts["off"]:
            hits = memory.search(question)
            noise += bool(hits)
            notes += hits.notes
    scripted = is_scripted(texts["on"][1])
    assert noise <= 1
    remark = UNKNOWN_SCRIPT if scripted else LITTLE_KNOWN
    assert any(note.endswith(remark) for note in notes), "the search says why"


@pytest.mark.parametrize("language", TEXTS)
def test_words_that_every_question_has_are_no_hit_without_vectors(
    language: str, tmp_path: Path
) -> None:
    texts = TEXTS[language]
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    for name, text in texts["notes"].items():
        (root / f"{name}.md").write_text(text)
    settings = {"index.embedding_provider": "none"}
    with Memory.open(root, home=tmp_path / "home", settings=settings) as memory:
        memory.sync()
        for question, name in zip(texts["on"], texts["notes"], strict=True):
            assert f"{name}.md" in [hit.record.path for hit in memory.search(question)]
            assert memory.recall(question).items
        assert sum(bool(memory.search(question)) for question in texts["off"]) <= 1
        assert sum(bool(memory.recall(question).items) for question in texts["off"]) <= 1


@pytest.mark.parametrize(
    ("question", "telling"),
    [
        ("wie wird das Wetter in Wien", ("wetter", "wien")),
        ("recette de soupe de betteraves", ("recette", "soupe", "betteraves")),
        ("¿cómo está la caché?", ("caché",)),
        ("why does the die roll", ("die", "roll")),
        ("wie ist das", ("wie", "ist", "das")),
    ],
)
def test_the_words_that_tell_what_a_question_is_about(
    question: str, telling: tuple[str, ...]
) -> None:
    assert informative(question) == telling


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我们决定每十分钟清空一次缓存。", "缓存多久清空？"),
        ("Redis缓存过期", "redis"),
        ("抹茶", "茶"),
        ("เราล้างแคชทุกสิบนาที", "ล้างแคชเมื่อไร"),
        ("캐시를 십 분마다 비운다", "캐시 비우기"),
        ("Заявление на отпуск подают за две недели.", "отпуска"),
    ],
)
def test_what_a_question_asks_for_is_what_is_indexed(text: str, question: str) -> None:
    indexed = set(identifier_parts(text).split()) | set(text.lower().split())
    assert indexed & set(terms(question))


def test_quoted_words_of_a_script_without_spaces_are_found(space: Path) -> None:
    (space / "cache.md").write_text("# 缓存\n\n我们决定每十分钟清空一次缓存。\n")
    (space / "other.md").write_text("# 备份\n\n数据库每天凌晨两点备份。\n")
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        hits = memory.search('"十分钟清空"')
    assert [hit.record.path for hit in hits] == ["cache.md"]
