"""Which texts get their vectors first, and how often a text is embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinen.index import writer
from kinen.index.sync import embed_texts
from kinen.index.writer import Writer
from kinen.memory.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


class Counting:
    """Embeds a text as its length, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[float(len(text)), 1.0] for text in texts])


def test_the_newest_texts_are_embedded_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BLOCK", 2)
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    texts = {
        "2026-03-01": "oldest",
        "2026-03-02": "old",
        "2026-03-04": "new",
        "2026-03-05": "newest",
    }
    for day, text in texts.items():
        (root / f"{text}.md").write_text(f"---\ndate: {day}\n---\n{text} words of the day\n")
    with Memory.open(root, home=tmp_path / "home") as memory:
        memory.sync(embed=False)
        index = Writer(memory.core.file("index.db"))
        order = [body for _, body in index.texts(index.pending(set())).values()]
        index.close()
    assert [body.split()[0] for body in order] == ["newest", "new", "oldest", "old"]


def test_the_same_text_below_other_headings_is_embedded_once() -> None:
    embedder = Counting()
    vectors = embed_texts(embedder, [("A", "same"), ("B", "same"), ("", "other")], {})  # type: ignore[arg-type]
    assert embedder.asked == ["A", "B", "same", "other"]
    assert len(vectors) == 3
    assert vectors[2].tolist() == [5.0, 1.0]
