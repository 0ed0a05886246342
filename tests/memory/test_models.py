"""A space has the model that suits its text, and questions the model of the vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kinen import Memory
from kinen.embed.onnx import OnnxEmbedder
from kinen.memory.federation import search_spaces
from kinen.model.kinds import BUILT_IN

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
TEXTS = json.loads((ROOT / "benchmarks" / "languages_texts.json").read_text())
ENGLISH = (
    "The payment service is deployed every Tuesday by the pipeline.",
    "Vacation is requested two weeks ahead in the staff portal.",
    "The database is saved every night, and backups are kept for a month.",
)


def write(root: Path, notes: dict[str, str]) -> None:
    (root / ".kinen").mkdir(parents=True, exist_ok=True)
    for name, text in notes.items():
        (root / f"{name}.md").write_text(text + "\n")


def english(count: int = 3) -> dict[str, str]:
    return {f"note{n}": f"# Note {n}\n\n{ENGLISH[n % 3]} It is note {n}." for n in range(count)}


def names(memory: Memory) -> tuple[str, str]:
    """The model that answers, and the one for new vectors."""
    answering, following = memory.core.embedder, memory.core.next_embedder
    assert answering is not None
    assert following is not None
    return answering.name, following.name


def test_an_english_space_never_reads_the_multilingual_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    init = OnnxEmbedder.__init__

    def record(self: OnnxEmbedder, path: str = "", **options: object) -> None:
        made.append(str(options.get("model")))
        init(self, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(OnnxEmbedder, "__init__", record)
    write(tmp_path / "space", english())
    with Memory.open(tmp_path / "space", home=tmp_path / "home") as memory:
        memory.sync()
        assert memory.search("when is the payment service deployed")
    assert set(made) == {"english"}


def test_new_notes_in_another_language_change_the_model(tmp_path: Path) -> None:
    root = tmp_path / "space"
    write(root, english())
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync()
        assert names(memory) == ("kinen-minilm-l6-int8",) * 2
        write(root, TEXTS["German"]["notes"])
        hits = memory.search("Wann muss ich meinen Urlaub beantragen?")
        assert hits[0].record.path == "urlaub.md"
        assert names(memory) == ("kinen-multilingual-l6-int8",) * 2
        assert memory.index.status().pending == 0


def test_old_vectors_answer_until_the_new_ones_are_complete(tmp_path: Path) -> None:
    root = tmp_path / "space"
    write(root, english(100))
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync()
        write(root, TEXTS["Russian"]["notes"] | TEXTS["German"]["notes"])
        memory.sync(embed=False)
        strides = iter([False, True])
        done, left = memory.index.embed_new(lambda: next(strides))
        assert done
        assert left
        assert names(memory) == ("kinen-minilm-l6-int8", "kinen-multilingual-l6-int8")
        hits = memory.search("when is the payment service deployed")
        votes = [vote.score for hit in hits for vote in hit.votes if vote.retriever == "semantic"]
        assert max(votes) > 0.5, "the question has the vector of the model that answers"
        assert memory.index.status().pending == left
        memory.index.embed_new(bool)
        assert names(memory) == ("kinen-multilingual-l6-int8",) * 2


def test_the_newest_chunks_are_embedded_first_by_another_model(tmp_path: Path) -> None:
    root = tmp_path / "space"
    old = {name: f"---\ndate: 2020-01-01\n---\n{text}" for name, text in english(300).items()}
    new = {
        name: f"---\ndate: 2026-01-01\n---\n{text}"
        for language in ("Russian", "German", "French", "Spanish", "Korean", "Arabic")
        for name, text in (
            (f"{language}-{key}", note) for key, note in TEXTS[language]["notes"].items()
        )
    }
    write(root, old)
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync()
        write(root, new)
        memory.sync(embed=False)
        strides = iter([False, True])
        memory.index.embed_new(lambda: next(strides))
        cached = memory.core.cache.digests(BUILT_IN["multilingual"])
        for name in new:
            assert cached.issuperset(memory.core.reader.digests(f"file:{name}.md"))


def test_a_setting_overrides_what_the_text_says(tmp_path: Path) -> None:
    write(tmp_path / "space", TEXTS["French"]["notes"])
    settings = {"index.embedding_model": "english"}
    with Memory.open(tmp_path / "space", home=tmp_path / "home", settings=settings) as memory:
        memory.sync()
        assert names(memory) == ("kinen-minilm-l6-int8",) * 2
    settings = {"index.embedding_model": "multilingual"}
    write(tmp_path / "other", english())
    with Memory.open(tmp_path / "other", home=tmp_path / "home", settings=settings) as memory:
        memory.sync()
        assert names(memory) == ("kinen-multilingual-l6-int8",) * 2


def test_a_rebuild_has_the_same_model(tmp_path: Path) -> None:
    write(tmp_path / "space", english(9))
    with Memory.open(tmp_path / "space", home=tmp_path / "home") as memory:
        memory.sync()
        write(tmp_path / "space", {"urlaub": TEXTS["German"]["notes"]["urlaub"]})
        memory.sync()
        before = names(memory)
        memory.sync(rebuild=True)
        assert names(memory) == before


def test_spaces_with_different_models_answer_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "home"))
    for name, notes in (("plain", english()), ("fern", TEXTS["Japanese"]["notes"])):
        write(tmp_path / name, notes)
        (tmp_path / name / ".kinen" / "config.toml").write_text(f'[space]\nname = "{name}"\n')
        with Memory.open(tmp_path / name, home=tmp_path / "home") as memory:
            memory.sync()
    from kinen import Query

    hits = search_spaces(["plain", "fern"], lambda _: Query("how long are database backups kept"))
    assert {(hit.space, hit.record.path) for hit in hits[:2]} == {
        ("plain", "note2.md"),
        ("fern", "backup.md"),
    }
