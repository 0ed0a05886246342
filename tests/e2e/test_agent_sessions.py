"""Every real client remembers: hooks, a plugin, settings, and what the others did."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from e2e.clients import folder
from e2e.machine import CLIENTS, FAILS, PLUGINS, SAYS
from e2e.stub_llm import script
from kinen.journal.brief import HEAD

if TYPE_CHECKING:
    from pathlib import Path

    from e2e.machine import Machine

OUTCOME = "We decided to weigh parcels twice, said {}."


@pytest.mark.parametrize(
    "ring",
    [
        ("codex", "qwen", "claude-code", "opencode", "codex"),
        ("codex", "copilot", "gemini", "pi", "codex"),
    ],
    ids=" ".join,
)
def test_a_session_is_recorded_and_told_to_the_next_agent(
    machine: Machine, ring: tuple[str, ...]
) -> None:
    before = ""
    for n, agent in enumerate(ring):
        if n < len(ring) - 1:
            machine.install(agent)
            machine.be_patient()
        (machine.project / "notes.txt").write_text("abc\n")
        ids = {entry.id for entry in machine.entries("observations")}
        first = len(machine.stub.requests)
        steps = [*machine.steps(agent), {"text": OUTCOME.format(agent)}]
        machine.ask(agent, f"Do it.\n{script(*steps)}")
        new = [entry for entry in machine.entries("observations") if entry.id not in ids]
        check_session(machine, agent, new)
        if before:
            sent = next(
                request.text
                for request in machine.stub.requests[first:]
                if request.body.get("tools")
            )
            parts = sent.partition(HEAD)[2].partition("/kinen-memory")[0]
            assert sent.count(HEAD) == 1, agent
            assert OUTCOME.format(before) in parts, (agent, parts)
            assert f"{before} on main" in parts, (agent, parts)
        before = agent
    assert not [entry for entry in machine.entries("observations") if HEAD in entry.content]


def check_session(machine: Machine, agent: str, entries: list[Any]) -> None:
    """A prompt, a command, one that fails, an edit and an answer are in a closed capsule."""
    assert {entry.scope.agent for entry in entries} == {agent}
    (id_,) = {entry.capsule for entry in entries}
    (capsule,) = [capsule for capsule in machine.entries("capsules") if capsule.id == id_]
    # Qwen Code reports the end of interactive sessions only.
    assert capsule.status == ("open" if agent == "qwen" else "closed"), agent
    listed = [entry for entry in entries if entry.kind != "tool_call"]
    prompt, ran, failed, *edits, answer = listed
    assert prompt.content.startswith("Do it.\n@@"), agent
    assert (ran.kind, ran.content) == ("command", f"$ {SAYS}\nhello"), agent
    late = agent == "codex"  # its hooks do not say how a command ended, but its transcript does
    failure = f"$ {FAILS}\noops" if late else f"$ {FAILS}\nExit code 3\noops"
    assert (failed.kind, failed.content) == ("error", failure), agent
    assert failed.provenance["exitCode"] == 3
    (edit,) = edits
    assert (edit.kind, edit.files) == ("file_diff", ("notes.txt",)), agent
    assert "-abc\n+abd" in edit.content, agent
    assert (machine.project / "notes.txt").read_text() == "abd\n"
    assert (answer.kind, answer.content) == ("message", OUTCOME.format(agent))


def test_agents_at_the_same_time_lose_and_double_nothing(machine: Machine) -> None:
    agents = ("claude-code", "codex", "gemini", "opencode")
    machine.install(*agents)
    machine.be_patient()
    prompts = {
        agent: f"Do it.\n{script(machine.steps(agent)[0], {'text': OUTCOME.format(agent)})}"
        for agent in agents
    }
    with ThreadPoolExecutor(len(agents)) as pool:
        list(pool.map(machine.start, prompts, prompts.values()))
    machine.settle()
    entries = machine.entries("observations")
    for agent in agents:
        contents = [entry.content for entry in entries if entry.scope.agent == agent]
        assert contents[0].startswith("Do it.\n@@"), agent
        assert contents[1:] == [f"$ {SAYS}\nhello", OUTCOME.format(agent)], agent
    assert [capsule.status for capsule in machine.entries("capsules")] == ["closed"] * 4
    first = len(machine.stub.requests)
    machine.ask("codex", "hi")
    parts = machine.stub.requests[first].text.partition(HEAD)[2].partition("/kinen-memory")[0]
    counts = {agent: parts.count(OUTCOME.format(agent)) for agent in agents}
    assert counts == dict.fromkeys(agents, 1), parts


def test_settings_are_as_before_once_all_are_uninstalled(machine: Machine) -> None:
    machine.set_up(*CLIENTS)
    before = machine.files()
    for agent, client in CLIENTS.items():
        machine.kinen("install", agent, *client.flags)
    changed = {path for path, data in machine.files().items() if data != before.get(path)}
    assert all(
        agent == "pi" or str(machine.home / client.file) in changed
        for agent, client in CLIENTS.items()
    )
    machine.kinen("uninstall", "all")
    assert machine.files() == before


def test_untrusted_hooks_of_codex_leave_the_turn_to_notify(machine: Machine) -> None:
    machine.set_up("codex")
    machine.kinen("install", "codex")
    machine.ask("codex", "We use Postgres.")
    contents = [entry.content for entry in machine.entries("observations")]
    assert contents == ["We use Postgres.", "That is all."]


@pytest.mark.parametrize("agent", ["copilot", "gemini"])
def test_doctor_knows_whether_the_hooks_of_a_project_run(machine: Machine, agent: str) -> None:
    machine.set_up(agent)
    if agent == "gemini":
        settings = machine.home / CLIENTS[agent].file
        settings.write_text(settings.read_text().replace("false", "true"))
    machine.kinen("install", agent, "--scope", "project")
    assert "folder not trusted" in machine.kinen("doctor", check=False)
    machine.ask(agent, "hi", check=False)
    assert not machine.entries("observations")
    folder = str(machine.project)
    if agent == "gemini":
        record = machine.home / ".gemini" / "trustedFolders.json"
        record.write_text(json.dumps({folder: "TRUST_FOLDER"}))
    else:
        record = machine.home / ".copilot" / "config.json"
        record.write_text(f'// managed\n{{"trustedFolders": {json.dumps([folder])}}}')
    assert "not trusted" not in machine.kinen("doctor", check=False)
    machine.ask(agent, "hi")
    assert [entry.content for entry in machine.entries("observations")] == ["hi", "That is all."]


def test_hooks_of_claude_code_that_copilot_runs_too_keep_nothing_twice(machine: Machine) -> None:
    machine.install("copilot")
    machine.kinen("install", "claude-code", "--scope", "project")
    machine.ask("copilot", f"Do it.\n{script(*machine.steps('copilot'))}", "--trust-folder")
    kinds = [entry.kind for entry in machine.entries("observations")]
    assert kinds == ["message", "command", "error", "file_diff", "message"]
    assert {entry.scope.agent for entry in machine.entries("observations")} == {"copilot"}


KINENS = {
    "missing": "",
    "crashing": "echo printed-by-a-crash; exit 9",
    "hanging": "date +%s.%N >>begun; while [ ! -e release ]; do sleep 0.1; done; echo >>ended",
}


def test_a_turn_of_opencode_ends_whatever_kinen_does(machine: Machine, tmp_path: Path) -> None:
    machine.install("opencode")
    plugin = machine.home / PLUGINS["opencode"]
    begin, mark, rest = plugin.read_text().partition("const KINEN: string[] = ")
    program = tmp_path / "kinen"
    plugin.write_text(f"{begin}{mark}{json.dumps([str(program)])}\n{rest.partition(chr(10))[2]}")
    for kinen, line in KINENS.items():
        if line:
            program.write_text(f"#!/bin/sh\ncd {tmp_path}\n{line}\n")
            program.chmod(0o755)
        before = len(machine.stub.requests)
        assert "That is all." in machine.start("opencode", "hi there"), kinen
        requests = machine.stub.requests[before:]
        assert not [request for request in requests if "printed-by-a-crash" in request.text]
    # All hooks of the turn that is over still run: it waited for none of them to end.
    hooks = [float(line) for line in (tmp_path / "begun").read_text().split()]
    assert len(hooks) >= 3
    assert not (tmp_path / "ended").exists()
    (tmp_path / "release").touch()
    print(f"{min(request.at for request in requests) - hooks[0]:.2f} s before the first request")
    machine.settle()


def test_the_plugins_are_type_checked(machine: Machine) -> None:
    flags = "--noEmit --strict --target es2022 --module esnext --moduleResolution bundler"
    modules = folder() / "node_modules"
    types = ("--skipLibCheck", "--types", "node", "--typeRoots", str(modules / "@types"))
    for agent, path in PLUGINS.items():
        machine.kinen("install", agent)
        plugin = folder() / f"kinen-{agent}.ts"
        text = (machine.home / path).read_text()
        if agent == "kilo":  # it has the plugin of OpenCode, whose types it forked
            text = text.replace("@opencode-ai/plugin", "@kilocode/plugin")
        plugin.write_text(text)
        machine.run(str(modules / ".bin" / "tsc"), *flags.split(), *types, str(plugin))


def test_turns_of_codex_are_told_as_they_ended(machine: Machine) -> None:
    machine.install("codex")
    code = machine.project / "a.py"
    code.write_text("x = 1\n")
    for words in ("config user.name A", "config user.email a@b.c", "add -A", "commit -qm init"):
        machine.run("git", *words.split())
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 8\n*** End Patch"
    commands = (
        "python3 -c 'import nosuch' 2>/dev/null",
        "git commit -qm 'fix: x is 9' 2>&1 >/dev/null",
        f"apply_patch <<'EOF'\n{patch}\nEOF\n",
    )
    steps = [{"tool": "exec_command", "input": {"cmd": line}} for line in commands]
    machine.ask("codex", f"Write the changelog {script(*steps, {'text': 'It is written.'})}")
    resumed = ("codex", "exec", "resume", "--last", "--json", "--skip-git-repo-check")
    for prompt in ("Now translate it", "Now print it"):
        machine.run(*resumed, prompt, **machine.variables("codex"))
        machine.settle()

    entries = machine.entries("observations")
    prompt, missing, refused, edit, answer, *turns = entries
    assert prompt.content.startswith("Write the changelog @@")
    for failed, line in ((missing, commands[0]), (refused, commands[1])):
        assert failed.kind == "error", failed
        assert failed.provenance["command"] == line
        assert failed.provenance["exitCode"] == 1
    assert (edit.kind, edit.files) == ("file_diff", ("a.py",))
    assert "-x = 1\n+x = 8" in edit.content
    assert code.read_text() == "x = 8\n"
    assert answer.content == "It is written."
    said = [entry.content for entry in turns]
    assert said == ["Now translate it", "That is all.", "Now print it", "That is all."]
    (capsule,) = machine.entries("capsules")
    assert capsule.status == "closed"
    shown = machine.kinen("session", "show")
    assert "not answered" not in shown
    assert "Next" not in shown
    assert " commit" not in shown.partition("Outcome")[2].replace("git commit", "")
    assert not machine.kinen("how", "git commit", check=False)
