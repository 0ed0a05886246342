"""The harness for LongMemEval reads its format, and finds what is easy to find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TALKS = {
    "s1": ("Our cat is called Ottoline.", "What a lovely name for a cat!"),
    "s2": ("I bought a cello on Tuesday.", "Enjoy the first lessons with your cello."),
    "s3": ("The train to Gdańsk leaves at 6:40.", "Then set the alarm for five."),
}


def question(id_: str, text: str, answers: list[str]) -> dict[str, object]:
    return {
        "question_id": id_,
        "question_type": "single-session-user",
        "question": text,
        "answer": "",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": list(TALKS),
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 12:00"] * 2,
        "haystack_sessions": [
            [
                {"role": "user", "content": said, "has_answer": name in answers},
                {"role": "assistant", "content": answer},
            ]
            for name, (said, answer) in TALKS.items()
        ],
        "answer_session_ids": answers,
    }


def test_the_session_with_the_answer_is_first_and_its_turn_is_recalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import longmemeval

    rows = [
        question("q1", "When did I buy the cello?", ["s2"]),
        question("q2_abs", "What is my dog called?", []),
        question("q3", "When does the train to Gdańsk leave?", ["s3"]),
    ]
    data = tmp_path / "longmemeval_s.json"
    data.write_text(json.dumps(rows), encoding="utf-8")
    found = longmemeval.measured(longmemeval.read(data, 0), fulltext=True)
    assert found["questions"] == found["turns"] == 2
    assert found["recall"] == 1
    for order in ("FTS5", "search", "sessions"):
        assert found["single-session-user"][order]["nDCG@10"] == 1, order


def test_a_session_that_is_not_found_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import longmemeval

    half = longmemeval.scores([4, 7], {7, 9})
    assert (half["any@5"], half["all@5"], half["all@10"]) == (1, 0, 0)
    assert 0 < half["nDCG@10"] < 1
    assert longmemeval.scores([], {1})["nDCG@10"] == 0
