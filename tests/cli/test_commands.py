"""Every command as a person or a script uses it: real processes, exit codes, output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def ready(space: Path, write, kinen):
    """A small indexed space."""
    write("notes/redis.md", "# Redis\n\nWe dropped Redis: failovers lost writes. See [[oncall]].\n")
    write("notes/oncall.md", "# On call\n\nPage Mira first. The [[runbook]] is missing.\n")
    write("sessions/20260101-01-auth/rounds/01-tokens.md", "# Tokens\n\nTokens live an hour.\n")
    assert kinen("index").code == 0
    return kinen


def one_line(text: str) -> bool:
    return len(text.strip().splitlines()) == 1


def test_init_registers_writes_a_config_and_can_be_repeated(tmp_path: Path, kinen) -> None:
    root = tmp_path / "fresh"
    first = kinen("init", str(root), "--name", "fresh", "--template", "research", cwd=tmp_path)
    assert first.code == 0, first.err
    config = (root / ".kinen" / "config.yml").read_text()
    assert "name: fresh" in config
    assert (root / "resources" / "papers").is_dir()
    again = kinen("init", str(root), cwd=tmp_path)
    assert again.code == 0
    assert (root / ".kinen" / "config.yml").read_text() == config
    assert "fresh" in kinen("space", "list", cwd=tmp_path).out
    assert kinen("search", "anything", "--space", "fresh", cwd=tmp_path).code == 1


def test_search_prints_title_place_and_passage_and_exits_like_grep(ready) -> None:
    results = ready("search", "--fulltext", "dropped redis")
    assert results.code == 0
    title, where, passage = results.out.splitlines()[:3]
    assert title == "Redis"
    assert where.startswith("  notes/redis.md:3 · ")
    assert "dropped Redis" in passage
    assert ready("search", "--fulltext", "zebra").code == 1
    assert ready("search", "--fulltext", "zebra").out == ""
    assert ready("search", "redis", "-l").out.splitlines()[0] == "notes/redis.md"


def test_search_speaks_the_documented_json(ready) -> None:
    answer = json.loads(ready("search", "--hybrid", "redis", "failover", "--json", "-C", "1").out)
    assert list(answer) == ["query", "mode", "results", "notes"]
    hit = answer["results"][0]
    keys = ["chunk", "source", "context", "score", "strength", "match_type", "votes"]
    assert list(hit) == keys
    assert {"content", "start_line", "end_line", "page"} <= set(hit["chunk"])
    assert {"ref", "path", "type", "title", "metadata"} <= set(hit["source"])
    assert set(hit["context"]) == {"before", "after"}
    assert hit["match_type"] == "hybrid"
    assert all(set(vote) == {"retriever", "rank", "score", "share"} for vote in hit["votes"])
    assert sum(vote["share"] for vote in hit["votes"]) == pytest.approx(hit["score"], abs=2e-6)


def test_the_same_question_gives_the_same_bytes(ready) -> None:
    assert ready("search", "tokens", "--json").out == ready("search", "tokens", "--json").out


def test_the_fast_path_and_click_agree(ready) -> None:
    plain = ready("search", "--fulltext", "-n", "2", "redis", "tokens")
    through_click = ready("search", "-n2", "--fulltext", "redis", "tokens")
    assert plain.out == through_click.out
    assert plain.code == through_click.code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("search", ""),
        ("search", "x", "--mode", "magic"),
        ("search", "x", "--limit", "many"),
        ("search", "x", "--limit", "-1"),
        ("search", "x", "--since", "soon"),
        ("search", "x", "--type", "cats"),
        ("search", "x", "--semantic", "--fulltext"),
        ("search", "x", "--space", "nowhere"),
        ("search", "x", "--colour"),
        ("serach", "x"),
        ("show", "no/such.md"),
        ("show", "../outside.md"),
        ("config", "get", "index.chunksize"),
        ("config", "set", "index.chunk_size", "huge"),
        ("resources", "add", "nowhere.pdf"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_line_that_says_what_to_do(ready, words: tuple[str, ...]) -> None:
    ran = ready(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert one_line(ran.err)
    assert ran.err.startswith("kinen: ")
    assert " · " in ran.err


def test_a_broken_config_is_one_line_with_the_place(space: Path, kinen, write) -> None:
    write(".kinen/config.yml", "index: [\n")
    ran = kinen("search", "x")
    assert ran.code == 2
    assert one_line(ran.err)
    assert "config.yml" in ran.err
    write(".kinen/config.yml", "index:\n  chunksize: 3\n")
    assert "chunk_size" in kinen("status").err


def test_outside_of_any_space_the_error_says_how_to_make_one(tmp_path: Path, kinen) -> None:
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    ran = kinen("search", "x", cwd=lonely)
    assert ran.code == 2
    assert "kinen init" in ran.err


def test_status_and_index_status_tell_the_truth(ready, space: Path) -> None:
    status = json.loads(ready("status", "--json").out)
    assert status["counts"]["documents"] == 3
    assert status["counts"]["vectors"] == status["counts"]["chunks"]
    assert status["embedding"]["dimensions"] == 384
    (space / "bad.pdf").write_bytes(b"%PDF- no")
    ready("index", "--no-embed")
    index = json.loads(ready("index", "status", "--json").out)
    assert [row["path"] for row in index["skipped"]] == ["bad.pdf"]
    assert "bad.pdf" in ready("index", "status").out


def test_without_a_model_status_says_so(ready) -> None:
    ran = ready("status", KINEN_INDEX_EMBEDDING_PROVIDER="none")
    assert "full text only" in ran.out


def test_index_reports_what_it_did(ready, write) -> None:
    write("notes/new.md", "# New\n")
    report = json.loads(ready("index", "--json").out)
    assert (report["added"], report["changed"], report["unchanged"]) == (1, 0, 3)
    rebuilt = json.loads(ready("index", "--rebuild", "--json").out)
    assert (rebuilt["added"], rebuilt["embedded"]) == (4, 0)
    session = json.loads(ready("index", "rebuild", "--session", "auth", "--json").out)
    assert session["changed"] == 1


def test_show_gives_a_record_a_line_or_a_chunk(ready) -> None:
    assert "failovers lost writes" in ready("show", "notes/redis.md").out
    assert "failovers lost writes" in ready("show", "notes/redis.md:3").out
    data = json.loads(ready("show", "note:notes/redis.md#0", "--json").out)
    assert data["chunks"][0]["n"] == 0
    assert ready("show", "notes/redis.md:999").code == 2


def test_graph_shows_links_broken_ones_and_drawings(ready) -> None:
    around = ready("graph", "show", "notes/redis.md").out
    assert "notes/oncall.md" in around
    assert ready("graph", "broken").out == "notes/oncall.md:3: runbook\n"
    assert '"notes/redis.md" -> "notes/oncall.md"' in ready("graph", "export").out
    assert "-->" in ready("graph", "export", "--format", "mermaid").out
    edges = json.loads(ready("graph", "export", "--format", "json").out)["edges"]
    assert [edge["target"] for edge in edges] == ["note:notes/oncall.md"]


def test_a_resource_that_cannot_be_read_is_not_copied(ready, space: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    run = ready("resources", "add", str(broken), "--tag", "x")
    assert run.code == 2
    assert "broken.pdf was not added: " in run.err
    assert not (space / "resources" / "papers" / "broken.pdf").exists()
    assert ready("resources", "list").code == 1


def test_resources_are_added_tagged_listed_and_found(ready, tmp_path: Path) -> None:
    paper = tmp_path / "attention.txt"
    paper.write_text("Attention is all you need. Positional encodings are sinusoids.\n")
    added = ready(
        "resources", "add", str(paper), "--to", "papers", "--tag", "ml", "--note", "classic paper"
    )
    assert added.out == "added resources/papers/attention.txt\n"
    assert "attention.txt" in ready("resources", "list").out
    assert "papers/attention.txt" in ready("resources", "search", "positional").out
    assert "papers/attention.txt" in ready("search", "--fulltext", "classic", "--tag", "ml").out
    assert ready("resources", "add", str(paper), "--to", "papers").code == 0
    paper.write_text("something else")
    assert ready("resources", "add", str(paper), "--to", "papers").code == 2
    assert ready("resources", "add", str(paper), "--to", "../..").code == 2


def test_config_is_shown_set_and_its_place_told(ready, space: Path) -> None:
    assert ready("config", "set", "search.default_limit", "1").code == 0
    assert ready("config", "get", "search.default_limit").out == "1\n"
    assert "search.default_limit: 1" in ready("config", "show").out
    assert len(json.loads(ready("search", "e", "tokens", "redis", "--json").out)["results"]) == 1
    assert str(space / ".kinen" / "config.yml") in ready("config", "path").out


def test_a_cloned_config_is_not_obeyed_until_trusted(ready, write) -> None:
    write(
        ".kinen/config.yml",
        "index:\n  embedding_provider: ollama\n  embedding_endpoint: http://127.0.0.1:1\n",
    )
    status = ready("status").out
    assert "kinen trust" in status
    assert "onnx" in status
    assert ready("trust").code == 0
    assert json.loads(ready("status", "--json").out)["embedding"]["provider"] == "ollama"
    fallback = ready("search", "redis")
    assert fallback.code == 0
    assert "full text only" in fallback.err
    assert ready("trust", "--revoke").code == 0
    assert json.loads(ready("status", "--json").out)["embedding"]["provider"] == "onnx"


def test_several_spaces_are_searched_together(ready, tmp_path: Path, kinen) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "tea.md").write_text("# Tea\n\nRedis is also a kind of tea here.\n")
    assert kinen("init", str(other), "--name", "other").code == 0
    assert ready("init", ".", "--name", "first").code == 0
    left_out = ready("search", "redis", "--space", "all")
    assert "other: not indexed yet · run `kinen index --space other`" in left_out.err
    assert kinen("index", "--space", "other").code == 0
    answer = json.loads(ready("search", "redis", "--space", "all", "--json").out)
    assert {hit["source"]["space"] for hit in answer["results"]} == {"first", "other"}
    both = ready("search", "redis", "--space", "first", "--space", "other")
    assert f"{other / 'tea.md'}:3" in both.out


def test_spaces_are_listed_named_and_removed(ready, space: Path) -> None:
    ready("init", ".", "--name", "mine")
    assert ready("space", "current").out.startswith("mine  ")
    assert ready("space", "alias", "mine", "m").code == 0
    assert ready("search", "redis", "--space", "m", cwd=Path("/")).code == 0
    assert ready("space", "remove", "mine").code == 0
    assert ready("space", "list").code == 1
    assert (space / "notes" / "redis.md").exists()


def test_doctor_finds_what_is_wrong_and_names_the_remedy(ready, space: Path) -> None:
    assert ready("doctor").code == 0, ready("doctor").out
    (space / "bad.pdf").write_bytes(b"%PDF- no")
    ready("index", "--no-embed")
    sick = ready("doctor")
    assert sick.code == 1
    assert "kinen index status" in sick.out
    findings = json.loads(ready("doctor", "--json").out)["findings"]
    assert {"what", "fine", "said", "mend"} == set(findings[0])


def test_the_demo_asks_three_questions_and_explains(kinen, tmp_path: Path) -> None:
    ran = kinen("demo", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.out.count("$ kinen search --explain") == 3
    meaning = ran.out.split("stickers with nothing on them")[1]
    assert "notes/oncall.md" in meaning.splitlines()[3]
    assert "= 0." in ran.out


def test_a_pipe_that_closes_early_is_no_error(ready, space: Path) -> None:
    kinen = f"{sys.executable} -m kinen"
    run = subprocess.run(
        ["bash", "-c", f"{kinen} search redis tokens --json | head -1; exit ${{PIPESTATUS[0]}}"],
        cwd=space, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0
    assert "Traceback" not in run.stderr


def test_completion_knows_commands_and_options(ready) -> None:
    words = {"COMP_WORDS": "kinen se", "COMP_CWORD": "1", "_KINEN_COMPLETE": "bash_complete"}
    assert "search" in ready(**words).out
    words = {
        "COMP_WORDS": "kinen search --fu",
        "COMP_CWORD": "2",
        "_KINEN_COMPLETE": "bash_complete",
    }
    assert "--fulltext" in ready(**words).out
    if shutil.which("bash"):
        assert "_KINEN_COMPLETE" in ready("completion", "bash").out


def test_colours_are_for_terminals_only(ready, space: Path) -> None:
    script = shutil.which("script")
    assert "\033[" not in ready("search", "redis", NO_COLOR="").out
    if script and sys.platform == "linux":
        command = f"{sys.executable} -m kinen search redis"
        env = {**os.environ, "NO_COLOR": "", "TERM": "xterm"}
        run = subprocess.run(
            [script, "-qec", command, "/dev/null"],
            cwd=space,
            env=env,
            capture_output=True,
            text=True,
        )
        assert "\033[" in run.stdout


def test_overview_lists_every_command_and_version_is_told(kinen) -> None:
    from kinen import __version__
    from kinen.cli.run import DAILY
    from kinen.verbs.catalogue import COMMANDS, names

    overview = kinen("help", "all").out
    listed = [
        line.split()[0] for line in overview.split("Examples:")[0].splitlines() if "  " in line
    ]
    assert [name for name in listed if name in names()] == [name for _, name, _, _ in COMMANDS]
    assert len(COMMANDS) < 33
    assert len(DAILY) == 10
    daily = kinen("--help").out
    assert [line.split()[0] for line in daily.splitlines()[5:15]] == list(DAILY)
    assert "help all" in daily
    assert kinen().out == daily
    assert kinen("--version").out == f"kinen {__version__}\n"


def test_an_unknown_command_suggests_the_nearest(kinen) -> None:
    assert "did you mean `kinen search`?" in kinen("serach").err


def test_a_service_that_is_down_costs_vectors_and_nothing_else(space: Path, kinen, write) -> None:
    write("a.md", "# Tea\n\nThe kettle is on.\n")
    down = {
        "KINEN_INDEX_EMBEDDING_PROVIDER": "ollama",
        "KINEN_INDEX_EMBEDDING_ENDPOINT": "http://127.0.0.1:1",
    }
    first = kinen("search", "kettle", **down)
    assert first.code == 0
    assert "full text only" in first.err
    index = kinen("index", **down)
    assert index.code == 2
    assert "embedding stopped" in index.err
    assert kinen("status", **down).code == 0
    assert kinen("doctor", **down).code == 1


def test_a_folder_of_markdown_is_searched_without_any_set_up(tmp_path: Path, kinen) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    result = kinen("search", "kettle", cwd=notes)
    assert result.code == 0
    assert "\n  tea.md:3 · " in result.out
    assert kinen("space", "current", cwd=notes).out.startswith("notes  ")


@pytest.mark.parametrize(
    "words", [("status",), ("index", "status"), ("doctor",), ("graph", "broken")]
)
def test_a_space_that_was_never_indexed_can_be_looked_at(
    tmp_path: Path, kinen, words: tuple[str, ...]
) -> None:
    root = tmp_path / "fresh"
    assert kinen("init", str(root), cwd=tmp_path).code == 0
    looked = kinen(*words, cwd=root)
    assert looked.code in (0, 1), looked.err
    assert looked.err == "" or looked.err.startswith("note: no broken links: ")


def test_doctor_is_content_with_vectors_that_were_switched_off(kinen, space: Path) -> None:
    for number in range(80):
        (space / f"note{number}.md").write_text(f"# Note {number}\n\nThe kettle whistles.\n")
    assert kinen("index", "--no-embed").code == 0
    ran = kinen("doctor")
    assert ran.code == 0
    assert "off since `kinen index --no-embed`" in ran.out


def test_one_file_that_cannot_be_read_is_one_file(space: Path, kinen) -> None:
    (space / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    assert "note: 1 file could not be read in full" in kinen("index", "--no-embed").err
    assert "1 file could not be read" in kinen("status").out
