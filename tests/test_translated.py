"""A session tells the same in other languages: in the handoff, the next brief and a recall."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
LANGUAGES = (
    *("German", "French", "Spanish", "Portuguese", "Russian"),
    *("Chinese", "Japanese", "Korean", "Arabic"),
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_session_tells_everything_in_any_language(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import translated

    texts = json.loads(translated.TEXTS.read_text())
    chosen = (1, 3)  # labels in bold, and a check list
    deeds = [texts["sessions"][n] for n in chosen]
    found = translated.measured(deeds, [texts[language][n] for n in chosen])
    for surface in translated.SURFACES:
        assert found[surface] == found["all"], surface
    assert found["memories"] == 4
