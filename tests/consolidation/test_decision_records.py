"""Decisions of markdown files: what is accepted and stated, dated by the record itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kinen.consolidation.decisions import from_document, may_decide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORD = """\
# ADR-0007: Sessions in PostgreSQL

- Status: {status}
- Date: 2025-12-08

## Context

Redis loses sessions when it is restarted.

## Decision

We will store sessions in the table `user_sessions`, since one store is less to run. Rows are swept
every ten minutes.

## Consequences

One more table.
"""
REF = "note:docs/adr/0007-sessions.md"


def decisions(text: str, ref: str = REF) -> list[str]:
    return [item.content for item in from_document(ref, text)]


@pytest.mark.parametrize("status", ["Accepted", "accepted", "**Accepted** 2025-12-09", "done"])
def test_an_accepted_record_gives_its_decision_with_title_and_date(status: str) -> None:
    (finding,) = from_document(REF, RECORD.format(status=status))
    assert finding.type == "decision"
    assert finding.at == "2025-12-08T00:00:00.000Z"
    assert finding.content.startswith(
        "Sessions in PostgreSQL: We will store sessions in the table `user_sessions`"
    )


@pytest.mark.parametrize(
    "status", ["proposed", "Superseded by ADR-0009", "Rejected", "draft", "deprecated"]
)
def test_a_record_that_does_not_hold_gives_nothing(status: str) -> None:
    assert decisions(RECORD.format(status=status)) == []
    assert decisions(f"---\nstatus: {status}\n---\n\n" + RECORD.format(status="accepted")) == []
    assert decisions(f"# A\n\n## Status\n\n{status}\n\n## Decision\n\nUse tea for all jobs.") == []


def test_a_chosen_option_is_told_with_its_reason() -> None:
    text = (
        "# Which queue for jobs\n\n## Decision Outcome\n\n"
        'Chosen option: "PostgreSQL", because a second store is one more thing to run.\n'
    )
    assert decisions(text) == [
        "Which queue for jobs: PostgreSQL, because a second store is one more thing to run"
    ]


def test_items_below_decisions_are_decisions_in_any_markdown() -> None:
    text = (
        "# Weekly notes\n\n## Decisions\n\n"
        "- Tokens expire after 15 minutes, not after a day\n- ok\n"
    )
    assert may_decide("notes/week.md", text)
    assert decisions(text, "note:notes/week.md") == [
        "Weekly notes: Tokens expire after 15 minutes, not after a day"
    ]


LISTED = """# Notifications

## Decision

Use one function, `notify/2`, as the only way to create a notification. It must:

{items}
"""


def test_items_that_end_a_sentence_are_nothing_without_its_beginning() -> None:
    items = "1. reject calls in a transaction;\n2. wait for the commit; and\n3. send one message."
    assert decisions(LISTED.format(items=items)) == [
        "Notifications: Use one function, `notify/2`, as the only way to create a notification."
    ]


def test_items_that_are_sentences_are_decisions_beside_their_lead_in() -> None:
    items = (
        "- Calls within an open transaction are rejected.\n- A message is sent after the commit."
    )
    assert decisions(LISTED.format(items=items)) == [
        "Notifications: Use one function, `notify/2`, as the only way to create a notification.",
        "Notifications: Calls within an open transaction are rejected.",
        "Notifications: A message is sent after the commit.",
    ]


def test_a_title_in_bold_is_no_conclusion() -> None:
    text = "# 0005: chunks\n\n**Invitation acceptance.** The callback locks the row of the user.\n"
    assert decisions(text, "note:docs/decisions/0005-chunks.md") == []


def test_a_record_without_the_heading_is_read_by_its_bold_conclusions() -> None:
    text = (
        "# 0005: chunks\n\nIntro.\n\n"
        "**Headings draw, they do not lead.** A chunk is embedded alone.\n"
    )
    assert decisions(text, "note:docs/decisions/0005-chunks.md") == [
        "Chunks: Headings draw, they do not lead. A chunk is embedded alone."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\n## Decision\n\n{what was decided, and why it was}\n",
        "# Title\n\n## Decision\n\nTBD\n",
        "# Title\n\n## Decision\n\n",
        "# Title\n\n```\n## Decision\n\nUse tea instead of coffee.\n```\n",
        "# Title\n\n## Decision\n\n> Use tea instead of coffee for all of the filters.\n",
        "# Title\n\n## Decisions we might make\n\nUse tea instead of coffee for the filters.\n",
        "Decision\n" * 1000,
    ],
)
def test_templates_quotations_and_empty_sections_decide_nothing(text: str) -> None:
    assert decisions(text) == []


def test_consolidate_reads_records_and_takes_each_once(
    kinen: Callable[..., Any], write: Callable[[str, str], Path]
) -> None:
    write("docs/adr/0007-sessions.md", RECORD.format(status="accepted"))
    write("docs/adr/0008-cache.md", RECORD.format(status="proposed"))
    assert kinen("consolidate").code == 0
    (memory,) = json.loads(kinen("memories", "list", "--json").out)["memories"]
    assert memory["type"] == "decision"
    assert memory["derived_from"] == [REF]
    assert memory["symbols"] == ["user_sessions"]
    assert kinen("consolidate", "--since", "2000-01-01").code == 1
