"""The examples of the guide, imported with the real packages, and run where they are local."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "frameworks.md"
PACKAGES = {
    "LangGraph": "langgraph.store.base",
    "OpenAI Agents SDK": "agents.memory",
    "Claude Agent SDK": "claude_agent_sdk",
    "Google ADK": "google.adk",
    "LlamaIndex": "llama_index.core",
    "Strands Agents": "strands.memory",
}
LOCAL = ("LangGraph", "Google ADK", "LlamaIndex")
"""Examples that need neither a model nor an account."""


def example(title: str) -> str:
    section = GUIDE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 1
    return blocks[0]


@pytest.mark.parametrize("title", PACKAGES)
def test_an_example_of_the_guide_works(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(PACKAGES[title], reason="make frameworks")
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    source = example(title).replace("path/to/space", str(tmp_path))
    compile(source, title, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if title not in LOCAL:
        lines = source.splitlines()
        source = "\n".join(line for line in lines if line.startswith(("from ", "import ")))
    exec(source, {})
