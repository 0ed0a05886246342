from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.errors import ConfigError
from kinen.sources.files.manifest import Manifest, add, parse, with_entry

if TYPE_CHECKING:
    from pathlib import Path

words = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=20)
names = words.filter(lambda word: word.strip("./ ") == word and "/" not in word)


def test_entries_are_found_by_their_path_in_the_space() -> None:
    text = "resources:\n  - path: papers/a.pdf\n    tags: x, '#y'\n    notes: read it\n"
    assert parse(text) == {"resources/papers/a.pdf": (("x", "'#y'"), "read it")}
    listed = "- path: ./resources/a.pdf\n  tags: ['#x']\n- no path\n- tags: [y]\n"
    assert parse(listed) == {"resources/a.pdf": (("x",), "")}


@given(names, st.lists(names.filter(lambda tag: tag[0] != "#"), max_size=3), words)
def test_an_added_entry_is_read_back(name: str, tags: list[str], note: str) -> None:
    text = with_entry("", f"resources/docs/{name}", tuple(tags), note)
    assert parse(text)[f"resources/docs/{name}"] == (tuple(tags), note)
    again = with_entry(text, "resources/docs/other.md", ("t",), "")
    assert len(parse(again)) == 2 or name == "other.md"


@pytest.mark.parametrize("text", ["resources: 3\n", "a: [\n", "\t- x"])
def test_a_broken_manifest_is_a_problem_and_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources/.resources.yml").write_text(text)
    manifest = Manifest.read(str(tmp_path))
    assert manifest.problem.startswith("invalid manifest")
    assert manifest.of("resources/a.pdf") == ((), "")


def test_a_file_is_copied_to_the_folder_of_its_kind(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    file = tmp_path / "paper.pdf"
    file.write_bytes(b"%PDF-1.4")
    root = str(tmp_path / "space")
    assert add(root, str(file), "", ("x",), "read it").path == "resources/papers/paper.pdf"
    assert Manifest.read(root).of("resources/papers/paper.pdf") == (("x",), "read it")
    before = (tmp_path / "space/resources/.resources.yml").read_bytes()
    add(root, str(file), "", ("x",), "read it")
    assert (tmp_path / "space/resources/.resources.yml").read_bytes() == before
    file.write_bytes(b"other")
    with pytest.raises(ConfigError, match="exists with other content"):
        add(root, str(file), "", (), "")
    with pytest.raises(ConfigError, match="outside resources/"):
        add(root, str(file), "../..", (), "")
