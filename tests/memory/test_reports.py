"""A report of several sessions does not tell what a newer one says otherwise."""

from __future__ import annotations

from kinen.memory.report import SessionReport, _story
from kinen.memory.reports import _still_true


def session(number: int, outcome: str, *earlier: str) -> SessionReport:
    return SessionReport(
        ref=f"capsule:{number}",
        id=str(number),
        at=f"2026-03-0{number}T10:00:00.000Z",
        agent="",
        open=False,
        intent="",
        outcome=outcome,
        next=(),
        state="",
        earlier=earlier,
        decided=(),
        learned=(),
    )


def test_a_version_that_was_changed_later_is_not_told_of_an_older_session() -> None:
    newer = session(2, "The `go.mod` asks for `go 1.24` now.")
    older = session(1, "The guide is written.", "go.mod: set to `go 1.23`; The toolchain is gone")
    assert [report.earlier for report in _still_true([newer, older])] == [
        (),
        ("The toolchain is gone",),
    ]


def test_a_short_outcome_is_told_with_what_came_before_it() -> None:
    earlier = "All tests ignore the global config of git now."
    text = _story(session(1, "Committed as `2f730b7`.", earlier, "Fixed the order."), 300)
    assert f"→ Committed as `2f730b7`. {earlier}" in text
    assert "Fixed the order" not in text
