"""`kinen install claude-code`: our entries in settings that are somebody else's."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinen
from kinen.errors import KinenError
from kinen.hooks import install as agents
from kinen.hooks.entries import command
from kinen.hooks.install import AGENTS, install, plugin_folder, uninstall
from kinen.hooks.jsontext import drop, put
from kinen.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable

SCOPES = ("user", "project", "local")
CLAUDE = AGENTS["claude-code"]
EVENTS = dict.fromkeys(CLAUDE.events, "") | dict(CLAUDE.matchers)
"""Each event with its tool matcher."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is a repository, with nothing of Claude Code in it."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    root = tmp_path / "my project"
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "refs").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "src").mkdir()
    return root


def files(scope: str, project: Path, home: Path) -> tuple[Path, Path]:
    """The file of hooks, and that of servers."""
    state = home / ".claude.json"
    return {
        "user": (home / ".claude" / "settings.json", state),
        "project": (project / ".claude" / "settings.json", project / ".mcp.json"),
        "local": (project / ".claude" / "settings.local.json", state),
    }[scope]


def tree(*folders: Path) -> dict[str, bytes | None]:
    """Everything below folders, but for what is kinen's own."""
    results = (path for folder in folders for path in folder.rglob("*"))
    seen = {str(result): result.read_bytes() if result.is_file() else None for result in results}
    own = os.environ["KINEN_HOME"]
    return {name: data for name, data in seen.items() if not name.startswith(own)}


HOOKED = """{
    "model": "opus",
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [
            {"type": "command", "command": "prettier --write"}
        ]}]
    },
    "ünknown": {"déep": [1, 2.50, 1e3, null]}
}
"""
TEXTS = {
    "no file": None,
    "an empty object": "{}",
    "an empty object on two lines": "{\n}\n",
    "hooks of others": HOOKED,
    "tabs": HOOKED.replace("    ", "\t"),
    "lines of Windows": HOOKED.replace("\n", "\r\n"),
    "no newline at the end": '{"hooks": {}, "mcpServers": {}}',
    "all in one line": '{"model":"opus","hooks":{"Stop":[]},"mcpServers":{"a":{"command":"b"}}}\n',
    "a mark of byte order": "\ufeff" + HOOKED,
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_uninstalled_everything_is_byte_for_byte_as_before(
    project: Path, home: Path, scope: str, text: str | None
) -> None:
    places = files(scope, project, home)
    for path in places if text is not None else ():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(str(text).encode())
    before = tree(project, home)
    assert [file.done for file in install("claude-code", scope, str(project))] == ["installed"] * 2
    hooks, servers = (json.loads(place.read_text(encoding="utf-8-sig")) for place in places)
    assert set(hooks["hooks"]) >= set(EVENTS)
    for event, groups in hooks["hooks"].items():
        ours = [group for group in groups if "kinen" in group["hooks"][0]["command"]]
        assert len(ours) == (event in EVENTS)
        assert all(our.get("matcher", "") == EVENTS[event] for our in ours)
    if scope == "local":
        servers = servers["projects"][str(project)]
    assert servers["mcpServers"]["kinen"]["args"][-1] == "mcp"
    after = tree(project, home)
    again = install("claude-code", scope, str(project / "src"))  # from anywhere in it
    assert [item.done for item in again] == ["unchanged"] * 2
    assert tree(project, home) == after
    assert [entry.done for entry in uninstall("claude-code", scope, str(project))] == [
        "removed"
    ] * 2
    assert tree(project, home) == before
    gone = uninstall("claude-code", scope, str(project))
    assert [element.done for element in gone] == ["not installed"] * 2


@pytest.mark.parametrize("text", [item for item in TEXTS.values() if item and "say done" in item])
def test_the_copy_is_not_needed_to_bring_every_byte_back(
    project: Path, home: Path, text: str
) -> None:
    settings = files("user", project, home)[0]
    settings.parent.mkdir()
    settings.write_bytes(text.encode())
    done = install("claude-code", "user", str(project))
    for item in done:
        os.unlink(item.backup)
    uninstall("claude-code", "user", str(project))
    assert settings.read_bytes() == text.encode()


def test_what_others_write_meanwhile_stays(project: Path, home: Path) -> None:
    settings, state = files("user", project, home)
    settings.parent.mkdir()
    settings.write_text(HOOKED)
    install("claude-code", "user", str(project))
    changed = json.loads(settings.read_text())
    changed["theme"] = "dark"
    changed["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "another"}]})
    # Somebody puts a hook of theirs into our group.
    changed["hooks"]["SessionEnd"][0]["hooks"].append({"type": "command", "command": "mine"})
    settings.write_text(json.dumps(changed, indent=2))
    data = json.loads(state.read_text())
    data["numStartups"] = 7
    state.write_text(json.dumps(data, indent=2))
    uninstall("claude-code", "user", str(project))
    expected = json.loads(HOOKED)
    expected["theme"] = "dark"
    expected["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "another"}]})
    expected["hooks"]["SessionEnd"] = [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert json.loads(settings.read_text()) == expected
    assert json.loads(state.read_text()) == {"numStartups": 7}


@pytest.mark.parametrize("n", [0, 1])
def test_the_settings_of_all_scopes_are_apart(project: Path, home: Path, n: int) -> None:
    before = tree(project, home)
    for scope in SCOPES:
        install("claude-code", scope, str(project))
    state = json.loads((home / ".claude.json").read_text())
    assert "kinen" in state["mcpServers"]
    assert "kinen" in state["projects"][str(project)]["mcpServers"]
    for scope in SCOPES if n else reversed(SCOPES):
        uninstall("claude-code", scope, str(project))
    assert tree(project, home) == before


@pytest.mark.parametrize(
    "broken",
    [
        *('{"a": 1,}', "", "[]", "nonsense", '{\n  // mine\n  "a": 1\n}', "\xff"),
        *('{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": "no"}}'),
    ],
)
def test_what_cannot_be_understood_is_refused_and_nothing_is_written(
    project: Path, home: Path, broken: str
) -> None:
    settings = files("user", project, home)[0]
    settings.parent.mkdir()
    settings.write_bytes(broken.encode("latin-1"))
    before = tree(project, home)
    with pytest.raises(KinenError) as error:
        install("claude-code", "user", str(project))
    assert str(settings) in error.value.message
    assert error.value.hint
    assert tree(project, home) == before
    (home / ".claude.json").write_text("{")  # the second file of the two
    settings.write_text("{}")
    with pytest.raises(KinenError):
        install("claude-code", "user", str(project))
    assert settings.read_text() == "{}"


def test_a_server_of_our_name_that_is_not_ours_is_kept(project: Path, home: Path) -> None:
    mine = '{"mcpServers": {"kinen": {"command": "node", "args": ["my-kinen.js"]}}}'
    (home / ".claude.json").write_text(mine)
    assert [file.done for file in install("claude-code", "user", str(project))][1] == "kept"
    assert (home / ".claude.json").read_text() == mine
    uninstall("claude-code", "user", str(project))
    assert (home / ".claude.json").read_text() == mine


def test_a_kinen_that_moved_replaces_its_old_entries(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = tree(project, home)
    install("claude-code", "user", str(project))
    moved = tmp_path / "my tools" / "kinen"
    moved.parent.mkdir()
    moved.write_text("#!/bin/sh\n")
    moved.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(moved)])
    assert [file.done for file in install("claude-code", "user", str(project))] == ["updated"] * 2
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    assert [len(groups) for groups in hooks.values()] == [1] * len(EVENTS)
    line = hooks["Stop"][0]["hooks"][0]["command"]
    assert shlex.split(line) == [str(moved), "hook", "claude-code"]
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["kinen"]
    assert (server["command"], server["args"]) == (str(moved), ["mcp"])
    uninstall("claude-code", "user", str(project))
    assert tree(project, home) == before


def test_without_a_script_python_runs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert command() == [str(tmp_path / "python"), "-P", "-m", "kinen"]
    monkeypatch.setenv("PATH", str(tmp_path))
    # A path of this machine says nothing on another one.
    assert command(shared=True) == ["kinen"]


def test_links_and_modes_are_kept_and_copies_are_private(project: Path, home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text(HOOKED)
    real.chmod(0o640)
    settings = files("user", project, home)[0]
    settings.parent.mkdir()
    settings.symlink_to(real)
    done = install("claude-code", "user", str(project))
    assert settings.is_symlink()
    assert "kinen" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o600
    assert Path(done[0].backup).read_text() == HOOKED
    assert all(os.stat(item.backup).st_mode & 0o777 == 0o600 for item in done)
    uninstall("claude-code", "user", str(project))
    assert (settings.is_symlink(), real.read_text()) == (True, HOOKED)
    assert "kinen" in Path(done[0].backup).read_text()  # until the next install


def test_settings_that_were_moved_are_found(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "conf"))
    paths = [file.path for file in install("claude-code", "user", str(project))]
    assert paths == [str(tmp_path / "conf/settings.json"), str(tmp_path / "conf/.claude.json")]
    assert not (home / ".claude").exists()


def test_the_command_says_what_it_does(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    tried = kinen("install", "claude-code", "--dry-run", cwd=project)
    assert tried.code == 0
    assert "would be installed" in tried.out
    assert '+      "command": ' in tried.out
    assert not (home / ".claude").exists()
    done = kinen("install", "claude-code", "--scope", "project", "--json", cwd=project)
    data = json.loads(done.out)
    assert [file["done"] for file in data["files"]] == ["installed"] * 2
    assert data["files"][0]["path"] == str(project / ".claude" / "settings.json")
    assert "removed" in kinen("uninstall", "claude-code", "--scope", "project", cwd=project).out
    assert not (project / ".claude").exists()
    wrong = kinen("install", "notepad", cwd=project)
    assert wrong.code == 2
    assert "claude-code" in wrong.err
    (project / ".mcp.json").write_text("{")
    wrong = kinen("install", "claude-code", "--scope", "project", cwd=project)
    assert wrong.code == 2
    assert ".mcp.json is not valid JSON" in wrong.err
    folder = kinen("install", "claude-code", "--plugin-dir", cwd=project).out.strip()
    assert folder == plugin_folder("claude-code")


COMMANDS = ("checkpoint.md", "handoff.md", "memory.md", "recall.md")


def commands_folder(scope: str, project: Path, home: Path) -> Path:
    return (home if scope == "user" else project) / ".claude" / "commands" / "kinen"


def written(kinen: Callable[..., Any], command: str, scope: str, project: Path) -> list[str]:
    """What a command says that it did to each slash command."""
    line = (command, "claude-code", "--scope", scope, "--json")
    return [row["done"] for row in json.loads(kinen(*line, cwd=project).out)["commands"]]


@pytest.mark.parametrize("existing", [None, ".claude", ".claude/commands"])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_slash_commands_come_and_go_with_the_settings(
    project: Path, home: Path, kinen: Callable[..., Any], scope: str, existing: str | None
) -> None:
    folder = commands_folder(scope, project, home)
    if existing:
        ((home if scope == "user" else project) / existing).mkdir(parents=True)
        (folder.parents[1] / "mine.md").write_text("Mine.\n")
    before = tree(project, home)
    assert written(kinen, "install", scope, project) == ["installed"] * 4
    packaged = Path(plugin_folder("claude-code"), "commands")
    assert {name: (folder / name).read_text() for name in COMMANDS} == {
        name: (packaged / name).read_text() for name in COMMANDS
    }
    assert written(kinen, "install", scope, project) == ["unchanged"] * 4
    assert written(kinen, "uninstall", scope, project) == ["removed"] * 4
    assert tree(project, home) == before
    assert written(kinen, "uninstall", scope, project) == ["not installed"] * 4


def test_a_slash_command_that_somebody_changed_is_kept(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    folder = commands_folder("user", project, home)
    folder.mkdir(parents=True)
    (folder / "recall.md").write_text("My own recall.\n")
    done = kinen("install", "claude-code", cwd=project).out
    assert "slash commands kept (the files are not as kinen wrote them): /kinen:recall" in done
    assert "installed: /kinen:checkpoint, /kinen:handoff, /kinen:memory" in done
    (folder / "memory.md").write_text("Mine now.\n")
    removed = written(kinen, "uninstall", "user", project)
    assert removed == ["removed", "removed", "kept", "kept"]
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "recall.md": "My own recall.\n",
        "memory.md": "Mine now.\n",
    }


def test_a_newer_kinen_updates_its_slash_commands(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    folder = commands_folder("user", project, home)
    written(kinen, "install", "user", project)
    old = "As an older version wrote it.\n"
    (folder / "recall.md").write_text(old)
    (record,) = (home / "kinen" / "backups").glob("*-kinen.json")
    state = json.loads(record.read_text())
    state["files"]["recall.md"] = digest(old)
    record.write_text(json.dumps(state))
    assert written(kinen, "install", "user", project)[-1] == "updated"
    assert (folder / "recall.md").read_text() != old
    assert written(kinen, "uninstall", "user", project) == ["removed"] * 4
    assert not record.exists()


def test_slash_commands_do_not_leave_the_project(
    project: Path, tmp_path: Path, kinen: Callable[..., Any]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".claude").mkdir()
    (project / ".claude" / "commands").symlink_to(outside)
    refused = kinen("install", "claude-code", "--scope", "project", cwd=project)
    assert refused.code == 2
    assert ".claude/commands" in refused.err
    assert not list(outside.iterdir())


def test_the_local_scope_has_no_slash_commands(project: Path, kinen: Callable[..., Any]) -> None:
    assert written(kinen, "install", "local", project) == []
    assert not (project / ".claude" / "commands").exists()


def test_the_plugin_does_what_the_settings_do() -> None:
    folder = Path(plugin_folder("claude-code"))
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("kinen", kinen.__version__)
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert {event: groups[0].get("matcher", "") for event, groups in hooks.items()} == dict(EVENTS)
    lines = {hook["command"] for groups in hooks.values() for hook in groups[0]["hooks"]}
    assert lines == {"kinen hook claude-code"}
    server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["kinen"]
    assert (server["command"], server["args"]) == ("kinen", ["mcp"])
    names = {"recall.md", "checkpoint.md", "memory.md", "handoff.md"}
    assert {path.name for path in (folder / "commands").iterdir()} == names
    for text in (*(folder / "commands").iterdir(), folder / "skills" / "kinen" / "SKILL.md"):
        assert text.read_text().startswith("---\n")
    market = Path(agents.__file__).parents[3] / ".claude-plugin" / "marketplace.json"
    if market.exists():  # in the repository, not where the package is installed
        (entry,) = json.loads(market.read_text())["plugins"]
        assert (market.parents[1] / entry["source"]).resolve() == folder


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from("abc"), _json, max_size=3),
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.booleans(),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    _json,
)
def test_what_is_put_into_json_comes_out_again(
    known: dict[str, Any], indent: int | str | None, windows: bool, keys: list[str], value: Any
) -> None:
    text = json.dumps(known, indent=indent, ensure_ascii=False) + "\n"
    text = text.replace("\n", "\r\n") if windows else text
    expected, at = json.loads(text), list[str]()
    inner = expected
    for key in keys[:-1]:
        at.append(key)
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            return  # nothing can be put there
    if keys[-1] in inner:
        return
    inner[keys[-1]] = value
    new = put(text, tuple(keys), value)
    assert json.loads(new) == expected
    assert list(json.loads(new)) == list(expected)
    path = tuple(keys)
    for n in range(1, len(keys) + 1):  # the first that was not there before
        if _missing(known, keys[:n]):
            path = tuple(keys[:n])
            break
    assert drop(new, path) == text


def _missing(existing: Any, keys: list[str]) -> bool:
    for key in keys:
        if key not in existing:
            return True
        existing = existing[key]
    return False
