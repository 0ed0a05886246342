from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.model.records import KINDS
from kinen.sources.files.layout import date_in, is_data, is_read, kind_of, session_of

SESSION = "sessions/20260301-01-cache"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", "note"),
        (f"{SESSION}/rounds/1.md", "round"),
        (f"{SESSION}/artifacts/a.py", "artifact"),
        (f"{SESSION}/resources/a.pdf", "resource"),
        ("sessions/auth/rounds/1.md", "round"),
        ("sessions/auth/artifacts/a.py", "artifact"),
        ("sessions/auth/notes.md", "note"),
        ("app/sessions/auth/artifacts/a.py", "note"),
        ("rounds/1.md", "note"),
        ("artifacts/a.py", "artifact"),
        ("resources/a.pdf", "resource"),
        ("docs/resources/a.pdf", "note"),
        (".memories/2026-03-01/120000_abcd.md", "checkpoint"),
        (".memories/plans/drop-redis.md", "plan"),
        (".memories/briefs/drop-redis.md", "plan"),
    ],
)
def test_the_kind_of_a_record_is_in_its_path(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("README.md", True),
        ("paper.pdf", True),
        ("src/a.py", False),
        (f"{SESSION}/artifacts/a.py", True),
        (f"{SESSION}/artifacts/a.png", False),
        (f"{SESSION}/a.py", True),
        ("sessions/auth/artifacts/a.py", True),
        ("sessions/auth/a.py", False),
        ("app/sessions/auth/rounds/a.py", False),
        ("resources/examples/a.py", True),
        ("resources/data/a.parquet", True),
        (".hidden.md", False),
        (".memories/2026-03-01/a.md", True),
        (".memories/elsewhere/a.md", False),
    ],
)
def test_documents_are_read_everywhere_and_other_text_where_it_belongs_to_a_session(
    path: str, read: bool
) -> None:
    assert is_read(path) is read


def test_a_date_comes_from_the_session_or_the_file_name() -> None:
    assert date_in(f"{SESSION}/rounds/1.md") == "2026-03-01"
    assert date_in("journal/2026-03-02 standup.md") == "2026-03-02"
    assert date_in("journal/20261302.md") == ""
    assert session_of(f"{SESSION}/rounds/1.md") == "20260301-01-cache"
    assert session_of("sessions/auth-design/notes/a.md") == "auth-design"
    assert session_of("app/sessions/auth-design/a.md") == session_of("sessions/a.md") == ""
    assert date_in("sessions/2026-03-03-auth/rounds/1.md") == "2026-03-03"


def test_a_document_among_datasets_is_a_document() -> None:
    assert is_data("resources/data/rows.csv")
    assert not is_data("resources/data/readme.md")


@given(st.text(max_size=60))
def test_any_path_has_a_kind(path: str) -> None:
    assert kind_of(path) in KINDS
    assert isinstance(is_read(path), bool)
