"""Our cutting of texts beside that of the library whose files the models have."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.embed.onnx import LIMIT, MODELS, OVERLAP, SHIPPED, Library, OnnxEmbedder
from kinen.embed.wordpiece import WordPiece
from kinen.errors import EmbedError
from kinen.ipc import extras

FILES = {name: str(Path(SHIPPED, name, "tokenizer.json")) for name in MODELS}
OURS = {name: WordPiece(file, LIMIT, OVERLAP) for name, file in FILES.items()}
THEIRS = {name: Library(file, LIMIT, OVERLAP) for name, file in FILES.items()}
TEXTS = [
    "",
    " \t\r\n",
    "Überraschung: 日本語のテキスト 🎉 İstanbul ΟΔΟΣ Ελλάδα; fi 한국어 ไทย हिन्दी",
    "def parse(line): return line.split(',')  # $5 ≤ 3^2 `x` ~a|b",
    "[CLS] is [cls], [MASK][UNK] and [SEP",
    "zero\u200bwidth \x00nul \x0bvt \x85nel \xa0space \ufeffmark \ufffd e\u0301 a\u0301\u0327",
    "a㐀b䶿c一d鿿e豈f𠀀g𪛟h𪜀i𫠞j𫠠k𬺯l丽m〆n々o",
    "q" * 100 + " " + "q" * 101,
    "pool.acquire() hangs " * 300,
    "e" * 5000,
]
models = pytest.mark.parametrize("model", MODELS)


def assert_same(model: str, text: str) -> None:
    assert OURS[model].windows(text) == THEIRS[model].windows(text)
    assert list(OURS[model].words(text)) == list(THEIRS[model].words(text))


@models
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_has_the_ids_of_the_library(model: str, text: str) -> None:
    assert_same(model, text)


@models
def test_any_length_has_the_windows_of_the_library(model: str) -> None:
    for words in (*range(LIMIT - 5, LIMIT + 5), *range(2 * LIMIT - OVERLAP - 9, 2 * LIMIT)):
        assert_same(model, "tea " * words)


@models
@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cn", "Cs"])))
def test_any_text_has_the_ids_of_the_library(model: str, text: str) -> None:
    # Of Unicode 3.2: the library's tables are of 2015, Python's are younger.
    old = "".join(one for one in text if unicodedata.ucd_3_2_0.category(one) != "Cn")
    assert_same(model, old)


def test_a_model_of_ones_own_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "installed", lambda _: False)
    embedder = OnnxEmbedder(str(Path(SHIPPED, "english")))
    with pytest.raises(EmbedError, match=r"index\.embedding_path needs .*'kinen\[tokenizers\]'"):
        embedder.embed(["tea"])
