"""The gold file of benchmarks/sessions.py is well-formed: the benchmark itself needs the data."""

from __future__ import annotations

import json
from pathlib import Path

GOLD = Path(__file__).parent.parent / "benchmarks" / "sessions_gold.json"
FACTS = ("outcome", "decisions", "lessons", "next", "stale", "errors_fixed", "errors_open")
LONGEST = 80
"""Characters of a key: a name, a number, a phrase; never a passage of a transcript."""


def sessions() -> list[dict]:
    return json.loads(GOLD.read_text())["sessions"]


def test_every_fact_and_question_has_keys_and_every_group_an_alternative():
    for session in sessions():
        entries = [entry for kind in (*FACTS, "questions") for entry in session[kind]]
        for entry in entries:
            assert entry["keys"], entry
            assert all(group and all(map(str.strip, group)) for group in entry["keys"]), entry


def test_keys_are_short_strings():
    for session in sessions():
        for kind in (*FACTS, "questions"):
            for entry in session[kind]:
                assert all(len(key) <= LONGEST for group in entry["keys"] for key in group), entry


def test_questions_are_told_apart_and_say_where_the_answer_is():
    questions = [question for session in sessions() for question in session["questions"]]
    assert len(questions) >= 40
    assert len({question["id"] for question in questions}) == len(questions)
    assert len({question["question"] for question in questions}) == len(questions)
    assert all(question["line"] > 0 and question["kind"] for question in questions)


def test_no_question_contains_its_own_answer():
    for session in sessions():
        for question in session["questions"]:
            request = question["question"].casefold()
            groups = question["keys"]
            output = [
                any(key.casefold().rstrip("*") in request for key in group) for group in groups
            ]
            assert not all(output), question


def test_sessions_of_other_repositories_say_where_they_are():
    for session in sessions():
        source = session["source"]
        if source["set"] == "extra":
            assert source["repository"].count("/") == 1
            assert source["ref"].startswith("refs/")
            assert source["path"]
