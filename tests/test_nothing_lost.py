"""What an agent, a command or a client tells kinen is on disk afterwards, whatever it is like."""

from __future__ import annotations

import io
import itertools
import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forked
from kinen import Memory, paths
from kinen.agents import claude_code, tool_use
from kinen.hooks import command as hooks
from kinen.hooks import payload as payloads
from kinen.journal import spool, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Kinen = Callable[..., Ran]

STRESS = bool(os.environ.get("KINEN_STRESS"))
TOKEN = "gh" + "p_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"


def hook(data: bytes | dict[str, Any], cwd: str | Path, **env: str) -> None:
    """Run the real command on a payload; it always ends well, and quietly."""
    stdin = data if isinstance(data, bytes) else json.dumps(data)
    done = forked.shared().run(["hook", "claude-code"], cwd, stdin, {**os.environ, **env})
    assert (done.code, done.err) == (0, b"")


def event(space: Path, name: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "s1", "cwd": str(space), **more}


def contents(space: Path) -> list[str]:
    """The text of every observation and summary, with what waited in the spool."""
    with Memory.open(space) as memory:
        plurals = ("observations", "summaries")
        return [entry.content for plural in plurals for entry in memory.journal.entries(plural)[0]]


@pytest.mark.parametrize("half", ["\\ud83d", "\\udc00", "\\uD83D"])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("UserPromptSubmit", "prompt"),
        ("PostCompact", "compact_summary"),
        ("Stop", "last_assistant_message"),
        ("SubagentStop", "last_assistant_message"),
        ("PostToolUseFailure", "error"),
    ],
)
def test_half_an_emoji_loses_no_event(space: Path, name: str, field: str, half: str) -> None:
    message = event(space, name, prompt_id="1", tool_name="Bash", tool_input={"command": "make"})
    message |= {"agent_id": "a", "agent_type": "Explore", field: "fix HALF the kettle"}
    hook(json.dumps(message).replace("HALF", half).encode(), space)
    assert any("fix \ufffd the kettle" in text for text in contents(space))


@pytest.mark.parametrize("field", ["session_id", "cwd", "tool_use_id", "prompt_id", "agent_id"])
@pytest.mark.parametrize("odd", ["\ud83d", "a\0b", "x" * 100_000, "/" * 50_000])
def test_odd_names_lose_no_event(space: Path, field: str, odd: str) -> None:
    message = event(space, "PostToolUse", tool_name="Bash", tool_input={"command": "echo kettle"})
    message[field] = f"{message.get(field, '')}/{odd}" if field == "cwd" else odd
    hook(message, space)
    assert any("kettle" in text for text in contents(space))


def test_an_event_without_a_usable_folder_belongs_where_the_hook_runs(space: Path) -> None:
    for number, folder in enumerate(["", "no/such", 7, None, "\0"]):
        hook(event(space, "UserPromptSubmit", prompt=f"kettle {number}") | {"cwd": folder}, space)
    assert len(contents(space)) == 5


def test_nul_characters_are_dropped_on_every_surface(space: Path, kinen: Kinen) -> None:
    hook(event(space, "UserPromptSubmit", prompt="k\0e\0t\0t\0l\0e\0 one"), space)
    assert kinen("log", "-", stdin="k\0e\0t\0t\0l\0e\0 two").code == 0
    assert kinen("log", "-", "--json", stdin="k\0e\0t\0t\0l\0e\0 three").code == 0
    with Memory.open(space) as memory:
        memory.observe("kettle\0 four", scope={"session": "a\0b"}, files=["a\0.md"])
    assert sorted(contents(space)) == ["kettle four", "kettle one", "kettle three", "kettle two"]


def test_a_secret_that_nuls_hide_is_masked(space: Path) -> None:
    hook(event(space, "UserPromptSubmit", prompt="use \0".join([*TOKEN[:4], TOKEN[4:]])), space)
    hook(event(space, "UserPromptSubmit", prompt="\0".join(TOKEN)), space)
    assert "[masked:github_token]" in contents(space)


def test_a_number_of_5000_digits_loses_no_event(space: Path) -> None:
    data = json.dumps(event(space, "UserPromptSubmit", prompt="kettle", odd="NUMBER"))
    hook(data.replace('"NUMBER"', "9" * 5000).encode(), space)
    assert contents(space) == ["kettle"]


@pytest.mark.parametrize("place", ["before", "after"])
def test_json_nested_too_deep_loses_no_event(space: Path, place: str) -> None:
    deep = '"odd": ' + "[" * 100_000 + "]" * 100_000
    plain = json.dumps(event(space, "UserPromptSubmit", prompt="kettle"))[1:-1]
    text = ", ".join([deep, plain] if place == "before" else [plain, deep])
    hook(f"{{{text}}}".encode(), space)
    assert contents(space) == ["kettle"]


def test_whatever_goes_wrong_while_writing_the_event_is_spooled(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.chdir(space)
    with monkeypatch.context() as patch:
        patch.setattr(write, "insert", broken)
        hooks.handled(event(space, "UserPromptSubmit", prompt="kettle"), "claude-code")
    assert contents(space) == ["kettle"]


def test_an_event_that_cannot_be_read_is_kept_as_its_texts(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.chdir(space)
    message = event(space, "PostToolUse", tool_name="Bash", tool_input={"command": f"curl {TOKEN}"})
    message["tool_response"] = {"stdout": "the kettle"}
    private = event(space, "PostToolUse", tool_name="Read", tool_input={"file_path": ".env"})
    private["tool_response"] = {"stdout": "hidden"}
    with monkeypatch.context() as patch:
        patch.setitem(claude_code.READERS, "PostToolUse", broken)
        for value in (message, private):
            with pytest.raises(ZeroDivisionError):
                hooks.handled(value, "claude-code")
    assert contents(space) == ["curl [masked:github_token]\nthe kettle"]


def test_what_cannot_be_masked_is_kept_as_a_remark_only(
    space: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinen.privacy import masking

    def broken(text: str) -> Any:
        raise RecursionError(text)

    monkeypatch.chdir(space)
    session = event(space, "UserPromptSubmit", prompt=f"use {TOKEN}", session_id="")
    with monkeypatch.context() as patch:
        patch.setattr(masking, "mask", broken)
        with pytest.raises(RecursionError):
            hooks.handled(session, "claude-code")
    assert contents(space) == ["[UserPromptSubmit: its text could not be masked and is not kept]"]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


# Payloads over the limit


class Large(io.RawIOBase):
    """A payload over the limit, made while it is read."""

    def __init__(self, before: bytes, filler: bytes, size: int, after: bytes) -> None:
        fillers = itertools.repeat(filler, size // len(filler))
        self.parts = itertools.chain([before], fillers, [after])
        self.held = b""

    def read(self, size: int = -1) -> bytes:
        while len(self.held) < size:
            more = next(self.parts, b"")
            if not more:
                break
            self.held += more
        data, self.held = self.held[:size], self.held[size:]
        return data


def test_a_payload_over_the_limit_is_kept_cut_with_a_remark(space: Path) -> None:
    filler = b"the kettle is on and on \\u00e9 \\n" * 1000
    before = event(space, "PostToolUse", tool_name="Bash", tool_input={"command": "make kettle"})
    start = json.dumps(before)[:-1].encode() + b', "tool_response": {"stdout": "first line\\n'
    size = payloads.LONGEST + (1 << 20)
    hook(start + filler * (size // len(filler)) + b'", "stderr": ""}}', space)
    text = contents(space)[0]
    assert text.startswith("$ make kettle\nfirst line\nthe kettle is on")
    assert text.endswith("[cut: 68 MB]")
    assert len(text) < 5_000


def test_names_after_the_cut_are_still_found(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "LONGEST", 1 << 20)
    end = json.dumps(event(space, "UserPromptSubmit"))[1:].encode()
    large = Large(b'{"prompt": "the kettle', b" and on" * 1000, 4 << 20, b'", ' + end)
    data = payloads.read(large)  # type: ignore[arg-type]
    assert data["hook_event_name"] == "UserPromptSubmit"
    assert data["cwd"] == str(space)
    assert data["prompt"].startswith("the kettle and on")
    assert data[payloads.CUT] > 3 << 20


def test_a_stream_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "LONGEST", 1 << 20)
    monkeypatch.setattr(payloads, "ENDLESS", 8 << 20)
    large = Large(b'{"prompt": "', b"on and " * 1000, 1 << 40, b"")
    assert payloads.read(large)[payloads.CUT] < 16 << 20  # type: ignore[arg-type]


@given(
    st.dictionaries(
        st.text(max_size=30),
        st.recursive(
            st.text(max_size=30) | st.integers() | st.none(),
            lambda inner: (
                st.lists(inner, max_size=5)
                | st.dictionaries(st.text(max_size=30), inner, max_size=5)
            ),
            max_leaves=12,
        ),
        max_size=6,
    ),
    st.integers(0, 300),
)
def test_any_cut_of_any_payload_is_read(value: dict[str, Any], at: int) -> None:
    data = json.dumps(value).encode()
    message = payloads._broken(payloads._decoded(data[:at]))
    assert isinstance(message, dict)
    assert set(message) <= set(value)
    if at >= len(data):
        assert payloads.parsed(data) == payloads.parsed(json.dumps(message | value).encode())


@pytest.mark.parametrize("opening", ["<private>", "-----BEGIN RSA PRIVATE KEY-----\n"])
def test_what_opens_in_the_part_that_is_cut_out_stays_hidden(space: Path, opening: str) -> None:
    output = "line\n" * 100_000 + opening + "MIIhidden\n" * 100_000
    message = event(space, "PostToolUse", tool_name="Bash", tool_input={"command": "cat log"})
    hook(message | {"tool_response": {"stdout": output}}, space)
    assert contents(space)[0].startswith("$ cat log\nline\nline")
    assert "MIIhidden" not in contents(space)[0]


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_no_secret_is_cut_in_half(shift: int) -> None:

    for edge in (tool_use.WINDOW // 2, 3 * tool_use.WINDOW - tool_use.WINDOW // 2):
        text = "a b\n" * (3 * tool_use.WINDOW // 4)
        text = text[: edge - shift] + f" {TOKEN} " + text[edge - shift + len(TOKEN) + 2 :]
        remaining = tool_use.Sieve(str).clean(text)
        assert not [n for n in range(0, 30, 5) if TOKEN[n : n + 8] in remaining]


# Random payloads

texts = st.text(st.characters(), max_size=40)
odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just("a\0b/c"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    *("session_id", "cwd", "prompt_id", "tool_use_id", "agent_id", "transcript_path", "source"),
    *("isMetaa", "is_interrupt", "permission_mode", "seconds_since_last_response", "odd"),
)
MARK = "kettle"
NUMBERS = itertools.count()


@st.composite
def odd_events(draw: st.DrawFn) -> dict[str, Any]:
    """An event with the word `kettle` where its content is, and anything everywhere else."""
    message: dict[str, Any] = draw(st.dictionaries(st.sampled_from(FIELDS), odd, max_size=6))
    text = f"{MARK} {draw(texts)} {MARK} {draw(texts)}"  # behind `ACCESSKEY=` it would be masked
    name = draw(st.sampled_from([*claude_code.READERS, "PostCompact"]))
    message["hook_event_name"] = name
    if name == "UserPromptSubmit":
        message["prompt"] = text
    elif name in ("Stop", "SubagentStop"):
        message["last_assistant_message"] = text
    elif name == "PostCompact":
        message.update(compact_summary=text, session_id=draw(texts) + "s")
    else:
        message["tool_name"] = draw(st.sampled_from(["Bash", "Edit", "Read", "mcp__x__y"]) | texts)
        message["tool_input"] = draw(st.dictionaries(texts, odd, max_size=4))
        message["tool_input"]["command"] = f"echo {MARK}"
        message["tool_input"]["note"] = MARK
        message["tool_response"] = draw(odd)
        message["error"] = text
    message.pop("agent_type", None)
    return message


@pytest.mark.slow
@settings(
    max_examples=20_000 if STRESS else 300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(odd_events())
def test_every_random_event_is_in_the_journal_or_the_spool(
    space: Path, home: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    monkeypatch.chdir(space)
    monkeypatch.setattr(hooks, "_relevant", lambda *_: "")
    mark = f"{MARK}{next(NUMBERS)}"
    text = json.dumps(said).replace(MARK, mark)
    payload = payloads.parsed(text.encode())
    if isinstance(payload.get("tool_use_id"), str):
        payload["tool_use_id"] += mark  # what has the same id is stored once
    hooks.handled(payload, "claude-code")
    for db in write.open_connections:
        db.close()
    write.open_connections.clear()
    waiting = [path for path in (home / "kinen" / "spool").rglob("*") if path.is_file()]
    assert any(mark in text for text in [*_rows(space), *(path.read_text() for path in waiting)])


def _rows(space: Path) -> list[str]:
    from kinen.space import route

    data = route.find(paths.default_home(os.environ), str(space)).data
    path = os.path.join(data, "journal.db")
    if not os.path.exists(path):
        return []
    db = write.connect(path, 1000)
    try:
        rows = db.execute(
            "SELECT content FROM observations UNION ALL SELECT content FROM summaries"
        )
        return [row[0] for row in rows]
    finally:
        db.close()


def test_a_spooled_row_is_what_the_table_takes(space: Path, tmp_path: Path) -> None:
    row = write.row("half \ud83d \0", "message", session="a\ud83d", files=["\ud83d"])
    folder = str(tmp_path / "spool")
    spool.put(folder, row)
    assert spool._read(spool.waiting([folder])[0]) == row


# The write-ahead log


def test_a_log_that_disappeared_is_noticed(space: Path, home: Path, kinen: Kinen) -> None:
    for number in range(5):
        hook(event(space, "UserPromptSubmit", prompt=f"kettle {number}"), space)
    (journal,) = home.rglob("journal.db")
    for path in journal.parent.glob("journal.db-*"):
        path.unlink()
    hook(event(space, "UserPromptSubmit", prompt="after"), space)
    sentence = "observations, 5 were seen on"
    for command in ("doctor", "status"):
        done = kinen(command)
        assert sentence in done.out, done.out
        assert "its write-ahead log was removed" in done.out
    assert "restore journal.db together with journal.db-wal" in kinen("doctor").out
    (journal.parent / "journal.seen").unlink()
    assert sentence not in kinen("status").out


def test_a_sound_journal_misses_nothing(space: Path, kinen: Kinen) -> None:
    hook(event(space, "UserPromptSubmit", prompt="kettle"), space)
    ref = kinen("log", "to be forgotten").out.strip()
    assert kinen("forget", ref, "--yes").code in (0, 2)
    assert "were seen on" not in kinen("status").out
    assert json.loads(kinen("status", "--json").out)["journal_lost"] == ""


def test_a_copy_of_the_database_alone_has_what_was_kept(
    space: Path, home: Path, tmp_path: Path, kinen: Kinen
) -> None:
    for number in range(3):
        hook(event(space, "UserPromptSubmit", prompt=f"kettle {number}"), space)
    assert kinen("status").code == 0
    (journal,) = home.rglob("journal.db")
    copy = tmp_path / "copy.db"
    copy.write_bytes(journal.read_bytes())
    db = sqlite3.connect(copy)
    assert db.execute("SELECT COUNT(*) FROM observations").fetchone() == (3,)
    db.close()
