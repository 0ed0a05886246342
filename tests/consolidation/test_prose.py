from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinen.consolidation.prose import Sentence, read_sentences


def test_a_sentence_knows_its_heading_label_lead_and_neighbour() -> None:
    markdown = (
        "## 2. Storage\n\nWe compared two. SQLite won.\n\nReasons we had:\n\n"
        "- **Server**: none is needed. Backups are a copy.\n- [x] plain item\n"
    )
    assert list(read_sentences(markdown)) == [
        Sentence("We compared two.", heading="Storage"),
        Sentence("SQLite won.", before="We compared two.", heading="Storage"),
        Sentence("Reasons we had:", heading="Storage"),
        Sentence(
            "none is needed.",
            label="Server",
            lead="Reasons we had",
            heading="Storage",
            listed=True,
        ),
        Sentence(
            "Backups are a copy.",
            before="none is needed.",
            label="Server",
            lead="Reasons we had",
            heading="Storage",
            listed=True,
        ),
        Sentence("plain item", lead="Reasons we had", heading="Storage", listed=True),
    ]


def test_a_bold_line_is_a_lead_and_not_a_sentence() -> None:
    assert list(read_sentences("**Decision:**\n\nUse WAL.")) == [
        Sentence("Use WAL.", lead="Decision")
    ]


def test_a_new_heading_ends_a_lead() -> None:
    last = list(read_sentences("Reasons:\n\n# Next\n\nShip it."))[-1]
    assert (last.lead, last.heading) == ("", "Next")


def test_code_quotations_and_tables_are_left_out() -> None:
    assert list(read_sentences("> quoted\n\n    code\n\n| a |\n|---|\n| b |\n")) == []


@given(st.text(max_size=300))
def test_any_text_can_be_read(markdown: str) -> None:
    for sentence in read_sentences(markdown):
        assert sentence.text.strip()
