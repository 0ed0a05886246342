"""A home, a repository and the real clients in it, with nothing of the environment around them.

`CLIENTS` says how each is started, which settings it needs to talk to the model on loopback, and
what its tools are called.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from e2e.stub_llm import Stub

PATIENCE = 240
"""Seconds that one session, and what it leaves in the background, may take."""
KEY = "sk-test"
URL = "LOOPBACK"
"""Stands in settings and variables where the address of the model goes."""
PROMPT = "PROMPT"
FILE = "FILE"
SAYS = "echo hello; sleep 0.3"
FAILS = "echo oops >&2; sleep 0.3; exit 3"
"""They sleep because Qwen Code may miss the output of a command that ends at once."""
"""Stands in the inputs of a tool where the path of the edited file goes."""
PLUGINS = {
    "kilo": ".config/kilo/plugins/kinen.ts",
    "opencode": ".config/opencode/plugins/kinen.ts",
    "pi": ".pi/agent/extensions/kinen.ts",
}
PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: notes.txt
@@
-abc
+abd
*** End Patch
EOF
"""
CLAUDE_TOOLS = "Bash,Write,Edit,Agent,Read"
CODEX = f"""model = "stub-model"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
# what the user wrote stays
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
GEMINI = """{
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}
}
"""
OPENCODE = f"""{{
  // what the user wrote stays
  "autoupdate": false,
  "share": "disabled",
  "model": "stub/stub-model",
  "small_model": "stub/stub-model",
  "provider": {{"stub": {{"npm": "@ai-sdk/openai-compatible", "name": "Stub",
    "options": {{"baseURL": "{URL}/v1", "apiKey": "{KEY}"}},
    "models": {{"stub-model": {{
      "name": "Stub", "limit": {{"context": 100000, "output": 4096}}}}}}}}}},
  "permission": "allow",
}}
"""
QWEN = """{
  // what the user wrote stays
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"enableAutoUpdate": false},
  "tools": {"shell": {"enableInteractiveShell": false}}
}
"""
PI = f"""{{"providers": {{"stub": {{
  "baseUrl": "{URL}/v1", "api": "openai-completions", "apiKey": "{KEY}",
  "models": [{{"id": "stub-model"}}]}}}}}}
"""


class Client(NamedTuple):
    """How one client is run."""

    line: tuple[str, ...]
    shell: str
    """Its tool for commands."""
    edits: tuple[dict[str, Any], ...]
    """The uses of tools that make an edit."""
    file: str = ""
    """Its settings, below the home."""
    text: str = ""
    env: Mapping[str, str] = MappingProxyType({})
    flags: tuple[str, ...] = ()
    """What `kinen install` is asked for besides."""


def _edit(tool: str, file: str, old: str, new: str, **more: str) -> dict[str, Any]:
    return {"tool": tool, "input": {file: FILE, old: "abc", new: "abd", **more}}


CLIENTS = {
    "claude-code": Client(
        ("claude", "-p", PROMPT, "--output-format", "json", "--allowedTools", CLAUDE_TOOLS),
        "Bash",
        (
            {"tool": "Read", "input": {"file_path": FILE}},
            _edit("Edit", "file_path", "old_string", "new_string"),
        ),
        ".claude/settings.json",
        '{"permissions": {"allow": ["Bash(ls:*)"]},\n   "model": "haiku"\n}',
        {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": URL,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    ),
    # Codex itself takes a patch from a shell command.
    "codex": Client(
        ("codex", "exec", "--json", "--skip-git-repo-check", PROMPT),
        "exec_command",
        ({"tool": "exec_command", "input": {"cmd": PATCH}},),
        ".codex/config.toml",
        CODEX,
        {"STUB_KEY": KEY},
        ("--trust",),
    ),
    "copilot": Client(
        (
            *("copilot", "-p", PROMPT, "--allow-all-tools", "--disable-builtin-mcps"),
            *("--disable-client-telemetry", "--no-auto-update"),
        ),
        "bash",
        (_edit("edit", "path", "old_str", "new_str"),),
        ".copilot/mcp-config.json",
        '{"mcpServers": {}}',
        {
            "COPILOT_PROVIDER_BASE_URL": f"{URL}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "COPILOT_OFFLINE": "true",
        },
    ),
    "gemini": Client(
        (
            *("gemini", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", PROMPT),
            *("--output-format", "json"),
        ),
        "run_shell_command",
        (_edit("replace", "file_path", "old_string", "new_string", instruction="fix"),),
        ".gemini/settings.json",
        GEMINI,
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": URL},
    ),
    "opencode": Client(
        ("opencode", "run", "--format", "json", PROMPT),
        "bash",
        (
            {"tool": "read", "input": {"filePath": FILE}},
            _edit("edit", "filePath", "oldString", "newString"),
        ),
        ".config/opencode/opencode.json",
        OPENCODE,
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "npm_config_registry": "http://127.0.0.1:1",
            "npm_config_fetch_retries": "0",
        },
    ),
    "pi": Client(
        ("pi", "--provider", "stub", "--model", "stub-model", "-p", PROMPT),
        "bash",
        (
            {
                "tool": "edit",
                "input": {"path": FILE, "edits": [{"oldText": "abc", "newText": "abd"}]},
            },
        ),
        ".pi/agent/models.json",
        PI,
        {"PI_OFFLINE": "1"},
    ),
    "qwen": Client(
        ("qwen", "-p", PROMPT, "--yolo", "--output-format", "json"),
        "run_shell_command",
        (
            {"tool": "read_file", "input": {"file_path": FILE}},
            _edit("edit", "file_path", "old_string", "new_string"),
        ),
        ".qwen/settings.json",
        QWEN,
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{URL}/v1", "OPENAI_MODEL": "stub-model"},
    ),
}


class Machine:
    """One user's home, and a repository in which the clients run."""

    def __init__(self, project: Path, home: Path, path: str, stub: Stub) -> None:
        project.mkdir()
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
            "https_proxy": "http://127.0.0.1:9",  # nothing else can be reached
            "no_proxy": "127.0.0.1",
        }
        self.run("git", "init", "-q", "-b", "main")
        (project / "notes.txt").write_text("abc\n")

    def run(self, *command: str, check: bool = True, **env: str) -> str:
        """What a command prints; it has to succeed unless `check` is off."""
        ran = subprocess.run(
            command,
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert not check or ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def kinen(self, *words: str, check: bool = True) -> str:
        return self.run(sys.executable, "-m", "kinen", *words, check=check)

    def set_up(self, *agents: str) -> None:
        """Write the settings that clients need to talk to the model."""
        for agent in agents:
            client = CLIENTS[agent]
            path = self.home / client.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(client.text.replace(URL, self.stub.url))

    def install(self, *agents: str) -> None:
        """Set clients up, and connect them to the memory."""
        self.set_up(*agents)
        for agent in agents:
            self.kinen("install", agent, *CLIENTS[agent].flags)

    def be_patient(self) -> None:
        """Let plugins wait for kinen on a busy machine, where it needs longer than a turn waits."""
        for path in PLUGINS.values():
            plugin = self.home / path
            if plugin.exists():
                text = plugin.read_text()
                plugin.write_text(text.replace("PATIENCE_MS = 700", "PATIENCE_MS = 60_000"))

    def ask(self, agent: str, prompt: str, *flags: str, check: bool = True) -> str:
        """Run one session; what the client prints, once its hooks are done."""
        printed = self.start(agent, prompt, *flags, check=check)
        self.settle()
        return printed

    def start(self, agent: str, prompt: str, *flags: str, check: bool = True) -> str:
        """Run one session; what the client prints, whatever it leaves in the background."""
        line = [prompt if word == PROMPT else word for word in CLIENTS[agent].line]
        return self.run(*line, *flags, check=check, **self.variables(agent))

    def variables(self, agent: str) -> dict[str, str]:
        """What a client needs in its environment to talk to the model."""
        return {
            name: value.replace(URL, self.stub.url) for name, value in CLIENTS[agent].env.items()
        }

    def settle(self) -> None:
        """Wait until no process has this home."""
        mark = f"HOME={self.home}\0".encode()
        end = time.monotonic() + PATIENCE
        while running := [path for path in Path("/proc").glob("[0-9]*/environ") if has(path, mark)]:
            assert time.monotonic() < end, f"still running: {running}"
            time.sleep(0.05)

    def entries(self, plural: str) -> list[Any]:
        """Entries of the journal, oldest first."""
        with Memory.open(self.project) as memory:
            return list(reversed(memory.journal.entries(plural)[0]))

    def steps(self, agent: str) -> list[dict[str, Any]]:
        """What a session does: a command, one that fails, and an edit."""
        client = CLIENTS[agent]
        name = "cmd" if agent == "codex" else "command"
        more = {"is_background": False} if agent == "qwen" else {}
        steps = [
            {"tool": client.shell, "input": {name: line, "description": "try", **more}}
            for line in (SAYS, FAILS)
        ]
        file = str(self.project / "notes.txt")
        for use in client.edits:
            inputs = {key: file if value == FILE else value for key, value in use["input"].items()}
            steps.append({"tool": use["tool"], "input": inputs})
        return steps

    def files(self) -> dict[str, bytes]:
        """Every file of the home and the project, but for those of kinen and of git."""
        own = (self.env["KINEN_HOME"], str(self.project / ".git"))
        paths = (path for folder in (self.home, self.project) for path in folder.rglob("*"))
        return {
            str(path): path.read_bytes()
            for path in paths
            if path.is_file() and not str(path).startswith(own)
        }


def has(environment: Path, mark: bytes) -> bool:
    """Whether a process has something in its environment."""
    with contextlib.suppress(OSError):
        return mark in environment.read_bytes()
    return False
