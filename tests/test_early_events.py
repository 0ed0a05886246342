"""What an agent does before there is a space, or while none can be found, is in it afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.space import early

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Kinen = Callable[..., Ran]
    Send = Callable[..., str]

STRESS = bool(os.environ.get("KINEN_STRESS"))
TOKEN = "gh" + "p_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"
PROMPT = "Create a new web shop with FastAPI. We decided on Postgres, never SQLite"


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-C", str(folder), *words]
    subprocess.run(command, capture_output=True, check=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An empty folder."""
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


@pytest.fixture
def send(kinen: Kinen, shop: Path) -> Send:
    """Sends an event of a session in the shop through a real hook; returns what it printed."""

    def run(name: str, session: str = "s1", cwd: Path | None = None, **fields: Any) -> str:
        folder = cwd or shop
        payload = {"hook_event_name": name, "session_id": session, "cwd": str(folder), **fields}
        done = kinen("hook", "claude-code", cwd=folder, stdin=json.dumps(payload))
        assert (done.code, done.err) == (0, "")
        return done.out

    return run


def command(line: str, output: str = "", id_: str = "") -> dict[str, Any]:
    response = {"stdout": output, "stderr": ""}
    tool = {"tool_name": "Bash", "tool_input": {"command": line}, "tool_response": response}
    return {**tool, "tool_use_id": id_} if id_ else tool


def edit(path: Path, text: str) -> dict[str, Any]:
    inputs = {"file_path": str(path), "content": text}
    return {"tool_name": "Write", "tool_input": inputs, "tool_response": {"type": "create"}}


def observations(space: Path) -> list[Any]:
    """What a space has, oldest first."""
    with Memory.open(space) as memory:
        return memory.journal.entries("observations")[0][::-1]


def texts(space: Path) -> list[str]:
    return [entry.content for entry in observations(space)]


def capsules(space: Path) -> list[Any]:
    with Memory.open(space) as memory:
        return list(memory.journal.entries("capsules")[0])


def waiting(home: Path) -> list[Path]:
    """The files of early events."""
    files = (home / "kinen" / "early").rglob("*")
    return [path for path in files if path.is_file() and "." not in path.name]


def begin(send: Send, shop: Path) -> None:
    """A session that starts in an empty folder: a prompt, an edit, a command."""
    assert "No memory here yet" in send("SessionStart", source="startup")
    assert send("UserPromptSubmit", prompt=PROMPT, prompt_id="p1") == ""
    assert send("PostToolUse", **edit(shop / "app" / "main.py", "app = FastAPI()")) == ""
    assert send("PostToolUse", **command("pip install fastapi", "Successfully installed")) == ""


# A folder that becomes a space


def test_a_new_project_has_everything_from_before_its_git_init(
    shop: Path, home: Path, send: Send
) -> None:
    begin(send, shop)
    git(shop, "init")
    send("PostToolUse", **command("git init", "Initialized empty Git repository"))
    git(shop, "commit", "--allow-empty", "-m", "first")
    send("PostToolUse", **command("git commit -m first", "1 file changed"))
    send("Stop", last_assistant_message="The shop is set up.", prompt_id="p1")
    assert texts(shop) == [
        PROMPT,
        "Tool: Write\nFile: app/main.py\n+app = FastAPI()",
        "$ pip install fastapi\nSuccessfully installed",
        "$ git init\nInitialized empty Git repository",
        "$ git commit -m first\n1 file changed",
        "The shop is set up.",
    ]
    entries = observations(shop)
    times = [entry.ts for entry in entries]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert entries[1].files == ("app/main.py",)
    assert entries[1].provenance["filePath"] == "app/main.py"
    (capsule,) = capsules(shop)
    assert (capsule.intent, capsule.status, capsule.opened_at) == (PROMPT, "open", times[0])
    assert {(entry.capsule, entry.scope.repo) for entry in entries} == {(capsule.id, "shop")}
    assert waiting(home) == []
    subprocess.run(
        [sys.executable, "-m", "kinen", "hook", "claude-code", "--close", "s1"],
        cwd=shop,
        check=True,
    )
    brief = send("SessionStart", "s2", source="startup")
    assert "Postgres, never SQLite" in brief and "app/main.py" in brief


def test_a_session_that_ended_before_the_git_init_is_the_last_session_of_the_next(
    shop: Path, home: Path, send: Send
) -> None:
    begin(send, shop)
    send("Stop", last_assistant_message="The shop is set up.", prompt_id="p1")
    send("SessionEnd")
    ended = time.time() * 1000
    git(shop, "init")
    assert "Postgres, never SQLite" in send("SessionStart", "s2", source="startup")
    while list((home / "kinen" / "early").iterdir()):
        time.sleep(0.1)  # a slow machine closes the session after the start of the next
    capsule = next(entry for entry in capsules(shop) if entry.scope.session == "s1")
    assert capsule.status == "closed" and capsule.closed_at <= ended
    brief = send("SessionStart", "s3", source="startup")
    assert "Last session" in brief and "Postgres, never SQLite" in brief
    assert "at work: Create" not in brief


def test_a_session_that_goes_on_after_its_end_is_open(shop: Path, send: Send) -> None:
    begin(send, shop)
    send("SessionEnd")
    send("UserPromptSubmit", prompt="one more thing", prompt_id="p2")
    git(shop, "init")
    send("PostToolUse", **command("git init"))
    (capsule,) = capsules(shop)
    assert (capsule.status, capsule.intent) == ("open", PROMPT)


def test_kinen_init_takes_in_what_waited(shop: Path, home: Path, send: Send, kinen: Kinen) -> None:
    begin(send, shop)
    send("SessionEnd")
    done = kinen("init", cwd=shop)
    assert "took in 3 events from before it was a space" in done.out
    assert texts(shop)[0] == PROMPT
    assert [entry.status for entry in capsules(shop)] == ["closed"]
    assert waiting(home) == []


def test_kinen_init_in_the_middle_of_a_session_counts_what_it_took_in(
    shop: Path, home: Path, send: Send, kinen: Kinen
) -> None:
    begin(send, shop)
    done = kinen("init", cwd=shop)
    assert "took in 3 events from before it was a space" in done.out
    assert waiting(home) == []
    assert [entry.status for entry in capsules(shop)] == ["open"]


def test_a_command_takes_in_what_waited_for_a_git_init(
    shop: Path, send: Send, kinen: Kinen
) -> None:
    begin(send, shop)
    git(shop, "init")
    assert "Postgres, never SQLite" in kinen("list", "observations", cwd=shop).out


def test_a_folder_that_gets_notes_takes_in_what_waited(shop: Path, send: Send) -> None:
    begin(send, shop)
    (shop / "README.md").write_text("# Shop\n")
    send("PostToolUse", **edit(shop / "README.md", "# Shop"))
    assert len(texts(shop)) == 4


def test_the_space_around_a_folder_takes_in_its_events(
    shop: Path, tmp_path: Path, send: Send
) -> None:
    inner = shop / "api" / "v1"
    inner.mkdir(parents=True)
    (tmp_path / "shopping").mkdir()
    send("UserPromptSubmit", cwd=inner, prompt="in the folder")
    send("PostToolUse", cwd=inner, **edit(inner / "main.py", "x = 1"))
    send("PostToolUse", cwd=inner, **edit(tmp_path / "outside.py", "x = 1"))
    send("UserPromptSubmit", "s2", cwd=tmp_path / "shopping", prompt="beside it")
    git(shop, "init")
    send("UserPromptSubmit", prompt="in the repository")
    entries = observations(shop)
    assert [entry.content.partition("\n+")[0] for entry in entries] == [
        "in the folder",
        "Tool: Write\nFile: api/v1/main.py",
        f"Tool: Write\nFile: {tmp_path}/outside.py",
        "in the repository",
    ]
    assert entries[1].files == ("api/v1/main.py",)
    assert early.count(os.environ["KINEN_HOME"], str(tmp_path / "shopping")) == 1


def test_a_repository_in_a_repository_takes_in_its_own_events(shop: Path, send: Send) -> None:
    inner = shop / "vendor"
    inner.mkdir()
    send("UserPromptSubmit", cwd=inner, prompt="for the inner one")
    git(inner, "init")
    git(shop, "init")
    send("UserPromptSubmit", "s2", prompt="for the outer one")
    assert texts(shop) == ["for the outer one"]
    assert texts(inner) == ["for the inner one"]


# What is kept meanwhile


def test_what_waits_is_masked_private_and_never_what_is_excluded(
    shop: Path, home: Path, send: Send
) -> None:
    send("UserPromptSubmit", prompt=f"use {TOKEN} <private>and my diary</private> for the shop")
    send("PostToolUse", **edit(shop / ".env", "SECRET=1"))
    send("PostToolUse", **command("cat .ssh/id_rsa", "hidden"))
    send("PostToolUse", **command("cat config/customers.csv", "hidden later"))
    send("PostToolUse", **edit(shop / "config" / "customers.csv", "hidden later"))
    assert len(waiting(home)) == 3
    for path in (home / "kinen" / "early").rglob("*"):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected
        text = path.read_text() if path.is_file() else ""
        assert TOKEN not in text and "diary" not in text and "SECRET" not in text
    (shop / ".kinen").mkdir()
    (shop / ".kinen" / "config.yml").write_text("privacy:\n  exclude: [config/customers.csv]\n")
    send("UserPromptSubmit", prompt="now it is a space")
    assert texts(shop) == ["use [masked:github_token] [private] for the shop", "now it is a space"]
    (entry, _) = observations(shop)
    assert entry.masked == {"count": 2, "classes": ["github_token", "private"]}


def test_in_the_home_folder_and_system_folders_nothing_waits_or_is_said(
    home: Path, send: Send
) -> None:
    from pathlib import Path

    for folder in (home, Path("/"), Path("/usr/lib")):
        assert send("SessionStart", cwd=folder, source="startup") == ""
        assert send("UserPromptSubmit", cwd=folder, prompt="hello") == ""
        assert send("SessionEnd", cwd=folder) == ""
    assert not (home / "kinen" / "early").exists()


def test_what_waits_is_bounded_and_the_oldest_gives_way(
    shop: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "EVENTS", 20)
    monkeypatch.setattr(early, "BYTES", 1 << 16)
    folder = os.fspath(home / "kinen")
    for number in range(early.EVENTS + 5):
        early.put(folder, str(shop), f"{number:026}", {"row": number})
    names = sorted(path.name for path in waiting(home))
    assert len(names) == early.EVENTS and names[0] == f"{5:026}"
    for number in range(5):
        early.put(folder, str(shop), f"large{number}", {"row": "x" * (early.BYTES // 3)})
    assert sum(path.stat().st_size for path in waiting(home)) <= early.BYTES
    for number in range(early.FOLDERS + 5):
        early.put(folder, f"{shop}/{number}", "event", {"row": number})
    assert len(early.folders(folder)) == early.FOLDERS
    assert f"{shop}/{early.FOLDERS + 4}" in dict(early.folders(folder))


def test_after_thirty_days_without_a_space_it_is_gone(shop: Path, home: Path, send: Send) -> None:
    send("UserPromptSubmit", prompt="long ago")
    send("SessionEnd")
    month = time.time() - (early.DAYS + 1) * 86_400
    for path in (home / "kinen" / "early").rglob("*"):
        os.utime(path, (month, month))
    send("UserPromptSubmit", "s2", prompt="today")
    send("SessionStart", "s3", source="startup")
    git(shop, "init")
    send("UserPromptSubmit", "s3", prompt="in the space")
    assert texts(shop) == ["today", "in the space"]


def test_status_and_doctor_say_how_many_events_wait_and_remove_deletes_them(
    shop: Path, home: Path, send: Send, kinen: Kinen
) -> None:
    begin(send, shop)
    done = kinen("status", cwd=shop)
    assert done.code == 2
    assert done.err.startswith("kinen: no space here; 3 events wait for one · run `kinen init`")
    assert f"{shop}: 3 events from before" in kinen("doctor", cwd=shop).out
    assert "events wait" not in kinen("status", cwd=home).err
    done = kinen("space", "remove", ".", cwd=shop)
    assert (done.code, done.out) == (0, f"deleted 3 events that waited for a space in {shop}\n")
    assert not waiting(home)
    assert kinen("space", "remove", ".", cwd=shop).code == 2
    git(shop, "init")
    send("UserPromptSubmit", prompt="afresh")
    assert texts(shop) == ["afresh"]


def test_the_start_of_a_session_says_once_that_nothing_is_remembered(
    shop: Path, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in ("startup", "clear"):
        said = json.loads(send("SessionStart", source=source))
        text = said["hookSpecificOutput"]["additionalContext"]
        assert "`git init` or `kinen init`" in text and len(text.splitlines()) == 3
    for source in ("resume", "compact"):
        assert send("SessionStart", source=source) == ""
    monkeypatch.setenv("KINEN_HOOKS_BUDGET", "0")
    assert send("SessionStart", source="startup") == ""


# Twice, killed, at the same time


def test_what_is_taken_in_twice_is_stored_once(shop: Path, home: Path, send: Send) -> None:
    begin(send, shop)
    copies = {path: path.read_bytes() for path in waiting(home)}
    git(shop, "init")
    send("UserPromptSubmit", prompt="in the space", prompt_id="p2")
    before = texts(shop)
    for path, data in copies.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert texts(shop) == before and len(before) == 4
    assert waiting(home) == []


KILLED = """
import os, sys
from kinen.agents import adopt
from kinen.space import early
from kinen.journal import spool
left = int(os.environ["LEFT"])
def counted(real):
    def call(*values):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return real(*values)
    return call
spool.put = counted(spool.put)
early.discard = counted(early.discard)
spool.drain = counted(spool.drain)
from kinen.cli import main
sys.argv = ["kinen", "hook", "claude-code"]
sys.exit(main())
"""


@pytest.mark.parametrize("left", range(7))
def test_an_adoption_that_is_killed_is_finished_by_the_next_event(
    shop: Path, home: Path, send: Send, left: int
) -> None:
    begin(send, shop)
    git(shop, "init")
    payload = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(shop)}
    payload |= command("git init", id_="t1")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        input=json.dumps(payload).encode(),
        cwd=shop,
        env={**os.environ, "LEFT": str(left)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    send("PostToolUse", **command("git init", id_="t1"))
    send("PostToolUse", **command("git status", id_="t2"))
    assert [text.partition("\n")[0] for text in texts(shop)] == [
        PROMPT,
        "Tool: Write",
        "$ pip install fastapi",
        "$ git init",
        "$ git status",
    ]
    (capsule,) = capsules(shop)
    assert capsule.intent == PROMPT
    assert waiting(home) == []


def test_hooks_that_are_killed_while_a_folder_becomes_a_space_lose_nothing(
    shop: Path, home: Path
) -> None:
    """Many hooks at once, some of them killed; each event whose hook ended is stored, once."""
    chance = random.Random(7)
    rounds = 40 if STRESS else 4
    for round_ in range(rounds):
        folder = shop / f"project{round_}"
        folder.mkdir()
        running = []
        for number in range(8):
            payload = {"hook_event_name": "PostToolUse", "session_id": f"s{number % 3}"}
            payload |= {"cwd": str(folder), **command(f"make {number}", id_=f"{round_}-{number}")}
            process = subprocess.Popen(
                [sys.executable, "-m", "kinen", "hook", "claude-code"],
                stdin=subprocess.PIPE,
                cwd=folder,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(payload).encode())
            process.stdin.close()
            running.append(process)
            if number == 4:
                running[0].wait()
                git(folder, "init")
            if chance.random() < 0.25:
                time.sleep(chance.random() * 0.1)
                process.kill()
        ended = [number for number, process in enumerate(running) if process.wait() == 0]
        lines = texts(folder)
        assert len(lines) == len(set(lines))
        assert {f"$ make {number}" for number in ended} <= set(lines)
    assert waiting(home) == []


# A registry that cannot be read

JUNK = ("", "{", "no JSON", '{"version": 1, "spaces": {"a"', '["other"]', '{"spaces": 7}', "folder")


@pytest.mark.parametrize(
    "junk", [*JUNK[:2], *(pytest.param(junk, marks=pytest.mark.slow) for junk in JUNK[2:])]
)
def test_a_damaged_registry_loses_no_event_and_stops_no_command(
    shop: Path, space: Path, home: Path, send: Send, kinen: Kinen, junk: str
) -> None:
    assert kinen("init", "--name", "notes").code == 0
    assert kinen("space", "alias", "notes", "mine").code == 0
    assert kinen("log", "a known space").code == 0
    file = home / "kinen" / "spaces.json"
    file.unlink()
    if junk == "folder":
        file.mkdir()
    else:
        file.write_text(junk)
    git(shop, "init")
    for number in range(3):
        send("PostToolUse", **command(f"make {number}"))
    assert texts(shop) == ["$ make 0", "$ make 1", "$ make 2"]
    assert "a known space" in kinen("list", "observations", "--space", "mine").out
    assert kinen("space", "list").out.count("\n") == 2
    (kept,) = file.parent.glob("spaces.json.damaged-*")
    first = kinen("status")
    assert f"{kept.name}.reported was damaged and is replaced" in first.err
    assert "damaged" not in kinen("status").err
    assert kept.name in kinen("doctor").out


def test_a_registry_of_a_newer_kinen_is_refused_and_loses_no_event(
    shop: Path, home: Path, send: Send, kinen: Kinen
) -> None:
    file = home / "kinen" / "spaces.json"
    file.parent.mkdir()
    file.write_text('{"version": 2, "spaces": []}')
    git(shop, "init")
    assert "written by a newer kinen" in send("SessionStart", source="startup")
    send("UserPromptSubmit", prompt=PROMPT)
    done = kinen("status", cwd=shop)
    assert done.code == 2 and "was written by a newer kinen · update kinen" in done.err
    assert file.read_text() == '{"version": 2, "spaces": []}'
    file.unlink()
    send("PostToolUse", **command("make"))
    assert texts(shop) == [PROMPT, "$ make"]


@pytest.mark.parametrize("what", ["link", "config"])
def test_whatever_hides_the_space_loses_no_event(
    shop: Path, home: Path, send: Send, what: str
) -> None:
    git(shop, "init")
    (shop / ".kinen").mkdir()
    file = home / "kinen" / "spaces.json"
    if what == "config":
        file = shop / ".kinen" / "config.yml"
        file.write_text("search: [\n")
    else:
        file.parent.mkdir()
        file.symlink_to(home / "elsewhere")
    send("UserPromptSubmit", prompt=PROMPT)
    file.unlink()
    send("PostToolUse", **command("make"))
    assert texts(shop) == [PROMPT, "$ make"]
