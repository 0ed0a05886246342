"""`kinen index --engine` and `kinen search --engine`, as an organisation uses them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
import pytest

from kinen.config import load
from kinen.memory.engine import Engine
from kinen.model.records import Query
from kinen.postgres.connection import Database
from kinen.postgres.schema import prepare
from kinen.postgres.work import Worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

AUTHOR = {"GIT_AUTHOR_NAME": "Mira", "GIT_AUTHOR_EMAIL": "mira@example.org"}
AUTHOR |= {"GIT_COMMITTER_NAME": "Mira", "GIT_COMMITTER_EMAIL": "mira@example.org"}


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, env={**os.environ, **AUTHOR}, check=True)


@pytest.fixture
def organisation(tmp_path: Path) -> Path:
    """A folder with three repositories."""
    folder = tmp_path / "organisation"
    for name in ("alpha", "beta", "gamma"):
        root = folder / name
        root.mkdir(parents=True)
        git(root, "init", "-q")
        (root / "README.md").write_text(f"# {name}\n\nThe {name} kettle. See [[pot]].\n")
        (root / "pot.md").write_text("# Pot\n\npassword: hunter2hunter2 opens the lid\n")
        (root / ".env").write_text("SECRET=1\n")
        git(root, "add", "README.md", "pot.md")
        git(root, "commit", "-qm", f"fix(lid): {name} closes")
    return folder


def test_an_organisation_is_indexed_and_searched(
    organisation: Path, postgres_url: str, kinen: Callable[..., Ran]
) -> None:
    words = ("--engine", postgres_url, "--no-embed", "--repositories", str(organisation))
    nothing = kinen("search", "--engine", postgres_url, "kettle")
    assert (nothing.code, "nothing is indexed" in nothing.err) == (2, True)
    first = kinen("index", *words, "--json")
    assert first.code == 0, first.err
    reports = json.loads(first.out)
    assert [report["added"] for report in reports["spaces"]] == [3, 3, 3]
    again = json.loads(kinen("index", *words, "--json").out)
    assert [report["added"] for report in again["spaces"]] == [0, 0, 0]

    every = json.loads(kinen("search", "--engine", postgres_url, "kettle", "--json").out)
    assert {hit["source"]["space"] for hit in every["results"]} == {"alpha", "beta", "gamma"}
    assert {hit["source"]["ref"] for hit in every["results"]} == {"note:README.md"}
    engine = ("search", "--engine", postgres_url)
    result = kinen(*engine, "--space", "beta", "--type", "commits", "closes", "--explain")
    assert (result.code, "beta:commit:" in result.out, "alpha" in result.out) == (0, True, False)
    assert "gives" in result.out
    assert "Mira" in result.out
    assert kinen(*engine, "--path", "pot.md", "--exact", "opens the lid").out.count("pot.md") == 3
    assert "hunter2" not in kinen(*engine, "lid").out
    unknown = kinen(*engine, "--space", "delta", "lid")
    assert (unknown.code, "no space 'delta'" in unknown.err) == (2, True)
    files = kinen(*engine, "--type", "files", "lid")
    assert (files.code, "does not rank files" in files.err) == (2, True)

    with Database(postgres_url) as database, database.transaction([1, 2, 3]) as connection:
        rows = connection.execute("SELECT written, target FROM kinen.link").fetchall()
    assert rows == [("pot", "note:pot.md")] * 3
    (organisation / "alpha" / "pot.md").unlink()
    git(organisation / "alpha", "commit", "-qam", "feat: no pot")
    reports = json.loads(kinen("index", *words, "--json").out)["spaces"]
    changes = {report["name"]: (report["removed"], report["added"]) for report in reports}
    assert changes == {"alpha": (1, 1), "beta": (0, 0), "gamma": (0, 0)}
    git(organisation / "alpha", "reset", "-q", "--hard", "HEAD~1")
    kinen("index", *words)
    commits = kinen(*engine, "--space", "alpha", "--type", "commits", "pot")
    assert "no pot" not in commits.out


SEARCHES = (
    ("kettle",),
    ("boiling kettles", "--limit", "1"),
    ("kettle", "--type", "notes"),
    ("kettle", "--type", "notes,issues", "--path", "docs"),
    ("kettle", "--path", "docs/*.md"),
    ("kettle", "--tag", "hot"),
    ("kettle", "--meta", "status=complete"),
    ("kettle", "--since", "2000-01-01", "--until", "2001-01-01"),
    ("--exact", "kettle boils"),
    ('water "kettle boils" -pot',),
    ("ketle",),
    ("boil_water",),
    ("boil_water", "--type", "symbols"),
    ("kettle.md",),
    ("kettle", "--type", "commits"),
    ("kettle", "--type", "commits", "--kind", "fix"),
    ("kettle", "--type", "commits", "--author", "mira"),
    ("kettle", "--type", "commits", "--near", "src/pot.py"),
    ("kettle", "--context", "1", "--min-score", "0"),
    ("marmalade",),
    ("kettle", "--repo", "nowhere"),
)
REFUSED = (
    (("kettle", "--as-of", "2026-01-01"), "no past states of files"),
    (("kettle", "--type", "files"), "does not rank files"),
    (("kettle", "--type", "memories"), "no entries of journals"),
    (("kettle", "--mine"), "no entries of journals"),
    (("kettle", "--by", "mira"), "no entries of journals"),
    (("kettle", "--kind", "command"), "no entries of journals"),
    (("kettle", "--type", "teapots"), "no type 'teapots'"),
)


def test_both_engines_answer_a_command_alike(
    space: Path, postgres_url: str, ask: Callable[..., Ran], write: Callable[[str, str], Path]
) -> None:
    git(space, "init", "-q")
    write(
        "docs/kettle.md", "---\ntags: [hot]\nstatus: complete\n---\n# Kettle\n\nThe kettle boils.\n"
    )
    write("docs/pot.md", "# Pot\n\nThe pot is warmed by water of the kettle. [[kettle]]\n")
    write("src/pot.py", "def boil_water():\n    return 'kettle'\n")
    git(space, "add", ".")
    git(space, "commit", "-qm", "feat: the pot")
    write("src/pot.py", "def boil_water():\n    return 'the kettle'\n")
    git(space, "commit", "-qam", "fix(pot): name the kettle")
    write("docs/kettle.md", (space / "docs/kettle.md").read_text() + "\nDescale the kettle.\n")
    git(space, "commit", "-qam", "fix(docs): the kettle is descaled")
    assert ask("index", "--no-embed").code == 0
    assert ask("index", "--no-embed", "--engine", postgres_url).code == 0
    for words in SEARCHES:
        local = ask("search", "--fulltext", "--json", *words)
        shared = ask("search", "--fulltext", "--json", "--engine", postgres_url, *words)
        assert (shared.code, shared.err) == (local.code, local.err), words
        hits, others = (json.loads(run.out)["results"] for run in (local, shared))
        assert [(hit["source"]["ref"], hit["chunk"]) for hit in hits] == [
            (hit["source"]["ref"], hit["chunk"]) for hit in others
        ], words
        scores = [hit["score"] for hit in others]
        assert [hit["score"] for hit in hits] == pytest.approx(scores, abs=0.01), words
    for words, reason in REFUSED:
        refused = ask("search", "--fulltext", "--engine", postgres_url, *words)
        assert (refused.code, reason in refused.err) == (2, True), (words, refused)


def test_vectors_of_the_local_cache_are_used_and_searched(
    space: Path, postgres_url: str, kinen: Callable[..., Ran]
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles when water boils.\n")
    assert kinen("index", "--engine", postgres_url).code == 0
    config = load(os.environ["KINEN_HOME"])
    with Engine(postgres_url, config) as engine:
        hits = engine.search(Query("steam from hot liquid", mode="semantic"))
        assert [vote.retriever for vote in hits[0].votes] == ["semantic"]
        assert hits[0].space == "space"


def test_an_engine_before_a_command_is_refused_with_what_to_do(ask: Callable[..., Ran]) -> None:
    for words in (
        ("--engine", "config", "search", "tea"),
        ("--engine=postgresql://127.0.0.1:1/tea", "--space", "tea", "session", "list"),
        ("--space", "tea", "--engine", "config", "log", "tea"),
        ("--engine",),
        ("recall", "--engine", "config", "tea"),
    ):
        refused = ask(*words)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1), words
        assert "no option --engine · it goes after `kinen search` or `kinen index`" in refused.err
        assert "run `kinen sync`" in refused.err


def test_the_address_comes_from_the_user_alone(
    space: Path, kinen: Callable[..., Ran], home: Path
) -> None:
    (space / "tea.md").write_text("# Tea\n")
    missing = kinen("search", "--engine", "config", "tea")
    assert (missing.code, "engine.url is not set" in missing.err) == (2, True)
    address = "postgresql://mira:hunter2@127.0.0.1:1/tea"
    refused = kinen("config", "set", "engine.url", address)
    assert (refused.code, "your own settings" in refused.err) == (2, True)
    (space / ".kinen" / "config.yml").write_text(f"engine:\n  url: {address}\n")
    assert kinen("trust").code in (0, 1)
    planted = kinen("search", "--engine", "config", "tea")
    assert "engine.url is not set" in planted.err
    assert kinen("config", "set", "--user", "engine.url", address).code == 0
    configured = kinen("search", "--engine", "config", "tea")
    assert (configured.code, configured.out) == (2, "")
    assert "cannot reach PostgreSQL at 127.0.0.1:1/tea" in configured.err
    assert "hunter2" not in configured.err


def test_workers_share_the_work_and_replace_a_dead_one(postgres_url: str) -> None:
    program = (
        "import sys, time\n"
        "from kinen.postgres.connection import Database\n"
        "from kinen.postgres.work import Worker\n"
        "worker = Worker(Database(sys.argv[1]), ['a', 'b', 'c'])\n"
        "print(worker.take(), flush=True)\n"
        "time.sleep(600)\n"
    )
    with Database(postgres_url) as database:
        prepare(database)
        dead = subprocess.Popen(
            [sys.executable, "-c", program, postgres_url], stdout=subprocess.PIPE, text=True
        )
        assert dead.stdout is not None
        assert dead.stdout.readline() == "a\n"
        first = Worker(database, ["a", "b", "c"])
        second = Worker(database, ["a", "b", "c"])
        assert (first.take(), second.take()) == ("b", "c")
        first.finish("b")
        assert (first.take(), second.take()) == ("", "")
        assert first.elsewhere == ["a", "c"]
        second.finish("c", "it failed")
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        dead.stdout.close()
        _until_locks_are_free(postgres_url)
        third = Worker(database, ["a", "b", "c"])
        third.finish("b")  # as if somebody had finished it after this worker began
        assert [third.take(), third.take(), third.take()] == ["a", "c", ""]
        for worker in (first, second, third):
            worker.close()


def _until_locks_are_free(url: str) -> None:
    """Wait until the server has noticed that a client is gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        while connection.execute(query).fetchone() != (0,):
            connection.execute("SELECT pg_sleep(0.05)")
