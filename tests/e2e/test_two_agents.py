"""One agent works, another is told: the real Claude Code, then the real Codex."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from e2e.stub_llm import script
from e2e.test_claude_sessions import Claude

if TYPE_CHECKING:
    from e2e.stub_llm import Stub

CONFIG = """
model = "stub"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.kinen]
command = "{python}"
args = ["-m", "kinen", "mcp"]
required = true
startup_timeout_sec = 120

[mcp_servers.kinen.env]
KINEN_HOME = "{kinen_home}"
KINEN_DAEMON_AUTO_START = "false"

[projects."{project}"]
trust_level = "trusted"
"""


class Codex:
    """Codex in a home of its own, with kinen as an MCP server, in the project of another agent.

    The server is required: otherwise Codex asks its model before the server has listed its tools.
    """

    def __init__(self, project: Path, home: Path, clients: str, stub: Stub) -> None:
        self.project = project
        self.stub = stub
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{clients}",
            "HOME": str(home),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "STUB_KEY": "sk-test",
            "https_proxy": "http://127.0.0.1:9",  # nothing else can be reached
            "no_proxy": "127.0.0.1",
        }
        values = {"url": stub.url, "python": sys.executable, "project": project}
        config = CONFIG.format(**values, kinen_home=os.environ["KINEN_HOME"])
        (home / ".codex").mkdir(parents=True)
        (home / ".codex" / "config.toml").write_text(config)

    def run(self, prompt: str) -> list[dict[str, Any]]:
        """What Codex reports of a prompt, an event per line."""
        ran = subprocess.run(
            ["codex", "exec", "--json", prompt],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "parcels"
    folder.mkdir()
    return folder


@pytest.fixture
def claude(project: Path, home: Path, clients: str, stub: Stub) -> Claude:
    return Claude(project, home, clients, stub)


@pytest.fixture
def codex(project: Path, tmp_path: Path, clients: str, stub: Stub) -> Codex:
    return Codex(project, tmp_path / "codex home", clients, stub)


OUTCOME = (
    "Fixed: the scale reports grams and the form reads kilos. "
    "We decided to store grams everywhere, because the carrier bills by gram.\n\n"
    "Next: convert the old orders."
)


def test_what_claude_code_did_is_told_to_codex(claude: Claude, codex: Codex) -> None:
    claude.kinen("install", "claude-code")
    steps = (
        {"tool": "Bash", "input": {"command": "echo 'weights differ by 1000' >&2; exit 1"}},
        {"tool": "Write", "input": {"file_path": f"{claude.project}/scale.py", "content": "G\n"}},
        {"text": OUTCOME},
    )
    claude.says(f"Parcels weigh too much. {script(*steps)}")

    tools = [
        {"tool": "kinen_handoff", "namespace": "mcp__kinen", "input": {}},
        {
            "tool": "kinen_recall",
            "namespace": "mcp__kinen",
            "input": {"query": "which unit do we store weights in"},
        },
        {"text": "I will convert the old orders."},
    ]
    before = len(codex.stub.requests)
    events = codex.run(f"Go on with the parcels. {script(*tools)}")
    calls = [event["item"] for event in events if event["type"] == "item.completed"]
    statuses = {call["tool"]: call["status"] for call in calls if call["type"] == "mcp_tool_call"}
    assert statuses == {"kinen_handoff": "completed", "kinen_recall": "completed"}
    outputs = [
        json.dumps(item["output"])
        for item in codex.stub.requests[-1].body["input"]
        if item["type"] == "function_call_output"
    ]
    handoff, recalled = outputs
    # As the model of the second agent reads it: what was asked, what came of it, what is next.
    assert "claude-code" in handoff
    assert "Parcels weigh too much." in handoff
    assert "the scale reports grams and the form reads kilos" in handoff
    assert "convert the old orders" in handoff
    assert "store grams everywhere" in recalled
    assert len(codex.stub.requests) - before == len(tools)
