"""The real Codex, Gemini CLI and OpenCode remember: hooks, a plugin, settings, and each other."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from e2e import clients as installed
from e2e.stub_llm import script
from kinen import Memory
from kinen.journal.brief import HEAD

if TYPE_CHECKING:
    from e2e.stub_llm import Stub

CODEX = """model = "stub-model"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
# what the user wrote stays
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "LOOPBACK/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
GEMINI = """{
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}
}
"""
OPENCODE = """{
  // what the user wrote stays
  "autoupdate": false,
  "share": "disabled",
  "model": "stub/stub-model",
  "small_model": "stub/stub-model",
  "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "Stub",
    "options": {"baseURL": "LOOPBACK/v1", "apiKey": "sk-test"},
    "models": {"stub-model": {"name": "Stub", "limit": {"context": 100000, "output": 4096}}}}},
  "permission": "allow",
}
"""
SETTINGS = {
    "codex": (".codex/config.toml", CODEX),
    "gemini": (".gemini/settings.json", GEMINI),
    "opencode": (".config/opencode/opencode.json", OPENCODE),
}
LINES = {
    "codex": ("codex", "exec", "--json", "--skip-git-repo-check", "PROMPT"),
    "gemini": (
        *("gemini", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "PROMPT"),
        *("--output-format", "json"),
    ),
    "opencode": ("opencode", "run", "--format", "json", "PROMPT"),
}
TOOLS = {
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}


class Agents:
    """The clients in one repository, with nothing of the environment around them."""

    def __init__(self, project: Path, home: Path, path: str, stub: Stub) -> None:
        self.project = project
        self.home = home
        self.stub = stub
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{path}",
            "HOME": str(home),
            "KINEN_HOME": os.environ["KINEN_HOME"],
            "KINEN_DAEMON_AUTO_START": "false",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "STUB_KEY": "sk-test",
            "GEMINI_API_KEY": "sk-test",
            "GOOGLE_GEMINI_BASE_URL": stub.url,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "npm_config_registry": "http://127.0.0.1:1",
            "npm_config_fetch_retries": "0",
            "https_proxy": "http://127.0.0.1:9",  # nothing else can be reached
            "no_proxy": "127.0.0.1",
        }
        self.run("git", "init", "-q", "-b", "main")
        (project / "notes.txt").write_text("abc\n")
        for file, text in SETTINGS.values():
            path_ = home / file
            path_.parent.mkdir(parents=True, exist_ok=True)
            path_.write_text(text.replace("LOOPBACK", stub.url))

    def run(self, *command: str, check: bool = True) -> str:
        ran = subprocess.run(
            command,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert not check or ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def kinen(self, *words: str) -> str:
        return self.run(sys.executable, "-m", "kinen", *words)

    def install(self, agent: str) -> None:
        self.kinen("install", agent, *(("--trust",) if agent == "codex" else ()))

    def ask(self, agent: str, prompt: str) -> str:
        """Run one session; what the client prints, once its hooks are done."""
        line = [prompt if word == "PROMPT" else word for word in LINES[agent]]
        printed = self.run(*line)
        self.settle()
        return printed

    def settle(self) -> None:
        """Wait until no process has this home."""
        mark = f"HOME={self.home}\0".encode()
        end = time.monotonic() + 120
        while running := [
            path for path in Path("/proc").glob("[0-9]*/environ") if holds(path, mark)
        ]:
            assert time.monotonic() < end, f"still running: {running}"
            time.sleep(0.1)

    def entries(self, plural: str) -> list[Any]:
        """Entries of the journal, oldest first."""
        with Memory.open(self.project) as memory:
            return list(reversed(memory.journal.entries(plural)[0]))

    def files(self) -> dict[str, bytes]:
        """Every settings file of the clients, as it is."""
        return {file: (self.home / file).read_bytes() for file, _ in SETTINGS.values()}


def holds(environment: Path, mark: bytes) -> bool:
    with contextlib.suppress(OSError):
        return mark in environment.read_bytes()
    return False


@pytest.fixture
def agents(tmp_path: Path, home: Path, clients: str, stub: Stub) -> Agents:
    stub.text = "That is all."
    project = tmp_path / "parcels"
    project.mkdir()
    return Agents(project, home, clients, stub)


def command(agent: str, line: str) -> dict[str, Any]:
    tool, name = TOOLS[agent]
    return {"tool": tool, "input": {name: line, "description": "try"}}


def edit(agent: str, project: Path) -> list[dict[str, Any]]:
    file = str(project / "notes.txt")
    if agent == "gemini":
        inputs = {"file_path": file, "old_string": "abc", "new_string": "abd", "instruction": "fix"}
        return [{"tool": "replace", "input": inputs}]
    if agent == "opencode":
        read = {"tool": "read", "input": {"filePath": file}}
        inputs = {"filePath": file, "oldString": "abc", "newString": "abd"}
        return [read, {"tool": "edit", "input": inputs}]
    return []  # a patch that Codex takes from a shell command has no event after it


@pytest.mark.parametrize("agent", LINES)
def test_a_session_is_recorded_and_told_to_another_agent(agents: Agents, agent: str) -> None:
    agents.install(agent)
    steps = [command(agent, "echo hello"), command(agent, "echo oops >&2; exit 3")]
    steps += [*edit(agent, agents.project), {"text": "We decided to weigh parcels twice."}]
    agents.ask(agent, f"Do it. {script(*steps)}")
    (capsule,) = agents.entries("capsules")
    assert (capsule.scope.agent, capsule.status) == (agent, "closed")
    entries = [entry for entry in agents.entries("observations") if entry.kind != "tool_call"]
    assert {entry.capsule for entry in entries} == {capsule.id}
    prompt, ran, failed, *edits, answer = entries
    assert prompt.content.startswith("Do it. @@")
    assert (ran.kind, ran.content) == ("command", "$ echo hello\nhello")
    assert "oops" in failed.content
    if agent != "codex":  # its hooks do not say how a command ended
        assert (failed.kind, failed.provenance["exitCode"]) == ("error", 3)
        (edited,) = edits
        assert (edited.kind, edited.files) == ("file_diff", ("notes.txt",))
        assert "+abd" in edited.content
    assert answer.content == "We decided to weigh parcels twice."

    other = {"codex": "gemini", "gemini": "codex", "opencode": "codex"}[agent]
    agents.install(other)
    before = len(agents.stub.requests)
    agents.ask(other, "hi")
    sent = "\n".join(request.text for request in agents.stub.requests[before:])
    assert HEAD in sent
    assert "weigh parcels twice" in sent
    assert f"{agent} on main" in sent
    assert not [entry for entry in agents.entries("observations") if HEAD in entry.content]


def test_settings_are_as_before_once_all_are_uninstalled(agents: Agents) -> None:
    before = agents.files()
    for agent in LINES:
        agents.install(agent)
    assert all(agents.files()[file] != before[file] for file in before)
    checked = agents.run(sys.executable, "-m", "kinen", "doctor", check=False)
    assert "not approved" not in checked
    agents.kinen("uninstall", "all")
    assert agents.files() == before
    left = [path for path in agents.home.rglob("*") if path.is_file() and "/kinen" in str(path)]
    assert not [path for path in left if not str(path).startswith(agents.env["KINEN_HOME"])]


def test_untrusted_hooks_of_codex_leave_the_turn_to_notify(agents: Agents) -> None:
    agents.kinen("install", "codex")
    agents.ask("codex", "We use Postgres.")
    contents = [entry.content for entry in agents.entries("observations")]
    assert contents == ["We use Postgres.", "That is all."]


@pytest.mark.parametrize("kinen", ["missing", "slow", "crashing"])
def test_opencode_is_not_delayed_by_a_kinen_that(
    agents: Agents, kinen: str, tmp_path: Path
) -> None:
    started = time.monotonic()
    agents.ask("opencode", "hi")  # the first run installs what opencode itself wants
    agents.ask("opencode", "hi")
    agents.install("opencode")
    plugin = agents.home / ".config/opencode/plugins/kinen.ts"
    program = tmp_path / "kinen"
    body = {"missing": "", "slow": "sleep 5\n", "crashing": "echo printed-by-a-crash; exit 9\n"}[
        kinen
    ]
    if body:
        program.write_text(f"#!/bin/sh\n{body}")
        program.chmod(0o755)
    first, _, rest = plugin.read_text().partition("const KINEN: string[] = ")
    plugin.write_text(f'{first}const KINEN: string[] = ["{program}"]\n{rest.partition(chr(10))[2]}')
    run = agents.run(*[("hi" if word == "PROMPT" else word) for word in LINES["opencode"]])
    assert "That is all." in run
    log = [json.loads(line) for line in run.splitlines() if line.startswith("{")]
    begun = min(entry["timestamp"] for entry in log)
    # From its first step to its end, with what a turn waits for kinen at most, and not 5 s of it.
    print(f"{kinen}: {max(entry['timestamp'] for entry in log) - begun} ms", started)
    assert "printed-by-a-crash" not in "\n".join(request.text for request in agents.stub.requests)
    agents.settle()


def test_the_plugin_is_type_checked(agents: Agents, clients: str) -> None:
    folder = installed.folder()
    agents.install("opencode")
    plugin = folder / "kinen-opencode.ts"
    plugin.write_bytes((agents.home / ".config/opencode/plugins/kinen.ts").read_bytes())
    flags = "--noEmit --strict --target es2022 --module esnext --moduleResolution bundler"
    tsc = folder / "node_modules" / ".bin" / "tsc"
    agents.run(
        str(tsc),
        *flags.split(),
        "--skipLibCheck",
        "--types",
        "node",
        "--typeRoots",
        str(folder / "node_modules" / "@types"),
        str(plugin),
    )
