"""What a search shows: passages that make sense by themselves, in real processes."""

from __future__ import annotations

import json

import pytest

DEPLOY = """# Deploy

## Release

Releases are cut on Tuesdays by whoever is on call.

To roll a release back:

```sh
kinenctl rollback --to previous
```

Then tell the channel.

## Owners

Mira owns the pipeline.
"""


@pytest.fixture
def search(write, kinen):
    """Searches by word, after everything that was written is indexed."""

    def run(*words: str) -> list[dict[str, object]]:
        assert kinen("index", KINEN_INDEX_EMBEDDING_PROVIDER="none").code == 0
        result = kinen("search", "--fulltext", "--json", *words)
        return json.loads(result.out)["results"] if result.out else []

    run.text = lambda *words: kinen("search", "--fulltext", *words).out  # type: ignore[attr-defined]
    return run


def test_a_hit_shows_the_short_section_around_it(write, search) -> None:
    write("deploy.md", DEPLOY)
    hits = search("roll a release back")
    content = hits[0]["chunk"]["content"]
    assert "kinenctl rollback --to previous" in content
    assert "Releases are cut on Tuesdays" in content
    assert "Mira" not in content
    assert "kinenctl rollback" in search.text("roll a release back")


def test_rules_of_restructuredtext_are_not_shown(write, search) -> None:
    write("guide.rst", "Guide\n=====\n\nRollback\n--------\n\nCall Mira.\n\n====  ====\na     b\n")
    write("text.md", "Rollback\n\n```\n=====\n```\n")
    search("rollback")
    shown = search.text("rollback", "-v")
    assert "Call Mira." in shown
    assert "====  ====" not in shown
    assert "----" not in shown
    assert shown.count("=====") == 1


def test_empty_items_of_templates_are_no_hits_beside_others(write, search) -> None:
    write("template.md", "# Meeting\n\n## Notes\n\n-\n")
    assert search("notes")[0]["source"]["path"] == "template.md"
    write("team.md", "# Team\n\nNotes of the meeting with Mira are in the drawer.\n")
    write("idea.md", "# Notes on paper\n")
    paths = {hit["source"]["path"] for hit in search("notes")}
    assert paths == {"team.md", "idea.md"}


def test_matches_in_one_passage_are_one_hit(write, search) -> None:
    filler = "Nothing else happens on that day of the week as far as anybody here can remember."
    paragraphs = [f"The release train number {n} left. {filler}" for n in range(4)]
    write("train.md", "# Trains\n\n" + "\n\n".join(paragraphs) + "\n")
    hits = search("release train")
    assert len(hits) == 1
    assert all(f"number {n}" in hits[0]["chunk"]["content"] for n in range(4))


def test_a_lead_in_comes_with_its_list_in_a_long_section(write, search) -> None:
    padding = "\n\n".join(f"Paragraph {n} " + "speaks of other things. " * 20 for n in range(6))
    steps = "- stop the queue and wait for it\n" + "- copy one file after the other\n" * 12
    steps += "- start the queue again"
    write("long.md", f"# Long\n\n{padding}\n\nTo move the spool:\n\n{steps}\n\n{padding}\n")
    content = search("move the spool")[0]["chunk"]["content"]
    assert "To move the spool:" in content
    assert "start the queue again" in content


def test_bold_text_alone_is_no_hit_by_itself(write, search) -> None:
    padding = "\n\n".join(f"Paragraph {n} " + "speaks of other things. " * 20 for n in range(6))
    body = "Workers pull jobs from Postgres and never talk to each other. " + "They wait. " * 20
    body = body.strip()
    write("bold.md", f"# Bold\n\n{padding}\n\n**Architecture**:\n\n{body}\n\n{padding}\n")
    assert body in search("architecture")[0]["chunk"]["content"]


def test_rows_of_a_long_table_come_with_its_header(write, search) -> None:
    rows = "\n".join(f"| option_{n} | {n} | what option number {n} decides |" for n in range(90))
    write("table.md", f"# Table\n\n| name | default | meaning |\n|---|---|---|\n{rows}\n")
    hit = search("option_70 meaning")[0]["chunk"]
    assert "| name | default | meaning |" in hit["content"]
    assert "| option_70 | 70 |" in hit["content"]
    assert "| option_2 |" not in hit["content"]


def test_the_line_of_a_hit_is_that_of_the_words_and_not_of_the_passage(write, search) -> None:
    write("deploy.md", DEPLOY)
    chunk = search("tell the channel")[0]["chunk"]
    assert chunk["line"] == 13
    assert chunk["start_line"] == 1
    assert search.text("tell the channel").splitlines()[1].startswith("  deploy.md:13")


def test_context_is_what_stands_around_the_passage(write, kinen, search) -> None:
    write("deploy.md", DEPLOY)
    hit = search("-C", "1", "tell the channel")[0]
    assert hit["context"]["after"] == ["## Owners\n\nMira owns the pipeline."]
    assert hit["context"]["before"] == []


def test_exact_finds_only_the_words_as_one_phrase(write, kinen, search) -> None:
    write("a.md", "# A\n\nThe copper kettle is on the stove.\n")
    write("b.md", "# B\n\nThe kettle of copper is cold.\n")
    assert [hit["source"]["path"] for hit in search("--exact", "copper kettle")] == ["a.md"]
    assert [hit["source"]["path"] for hit in search("--exact", '"copper" kettle')] == ["a.md"]
    assert len(search("copper kettle")) == 2
    assert search("--exact", "kettle copper") == []
    assert kinen("search", "--fulltext", "--exact", "kettle copper").code == 1
