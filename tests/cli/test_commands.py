"""Every command as a person or a script uses it: real processes, exit codes, output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ready(space: Path, write, kinen):
    """A small indexed space."""
    write("notes/redis.md", "# Redis\n\nWe dropped Redis: failovers lost writes. See [[oncall]].\n")
    write("notes/oncall.md", "# On call\n\nPage Mira first. The [[runbook]] is missing.\n")
    write("sessions/20260101-01-auth/rounds/01-tokens.md", "# Tokens\n\nTokens live an hour.\n")
    assert kinen("index").code == 0
    return kinen


def test_the_fast_path_and_click_agree(ready) -> None:
    plain = ready("search", "--fulltext", "-n", "2", "redis", "tokens")
    through_click = ready("search", "-n2", "--fulltext", "redis", "tokens")
    assert plain.out == through_click.out
    assert plain.code == through_click.code == 0


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


def test_a_pipe_that_closes_early_is_no_error(ready, space: Path) -> None:
    kinen = f"{sys.executable} -m kinen"
    run = subprocess.run(
        ["bash", "-c", f"{kinen} search redis tokens --json | head -1; exit ${{PIPESTATUS[0]}}"],
        cwd=space, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0
    assert "Traceback" not in run.stderr


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


def test_doctor_is_content_with_vectors_that_were_switched_off(kinen, space: Path) -> None:
    for number in range(80):
        (space / f"note{number}.md").write_text(f"# Note {number}\n\nThe kettle whistles.\n")
    assert kinen("index", "--no-embed").code == 0
    ran = kinen("doctor")
    assert ran.code == 0
    assert "off since `kinen index --no-embed`" in ran.out
