"""Text of a hostile repository, and arguments that are no text, at every surface."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import click
import pytest

from daemon.served import application, client, serving, unix_door
from forked import run_lines
from kinen import Memory
from kinen.characters import STYLES, visible, visible_line
from kinen.cli.groups import root as commands
from kinen.errors import KinenError
from kinen.mcp.calls import TOOLS
from kinen.mcp.server import create_server
from kinen.model.journal import Scope
from kinen.model.kinds import EVENTS, MODES
from kinen.model.records import KINDS, Query
from kinen.verbs import catalogue
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from forked import Ran

EVIL = (
    "\x1b]0;title\x07\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e\rover\x08\x7f\x1b[31mred"
    "\x1b[35mFORGED\x1b[0m\u2066\u200f\ufeff"
)
NAME = EVIL.replace("/", "")
FORGED = "\x1b[35mFORGED"
BRANCH = "branch\u202e\x9bx"
NOT_TEXT = os.fsdecode(b"\xff")
OWN_COLOURS = re.compile("\x1b\\[(?:0|" + "|".join(STYLES.values()) + ")m")
ODD_FILE = b"odd\xe9\x1b[2J.md"
SETTINGS = {
    "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
    "KINEN_DISTILL_ORDER": "extract",
    "EDITOR": "true",
}


class Hostile:
    """A space in a repository, all of whose texts are hostile."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.root = folder / f"space{NAME}"
        self.env = {"KINEN_HOME": str(home / "kinen"), "HOME": str(home), **SETTINGS}
        (self.root / ".kinen").mkdir(parents=True)
        self.note = f"notes/alpha{NAME}.md"
        self._write(self.note, _note("alpha"))
        self._write("notes/beta.md", _note("beta"))
        self._write("notes/line\nbreak.md", _note("alpha gamma"))
        self._write(f"resources/paper{NAME}.md", _note("alpha resource"))
        self._write(f"broken{NAME}.pdf", "no PDF")
        issue = {"id": "evil-1", "title": f"alpha {EVIL}", "description": f"alpha {EVIL}"}
        issue |= {"status": f"open{EVIL}", "labels": [EVIL], "assignee": EVIL}
        self._write(".beads/issues.jsonl", json.dumps(issue) + "\n")
        (self.root / os.fsdecode(ODD_FILE)).write_text("# Odd\n\nalpha odd\n")
        self._git("init", "-q", "-b", BRANCH)
        self._commit(f"feat(x): alpha {EVIL}\n\nalpha body {EVIL}\n\ntags: +{visible_line(EVIL)}")
        for name in (self.note, "notes/beta.md"):
            self._write(name, _note("alpha more"))
        self._commit(f"fix: alpha again {EVIL}")
        self.ids: dict[str, str] = {}
        self._fill()

    def _write(self, path: str, text: str) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")

    def _git(self, *words: str) -> None:
        author = ("-c", f"user.name=Eve{EVIL}", "-c", f"user.email=e{EVIL}@example.org")
        subprocess.run(["git", *author, *words], cwd=self.root, check=True, capture_output=True)

    def _commit(self, message: str) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", message)

    def _fill(self) -> None:
        """Observations, a capsule, a pin, a plan, a checkpoint and a memory."""
        settings = {"index.embedding_provider": "none"}
        home = self.env["KINEN_HOME"]
        scope = {"session": f"s{EVIL}", "agent": f"agent{EVIL}"}
        with Memory.open(self.root, home=home, settings=settings) as memory:
            self.ids["capsule"] = memory.journal.open_capsule(f"alpha {EVIL}", scope=scope).id
            for kind in ("message", "error"):
                text = f"alpha {kind} {EVIL}\nNever deploy on Friday {EVIL}."
                seen = memory.observe(text, kind=kind, scope=scope, files=[self.note])
                self.ids[kind] = seen.ref
            memory.worklog.save_plan(
                f"Plan {EVIL}", f"- [ ] alpha {EVIL}", id="plan", activate=True
            )
            memory.worklog.checkpoint(
                f"alpha checkpoint {EVIL}", decision=f"alpha {EVIL}", next=f"more {EVIL}"
            )
            memory.sync()
            memory.journal.pin("notes/beta.md", f"alpha note {EVIL}", scope={})
            session = memory.worklog.new_session(f"Session {visible_line(EVIL)[:20]}")
            self.ids["session"] = session.rpartition("/")[2]
            init = self.root / session / "init.md"
            init.write_text(init.read_text() + f"\n# T{EVIL}\n\nWe decided alpha {EVIL}.\n")
            memory.consolidation.consolidate()

    def run(self, lines: list[list[str]], **how: Any) -> list[Ran]:
        return run_lines(lines, self.root, **how, **self.env)


def _note(word: str) -> str:
    tags = json.dumps([f"tag{EVIL}"])
    head = f"---\ntitle: {json.dumps('Title ' + word + EVIL)}\ntags: {tags}\n---\n"
    return f"{head}\n# {word} {EVIL}\n\n{word} text {EVIL}\n\nSee [[nowhere{EVIL}]] and [[beta]].\n"


@pytest.fixture(scope="module")
def hostile_space(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "home").mkdir()
    return Hostile(folder, folder / "home")


@pytest.fixture
def hostile(hostile_space: Hostile, home: Path, tmp_path: Path) -> Hostile:
    """A copy of the space and of kinen's own folder, to do with as a test likes."""
    copy = Hostile.__new__(Hostile)
    copy.root, copy.note, copy.ids = (
        tmp_path / hostile_space.root.name,
        hostile_space.note,
        hostile_space.ids,
    )
    shutil.copytree(hostile_space.root, copy.root, symlinks=True)
    shutil.copytree(hostile_space.env["KINEN_HOME"], home / "kinen")
    copy.env = {**hostile_space.env, "HOME": str(home), "KINEN_HOME": str(home / "kinen")}
    return copy


def words_of(hostile: Hostile) -> dict[str, list[list[str]]]:
    """For each command, lines that make it show hostile text; first the words, then options."""
    note, ids = hostile.note, hostile.ids
    shell = hostile.root / "bundle.json"
    return {
        "search": [
            ["alpha"],
            ["alpha", "--explain", "-C", "1"],
            ["alpha", "--json"],
            ["alpha", "--type", "files"],
            ["alpha", "--type", "commits"],
            ["zzzz", "--session", EVIL],
            [EVIL, "--tag", EVIL, "--json"],
        ],
        "recall": [["alpha"], [], ["alpha", "--json"], ["alpha", "--distill"]],
        "ask": [["alpha"], ["alpha", "--json"], [EVIL]],
        "context": [["--file", note], ["--session", EVIL], ["--file", note, "--json"]],
        "standup": [["--since", "3000d"], ["--json"]],
        "handoff": [[], ["--json"]],
        "fix": [[f"ValueError: alpha {EVIL}"], [f"ValueError: alpha {EVIL}", "--json"]],
        "friction": [["--sessions", "2"], ["--sessions", "2", "--json"]],
        "how": [["alpha"], ["Bash", "--json"]],
        "blame": [[note], [note, "--json"]],
        "restore": [[note], [note, "--json"]],
        "why": [["HEAD"], ["HEAD", "--json"], [f"{note}:1"], [f"{note}:1", "--json"], [EVIL]],
        "ledger": [[], ["--json"]],
        "ledger show": [["01"], ["01", "--json"]],
        "ledger totals": [[], ["--json"]],
        "ledger audit": [[]],
        "ledger impact": [[], ["--json"]],
        "memories add": [[f"alpha {EVIL}", "--why", EVIL], [f"beta {EVIL}", "--json"]],
        "memories list": [[], ["--json"]],
        "memories show": [["deploy"], [EVIL]],
        "memories forget": [[EVIL]],
        "memories restore": [[EVIL]],
        "memories edit": [[EVIL, EVIL]],
        "memories merge": [[EVIL, EVIL]],
        "memories supersede": [[EVIL, EVIL]],
        "memories undo": [[]],
        "list": [
            *([plural] for plural in ("observations", "capsules", "summaries", "pins", "memories")),
            ["observations", "--json"],
        ],
        "show": [
            [note],
            [f"note:{note}"],
            [ids["message"]],
            [note, "--json"],
            [f"{note}@HEAD"],
            [EVIL],
            [f"{note}@{EVIL}"],
        ],
        "graph show": [[note], [note, "--json"], [EVIL]],
        "graph broken": [[], ["--json"]],
        "graph orphans": [[], ["--json"]],
        "related": [[note], [note, "--json"], [EVIL]],
        "open": [[note], [EVIL]],
        "web": [["--space", EVIL]],
        "tui": [[EVIL], ["--space", EVIL]],
        "pick": [[EVIL]],
        "lsp": [["--space", EVIL]],
        "issues": [[], ["--json"]],
        "issues list": [["--label", EVIL], ["--status", EVIL]],
        "issues ready": [[], ["--json"]],
        "issues show": [["evil-1"], [EVIL], ["evil-1", "--json"]],
        "issues link": [["evil-1", EVIL], [EVIL, "x"]],
        "issues import": [[EVIL]],
        "issues refresh": [[]],
        "session resume": [["last"], [EVIL]],
        "graph export": [[], ["--format", "mermaid"], ["--format", "json"]],
        "files": [[], ["--json"], ["--tag", EVIL]],
        "history": [[note], [note, "--json"], [EVIL]],
        "cochange": [[note], [note, "--json"], [EVIL]],
        "tags": [[], ["--staged"], ["--json"]],
        "query": [["alpha"], [EVIL]],
        "save": [[f"alpha {EVIL}"], ["--list"], ["--event", EVIL], ["--pin", EVIL]],
        "checkpoint": [[f"alpha {EVIL}"], [f"alpha {EVIL}", "--json"]],
        "checkpoint list": [[], ["--json"]],
        "checkpoint show": [[EVIL]],
        "checkpoint edit": [[EVIL]],
        "plan save": [[f"Other {EVIL}", EVIL], [f"Third {EVIL}", EVIL, "--json"], ["x", "y"]],
        "plan show": [["plan"], [], [EVIL]],
        "plan list": [[], ["--json"]],
        "plan activate": [["plan"], [EVIL]],
        "plan update": [["plan", EVIL, "--title", EVIL], [EVIL, "x"]],
        "plan check": [["1"], [EVIL]],
        "plan edit": [["plan"], [EVIL]],
        "plan complete": [["plan"], [EVIL]],
        "plan archive": [["plan"], [EVIL]],
        "session new": [[f"Title {EVIL}"]],
        "session list": [[], ["--json"]],
        "session show": [
            [ids["session"]],
            [EVIL],
            ["last"],
            ["last", "--full"],
            ["last", "--json"],
            ["last", "--file", note, "--only", "edits"],
        ],
        "round new": [[f"Round {EVIL}"], ["x", "--session", EVIL]],
        "session close": [[ids["session"]], [EVIL]],
        "consolidate": [[], ["--session", EVIL], ["--capsule", EVIL]],
        "log": [[f"alpha {EVIL}"], ["x", "--session", EVIL, "--file", note, "--json"]],
        "capsule open": [["--intent", EVIL], ["--intent", EVIL, "--session", EVIL, "--json"]],
        "capsule show": [[ids["capsule"]], [EVIL]],
        "capsule close": [[ids["capsule"], "--summary", f"sum {EVIL}"], [EVIL]],
        "pin": [["notes/beta.md", "--note", EVIL], [note, "--json"], [EVIL]],
        "unpin": [["notes/beta.md"], [EVIL]],
        "tag": [[note, "+x"], [EVIL, "+x"], [note, f"+{EVIL}"]],
        "redact": [[ids["message"]], [EVIL]],
        "forget": [["notes/beta.md"], [EVIL]],
        "export": [[str(shell)]],
        "import": [[str(shell)], [str(shell), "--dry-run"], [EVIL]],
        "import transcripts": [[str(hostile.root)]],
        "sync": [[], ["--preview"], ["--preview", "--json"], [EVIL], ["ssh", EVIL]],
        "team status": [[], ["--json"]],
        "team login": [[]],
        "team logout": [[], ["--json"]],
        "team leave": [[]],
        "team check": [[EVIL], [EVIL, "--json"]],
        "team audit": [["--database", EVIL], ["--name", EVIL, "--database", "x"]],
        "team join": [[], ["--json"]],
        "team token create": [
            ["x", "--allow", EVIL, "--database", EVIL],
            [EVIL, "--database", "x"],
        ],
        "team token list": [["--database", EVIL]],
        "team token revoke": [[EVIL, "--database", EVIL]],
        "team member add": [[EVIL, "--allow", EVIL, "--database", EVIL]],
        "team member remove": [[EVIL, "--database", EVIL]],
        "team token rotate": [[EVIL, "--database", EVIL]],
        "team migrate": [["--dry-run", "--database", EVIL]],
        "team space list": [["--database", EVIL]],
        "team space rename": [[EVIL, EVIL, "--database", EVIL]],
        "team space delete": [[EVIL, "--database", EVIL]],
        "team person list": [["--database", EVIL]],
        "team person erase": [[EVIL, "--database", EVIL]],
        "index": [[], ["--json"]],
        "index status": [[], ["--json"]],
        "index rebuild": [[], ["--session", EVIL]],
        "snapshot create": [[]],
        "snapshot list": [[], ["--json"]],
        "snapshot restore": [[], [EVIL]],
        "snapshot prune": [["--keep", "0"]],
        "resources add": [[note, "--tag", EVIL, "--note", EVIL], [EVIL]],
        "resources list": [[], ["--json"]],
        "resources search": [["alpha"]],
        "resources remove": [[EVIL]],
        "gc": [[], ["--json"]],
        "status": [[], ["--json"]],
        "doctor": [[], ["--json"]],
        "init": [["."], [EVIL]],
        "space add": [[".", "--name", EVIL], [EVIL]],
        "space alias": [[EVIL, EVIL]],
        "space current": [[], ["--json"]],
        "space list": [[], ["--json"]],
        "space remove": [[EVIL]],
        "config show": [[], ["--json"]],
        "config get": [["space.name"], [EVIL]],
        "config path": [[]],
        "config set": [["search.default_limit", "10"], [EVIL, EVIL], ["search.default_mode", EVIL]],
        "config unset": [["search.default_limit"], [EVIL]],
        "trust": [[]],
        "install": [["claude-code", "--dry-run"], ["claude-code", "--scope", "project"]],
        "uninstall": [["claude-code", "--dry-run"], ["claude-code", "--scope", "project"]],
        "hooks install": [[]],
        "hooks status": [[], ["--json"]],
        "hooks trace": [[], ["--json"]],
        "hooks uninstall": [[]],
        "mcp": [[], ["--space", f"nowhere{EVIL}"]],
        "serve": [["--space", f"nowhere{EVIL}"]],
        "daemon start": [[]],
        "daemon run": [[]],  # one runs, so that it ends at once
        "daemon status": [[], ["--json"]],
        "daemon logs": [[]],
        "daemon restart": [[]],
        "daemon stop": [[]],
        "daemon install": [["--print"]],
        "completion": [["bash"], [EVIL]],
        "demo": [["--help"]],  # it brings its own texts
    }


RAW = {"export"}
"""Commands whose standard output, into a pipe, is content as it is."""
WITH_PROGRESS = {"index", "index rebuild", "import", "import transcripts", "snapshot restore"}
"""Commands that draw a bar on standard error, if that is a terminal."""


def leaves() -> dict[str, click.Command]:
    """Every command that can be run, by its words."""

    def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for word in catalogue.names() if command is commands else command.commands:
                inner = command.get_command(context, word)
                assert inner
                yield from walk(inner, f"{name} {word}".strip())
            if not command.invoke_without_command:
                return
        yield name, command

    return dict(walk(commands, ""))


def hidden(text: str) -> set[str]:
    """Characters that a terminal would obey, of a text."""
    odd = {item for item in text if unicodedata.category(item) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    return {entry for entry in odd if visible(entry) != entry}


def assert_harmless(ran: Ran, *, terminal: bool) -> None:
    for stream in (ran.out, ran.err):
        text = stream.decode("utf-8", "surrogateescape")
        assert FORGED not in text, (ran.line, text)
        plain = OWN_COLOURS.sub("", text) if terminal else text
        assert not hidden(plain), (ran.line, hidden(plain), plain)
    assert ran.code in (0, 1, 2), ran
    assert b"this is a bug" not in ran.err, ran
    assert b"Traceback" not in ran.err, ran


@pytest.mark.quick
def test_every_command_has_lines_that_make_it_show_hostile_text(hostile_space: Hostile) -> None:
    assert set(words_of(hostile_space)) == set(leaves())


def ordered(hostile: Hostile) -> list[list[str]]:
    return [[*name.split(), *words] for name, lines in words_of(hostile).items() for words in lines]


def test_no_command_writes_a_control_character_into_a_pipe(hostile: Hostile) -> None:
    rows = hostile.run([["init", "--name", f"name{EVIL}"], ["index"], *ordered(hostile)])
    for ran in rows:
        assert_harmless(ran, terminal=False)
    text = b"".join(ran.out for ran in rows)
    assert text.count(rb"\x1b]0;title\x07") > 50  # the hostile text was there, spelled out


def test_no_command_lets_content_reach_the_terminal(hostile: Hostile) -> None:
    lines = [["init"], ["index"], *ordered(hostile)]
    bars = [
        line for line in lines if " ".join(line[:2]) in WITH_PROGRESS or line[0] in WITH_PROGRESS
    ]
    colours = {"TERM": "xterm-256color", "NO_COLOR": ""}
    for terminal in ("out err", "out"):
        chosen = [line for line in lines if (line in bars) == (terminal == "out")]
        if terminal == "out err":
            hostile.run([["init"], ["index"]])
        rows = run_lines(chosen, hostile.root, terminal=terminal, **{**hostile.env, **colours})
        for ran in rows:
            assert_harmless(ran, terminal=True)
        assert any(OWN_COLOURS.search(ran.out.decode("utf-8", "replace")) for ran in rows)


def test_a_bar_is_still_drawn_on_a_terminal(hostile: Hostile) -> None:
    colours = {"TERM": "xterm-256color", "NO_COLOR": "", "KINEN_PROGRESS": "0"}
    how: Any = {**hostile.env, **colours, "terminal": "out err"}
    (ran,) = run_lines([["index", "--rebuild"]], hostile.root, **how)
    assert ran.code == 0
    assert b"\r\x1b[K" in ran.err
    progress = re.findall(rb"reading: (\d+) of (\d+)", ran.err)
    assert progress
    assert all(int(count) <= int(total) for count, total in progress)


def test_content_that_was_asked_for_as_it_is_comes_as_it_is(hostile: Hostile) -> None:
    output, listed, files, bundle = hostile.run(
        [
            ["show", "--raw", hostile.note],
            ["search", "-l", "alpha", "-n", "50"],
            ["search", "-l", "alpha", "--type", "files"],
            ["export"],
        ]
    )
    assert EVIL in output.out.decode()
    names = listed.out.split(b"\n")
    assert hostile.note.encode() in names
    assert ODD_FILE in files.out.split(b"\n")

    contents = [observation["content"] for observation in json.loads(bundle.out)["observations"]]
    assert any(EVIL in content for content in contents)


@pytest.mark.quick
def test_json_has_the_same_values_after_it_is_read(hostile: Hostile) -> None:
    output, results = hostile.run(
        [["show", hostile.note, "--json"], ["list", "observations", "--json"]]
    )
    record = json.loads(output.out)
    assert record["path"] == hostile.note
    assert any(EVIL in chunk["text"] for chunk in record["chunks"])
    assert any(
        EVIL in observation["content"] for observation in json.loads(results.out)["observations"]
    )


def test_a_record_is_found_by_its_name_as_it_is_shown(hostile: Hostile) -> None:
    spelled_out = visible_line(hostile.note)
    raw, output = hostile.run([["show", hostile.note], ["show", spelled_out]])
    assert (raw.code, output.code) == (0, 0)
    assert raw.out == output.out


@pytest.mark.quick
def test_a_file_is_found_by_a_name_that_is_no_utf8(hostile: Hostile) -> None:
    (ran,) = hostile.run([["show", os.fsdecode(ODD_FILE)]])
    assert ran.code == 0, ran
    assert rb"file:odd\xe9\x1b[2J.md" in ran.out


@pytest.mark.quick
def test_a_config_file_cannot_speak_to_the_terminal(hostile: Hostile) -> None:
    config = hostile.root / ".kinen" / "config.yml"
    for text in (
        f"{json.dumps(EVIL)}: 1\n",
        f"search:\n  default_mode: {json.dumps(EVIL)}\n",
        EVIL,
    ):
        config.write_text(text, encoding="utf-8")
        for ran in hostile.run([["search", "alpha"], ["config", "show"], ["status"], ["doctor"]]):
            assert_harmless(ran, terminal=False)


@pytest.mark.quick
def test_an_agent_is_told_nothing_that_a_terminal_obeys(hostile: Hostile) -> None:
    hostile.run([["index"]])
    events = [
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "what about alpha and beta text"},
        {"hook_event_name": "PreCompact"},
    ]
    answers = []
    for event in events:
        payload = {**event, "session_id": f"x{EVIL}", "cwd": str(hostile.root)}
        env = {"KINEN_HOOKS_INJECT_ON_PROMPT": "true", "KINEN_DEBUG": "1"}
        (ran,) = run_lines(
            [["hook", "claude-code"]],
            hostile.root,
            stdin=json.dumps(payload).encode(),
            **{**hostile.env, **env},
        )
        assert_harmless(ran, terminal=False)
        answers.append(ran.out)
    assert b"title" in answers[0]
    for answer in answers:
        if answer.startswith(b"{"):
            data = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
            assert not hidden(data)


CALLS: dict[str, dict[str, Any]] = {
    "kinen_standup": {},
    "kinen_handoff": {},
    "kinen_memories": {},
    "kinen_search": {"query": "alpha"},
    "kinen_recall": {"query": "alpha"},
    "kinen_context": {},
    "kinen_links": {"ref": "notes/beta.md"},
    "kinen_index_status": {},
    "kinen_index_rebuild": {},
    "kinen_list_artifacts": {},
    "kinen_get_artifact": {"path": "notes/beta.md"},
    "kinen_read": {"path": "notes/beta.md", "links": True},
    "kinen_history": {"path": "notes/beta.md"},
    "kinen_status": {"view": "standup", "since": "1w"},
    "kinen_get_provenance": {"path": "notes/beta.md"},
    "kinen_list_tags": {},
    "kinen_get_cochange": {"paths": ["notes/beta.md"]},
    "kinen_fix": {"error": f"ValueError: alpha {EVIL}"},
    "kinen_how": {"command": f"alpha {EVIL}"},
    "kinen_why": {"target": "HEAD"},
    "kinen_checkpoint": {"description": f"alpha {EVIL}"},
    "kinen_plan": {"action": "get"},
    "kinen_observe": {"content": f"alpha {EVIL}"},
    "kinen_pin": {"ref": "notes/beta.md", "note": EVIL},
    "kinen_correct_memory": {"action": "undo"},
    "kinen_remember": {"text": f"alpha {EVIL}", "why": EVIL, "files": [EVIL]},
}


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


@pytest.mark.quick
def test_no_tool_of_mcp_gives_a_control_character(hostile: Hostile) -> None:
    assert set(CALLS) == set(TOOLS)
    home, settings = hostile.env["KINEN_HOME"], {"index.embedding_provider": "none"}

    async def ask() -> None:
        with Memory.open(hostile.root, home=home, settings=settings) as memory:
            memory.sync()
            decision = f"Alpha {EVIL} stays in the office"
            memory.worklog.checkpoint("alpha", type="decision", decision=decision)
            memory.consolidation.consolidate()
            memory.consolidation.hide(memory.consolidation.memories()[0].ref)
            async with Client(create_server(memory)) as client:
                for name, words in CALLS.items():
                    for value in (words, {**words, "ref": EVIL, "query": EVIL, "path": EVIL}):
                        got = await client.call_tool(name, value)
                        assert value is not words or not got.is_error, (name, got.content)
                        output = [*texts_in(got.structured_content)]
                        output += [getattr(item, "text", "") for item in got.content]
                        assert not [text for text in output if hidden(text)], (name, output)
                hit = await client.call_tool("kinen_get_artifact", {"ref": f"note:{hostile.note}"})
                again = await client.call_tool(
                    "kinen_get_artifact", {"ref": hit.structured_content["ref"]}
                )
                assert again.structured_content == hit.structured_content

    anyio.run(ask)


RAW_PATHS = ("/v1/events", "/v1/export", "/v1/content", "/v1/openapi.json")
"""What never ends, what is content as it is, and what says nothing of a space."""


@pytest.fixture
def asking(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a server that serves the hostile space."""
    for name, value in hostile.env.items():
        monkeypatch.setenv(name, value)
    door, path = unix_door()
    with (
        serving(application(default=str(hostile.root)), door),
        client(path, **{"X-Kinen-Space": quote(str(hostile.root))}) as request,
    ):
        yield request


@pytest.mark.quick
def test_no_answer_over_http_has_a_control_character(hostile: Hostile, asking: Any) -> None:
    paths = asking.get("/v1/openapi.json").json()["paths"]
    fields = {"query": "alpha", "path": "notes/beta.md", "paths": "notes/beta.md", "session": "s"}
    count = 0
    for path, methods in paths.items():
        if "get" not in methods or path.startswith(RAW_PATHS):
            continue
        names = {parameter["name"] for parameter in methods["get"].get("parameters", ())}
        url = path.replace("{ref}", quote(f"note:{hostile.note}")).replace("{id}", quote(EVIL))
        for accept in ("application/json", "text/plain"):
            request = {name: value for name, value in fields.items() if name in names}
            got = asking.get(url, params=request, headers={"Accept": accept})
            assert got.status_code < 500, (path, got.text)
            assert not hidden(got.text), (path, got.text)
            count += "title" in got.text
    assert count > 6
    for body in ({"query": f"alpha {EVIL}"}, {"query": EVIL, "mode": EVIL}, {EVIL: EVIL}):
        got = asking.post("/v1/search", json=body)
        assert not hidden(got.text), got.text


@pytest.mark.quick
def test_half_an_emoji_over_http_is_stored_as_a_replacement(asking: Any) -> None:
    body = b'{"content": "fix \\ud83d X", "scope": {"session": "\\ud83d"}}'
    headers = {"Content-Type": "application/json"}
    got = asking.post("/v1/observations", content=body, headers=headers)
    assert got.status_code < 300, got.text
    listed = asking.post("/v1/observations/list", json={"limit": 1}).json()
    assert "fix \ufffd X" in json.dumps(listed, ensure_ascii=False)
    response = asking.post("/v1/search", content=b'{"query": "\\ud83d alpha"}', headers=headers)
    assert response.status_code == 200, response.text


# Arguments that are no text


def strange_lines(hostile: Hostile) -> list[list[str]]:
    """Lines with a byte that is not UTF-8 in the place of every argument and option."""
    lines = []
    for name, command in leaves().items():
        if name in ("serve", "daemon run", "daemon start", "daemon restart", "demo"):
            continue  # without text, or they would stay
        good = words_of(hostile)[name][0]
        first = next((n for n, word in enumerate(good) if word.startswith("--")), len(good))
        for n in range(first):
            lines.append([*name.split(), *good[:n], NOT_TEXT, *good[n + 1 :]])
        if not first and any(isinstance(param, click.Argument) for param in command.params):
            lines.append([*name.split(), NOT_TEXT, *good])
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                lines.append([*name.split(), *good, option.opts[0], NOT_TEXT])
    lines.append(["serve", "--space", NOT_TEXT])
    return [*lines, [NOT_TEXT], ["space", NOT_TEXT], ["search", "x", f"--{NOT_TEXT}"]]


def test_a_byte_that_is_not_utf8_is_never_a_bug(hostile: Hostile) -> None:
    for ran in hostile.run([["index"], *strange_lines(hostile)]):
        assert_harmless(ran, terminal=False)


def test_an_export_of_no_session_writes_a_whole_bundle_or_nothing(hostile: Hostile) -> None:
    (ran,) = hostile.run([["export", "--session", NOT_TEXT]])
    assert ran.code == 2
    assert ran.out == b""


@pytest.mark.quick
@pytest.mark.parametrize("text", [NOT_TEXT, "\ud83d", "\udc00x", "\x00", EVIL])
def test_every_question_of_the_python_api_takes_any_text(hostile: Hostile, text: str) -> None:
    home, settings = hostile.env["KINEN_HOME"], {"index.embedding_provider": "none"}
    with Memory.open(hostile.root, home=home, settings=settings) as memory:
        memory.sync()
        calls = {
            "search": lambda: memory.search(text),
            "recall": lambda: memory.recall(text),
            "record": lambda: memory.records.get(text),
            "knows": lambda: memory.records.knows(text),
            "show": lambda: memory.records.show(text),
            "links": lambda: memory.records.links(text),
            "history": lambda: memory.git.history(text),
            "read": lambda: memory.git.read(text, text),
            "cochanged": lambda: memory.git.cochanged([text]),
            "files": lambda: memory.git.files(tags=[text]),
            "tag": lambda: memory.git.tag(text, [text]),
            "tag_a_file": lambda: memory.git.tag("notes/beta.md", [text]),
            "entries": lambda: memory.journal.entries(
                "observations", session=text, repo=text, kind=text
            ),
            "page": lambda: memory.journal.page("observations", 3, scope=Scope(session=text)),
            "capsule": lambda: memory.journal.capsule(text),
            "observed": lambda: memory.journal.observed(text),
            "observe": lambda: memory.observe(f"x{text}", scope={"session": text}, id=text),
            "open": lambda: memory.journal.open_capsule(f"x{text}", scope={"session": text}),
            "close": lambda: memory.journal.close_capsule(text, text),
            "pin": lambda: memory.journal.pin("notes/beta.md", text, scope={"session": text}),
            "pin_it": lambda: memory.journal.pin(text),
            "unpin": lambda: memory.journal.unpin(text),
            "redact": lambda: memory.journal.redact(text),
            "forget": lambda: memory.journal.forget(text),
            "restore": lambda: memory.journal.restore(text),
            "brief": lambda: memory.journal.brief(text, text),
            "related": lambda: memory.searcher.related(f"alpha {text}", text, 500, [text]),
            "fix": lambda: memory.experience.fix(f"ValueError: alpha {text}"),
            "how": lambda: memory.experience.how(f"alpha {text}"),
            "ledger": lambda: memory.ledger.injections(session=text, agent=text, event=text),
            "ledger_show": lambda: memory.ledger.injection(text),
            "ledger_record": lambda: memory.ledger.record_answer(text, text, text, [text]),
            "context": lambda: memory.context.around(session=text),
            "context_file": lambda: memory.context.around(file=text),
            "checkpoint": lambda: memory.worklog.checkpoint(f"x{text}", tags=[text], decision=text),
            "plan": lambda: memory.worklog.plan(text),
            "save_plan": lambda: memory.worklog.save_plan(f"t{text}", text),
            "session": lambda: memory.worklog.session(text),
            "new_session": lambda: memory.worklog.new_session(f"t{text}"),
            "new_round": lambda: memory.worklog.new_round(f"t{text}", text),
            "learned": lambda: memory.consolidation.get(text),
            "memories": lambda: memory.consolidation.memories(text),
            "consolidate": lambda: memory.consolidation.consolidate(session=text),
            "restore_snapshot": lambda: memory.snapshots.restore(text),
            "relative": lambda: memory.git.relative(text),
            "inside": lambda: memory.git.inside(text),
            "current_name": lambda: memory.git.current_name(text),
        }
        failed = {}
        for name, call in calls.items():
            try:
                call()
            except (KinenError, OSError):
                pass
            except Exception as error:
                failed[name] = repr(error)
        assert not failed, "\n".join(map(str, failed.items()))


def random_text(rng: random.Random, most: int) -> str:
    pools = (
        "alpha beta text deploy",
        "\"'()*:^-+~{}[]\\/.,;#@`",
        "äßéñ日本語한글🙂\u0301\u200d",
        EVIL,
    )
    parts = []
    for _ in range(rng.randrange(1, most)):
        kind = rng.randrange(len(pools) + 3)
        if kind < len(pools):
            parts.append(rng.choice(pools[kind]))
        elif kind == len(pools):
            parts.append(chr(rng.randrange(0x110000)))
        elif kind == len(pools) + 1:
            parts.append(chr(rng.randrange(0xD800, 0xE000)))
        else:
            parts.append(rng.choice(("alpha ", "OR ", "NEAR(", "beta ", "AND NOT ", "text ")))
    return "".join(parts)


def random_query(rng: random.Random) -> Query:
    def some(most: int = 8) -> str:
        return random_text(rng, most) if rng.random() < 0.15 else ""

    def several() -> tuple[str, ...]:
        return tuple(random_text(rng, 8) for _ in range(rng.randrange(1, 3)))

    return Query(
        random_text(rng, 24),
        limit=rng.choice((1, 3, 10, 0, -1)) if rng.random() < 0.1 else 5,
        mode=rng.choice(MODES),
        kinds=tuple(rng.sample(KINDS, rng.randrange(0, 3))),
        session=some(),
        tags=several() if rng.random() < 0.1 else (),
        paths=several() if rng.random() < 0.1 else (),
        since=rng.choice(("", "", "2020-01-01T00:00:00.000Z", some())),
        until=rng.choice(("", "", "2030-01-01T00:00:00.000Z", some())),
        context=rng.randrange(0, 3),
        min_score=rng.choice((0.0, 0.0, 0.3, 1.5)),
        events=tuple(rng.sample(EVENTS, 1)) if rng.random() < 0.1 else (),
        repo=some(),
        agent=some(),
        user=some(),
        near=several() if rng.random() < 0.1 else (),
        recency=rng.choice((0.0, 0.5)),
        files=several() if rng.random() < 0.1 else (),
        symbols=several() if rng.random() < 0.1 else (),
        min_similarity=rng.choice((0.0, 0.0, 0.4)),
    )


def test_random_questions_in_all_modes_with_all_filters(hostile: Hostile) -> None:
    count = 300_000 if os.environ.get("KINEN_STRESS") else 1_500
    home, settings = hostile.env["KINEN_HOME"], {"index.embedding_provider": "none"}
    rng = random.Random(13)
    refused = answered = 0
    with Memory.open(hostile.root, home=home, settings=settings) as memory:
        memory.sync()
        for _ in range(count):
            query = random_query(rng)
            try:
                answered += bool(memory.search(query))
            except KinenError:
                refused += 1
    assert answered > count // 50
    assert refused < count // 2
