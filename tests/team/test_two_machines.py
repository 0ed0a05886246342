"""A machine that only received entries answers as the one that wrote them."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kinen.cli import main

if TYPE_CHECKING:
    from pathlib import Path

ERROR = "kettle: ValueError: the boiler has no water"
COMMANDS = (
    ("search", "kettle", "retries"),
    ("search", "--fulltext", "--type", "observations", "kettle"),
    ("search", "--exact", "capped at three", "--explain"),
    ("search", "--agent", "codex", "kettle", "--json"),
    ("search", "xylophone"),
    ("recall", "why are retries capped"),
    ("recall", "--days", "9", "--json"),
    ("recall", "--type", "decision"),
    ("session", "list"),
    ("session", "show", "last"),
    ("list", "observations", "--json"),
    ("list", "capsules"),
    ("list", "summaries"),
    ("list", "pins"),
    ("memories", "list"),
    ("context", "--session", "s1"),
    ("standup", "--since", "9d"),
    ("handoff", "--json"),
    ("fix", ERROR),
    ("how", "make", "boil"),
)
EMPTY = (("search", "xylophone"), ("how", "make", "boil"))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(root: Path, env: dict[str, str], *words: str) -> Ran:
    """A command in this process: starting eighty would take longer than all of them."""
    before = dict(os.environ)
    folder = os.getcwd()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.StringIO()
    os.environ.update(env)
    os.chdir(root)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main(list(words))
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    return Ran(int(end.value.code or 0), text, err.getvalue())


@pytest.fixture(scope="module")
def machines(url: str, tmp_path_factory: pytest.TempPathFactory) -> list[Callable[..., Ran]]:
    """Commands of one person on a machine where a session took place, and on another one."""
    folder = tmp_path_factory.mktemp("machines")

    def machine(name: str) -> Callable[..., Ran]:
        root = folder / name / "shop"
        (root / ".kinen").mkdir(parents=True)
        (root / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
        env = {
            "KINEN_HOME": str(folder / name / "home"),
            "KINEN_TEAM_URL": url,
            "KINEN_TEAM_NAME": "ada",
            "KINEN_TEAM_SHARE": "all",
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
            "KINEN_DAEMON_AUTO_START": "false",
        }
        return lambda *words: run(root, env, *words)

    writer, reader = machine("writer"), machine("reader")
    record(writer)
    for words in (("sync",), ("index",)):
        assert writer(*words).code == reader(*words).code == 0
    return [writer, reader]


def record(local: Callable[..., Ran]) -> None:
    """A session with an error and its fix, a decision, a summary, a memory and a pin."""
    scope = ("--session", "s1", "--agent", "codex")
    opened = local("capsule", "open", "--intent", "cap the retries of the kettle", *scope, "--json")
    capsule = json.loads(opened.out)["id"]
    events = (
        ("message", "cap the retries of the kettle"),
        ("command", "make boil"),
        ("error", ERROR),
        ("command", "make fill boil"),
        ("message", "We decided to cap kettle retries at three: capped at three, nothing burns."),
    )
    for kind, text in events:
        assert local("log", "--kind", kind, *scope, text).code == 0
    summary = "We decided to cap the retries of the kettle at three because more burn the element."
    assert local("capsule", "close", capsule, "--summary", summary).code == 0
    observations = json.loads(local("list", "observations", "--json").out)["observations"]
    assert local("pin", observations[0]["ref"], "--note", "read this first").code == 0
    local("consolidate")


def test_commands_answer_alike_on_both_machines(machines: list[Callable[..., Ran]]) -> None:
    writer, reader = machines
    for command in COMMANDS:
        here = writer(*command)
        there = reader(*command)
        assert here.code == (command in EMPTY), (command, here)
        assert there == here._replace(out=here.out.replace("/writer/", "/reader/")), command


def test_what_each_command_writes_is_received(machines: list[Callable[..., Ran]]) -> None:
    writer, reader = machines
    write(writer)
    assert writer("sync").code == reader("sync").code == 0
    written = contents(writer)
    assert written == contents(reader)
    assert "hunter2" not in str(written)
    assert written["pins"] == ["first"]


def write(machine: Callable[..., Ran]) -> None:
    """One of each command that writes."""
    scope = ("--session", "s1", "--agent", "codex")
    opened = machine("capsule", "open", "--intent", "feed the carp", *scope, "--json")
    assert opened.code == 0, opened
    refs = [
        machine("log", *scope, text).out.strip()
        for text in ("the first carp", "a second carp", "password: hunter2hunter2", "a third")
    ]
    as_json = machine("log", "--json", "--kind", "error", "the pond leaks")
    assert json.loads(as_json.out)["content"] == "the pond leaks"
    assert machine("pin", refs[0], "--note", "first").code == 0
    assert machine("pin", refs[1], "--note", "second").code == 0
    assert machine("unpin", refs[1]).code == 0
    assert machine("redact", refs[1]).code == 0
    assert machine("forget", refs[3]).code == 0
    pinned = json.loads(machine("list", "pins", "--json").out)["pins"]
    other = next(pin["target"] for pin in pinned if pin["target"] != refs[0])
    assert machine("unpin", other).code == 0
    memories = json.loads(machine("memories", "list", "--json").out)["memories"]
    assert memories
    edited = machine("memories", "edit", memories[0]["ref"], "Cap retries at two.")
    assert edited.code == 0, edited


def contents(machine: Callable[..., Ran]) -> dict[str, list[str]]:
    """What a journal has of each kind, without ids and times."""
    field = {"observations": "content", "capsules": "intent", "summaries": "content"}
    field |= {"pins": "note", "memories": "content"}
    result = {}
    for plural, name in field.items():
        words = ("memories", "list") if plural == "memories" else ("list", plural)
        listed = json.loads(machine(*words, "--json").out)
        result[plural] = sorted(str(entry[name]) for entry in listed[plural])
    return result
