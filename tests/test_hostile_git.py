"""Nothing that a repository brings along is run: not by a command, a hook, a tool or the daemon.

Three strangers' repositories name a program wherever git is known to run one, and each program
leaves a mark.
"""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from daemon.served import application, client, serving, unix_door
from kinen.cli import main
from kinen.cli.groups import root as kinen_root
from kinen.hooks.command import HANDLERS
from kinen.mcp.calls import TOOLS
from kinen.mcp.server import create_server
from kinen.memory import Memory
from kinen.verbs import catalogue
from mcp import Client
from sources.repositories import LINES, Repository, clone
from syntax import FILES, SOURCE, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the planted programs are POSIX scripts")


KNOWN_KEYS = """
alias.log alias.status alias.diff alias.ls-files core.alternateRefsCommand core.askPass core.editor
core.fsmonitor core.gitProxy core.hooksPath core.pager core.sshCommand credential.helper
credential.https://example.org.helper diff.evil.command diff.evil.textconv diff.external
difftool.evil.cmd filter.evil.clean filter.evil.process filter.evil.smudge
filter.with=equals.clean gpg.openpgp.program gpg.program gpg.ssh.defaultKeyCommand gpg.ssh.program
gpg.x509.program guitool.evil.cmd help.browser instaweb.httpd interactive.diffFilter man.evil.cmd
merge.evil.driver mergetool.evil.cmd pager.config pager.diff pager.diff-tree pager.log
pager.ls-files pager.rev-list pager.status remote.evil.receivepack remote.evil.uploadpack
remote.evil.vcs sequence.editor ssh.variant trailer.tags.cmd trailer.tags.command
uploadpack.packObjectsHook web.browser
""".split()
PROGRAM_WORDS = (
    "askpass cmd command driver editor external fsmonitor helper hook hookspath pager process "
    "program proxy sshcommand textconv"
).split()
SWITCHES = ("advice.", "color.", "completion.", "diff.evil.cache", "notes.", "rebase.")
"""Keys that are no programs, whatever they are called: git would refuse to work at all."""
FLAGS = """
[log]
	showSignature = true
[filter "evil"]
	required = true
[diff "evil"]
	cachetextconv = true
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[diff]
	submodule = log
[status]
	submoduleSummary = true
[fetch]
	recurseSubmodules = true
"""
ATTRIBUTES = "* filter=evil diff=evil merge=evil ident\n*.md filter=with=equals\n"
HOOKS = """
applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit
post-index-change post-merge post-rewrite pre-applypatch pre-auto-gc pre-commit
prepare-commit-msg query-watchman reference-transaction sendemail-validate update
""".split()


class Trap:
    """Programs that leave a mark when they run."""

    def __init__(self, folder: Path) -> None:
        self.marks = folder / "marks"
        self.programs = folder / "programs"
        self.marks.mkdir(parents=True)
        self.programs.mkdir()

    def program(self, name: str) -> Path:
        """A program that leaves a mark of this name."""
        name = name.replace("/", "_")
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n: >'{self.marks}/{name}'\ncat </dev/null\n")
        path.chmod(0o755)
        return path

    def config(self) -> str:
        """A configuration that names a program under every key that takes one."""
        hooks = self.programs / "hooks"
        self.hooks(hooks)
        lines = []
        for key in executable_keys():
            section, _, name = key.rpartition(".")
            section, _, inner = section.partition(".")
            value = hooks if name == "hooksPath" else self.program(key)
            heading = f'[{section} "{inner}"]' if inner else f"[{section}]"
            lines.append(f"{heading}\n\t{name} = {value}\n")
        url = f'[remote "evil"]\n\turl = "ext::{self.program("ext")} %S"\n'
        return "".join(lines) + url + FLAGS

    def hooks(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            shutil.copy(self.program(f"hook-{name}"), folder / name)

    def marked(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())


def executable_keys() -> list[str]:
    """Keys of git's configuration whose value is a program, by what this git lists and by heart."""
    listing = subprocess.run(
        ["git", "help", "--config"], capture_output=True, text=True, check=False
    )
    keys = dict.fromkeys(KNOWN_KEYS)
    for line in listing.stdout.split():
        key = line.strip()
        for placeholder in ("<driver>", "<tool>", "<name>", "<format>", "<url>", "<cmd>"):
            key = key.replace(placeholder, "evil")
        last = key.rpartition(".")[2].lower()
        plain = "." in key and "<" not in key and "*" not in key
        if plain and not key.startswith(SWITCHES) and last.endswith(tuple(PROGRAM_WORDS)):
            keys.setdefault(key)
    return list(keys)


def plant(git: Path, trap: Trap) -> None:
    """Make a git folder hostile; half of its configuration comes from a file that it includes."""
    settings = trap.config()
    config = git / "config"
    (git / "more").write_text(settings)
    config.write_text(f"{config.read_text()}{settings}[include]\n\tpath = more\n")
    trap.hooks(git / "hooks")
    (git / "info").mkdir(exist_ok=True)
    (git / "info" / "attributes").write_text(ATTRIBUTES)


def some_commits(folder: Path) -> Repository:
    repo = Repository(folder)
    repo.commit("first", {"note.md": "# Kettle\n\nThe kettle is on.\n", "src/a.py": LINES})
    repo.commit("second\n\ntags: tea", {"note.md": "# Kettle\n\nIt boils.\n", "src/a.py": "a\n"})
    repo.commit("attributes", {".gitattributes": ATTRIBUTES, ".kinen/config.yml": ""})
    return repo


def signed(repo: Repository) -> None:
    """Put a commit with a signature on top, which `log.showSignature` has gpg verify."""
    tree, parent = repo.git("rev-parse", "HEAD^{tree}", "HEAD").split()
    who = "Ada <ada@example.org> 1700000000 +0000"
    seal = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    text = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{seal}\n\nsealed\n"
    words = ("hash-object", "-t", "commit", "-w", "--stdin")
    repo.git("update-ref", "HEAD", repo.git(*words, data=text.encode()))


def as_clone(folder: Path, trap: Trap) -> Path:
    """A clone that has the plain files of a bare repository in a folder with a `.kinen`."""
    upstream = some_commits(folder / "upstream")
    inner = some_commits(folder / "upstream" / "sub")
    signed(inner)
    config = inner.root / ".git" / "config"
    config.write_text(config.read_text() + "[core]\n\tbare = false\n\tworktree = .\n")
    plant(inner.root / ".git", trap)
    for path in (inner.root / ".git").iterdir():
        path.rename(inner.root / path.name)
    (inner.root / ".git").rmdir()
    (inner.root / "refs" / "keep").write_text("")
    upstream.commit("a folder that looks like a repository")
    victim = clone(upstream.root, folder / "victim")
    assert (victim.root / "sub" / "HEAD").exists()
    return victim.root / "sub"


def as_archive(folder: Path, trap: Trap) -> Path:
    """An unpacked archive with a `.git` of its own."""
    repo = some_commits(folder / "unpacked")
    signed(repo)
    alternates = repo.root / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{some_commits(folder / 'other').root}/.git/objects\n")
    plant(repo.root / ".git", trap)
    return repo.root


def as_partial_archive(folder: Path, trap: Trap) -> Path:
    """One that misses objects, and says where to fetch them from."""
    root = as_archive(folder, trap)
    repo = Repository(root, "existing")
    lost = repo.object("HEAD~3:src/a.py")
    config = root / ".git" / "config"
    text = config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    text += "[extensions]\n\tpartialClone = evil\n"
    config.write_text(text + '[remote "evil"]\n\tpromisor = true\n\tpartialclonefilter = blob:none')
    lost.unlink()
    return root


KINDS = {"clone": as_clone, "archive": as_archive, "partial": as_partial_archive}


FIRST, *OTHERS = KINDS


@pytest.fixture(params=[FIRST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)])
def trap(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, Trap]]:
    """A folder in a hostile repository that this process is in, and its trap."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    trap = Trap(tmp_path / "trap")
    root = KINDS[request.param](tmp_path, trap)
    shutil.rmtree(trap.marks)
    trap.marks.mkdir()
    for path in (root / "note.md", root / "src" / "a.py"):
        os.utime(path, (1, 1))  # git has to look at the content again
    (root / "new.md").write_text("# New\n")
    monkeypatch.chdir(root)
    yield root, trap
    assert trap.marked() == []


def test_the_trap_works(trap: tuple[Path, Trap]) -> None:
    root, marks = trap
    for words in (["status"], ["diff"], ["log", "-1"]):
        line = ["git", "-c", "protocol.allow=never", *words]
        subprocess.run(line, cwd=root, capture_output=True, check=False, timeout=60)
    assert {"core.fsmonitor", "filter.evil.process"} <= {*marks.marked()}
    shutil.rmtree(marks.marks)
    marks.marks.mkdir()


# Commands


class Commands:
    """Runs commands in this process, and knows which of the command line's were run."""

    SERVERS = frozenset(("mcp", "serve", "daemon run"))
    """Commands that do not end: their parts are tested below."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, *words: str, codes: tuple[int, ...] = (0, 1)) -> str:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main([*words])
        assert ended.value.code in codes, (words, err.getvalue())
        self.seen.add(command_of(words))
        return out.getvalue()

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


def commands() -> dict[str, click.Command]:
    """Every command of the command line, by its words."""
    context = click.Context(kinen_root)

    def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield " ".join(path), command
            return
        if command.invoke_without_command:
            yield " ".join(path), command
        for name in catalogue.names() if command is kinen_root else command.commands:
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*path, name))

    return dict(walk(kinen_root, ()))


def command_of(words: tuple[str, ...]) -> str:
    existing = commands()
    beginnings = (" ".join(words[:count]) for count in (3, 2))
    return next((beginning for beginning in beginnings if beginning in existing), words[0])


def test_no_command_runs_what_a_repository_names(
    trap: tuple[Path, Trap], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = trap
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    run = Commands()
    run("init", ".")
    run("index")
    run("index", "status")
    ask_all(run)
    tell_all(run)
    keep_all(run, root, tmp_path)
    set_up_all(run, root)
    assert run.seen == commands().keys() - run.SERVERS


def ask_all(run: Commands) -> None:
    assert "note.md" in run("search", "kettle")
    run("query", "kettle")
    run("recall", "kettle")
    run("ask", "kettle")
    run("context", "--file", "note.md")
    run("standup")
    run("handoff")
    run("fix", "ValueError: the kettle is empty")
    run("how", "git commit")
    run("friction", codes=(1,))
    run("why", "HEAD")
    run("blame", "note.md")
    run("restore", "note.md", codes=(0, 1))
    run("why", "note.md:1")
    run("ledger")
    run("ledger", "totals")
    run("ledger", "audit")
    run("ledger", "impact")
    run("ledger", "show", "01", codes=(2,))
    run("list", "observations")
    run("show", "note.md")
    run("show", "src/a.py@HEAD", codes=(0, 1, 2))
    run("graph", "broken")
    run("graph", "export")
    run("graph", "orphans")
    run("graph", "show", "note.md")
    run("related", "note.md")
    run("open", "note.md")
    for word in ("tui", "pick"):
        run(word, codes=(2,))
    run("lsp", "--help")  # what it does with notes: tests/lsp
    run("issues")
    run("issues", "list")
    run("issues", "ready")
    run("issues", "show", "bd-1", codes=(2,))
    run("issues", "link", "bd-1", "note.md", codes=(2,))
    run("issues", "import", "none.json", codes=(2,))
    run("issues", "refresh", codes=(2,))
    run("sync", codes=(2,))
    run("sync", "--preview")
    run("sync", "ssh", "no host", codes=(2,))
    run("team", "status", codes=(1,))
    run("team", "login", codes=(2,))
    run("team", "logout", codes=(2,))
    run("team", "leave", codes=(2,))
    run("team", "check", "x", codes=(2,))
    run("team", "audit", "--database", "x", codes=(2,))
    run("team", "join", codes=(2,))
    run("team", "token", "create", "x", "--allow", "x", "--database", "x", codes=(2,))
    run("team", "token", "list", "--database", "x", codes=(2,))
    run("team", "token", "revoke", "x", "--database", "x", codes=(2,))
    run("team", "member", "add", "x", "--allow", "x", "--database", "x", codes=(2,))
    run("team", "member", "remove", "x", "--database", "x", codes=(2,))
    run("team", "token", "rotate", "x", "--database", "x", codes=(2,))
    run("team", "migrate", "--dry-run", "--database", "x", codes=(2,))
    run("team", "space", "list", "--database", "x", codes=(2,))
    run("team", "space", "rename", "x", "y", "--database", "x", codes=(2,))
    run("team", "space", "delete", "x", "--database", "x", codes=(2,))
    run("team", "person", "list", "--database", "x", codes=(2,))
    run("team", "person", "erase", "x", "--database", "x", codes=(2,))
    run("session", "resume", "kettle")
    assert "src/a.py" in run("files", "--ignored")
    assert "Ada" in run("history", "src/a.py")
    run("cochange", "src/a.py")
    run("cochange", "--staged")
    run("tags")
    run("tags", "--staged")
    run("tags", "--staged", "--into", "new.md")


def tell_all(run: Commands) -> None:
    changed = run.json("checkpoint", "the kettle was mended")["files"]
    assert "new.md" in changed
    saved = run.json("save", "the kettle boils again")["ref"]
    run("checkpoint", "list")
    run("checkpoint", "show", saved)
    run("checkpoint", "edit", saved)
    run("plan", "save", "Tea", "- [ ] boil", "--id", "tea")
    run("plan", "save", "Milk", "- [ ] pour", "--id", "milk")
    run("plan", "activate", "tea")
    run("plan", "list")
    run("plan", "show", "tea")
    run("plan", "check", "1")
    run("plan", "edit", "tea")
    run("plan", "update", "tea", "- [x] boil")
    run("plan", "complete", "tea")
    run("plan", "archive", "milk")
    run("session", "new", "Tea")
    run("round", "new", "Milk")
    run("session", "list")
    run("session", "show")
    run("session", "close")
    first = run.json("log", "we decided to use the old kettle", "--session", "s1")["ref"]
    second = run.json("log", "another", "--session", "s1")["ref"]
    capsule = run.json("capsule", "open", "--intent", "boil", "--session", "s2")["id"]
    run("capsule", "show", capsule)
    run("capsule", "close", capsule, "--summary", "it boils")
    run("pin", "note.md")
    run("unpin", "note.md")
    run("tag", "src/a.py", "+hot")
    run("consolidate")
    run("memories", "add", "Tea is made in the pot", "--why", "it is warm", "--file", "note.md")
    run("memories", "list")
    run("memories", "edit", "unknown", "words", codes=(2,))
    run("memories", "merge", "unknown", "other", codes=(2,))
    run("memories", "supersede", "unknown", "other", codes=(2,))
    run("memories", "undo", codes=(0, 2))
    for name in ("show", "forget", "restore"):
        run("memories", name, "unknown", codes=(0, 1, 2))
    run("redact", first)
    run("forget", second)


def keep_all(run: Commands, root: Path, tmp_path: Path) -> None:
    bundle = str(tmp_path / "bundle.json")
    run("export", bundle)
    run("import", bundle)
    run("import", "transcripts", str(tmp_path / "trap"), codes=(0, 1, 2))
    run("index", "rebuild")
    run("snapshot", "create")
    run("snapshot", "list")
    run("snapshot", "restore")
    run("snapshot", "prune", "--keep", "0")
    (tmp_path / "paper.md").write_text("# Paper\n")
    run("resources", "add", str(tmp_path / "paper.md"))
    run("resources", "list")
    run("resources", "search", "paper")
    run("resources", "remove", "paper.md")
    run("gc")
    run("status")
    run("doctor", codes=(0, 1, 2))
    assert (root / "resources").is_dir()


def set_up_all(run: Commands, root: Path) -> None:
    run("space", "current")
    run("space", "list")
    run("space", "add", str(root), "--name", "kettle")
    run("space", "alias", "kettle", "pot", codes=(0, 1, 2))
    run("config", "show")
    run("config", "path")
    run("config", "get", "hooks.budget")
    run("config", "set", "hooks.budget", "300")
    run("config", "unset", "hooks.budget")
    run("trust")
    for scope in ("user", "project"):
        run("install", "claude-code", "--scope", scope)
        run("uninstall", "claude-code", "--scope", scope)
    run("hooks", "status")
    run("hooks", "trace")
    run("hooks", "install", "--tags", "--traces", codes=(0, 1, 2))  # planted: elsewhere
    run("hooks", "uninstall", codes=(0, 1, 2))
    run("daemon", "install", "--print")
    run("daemon", "start")
    try:
        run("daemon", "status")
        run("search", "kettle")
        run("web", "--no-open")
        run("index")
        run("daemon", "restart")
        run("daemon", "logs")
    finally:
        run("daemon", "stop")
    run("completion", "bash")
    run("demo")
    run("space", "remove", "kettle", codes=(0, 1, 2))


# Hooks, tools, HTTP


def test_no_hook_of_an_agent_runs_what_a_repository_names(
    trap: tuple[Path, Trap], kinen: Callable[..., Any]
) -> None:
    root, _ = trap
    for event in HANDLERS:
        payload = {
            "hook_event_name": event,
            "session_id": "s1",
            "cwd": str(root),
            "prompt": "why is the kettle on",
            "prompt_id": "1",
            "source": "startup",
            "tool_name": "Bash",
            "tool_input": {"command": "make tea"},
            "tool_response": {"stdout": "done"},
            "compact_summary": "<summary>tea</summary>",
            "error": "no water",
            "reason": "exit",
        }
        assert kinen("hook", "claude-code", cwd=root, stdin=json.dumps(payload)).code == 0


ASKED: dict[str, dict[str, Any]] = {
    "kinen_standup": {},
    "kinen_handoff": {},
    "kinen_memories": {},
    "kinen_search": {"query": "kettle"},
    "kinen_recall": {"query": "kettle"},
    "kinen_context": {"file": "note.md"},
    "kinen_links": {"ref": "note.md"},
    "kinen_index_status": {},
    "kinen_index_rebuild": {},
    "kinen_list_artifacts": {},
    "kinen_get_artifact": {"path": "src/a.py", "ref": "HEAD"},
    "kinen_read": {"path": "note.md", "links": True},
    "kinen_history": {"path": "src/a.py"},
    "kinen_status": {"view": "files"},
    "kinen_get_provenance": {"path": "src/a.py"},
    "kinen_list_tags": {},
    "kinen_get_cochange": {"paths": ["src/a.py"]},
    "kinen_fix": {"error": "ValueError: the kettle is empty"},
    "kinen_how": {"command": "git commit"},
    "kinen_why": {"target": "HEAD"},
    "kinen_checkpoint": {"text": "the kettle was mended"},
    "kinen_plan": {"action": "list"},
    "kinen_observe": {"content": "it boils"},
    "kinen_pin": {"ref": "note.md"},
    "kinen_correct_memory": {"action": "undo"},
    "kinen_remember": {"text": "Tea is made in the pot", "files": ["note.md"]},
}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_no_tool_runs_what_a_repository_names(
    trap: tuple[Path, Trap], anyio_backend: str
) -> None:
    root, _ = trap
    assert anyio_backend
    with Memory.open(root) as memory:
        memory.worklog.checkpoint("tea", type="decision", decision="Green tea in the office")
        memory.consolidation.consolidate()
        memory.consolidation.hide(memory.consolidation.memories()[0].ref)
        async with Client(create_server(memory, everything=True)) as tools:
            names = {tool.name for tool in (await tools.list_tools()).tools}
            assert names == ASKED.keys()
            assert len(names) == len(TOOLS)
            for name, arguments in ASKED.items():
                answer = await tools.call_tool(name, arguments)
                assert not answer.is_error, (name, answer.content)


def test_no_request_runs_what_a_repository_names(trap: tuple[Path, Trap]) -> None:
    root, _ = trap
    door, path = unix_door()
    with (
        serving(application(), door),
        client(path, **{"X-Kinen-Space": str(root)}) as over,
    ):
        for url in (
            "/v1/status",
            "/v1/search?query=kettle",
            "/v1/recall?query=kettle",
            "/v1/records/file:src/a.py",
            "/v1/history?path=src/a.py",
            "/v1/cochange?path=src/a.py",
            "/v1/artifact?path=src/a.py&ref=HEAD",
            "/v1/context?file=src/a.py",
            "/v1/tags",
            "/v1/links?ref=note.md",
        ):
            assert over.get(url).status_code == 200, url
        for name in ("session-start", "pre-compact"):
            assert over.post(f"/v1/context/{name}", json={"session": "s"}).status_code == 200


# The code itself


def literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.List | ast.Tuple) and node.elts:
        yield from literals(node.elts[0])
    elif isinstance(node, ast.BinOp):
        yield from literals(node.left)
    elif isinstance(node, ast.JoinedStr) and node.values:
        yield from literals(node.values[0])


def starts_git(node: ast.AST) -> bool:
    """Whether code is a command line of git, or looks for its program."""
    if isinstance(node, ast.List | ast.Tuple):
        return any(is_git(word) for word in literals(node)) and not plain_words(node)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("which", "run", "Popen", "call", "check_call", "check_output", "system", "popen")
    ):
        return any(is_git(word) for argument in node.args for word in literals(argument))
    return False


def is_git(word: str) -> bool:
    return os.path.basename(word.split(" ", maxsplit=1)[0].replace("\\", "/")) in ("git", "git.exe")


def plain_words(node: ast.List | ast.Tuple) -> bool:
    """Whether a list of one word, which names no command."""
    return len(node.elts) == 1


STARTERS = {
    *(
        "space/gitcommand.py",
        "cli/doctor.py",
        "cli/editor.py",
        "daemon/process.py",
        "distill/clis.py",
        "extract/child.py",
        "hooks/detached.py",
        "ipc/client.py",
        "memory/issues.py",
        "team/machines.py",
    ),
}
"""Modules that start processes: git, agents, an editor, a distiller, kinen; `bd`, ssh if asked."""
PROCESSES = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "pty.", "create_sub")


def test_only_one_module_starts_git() -> None:
    for path in FILES:
        name = path.relative_to(SOURCE).as_posix()
        checking = {
            inner
            for node in nodes_of(path)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in nodes_of(path):
            place = f"{name}:{getattr(node, 'lineno', 0)}"
            if name != "space/gitcommand.py":
                assert not starts_git(node), f"{place} starts git"
            if isinstance(node, ast.Import | ast.ImportFrom) and node not in checking:
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert "subprocess" not in names or name in STARTERS, f"{place} starts processes"
            if isinstance(node, ast.Call) and name not in STARTERS:
                assert not ast.unparse(node.func).startswith(PROCESSES), place


def test_the_check_knows_a_command_of_git() -> None:
    for line in (
        "['git', 'log']",
        "['git', *words]",
        "('/usr/bin/git', 'x')",
        "shutil.which('git')",
        "run('git status')",
        "run(['git'] + words)",
        "Popen(f'git {x}')",
    ):
        tree = ast.parse(line)
        assert any(starts_git(node) for node in ast.walk(tree)), line


def test_no_command_of_git_reads_files_through_filters() -> None:
    for path in FILES:
        for node in nodes_of(path):
            words = node.value if isinstance(node, ast.Constant) else ""
            assert words not in ("--filters", "--textconv", "--ext-diff", "--show-signature"), path


# What leads elsewhere


def files_of(root: Path) -> list[str]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        main(["files", "--space", str(root)])
    return [line.removeprefix(f"{root}/") for line in out.getvalue().split()]


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository of the user's that a stranger's archive would like to be read from."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    repo = Repository(tmp_path / "secret")
    repo.commit("the plan", {"plan.md": "# Plan\n"})
    (tmp_path / "hostile" / ".kinen").mkdir(parents=True)
    (tmp_path / "hostile" / "note.md").write_text("# Note\n")
    return repo


def test_a_git_file_that_leads_into_another_repository_is_not_followed(
    secret: Repository, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    (hostile / ".git").write_text(f"gitdir: {secret.root}/.git\n")
    assert "plan.md" not in files_of(hostile)
    (hostile / ".git").unlink()
    (hostile / ".git").symlink_to(secret.root / ".git")
    assert "plan.md" not in files_of(hostile)


def test_a_git_file_that_leads_into_the_worktree_of_another_is_not_followed(
    secret: Repository, tmp_path: Path
) -> None:
    secret.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    hostile = tmp_path / "hostile"
    (hostile / ".git").write_text(f"gitdir: {secret.root}/.git/worktrees/tree\n")
    assert "plan.md" not in files_of(hostile)
    assert "plan.md" in files_of(tmp_path / "tree")


def test_a_git_folder_that_shares_another_repository_is_not_followed(
    secret: Repository, tmp_path: Path
) -> None:
    git = tmp_path / "hostile" / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "commondir").write_text(f"{secret.root}/.git\n")
    assert "plan.md" not in files_of(tmp_path / "hostile")


def test_a_bare_repository_is_only_followed_from_inside_its_folder(
    secret: Repository, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    secret.git("clone", "-q", "--bare", ".", str(tmp_path / "store.git"))
    (hostile / ".git").write_text("gitdir: ../store.git\n")
    assert "plan.md" not in files_of(hostile)
    (tmp_path / "store.git").rename(hostile / ".bare")
    (hostile / ".git").write_text("gitdir: ./.bare\n")
    assert "plan.md" in files_of(hostile)


def test_a_separate_git_folder_and_a_moved_worktree_are_followed(
    secret: Repository, tmp_path: Path
) -> None:
    apart = Repository(tmp_path / "apart", f"--separate-git-dir={tmp_path}/store")
    apart.commit("one", {"a.py": "1"})
    assert "a.py" in files_of(apart.root)
    secret.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert "plan.md" in files_of(tmp_path / "moved")


def test_a_submodule_is_followed(secret: Repository, tmp_path: Path) -> None:
    outer = Repository(tmp_path / "outer")
    outer.commit("one", {"a.py": "1"})
    allow = ("-c", "protocol.file.allow=always")
    outer.git(*allow, "submodule", "add", "-q", str(secret.root), "inner")
    assert "plan.md" in files_of(outer.root / "inner")


def test_git_is_not_taken_from_the_folder_that_kinen_is_in(
    secret: Repository, tmp_path: Path, kinen: Callable[..., Any]
) -> None:
    trap = Trap(tmp_path / "trap")
    shutil.copy(trap.program("git"), secret.root / "git")
    path = os.environ["PATH"]
    for search in (f".:{path}", f":{path}", f"{path}:"):
        assert "plan.md" in kinen("files", cwd=secret.root, PATH=search).out
    assert trap.marked() == []
    assert kinen("files", cwd=secret.root, PATH=f".:{Path(sys.executable).parent}").code == 2
