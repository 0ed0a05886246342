from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.text.statements import LONGEST, has_substance, is_step, statements


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("user", "We decided to store sessions in PostgreSQL.", "decision"),
        ("user", "Regel: keine Commits direkt auf den Release-Zweig.", "pattern"),
        ("assistant", "**Решено:** сеансы хранятся в PostgreSQL.", "decision"),
        ("assistant", "## 教训\n\n模板文件开头有一个字节顺序标记。", "lesson"),
        (
            "assistant",
            "Es stellte sich heraus, dass zwei Arbeiter dieselbe Zeile nahmen.",
            "lesson",
        ),
        ("assistant", "修好了。原来两个进程取了同一行数据。", "lesson"),
        (
            "assistant",
            "The root cause was a byte order mark in the label template file.",
            "lesson",
        ),
        (
            "assistant",
            "SQLite does not support modifying a column with ALTER TABLE statements.",
            "lesson",
        ),
    ],
)
def test_what_a_message_states_has_its_kind(role: str, text: str, kind: str) -> None:
    assert [item.kind for item in statements(role, text)] == [kind]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Let me check the root cause of the failing migration test.",
        "The two new screens do not exist yet in the application.",
        "Even if somebody reads the key, they need to have deliberately saved the wrapped one.",
        "Maybe the root cause was a byte order mark in the template.",
        "Was the root cause a byte order mark in the template?",
        "> The root cause was a byte order mark in the template file.",
        "```\nthe root cause was a byte order mark in the template file\n```",
        "Done.",
    ],
)
def test_steps_guesses_questions_and_quotations_state_nothing(text: str) -> None:
    assert list(statements("assistant", text)) == []


def test_the_code_in_a_claim_does_not_make_it_a_guess() -> None:
    text = "The root cause was `maybe_retry()` swallowing the connection error."
    assert [item.kind for item in statements("assistant", text)] == ["lesson"]


def test_a_pasted_text_states_nothing() -> None:
    text = "We decided to store sessions in PostgreSQL. " * (LONGEST["user"] // 40)
    assert list(statements("user", text)) == []


@pytest.mark.parametrize("text", ["Let me run it.", "Now add the test:", "Done!", "Okay, I'll fix"])
def test_steps_have_no_substance(text: str) -> None:
    assert is_step(text)
    assert not has_substance(text)


def test_a_result_has_substance() -> None:
    assert has_substance("Let me check. The migration fails on an empty table.")


@given(st.sampled_from(["user", "assistant"]), st.text(max_size=400))
def test_any_message_gives_bounded_statements(role: str, text: str) -> None:
    for item in statements(role, text):  # type: ignore[arg-type]
        assert 0 < len(item.text) <= 500


def test_an_intention_or_a_sentence_that_points_back_is_no_lesson() -> None:
    intended = "If it fails locally because of the proxy, I’ll fix it in the client path."
    pointing = "That prompt was caused by a host-key mismatch in the test server."
    plain = "The prompt was caused by a host-key mismatch in the test server."
    needed = "I still need to remove the old panel from the page before it compiles."
    assert list(statements("assistant", intended)) == []
    assert list(statements("assistant", needed)) == []
    assert list(statements("assistant", pointing)) == []
    assert [claim.kind for claim in statements("assistant", plain)] == ["lesson"]


def test_what_a_user_wants_done_once_is_no_decision() -> None:
    task = (
        "Get the latest docs and update the guide, so that we'll use the practices of the router."
    )
    assert list(statements("user", task)) == []
