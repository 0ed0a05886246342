from __future__ import annotations

import unicodedata

import pytest

from kinen.model.documents import Link
from kinen.text.links import ATTACHMENT, Names

A, B = "sessions/20251203-01-resources", "sessions/20251206-01-search"
PATHS = (
    f"{A}/init.md",
    f"{A}/rounds/01-foundation.md",
    f"{A}/rounds/02-search.md",
    f"{A}/artifacts/spec.md",
    f"{B}/index.md",
    f"{B}/session-summary.md",
    f"{B}/rounds/01-foundation.md",
    f"{B}/artifacts/spec.md",
    "resources/papers/attention.pdf",
    "resources/papers/lance db.md",
    "resources/index.md",
    "resources/notes/Café.md",
    "notes/deep/er/spec.md",
    "notes/deep/Todo.md",
    "notes/todo list.md",
    "docs/guide/index.md",
    "docs/guide/start.md",
    "docs/start.md",
    "README.md",
)
FILES = ("images/plan.png", "docs/guide/shot.png", "src/app/main.py", "data/x.csv")
ALIASES = {"README.md": ("Home", "The Space"), "docs/start.md": ("Twin",), PATHS[2]: ("twin",)}
NAMES = Names(((f"note:{path}", path, ALIASES.get(path, ())) for path in PATHS), FILES)


def wiki(target: str, path: str = "README.md") -> str:
    return NAMES.resolve(Link(target), path).removeprefix("note:")


def relative(target: str, path: str = "README.md") -> str:
    return NAMES.resolve(Link(target, wiki=False), path).removeprefix("note:")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("resources/papers/lance db", "resources/papers/lance db.md"),
        ("resources/papers/lance db.md", "resources/papers/lance db.md"),
        ("Resources/Papers/Lance DB", "resources/papers/lance db.md"),
        ("/resources/index", "resources/index.md"),
        ("readme", "README.md"),
        ("attention.pdf", "resources/papers/attention.pdf"),
        ("attention", ""),
        ("todo", "notes/deep/Todo.md"),
        ("papers/lance db", "resources/papers/lance db.md"),
        ("guide/start", "docs/guide/start.md"),
        ("start", "docs/start.md"),
        ("ide/start", ""),
        ("nowhere", ""),
        ("../README", ""),
    ],
)
def test_notes_are_found_by_path_then_name_then_ending(target: str, path: str) -> None:
    assert wiki(target) == path


def test_the_nearest_of_several_wins() -> None:
    assert wiki("start", "docs/guide/index.md") == "docs/guide/start.md"
    assert wiki("spec", "notes/deep/Todo.md") == "notes/deep/er/spec.md"
    assert wiki("spec", "resources/index.md") == "notes/deep/er/spec.md"
    assert wiki("01-foundation", f"{B}/session-summary.md") == f"{B}/rounds/01-foundation.md"
    assert wiki("spec", f"{B}/rounds/01-foundation.md") == f"{B}/artifacts/spec.md"


def test_a_round_is_found_in_its_own_session() -> None:
    for session in (A, B):
        path = f"{session}/artifacts/spec.md"
        assert wiki("rounds/01-foundation", path) == f"{session}/rounds/01-foundation.md"
    assert wiki("rounds/02-search", f"{B}/artifacts/spec.md") == f"{A}/rounds/02-search.md"


def test_a_session_is_its_first_page() -> None:
    assert wiki("20251203-01-resources") == f"{A}/init.md"
    assert wiki("20251206-01-search") == f"{B}/index.md"
    assert wiki("sessions/20251206-01-search") == f"{B}/index.md"


def test_a_folder_is_its_index() -> None:
    assert wiki("resources/") == "resources/index.md"
    assert wiki("guide") == "docs/guide/index.md"
    assert relative("guide", "docs/start.md") == "docs/guide/index.md"
    assert relative("../guide/", "docs/guide/start.md") == "docs/guide/index.md"


def test_a_folder_without_index_is_no_broken_link_if_a_folder_was_meant() -> None:
    assert relative("src/app") == ATTACHMENT
    assert wiki("notes/") == ATTACHMENT
    assert wiki("deep") == ""


def test_relative_links_start_at_their_file() -> None:
    assert relative("start.md", "docs/guide/index.md") == "docs/guide/start.md"
    assert relative("../start.md", "docs/guide/index.md") == "docs/start.md"
    assert relative("./guide/start.md", "docs/start.md") == "docs/guide/start.md"
    assert relative("README.md", "docs/start.md") == "README.md"
    assert relative("../../../README.md", "docs/start.md") == ""
    assert relative("../nowhere/start.md", "docs/guide/index.md") == ""
    assert wiki("../start", "docs/guide/index.md") == "docs/start.md"


def test_the_root_of_a_site_may_be_a_folder_of_the_space() -> None:
    assert relative("/guide/start", "docs/start.md") == "docs/guide/start.md"
    assert relative("/docs/start") == "docs/start.md"
    assert wiki("guide/index", "docs/start.md") == "docs/guide/index.md"


def test_files_that_are_no_records_are_attachments() -> None:
    assert wiki("plan.png", "docs/start.md") == ATTACHMENT
    assert relative("shot.png", "docs/guide/start.md") == ATTACHMENT
    assert relative("../src/app/main.py", "docs/start.md") == ATTACHMENT
    assert relative("../src/app/gone.py", "docs/start.md") == ""


def test_aliases_come_last_and_must_be_unique() -> None:
    assert wiki("home") == "README.md"
    assert wiki("the space") == "README.md"
    assert wiki("twin") == ""


def test_unicode_forms_are_equal() -> None:
    for form in ("NFC", "NFD"):
        assert wiki(unicodedata.normalize(form, "CAFÉ")) == "resources/notes/Café.md"


def test_a_link_within_a_note_leads_to_itself() -> None:
    assert wiki("", "docs/start.md") == "docs/start.md"


def test_names_that_differ_in_case_only_are_told_apart() -> None:
    names = Names((path, path, ()) for path in ("a/Note.md", "b/note.md"))
    assert names.resolve(Link("note"), "c.md") == "b/note.md"
    assert names.resolve(Link("Note"), "c.md") == "a/Note.md"
    assert names.resolve(Link("NOTE"), "c.md") == "a/Note.md"


def test_the_order_of_notes_does_not_matter() -> None:
    paths = [f"{letter}/x.md" for letter in "dbca"]
    for order in (paths, paths[::-1]):
        names = Names((path, path, ()) for path in order)
        assert names.resolve(Link("x"), "y.md") == "a/x.md"


def test_records_without_a_path_are_found_by_alias_only() -> None:
    names = Names([("memory:1", "", ["Decision one"])])
    assert names.resolve(Link("decision one"), "a.md") == "memory:1"
    assert names.resolve(Link("x"), "a.md") == ""


@pytest.mark.parametrize(
    "target", [".", "..", "/", "//", "./", " ", "#", "a//b", "\0", "x" * 5_000]
)
def test_odd_targets_are_only_broken(target: str) -> None:
    assert wiki(target) in ("", ATTACHMENT)
