"""Commands do the same on a local journal and in PostgreSQL."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""Each is asked on both engines."""
EMPTY = (("search", "xylophone"), ("how", "make", "boil"))
REFUSED = {
    ("plan", "save", "x"): "`kinen plan` does not work with --engine",
    ("memories", "undo"): "use memories list or memories show or memories edit",
    ("session",): "use session list or session show",
    (): "--engine needs a command",
    ("--space", "nowhere", "search", "x"): "no space 'nowhere' that you may read",
}


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
def both(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """Commands on a machine with a journal, and on one without that reads the database."""
    folder = tmp_path_factory.mktemp("engines")
    root = folder / "shop"
    elsewhere = folder / "elsewhere"
    (root / ".kinen").mkdir(parents=True)
    elsewhere.mkdir()
    (root / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
    env = {
        "KINEN_HOME": str(folder / "home"),
        "KINEN_TEAM_URL": url,
        "KINEN_TEAM_NAME": "ada",
        "KINEN_TEAM_SHARE": "all",
        "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
        "KINEN_DAEMON_AUTO_START": "false",
    }

    def local(*words: str) -> Ran:
        return run(root, env, *words)

    def remote(*words: str, engine: str = url) -> Ran:
        other = {"KINEN_HOME": str(folder / "empty"), "KINEN_DAEMON_AUTO_START": "false"}
        return run(elsewhere, other, "--engine", engine, *words)

    record(local)
    assert local("sync").code == 0
    yield local, remote


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


def test_commands_answer_alike_on_both_engines(both: tuple[Any, Any]) -> None:
    local, remote = both
    for command in COMMANDS:
        here = local(*command)
        there = remote("--space", "shop", *command)
        assert here.code == (command in EMPTY), (command, here)
        assert there.err == here.err, command
        assert (there.code, neutral(there.out)) == (here.code, neutral(here.out)), command


def neutral(text: str) -> str:
    """An answer without the folder it was made in and the names of authors: here it is one's own.

    The database belongs to nobody, so that there every entry has an author.
    """
    text = re.sub(r" by ada( \(\w+\))?", "", text)
    return re.sub(r'"(root|author|by|tokens)": [^,\n]+,?\s*', "", text)


def test_one_space_needs_no_name_and_the_folder_is_removed(
    both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, remote = both
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert "at three" in remote("search", "kettle").out
    assert not list(tmp_path.iterdir())


def test_what_an_engine_cannot_do_is_refused(both: tuple[Any, Any], postgres_url: str) -> None:
    _, remote = both
    for words, message in REFUSED.items():
        done = remote(*words)
        assert (done.code, done.err.count("\n")) == (2, 1), done
        assert message in done.err, done
    assert "no team has used" in remote("session", "list", engine=postgres_url).err
    assert "cannot reach PostgreSQL" in remote("handoff", engine="postgresql://127.0.0.1:9/x").err
    assert "engine.url is not set" in remote("handoff", engine="config").err


def test_commands_that_write_do_the_same_on_both_engines(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is filled without a journal on any machine, and a machine then receives it."""
    monkeypatch.setenv("KINEN_TEAM_NAME", "ada")
    name = f"pond-{os.urandom(4).hex()}"
    machines = {}
    for machine in ("local", "shared"):
        root = tmp_path / machine
        (root / ".kinen").mkdir(parents=True)
        (root / ".kinen" / "config.yml").write_text(f"space: {{id: {machine}, name: {name}}}\n")
        env = {
            "KINEN_HOME": str(root / "home"),
            "KINEN_TEAM_URL": url if machine == "shared" else "",
            "KINEN_TEAM_SHARE": "all",
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
        }
        machines[machine] = (root, env)

    def local(*words: str) -> Ran:
        return run(*machines["local"], *words)

    def receiver(*words: str) -> Ran:
        return run(*machines["shared"], *words)

    def remote(*words: str) -> Ran:
        empty = {"KINEN_HOME": str(tmp_path / "empty")}
        return run(tmp_path, empty, "--engine", url, "--space", name, *words)

    for machine in (local, receiver):
        assert machine("log", "the pond is dug").code == 0
    assert receiver("sync").code == 0
    for machine in (local, remote):
        write(machine)
    listed = {machine: contents(machine) for machine in (local, remote)}
    assert listed[local] == listed[remote]
    assert "hunter2" not in str(listed[remote])
    assert listed[remote]["pins"] == ["first"]
    assert receiver("sync").code == 0
    assert contents(receiver) == listed[local]
    assert not (tmp_path / "empty").exists() or not list((tmp_path / "empty").rglob("journal.db"))


def write(machine: Callable[..., Ran]) -> None:
    """One of each command that writes."""
    scope = ("--session", "s1", "--agent", "codex")
    opened = machine("capsule", "open", "--intent", "feed the carp", *scope, "--json")
    assert opened.code == 0, opened
    record(machine)
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
