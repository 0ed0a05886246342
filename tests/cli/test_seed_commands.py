"""Old plans and checkpoints, compressed bundles, and what git knows at a commit."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from kinen.mcp.server import create_server
from kinen.memory import Memory
from mcp import Client
from terminal import in_shell

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "---\nid: leave-redis\ntitle: Leave Redis\nstatus: completed\n---\n\n- [x] both\n"
CHECKPOINT = "# Checkpoints for 2025-03-01\n\n## 10:00 - Dropped the cache\n\nIt lost writes.\n"


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def call(space: Path, tool: str, **arguments: Any) -> Any:
    async def run() -> Any:
        with Memory.open(space) as memory:
            async with Client(create_server(memory)) as client:
                answer = await client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    return anyio.run(run)


def goldfish_workspace(root: Path, name: str) -> Path:
    for folder in ("checkpoints", "plans", "briefs"):
        (root / name / folder).mkdir(parents=True)
    day = root / name / "checkpoints" / "2025-03-01.md"
    day.write_text(CHECKPOINT.replace("cache", name))
    (root / name / "plans" / f"{name}.md").write_text(PLAN)
    (root / name / "briefs" / f"tone of {name}.md").write_text("# Tone\n\nBe plain.\n")
    return root / name


def test_a_goldfish_workspace_comes_with_plans_and_briefs(tmp_path: Path, space, kinen) -> None:
    root = tmp_path / ".goldfish"
    shop = goldfish_workspace(root, "shop")
    (shop / "config.json").write_text('{"distill": {"provider": "claude", "timeout": 30000}}')
    ran = kinen("import", str(shop))
    assert ran.code == 0, ran.err
    commands = (
        "kinen config set distill.order claude,extract && kinen config set distill.timeout 30"
    )
    assert f"shop/config.json are not imported: `{commands}`" in ran.err
    assert (space / ".memories/plans/shop.md").read_text() == PLAN
    assert (space / ".memories/briefs/tone of shop.md").exists()
    plans = json.loads(kinen("plan", "list", "--json").out)["plans"]
    assert {plan["id"]: plan["status"] for plan in plans}["leave-redis"] == "completed"
    with Memory.open(space) as memory:
        assert len(list(memory.worklog.checkpoints())) == 1
    again = kinen("import", str(shop), "--json")
    assert json.loads(again.out)["added"] == {"checkpoints": 0}


def test_of_a_goldfish_root_only_the_workspace_of_this_folder_comes(tmp_path: Path, kinen) -> None:
    root = tmp_path / ".goldfish"
    for name in ("tea-shop", "site", "other's"):
        goldfish_workspace(root, name)
    here = tmp_path / "Tea Shop!"
    here.mkdir()
    assert kinen("init", str(here)).code == 0
    dry = kinen("import", str(root), "--dry-run", cwd=here)
    assert dry.out == "would add 1 checkpoint, 2 plans\n"
    ran = kinen("import", str(root), cwd=here)
    assert ran.out == "added 1 checkpoint, 2 plans\n"
    files = {path.name for path in (here / ".memories").rglob("*.md")}
    assert {"tea-shop.md", "tone of tea-shop.md"} < files
    assert len(files) == 3
    commands = [line.partition("to take it: ")[2] for line in ran.err.splitlines()]
    assert len(commands) == 2
    for name in ("site", "other's"):
        words = next(line for line in map(shlex.split, commands) if line[-1].endswith(name))
        assert words == ["kinen", "import", str(root / name)]
        assert kinen(*words[1:], cwd=here).out == "added 1 checkpoint, 2 plans\n"


def test_a_goldfish_root_without_this_folder_imports_nothing(tmp_path: Path, space, kinen) -> None:
    root = tmp_path / ".goldfish"
    goldfish_workspace(root, "site")
    # the name of a space comes with a clone, so that it proves nothing
    (space / ".kinen").mkdir(exist_ok=True)
    (space / ".kinen" / "config.yml").write_text("space: {name: site}\n")
    ran = kinen("import", str(root))
    assert (ran.code, ran.out) == (2, "")
    assert f"none of 1 is named {space.name}" in ran.err
    assert f"kinen import {root / 'site'}" in ran.err
    assert not (space / ".memories").exists()


def test_secrets_of_a_goldfish_plan_are_masked(tmp_path: Path, space, kinen) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    plan = goldfish_workspace(tmp_path / ".goldfish", "shop") / "plans" / "shop.md"
    plan.write_text(f"{PLAN}\ndeploy with {token}\n")
    ran = kinen("import", str(plan.parents[1]))
    assert "masked 1 secret" in ran.err
    stored = (space / ".memories/plans/shop.md").read_text()
    assert stored.startswith(PLAN)
    assert token not in stored


def test_a_bundle_is_compressed_and_read_again(tmp_path: Path, space, kinen) -> None:
    kinen("log", "message", stdin="the kettle boils")
    plain = tmp_path / "a.json"
    packed = tmp_path / "a.json.gz"
    for file in (plain, packed):
        assert kinen("export", str(file), SOURCE_DATE_EPOCH="1").code == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    other = tmp_path / "other"
    (other / ".kinen").mkdir(parents=True)
    assert kinen("import", str(packed), cwd=other).code == 0
    assert kinen("export", "--gzip").code == 2
    assert kinen("export", str(tmp_path / "b"), "--gzip").code == 0
    assert (tmp_path / "b").read_bytes()[:2] == b"\x1f\x8b"


def test_the_branch_and_files_of_a_checkpoint_are_found(space: Path, write, kinen) -> None:
    git(space, "init", "-q", "-b", "tea/kettle-descaling")
    write("src/boiler.py", "x = 1\n")
    git(space, "add", "-A")
    assert kinen("checkpoint", "Finished the work").code == 0
    for words in ("descaling", "boiler.py"):
        hits = json.loads(kinen("search", "--fulltext", words, "--json", "-t", "checkpoints").out)
        assert hits["results"][0]["source"]["type"] == "checkpoint", words
        assert hits["results"][0]["chunk"]["content"] == "Finished the work"


@pytest.fixture
def repository(space: Path, write, kinen):
    git(space, "init", "-q")
    write("src/auth/login.py", "x = 1\n")
    git(space, "add", "-A")
    git(space, "commit", "-qm", "feat(auth): sign in", "-m", "Because users asked.\n\ntags: +first")
    git(space, "tag", "one")
    write("src/auth/login.py", "x = 2\n")
    git(space, "commit", "-qam", "fix(auth): sign in again", "-m", "tags: +second, -first")
    return kinen


def test_provenance_has_the_whole_message(space: Path, repository) -> None:
    revisions = call(space, "kinen_get_provenance", path="src/auth/login.py")["revisions"]
    assert "Because users asked." in revisions[0]["message"]
    data = json.loads(repository("history", "src/auth/login.py", "--json").out)["revisions"]
    assert any("Because users asked." in item["message"] for item in data)


def test_an_artifact_at_a_commit_has_its_tags_and_earlier_commits(space: Path, repository) -> None:
    old = call(space, "kinen_get_artifact", path="src/auth/login.py", ref="one")
    assert old["content"] == "x = 1"
    assert "first" in old["tags"]
    assert "second" not in old["tags"]
    assert [item["subject"] for item in old["commits"]] == ["feat(auth): sign in"]
    new = call(space, "kinen_get_artifact", path="src/auth/login.py", ref="HEAD")
    assert len(new["commits"]) == 2
    assert "second" in new["tags"]


def test_staged_tags_have_those_of_the_active_plan(space: Path, write, repository) -> None:
    options = ("--tag", "login-rework", "--activate")
    created = repository("plan", "save", "Sign in", *options, stdin="- [ ] x")
    assert created.code == 0, created.err
    write("src/auth/login.py", "x = 3\n")
    git(space, "add", "src")
    assert repository("tags", "--staged").out == "tags: auth, login-rework\n"


def test_what_one_client_writes_another_is_told(space: Path, write) -> None:
    write("notes.md", "# Notes\n\nNothing.\n")
    text = "Tokens are refreshed by a queue, since two workers raced."
    plan = {"action": "save", "title": "Queue", "content": "- [ ] drain it"}

    async def run() -> tuple[str, str]:
        with Memory.open(space) as ours, Memory.open(space) as theirs:
            servers = (create_server(ours), create_server(theirs))
            async with Client(servers[0]) as first, Client(servers[1]) as second:
                await first.call_tool("kinen_checkpoint", {"description": text})
                await first.call_tool("kinen_plan", plan)
                recall = await second.call_tool("kinen_recall", {"query": "token refresh race"})
                handoff = await second.call_tool("kinen_handoff", {})
        return recall.content[0].text, handoff.content[0].text

    recall, handoff = anyio.run(run)
    assert "two workers raced" in recall
    assert "drain it" in recall
    assert "Queue" in handoff


def test_words_of_other_tools_are_understood(ask, without_agents, write) -> None:
    assert ask("config", "set", "search.default_mode", "fts").code == 0
    assert ask("config", "get", "search.default_mode").out == "fulltext\n"
    write("sessions.md", "---\ntags: [drift]\n---\n# Sessions\n\nPostgres holds them.\n")
    ask("log", "We keep Postgres, because Redis drifted", "--agent", "ada", "--session", "s1")
    assert "Redis drifted" in ask("recall", "Postgres", "--agent", "ad").out
    assert ask("recall", "Postgres", "--agent", "bob").code == 1
    shown = ask("recall", "Postgres").out
    assert "Postgres holds them." in shown
    assert "tags: drift" not in shown
    assert "tags: drift" not in ask("recall", "Postgres", "--distill").out


def test_a_scope_is_a_session_or_a_repository(ask) -> None:
    ask("capsule", "open", "--intent", "find the leak", "--session", "s1", "--repo", "billing")
    ask("log", "the pool leaks", "--session", "s1", "--repo", "billing", "--user", "ada")
    ask("log", "the cache is cold", "--session", "s2", "--repo", "shop-s1", "--json")
    assert "find the leak" in ask("list", "capsules", "--scope", "s1").out
    assert ask("list", "capsules", "--scope", "s2").code == 1
    assert "leaks" in ask("search", "pool", "--scope=billing", "--fulltext").out
    assert ask("search", "pool", "--scope", "shop-s1", "--fulltext").code == 1
    exported = json.loads(ask("export", "--scope", "shop-s1").out)["observations"]
    assert [entry["content"] for entry in exported] == ["the cache is cold"]
    by_user = ask("list", "observations", "--user", "ada", "--json").out
    assert [entry["content"] for entry in json.loads(by_user)["observations"]] == ["the pool leaks"]
    assert ask("status", "--scope", "s1").code == 2


def test_the_names_of_tools_need_no_prefix(space: Path, repository) -> None:
    for name in ("list_artifacts", "list_tags", "recall"):
        assert call(space, name) == call(space, f"kinen_{name}")
    found = call(space, "search", query="sessions", strategy="FtsOnly")
    assert found["mode"] == "fulltext"
    assert call(space, "search", query="sessions", strategy="RRF")["mode"] == "rrf"
    assert call(space, "checkpoint", description="Moved the sessions")["ref"]


def test_sessions_with_any_name_are_found_and_closed(space: Path, write, ask) -> None:
    write("sessions/auth-design/rounds/01.md", "# Tokens\n\n**Decision**: They live an hour.\n")
    write("sessions/misc/a.md", "# Anything\n")
    assert "auth-design/rounds/01.md" in ask("search", "tokens", "--session", "auth-design").out
    assert "They live an hour." in ask("session", "close", "auth-design").out
    assert ask("index", "rebuild", "--session", "auth-design").code == 0
    assert "skipped sessions/misc: not a session: " in ask("index", "status").out


def test_a_goldfish_workspace_of_the_project_is_offered_until_it_is_imported(
    space: Path, ask, without_agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = space.parent
    monkeypatch.setenv("HOME", str(home))
    workspace = goldfish_workspace(home / ".goldfish", space.name)
    goldfish_workspace(home / ".goldfish", "other")
    offer = f"{workspace}: 1 checkpoint, 2 plans to import: kinen import {workspace}"
    for ran in (ask("doctor").out, ask("install", "cursor").err):
        assert offer in ran
        assert "/other" not in ran
    assert ask("import", str(workspace)).code == 0
    assert "to import" not in ask("doctor").out


def test_the_log_level_debug_tells_what_a_command_does(space: Path, repository) -> None:
    quiet = in_shell("kinen status", space)
    run = in_shell("KINEN_LOG_LEVEL=debug kinen index", space)
    assert (quiet.stderr, run.returncode) == ("", 0)
    assert f"debug: space {space.name} in {space}" in run.stderr
    assert "debug: git " in run.stderr
    assert "debug: kinen index: exit code 0" in run.stderr


def test_a_bundle_from_a_pipe_is_not_called_changed(ask, space: Path) -> None:
    ask("log", "We keep Postgres", "--session", "s1")
    run = in_shell("kinen export --session s1 | kinen import", space)
    assert (run.stdout, run.stderr) == ("skipped 1 event\n", "")
