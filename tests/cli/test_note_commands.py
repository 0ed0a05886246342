"""Notes as people of Obsidian use them: related notes, orphans, broken links, tags."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from terminal import in_shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def vault(space: Path, write, kinen):
    write("tea.md", "---\ntags: [drinks]\n---\n# Tea\n\nPour boiling water. See [[kettle]].\n")
    write("kettle.md", "# Kettle\n\nIt boils water in two minutes.\n")
    write("coffee.md", "# Coffee\n\nGrind it fresh #drinks #drinks/hot\n")
    write("taxes.md", "# Taxes\n\nThe form is due in May.\n")
    assert kinen("index").code == 0
    return kinen


def test_related_notes_come_with_their_reasons(vault) -> None:
    answer = json.loads(vault("related", "tea.md", "--json").out)
    assert answer["ref"] == "note:tea.md"
    reasons = {item["path"]: item["reasons"] for item in answer["related"]}
    assert "linked from it" in reasons["kettle.md"]
    assert any("meaning" in reason for reason in reasons["kettle.md"])
    assert "tags #drinks" in reasons["coffee.md"]
    assert "taxes.md" not in reasons
    assert answer["related"][0]["path"] == "kettle.md"
    assert vault("related", "kettle.md").out.startswith("tea.md  Tea\n    links to it")
    assert vault("related", "taxes.md").code == 1
    assert vault("related", "nothing.md").code == 2


def test_related_without_vectors_says_so(space: Path, vault) -> None:
    ran = vault("related", "tea.md", KINEN_INDEX_EMBEDDING_PROVIDER="none")
    assert "kettle.md" in ran.out
    assert "by links and tags only" in ran.err


def test_paths_open_from_the_working_folder(vault, space: Path) -> None:
    below = space / "below"
    below.mkdir()
    assert vault("graph", "orphans", cwd=below).out.startswith("../coffee.md  Coffee")
    assert vault("tags", "drinks", cwd=below).out.startswith("../coffee.md")
    assert "  ../kettle.md\n" in vault("graph", "show", "tea.md", cwd=below).out
    run = in_shell("kinen graph show -l ../tea.md | xargs ls", below)
    assert (run.stdout, run.stderr) == ("../kettle.md\n", "")
    assert vault("graph", "orphans", "-l0", cwd=below).out == "../coffee.md\0../taxes.md\0"
    assert vault("related", "-l", "kettle.md", cwd=below).out.startswith("../tea.md\n../")
    none = vault("graph", "show", "-l", "taxes.md")
    assert (none.code, none.out) == (1, "")


def test_paths_of_another_space_are_absolute(vault, space: Path, tmp_path: Path) -> None:
    linked = vault("graph", "show", "-l", "tea.md", "--space", str(space), cwd=tmp_path)
    assert linked.out == f"{space / 'kettle.md'}\n"
