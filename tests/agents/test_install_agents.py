"""`kinen install` of every agent: its own files, in their own forms, and to the byte out again."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kinen.hooks import slash, trust
from kinen.hooks.forms import BEGIN
from kinen.hooks.install import AGENTS, folder_of, install, places_of, uninstall

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = [
    (name, scope) for name, agent in AGENTS.items() for scope in agent.scopes if scope != "local"
]
TEXTS = {
    "json": '{"theme": "dark", "hooks": {}}\n',
    "jsonc": '{\n  // mine\n  "theme": "dark", /* and mine */\n  "list": [1, 2,],\n}\n',
    "toml": '# mine\nmodel = "x"\n\n[projects."/a b"]\ntrust_level = "trusted" # yes\n',
    "yaml": "# mine\nGOOSE_MODEL: x # yes\nextensions:\n  developer:\n    enabled: true\n",
    "block": "# Rules\n\nBe brief.",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for agent in AGENTS.values():
        if agent.variable:
            monkeypatch.delenv(agent.variable, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path / "my project"
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "refs").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return root


def tree(*folders: Path) -> dict[str, bytes | None]:
    """Everything below folders, but for what is kinen's own."""
    paths = (path for folder in folders for path in folder.rglob("*"))
    contents = {str(path): path.read_bytes() if path.is_file() else None for path in paths}
    own = os.environ["KINEN_HOME"]
    return {name: data for name, data in contents.items() if not name.startswith(own)}


def prepare(name: str, scope: str, project: Path) -> list[Path]:
    """Settings that somebody else wrote, for each file that kinen does not have for itself."""
    written = []
    for place in places_of(name, scope, str(project)):
        if place.form in TEXTS and "kinen" not in os.path.basename(place.file):
            path = Path(place.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TEXTS[place.form])
            written.append(path)
    return written


def parsed(path: Path, form: str) -> Any:
    from kinen.hooks.jsontext import bare

    text = path.read_text()
    if form == "toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if form == "yaml" else json.loads(bare(text))


@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
@pytest.mark.parametrize(("name", "scope"), CASES)
def test_what_is_installed_is_ours_alone_and_out_again_to_the_byte(
    project: Path, home: Path, name: str, scope: str, there: bool
) -> None:
    foreign = prepare(name, scope, project) if there else []
    modes = {path: path.stat().st_mode for path in foreign}
    before = tree(project, home)
    done = install(name, scope, str(project))
    commands = slash.install(name, scope, str(project))
    assert {file.done for file in (*done, *commands)} == {"installed"}
    for place in places_of(name, scope, str(project)):
        text = Path(place.file).read_text()
        assert "kinen" in text or place.parts[0].part == "read"
        if place.form == "block":
            assert text.count(BEGIN) == 1
        elif place.form != "file" and Path(place.file) in foreign:
            merged = parsed(Path(place.file), place.form)
            assert merged.get("theme", merged.get("model", merged.get("GOOSE_MODEL")))
    for path in foreign:
        for comment in ("// mine", "/* and mine */", "# mine", "# yes", "Be brief."):
            assert (comment in before[str(path)].decode()) <= (comment in path.read_text())
    after = tree(project, home)
    again = [*install(name, scope, str(project)), *slash.install(name, scope, str(project))]
    assert {file.done for file in again} == {"unchanged"}
    assert tree(project, home) == after
    slash.uninstall(name, scope, str(project))
    assert {file.done for file in uninstall(name, scope, str(project))} == {"removed"}
    assert tree(project, home) == before
    assert {path: path.stat().st_mode for path in foreign} == modes


@pytest.mark.parametrize(("name", "scope"), [case for case in CASES if case[1] == "project"])
def test_a_project_names_the_command_and_no_path_of_this_machine(
    project: Path, home: Path, name: str, scope: str
) -> None:
    install(name, scope, str(project))
    for place in places_of(name, scope, str(project)):
        text = Path(place.file).read_text()
        assert str(home) not in text
        assert shutil.which("python3") is None or "python" not in text


@pytest.mark.parametrize("name", ["codex", "gemini", "goose", "zed"])
def test_what_others_write_meanwhile_stays(project: Path, home: Path, name: str) -> None:
    (path, *_) = [path for path in prepare(name, "user", project) if path.suffix != ".md"]
    install(name, "user", str(project))
    place = next(
        place for place in places_of(name, "user", str(project)) if place.file == str(path)
    )
    more = {"toml": '\n[later]\nkey = "kept"\n', "yaml": "later: kept\n"}.get(place.form)
    text = path.read_text()
    if more is None:
        text = text.replace("{", '{\n  "later": "kept",', 1)
    path.write_text(text + (more or ""))
    uninstall(name, "user", str(project))
    settings = parsed(path, place.form)
    assert "later" in settings
    assert "kinen" not in path.read_text()
    assert "mine" in path.read_text() or place.form == "json"


def test_a_link_to_the_settings_stays_a_link(project: Path, home: Path) -> None:
    real = home / "dotfiles.toml"
    real.write_text(TEXTS["toml"])
    real.chmod(0o640)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to(real)
    install("codex", "user", str(project))
    assert "mcp_servers" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    uninstall("codex", "user", str(project))
    assert (home / ".codex" / "config.toml").is_symlink()
    assert real.read_text() == TEXTS["toml"]


def test_a_notify_of_the_user_stays(project: Path, home: Path) -> None:
    (home / ".codex").mkdir()
    config = home / ".codex" / "config.toml"
    config.write_text('notify = ["say", "done"]\n')
    install("codex", "user", str(project))
    settings = tomllib.loads(config.read_text())
    assert settings["notify"] == ["say", "done"]
    assert settings["mcp_servers"]["kinen"]["args"][-1] == "mcp"
    uninstall("codex", "user", str(project))
    assert config.read_text() == 'notify = ["say", "done"]\n'


def test_a_file_of_our_name_that_is_not_ours_is_kept(project: Path, home: Path) -> None:
    plugin = home / ".config" / "opencode" / "plugins" / "kinen.ts"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = async () => ({})\n")
    done = {os.path.basename(file.path): file.done for file in install("opencode", "user", ".")}
    assert done["kinen.ts"] == "kept"
    uninstall("opencode", "user", ".")
    assert "Mine" in plugin.read_text()


def test_codex_hooks_are_approved_only_where_that_is_asked_for(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    (home / ".codex").mkdir()
    config = home / ".codex" / "config.toml"
    config.write_text(TEXTS["toml"])
    done = kinen("install", "codex", cwd=project)
    assert "approve the hooks with /hooks" in done.out
    folder = folder_of(AGENTS["codex"])
    assert len(trust.unreviewed(folder)) == len(AGENTS["codex"].events)
    checked = kinen("doctor", cwd=project)
    assert checked.code == 1
    assert "5 hooks not approved" in checked.out
    assert "hooks approved: 5" in kinen("install", "codex", "--trust", cwd=project).out
    assert trust.unreviewed(folder) == []
    kinen("uninstall", "codex", cwd=project)
    assert config.read_text() == TEXTS["toml"]
    assert kinen("install", "gemini", "--trust", cwd=project).code == 2


TRUST = (
    ("gemini", ".gemini/trustedFolders.json", {}, False),
    ("gemini", ".gemini/trustedFolders.json", {"HERE": "TRUST_FOLDER"}, True),
    ("gemini", ".gemini/trustedFolders.json", {"ABOVE": "TRUST_FOLDER"}, True),
    ("gemini", ".gemini/trustedFolders.json", {"HERE": "TRUST_PARENT"}, True),
    ("gemini", ".gemini/trustedFolders.json", {"HERE/below": "TRUST_FOLDER"}, False),
    (
        *("gemini", ".gemini/trustedFolders.json"),
        *({"ABOVE": "TRUST_FOLDER", "HERE": "DO_NOT_TRUST"}, False),
    ),
    (
        *("gemini", ".gemini/settings.json"),
        *({"security": {"folderTrust": {"enabled": False}}}, True),
    ),
    ("qwen", ".qwen/trustedFolders.json", {}, True),
    (
        *("qwen", ".qwen/settings.json"),
        *({"security": {"folderTrust": {"enabled": True}}}, False),
    ),
    ("copilot", ".copilot/config.json", {}, False),
    ("copilot", ".copilot/config.json", {"trustedFolders": ["ABOVE"]}, True),
    ("copilot", ".copilot/config.json", {"trusted_folders": ["HERE"]}, True),
    ("copilot", ".copilot/config.json", {"trustedFolders": ["HERE/below", 3]}, False),
)


@pytest.mark.parametrize(("agent", "file", "record", "trusted"), TRUST)
def test_trust_in_a_folder_is_read_from_the_record_of_the_agent(
    project: Path, home: Path, agent: str, file: str, record: dict[str, Any], trusted: bool
) -> None:
    path = home / file
    path.parent.mkdir()
    text = json.dumps(record).replace("HERE", str(project)).replace("ABOVE", str(project.parent))
    path.write_text(f"// managed\n{text}")
    assert trust.trusts(AGENTS[agent], str(project)) == trusted
    assert trust.waits(AGENTS[agent], ["project"], str(project)) != trusted
    assert not trust.waits(AGENTS[agent], ["user", "project"], str(project))


def test_doctor_says_that_a_folder_is_not_trusted(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    (home / ".copilot").mkdir()
    done = kinen("install", "copilot", "--scope", "project", cwd=project)
    assert "left to do: start copilot here and trust the folder" in done.out
    checked = kinen("doctor", cwd=project)
    assert checked.code == 1
    assert "connected (project), folder not trusted" in checked.out
    record = home / ".copilot" / "config.json"
    record.write_text(json.dumps({"trustedFolders": [str(project)]}))
    assert "not trusted" not in kinen("doctor", cwd=project).out
    record.write_text("{")
    assert f"{record} is not valid JSON" in kinen("doctor", cwd=project).out


@pytest.mark.parametrize("below", ["", "kinen"])
def test_an_empty_folder_of_commands_that_was_there_stays(
    project: Path, home: Path, below: str
) -> None:
    folder = home / ".gemini" / "commands" / below
    folder.mkdir(parents=True)
    before = tree(home)
    slash.install("gemini", "user", str(project))
    slash.uninstall("gemini", "user", str(project))
    assert tree(home) == before


def test_without_an_agent_the_next_step_is_named(
    project: Path, home: Path, kinen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    listed = kinen("install", cwd=project)
    assert "✓" not in listed.out
    assert "install one of them, then run `kinen install` again" in listed.out


def test_all_agents_of_this_machine_at_once(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    for folder in (".codex", ".gemini", ".cursor"):
        (home / folder).mkdir()
    before = tree(project, home)
    listed = kinen("install", cwd=project).out
    assert listed.count("✓") == 3
    tried = kinen("install", "all", "--dry-run", cwd=project)
    assert "would be installed" in tried.out
    assert tree(project, home) == before
    data = json.loads(kinen("install", "all", "--json", cwd=project).out)
    assert [row["agent"] for row in data["agents"]] == ["codex", "cursor", "gemini"]
    states = json.loads(kinen("install", "--json", cwd=project).out)["agents"]
    assert [row["agent"] for row in states if row["state"] == "connected"] == [
        *("codex", "cursor", "gemini"),
    ]
    kinen("uninstall", "all", cwd=project)
    assert tree(project, home) == before
    (home / ".gemini" / "settings.json").write_text("{")
    broken = kinen("install", "all", cwd=project)
    assert broken.code == 2
    assert "the settings of gemini were not changed" in broken.err


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if agent.events])
def test_an_event_through_the_installed_hook_arrives_and_leaves_nothing(
    space: Path, home: Path, kinen: Callable[..., Any], name: str
) -> None:
    assert kinen("doctor", "--prove", name, cwd=space).code == 2  # not connected
    kinen("install", name, *(["--trust"] if name == "codex" else []), cwd=space)
    proved = kinen("doctor", "--prove", name, cwd=space)
    assert proved.code == 0, proved.out
    assert "arrived in" in proved.out
    assert json.loads(kinen("list", "observations", "--json", cwd=space).out)["observations"] == []


def test_a_proof_runs_no_command_that_a_repository_brings(
    project: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    install("codex", "project", str(project))
    hooks = project / ".codex" / "hooks.json"
    bait = f"touch {project}/ran; kinen hook codex"
    hooks.write_text(hooks.read_text().replace('"kinen hook codex"', json.dumps(bait)))
    assert kinen("doctor", "--prove", "codex", cwd=project).code == 2
    assert not (project / "ran").exists()


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("claude-code", {"disableAllHooks": True}),
        ("gemini", {"hooksConfig": {"enabled": False}}),
        ("codex", None),
    ],
)
def test_a_proof_knows_what_keeps_a_client_from_running_hooks(
    name: str, switch: dict[str, Any] | None, space: Path, home: Path, kinen
) -> None:
    (home / {"claude-code": ".claude"}.get(name, f".{name}")).mkdir()
    kinen("install", name, cwd=space)
    if switch:
        (file,) = (path for path in home.glob(".*/settings.json"))
        file.write_text(json.dumps({**json.loads(file.read_text()), **switch}))
    proved = kinen("doctor", "--prove", name, cwd=space)
    assert proved.code == 1
    assert ("hooks are off" if switch else "hooks not approved") in proved.out + proved.err
    if switch:
        file.write_text(json.dumps({**json.loads(file.read_text()), next(iter(switch)): None}))
    else:
        kinen("install", name, "--trust", cwd=space)
    proved = kinen("doctor", "--prove", name, cwd=space)
    assert proved.code == 0, proved
    assert "the command in" in proved.out
    assert "was not started" in proved.out


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_switch_in_the_settings_of_the_project_counts(
    name: str, space: Path, home: Path, kinen
) -> None:
    (home / ".claude").mkdir()
    kinen("install", "claude-code", cwd=space)
    (space / ".claude").mkdir()
    (space / ".claude" / name).write_text('{"disableAllHooks": true}')
    ran = kinen("doctor", "--prove", "claude-code", cwd=space)
    assert ran.code == 1 and f"hooks are off: disableAllHooks is true in {space}" in ran.out


def test_a_proof_leaves_no_event_of_the_agent_behind(space: Path, home: Path, kinen) -> None:
    (home / ".claude").mkdir()
    kinen("install", "claude-code", cwd=space)
    assert "works" in kinen("doctor", "--prove", "claude-code", cwd=space).out
    assert "last event here" not in kinen("doctor", cwd=space).out
