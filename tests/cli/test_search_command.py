"""What a person and a script get from `kinen search`: text, paths, strengths, names."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kinen.memory import Memory
from terminal import in_shell

if TYPE_CHECKING:
    from pathlib import Path

BODY = "Our kettle boils water for the tea ceremony in nine minutes."
FILLER = (
    "Tokens of the billing service live for one hour and are signed.",
    "The deploy script waits until the database has migrated.",
    "Mira is on call in March; page her before you page Jonas.",
    "Logs rotate daily and are kept for two weeks on the second disk.",
)


@pytest.fixture
def notes(space: Path, write, kinen):
    """A space with a note that has frontmatter, and some others."""
    write(
        "docs/kettle.md",
        "---\ntitle: Kettle manual\naliases: [boiler]\ntags: [kitchen, hot]\nstatus: complete\n"
        f"---\n\n# Kettle manual\n\n{BODY} See [[billing]] for what it costs.\n",
    )
    for name, text in zip(("billing", "deploy", "oncall", "logs"), FILLER, strict=True):
        write(f"docs/{name}.md", f"---\nstatus: draft\n---\n\n# The {name} page\n\n{text}\n")
    assert kinen("index").code == 0
    return kinen


def results(run) -> list[dict]:
    return json.loads(run.out)["results"]


# Metadata


def test_a_match_in_the_tags_shows_the_text_of_the_note(notes) -> None:
    (hit,) = results(notes("search", "--fulltext", "kitchen", "--json"))
    assert BODY in hit["chunk"]["content"]
    assert "tags:" not in hit["chunk"]["content"]
    assert "aliases:" not in hit["chunk"]["content"]
    assert hit["chunk"]["n"] > 0


def test_a_title_is_printed_once(notes) -> None:
    out = notes("search", "--fulltext", "kitchen").out
    assert out.count("Kettle manual") == 1
    assert BODY in out


def test_what_a_summary_says_is_shown(space: Path, write, kinen) -> None:
    write("a.md", "---\ntitle: A\nsummary: Zebras graze at dawn.\ntags: [x]\n---\n\n# A\n\nText.\n")
    assert kinen("index").code == 0
    (hit,) = results(kinen("search", "--fulltext", "zebras", "--json"))
    assert "Zebras graze at dawn." in hit["chunk"]["content"]
    assert "tags:" not in hit["chunk"]["content"]


def test_pins_are_no_hits(notes) -> None:
    assert notes("pin", "docs/kettle.md", "--note", "ceremony of the kettle").code == 0
    types = {hit["source"]["type"] for hit in results(notes("search", "ceremony", "--json"))}
    assert types == {"note"}
    pins = results(notes("search", "ceremony", "--type", "pins", "--min-score", "0", "--json"))
    assert {hit["source"]["type"] for hit in pins} == {"pin"}


# The floor


def test_a_minimum_score_of_zero_switches_the_floor_off(notes) -> None:
    run = notes("search", "quantum zebra banana", "--min-score", "0")
    assert run.code == 0
    assert " weak\n" in run.out
    assert "nothing close" not in run.err


def test_a_word_that_a_note_has_is_close(notes) -> None:
    for words in (("rotate",), ("--fulltext", "rotate"), ("--mode", "rrf", "rotate")):
        run = notes("search", *words)
        assert run.code == 0, words
        assert run.out.splitlines()[1].startswith("  docs/logs.md:"), words


def test_strength_is_a_number_and_a_word(notes) -> None:
    out = notes("search", "how long does the kettle take to boil").out
    where = out.splitlines()[1]
    hit = results(notes("search", "how long does the kettle take to boil", "--json"))[0]
    assert where.endswith(f" · {hit['strength']} {'strong' if hit['strength'] >= 65 else 'fair'}")


def test_python_has_the_floor_for_a_plain_question(notes, space: Path) -> None:
    with Memory.open(space) as memory:
        assert not memory.search("quantum zebra banana")
        assert memory.search("kettle")[0].strength >= 35


# Vectors and new files


def test_a_half_embedded_index_says_so_and_ranks_fairly(space: Path, write, kinen) -> None:
    for number in range(60):
        write(f"old/{number}.md", f"# Old {number}\n\nThe harbour of town {number} has a crane.\n")
    assert kinen("index").code == 0
    write("new/answer.md", "# Answer\n\nThe lighthouse keeper of Skagen repaired the lamp.\n")
    for number in range(40):
        write(f"new/{number}.md", f"# New {number}\n\nA boat called {number} left for Skagen.\n")
    assert kinen("index", "--no-embed").code == 0
    run = kinen("search", "--hybrid", "lighthouse keeper lamp")
    assert "41 of 101 chunks have no vectors yet: run `kinen index`" in run.err
    assert run.out.splitlines()[1].startswith("  new/answer.md:")
    again = kinen("search", "--hybrid", "lighthouse keeper lamp")
    assert "41 of 101 chunks have no vectors yet" in again.err  # no search embeds a part
    assert kinen("index").code == 0
    assert "no vectors" not in kinen("search", "--hybrid", "lighthouse keeper lamp").err


def test_words_answer_a_search_alone_while_no_model_is_loaded(space: Path, write, kinen) -> None:
    write("lamp.md", "# Lamp\n\nThe lighthouse keeper of Skagen repaired the lamp.\n")
    write("crane.md", "# Crane\n\nThe crane of the harbour is rusty and will be painted.\n")
    assert kinen("index").code == 0
    by_words = json.loads(kinen("search", "--json", "lighthouse keeper").out)
    assert by_words["mode"] == "fulltext"
    assert by_words["results"][0]["source"]["path"] == "lamp.md"
    assert any("the model is not loaded" in note for note in by_words["notes"])
    waited = json.loads(kinen("search", "--json", "--hybrid", "lighthouse keeper").out)
    assert waited["mode"] == "hybrid"
    assert not any("the model is not loaded" in note for note in waited["notes"])
    recalled = json.loads(kinen("recall", "--json", "lighthouse keeper").out)
    assert recalled["search_method"] == "hybrid"


def test_a_question_that_words_answer_poorly_waits_for_the_model(space: Path, write, kinen) -> None:
    write("lamp.md", "# Lamp\n\nThe lighthouse keeper of Skagen repaired the lamp.\n")
    write("crane.md", "# Crane\n\nThe crane of the harbour is rusty and will be painted.\n")
    assert kinen("index").code == 0
    answer = json.loads(kinen("search", "--json", "who fixed the beacon").out)
    assert answer["mode"] == "hybrid"
    assert answer["results"][0]["source"]["path"] == "lamp.md"
    assert any("words alone answer this poorly" in note for note in answer["notes"])
    question = ("search", "--json", "who fixed the beacon")
    without = json.loads(kinen(*question, KINEN_INDEX_EMBEDDING_PROVIDER="none").out)
    assert not any("the model was loaded" in note for note in without["notes"])


def test_a_resource_is_embedded_when_it_is_added(space: Path, write, kinen, tmp_path: Path) -> None:
    for number in range(60):
        write(f"{number}.md", f"# Note {number}\n\nThe harbour of town {number} has a crane.\n")
    assert kinen("index", "--no-embed").code == 0
    paper = tmp_path / "paper.md"
    paper.write_text("# Paper\n\nAttention weighs the words of a sentence.\n")
    assert kinen("resources", "add", str(paper)).code == 0
    run = kinen("search", "--semantic", "attention to words in a sentence")
    assert run.out.splitlines()[1].startswith("  resources/")
    assert "60 of 61 chunks have no vectors yet" in run.err


def test_new_files_are_found(notes, write) -> None:
    write("docs/new/deep/page.md", "# Page\n\nA flibbertigibbet lives here.\n")
    run = notes("search", "flibbertigibbet")
    assert run.out.splitlines()[1].startswith("  docs/new/deep/page.md:3")
    write("docs/new/deep/second.md", "# Second\n\nAnother flibbertigibbet.\n")
    assert "second.md" in notes("search", "--fulltext", "flibbertigibbet").out
    assert notes("show", "third").code == 2
    write("third.md", "# Third\n\nText.\n")
    assert notes("show", "third").code == 0


def test_many_new_files_are_mentioned(notes, write) -> None:
    for number in range(101):
        write(f"many/{number}.md", f"A flibbertigibbet, number {number}.\n")
    run = notes("search", "flibbertigibbet")
    assert run.code == 1
    assert "101 files are newer than the index: run `kinen index`" in run.err


def test_ignored_files_do_not_count_as_new(notes, write) -> None:
    write(".kinenignore", "build/\n*.txt\n")
    assert notes("index").code == 0
    write("build/out.md", "A flibbertigibbet.\n")
    write("out.txt", "A flibbertigibbet.\n")
    run = notes("search", "flibbertigibbet")
    assert run.code == 1
    assert "newer" not in run.err


# Paths


def test_paths_open_from_a_folder_of_the_space(notes, space: Path) -> None:
    assert notes("search", "-l", "kettle", cwd=space / "docs").out.splitlines()[0] == "kettle.md"
    run = in_shell("kinen search -l kettle | xargs ls", space / "docs")
    assert "kettle.md" in run.stdout.split()
    assert run.returncode == 0, run.stderr
    (space / "other").mkdir()
    out = notes("search", "kettle", cwd=space / "other").out
    assert out.splitlines()[1].strip().startswith(os.path.join("..", "docs", "kettle.md") + ":")


def test_paths_of_other_spaces_are_absolute(notes, space: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "two words.md").write_text("# Second kettle\n\nThis kettle whistles.\n")
    assert notes("init", str(other)).code == 0
    assert notes("index", cwd=other).code == 0
    files = notes("search", "kettle", "--space", "all", "-l").out.splitlines()
    assert set(files) >= {"docs/kettle.md", str(other / "two words.md")}
    run = in_shell("kinen search kettle --space all -l0 | xargs -0 cat", space)
    assert run.returncode == 0, run.stderr
    assert BODY in run.stdout
    assert "This kettle whistles." in run.stdout
    assert notes("search", "whistles", "--space", "elsewhere", "-l").out.strip() == str(
        other / "two words.md"
    )


def test_only_files_are_listed(space: Path, repo_with_commit, kinen) -> None:
    run = kinen("search", "-l", "zymurgy")
    assert run.code == 1
    assert run.out == ""
    assert kinen("search", "zymurgy").code == 0


def test_a_file_is_listed_however_much_was_said_about_it(notes) -> None:
    for n in range(12):
        assert notes("log", f"ceremony ceremony ceremony {n}").code == 0
    assert "docs/kettle.md" not in notes("search", "--fulltext", "ceremony", "-n", "3").out
    for options in (["-l"], ["-l", "-0"], ["-l", "--space", "all"]):
        run = notes("search", "--fulltext", "ceremony", "-n", "3", *options)
        assert "docs/kettle.md" in run.out, run.err


def test_json_has_the_root_and_the_absolute_file(notes, space: Path) -> None:
    hit = results(notes("search", "kettle", "--json"))[0]
    assert hit["source"]["root"] == str(space)
    assert hit["source"]["file"] == str(space / "docs" / "kettle.md")
    assert hit["chunk"]["ref"] == "note:docs/kettle.md"
    assert notes("show", f"{hit['chunk']['ref']}#{hit['chunk']['n']}").code == 0


def test_paths_after_the_question_select_files(notes, space: Path, write) -> None:
    write("plans/tea.md", "# Tea\n\nBuy a kettle.\n")
    assert notes("index").code == 0
    both = notes("search", "-l", "kettle").out.split()
    assert set(both) == {"docs/kettle.md", "plans/tea.md"}
    assert notes("search", "-l", "kettle", "plans/").out.split() == ["plans/tea.md"]
    inside = notes("search", "-l", "kettle", "../plans/tea.md", cwd=space / "docs")
    assert inside.out.split() == ["../plans/tea.md"]
    assert notes("search", "kettle", "/tmp/").code == 2


# Names, kinds and metadata


def test_a_file_name_wins_outright(notes, write) -> None:
    for number in range(5):
        write(f"more/{number}.md", "# Billing\n\nBilling, billing, billing: all about billing.\n")
    assert notes("index").code == 0
    for name in ("billing", "billing.md", "docs/billing.md", "Docs/Billing"):
        for mode in ("hybrid", "fulltext"):
            run = notes("search", name, "--mode", mode)
            assert run.out.splitlines()[1].startswith("  docs/billing.md:"), (name, mode)


@pytest.mark.parametrize("name", ["kettle", "Kettle.md", "docs/kettle", "[[kettle]]", "boiler"])
def test_a_note_is_known_by_its_name(notes, name: str) -> None:
    assert "note:docs/kettle.md" in notes("show", name).out
    assert "docs/billing.md" in notes("graph", "show", name).out
    assert notes("context", "--file", name).code in (0, 1)
    assert "note:docs/kettle.md" in notes("pin", name).out


def test_a_name_of_several_files_is_refused(notes, write) -> None:
    write("plans/kettle.md", "# Plan\n\nBuy one.\n")
    assert notes("index").code == 0
    run = notes("show", "kettle")
    assert run.code == 2
    assert "several files end in kettle: docs/kettle.md, plans/kettle.md" in run.err
    assert "note:plans/kettle.md" in notes("show", "plans/kettle").out


def test_links_carry_their_sentence(notes) -> None:
    edges = json.loads(notes("graph", "show", "billing", "--json").out)["edges"]
    assert edges[0]["sentence"] == "See billing for what it costs."
    assert "See billing for what it costs." in notes("graph", "show", "billing").out


def test_metadata_is_a_filter(notes) -> None:
    run = notes("search", "page", "--meta", "status=Draft", "-l", "--min-score", "0")
    assert "docs/kettle.md" not in run.out.split()
    assert "docs/billing.md" in run.out.split()
    assert notes("search", "kettle", "--meta", "tags=kitchen", "-l").out.split() == [
        "docs/kettle.md"
    ]
    assert notes("search", "kettle", "--meta", "status").code == 2
    assert notes("search", "kettle", "--meta", "status!=Draft").code == 2
    run = notes("search", "kettle", "--meta", "draft=true")
    assert run.code == 1
    assert "nothing for 'kettle' with --meta" in run.err


@pytest.fixture
def repo_with_commit(space: Path) -> Path:
    def git(*words: str) -> None:
        names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *names, *words], cwd=space, check=True, capture_output=True)

    git("init", "-q")
    for subject in ("feat(brew): zymurgy by the book", "fix(brew): zymurgy without foam"):
        git("commit", "-q", "--allow-empty", "-m", subject)
    return space
