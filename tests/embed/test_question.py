"""The vector of a question without onnxruntime beside onnxruntime's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinen import Memory
from kinen.embed.onnx import MODELS, SHIPPED, OnnxEmbedder
from kinen.embed.question import QuestionModel

TEXTS = json.loads((Path(__file__).parents[2] / "benchmarks/languages_texts.json").read_text())
NOTES = [note for texts in TEXTS.values() for note in texts["notes"].values()]
QUESTIONS = [
    "why did the test fail",
    "how do I publish a site",
    "redis",
    "token refresh failed in auth.py line 42",
    "Warum schlägt der Test fehl?",
    "¿Por qué falla la prueba?",
    "почему тест не прошел",
    "なぜテストが失敗したのか",
    "为什么测试失败",
    "왜 테스트가 실패했나요",
    "لماذا فشل الاختبار",
]


@pytest.fixture(scope="module", params=MODELS)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    """Vectors of the questions by both ways, and of notes in many languages."""
    embedder = OnnxEmbedder(model=request.param, light=True)
    alone = np.vstack([embedder.embed([text], query=True) for text in QUESTIONS])
    return alone, embedder.embed(QUESTIONS), embedder.embed(NOTES)


def test_vectors_are_those_of_onnxruntime(both: tuple[Any, Any, Any]) -> None:
    alone, whole, _ = both
    cosines = (alone * whole).sum(axis=1)
    # A fraction in the middle of two steps may be rounded to the other one: rarely, and it shows.
    assert np.median(cosines) > 0.9999
    assert cosines.min() > 0.997
    assert np.allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-6)


def test_notes_are_ranked_as_by_onnxruntime(both: tuple[Any, Any, Any]) -> None:
    alone, whole, notes = both
    for ours, theirs in zip(alone @ notes.T, whole @ notes.T, strict=True):
        best = np.argsort(-theirs)[:10]
        # Notes whose scores are as good as equal may change places.
        assert np.all(np.diff(ours[best]) < 0.01)
        assert set(np.argsort(-ours)[:5]) <= set(best)
        assert np.abs(ours - theirs).max() < 0.02


def test_the_same_question_has_the_same_vector() -> None:
    path = Path(SHIPPED, "english", MODELS["english"].file)
    ids = [101, 2339, 2106, 1996, 3231, 8246, 102]
    first, again = (QuestionModel(str(path)).vector(ids) for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_a_question_without_a_daemon_loads_no_onnxruntime() -> None:
    code = """
import sys
from kinen.embed.onnx import OnnxEmbedder, WarmEmbedder
embedder = WarmEmbedder(OnnxEmbedder(light=True), "/nowhere", "/nowhere")
assert embedder.embed(["why did we drop redis"], query=True).shape == (1, 384)
assert "onnxruntime" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_and_several_texts_take_the_model() -> None:
    for texts in (["word " * 600], ["one", "two"]):
        embedder = OnnxEmbedder(light=True)
        assert embedder.embed(texts, query=True).tobytes() == embedder.embed(texts).tobytes()


@pytest.mark.parametrize("keep", [0, 100, 20_000])
def test_a_damaged_file_is_left_to_onnxruntime(tmp_path: Path, keep: int) -> None:
    embedder = OnnxEmbedder(light=True)
    broken = tmp_path / "model.onnx"
    broken.write_bytes(Path(embedder._model).read_bytes()[:keep])
    embedder._model = str(broken)
    text = ["why did we drop redis"]
    assert embedder.embed(text, query=True).tobytes() == embedder.embed(text).tobytes()


@pytest.mark.parametrize("auto_start", [True, False])
def test_onnxruntime_is_left_out_where_no_daemon_may_run(
    space: Path, monkeypatch: pytest.MonkeyPatch, auto_start: bool
) -> None:
    monkeypatch.setenv("KINEN_DAEMON_AUTO_START", str(auto_start).lower())
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    with Memory.open(space) as memory:
        memory.sync()
        vector = memory.core.embedder.embed(["boiling water"], query=True)
    whole = OnnxEmbedder().embed(["boiling water"])
    assert (vector.tobytes() == whole.tobytes()) == auto_start
    assert vector[0] @ whole[0] > 0.997
