"""The plugin in the real `llm`, with its own commands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("llm", reason="make frameworks")
from kinen.frameworks import llm as plugin

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


@pytest.fixture
def folder(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    memory.observe("decision: the labels service is deployed by make ship")
    memory.close()
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.chdir(tmp_path / "space")
    return tmp_path / "space"


def test_a_fragment_is_what_the_memory_knows(folder: Path) -> None:
    fragment = plugin.fragment("how is the labels service deployed?")
    assert "make ship" in fragment
    assert fragment.source == "kinen:how is the labels service deployed?"
    assert plugin.fragment("zebras on the moon")


def test_tools_recall_and_remember(folder: Path) -> None:
    assert plugin.kinen_remember("we never deploy on Fridays") == "Stored."
    assert "Fridays" in plugin.kinen_recall("on which days do we deploy?")


def test_a_model_is_told_the_inputs_of_a_tool() -> None:
    import llm

    schema = llm.Tool.function(plugin.kinen_recall).input_schema
    assert schema["properties"]["question"]["type"] == "string"


def test_llm_finds_the_plugin(folder: Path) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "llm", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "kinen" in run("plugins")
    tools = run("tools", "list")
    assert "kinen_recall(" in tools
    assert "kinen_remember(" in tools
    assert "kinen:" in run("fragments", "loaders")


def test_a_memory_that_fails_is_an_answer(monkeypatch: pytest.MonkeyPatch, broken: object) -> None:
    monkeypatch.setattr("kinen.frameworks.history.memory_of", lambda _: broken)
    assert plugin.kinen_recall("anything") == "The memory has nothing about that."
    assert plugin.kinen_remember("anything").startswith("Not stored")
