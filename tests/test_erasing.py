"""Erasing takes effect for every reader at once, whatever is being indexed; the bytes follow.

The index is held by another process in the worst way: it has the lock of a sync, and it is in the
middle of a transaction.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory, Query
from kinen.index.lock import work_at
from kinen.index.writer import Writer
from kinen.journal.mark import Erasures
from kinen.memory import erasing
from usage import start_indexing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ran

LONG = bool(os.environ.get("KINEN_STRESS"))
NEEDLE = "quixotryzephyrwombat"
PLAIN = {"index.embedding_provider": "none"}
VERBS = ("forget", "redact")
pytestmark = pytest.mark.usefixtures("without_agents")

HOLD = """
import sqlite3, sys
from kinen.index.lock import sync_lock
with sync_lock(sys.argv[1] + "/sync.lock", 60) as announce:
    announce("embed", 54, 100)
    db = sqlite3.connect(sys.argv[1] + "/index.db", isolation_level=None, timeout=60)
    if sys.argv[2] == "writing":
        db.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    sys.stdin.read()
"""


def places(home: str = "") -> list[str]:
    """The files below kinen's home that have the needle, or a part that a stemmer leaves."""
    files = [path for path in Path(home or os.environ["KINEN_HOME"]).rglob("*") if path.is_file()]
    assert files
    return sorted(path.name for path in files if b"quixotry" in path.read_bytes().lower())


@contextmanager
def held(folder: str, how: str = "writing") -> Iterator[subprocess.Popen[str]]:
    """An index whose lock another process has; with `writing` it is in a transaction, too."""
    command = [sys.executable, "-c", HOLD, folder, how]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.communicate()


def indexed(space: Path) -> int:
    """Run `kinen index`; its exit code."""
    process = start_indexing(space)
    process.communicate()
    return process.returncode


class Story:
    """An observation with everything that is made of one, and files with the same word.

    The files are a note, a checkpoint with a decision, and the plan that is worked on.
    """

    def __init__(self, space: Path) -> None:
        (space / "pot.md").write_text("# Pot\n\nThe kettle has a lid.\n")
        (space / "plan.md").write_text(f"# Plan\n\nBuy the {NEEDLE} for the kettle.\n")
        with Memory.open(space, settings=PLAIN) as memory:
            scope = {"session": "s", "agent": "claude-code"}
            capsule = memory.journal.open_capsule(f"repair the {NEEDLE} of ours", scope=scope)
            text = f"repair the {NEEDLE} of ours, since the kettle leaks"
            self.ref = memory.observe(text, scope=scope, provenance={"role": "user"}).ref
            memory.observe("The kettle is on.", scope=scope, provenance={"role": "assistant"})
            memory.journal.close_capsule(capsule.ref)
            memory.journal.pin(self.ref, "read this first")
            memory.journal.pin("plan.md", "and this")
            point = memory.worklog.checkpoint(
                f"Bought the {NEEDLE} for 3 euros", decision=f"Repair the {NEEDLE} of iron first"
            )
            step = f"- [ ] paint the {NEEDLE} of ours"
            plan = memory.worklog.save_plan("Kettle", step, activate=True)
            self.files = ("plan.md", point.path, plan.path)
            memory.sync()
            self.folder = memory.core.folder
        assert {"journal.db", "index.db"} <= set(places())


READERS = [
    ("search", NEEDLE),
    ("search", NEEDLE, "--mode", "fulltext", "--json"),
    ("search", "repair kettle leaks plan"),
    ("search", NEEDLE[:-1] + "x"),
    ("recall", "kettle"),
    ("recall", f"what about the {NEEDLE}"),
    ("recall",),
    ("ask", "what about the kettle?", "--distiller", "extract"),
    ("context",),
    ("handoff",),
    ("list", "observations"),
    ("list", "capsules"),
    ("list", "pins"),
    ("session", "list"),
    ("plan", "show"),
    ("plan", "list"),
    ("checkpoint", "list"),
    ("memories", "list"),
    ("export",),
    ("standup",),
    ("status",),
]


def shown(kinen: Callable[..., Ran], *more: tuple[str, ...]) -> dict[str, str]:
    """The commands and hooks that print the needle, apart from the question, with the output."""
    outputs = {}
    for words in (*READERS, *more):
        ran = kinen(*words)
        assert ran.code in (0, 1), (words, ran)
        outputs[" ".join(words)] = ran.out + ran.err
    start = {"session_id": "next", "hook_event_name": "SessionStart", "source": "startup"}
    outputs["hook"] = kinen("hook", "claude-code", stdin=json.dumps(start)).out
    marks = (f"the {NEEDLE} of", f"the {NEEDLE} for")
    return {name: text for name, text in outputs.items() if any(mark in text for mark in marks)}


@pytest.mark.parametrize(("verb", "how"), [("forget", "writing"), ("redact", "waiting")])
def test_no_command_shows_what_was_erased_though_another_process_holds_the_index(
    space: Path, kinen: Callable[..., Ran], verb: str, how: str
) -> None:
    story = Story(space)
    before = shown(kinen, ("show", story.ref), ("show", "plan.md"))
    assert {"search " + NEEDLE, "hook", "export", "recall kettle", "plan show"} <= set(before)
    with held(story.folder, how) as holder:
        for ref in (story.ref, *story.files):
            ran = kinen(verb, ref)
            assert ran.code == 0, ran.err
            assert f"(pid {holder.pid}) is indexing this space: making vectors, 54 %" in ran.err
            assert "nothing shows it from now on" in ran.err
        assert shown(kinen) == {}
        assert kinen("show", "plan.md").code == 2
        assert "hidden; the last bytes are removed when that ends" in kinen("status").out
        assert json.loads(kinen("status", "--json").out)["erasing"] > 0
    assert "removed by the next `kinen index`" in kinen("status").out
    assert kinen("index").code == 0
    assert json.loads(kinen("status", "--json").out)["erasing"] == 0
    assert shown(kinen) == {}
    assert places() == []


OPEN = """
import sys
from kinen import Memory, Query
word, root = sys.argv[1:]
with Memory.open(root, settings={"index.embedding_provider": "none"}) as memory:
    def seen():
        texts = [hit.chunk.text for hit in memory.search(Query(word, mode="fulltext"))]
        texts += [chunk.text for ref in refs for chunk in memory.core.reader.between(ref, 0, 99)]
        texts += [item.text for item in memory.recall("kettle").items]
        texts += [record.title for record in memory.records.select()]
        texts.append(memory.journal.brief("new", "codex"))
        return sum(f"the {word} " in text for text in texts)
    refs = [record.ref for record in memory.records.select()]
    print(seen(), flush=True)
    for _ in sys.stdin:
        print(seen(), flush=True)
"""


@pytest.mark.quick
@pytest.mark.parametrize("verb", VERBS)
def test_a_process_that_has_the_index_open_shows_it_no_more(space: Path, verb: str) -> None:
    story = Story(space)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", OPEN, NEEDLE, str(space)], **pipes) as other:
        assert int(other.stdout.readline()) > 0
        with held(story.folder), Memory.open(space, settings=PLAIN) as memory:
            for ref in (story.ref, *story.files):
                assert getattr(memory.journal, verb)(ref).waiting
            print(file=other.stdin, flush=True)
            assert int(other.stdout.readline()) == 0
        print(file=other.stdin, flush=True)
        assert int(other.stdout.readline()) == 0
        other.communicate()
    assert indexed(space) == 0
    assert places() == []


def test_an_mcp_server_that_is_running_shows_it_no_more(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    story = Story(space)
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    command = [sys.executable, "-m", "kinen", "mcp"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=space, **pipes) as server:

        def call(id_: int, method: str, params: dict[str, Any]) -> str:
            request = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            print(json.dumps(request), file=server.stdin, flush=True)
            for line in server.stdout:
                if json.loads(line).get("id") == id_:
                    return str(line)
            raise AssertionError("the server ended")

        call(1, "initialize", hello)
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        print(json.dumps(ready), file=server.stdin, flush=True)
        tools = [("kinen_search", {"query": NEEDLE}), ("kinen_recall", {"query": "kettle"})]
        requests = [{"name": name, "arguments": values} for name, values in tools]
        for n, request in enumerate(requests):
            assert f"the {NEEDLE} " in call(10 + n, "tools/call", request)
        with held(story.folder):
            for ref in (story.ref, *story.files):
                assert kinen("forget", ref).code == 0
            for n, request in enumerate(requests):
                answer = call(20 + n, "tools/call", request)
                assert '"isError":true' not in answer.replace(" ", "")
                assert f"the {NEEDLE} " not in answer
        server.communicate()


# What was read before and is written after


@pytest.mark.quick
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("source", ["journal", "files"])
def test_a_text_that_was_read_before_is_not_written_after(
    space: Path, verb: str, source: str
) -> None:
    story = Story(space)
    with (
        Memory.open(space, settings=PLAIN) as memory,
        closing(Erasures(memory.core.file("journal.db"))) as erasures,
        closing(Writer(memory.core.file("index.db"), erasures=erasures)) as writer,
    ):
        sources = memory.index.sources
        read: Any = sources.journal() if source == "journal" else sources.everything()[0]
        delta = read.delta({})
        changes = [*delta.changes]
        assert NEEDLE in str(changes)
        with held(story.folder, "waiting"):
            for ref in (story.ref, *story.files):
                assert getattr(memory.journal, verb)(ref).waiting
            writer.apply(
                source, iter(changes), anew=False, bulk=False, done=str, erased=delta.erased
            )
            rows = writer.db.execute("SELECT title, body FROM chunks").fetchall()
            assert rows
            assert not any(f"the {NEEDLE} " in text for row in rows for text in row)
        memory.sync()
        assert not any(NEEDLE in hit.chunk.text for hit in memory.search(NEEDLE))
    assert places() == []


@pytest.mark.quick
def test_a_memory_that_was_being_drawn_is_not_stored(space: Path) -> None:
    from kinen.journal import memories
    from kinen.model.journal import Learned

    with Memory.open(space, settings=PLAIN) as memory:
        entry = memory.observe(f"We use the {NEEDLE} from now on.")
        drawn = Learned(
            "01KDWMA8G0AAAAAAAAAAAAAAAA", "decision", entry.content, 1.0, 1, (entry.ref,)
        )
        memory.journal.redact(entry.ref)
        memories.learn(memory.core.store.db, [drawn])
        assert memory.journal.entries("memories")[1] == 0
    assert places() == []


@pytest.mark.quick
def test_a_digest_of_what_was_erased_meanwhile_is_not_cached(space: Path) -> None:
    with Memory.open(space, settings=PLAIN) as memory:
        entry = memory.observe(f"We use the {NEEDLE} from now on.")
        before = memory.core.erasures.last()
        texts = memory.core.cache.texts_while(lambda: memory.core.erasures.last() == before)
        texts["digest:a"] = "kettle"
        memory.journal.redact(entry.ref)
        texts["digest:b"] = f"the {NEEDLE}"
        assert [*memory.core.cache.texts] == []
    assert places() == []


# Hidden files


def test_a_hidden_file_comes_back_with_undo_though_nothing_was_indexed_in_between(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    story = Story(space)
    with held(story.folder, "waiting"):
        assert kinen("forget", "plan.md").code == 0
        assert kinen("search", "buy", "--mode", "fulltext").code == 1
    assert kinen("forget", "--undo", "plan.md").code == 0
    assert "plan.md" in kinen("search", "buy", "--mode", "fulltext", "--files").out


@pytest.mark.quick
def test_a_file_is_hidden_though_a_rebuild_has_not_come_to_it_yet(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    story = Story(space)
    with held(story.folder):
        (space / "later.md").write_text(f"# Later\n\nThe {NEEDLE} comes later.\n")
        assert kinen("redact", "later.md").code == 0
        assert kinen("redact", "never.md").code == 2
    assert kinen("index").code == 0
    assert f"the {NEEDLE} comes later" not in kinen("search", NEEDLE).out.lower()


def test_a_hidden_commit_comes_back_with_undo(space: Path, kinen: Callable[..., Ran]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(space)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", f"fix the {NEEDLE} for good"]):
        (space / "tea.py").write_text("def brew(): ...\n")
        subprocess.run([*git, *words], check=True)
    assert kinen("index").code == 0
    with Memory.open(space) as memory:
        (record,) = memory.search(Query(NEEDLE, mode="fulltext", kinds=("commit",)))
        ref = record.record.ref
    folder = memory.core.folder
    for how in ("waiting", "writing"):
        with held(folder, how):
            assert kinen("forget", ref).code == 0
            assert kinen("search", NEEDLE, "--mode", "fulltext").code == 1
            assert NEEDLE not in kinen("log").out
        assert kinen("forget", "--undo", ref).code == 0
        assert kinen("search", NEEDLE, "--mode", "fulltext").code == 0


# Excluded paths


@pytest.mark.quick
def test_an_excluded_path_is_in_no_answer_before_and_after_the_index_was_cleaned(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    (space / "secret").mkdir()
    (space / "secret" / "plan.md").write_text(f"# Plan\n\nBuy the {NEEDLE} for the kettle.\n")
    (space / "pot.md").write_text("# Pot\n\nThe kettle has a lid.\n")
    with Memory.open(space, settings=PLAIN) as memory:
        memory.observe(f"edit the {NEEDLE} of ours", kind="file_diff", files=["secret/plan.md"])
        memory.sync()
    assert kinen("search", NEEDLE).code == 0
    with held(memory.core.folder):
        ran = kinen("config", "set", "privacy.exclude", '["secret/**"]')
        assert ran.code == 0, ran.err
        assert "privacy.exclude: secret/**" in ran.out
        for words in (("search", NEEDLE), ("recall", NEEDLE), ("recall", "kettle")):
            ran = kinen(*words)
            assert f"the {NEEDLE} " not in ran.out + ran.err, words
        assert kinen("show", "secret/plan.md").code == 2
    assert kinen("index").code == 0
    assert kinen("search", NEEDLE).code == 1
    assert "pot.md" in kinen("search", "kettle", "--files").out
    captured = {"journal.db", "journal.db-wal"}  # hidden, not erased
    assert set(places()) <= captured
    assert kinen("config", "unset", "privacy.exclude").code == 0
    assert kinen("index").code == 0
    with Memory.open(space, settings=PLAIN) as memory:
        kinds = {hit.record.kind for hit in memory.search(Query(NEEDLE, mode="fulltext"))}
    assert kinds == {"note", "observation"}


def test_excluded_checkpoints_and_plans_are_told_to_no_agent(
    space: Path, kinen: Callable[..., Ran]
) -> None:
    Story(space)
    assert {"hook", "plan show", "checkpoint list"} <= set(shown(kinen))
    assert kinen("config", "set", "privacy.exclude", ".memories/**").code == 0
    assert not {"plan show", "plan list", "checkpoint list"} & set(shown(kinen))
    assert "of iron" not in "".join(shown(kinen).values())


# At random moments

READER = """
import os, sys
from kinen import Memory, Query
root, told = sys.argv[1:]
with Memory.open(root, settings={"index.embedding_provider": "none"}) as memory:
    print("ready", flush=True)
    rounds = 0
    while not os.path.exists(told + "/end"):
        erased = set(os.listdir(told))  # before the question: these were erased by then
        hits = memory.search(Query("needle", mode="fulltext", limit=1000))
        texts = [hit.chunk.text for hit in hits]
        texts += [item.text for item in memory.recall("needle").items]
        leaks = [word for word in erased for text in texts if word in text]
        assert not leaks, leaks
        rounds += 1
    print(rounds, flush=True)
"""


def test_erased_at_any_moment_of_index_runs_that_are_killed(space: Path, tmp_path: Path) -> None:
    """Readers in other processes never show a word once the command that erased it has ended."""
    rng = random.Random(time.time_ns() if LONG else 5)
    rounds = 60 if LONG else 4
    told = tmp_path / "told"
    told.mkdir()
    words = [f"needle{rng.randrange(16**8):08x}zq" for _ in range(2 * rounds)]
    refs = {}
    with Memory.open(space, settings=PLAIN) as memory:
        for n in range(300):
            (space / f"note{n}.md").write_text(f"# Note {n}\n\n" + f"word{n} kettle tea. " * 40)
        for n, word in enumerate(words):
            text = f"The needle {word} is in the haystack."
            if n % 2:
                (space / f"hay{n}.md").write_text(f"# Hay {n}\n\n{text}\n")
                refs[word] = f"hay{n}.md"
            else:
                refs[word] = memory.observe(text, scope={"session": f"s{n}"}).ref
        memory.sync()
        lock = memory.core.file("sync.lock")
    command = [sys.executable, "-c", READER, str(space), str(told)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True}
    readers = [subprocess.Popen(command, **pipes) for _ in range(2)]
    assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 2
    waited = 0
    for n in range(rounds):
        for note in rng.sample(range(300), 100):
            (space / f"note{note}.md").write_text(f"# Note {note}\n\n" + f"r{n} kettle tea. " * 40)
        rebuild = ("--rebuild",) if rng.random() < 0.5 else ()
        index = start_indexing(space, *rebuild)
        while work_at(lock) is None and index.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.5))
        stopped = rng.random() < 0.5
        if stopped:
            index.send_signal(signal.SIGSTOP)
        for word in words[2 * n : 2 * n + 2]:
            verb = rng.choice(VERBS)
            done = subprocess.run(
                [sys.executable, "-m", "kinen", verb, refs[word]],
                cwd=space,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            waited += "nothing shows it from now on" in done.stderr
            (told / word).touch()
        index.send_signal(signal.SIGCONT)
        if rng.random() < 0.5:
            index.kill()
        index.communicate()
    (told / "end").touch()
    counts = [int(reader.communicate()[0]) for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert indexed(space) == 0
    with Memory.open(space, settings=PLAIN) as memory:
        assert erasing.pending(memory.core) == []
        assert memory.index.check() == ""
    home = Path(os.environ["KINEN_HOME"])
    bytes_ = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    left = {(w, path.name) for w in words for path, data in bytes_.items() if w.encode() in data}
    assert not left
    print(f"{len(words)} erased in {rounds} runs, {waited} while one held the lock; {counts} reads")
