"""The real Claude Code remembers: its hooks, its plugin, its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kinen.hooks
from e2e.machine import Machine
from e2e.stub_llm import script
from kinen.journal.brief import HEAD
from kinen.journal.start import KEEP

if TYPE_CHECKING:
    from e2e.stub_llm import Stub

PLUGIN = Path(kinen.hooks.__file__).parent / "plugin"
HOURLY = "Rotation is hourly now"


class Claude(Machine):
    """A machine with Claude Code alone."""

    def says(self, prompt: str, *flags: str) -> str:
        """What it answers to a prompt, once its session is closed in the background."""
        answer = json.loads(self.ask("claude-code", prompt, *flags))
        assert {capsule.status for capsule in self.entries("capsules")} == {"closed"}
        return str(answer["result"])

    def client(self, *words: str) -> str:
        """What a command of the client prints."""
        return self.run("claude", *words, **self.variables("claude-code"))


@pytest.fixture
def claude(tmp_path: Path, home: Path, clients: str, stub: Stub) -> Claude:
    stub.text = "That is all."
    return Claude(tmp_path / "my project", home, clients, stub)


def test_a_session_is_kept_as_it_went(claude: Claude) -> None:
    claude.kinen("install", "claude-code")
    file = str(claude.project / "out.txt")
    aside = script({"tool": "Bash", "input": {"command": "echo aside"}}, {"text": "Nothing there."})
    steps = (
        {"tool": "Bash", "input": {"command": "echo hello", "description": "say"}},
        {"tool": "Write", "input": {"file_path": file, "content": "abc\n"}},
        {"tool": "Bash", "input": {"command": "echo oops >&2; exit 3", "description": "fail"}},
        {"tool": "Edit", "input": {"file_path": file, "old_string": "abc", "new_string": "abd"}},
        {"tool": "Agent", "input": {"description": "look", "prompt": f"Look around. {aside}"}},
        {"text": "All done."},
    )
    steps[4]["input"]["subagent_type"] = "general-purpose"
    claude.says(f"Do it. {script(*steps)}")
    (capsule,) = claude.entries("capsules")
    session = capsule.scope.session
    first = claude.entries("observations")
    assert {item.capsule for item in first} == {capsule.id}
    assert {entry.scope.session for entry in first} == {session}
    assert {one.scope.agent for one in first} == {"claude-code"}
    # An agent beside the main one works on by itself: what it does may come sooner or later.
    beside = [one for one in first if "agentId" in one.provenance]
    assert sorted(value.kind for value in beside) == ["command", "node_end"]
    assert {element.content for element in beside} == {
        "$ echo aside\naside",
        "Agent: general-purpose\nNothing there.",
    }
    output = [(one.kind, one.content) for one in first if one not in beside]
    assert output[0][1].startswith("Do it. @@")
    assert output[1:5] == [
        ("command", "$ echo hello\nhello"),
        ("file_diff", "Tool: Write\nFile: out.txt\n+abc"),
        ("error", "$ echo oops >&2; exit 3\nExit code 3\noops"),
        ("file_diff", "Tool: Edit\nFile: out.txt\n@@ -1,1 +1,1 @@\n-abc\n+abd"),
    ]
    # The answer, and what it says when the other agent has ended, whose report is kept above.
    assert output[5:] == [("message", "All done."), ("message", "That is all.")]
    about = {one.content.partition("\n")[0]: one.provenance for one in first}
    assert about["$ echo hello"]["exitCode"] == 0
    assert about["$ echo oops >&2; exit 3"]["exitCode"] == 3
    assert [one.files for one in first if one.kind == "file_diff"] == [("out.txt",)] * 2
    (created,) = claude.entries("summaries")
    assert not created.written
    assert "out.txt" in created.content

    claude.says("/compact keep it short", "--continue")
    claude.says("And now?", "--continue")
    assert [one.id for one in claude.entries("capsules")] == [capsule.id]
    after = [
        (observation.kind, observation.content) for observation in claude.entries("observations")
    ][len(first) :]
    assert after == [("message", "And now?"), ("message", "That is all.")]
    # One by the client, one by kinen over all of it; the one from before it went on is void.
    written, created = sorted(claude.entries("summaries"), key=lambda summary: not summary.written)
    assert (written.written, written.content) == (True, "That is all.")
    assert created.capsule == written.capsule == capsule.id
    assert len(created.evidence) > 3


def test_what_is_learned_in_one_session_is_told_to_the_next(claude: Claude) -> None:
    claude.kinen("install", "claude-code")
    claude.says("We decided to use Postgres instead of Redis for the session store.")
    claude.kinen("plan", "save", "Ship the parcels", "- [ ] weigh them", "--activate")
    pinned = claude.kinen("log", "Deploys are on Mondays only").strip()
    claude.kinen("pin", pinned)
    before = len(claude.stub.requests)
    claude.says("hi")
    sent = claude.stub.requests[before].text
    assert sent.count(HEAD) == 1
    parts = sent.partition(HEAD)[2].partition("</kinen-memory>")[0]
    for text in ("Postgres instead of Redis", "Ship the parcels", "weigh them", "Mondays only"):
        assert text in parts
    assert not [
        observation
        for observation in claude.entries("observations")
        if "kinen-memory" in observation.content
    ]

    before = len(claude.stub.requests)
    claude.says("/compact", "--continue")
    texts = [request.text for request in claude.stub.requests[before:] if KEEP in request.text]
    assert texts
    assert "Mondays only" in texts[0]
    assert "weigh them" in texts[0]


def results(claude: Claude, since: int) -> list[str]:
    """What tools gave back, as the model reads it, each once."""
    result: dict[str, str] = {}
    for request in claude.stub.requests[since:]:
        for message in request.body.get("messages", ()):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "tool_result":
                    result.setdefault(block["tool_use_id"], json.dumps(block["content"]))
    return list(result.values())


def test_the_agent_asks_by_mcp_and_gets_what_the_command_line_gives(claude: Claude) -> None:
    claude.kinen("install", "claude-code")
    (claude.project / "tokens.md").write_text("# Tokens\n\nRefresh tokens rotate every hour.\n")
    claude.kinen("index")
    before = len(claude.stub.requests)
    request = {"query": "how do refresh tokens rotate"}
    steps = (
        {"tool": "mcp__kinen__kinen_search", "input": request},
        {"tool": "mcp__kinen__kinen_recall", "input": request},
        {"tool": "mcp__kinen__kinen_remember", "input": {"text": HOURLY, "type": "checkpoint"}},
        {"text": "Done."},
    )
    allowed = ("--allowedTools", "mcp__kinen")
    claude.says(f"Ask. {script(*steps)}", *allowed)
    searched, recalled, remaining = results(claude, before)
    line = json.loads(claude.kinen("search", request["query"], "--json"))["results"][0]
    assert line["source"]["path"] == "tokens.md"
    assert "note:tokens.md" in searched
    assert "rotate every hour" in searched
    assert "rotate every hour" in recalled
    assert "rotate every hour" in claude.kinen("recall", request["query"])
    (file,) = (claude.project / ".memories").rglob("*.md")
    assert f".memories/{file.parent.name}/{file.name}" in remaining
    assert HOURLY in claude.kinen("show", f"{file.relative_to(claude.project)}")
    # What kinen itself told the agent is nothing new.
    assert "rotate" not in str(claude.entries("observations")[1:])


def test_the_plugin_is_valid_and_beside_the_hooks_nothing_is_doubled(claude: Claude) -> None:
    for folder in (PLUGIN, PLUGIN.parents[3]):
        if (folder / ".claude-plugin").is_dir():  # the marketplace is only in the repository
            assert "Validation passed" in claude.client("plugin", "validate", str(folder))
    claude.says("We decided to weigh parcels twice, at the door.", "--plugin-dir", str(PLUGIN))
    alone = [
        (observation.kind, observation.content) for observation in claude.entries("observations")
    ]
    assert [kind for kind, _ in alone] == ["message", "message"]
    claude.kinen("install", "claude-code")
    before = len(claude.stub.requests)
    run = script({"tool": "Bash", "input": {"command": "echo once"}}, {"text": "Ran."})
    claude.says(f"Run it. {run}", "--plugin-dir", str(PLUGIN))
    both = [(item.kind, item.content) for item in claude.entries("observations")][len(alone) :]
    assert [kind for kind, _ in both] == ["message", "command", "message"]
    assert claude.stub.requests[before].text.count(HEAD) == 1
    assert len(claude.entries("capsules")) == 2


@pytest.mark.parametrize("scope", ["user", "project"])
def test_slash_commands_are_installed_with_the_hooks(claude: Claude, scope: str) -> None:
    claude.kinen("install", "claude-code", "--scope", scope)
    claude.says("/kinen:recall the weight of parcels")
    prompts = [request.text for request in claude.stub.requests]
    assert any("Recall what is known about: the weight of parcels" in text for text in prompts)


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_settings_are_as_before_once_it_is_uninstalled(claude: Claude, scope: str) -> None:
    claude.client("mcp", "add", "--scope", scope, "other", "--", "/bin/true")
    folder = claude.home if scope == "user" else claude.project
    name = "settings.local.json" if scope == "local" else "settings.json"
    settings = folder / ".claude" / name
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"permissions": {"allow": ["Bash(ls:*)"]},\n   "model": "haiku"\n}')
    servers = claude.project / ".mcp.json" if scope == "project" else claude.home / ".claude.json"
    before = settings.read_bytes(), servers.read_bytes()
    claude.kinen("install", "claude-code", "--scope", scope)
    claude.kinen("uninstall", "claude-code", "--scope", scope)
    assert (settings.read_bytes(), servers.read_bytes()) == before

    claude.kinen("install", "claude-code", "--scope", scope)
    assert "kinen" in claude.client("mcp", "get", "kinen")
    claude.says("hi")
    assert [observation.content for observation in claude.entries("observations")] == [
        "hi",
        "That is all.",
    ]
    claude.kinen("uninstall", "claude-code", "--scope", scope)
    assert settings.read_bytes() == before[0]
    after = json.loads(servers.read_text())
    assert "kinen" not in json.dumps([after.get("mcpServers"), after.get("projects")])
    if scope == "project":
        assert servers.read_bytes() == before[1]
