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


def test_orphans_are_notes_without_links(vault) -> None:
    assert (
        vault("graph", "orphans").out == "coffee.md  Coffee  #drinks #drinks/hot\ntaxes.md  Taxes\n"
    )


def test_broken_links_are_a_check(vault, write) -> None:
    clean = vault("graph", "broken")
    assert (clean.code, clean.out) == (0, "")
    write("bad.md", "# Bad\n\n[[nowhere]]\n")
    vault("index")
    broken = vault("graph", "broken")
    assert (broken.code, broken.out) == (1, "bad.md:3: nowhere\n")


def test_tags_of_notes_are_counted_and_listed(vault) -> None:
    assert vault("tags").out.split() == ["2", "drinks", "1", "drinks/hot"]
    assert vault("tags", "--notes").out == vault("tags").out
    assert vault("tags", "--files").code == 1
    assert vault("tags", "#drinks/hot").out.startswith("coffee.md")
    both = json.loads(vault("tags", "drinks", "--json").out)["records"]
    assert [record["path"] for record in both] == ["coffee.md", "tea.md"]
    counts = json.loads(vault("tags", "--json").out)["tags"]
    assert counts[0] == {"tag": "drinks", "count": 2, "files": 0, "notes": 2}
