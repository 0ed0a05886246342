"""A search answers in the language of the question, and has no answer where there is none."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kinen import Memory, Query
from kinen.recall.floor import (
    CLOSE,
    FAIR,
    LITTLE_KNOWN,
    NOTHING_CLOSE,
    OTHER_LANGUAGE,
    STRONG,
    UNKNOWN_SCRIPT,
    is_scripted,
)
from kinen.recall.wording import informative
from kinen.text import identifier_parts, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = json.loads(
    (Path(__file__).parent.parent / "benchmarks" / "languages_texts.json").read_text()
)


ENGLISH = (
    (1, "when do I have to request vacation"),
    (2, "how long are database backups kept"),
    (4, "why did the printer print empty labels"),
    (7, "how long do we archive invoices"),
)
"""Questions, and which note of each language they are about."""


EXACT = {
    "German": "probeweise zurückgespielt",
    "Spanish": "copias conservan",
    "Russian": "базы данных",
    "Chinese": "凌晨两点",
    "Japanese": "毎月一度",
    "French": "sauvegardes gardées",
    "Portuguese": "cópias guardadas",
    "Korean": "복원을 시험한다",
    "Arabic": "قاعدة البيانات",
}
"""Words that the third note of each language has, and the sixth does not."""


class Notes(NamedTuple):
    """Notes of a language, and questions about them and about other things."""

    top: Path
    on: list[tuple[str, str]]
    """Each note's path, and a question about it."""
    off: list[str]

    @contextlib.contextmanager
    def memory(self, settings: dict[str, str] | None = None) -> Iterator[Memory]:
        """The space, indexed with an embedding model of its own."""
        home = self.top / "-".join((settings or {"by": "default"}).values())
        with Memory.open(self.top / "space", home=home, settings=settings or {}) as memory:
            memory.sync()
            yield memory


@pytest.fixture(scope="module", params=TEXTS)
def notes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """The notes of a language, in a space."""
    texts = TEXTS[request.param]
    top = tmp_path_factory.mktemp("language")
    (top / "space" / ".kinen").mkdir(parents=True)
    for name, text in texts["notes"].items():
        (top / "space" / f"{name}.md").write_text(text)
    paths = [f"{name}.md" for name in texts["notes"]]
    return Notes(top, list(zip(paths, texts["on"], strict=True)), texts["off"])


def found(memory: Memory, question: str) -> list[str | None]:
    return [hit.record.path for hit in memory.search(question)]


def test_questions_find_their_note_and_others_find_nothing(notes: Notes) -> None:
    with notes.memory() as memory:
        assert memory.core.embedder is not None
        assert memory.core.embedder.name.startswith("kinen-multilingual")
        right = [path in found(memory, question) for path, question in notes.on]
        assert sum(right) >= 7
        results = [memory.search(question) for question in notes.off]
        assert sum(map(bool, results)) <= 1
        for hits in results:
            assert hits or any(note.startswith(NOTHING_CLOSE) for note in hits.notes)
        assert sum(bool(memory.recall(Query(question)).items) for question in notes.off) <= 1
        english = [found(memory, question)[0] == notes.on[n][0] for n, question in ENGLISH]
        assert sum(english) >= 2


def test_the_english_model_says_what_it_does_not_know(notes: Notes) -> None:
    with notes.memory({"index.embedding_model": "english"}) as memory:
        results = [memory.search(question) for question in notes.off]
    assert sum(map(bool, results)) <= 1
    remark = UNKNOWN_SCRIPT if is_scripted(notes.on[1][1]) else LITTLE_KNOWN
    said = [note for hits in results for note in hits.notes]
    assert OTHER_LANGUAGE in said
    assert any(note.endswith(remark) for note in said), "the search says why"


def test_words_that_every_question_has_are_no_hit_without_vectors(notes: Notes) -> None:
    with notes.memory({"index.embedding_provider": "none"}) as memory:
        for path, question in notes.on:
            assert path in found(memory, question)
            assert memory.recall(question).items
        assert sum(bool(memory.search(question)) for question in notes.off) <= 1
        assert sum(bool(memory.recall(question).items) for question in notes.off) <= 1


@pytest.mark.parametrize("mode", ["hybrid", "fulltext"])
@pytest.mark.parametrize("language", EXACT)
def test_exact_words_in_a_space_of_two_notes_are_strong(
    language: str, mode: str, tmp_path: Path
) -> None:
    paths = [*TEXTS[language]["notes"]]
    (tmp_path / "space" / ".kinen").mkdir(parents=True)
    for name in (paths[2], paths[5]):
        (tmp_path / "space" / f"{name}.md").write_text(TEXTS[language]["notes"][name])
    with Memory.open(tmp_path / "space", home=tmp_path / "home") as memory:
        memory.sync()
        assert memory.core.embedder is not None
        assert memory.core.embedder.name.startswith("kinen-multilingual")
        hits = memory.search(Query(EXACT[language], mode=mode, floor=True, once=True))
        assert [hit.record.path for hit in hits][:1] == [f"{paths[2]}.md"]
        assert hits[0].strength >= STRONG
        assert all(hit.strength < FAIR for hit in hits[1:])


def test_a_hit_is_strong_fair_or_weak_in_any_language(notes: Notes) -> None:
    with notes.memory() as memory:
        first = []
        for path, question in notes.on:
            hits = memory.search(Query(question, floor=True, once=True))
            strengths = [hit.strength for hit in hits]
            assert strengths == sorted(strengths, reverse=True)
            assert all(strength >= CLOSE for strength in strengths)
            first += [(hit.strength, hit.record.path == path) for hit in hits[:1]]
        assert sum(strength >= FAIR for strength, _ in first) >= 6
        strong = [right for strength, right in first if strength >= STRONG]
        assert sum(strong) >= len(strong) - 1


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
