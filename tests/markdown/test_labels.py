"""What people label is taken, in every form, file and language; what only looks like it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.consolidation.documents import from_commit
from kinen.text.labels import LABELS, TYPES, labelled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

FORMS = {
    "line": "Decision: {}",
    "bold": "**Decision**: {}",
    "bold colon": "**Decision:** {}",
    "heading": "### Decision\n\n{}\n\nMore text about something else.",
    "list": "## Decisions\n\n- {}",
    "callout": "> [!decision]\n> {}",
    "named callout": "> [!note] Decision\n> {}",
    "task": "- [x] **Decision:** {}",
    "sentence": "We decided that {}",
    "table": "| Topic | Decision |\n|---|---|\n| Storage | {} |",
    "definition": "Decision\n: {}",
    "record": "# 12. Storage\n\n## Status\n\nAccepted\n\n## Decision\n\n{}",
    "bold title": "**Decision**\n\n{}",
    "nested": "1. Key Decisions:\n   - {}\n2. Next:\n   - Write the docs for all of it",
    "dash": "**Decision** — {}",
    "numbered": "Decision 3: {}",
    "brackets": "[DECISION] {}",
    "wide brackets": "【决定】{}",
}
SUBJECTS = (
    *("queues", "tokens", "backups", "invoices", "avatars", "metrics", "tickets", "sessions"),
    *("drafts", "uploads", "themes", "webhooks", "reports", "budgets", "pictures", "mailings"),
    *("calendars", "passwords"),
)
PLACES = {
    "round": "sessions/20260301-01-store/rounds/{}.md",
    "artifact": "sessions/20260301-01-store/artifacts/{}.md",
    "note": "notes/{}.md",
}


def test_every_form_is_drawn_from_every_kind_of_file(
    kinen: Callable[..., Any], space: Path
) -> None:
    wanted = []
    folder = space / "sessions/20260301-01-store"
    for name in ("rounds", "artifacts"):
        (folder / name).mkdir(parents=True)
    (folder / "session.md").write_text("---\nstatus: active\n---\n# Store\n")
    (space / "notes").mkdir(exist_ok=True)
    for kind, place in PLACES.items():
        for (name, form), subject in zip(FORMS.items(), SUBJECTS, strict=True):
            said = f"{subject} of the {kind} live in `{kind}_{subject}.db` for 15 minutes."
            wanted.append((f"{kind}, {name}", said.rstrip(".")))
            text = form.format(said)
            (space / place.format(f"{SUBJECTS.index(subject):02}-{subject}")).write_text(text)
    assert kinen("consolidate").code == 0
    listed = kinen("memories", "list", "--json", "--limit", "0").out
    assert [what for what, said in wanted if said not in listed] == []


def test_labels_are_read_in_messages_checkpoints_and_commits(
    kinen: Callable[..., Any], space: Path
) -> None:
    capsule = kinen("capsule", "open", "--intent", "tokens", "--session", "s1").out.strip()
    id_ = capsule.partition(":")[2]
    said = "Done.\n\n**Lesson:** the mock clock must be reset, else `test_pool` hangs."
    assert kinen("log", said, "--capsule", id_).code == 0
    assert kinen("capsule", "close", capsule).code == 0
    text = "Pool work\n\nRule: every pool closes its sockets before a fork."
    assert kinen("checkpoint", text).code == 0
    kinen("consolidate")
    listed = kinen("memories", "list", "--json").out
    assert "the mock clock must be reset" in listed
    assert "every pool closes its sockets before a fork" in listed
    body = "fix(pool): close sockets\n\nThey leaked.\n\nDecision: pools are never shared by forks."
    (found,) = from_commit("commit:1", body)
    assert (found.type, found.content) == ("decision", "pools are never shared by forks.")


@pytest.mark.parametrize(
    "value",
    [
        *("TBD", "TODO", "n/a", "-", "…", "", "yes", "offen", "待定", "à décider", "pendiente"),
        *("<what was decided>", "{{decision}}", "[describe the decision]", "{title of option 1}"),
        *("none yet", "not yet made, waiting for legal", "pending review by Dana", "see above"),
        *("we will decide next week", "no decisions or rules were made", "noch nicht getroffen"),
        *("尚未做出", "https://example.com/decisions"),
        *("Ship it? (Yes/No)", "~~Use tea for the queue~~", "`^foo.*$`", "pending"),
    ],
)
def test_an_empty_or_templated_value_is_nothing(value: str) -> None:
    for form in ("Decision: {}", "### Decision\n\n{}", "- **Rule:** {}", "> [!decision]\n> {}"):
        assert labelled(form.format(value)) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nDecision: use tea for the queue.\n```",
        "    Decision: use tea for the queue.",
        "> Decision: use tea for the queue.",
        "- [ ] **Decision:** use tea for the queue.",
        "**Decision criteria** — four questions to tell them apart",
        "> [!note] Decision Rule\n> If variances differ, use another test.",
        "# 3. Tea\n\n## Status\n\nSuperseded by 7\n\n## Decision\n\nUse tea for the queue.",
        "---\nstatus: proposed\n---\n\n## Decision\n\nUse tea for the queue.",
        "## Decisions\n\n1. ⏳ **Names**: turns or rounds (to be decided)",
        "We decided nothing; fixed the build.",
        "## Open decisions\n\n- Use tea for the queue",
        "## Decisions\n\nNo decisions were made in this session.",
        "Agreed: you are right, I will look at the file again.",
        "Agreed: I will look at the file again.",
        "[Decision](queue.md) about tea for the queue",
        "Rule: @lint/no-any (12 hits)",
    ],
)
def test_code_quotations_open_tasks_and_open_records_have_no_label(text: str) -> None:
    assert labelled(text) == []


@pytest.mark.parametrize("word", [word for word, what in LABELS.items() if what in TYPES])
def test_every_word_of_the_table_labels_in_every_spelling(word: str) -> None:
    said = (
        "使用 SQLite 存储 全部日志。" if word[0] > "\u3000" else "keep the journal in SQLite files"
    )
    for form in ("{}: {}", "**{}**: {}", "**{}:** {}", "{}：{}", "## {}\n\n{}", "> [!{}]\n> {}"):
        entries = labelled(form.format(word.capitalize(), said))
        assert [(entry.type, entry.text.rstrip(".")) for entry in entries] == [
            (LABELS[word], said.rstrip("."))
        ], form


@pytest.mark.parametrize(
    "value",
    [
        "No retries in tests",
        "None of the tests may sleep",
        "Seed the database first",
        "I'll keep SQLite for the queue",
        "Use src/kinen for all of it",
    ],
)
def test_a_decision_that_begins_like_an_open_one_is_kept(value: str) -> None:
    assert [entry.text for entry in labelled(f"Decision: {value}")] == [value]


def test_a_reason_belongs_to_the_decision_before_it() -> None:
    text = (
        "Decision: jobs live in PostgreSQL\nAlternatives: Redis and others\nWhy: one system fewer\n"
        "\n- Entscheidung: Logs bleiben in Dateien\n  - Grund: einfach zu lesen\n"
    )
    assert [(entry.text, entry.reason, entry.line) for entry in labelled(text)] == [
        ("jobs live in PostgreSQL", "one system fewer", 1),
        ("Logs bleiben in Dateien", "einfach zu lesen", 5),
    ]


_PIECES = st.sampled_from(
    [
        *(
            "Decision: ",
            "**Rule:** ",
            "## Lesson\n\n",
            "> [!decision]\n> ",
            "| Decision | Why |\n|-|-|\n",
        ),
        *(
            "| a | b |\n",
            "- [x] ",
            "- ",
            "```\n",
            "> ",
            "\n\n",
            "use tea for it ",
            "why? ",
            "# 1. A\n",
        ),
        *("Status: open\n", "**", "：", "决定", "1. ", "    ", "<b>", "`"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=14))
def test_any_text_is_read_and_lines_and_words_are_its_own(pieces: list[str]) -> None:
    text = "".join(pieces)
    for entry in labelled(text):
        assert entry.type in TYPES
        assert 1 <= entry.line <= text.count("\n") + 1
        assert entry.text.strip() == entry.text != ""
        assert "\n" not in entry.text
    assert labelled(f"```\n{text.replace('```', '')}\n```") == []


def test_a_table_of_figures_and_the_introduction_of_a_page_are_no_statements() -> None:
    figures = "| rule | same | different |\n|---|---|---|\n| two thirds of the terms | 33 | 0 |\n"
    assert labelled(figures) == []
    page = "# Decisions\n\nOne page each, with what was measured.\n\n| page | about |\n|---|---|\n"
    assert labelled(f"{page}| 0001 | the structure |\n") == []


def test_a_template_states_nothing() -> None:
    text = "## Rules\n\n- Return at most ten issues\n"
    assert labelled(text)
    assert labelled(f"{text}\nCategory: {{{{CATEGORY}}}}\n") == []
