"""The figures of the source tree, on a small one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.tool import load

if TYPE_CHECKING:
    from pathlib import Path

code_metrics = load("code_metrics")


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """A package with every fault once."""
    files = {
        "__init__.py": "from kinen.index import reader\n",
        "__main__.py": "",
        "ids.py": "import kinen.journal\n",
        "text.py": "hits = 1\nfound = 2\nfirst, last = hits, found\nfirst, last = divmod(7, 2)\n",
        "index/__init__.py": "",
        "index/reader.py": "def read():\n    from kinen.index import writer\n",
        "index/writer.py": "from .reader import read\nclass A: ...\nclass B(A): ...\n",
        "journal.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import kinen.ids\n",
    }
    for name, text in files.items():
        path = tmp_path / "kinen" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_cycles_through_functions_annotations_and_relative_imports_are_seen(src: Path) -> None:
    graph = code_metrics.import_graph(code_metrics.read(src))
    assert code_metrics.import_cycles(graph) == [
        ["kinen.ids", "kinen.journal"],
        ["kinen.index.reader", "kinen.index.writer"],
    ]


def test_only_a_tuple_of_values_is_packed(src: Path) -> None:
    assert code_metrics.packed_assignments(code_metrics.read(src)) == 1


@pytest.mark.parametrize(
    ("name", "vague"),
    [("found", True), ("_told", True), ("Kept", True), ("founder", False), ("hits", False)],
)
def test_a_name_is_vague_as_a_whole_word(name: str, vague: bool) -> None:
    assert code_metrics.is_vague(name) is vague


def test_vague_names_are_counted_where_they_occur(src: Path) -> None:
    modules = code_metrics.read(src)
    assert code_metrics.vague_by_module(modules).most_common(1) == [("kinen.text", 2)]
    assert 0 < code_metrics.vague_percent(modules) < 10


def test_loose_modules_and_deep_classes_are_named(src: Path) -> None:
    assert code_metrics.loose_modules(src) == ["ids", "journal", "text"]
    assert code_metrics.deepest_class(code_metrics.read(src)) == ("kinen.index.writer.B", 2)


def test_a_class_is_known_by_its_module_not_by_its_name_alone(tmp_path: Path) -> None:
    package = tmp_path / "kinen"
    package.mkdir()
    (package / "pages.py").write_text("class Page: ...\nclass Record(Page): ...\n")
    (package / "lists.py").write_text(
        "from kinen import pages\nfrom kinen.pages import Record as Row\n"
        "class List(Row): ...\nclass Other(pages.Page): ...\n"
    )
    (package / "rows.py").write_text("class Record: ...\n")
    modules = code_metrics.read(tmp_path)
    assert code_metrics.deepest_class(modules) == ("kinen.lists.List", 3)
    assert code_metrics.deepest_class(modules, apart="kinen.lists") == ("kinen.pages.Record", 2)
