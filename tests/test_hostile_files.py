"""Links, FIFOs, devices and huge files in the place of a space's files, at every surface."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import forked
from kinen.errors import UnsafeFile
from kinen.storage import inside, regular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 300
"""Seconds after which a command counts as one that hangs."""
HUGE = 2 << 30
KINDS = ("fifo", "socket", "folder", "tty", "stdin", "zero", "huge")
FIRST = ("fifo", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:]))
"""The same kinds, of which `make test` has the first."""
SECRET = "kettle-of-the-neighbour"
PLAN = f"---\nid: p\ntitle: {SECRET}\nstatus: active\n---\n\n- [ ] {SECRET}\n"
CHECKPOINT = f"---\nid: checkpoint_1\ntimestamp: 2026-01-01T10:00:00.000Z\n---\n\n{SECRET}\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="FIFOs and links of POSIX")


class Ended:
    """How a process ended, and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def refused(self, *words: str) -> bool:
        """Whether it is an ordinary error that names these words."""
        plain = "bug" not in self.err and "Traceback" not in self.err
        return self.code == 2 and plain and all(word in self.err for word in words)


def plant(path: Path, kind: str) -> None:
    """Put something else than a small regular file there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # the address of a socket is short
        try:
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind(path.name)
        finally:
            os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(HUGE)
    else:
        path.symlink_to(f"/dev/{kind}")


def ended(line: list[str], cwd: Path, stdin: str | None, env: dict[str, str]) -> Ended:
    env = {**os.environ, "KINEN_INDEX_EMBEDDING_PROVIDER": "none", **env}
    done = forked.shared().run(line, cwd, stdin, env)
    assert done.code != -signal.SIGALRM, f"it hangs: {' '.join(line)}"
    return Ended(done.code, done.out.decode(), done.err.decode())


@pytest.fixture
def run(space: Path) -> Callable[..., Ended]:
    """Runs the real command, its standard input open and silent for as long as it lives."""

    def start(*words: str, cwd: Path | None = None, **env: str) -> Ended:
        return ended([*words], cwd or space, None, env)

    return start


@pytest.fixture
def hook(space: Path) -> Callable[..., Ended]:
    """Runs the real hook with one event of Claude Code."""

    def start(event: str, **more: object) -> Ended:
        payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(space), **more}
        return ended(["hook", "claude-code"], space, json.dumps(payload), {})

    return start


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(space: Path) -> Path:
    """The space as a git repository with one commit."""
    (space / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "tea.md"], [*who, "commit", "-qm", "tea"]):
        subprocess.run(["git", "-C", str(space), *words], check=True)
    return space


def used(**more: object) -> dict[str, object]:
    response = {"stdout": "the kettle is on", "stderr": ""}
    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": response}
    return {**about, "tool_use_id": "t1", **more}


# The config file


@pytest.mark.parametrize("kind", KINDS)
def test_a_config_that_is_no_small_regular_file_is_refused_at_once(
    space: Path, run: Callable[..., Ended], kind: str
) -> None:
    plant(space / ".kinen/config.yml", kind)
    assert run("status").refused(".kinen/config.yml")


@pytest.mark.parametrize(
    "line",
    [
        *("index", "search kettle", "recall kettle", "list observations", "log x", "checkpoint x"),
        *("config show", "config set search.default_limit 9", "trust", "init", "handoff"),
    ],
)
def test_every_command_refuses_a_fifo_as_config(
    space: Path, run: Callable[..., Ended], line: str
) -> None:
    plant(space / ".kinen/config.yml", "fifo")
    assert run(*line.split()).refused(".kinen/config.yml", "FIFO")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_waits_for_no_config(space: Path, hook: Callable[..., Ended], kind: str) -> None:
    plant(space / ".kinen/config.yml", kind)
    value = hook("PostToolUse", **used())
    assert (value.code, value.out, value.err) == (0, "", "")
    value = hook("SessionStart", source="startup")
    assert (value.code, value.err) == (0, "")
    assert "kinen cannot open its memory now; what happens is kept" in value.out


def test_an_event_is_kept_where_the_config_became_a_fifo(
    space: Path, hook: Callable[..., Ended], run: Callable[..., Ended]
) -> None:
    assert hook("PostToolUse", **used()).code == 0
    plant(space / ".kinen/config.yml", "fifo")
    more = {"stdout": "the second kettle", "stderr": ""}
    assert hook("PostToolUse", **used(tool_use_id="t2", tool_response=more)).code == 0
    (space / ".kinen/config.yml").unlink()
    assert "the second kettle" in run("list", "observations").out


def test_a_config_linked_to_the_terminal_is_not_read_from_it(
    space: Path, run: Callable[..., Ended]
) -> None:
    import fcntl
    import pty
    import termios

    (space / ".kinen/config.yml").symlink_to("/dev/tty")
    master, terminal = pty.openpty()

    def own() -> None:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    try:
        done = subprocess.run(
            [sys.executable, "-m", "kinen", "status"],
            cwd=space,
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            preexec_fn=own,
            check=False,
        )
    finally:
        os.close(master)
        os.close(terminal)
    assert Ended(done.returncode, done.stdout, done.stderr).refused(".kinen/config.yml")


def test_a_config_outside_of_the_space_is_neither_read_nor_written(
    space: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    config = outside / "config.yml"
    config.write_text("search:\n  default_limit: 7\n")
    (space / ".kinen/config.yml").symlink_to(config)
    assert run("config", "get", "search.default_limit").refused("leads out of the space")
    assert run("config", "set", "search.default_limit", "9").refused("leads out of the space")
    assert config.read_text() == "search:\n  default_limit: 7\n"


def test_init_writes_no_config_through_a_link(
    tmp_path: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".kinen").symlink_to(outside)
    assert run("init", cwd=project).refused(".kinen", "leads out of the space")
    (project / ".kinen").unlink()
    (project / "resources").symlink_to(outside)
    assert run("init", "--template", "research", cwd=project).refused("resources")
    assert not list(outside.iterdir())


def test_the_users_own_config_may_be_a_link_or_nothing(
    space: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    (outside / "dotfile.yml").write_text("search:\n  default_limit: 7\n")
    (space / "mine.yml").symlink_to(outside / "dotfile.yml")
    get = ("config", "get", "search.default_limit")
    assert run(*get, KINEN_CONFIG=str(space / "mine.yml")).out == "7\n"
    assert run(*get, KINEN_CONFIG=os.devnull).code == 0


# Plans


@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize("name", [".active-plan", "plans/p.md"])
def test_a_plan_that_is_no_small_regular_file_holds_nobody_up(
    space: Path, hook: Callable[..., Ended], run: Callable[..., Ended], name: str, kind: str
) -> None:
    plant(space / ".memories" / name, kind)
    if name != ".active-plan":
        (space / ".memories/.active-plan").write_text("p")
    answer = hook("SessionStart", source="startup")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    listed = run("plan", "list")
    assert listed.code in (0, 1)
    assert "Traceback" not in listed.err


def test_a_plan_outside_of_the_space_is_told_to_nobody(
    space: Path, outside: Path, hook: Callable[..., Ended], run: Callable[..., Ended]
) -> None:
    (outside / "p.md").write_text(PLAN)
    plans = space / ".memories/plans"
    plans.mkdir(parents=True)
    (space / ".memories/.active-plan").write_text("p")
    (plans / "p.md").symlink_to(outside / "p.md")
    assert SECRET not in hook("SessionStart", source="startup").out
    (plans / "p.md").unlink()
    plans.rmdir()
    plans.symlink_to(outside)
    answers = [hook("SessionStart", source="startup", session_id="s2")]
    answers += [run("plan", *words) for words in (["list"], ["show", "p"], ["show"])]
    assert not [answer.out for answer in answers if SECRET in answer.out]


def test_a_plan_linked_within_the_space_is_told(
    space: Path, hook: Callable[..., Ended], run: Callable[..., Ended]
) -> None:
    (space / "store/plans").mkdir(parents=True)
    (space / "store/plans/p.md").write_text(PLAN)
    (space / "store/.active-plan").write_text("p")
    (space / ".memories").symlink_to("store")
    run("trust", "--memory")
    assert SECRET in hook("SessionStart", source="startup").out


# Checkpoints


def test_checkpoints_outside_of_the_space_are_not_shown(
    space: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    (outside / "100000_abcd.md").write_text(CHECKPOINT)
    (space / ".memories").mkdir()
    (space / ".memories/2026-01-01").symlink_to(outside)
    assert SECRET not in run("handoff").out
    (space / ".memories/2026-01-01").unlink()
    (space / ".memories").rmdir()
    (outside / "2026-01-01").mkdir()
    (outside / "100000_abcd.md").rename(outside / "2026-01-01/100000_abcd.md")
    (space / ".memories").symlink_to(outside)
    assert SECRET not in run("handoff").out
    assert SECRET not in run("recall", SECRET).out


@pytest.mark.parametrize(
    "line", ["checkpoint x", "plan save Title text", "plan save Title text --activate"]
)
def test_nothing_is_written_through_a_linked_folder_of_memories(
    space: Path, outside: Path, run: Callable[..., Ended], line: str
) -> None:
    (space / ".memories").symlink_to(outside)
    assert run(*line.split()).refused(".memories", "leads out of the space", str(outside))
    assert not list(outside.iterdir())


@pytest.mark.anyio
async def test_an_agent_is_refused_too(space: Path, outside: Path) -> None:
    from mcp.client.stdio import StdioServerParameters

    from mcp import Client

    (space / ".memories").symlink_to(outside)
    env = {**os.environ, "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    words = ["-m", "kinen", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=space, env=env)
    async with Client(server) as client:
        answer = await client.call_tool("kinen_checkpoint", {"text": "the kettle"})
    assert "leads out of the space" in str(answer)
    assert not list(outside.iterdir())


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_memories_linked_within_the_space_are_written_and_read(
    space: Path, run: Callable[..., Ended]
) -> None:
    (space / "store").mkdir()
    (space / ".memories").symlink_to("store")
    assert run("checkpoint", "the kettle is on").code == 0
    assert "the kettle is on" in run("handoff").out
    assert list((space / "store").glob("*/*.md"))


@pytest.mark.parametrize("kind", FIRST)
def test_a_checkpoint_that_is_no_small_regular_file_holds_nobody_up(
    space: Path, run: Callable[..., Ended], kind: str
) -> None:
    plant(space / ".memories/2026-01-01/100000_abcd.md", kind)
    assert run("checkpoint", "the kettle is on").code == 0
    result = run("handoff")
    assert "the kettle is on" in result.out
    assert "Traceback" not in result.err


# Sessions


def test_a_heading_outside_of_the_space_is_no_title(
    space: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    (outside / "diary.md").write_text(f"# {SECRET}\n")
    folder = space / "sessions/20260101-01-tea"
    folder.mkdir(parents=True)
    (folder / "init.md").symlink_to(outside / "diary.md")
    assert SECRET not in run("session", "list").out
    assert run("session", "close").refused("init.md")
    assert (outside / "diary.md").read_text() == f"# {SECRET}\n"


@pytest.mark.parametrize("link", ["sessions", "sessions/20260101-01-tea/rounds"])
def test_sessions_write_nothing_through_a_link(
    space: Path, outside: Path, run: Callable[..., Ended], link: str
) -> None:
    (space / link).parent.mkdir(parents=True, exist_ok=True)
    (space / link).symlink_to(outside)
    words = ("session", "new", "Tea") if link == "sessions" else ("round", "new", "Tea")
    assert run(*words).refused(link, "leads out of the space")
    assert not list(outside.iterdir())


def test_a_session_whose_first_file_is_a_fifo_is_listed(
    space: Path, run: Callable[..., Ended]
) -> None:
    plant(space / "sessions/20260101-01-tea/init.md", "fifo")
    assert "tea" in run("session", "list").out
    assert run("session", "close").refused("init.md", "FIFO")


# Resources


@pytest.mark.parametrize("link", ["resources", "resources/docs", "resources/.resources.yml"])
def test_a_resource_is_refused_before_it_is_copied(
    space: Path, outside: Path, run: Callable[..., Ended], link: str
) -> None:
    (space / "paper.txt").write_text("the kettle")
    (space / link).parent.mkdir(exist_ok=True)
    (space / link).symlink_to(outside)
    assert run("resources", "add", "paper.txt", "--tag", "tea").refused("leads out of the space")
    assert not list(outside.iterdir())
    assert not (space / "resources/docs/paper.txt").exists()


@pytest.mark.parametrize("kind", FIRST)
def test_a_manifest_that_is_no_small_regular_file_is_named(
    space: Path, run: Callable[..., Ended], kind: str
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    plant(space / "resources/.resources.yml", kind)
    assert run("index").code == 0
    assert ".resources.yml" in run("index", "status").out
    assert "tea.md" in run("search", "--fulltext", "kettle").out
    assert run("resources", "add", "tea.md", "--tag", "x").refused(".resources.yml")
    assert not (space / "resources/docs").exists()


def test_a_resource_is_a_regular_file(space: Path, run: Callable[..., Ended]) -> None:
    plant(space / "pipe.txt", "fifo")
    assert run("resources", "add", "pipe.txt").refused("FIFO")


# Files of other tools


@pytest.mark.parametrize("kind", [kind for kind in FIRST if "tty" not in str(kind)])
@pytest.mark.parametrize(
    "name",
    [
        *(".kiste.yaml", "varp.yaml", ".gitignore", ".kinenignore", ".mailmap"),
        *(".git/info/exclude", ".git/packed-refs", ".git/index", ".gitattributes"),
    ],
)
def test_a_file_of_another_tool_that_is_no_regular_one_holds_nobody_up(
    repo: Path, run: Callable[..., Ended], name: str, kind: str
) -> None:
    if kind == "huge" and name not in (".kiste.yaml", "varp.yaml", ".kinenignore"):
        pytest.skip("git itself reads all of it")
    (repo / name).unlink(missing_ok=True)
    plant(repo / name, kind)
    for words in (["index"], ["search", "--fulltext", "kettle"], ["checkpoint", "x"]):
        result = run(*words)
        assert result.code in (0, 1, 2)
        assert "Traceback" not in result.err
        assert "bug" not in result.err


@pytest.mark.parametrize("name", [".git", ".git/HEAD", ".git/config", ".git/commondir"])
def test_a_hook_waits_for_no_file_of_git(
    space: Path, hook: Callable[..., Ended], name: str
) -> None:
    if name == ".git/config":
        (space / ".git").mkdir()
        (space / ".git/HEAD").write_text("ref: refs/heads/main\n")
    if name == ".git/commondir":
        (space / ".git").mkdir()
        (space / ".git/HEAD").write_text("ref: refs/heads/main\n")
    plant(space / name, "fifo")
    assert hook("PostToolUse", **used()).code == 0


@pytest.mark.parametrize("ref", ["ref: ../../diary", "ref: refs/heads/../../../diary"])
def test_a_ref_names_no_file_elsewhere(
    repo: Path, hook: Callable[..., Ended], run: Callable[..., Ended], ref: str
) -> None:
    (repo / "diary").write_text(SECRET)
    (repo.parent / "diary").write_text(SECRET)
    (repo / ".git/HEAD").write_text(f"{ref}\n")
    assert hook("PostToolUse", **used()).code == 0
    result = run("list", "observations", "--json")
    assert "kettle is on" in result.out
    assert SECRET not in result.out


# What users name themselves


def test_a_bundle_may_come_through_a_pipe(space: Path, run: Callable[..., Ended]) -> None:
    run("log", "the kettle is on")
    assert run("export", "bundle.json").code == 0
    fifo = space / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(
        target=lambda: fifo.write_bytes((space / "bundle.json").read_bytes()), daemon=True
    )
    writer.start()
    result = run("import", str(fifo), "--dry-run")
    assert (result.code, result.out) == (0, "would skip 1 event\n")
    writer.join()


def test_transcripts_may_come_through_a_pipe(space: Path, run: Callable[..., Ended]) -> None:
    fifo = space / "pipe"
    os.mkfifo(fifo)
    line = {"type": "user", "sessionId": "s1", "uuid": "u1", "isSidechain": False}
    line |= {
        "cwd": str(space),
        "timestamp": "2026-01-01T10:00:00.000Z",
        "message": {"content": "the kettle"},
    }
    writer = threading.Thread(target=lambda: fifo.write_text(json.dumps(line) + "\n"), daemon=True)
    writer.start()
    assert run("import", "transcripts", str(fifo)).code == 0
    writer.join()
    assert "the kettle" in run("list", "observations").out


def test_an_export_may_go_through_a_pipe(space: Path, run: Callable[..., Ended]) -> None:
    run("log", "the kettle is on")
    fifo = space / "pipe"
    os.mkfifo(fifo)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert run("export", str(fifo)).code == 0
    reader.join(PATIENCE)
    assert b"the kettle is on" in received[0]
    assert fifo.is_fifo()


def test_an_imported_folder_leads_nowhere_else(
    tmp_path: Path, outside: Path, run: Callable[..., Ended]
) -> None:
    clone = tmp_path / "clone/.memories"
    (clone / "2026-01-02").mkdir(parents=True)
    (outside / "100000_abcd.md").write_text(CHECKPOINT)
    (clone / "2026-01-01").symlink_to(outside)
    plant(clone / "2026-01-02/100000_abcd.md", "fifo")
    (clone / "memory.yaml").write_text("decisions:\n  - 2026-01-03 | keep it small\n")
    assert run("import", str(clone.parent)).code == 0
    assert SECRET not in run("handoff", "--since", "2025-01-01").out


@pytest.mark.parametrize("name", [".mcp.json", ".claude/settings.json"])
def test_settings_of_a_project_are_written_inside_of_it(
    repo: Path, outside: Path, run: Callable[..., Ended], name: str
) -> None:
    target = outside / "settings.json"
    target.write_text("{}")
    (repo / name).parent.mkdir(exist_ok=True)
    (repo / name).symlink_to(target)
    assert run("install", "claude-code", "--scope", "project").refused("leads out of the space")
    assert target.read_text() == "{}"
    (repo / name).unlink()
    plant(repo / name, "fifo")
    assert run("install", "claude-code", "--scope", "project").refused("FIFO")


# Files that change while they are read


def changing(path: Path, sizes: tuple[int, int], work: Callable[[], None]) -> None:
    """Do some work while another thread sets the size of a file back and forth."""
    over = threading.Event()

    def change() -> None:
        while not over.is_set():
            for size in sizes:
                os.truncate(path, size)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        work()
    finally:
        over.set()
        thread.join()


def test_a_file_that_grows_and_shrinks_is_read_within_its_limit(tmp_path: Path) -> None:
    limit = 3 << 20
    (tmp_path / "a").write_bytes(b"x" * limit)

    def work() -> None:
        for _ in range(200):
            try:
                assert len(inside.read(str(tmp_path), "a", limit)) <= limit
            except UnsafeFile as error:
                assert "too large" in error.message

    changing(tmp_path / "a", (1, 64 << 20), work)


def test_a_file_that_never_ends_is_cut() -> None:
    assert len(regular.read("/proc/self/maps", 100, cut=True)) == 100


def test_an_index_of_a_file_that_keeps_changing_ends(
    space: Path, run: Callable[..., Ended]
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    (space / "moving.md").write_text("# Moving\n")

    def work() -> None:
        result = run("index")
        assert result.code == 0
        assert "Traceback" not in result.err

    changing(space / "moving.md", (10, 1 << 20), work)
    assert "tea.md" in run("search", "--fulltext", "kettle").out


def test_a_swapped_folder_never_leads_a_write_outside(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "link").symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        place = root / ".memories"
        while not over.is_set():
            for other in ("real", "link"):
                try:
                    os.rename(root / other, place)
                except OSError:  # a writer made a folder in the meantime
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    os.rename(place, root / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for n in range(2000):
            try:
                inside.create(str(root), f".memories/day/{n}.md", b"x")
                inside.replace(str(root), ".memories/mark", b"x")
            except (OSError, UnsafeFile):
                continue
    finally:
        over.set()
        thread.join()
    assert not list(outside.iterdir())


def test_a_swapped_file_is_never_read_outside(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "real").write_text("ours")
    (outside / "diary").write_text(SECRET)
    (root / "link").symlink_to(outside / "diary")
    os.mkfifo(root / "pipe")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for other in ("real", "link", "pipe"):
                os.rename(root / other, root / "plan.md")
                os.rename(root / "plan.md", root / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        contents = {inside.text(str(root), "plan.md", 1000) for _ in range(3000)}
    finally:
        over.set()
        thread.join()
    assert contents <= {"", "ours"}


def test_a_link_to_the_root_itself_is_a_folder_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(".")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "tea.md").write_text("tea")
    assert inside.read(str(tmp_path), "here/tea.md", 10) == b"tea"
    for path in ("here", ".", "loop", "../x", "/etc/passwd", "a\0b"):
        with pytest.raises(UnsafeFile):
            inside.read(str(tmp_path), path, 10)
