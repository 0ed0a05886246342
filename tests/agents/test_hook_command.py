"""`kinen hook claude-code` as the client runs it: a process per event, come what may."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import forked
from home_processes import processes_of
from kinen import Memory
from kinen.model.kinds import MEMORY_OPEN
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable

    Hook = Callable[..., str]

SOURCE = Path(__file__).parents[2] / "src"
CALLS = 1000 if os.environ.get("KINEN_STRESS") else 80
PROCESSES = 8
DAY = 86_400_000


def payload(space: Path, name: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": f"/nowhere/{session}.jsonl",
        "cwd": str(space),
        "prompt_id": "33c28a23-5135-4f71-a599-d854acb259a0",
        "hook_event_name": name,
        **more,
    }


def ran(space: Path, command: str, id_: str, output: str = "", **more: Any) -> dict[str, Any]:
    more |= {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id_}
    return payload(space, "PostToolUse", **more, tool_response={"stdout": output, "stderr": ""})


@pytest.fixture
def hook() -> Hook:
    """Runs the real command on a payload; what it prints. It always ends well, and quietly.

    With a prefix or a variable for Python, that is started anew.
    """

    def run(message: Any, *, code: int = 0, prefix: list[str] | None = None, **env: str) -> str:
        stdin = message if isinstance(message, bytes) else json.dumps(message).encode()
        home, all_env = os.environ["HOME"], {**os.environ, **env}
        if not prefix and not any(name.startswith("PYTHON") for name in env):
            ended = forked.shared().run(["hook", "claude-code"], home, stdin, all_env)
            assert (ended.code, ended.err) == (code, b"")
            return ended.out.decode()
        done = subprocess.run(
            [*(prefix or []), sys.executable, "-m", "kinen", "hook", "claude-code"],
            input=stdin,
            cwd=home,
            env=all_env,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, b"")
        return done.stdout.decode()

    return run


def contents(space: Path) -> list[str]:
    """What the journal has, oldest first."""
    with Memory.open(space) as memory:
        return [
            observation.content
            for observation in reversed(memory.journal.entries("observations")[0])
        ]


def spooled(home: Path) -> list[Path]:
    return [
        path
        for path in (home / "kinen" / "spool").rglob("*")
        if path.is_file() and path.name[0] != "."
    ]


def context(printed: str) -> str:
    """What the client would put before the model."""
    data = json.loads(printed)["hookSpecificOutput"]
    assert set(data) == {"hookEventName", "additionalContext"}
    return str(data["additionalContext"])


def left_over() -> list[str]:
    return processes_of(os.environ["KINEN_HOME"])


# A session


def test_a_session_from_its_start_to_its_end(space: Path, hook: Hook) -> None:
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{space}/src/a.py"}}
    edit |= {"tool_use_id": "t3", "tool_response": {"structuredPatch": patch}}
    failed = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t2"}
    ended = {"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "found it"}
    prompt = "We decided to use Postgres instead of Redis for sessions."
    for value in (
        payload(space, "SessionStart", source="startup"),
        payload(space, "UserPromptSubmit", prompt=prompt),
        ran(space, "pytest -q", "t1", "1 passed"),
        payload(space, "PostToolUseFailure", **failed, error="Exit code 2\nno rule"),
        payload(space, "PostToolUse", **edit),
        payload(space, "SubagentStop", **ended),
        payload(space, "PreCompact", trigger="auto"),
        payload(space, "PostCompact", compact_summary="Sessions move to Postgres."),
        payload(space, "Stop", last_assistant_message="Done.", stop_hook_active=False),
        payload(space, "SessionEnd", reason="other"),
    ):
        assert hook(value) == ""
    assert left_over() == []
    with Memory.open(space) as memory:
        (capsule,) = memory.journal.entries("capsules")[0]
        assert (capsule.status, capsule.intent, capsule.reason) == ("closed", prompt, "")
        _, observations, summaries = memory.journal.capsule(capsule.id)
        assert [(observation.kind, observation.content) for observation in observations] == [
            ("message", prompt),
            ("command", "$ pytest -q\n1 passed"),
            ("error", "$ make\nExit code 2\nno rule"),
            ("file_diff", "Tool: Edit\nFile: src/a.py\n@@ -1,1 +1,1 @@\n-a\n+b"),
            ("node_end", "Agent: Explore\nfound it"),
            ("message", "Done."),
        ]
        assert observations[3].files == ("src/a.py",)
        assert observations[2].provenance["exitCode"] == 2
        assert {item.scope[:3] for item in observations} == {("s1", "space", "claude-code")}
        written, created = sorted(summaries, key=lambda summary: not summary.written)
        assert written.content == "Sessions move to Postgres."
        assert "src/a.py" in created.content
        assert "Postgres instead of Redis" in memory.consolidation.memories()[0].content


def test_a_space_without_sessions_tells_its_latest_commits(
    tmp_path: Path, hook: Hook, kinen: Callable[..., Any]
) -> None:
    repo = Repository(tmp_path / "repo", "--template=")
    start = payload(repo.root, "SessionStart", source="startup")
    with Memory.open(repo.root) as memory:
        memory.sync()
    assert hook({**start, "session_id": "s0"}) == ""
    repo.commit("feat: sign cookies", {"auth.py": "1"})
    repo.commit("Bump vite from 5.0 to 5.1", {"package.json": "1"})
    repo.commit("docs: list sponsors", {"README.md": "1"}, GIT_AUTHOR_NAME="robot[bot]")
    with Memory.open(repo.root) as memory:
        memory.sync()
    assert "1 commit of this repository" in context(hook({**start, "session_id": "s7"}))
    kinen("trust", "--memory", cwd=repo.root)
    output = context(hook(start))
    assert "## Latest commits\n- feat: sign cookies [commit:" in output
    assert "vite" not in output
    assert "sponsors" not in output
    assert "kinen recall" in output


def test_the_next_session_is_told_what_there_is_to_know(
    space: Path, hook: Hook, kinen: Callable[..., Any]
) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="Remember that `limiter.py` sleeps in tests."))
    hook(payload(space, "SessionEnd", reason="other"))
    assert left_over() == []
    ref = kinen("log", "Deploys are on Mondays").out.strip()
    assert kinen("pin", ref, "--note", "since the outage").code == 0
    assert kinen("plan", "save", "Ship it", "- [ ] weigh", "--activate").code == 0
    output = context(hook(payload(space, "SessionStart", "s2", source="startup")))
    assert output.startswith(MEMORY_OPEN)
    for text in ("Ship it", "- [ ] weigh", "since the outage", "Mondays", "limiter.py"):
        assert text in output
    assert "s2" not in output
    # Twice at once, as by a plugin beside the settings, it is told once.
    assert hook(payload(space, "SessionStart", "s2", source="startup")) == ""
    assert "Ship it" in context(hook(payload(space, "SessionStart", "s2", source="compact")))
    resumed = payload(space, "SessionStart", "s2", source="resume", seconds_since_last_response=3)
    assert hook(resumed) == ""
    resumed["seconds_since_last_response"] = 90_000
    assert hook(resumed) == ""  # it has all of it since the compaction
    compacting = hook(payload(space, "PreCompact", "s2", trigger="auto"))
    assert "Mondays" in compacting
    assert "weigh" in compacting
    assert "limiter.py" not in compacting
    assert (
        hook(payload(space, "SessionStart", "s3", source="startup"), KINEN_HOOKS_BUDGET="0") == ""
    )


def test_a_start_has_the_last_checkpoint_and_the_text_of_a_pinned_note(
    space: Path, hook: Hook, kinen: Callable[..., Any]
) -> None:
    assert kinen("checkpoint", "The certificate expired; we renewed it by hand.").code == 0
    assert "renewed it by hand" in context(hook(payload(space, "SessionStart", source="startup")))
    (space / "certs.md").write_text("---\ntags: [ops]\n---\n# Certs\n\nThey live in the vault.\n")
    assert kinen("pin", "certs.md").code == 0
    output = context(hook(payload(space, "SessionStart", "s2", source="startup")))
    assert "They live in the vault." in output
    assert "ops" not in output


def test_a_start_that_comes_after_the_first_prompt_is_told_once(
    space: Path, hook: Hook, kinen: Callable[..., Any]
) -> None:
    assert kinen("plan", "save", "Ship it", "- [ ] weigh", "--activate").code == 0
    hook(payload(space, "UserPromptSubmit", prompt="Weigh the parcels."))
    start = payload(space, "SessionStart", source="startup")
    assert "Ship it" in context(hook(start))
    assert hook(start) == ""


def test_a_session_that_is_resumed_goes_on_in_its_capsule(space: Path, hook: Hook) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="first"))
    hook(payload(space, "SessionEnd", reason="other"))
    assert left_over() == []
    hook(ran(space, "echo late", "t9"))  # what was still under way
    with Memory.open(space) as memory:
        (capsule,) = memory.journal.entries("capsules")[0]
        (before,) = memory.journal.entries("summaries")[0]
        assert capsule.status == "closed"
        assert len(memory.journal.capsule(capsule.id)[1]) == 2
    hook(payload(space, "SessionStart", source="resume"))
    hook(payload(space, "UserPromptSubmit", prompt="second", prompt_id="p2"))
    with Memory.open(space) as memory:
        (capsule,) = memory.journal.entries("capsules")[0]
        assert (capsule.status, capsule.intent) == ("open", "first")
        assert memory.journal.entries("summaries")[0] == []
    hook(payload(space, "SessionEnd", reason="other"))
    assert left_over() == []
    with Memory.open(space) as memory:
        (after,) = memory.journal.entries("summaries")[0]
        assert after.capsule == before.capsule
        assert "3 events" in after.content
        assert memory.index.check() == ""


def test_what_a_crash_left_open_is_closed_by_a_later_start(space: Path, hook: Hook) -> None:
    hook(payload(space, "UserPromptSubmit", "crashed", prompt="and then the lights went out"))
    with Memory.open(space) as memory, memory.core.store.writing() as db:
        db.execute("UPDATE capsules SET opened_at = opened_at - ?", (3 * DAY,))
        db.execute("UPDATE observations SET ts = ts - ?", (2 * DAY,))
    hook(payload(space, "SessionStart", "s2", source="startup"))
    assert left_over() == []
    with Memory.open(space) as memory:
        results = {
            capsule.scope.session: capsule for capsule in memory.journal.entries("capsules")[0]
        }
        assert (results["crashed"].status, results["crashed"].reason) == ("closed", "abandoned")
        assert results["s2"].status == "open"
        assert "lights went out" in memory.journal.entries("summaries")[0][0].content


def test_the_same_event_twice_is_kept_once(space: Path, hook: Hook) -> None:
    for _ in range(2):
        hook(payload(space, "UserPromptSubmit", prompt="once"))
        hook(ran(space, "ls", "t1", "a.md"))
        hook(payload(space, "PostCompact", compact_summary="all of it"))
    assert contents(space) == ["once", "$ ls\na.md"]
    with Memory.open(space) as memory:
        assert memory.journal.entries("summaries")[1] == 1


def test_paths_that_are_private_are_not_captured(space: Path, hook: Hook, write: Any) -> None:
    write(".env", "A=1")
    write("secrets/plan.txt", "x")
    write(".kinen/config.yml", "privacy:\n  exclude: [secrets/**]\n")
    for n, command in enumerate(("cat .env", "cat ./secrets/plan.txt", f"cat {space}/.env")):
        hook(ran(space, command, f"t{n}", "what is in it"))
    for n, path in enumerate((".env", "secrets/plan.txt", "gone/.env.local")):
        values = {"tool_name": "Read", "tool_input": {"file_path": f"{space}/{path}"}}
        hook(payload(space, "PostToolUse", **values, tool_use_id=f"r{n}", tool_response={}))
    hook(ran(space, "jq .key a.json", "t9", "1"))  # only looks like a path
    assert contents(space) == ["$ jq .key a.json\n1"]


def test_a_prompt_is_told_what_belongs_to_it_if_that_is_wanted(
    space: Path, hook: Hook, write: Any, kinen: Callable[..., Any]
) -> None:
    write("docs/kettle.md", "# Kettle\n\nThe copper kettle leaks at its spout.\n")
    request = payload(space, "UserPromptSubmit", prompt="why does the copper kettle leak?")
    assert hook(request, KINEN_HOOKS_INJECT_ON_PROMPT="true") == ""  # there is no index yet
    assert kinen("index", "--quiet").code == 0
    assert hook(request) == ""
    output = context(hook(request, KINEN_HOOKS_INJECT_ON_PROMPT="true"))
    assert "leaks at its spout. [note:docs/kettle.md]" in output
    other = payload(space, "UserPromptSubmit", prompt="rename the button", prompt_id="p2")
    assert hook(other, KINEN_HOOKS_INJECT_ON_PROMPT="true") == ""
    assert contents(space) == ["why does the copper kettle leak?", "rename the button"]


def test_modules_of_the_project_are_not_taken_for_ours(space: Path, hook: Hook, write: Any) -> None:
    for name in ("json.py", "sqlite3.py", "kinen/__init__.py"):
        write(name, "open('taken', 'w').close()\nraise SystemExit(3)\n")
    hook(payload(space, "UserPromptSubmit", prompt="hi"))
    hook(payload(space, "SessionEnd", reason="other"))
    assert left_over() == []
    assert not (space / "taken").exists()
    with Memory.open(space) as memory:
        assert [capsule.status for capsule in memory.journal.entries("capsules")[0]] == ["closed"]


# Whatever goes wrong


@pytest.mark.parametrize(
    "said",
    [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b'"a"' * 999, b"[" * 100_000, b"{} trailing"],
)
def test_garbage_is_taken_for_nothing(hook: Hook, said: bytes) -> None:
    assert hook(said) == ""


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd"])
def test_no_event_of_an_odd_shape_stops_the_agent(space: Path, hook: Hook, name: str) -> None:
    for odd in ({"session_id": 7, "prompt": ["x"]}, {"session_id": None, "tool_input": "x"}):
        hook({**payload(space, name, prompt="p", tool_name="Bash"), **odd})
    assert left_over() == []


def test_where_no_space_can_be_nothing_is_kept(home: Path, hook: Hook) -> None:
    for folder in (home, Path("/"), Path("/usr/lib")):
        for name in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
            assert hook(payload(folder, name, prompt="hello", source="startup")) == ""
    assert left_over() == []
    assert not list((home / "kinen").rglob("journal.db"))
    assert spooled(home) == []


def test_while_the_journal_is_locked_events_wait_in_the_spool(
    space: Path, home: Path, hook: Hook
) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="before"))
    with Memory.open(space) as memory:
        path = memory.core.store.path
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    assert "claude-code, at work: before" in hook(
        payload(space, "SessionStart", "s2", source="startup")
    )
    hook(ran(space, "make", "t1", "built", session="s2"))
    hook(payload(space, "PostCompact", "s2", compact_summary="what it came to"))
    assert len(spooled(home)) == 2  # and each of them ended while the lock was held
    db.execute("ROLLBACK")
    db.close()
    hook(payload(space, "Stop", "s2", last_assistant_message="after"))
    hook(payload(space, "SessionEnd", "s2", reason="other"))
    assert left_over() == []
    assert spooled(home) == []
    assert contents(space) == ["before", "$ make\nbuilt", "what it came to", "after"]
    with Memory.open(space) as memory:
        results = {
            capsule.scope.session: capsule for capsule in memory.journal.entries("capsules")[0]
        }
        assert len(memory.journal.capsule(results["s2"].id)[1]) == 3
        assert results["s2"].status == "closed"
        assert memory.index.check() == ""


def test_a_session_that_was_all_spooled_gets_its_capsule_at_its_end(
    space: Path, hook: Hook
) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="before"))
    with Memory.open(space) as memory:
        db = sqlite3.connect(memory.core.store.path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    hook(ran(space, "make", "t1", "built", session="s2"))
    db.execute("ROLLBACK")
    db.close()
    hook(payload(space, "SessionEnd", "s2", reason="other"))
    assert left_over() == []
    with Memory.open(space) as memory:
        (results,) = (
            capsule
            for capsule in memory.journal.entries("capsules")[0]
            if capsule.scope.session == "s2"
        )
        assert results.status == "closed"
        assert [item.content for item in memory.journal.capsule(results.id)[1]] == ["$ make\nbuilt"]


@pytest.mark.parametrize("damage", ["no database", "of a newer kinen", "no file at all"])
def test_a_journal_that_cannot_be_used_leaves_events_in_the_spool(
    space: Path, home: Path, hook: Hook, damage: str
) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="before"))
    with Memory.open(space) as memory:
        path = Path(memory.core.store.path)
    for item in path.parent.glob("journal.db*"):
        item.unlink()
    if damage == "no file at all":
        path.mkdir()
    elif damage == "no database":
        path.write_text("this is no database" * 99)
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 999")
        db.close()
    for name in ("SessionStart", "PreCompact", "SessionEnd"):
        assert hook(payload(space, name, source="startup", trigger="auto")) == ""
    hook(ran(space, "make", "t1", "built"))
    assert left_over() == []
    (waiting,) = spooled(home)
    assert "$ make" in waiting.read_text()


def test_in_a_folder_that_is_gone_events_belong_where_they_did(
    space: Path, home: Path, hook: Hook
) -> None:
    (space / "sub").mkdir()
    hook(payload(space / "sub", "UserPromptSubmit", prompt="before"))
    hook(payload(space, "Stop", last_assistant_message="here too"))
    (space / "sub").rmdir()
    hook(ran(space / "sub", "pwd", "t1", "gone"))
    hook(ran(space / "never" / "there", "pwd", "t2", "nor this"))
    moved = space.with_name("moved")
    shutil.move(space, moved)
    assert hook(payload(space, "SessionStart", source="resume")) == ""
    hook(ran(space, "pwd", "t3", "all of it"))
    hook(payload(space, "SessionEnd", reason="other"))
    assert left_over() == []
    shutil.move(moved, space)
    outputs = [item.rpartition("\n")[2] for item in contents(space)]
    assert outputs == ["before", "here too", "gone", "nor this", "all of it"]


def test_with_a_broken_config_events_still_arrive(space: Path, hook: Hook, write: Any) -> None:
    hook(payload(space, "UserPromptSubmit", prompt="before"))
    broken = write(".kinen/config.yml", "index: [")
    hook(ran(space, "make", "t1", "built"))
    broken.unlink()
    assert contents(space) == ["before", "$ make\nbuilt"]


def test_on_a_full_disk_events_wait_where_there_is_room(
    space: Path, tmp_path: Path, hook: Hook
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("no file system of one's own can be made here")
    disk, other = tmp_path / "disk", tmp_path / "other"
    disk.mkdir()
    other.mkdir()
    fill = 'mount -t tmpfs -o size=1m tmpfs "$0" || exit 9; yes > "$0/full" 2>&-; exec "$@"'
    prefix = ["unshare", "-rm", "sh", "-c", fill, str(disk)]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no file system of one's own can be made here")
    env = {"KINEN_HOME": str(disk / "kinen"), "TMPDIR": str(other)}
    assert hook(payload(space, "SessionStart", source="startup"), prefix=prefix, **env) == ""
    assert hook(ran(space, "make", "t1", "built"), prefix=prefix, **env) == ""
    (waiting,) = (path for path in other.rglob("*") if path.is_file())
    assert "$ make" in waiting.read_text()


def test_an_agent_that_kinen_itself_started_is_not_listened_to(space: Path, hook: Hook) -> None:
    message = payload(space, "UserPromptSubmit", prompt="distil this")
    assert hook(message, KINEN_DISTILLING="1") == ""
    assert contents(space) == []


def test_an_unknown_agent_is_told_how_it_is_called(space: Path) -> None:
    command = [sys.executable, "-m", "kinen", "hook", "nobody"]
    done = subprocess.run(command, input="{}", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "kinen hook claude-code|codex|" in done.stderr


# Many at once


def test_many_hooks_at_once_lose_and_double_nothing(space: Path, home: Path, hook: Hook) -> None:
    """Each event comes twice, in any order, from eight sessions that begin and end meanwhile."""
    events = [ran(space, f"step {n}", f"t{n}", session=f"s{n % 8}") for n in range(CALLS // 2)]
    calls = [*events, *events]
    random.Random(7).shuffle(calls)
    calls += [payload(space, "SessionEnd", f"s{n}", reason="other") for n in range(3)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        assert set(pool.map(hook, calls)) == {""}
    assert left_over() == []
    with Memory.open(space) as memory:
        entry = memory.journal.entries("observations")[0]
        assert sorted(element.content for element in entry) == sorted(
            f"$ step {n}" for n in range(CALLS // 2)
        )
        capsules = {capsule.id: capsule for capsule in memory.journal.entries("capsules")[0]}
        assert len(capsules) == 8
        assert all(capsules[item.capsule].scope.session == item.scope.session for item in entry)
        assert [value.status for value in capsules.values()].count("closed") == 3
        assert memory.index.check() == ""
        memory.sync(embed=False)
        assert memory.index.status().kinds["observation"] == CALLS // 2
    assert spooled(home) == []


def test_the_log_of_the_journal_does_not_grow_with_every_hook(space: Path, hook: Hook) -> None:
    """Nobody closes it while a session lasts, and each hook has to read what is in it."""
    hook(payload(space, "UserPromptSubmit", prompt="hi"))
    with Memory.open(space) as memory:
        path = memory.core.store.path
    fill = (
        "import os, sys\nfrom kinen.journal import write\nfrom kinen.journal.schema import insert\n"
        "db = write.connect(sys.argv[1], 1000)\n"
        "insert(db, [write.row('x ' * 1_000_000, 'message')])\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", fill, path], check=True)
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 1_500_000
    hook(ran(space, "ls", "t1"))
    assert not log.exists() or log.stat().st_size < 1_000_000
    assert contents(space)[-1] == "$ ls"


# What it loads


def loaded(message: dict[str, Any]) -> set[str]:
    """The modules that a bare interpreter has after handling an event."""
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "from kinen.cli import main\n"
        "try:\n    main(['hook', 'claude-code'])\nexcept SystemExit:\n    pass\n"
        "print(file=sys.stderr)\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        input=json.dumps(message).encode(),
        capture_output=True,
        check=True,
    )
    return set(done.stderr.decode().splitlines()[-1].split())


SLOW = {"typing", "json", "subprocess", "hashlib", "inspect", "dataclasses", "contextlib"}
LIGHT = {
    "agents",
    "agents.claude_code",
    "agents.client",
    "agents.clients",
    "agents.clients.claude_code",
    "agents.tool_use",
    "characters",
    "cli",
    "errors",
    "hooks",
    "hooks.command",
    "hooks.detached",
    "hooks.event",
    "hooks.injection",
    "hooks.saving",
    "hooks.payload",
    "ids",
    "index",
    "index.glance",
    "journal",
    "journal.admission",
    "journal.authors",
    "journal.brief",
    "journal.capsules",
    "journal.done",
    "journal.ledger",
    "journal.observe",
    "journal.recent",
    "journal.runs",
    "journal.schema",
    "journal.spool",
    "journal.start",
    "journal.write",
    "model",
    "model.kinds",
    "model.late",
    "paths",
    "privacy",
    "privacy.entrance",
    "privacy.exclude",
    "privacy.injected",
    "privacy.masking",
    "privacy.names",
    "privacy.quote",
    "privacy.shapes",
    "privacy.words",
    "space",
    "space.route",
    "storage",
    "storage.folder",
    "storage.inside",
    "storage.private",
    "storage.regular",
    "storage.sqlite",
    "text",
    "text.shorten",
}


def test_hooks_load_the_standard_library_and_little_of_kinen(space: Path, hook: Hook) -> None:
    recorded = [
        payload(space, "UserPromptSubmit", prompt="hi"),
        ran(space, "ls", "t1", "a"),
        payload(space, "Stop", last_assistant_message="done"),
    ]
    hook(recorded[0])
    (space / ".memories").mkdir()
    output = [payload(space, "SessionStart", "s2", source="startup"), payload(space, "PreCompact")]
    for value in (*recorded, *output):
        results = loaded(value)
        tops = {name.split(".")[0] for name in results}
        assert tops <= {*sys.stdlib_module_names, "kinen", "__main__"}
        # Before a compaction a process is started that sums up the session.
        assert value["hook_event_name"] == "PreCompact" or not tops & SLOW
        assert value in output or "re" not in tops
        ours = {name.partition(".")[2] for name in results if name.startswith("kinen.")}
        assert ours <= LIGHT


def test_a_session_that_begins_is_told_the_decision_of_a_checkpoint_and_what_else_is_known(
    space: Path, hook: Hook
) -> None:
    with Memory.open(space) as memory:
        memory.worklog.checkpoint("Stores", type="decision", decision="keep sessions in Postgres")
        memory.observe("It lives in Postgres now.", scope={"session": "s0"})
        memory.journal.open_capsule("move the sessions", scope={"session": "s0"})
    output = context(hook(payload(space, "SessionStart", "s9", source="startup")))
    assert "- keep sessions in Postgres [checkpoint:" in output
    assert "\nKnown here: 1 session, 1 checkpoint" in output
    assert 'kinen recall "QUESTION"' in output


def test_commits_are_those_that_git_has(tmp_path: Path, hook: Hook) -> None:
    project = tmp_path / "shop"
    repository = Repository(project)
    repository.commit("init", {"a.py": "1\n"})
    hook(payload(project, "SessionStart", source="startup"))
    hook(payload(project, "UserPromptSubmit", prompt="Fix the cart and commit it."))
    lines = (
        ("git commit -qm 'fix: refused'", ""),
        ("git commit -qm 'fix: first try' --allow-empty", "fix: first try"),
        ("git commit -q --amend -m 'fix: the cart'", "--amend"),
        ("./release.sh", "chore: release"),
        ("git commit -qm 'wip: undone'", "wip: undone"),
        ("git reset -q --hard HEAD~1", "--reset"),
    )
    words = {
        "--amend": ("commit", "-q", "--amend", "--allow-empty", "-m", "fix: the cart"),
        "--reset": ("reset", "-q", "--hard", "HEAD~1"),
    }
    for n, (line, subject) in enumerate(lines):
        if subject:
            made = words.get(subject, ("commit", "-q", "--allow-empty", "-m", subject))
            repository.git(*made, GIT_COMMITTER_DATE=f"{time.time():.0f} +0000")
        hook(ran(project, line, f"toolu_{n}"))
    hook(payload(project, "Stop", last_assistant_message="The cart is fixed, all in git now."))
    hook(payload(project, "SessionEnd", reason="other"))
    assert left_over() == []
    with Memory.open(project) as memory:
        (summary,) = memory.journal.entries("summaries")[0]
    log = repository.git("log", "-2", "--format=%s (%h)", "--abbrev=7").splitlines()
    assert f"2 commits ({'; '.join(log)}), not pushed" in summary.content
    for gone in ("refused", "first try", "undone"):
        assert gone not in summary.content.partition("**Commands**")[0], summary.content
