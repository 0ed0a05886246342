"""Past sessions of Copilot CLI, Qwen Code, Cline, Roo Code, Aider, Zed and Cursor."""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import pytest

import past_stores as stores
from kinen import Memory
from kinen.agents.transcripts import cursor
from kinen.agents.transcripts.find import Tally, sessions_in
from kinen.agents.transcripts.values import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def memory(space: Path) -> Iterator[Memory]:
    with Memory.open(space) as opened:
        yield opened


def observations(memory: Memory, session: str = "") -> list[Any]:
    capsules = memory.journal.entries("capsules", session=session)[0]
    return memory.journal.capsule(capsules[0].id)[1]


def contents(memory: Memory, session: str = "") -> list[tuple[str, str]]:
    return [(entry.kind, entry.content) for entry in observations(memory, session)]


def aider(folder: Path) -> Path:
    path = folder / ".aider.chat.history.md"
    path.write_text(stores.AIDER_HISTORY.partition("\n# aider chat started at 2026-03-02")[0])
    return path


def openclaw(home: Path, **about: str) -> Path:
    """OpenClaw's session is one of pi, in another folder and beside checkpoints of itself."""
    path = stores.pi(home, **about)
    folder = home / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "x.checkpoint.1.jsonl").write_text(path.read_text())
    return path.rename(folder / path.name)


STORES: dict[str, tuple[Callable[[Path], Path], list[tuple[str, str]]]] = {
    "copilot": (stores.copilot, stores.COPILOT),
    "qwen": (stores.qwen, stores.QWEN),
    "pi": (stores.pi, stores.PI),
    "cline": (stores.panel, stores.PANEL),
    "cline-cli": (stores.cline_session, stores.CLINE_SESSION),
    "aider": (aider, stores.AIDER),
    "zed": (
        lambda folder: stores.zed(folder / "threads.db", ("t-1", stores.zed_thread())),
        stores.ZED,
    ),
    "cursor": (lambda folder: stores.cursor_database(folder / "state.vscdb"), stores.CURSOR),
    "cursor-agent": (stores.cursor_transcript, stores.CURSOR_TRANSCRIPT),
    "openclaw": (lambda folder: openclaw(folder), stores.PI),
    "droid": (stores.droid, stores.DROID),
    "kimi": (stores.kimi, stores.KIMI),
    "kimi-cli": (stores.kimi_cli, stores.KIMI_CLI),
    "grok": (stores.grok, stores.GROK),
    "grok-cli": (stores.grok_cli, stores.GROK_CLI),
    "antigravity": (stores.antigravity, stores.ANTIGRAVITY),
    "goose": (stores.goose, stores.GOOSE),
    "goose-lines": (stores.goose_lines, stores.GOOSE),
    "hermes": (stores.hermes, stores.HERMES),
    "crush": (stores.crush, stores.CRUSH),
    "amp": (stores.amp, stores.AMP),
    "continue": (lambda folder: stores.continued(folder / "sessions"), stores.CONTINUED),
}
DATABASES = ("cursor", "goose", "hermes", "crush", "grok-cli")


@pytest.mark.parametrize("client", STORES)
def test_a_session_becomes_a_capsule_and_is_imported_once(memory, tmp_path, client) -> None:
    write, expected = STORES[client]
    path = write(tmp_path / "there") if client != "aider" else write(tmp_path)
    loaded = memory.transfer.import_transcripts(path)
    assert contents(memory) == expected
    assert not loaded.notes
    capsule = memory.journal.entries("capsules")[0][0]
    assert capsule.intent.startswith("the cart forgets its coupon")
    assert capsule.scope.agent == client.partition("-")[0]
    assert capsule.status == "closed"
    again = memory.transfer.import_transcripts(path)
    assert not any(again.added.values())
    assert again.skipped["observations"] == len(expected)


def test_several_files_are_imported_at_once(memory, tmp_path, kinen) -> None:
    paths = [str(STORES[client][0](tmp_path / client)) for client in ("copilot", "qwen")]
    output = kinen("import", "transcripts", *paths, "--json")
    assert json.loads(output.out)["added"]["capsules"] == 2
    missing = kinen("import", "transcripts", paths[0], str(tmp_path / "nowhere"))
    assert missing.code
    assert "nowhere" in missing.err


@pytest.mark.parametrize("client", STORES)
def test_a_folder_is_searched_for_stores(memory, tmp_path, client) -> None:
    write, expected = STORES[client]
    folder = tmp_path / "there"
    folder.mkdir()
    write(folder)
    memory.transfer.import_transcripts(folder)
    assert contents(memory) == expected


@pytest.mark.parametrize("client", STORES)
def test_kinen_import_recognises_a_store(kinen, space, tmp_path, client) -> None:
    write, expected = STORES[client]
    folder = tmp_path / "there"
    folder.mkdir()
    done = kinen("import", str(write(folder)), cwd=space)
    assert f"added {len(expected)} events" in done.out
    assert "skipped" in kinen("import", str(folder), cwd=space).out


@pytest.mark.parametrize("client", STORES)
def test_secrets_are_masked_before_they_reach_the_disk(memory, home, tmp_path, client) -> None:
    write, _ = STORES[client]
    folder = tmp_path / "there"
    folder.mkdir()
    path = write(folder)
    if client == "zed":
        thread = json.loads(json.dumps(stores.zed_thread()).replace("coupon", f"coupon {SECRET}"))
        stores.zed(path, ("t-1", thread))
    elif client in DATABASES:
        db = sqlite3.connect(path)
        table = "cursorDiskKV" if client == "cursor" else "messages"
        for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall():
            change = f"UPDATE {table} SET {column} = replace({column}, 'coupon', ?)"
            db.execute(f"{change} WHERE typeof({column}) = 'text'", (f"coupon {SECRET}",))
        db.commit()
        db.close()
    else:
        path.write_text(path.read_text().replace("coupon", f"coupon {SECRET}"))
    memory.transfer.import_transcripts(path)
    assert "coupon" in contents(memory)[0][1]
    for file in home.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def odd_variants(value: Any, odd: Any) -> Iterator[Any]:
    """The value with each of its parts replaced in turn."""
    yield odd
    if isinstance(value, dict):
        for key, part in value.items():
            for variant in odd_variants(part, odd):
                yield {**value, key: variant}
    elif isinstance(value, list):
        for place, part in enumerate(value[:4]):
            for variant in odd_variants(part, odd):
                yield [*value[:place], variant, *value[place + 1 :]]


LINES = "copilot qwen pi cursor-agent droid kimi kimi-cli grok antigravity goose-lines".split()
ODD = (None, 7, [], {}, "", [None], {"type": ["x"]}, "\ud800a\0b", 1e400, True)


@pytest.mark.parametrize("client", LINES)
def test_lines_of_any_shape_do_no_harm(memory, tmp_path, client) -> None:
    path = STORES[client][0](tmp_path / "there")
    first, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    odd = [variant for value in ODD for line in lines for variant in odd_variants(line, value)]
    stores.put(path, first, *odd)
    memory.transfer.import_transcripts(path)
    assert not memory.transfer.import_transcripts(path).added["observations"]


@pytest.mark.parametrize("client", ["cline", "cline-cli"])
def test_messages_of_any_shape_do_no_harm(memory, tmp_path, client) -> None:
    path = STORES[client][0](tmp_path / "there")
    document = json.loads(path.read_text())
    messages = document["messages"] if isinstance(document, dict) else document
    odd = [variant for value in ODD for entry in messages for variant in odd_variants(entry, value)]
    path.write_text(json.dumps(odd))
    memory.transfer.import_transcripts(path)
    assert not memory.transfer.import_transcripts(path).added["observations"]


@pytest.mark.slow
@pytest.mark.parametrize("client", ["amp", "continue"])
def test_documents_of_any_shape_do_no_harm(memory, tmp_path, client) -> None:
    path = STORES[client][0](tmp_path / "there")
    document = json.loads(path.read_text())
    for number, variant in enumerate([one for odd in ODD for one in odd_variants(document, odd)]):
        name = f"{number:036}.json" if client == "continue" else f"T-{number}.json"
        path.with_name(name).write_text(json.dumps(variant))
    memory.transfer.import_transcripts(path.parent)
    assert not memory.transfer.import_transcripts(path.parent).added["observations"]


@pytest.mark.slow
@pytest.mark.parametrize("client", ["goose", "hermes", "crush", "grok-cli"])
def test_rows_of_any_shape_do_no_harm(memory, tmp_path, client) -> None:
    path = STORES[client][0](tmp_path / "there")
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    rows = [dict(row) for row in db.execute("SELECT * FROM messages")]
    about = [dict(row) for row in db.execute("SELECT * FROM sessions")]
    db.close()
    cells: list[Any] = [None, 7, 2.5, "", "[", "{}", "[[]]", "[" * 100_000, b"\xff", 1e300]
    odd = [{**row, name: cell} for row in rows for name in row for cell in cells][::2]
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, str) and cell[:1] in ("[", "{"):
                shapes = [one for value in ODD for one in odd_variants(json.loads(cell), value)][
                    ::3
                ]
                odd += [{**row, name: json.dumps(one)} for one in shapes]
    sessions = [{**row, name: cell} for row in about for name in row for cell in cells]
    path.unlink()
    stores.database(path, sessions=[*about, *sessions], messages=odd)
    memory.transfer.import_transcripts(path)
    assert not memory.transfer.import_transcripts(path).added["observations"]


def test_threads_of_any_shape_do_no_harm(memory, tmp_path) -> None:
    thread = stores.zed_thread()
    odd = [variant for value in ODD for variant in odd_variants(thread, value)][::5]
    names = [(f"t-{number}", variant) for number, variant in enumerate(odd)]
    path = stores.zed(tmp_path / "threads.db", *names, kind="json")
    memory.transfer.import_transcripts(path)
    assert not memory.transfer.import_transcripts(path).added["observations"]


def test_conversations_of_any_shape_do_no_harm(memory, tmp_path) -> None:
    path = stores.cursor_database(tmp_path / "state.vscdb")
    db = sqlite3.connect(path)
    rows = db.execute("SELECT key, value FROM cursorDiskKV").fetchall()
    db.close()
    variants = [
        (key, variant)
        for value in ODD
        for key, text in rows
        for variant in odd_variants(json.loads(text), value)
    ]
    copies = {}
    for number, (key, variant) in enumerate(variants[::20]):
        own = {old.replace("cu-1", f"x{number}"): json.loads(text) for old, text in rows}
        copies |= {**own, key.replace("cu-1", f"x{number}"): variant}
    stores.key_values(path, "cursorDiskKV", copies)
    memory.transfer.import_transcripts(path)
    assert not memory.transfer.import_transcripts(path).added["observations"]


def test_without_a_path_the_sessions_of_this_space_come_from_every_client(
    memory, space, home
) -> None:
    data = home / ".local" / "share"
    config = home / ".config"
    stores.copilot(home / ".copilot" / "session-state", cwd=str(space))
    stores.copilot(home / ".copilot" / "session-state", cwd="/elsewhere", id_="co-2")
    stores.qwen(home / ".qwen" / "projects" / "p", cwd=str(space))
    stores.pi(home / ".pi" / "agent" / "sessions", cwd=str(space))
    stores.cline_session(home / ".cline" / "data" / "sessions", cwd=str(space))
    extensions = config / "Code" / "User" / "globalStorage"
    task = stores.panel(extensions / "rooveterinaryinc.roo-cline" / "tasks", "roo-1")
    stores.put(task.with_name("history_item.json"), {"workspace": str(space)})
    stores.panel(extensions / "saoudrizwan.claude-dev" / "tasks", "cl-1")
    state = extensions / "saoudrizwan.claude-dev" / "state" / "taskHistory.json"
    listed = {"id": "cl-1", "cwdOnTaskInitialization": str(space)}
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps([listed]))
    stores.zed(
        data / "zed" / "threads" / "threads.db", ("t-1", stores.zed_thread()), cwd=str(space)
    )
    stores.cursor_database(config / "Cursor/User/globalStorage/state.vscdb", cwd=str(space))
    slug = cursor.project_name(str(space))
    stores.cursor_transcript(home / ".cursor" / "projects" / slug, "cu-1")
    stores.cursor_transcript(home / ".cursor" / "projects" / slug, "cu-2")
    stores.cursor_transcript(home / ".cursor" / "projects" / "elsewhere", "cu-3")
    (space / ".aider.chat.history.md").write_text(stores.AIDER_HISTORY)
    cwd = str(space)
    (home / ".openclaw").mkdir()
    openclaw(home / ".openclaw", cwd=cwd, id_="oc-1")
    stores.droid(home / ".factory" / "sessions", cwd=cwd)
    stores.droid(
        home / ".factory" / "sessions", cwd=cwd, id_="dr-2", title="# Task Tool Invocation"
    )
    stores.kimi(home / ".kimi-code" / "sessions", cwd=cwd)
    stores.kimi(home / ".kimi-code" / "sessions", cwd=cwd, id_="ki-2", agent="agent-7")
    stores.kimi_cli(home / ".kimi", cwd=cwd)
    stores.grok(home / ".grok" / "sessions", cwd=cwd)
    stores.grok(home / ".grok" / "sessions", cwd=cwd, id_="gr-2", kind="subagent")
    stores.grok_cli(home / ".grok", cwd=cwd)
    stores.antigravity(home / ".gemini" / "antigravity", cwd=cwd)
    stores.goose(data / "goose" / "sessions", cwd=cwd)
    stores.goose_lines(data / "goose" / "sessions", cwd=cwd)
    stores.hermes(home / ".hermes" / "profiles" / "work", cwd=cwd)
    stores.crush(space)
    stores.amp(data / "amp" / "threads", cwd=cwd)
    stores.continued(home / ".continue" / "sessions", cwd=f"file://{cwd}")
    loaded = memory.transfer.import_transcripts()
    sessions = {entry.scope.session for entry in memory.journal.entries("capsules")[0]}
    assert sessions == {
        *("co-1", "qw-1", "pi-1", "1772359200000_abcde", "roo-1", "cl-1", "t-1", "cu-1", "cu-2"),
        *("aider-2026-03-01T10:00:00", "aider-2026-03-02T11:00:00"),
        *("oc-1", "dr-1", "ki-1", "kc-1", "gr-1", "gc-1", "ag-1", "go-1", "go-2", "he-1", "cr-1"),
        *("T-1", stores.CONTINUE_ID),
    }
    assert "sessions of other folders: 2" in loaded.notes
    assert contents(memory, "cu-1") == stores.CURSOR  # not the transcript, which has no results
    assert not memory.transfer.import_transcripts().added["observations"]


def test_the_folder_of_a_task_is_also_found_in_its_conversation(tmp_path) -> None:
    task = stores.panel(tmp_path)
    words = "<environment_details>\n# Current Working Directory (/home/me/shop) Files\n"
    conversation = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    task.with_name("api_conversation_history.json").write_text(json.dumps(conversation))
    (past,) = sessions_in(str(task))
    assert past.cwd == "/home/me/shop"


def test_the_folder_of_a_conversation_is_also_found_in_the_workspaces(tmp_path) -> None:
    user = tmp_path / "User"
    path = stores.cursor_database(user / "globalStorage" / "state.vscdb", cwd="")
    workspace = user / "workspaceStorage" / "0a"
    stores.put(workspace / "workspace.json", {"folder": "file:///home/me/my%20shop"})
    composers = {"composer.composerData": {"allComposers": [{"composerId": "cu-1"}]}}
    stores.key_values(workspace / "state.vscdb", "ItemTable", composers)
    (past,) = sessions_in(str(path))
    assert past.cwd == "/home/me/my shop"


def test_the_branch_is_taken_where_the_client_stores_it(memory, tmp_path) -> None:
    for client in ("copilot", "qwen", "zed", "cursor"):
        memory.transfer.import_transcripts(STORES[client][0](tmp_path / client))
        assert observations(memory)[0].branch == "dev", client
        memory.journal.forget(memory.journal.entries("capsules")[0][0].ref)


@pytest.mark.parametrize("client", ["copilot", "pi", "kimi", "hermes", "crush", "continue"])
def test_a_compaction_is_a_summary(memory, tmp_path, client) -> None:
    memory.transfer.import_transcripts(STORES[client][0](tmp_path))
    summaries = [entry.content for entry in memory.journal.entries("summaries")[0]]
    assert "The coupon is lost in merge()." in summaries


def test_a_session_that_went_on_is_extended(memory, tmp_path) -> None:
    path = stores.cursor_transcript(tmp_path)
    memory.transfer.import_transcripts(path)
    more = {"role": "user", "message": {"content": [{"type": "text", "text": "and the tests?"}]}}
    with path.open("a") as file:
        file.write(json.dumps(more) + "\n")
    assert memory.transfer.import_transcripts(path).added["observations"] == 1
    assert contents(memory)[-1] == ("message", "and the tests?")
    thread = stores.zed_thread()
    path = stores.zed(tmp_path / "threads.db", ("t-1", thread))
    memory.transfer.import_transcripts(path)
    thread["messages"].append({"User": {"id": "u2", "content": [{"Text": "and the docs?"}]}})
    stores.zed(path, ("t-1", thread))
    assert memory.transfer.import_transcripts(path).added["observations"] == 1
    assert contents(memory, "t-1")[-1] == ("message", "and the docs?")


def test_a_history_of_aider_has_a_session_for_each_start(memory, tmp_path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(stores.AIDER_HISTORY)
    memory.transfer.import_transcripts(path)
    assert contents(memory, "aider-2026-03-01T10:00:00") == stores.AIDER
    assert contents(memory, "aider-2026-03-02T11:00:00") == [
        ("message", "/add new.py"),
        ("message", "what is left?"),
        ("message", "Nothing."),
    ]


def test_an_edit_that_aider_did_not_apply_stays_in_the_answer(memory, tmp_path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(stores.AIDER_HISTORY.replace("> Applied edit to", "> Skipped"))
    memory.transfer.import_transcripts(path)
    answer = contents(memory, "aider-2026-03-01T10:00:00")[1][1]
    assert "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE" in answer


def test_an_older_thread_of_zed_is_read(memory, tmp_path) -> None:
    messages = [
        {"id": 0, "role": "user", "segments": [{"type": "text", "text": "fix it"}]},
        {
            "id": 1,
            "role": "assistant",
            "segments": [{"type": "text", "text": "Looking."}],
            "tool_uses": [{"id": "t1", "name": "terminal", "input": {"command": "ls"}}],
            "tool_results": [
                {"tool_use_id": "t1", "is_error": False, "content": {"Text": "cart.py"}}
            ],
        },
    ]
    thread = {"version": "0.2.0", "messages": messages}
    memory.transfer.import_transcripts(stores.zed(tmp_path / "threads.db", ("t-1", thread)))
    assert contents(memory) == [
        ("message", "fix it"),
        ("message", "Looking."),
        ("command", "$ ls\ncart.py"),
    ]


def test_threads_and_conversations_of_subagents_are_left_out(memory, tmp_path) -> None:
    path = stores.zed(tmp_path / "threads.db", ("sub-1", stores.zed_thread()))
    assert not memory.transfer.import_transcripts(path).added["capsules"]


def test_versions_that_nobody_knows_are_refused_with_their_number(memory, tmp_path) -> None:
    paths = [
        stores.copilot(tmp_path / "copilot", version=2),
        stores.pi(tmp_path / "pi", version=9),
        stores.zed(tmp_path / "zed" / "threads.db", ("t-1", stores.zed_thread(version="9.0"))),
        stores.cursor_database(
            tmp_path / "cursor" / "state.vscdb",
            _v=99,
            fullConversationHeadersOnly=[],
            conversationState="~CgQABA",
        ),
    ]
    for path, version in zip(paths, ("2", "9", "9.0", "99"), strict=True):
        loaded = memory.transfer.import_transcripts(path)
        assert not any(loaded.added.values())
        (note,) = loaded.notes
        assert note.startswith(f"{path}: ")
        assert f"version {version}, which this kinen cannot read" in note


def test_compressed_threads_name_the_extra_that_reads_them(memory, tmp_path, monkeypatch) -> None:
    path = stores.zed(tmp_path / "threads.db", ("t-1", stores.zed_thread()))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    (note,) = memory.transfer.import_transcripts(path).notes
    assert "pip install 'kinen[zed]'" in note


def test_what_is_damaged_is_named_and_the_rest_is_taken(memory, tmp_path) -> None:
    lines = stores.copilot(tmp_path / "co").read_text().splitlines()
    copilot = tmp_path / "co" / "co-1" / "events.jsonl"
    copilot.write_text("\n".join([*lines[:6], "{not json", *lines[6:]]))
    panel = stores.panel(tmp_path / "task")
    panel.write_text(panel.read_text()[:-200])
    threads = stores.zed(tmp_path / "zed" / "threads.db", ("t-1", {}), ("t-2", stores.zed_thread()))
    other = tmp_path / "other" / "threads.db"
    stores.key_values(other, "ItemTable", {})
    broken = tmp_path / "broken" / "state.vscdb"
    broken.parent.mkdir()
    broken.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
    tally = Tally()
    read = [past.agent for past in sessions_in(str(tmp_path), tally) for _ in past.events()]
    assert {agent: read.count(agent) for agent in set(read)} == {
        "copilot": len(stores.COPILOT),
        "cline": len(stores.PANEL) - 2,
        "zed": len(stores.ZED),
    }
    assert tally.broken == {str(copilot): 1, str(panel): 1, str(threads): 1}
    assert set(tally.strange) == {str(other), str(broken)}


def test_a_database_is_read_while_its_client_has_it_open(memory, tmp_path) -> None:
    path = stores.cursor_database(tmp_path / "state.vscdb")
    client = sqlite3.connect(path, isolation_level=None)
    client.execute("PRAGMA journal_mode = WAL")
    client.execute("BEGIN IMMEDIATE")
    client.execute("DELETE FROM cursorDiskKV")
    memory.transfer.import_transcripts(path)
    client.execute("ROLLBACK")
    client.close()
    assert contents(memory) == stores.CURSOR


def test_times_are_those_of_the_client(memory, tmp_path) -> None:
    memory.transfer.import_transcripts(stores.panel(tmp_path))
    capsule = memory.journal.entries("capsules")[0][0]
    assert capsule.opened_at == stores.START + 1000 == milliseconds(stores.at(1))
