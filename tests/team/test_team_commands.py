"""`kinen sync` and `kinen team` as two colleagues use them, through a real PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinen.team.replica import new_machine
from test_erasing import NEEDLE, held, places

Run = Callable[..., Any]


@pytest.fixture
def people(kinen: Run, tmp_path: Path, postgres_url: str) -> Callable[..., Callable[..., Any]]:
    """Commands of a person with a home and a clone of their own."""

    def person(name: str, share: str = "all") -> Callable[..., Any]:
        root = tmp_path / name / "shop"
        (root / ".kinen").mkdir(parents=True)
        (root / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
        env = {
            "KINEN_HOME": str(tmp_path / name / "kinen"),
            "KINEN_TEAM_URL": postgres_url,
            "KINEN_TEAM_NAME": name,
            "KINEN_TEAM_SHARE": share,
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
        }

        def run(*words: str, stdin: str = "", **more: str) -> Any:
            return kinen(*words, cwd=root, stdin=stdin, **{**env, **more})

        run.root = root  # type: ignore[attr-defined]
        run.env = env  # type: ignore[attr-defined]
        return run

    return person


def test_colleagues_find_what_the_other_recorded(people: Any) -> None:
    ada = people("ada")
    bob = people("bob", "summaries")
    ada("log", "--kind", "message", "--agent", "codex", "the kettle migration was rolled back")
    ada("log", "my <private>pension is 12</private> kettle")
    bob("log", "kettles stay local with bob")
    bob("checkpoint", "Kettle: retries are capped at three")

    preview = ada("sync", "--preview")
    assert "the kettle migration was rolled back" in preview.out
    assert "pension" not in preview.out
    assert "2 entries would leave, team.share is all" in preview.out
    entries = json.loads(bob("sync", "--preview", "--json").out)["entries"]
    assert [entry["fields"]["content"] for entry in entries if entry["noun"] == "observation"] == [
        "Kettle: retries are capped at three"
    ]
    assert ada("sync").out == "sent 2, received 0\n"
    received = json.loads(bob("sync", "--json").out)
    assert received["received"] == 2
    assert json.loads(bob("sync", "--json").out) == {
        "sent": 0,
        "received": 0,
        "kept": 0,
        "compared": False,
        "repaired": 0,
        "lost": 0,
        "unread": {},
        "unsent": {},
        "replaced": [],
    }
    ada("sync")

    hits = bob("search", "kettle").out
    assert f"by ada (codex, {HOST})" in hits
    mine = bob("search", "--mine", "kettle").out
    assert "rolled back" not in mine
    assert "stay local" in mine
    assert "rolled back" in bob("search", "--by", "ada", "kettle").out
    assert bob("search", "--by", "zoe", "kettle").code == 1
    theirs = ada("search", "--by", "bob", "kettle").out
    assert "capped at three" in theirs
    assert "stay local" not in theirs
    assert bob("search", "--by", "ada", "--mine", "x").code == 2

    hit = json.loads(bob("search", "--by", "ada", "rolled back", "--json").out)["results"][0]
    ref = hit.get("ref") or hit["source"]["ref"]
    assert bob("redact", ref).code == 0
    bob("sync")
    ada("sync")
    assert ada("search", "rolled back").code == 1
    status = json.loads(ada("team", "status", "--json").out)
    assert status["waiting"] == 0
    assert status["name"] == "ada"
    left = bob("team", "leave", "--erase")
    assert "taken back" in left.out
    ada("sync")
    assert ada("search", "--by", "bob", "kettle").code == 1
    assert "capped at three" in bob("search", "kettle").out
    assert bob("sync").code == 2
    assert bob("team", "join").code == 0


SIGNED = (
    ("handoff",),
    ("standup", "--since", "9d"),
    ("memories", "list"),
    ("recall", "kettle"),
    ("context",),
    ("session", "list"),
    ("session", "show"),
    ("list", "observations"),
    ("list", "capsules"),
    ("list", "summaries"),
    ("list", "pins"),
    ("list", "memories"),
)
"""Commands that show entries of the journal."""
ITEMS = {
    ("memories", "list"): "memories",
    ("session", "list"): "sessions",
    ("handoff",): "decisions",
    ("standup", "--since", "9d"): "decisions",
    ("recall", "kettle"): "items",
    ("list", "observations"): "observations",
    ("list", "pins"): "pins",
}
"""The list in the JSON of a command whose entries have an author."""
HOST = new_machine().rpartition("-")[0]
"""The name of this machine, as colleagues see it."""
DECISION = "Sessions of the kettle live in Postgres"


def record(person: Any) -> None:
    """A session, a memory and a pin."""
    scope = ("--session", "s1", "--agent", "codex")
    capsule = person("capsule", "open", "--intent", "cap the kettle retries", *scope, "--json")
    person("log", *scope, "cap the kettle retries")
    person("log", "--kind", "command", *scope, "make kettle")
    summary = "The retries of the kettle are capped at three."
    closed = json.loads(capsule.out)["id"]
    assert person("capsule", "close", closed, "--summary", summary).code == 0
    assert person("memories", "add", DECISION).code == 0
    assert person("pin", "never boil the kettle dry", "--note", "read this first").code == 0


def test_who_wrote_it_is_named_wherever_it_is_shown(people: Any) -> None:
    ada = people("ada")
    bob = people("bob")
    record(ada)
    assert ada("sync").code == bob("sync").code == 0
    for command in SIGNED:
        shown = bob(*command).out
        assert f" by ada ({HOST})" in shown, (command, shown)
        assert " by ada" not in ada(*command).out, command
    pinned = bob("recall", "kettle").out.partition("## Pinned")[2].partition("\n## ")[0]
    assert f"read this first by ada ({HOST})" in pinned
    for command, name in ITEMS.items():
        entries = json.loads(bob(*command, "--json").out)[name]
        assert {entry["by"] for entry in entries} == {"ada"}, (command, entries)
        own = json.loads(ada(*command, "--json").out)[name]
        assert not any(entry.get("by") for entry in own), command


def memory_of(person: Any, text: str) -> Any:
    """The memory with some words, as a person sees it."""
    memories = json.loads(person("list", "memories", "--audit", "--json").out)["memories"]
    return next(memory for memory in memories if memory["content"] == text)


def test_a_colleague_supersedes_a_memory_and_its_author_undoes_it(people: Any) -> None:
    ada = people("ada")
    bob = people("bob")
    new = "Sessions of the kettle live in Redis"
    ada("memories", "add", DECISION)
    assert ada("sync").code == bob("sync").code == 0
    bob("memories", "add", new)
    old_ref, new_ref = (memory_of(bob, text)["ref"] for text in (DECISION, new))
    assert bob("memories", "supersede", old_ref, new_ref).code == 0
    assert bob("sync").err == ada("sync").err == ""
    assert f"{DECISION} (superseded by {new_ref} by bob ({HOST}))" in ada("memories", "list").out
    assert memory_of(ada, DECISION)["successor_by"] == "bob"
    assert ada("memories", "supersede", old_ref).code == 0
    assert ada("sync").err == bob("sync").err == ""
    assert "superseded" not in bob("memories", "list").out
    assert memory_of(bob, DECISION)["by"] == "ada"

    # other words are a memory of whoever wrote them
    assert bob("memories", "edit", old_ref, "Sessions live nowhere").code == 0
    assert bob("sync").err == ada("sync").err == ""
    assert f"Sessions live nowhere by bob ({HOST})" in ada("memories", "list").out
    assert memory_of(ada, DECISION)["content"] == DECISION
    assert ada("memories", "restore", old_ref).code == 0
    assert DECISION in ada("memories", "list").out


def test_what_is_changed_here_in_an_entry_of_a_colleague_stays_here_and_is_named(
    people: Any,
) -> None:
    ada = people("ada")
    bob = people("bob")
    record(ada)
    assert ada("sync").code == bob("sync").code == 0
    pin = json.loads(bob("list", "pins", "--json").out)["pins"][0]
    bob("pin", pin["target"], "--note", "boil it dry")
    capsule = json.loads(bob("list", "capsules", "--json").out)["capsules"][0]["ref"]
    bob("log", "--capsule", capsule, "what Bob typed")
    done = json.loads(bob("sync", "--json").out)
    assert done["unsent"].pop(pin["ref"]) == "only its author, ada, changes it"
    assert [*done["unsent"].values()] == [f"{capsule} is a session of ada"]
    assert json.loads(bob("sync", "--json").out)["unsent"] == {}
    assert ada("sync").out == "sent 0, received 0\n"
    assert "what Bob typed by bob" in bob("session", "show", capsule).out
    steps = json.loads(bob("session", "show", capsule, "--json").out)["steps"]
    assert [step["by"] for step in steps] == ["", "", "bob"]


def test_a_redaction_by_a_colleague_shows_at_once_though_the_index_is_held(people: Any) -> None:
    ada = people("ada")
    bob = people("bob")
    ada("log", f"the {NEEDLE} of the kettle was rolled back")
    assert ada("sync").code == bob("sync").code == 0
    assert f"the {NEEDLE} of" in ada("search", NEEDLE).out
    ref = json.loads(bob("list", "observations", "--json").out)["observations"][0]["id"]
    assert bob("redact", ref).code == bob("sync").code == 0
    home = ada.env["KINEN_HOME"]
    with held(str(next(Path(home).rglob("index.db")).parent)):
        assert ada("sync").code == 0
        for words in (("search", NEEDLE), ("recall", "kettle"), ("export",), ("handoff",)):
            assert f"the {NEEDLE} of" not in ada(*words).out, words
        assert "hidden; the last bytes" in ada("status").out
    assert ada("index").code == 0
    assert places(home) == places(bob.env["KINEN_HOME"]) == []


def test_what_is_wrong_is_one_line(people: Any, kinen: Run, space: Path) -> None:
    ada = people("ada")
    cases = {
        "ftp://x": "invalid team.url",
        "http://team.example": "team.url is not encrypted",
        "http://127.0.0.1:9": "no token for the team",
        "postgresql://127.0.0.1:9/x": "cannot reach PostgreSQL",
    }
    for url, message in cases.items():
        done = ada("sync", KINEN_TEAM_URL=url)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert message in done.err
    assert kinen("sync").code == 2
    assert kinen("team", "status").code == 1
    # a repository that brings a team with it is not trusted
    config = space / ".kinen" / "config.yml"
    config.write_text("team:\n  url: https://evil.example\n  share: all\n")
    assert "team.url is not set" in kinen("sync").err
    output = ada("team", "login", stdin="not a token", KINEN_TEAM_URL="http://127.0.0.1:9")
    assert "not a token" in output.err
