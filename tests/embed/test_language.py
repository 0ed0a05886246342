"""The text of a space decides which of the built-in models it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinen.embed import load
from kinen.embed.language import best_model, elsewhere, is_foreign
from kinen.embed.onnx import OnnxEmbedder
from kinen.errors import ConfigError

ROOT = Path(__file__).parents[2]
TEXTS = json.loads((ROOT / "benchmarks" / "languages_texts.json").read_text())
CODE = """
def charge_card(customer_id: str, amount: Decimal) -> Receipt:
    response = gateway.post("/charges", json={"customer": customer_id, "amount": str(amount)})
    return Receipt.from_json(response.json())
"""


@pytest.mark.parametrize("language", TEXTS)
def test_notes_in_another_language_are_noticed(language: str) -> None:
    notes = list(TEXTS[language]["notes"].values())
    assert sum(is_foreign(note) is True for note in notes) >= 7
    assert best_model(notes) == "multilingual"


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "The payment service is deployed every Tuesday; a rollback takes about four minutes.",
        "fix(parser): readers of an erased record no longer hold its lock while it is scrubbed",
        "Ask Mara in Zürich whether the café's Wi-Fi résumé page is behind the VPN.",
    ],
)
def test_english_and_code_are_not_foreign(text: str) -> None:
    assert is_foreign(text) is False


@pytest.mark.parametrize("text", ["", "42", "VPN", "ok", "a1 b2 c3 d4"])
def test_a_text_without_words_says_nothing_of_its_language(text: str) -> None:
    assert is_foreign(text) is None
    assert best_model([text]) == "english"


def test_a_tenth_of_the_texts_in_another_language_is_enough() -> None:
    german = next(iter(TEXTS["German"]["notes"].values()))
    assert best_model([CODE] * 9 + [german]) == "multilingual"
    assert best_model([CODE] * 19 + [german]) == "english"


@pytest.mark.parametrize("language", TEXTS)
def test_texts_are_elsewhere_for_a_question_in_english_alone(language: str) -> None:
    notes = list(TEXTS[language]["notes"].values())
    assert elsewhere("how long does a rollback take", notes) > 0.8
    assert elsewhere("how long does a rollback take", [CODE]) == 0
    assert elsewhere(" ".join(TEXTS[language]["on"]), notes) == 0
    assert elsewhere("", notes) == 0


def test_english_is_cut_into_the_same_pieces_by_both_models() -> None:
    english, multilingual = (OnnxEmbedder(model=name) for name in ("english", "multilingual"))
    text = "The kettle whistles when the water boils"
    ids = [model._tokens().windows(text) for model in (english, multilingual)]
    assert ids[0] == ids[1]


def test_a_model_that_is_not_built_in_is_refused() -> None:
    with pytest.raises(ConfigError, match="no built-in model 'klingon'"):
        load("onnx", model="klingon")
