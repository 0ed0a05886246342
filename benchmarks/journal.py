"""How fast the journal is, as ratios within one run against the plain call that each rests on.

    python benchmarks/journal.py [--rows hook observe recall import catch-up scale]
                                 [--observations 100000] [--folder DIR]

Ours and the baseline take turns in one loop and the medians are compared, so that whatever else
the machine does meets both alike. Rows without a limit are there to be known. `scale` is processor
time, with a million observations unless told otherwise; --folder keeps that space for another run.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query, ids
from kinen.index.schema import TOKENIZE
from kinen.journal import schema, write
from kinen.storage.database import writing
from record import save
from speed import KINEN, QUESTIONS, Row, peak_mb, process, prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Event = tuple[str, str, dict[str, Any]]

NO_LIMIT = math.inf
SESSION = 500
"""Observations in a capsule."""
STANDING = 5_000
"""Observations of the journal that one more is written to."""
EMBEDDED = 2_000
"""Observations that are embedded for real: 100,000 take most of an hour, and get random vectors."""
NO_VECTORS = {"index.embedding_provider": "none"}
BEGAN = 1_700_000_000_000
ASKED = (*QUESTIONS, "what was decided about the water level", "which test failed last")
LOGGED = "$ pytest -q tests/index\n41 passed in 3.08s"


# What agents do, made of words with the frequencies of language


def events(rng: random.Random) -> Iterator[Event]:
    """Kind, content and provenance of one thing after the other, about 300 characters each."""
    words = _words(rng)

    def say(least: int, most: int) -> str:
        return " ".join(next(words) for _ in range(rng.randint(least, most)))

    while True:
        yield "message", say(12, 70).capitalize() + "?", {"role": "user"}
        for _ in range(rng.randint(2, 7)):
            name = f"{say(1, 1)}_{say(1, 1)}"
            path = f"src/{say(1, 1)}/{name}.py"
            yield rng.choices((_ran, _edited, _failed, _called), (4, 3, 1, 2))[0](rng, say, path)
        yield "message", say(30, 110).capitalize() + ".", {"role": "assistant"}


def _words(rng: random.Random) -> Iterator[str]:
    while True:
        yield from prose(rng, 20_000)[:-1].lower().split()


def _ran(rng: random.Random, say: Callable[[int, int], str], path: str) -> Event:
    command = f"pytest -q {path.replace('src', 'tests')} -k {say(1, 1)}"
    lines = [f"{path}:{rng.randint(1, 400)}: {say(3, 9)}" for _ in range(rng.randint(1, 9))]
    text = "\n".join([f"$ {command}", *lines, f"{rng.randint(1, 90)} passed"])
    return "command", text, {"command": command, "exitCode": 0}


def _edited(rng: random.Random, say: Callable[[int, int], str], path: str) -> Event:
    at, lines = rng.randint(1, 400), []
    for _ in range(rng.randint(2, 5)):
        name = "_".join(say(2, 3).split())
        lines += [
            f"-    {name} = {say(1, 1)}({say(1, 1)})",
            f"+    {name} = {say(1, 1)}(self.{name})",
        ]
    text = "\n".join([f"File: {path}", f"@@ -{at},9 +{at},9 @@ def {say(1, 1)}():", *lines])
    return "file_diff", text, {"filePath": path}


def _failed(rng: random.Random, say: Callable[[int, int], str], path: str) -> Event:
    output = ["Traceback (most recent call last):"]
    for _ in range(rng.randint(1, 4)):
        output.append(f'  File "{path}", line {rng.randint(1, 400)}, in {say(1, 1)}')
        output.append(f"    return self.{say(1, 1)}({say(1, 1)})")
    output.append(f"ValueError: {say(4, 12)}")
    return "error", "\n".join(output), {"hasError": True}


def _called(rng: random.Random, say: Callable[[int, int], str], path: str) -> Event:
    output = [
        f"Tool: Read\nFile: {path}",
        *(f"{n}\t{say(3, 10)}" for n in range(rng.randint(1, 8))),
    ]
    return "tool_call", "\n".join(output), {"toolName": "Read", "filePath": path}


def write_bundle(path: Path, count: int, began: int = BEGAN, going_on: int = 0) -> None:
    """Sessions of 500 observations each, a day apart and every one summed up, as exported.

    The last ones go on, and have no summary, if `going_on` says how many.
    """
    rng = random.Random(7)
    happened = events(rng)
    capsules = range(-(-count // SESSION))
    scopes = [{"sessionId": f"session-{n}", "repoId": "acme/app"} for n in capsules]
    with path.open("w") as file:
        file.write(f'{{\n"version": "1.0",\n"exported_at": {began},\n"scope_filter": {{}}')
        _section(
            file,
            "observations",
            (_observation(n, next(happened), scopes, began) for n in range(count)),
        )
        closed = capsules[: len(capsules) - going_on]
        _section(
            file,
            "capsules",
            (_capsule(n, prose(rng, 6), scopes, began, n in closed) for n in capsules),
        )
        _section(file, "summaries", (_summary(n, prose(rng, 120), began) for n in closed))
        file.write("\n}\n")


def _section(file: Any, name: str, items: Iterator[dict[str, Any]]) -> None:
    file.write(f',\n"{name}": [\n')
    file.write(",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]")


def _id(what: int, n: int) -> str:
    return f"01J{what}{n:022d}"


def _observation(n: int, event: Event, scopes: list[dict[str, str]], began: int) -> dict[str, Any]:
    kind, content, message = event
    capsule, at = divmod(n, SESSION)
    ts = began + capsule * 86_400_000 + at * 45_000
    created = {"id": _id(0, n), "kind": kind, "content": content, "provenance": message, "ts": ts}
    created |= {"scopeIds": scopes[capsule], "redacted": False, "capsuleId": _id(1, capsule)}
    return created | {"branch": "main", "head": f"{capsule:040x}"}


def _capsule(
    n: int, intent: str, scopes: list[dict[str, str]], began: int, closed: bool
) -> dict[str, Any]:
    opened = began + n * 86_400_000
    times: dict[str, Any] = {"status": "open", "openedAt": opened}
    if closed:
        times |= {"status": "closed", "closedAt": opened + SESSION * 45_000}
    return {"id": _id(1, n), "type": "session", "intent": intent, **times, "scopeIds": scopes[n]}


def _summary(n: int, text: str, began: int) -> dict[str, Any]:
    at = began + n * 86_400_000 + SESSION * 45_000
    return {"id": _id(2, n), "capsuleId": _id(1, n), "content": text, "createdAt": at}


# Spaces to measure in


class Bench:
    """A temporary folder with spaces and bundles; what is costly to make is made once."""

    def __init__(self, root: Path, observations: int) -> None:
        self.root, self.observations = root, observations
        self._spaces = 0

    @functools.cache  # noqa: B019
    def bundle(self, count: int) -> Path:
        path = self.root / f"bundle-{count}.json"
        write_bundle(path, count)
        return path

    def space(self) -> tuple[Path, Path]:
        """A new git repository and a home; its files are written here, git is not started."""
        self._spaces += 1
        space, home = (self.root / f"{name}-{self._spaces}" for name in ("space", "home"))
        git = space / ".git"
        for folder in ("objects", "refs/heads"):
            (git / folder).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "refs/heads/main").write_text("a" * 40 + "\n")
        (git / "config").write_text(f'[remote "origin"]\n\turl = {ORIGIN}\n')
        return space, home

    def memory(self, count: int = 0, **settings: Any) -> Memory:
        """The memory of a new space with `count` observations."""
        space, home = self.space()
        memory = Memory.open(space, home=home, settings=settings)
        if count:
            memory.transfer.load(self.bundle(count))
        return memory

    @functools.cache  # noqa: B019
    def embedded(self) -> tuple[Path, Path, int]:
        """A space with vectors by the model, and how many observations it has."""
        count = min(EMBEDDED, self.observations)
        with self.memory(count) as memory:
            memory.sync(embed=False)
            began = time.perf_counter()
            memory.sync()
            seconds = time.perf_counter() - began
            print(f"embedded {count:,} observations in {seconds:.0f} s", file=sys.stderr)
            return Path(memory.space.root), Path(memory.space.home), count

    @functools.cache  # noqa: B019
    def scattered(self) -> tuple[Path, Path, int]:
        """A space of full size whose text is indexed for real, with random vectors."""
        with self.memory(self.observations) as memory:
            memory.sync(embed=False)
            scatter(memory)
            return Path(memory.space.root), Path(memory.space.home), self.observations


def scatter(memory: Memory) -> None:
    """Give everything that has no vector a random one."""
    import numpy as np

    embedder, rng = memory.core.embedder, np.random.default_rng(7)
    assert embedder is not None
    digests = sorted(set(memory.core.reader.digests()))
    vectors = rng.standard_normal((len(digests), embedder.dimensions), dtype=np.float32)
    memory.core.cache.put(
        embedder.fingerprint, digests, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    )


def alternated(calls: dict[str, Callable[[], object]], times: int) -> dict[str, list[float]]:
    """The seconds of each call, made in turn."""
    used: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(times):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            used[name].append(time.perf_counter() - began)
    return used


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


# Rows


def hook_rows(bench: Bench) -> list[Row]:
    """A process per event; afterwards every one of them has to be in the journal."""
    with bench.memory(STANDING) as memory:
        memory.journal.open_capsule("measure the hook", scope={"session": "s1"})
        space, home = memory.space.root, memory.space.home
    env = {**os.environ, "KINEN_HOME": home}
    log = ["log", LOGGED, "--kind", "command", "--session", "s1"]
    lines = {
        "hook": [sys.executable, "-c", "from kinen.cli import main; main()", *log],
        "script": [KINEN, *log],
        "bare": [sys.executable, "-c", "import sqlite3"],
    }
    calls = {
        name: functools.partial(process, line, cwd=space, env=env) for name, line in lines.items()
    }
    alternated(calls, 5)
    seconds = alternated(calls, 301)
    with Memory.open(space, home=home) as memory:
        written = memory.journal.entries("observations", session="s1")[1]
    assert written == 2 * 306, f"{written} of 612 observations are in the journal"
    middle = {name: statistics.median(some) for name, some in seconds.items()}
    against = 'python -c "import sqlite3"'
    return [
        Row("hook write", middle["hook"], middle["bare"], 1.6, against),
        Row("hook write, p95", p95(seconds["hook"]), p95(seconds["bare"]), NO_LIMIT, against),
        Row("`kinen log`, console script", middle["script"], middle["bare"], NO_LIMIT, against),
        Row(
            "`kinen log`, console script, p95",
            *(p95(seconds["script"]), p95(seconds["bare"]), NO_LIMIT, against),
        ),
    ]


BARE = """
CREATE TABLE t(id TEXT PRIMARY KEY, kind TEXT, content TEXT, ts INTEGER, session TEXT);
CREATE VIRTUAL TABLE f USING fts5(content, content='t', content_rowid='rowid');
CREATE TRIGGER added AFTER INSERT ON t BEGIN
  INSERT INTO f(rowid, content) VALUES (new.rowid, new.content); END;
"""


def bare_database(path: Path, synchronous: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={synchronous}")
    return db


def observe_rows(bench: Bench) -> list[Row]:
    happened = events(random.Random(11))
    texts = [next(happened) for _ in range(1_000)]
    db = bare_database(bench.root / "bare.db", "FULL")
    db.executescript(BARE)
    with bench.memory(STANDING) as memory:
        memory.journal.open_capsule("measure observe", scope={"session": "s1"})
        insert = "INSERT INTO t VALUES (?, ?, ?, ?, ?)"
        standing = memory.core.store.db.execute(
            "SELECT id, kind, content, ts, session FROM observations"
        )
        db.execute("BEGIN")
        db.executemany(insert, standing.fetchall())
        db.execute("COMMIT")
        ours, bare = iter(texts), iter(texts)

        def observe() -> None:
            kind, content, message = next(ours)
            memory.observe(content, kind=kind, scope={"session": "s1"}, provenance=message)

        def raw() -> None:
            kind, content, _ = next(bare)
            now = time.time_ns() // 1_000_000
            db.execute("BEGIN IMMEDIATE")
            db.execute(insert, (ids.ulid(), kind, content, now, "s1"))
            db.execute("COMMIT")

        seconds = alternated({"ours": observe, "bare": raw}, len(texts))
    db.close()
    against = "INSERT into a table with FTS5, synchronous=FULL"
    return [
        Row(name, of(seconds["ours"]), of(seconds["bare"]), limit, against)
        for name, of, limit in (
            ("observe", statistics.median, 3.0),
            ("observe, mean", statistics.fmean, NO_LIMIT),
            ("observe, p95", p95, NO_LIMIT),
        )
    ]


def recall_rows(bench: Bench) -> list[Row]:
    """With random vectors and by word at the full size, and with vectors by the model."""
    rows = []
    for place, how in (
        (bench.scattered, "random vectors"),
        (bench.embedded, "the model's vectors"),
    ):
        space, home, count = place()
        with Memory.open(space, home=home) as memory:
            rows.append(_recall(memory, f"recall, {count:,} observations, {how}"))
    space, home, count = bench.scattered()
    with Memory.open(space, home=home, settings=NO_VECTORS) as memory:
        return [*rows, _recall(memory, f"recall, {count:,} observations, full text")]


def _recall(memory: Memory, name: str) -> Row:
    for ref in memory.journal.entries("summaries", limit=2)[0]:
        memory.journal.pin(ref.ref, "keep in mind")

    # All questions in turn: the vector of the last one is remembered.
    calls = {
        "ours": lambda: [memory.recall(Query(text, budget=2000)) for text in ASKED],
        "bare": lambda: [memory.search(Query(text)) for text in ASKED],
    }
    alternated(calls, 3)
    seconds = alternated(calls, 31)
    ours, bare = (statistics.median(seconds[name]) / len(ASKED) for name in ("ours", "bare"))
    against = "search for the same, same limit"
    return Row(name, ours, bare, 2.0, against)


def import_rows(bench: Bench) -> list[Row]:
    """A bundle that kinen exported, one that it did not, and the raw rows."""
    foreign, own = bench.bundle(bench.observations), bench.root / "exported.json"
    with bench.memory(bench.observations) as memory:
        memory.transfer.export(own)
        tables = _tables(memory.core.store.db)
    used: dict[str, list[float]] = {"own": [], "foreign": [], "raw": []}
    for n in range(7):
        used["own"].append(_import(bench, own))
        used["foreign"].append(_import(bench, foreign))
        used["raw"].append(_raw_import(bench.root / f"raw-{n}.db", tables))
    del tables
    middle = {name: statistics.median(some) for name, some in used.items()}
    name = f"import {bench.observations:,} observations"
    against = "executemany of ready rows, one transaction"
    return [
        Row(name, middle["own"], middle["raw"], 5.0, against),
        Row(f"{name}, of another program", middle["foreign"], middle["raw"], NO_LIMIT, against),
        *_memory_rows(bench, own),
    ]


def _import(bench: Bench, bundle: Path) -> float:
    with bench.memory() as memory:
        memory.core.store.db.execute("SELECT 1")
        began = time.perf_counter()
        loaded = memory.transfer.load(bundle)
        seconds = time.perf_counter() - began
    assert loaded.added["observations"] == bench.observations
    shutil.rmtree(memory.space.home)
    return seconds


def _tables(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a journal, as INSERT statements with what they take."""
    results = {}
    for table in ("observations", "capsules", "summaries"):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "seq"]
        columns, marks = ", ".join(names), ", ".join("?" * len(names))
        rows = db.execute(f"SELECT {columns} FROM {table}").fetchall()
        results[f"INSERT INTO {table}({columns}) VALUES ({marks})"] = rows
    return results


def _raw_import(path: Path, tables: dict[str, list[tuple[Any, ...]]]) -> float:
    db = write.connect(str(path), 1000)
    began = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    for insert, rows in tables.items():
        db.executemany(insert, rows)
    db.execute("COMMIT")
    seconds = time.perf_counter() - began
    db.close()
    path.unlink()
    return seconds


def _memory_rows(bench: Bench, bundle: Path) -> list[Row]:
    space, home = bench.space()
    bare = _child("bare", space, home, bundle)
    rows = []
    for what in ("import", "export"):
        peak = _child(what, space, home, bundle)
        name = f"peak memory of {what}, MB"
        rows.append(Row(name, peak, bare, NO_LIMIT, "a bare `import kinen.memory`"))
    return rows


def _child(what: str, space: Path, home: Path, bundle: Path) -> float:
    words = [sys.executable, __file__, "--child", what, str(space), str(home), str(bundle)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def child(what: str, space: str, home: str, bundle: str) -> None:
    """The peak memory of this process, once it has imported or exported."""
    if what != "bare":
        with Memory.open(space, home=home) as memory:
            memory.transfer.load(bundle) if what == "import" else memory.transfer.export(
                f"{bundle}.exported"
            )
    print(peak_mb())


def catch_up_rows(bench: Bench) -> list[Row]:
    first = {"ours": [], "bare": []}
    for n in range(3):
        with bench.memory(**NO_VECTORS) as memory:
            memory.sync()
            memory.transfer.load(bench.bundle(bench.observations))
            began = time.perf_counter()
            hits = memory.search(Query(ASKED[0], mode="fulltext"))
            first["ours"].append(time.perf_counter() - began)
            assert len(hits) == 10
            texts = memory.core.store.db.execute("SELECT content FROM observations").fetchall()
            first["bare"].append(_rebuild(bench.root / f"rebuilt-{n}.db", texts))
            if n == 2:
                rows = [_one_more(memory, bench.observations, "fulltext")]
        shutil.rmtree(memory.space.home)
    ours, bare = (statistics.median(some) for some in first.values())
    name = f"first search after {bench.observations:,} observations"
    rows.insert(0, Row(name, ours, bare, NO_LIMIT, "bare FTS5 rebuild of the same texts"))
    space, home, count = bench.scattered()
    with Memory.open(space, home=home) as memory:
        return [*rows, _one_more(memory, count, "hybrid")]


def _rebuild(path: Path, texts: list[tuple[str]]) -> float:
    db = bare_database(path, "NORMAL")
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, content TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO t(content) VALUES (?)", texts)
    db.execute("COMMIT")
    db.execute(
        "CREATE VIRTUAL TABLE f USING fts5("
        f"content, content='t', content_rowid='id', tokenize='{TOKENIZE}')"
    )
    began = time.perf_counter()
    db.execute("INSERT INTO f(f) VALUES ('rebuild')")
    seconds = time.perf_counter() - began
    db.close()
    path.unlink()
    return seconds


def scale_rows(bench: Bench) -> list[Row]:
    """Commands and the start of a session in a large space without vectors, in processor time."""
    space, home = bench.root / "space-1", bench.root / "home-1"
    if not home.exists():
        with bench.memory(**NO_VECTORS) as memory:
            fill(memory, bench.observations)
            commit_note(space)
            memory.sync(embed=False)
    env = {**os.environ, "KINEN_HOME": str(home), "KINEN_DAEMON_AUTO_START": "false"}
    env["KINEN_INDEX_EMBEDDING_PROVIDER"] = "none"

    def seconds(line: list[str], **given: str) -> float:
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = json.dumps(given | {"session_id": ids.ulid(), "cwd": str(space)}).encode()
        process(line, cwd=space, env=env, input=told)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime

    bare = [sys.executable, "-c", ""]
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": ASKED[-1]}
    lines = {
        "rare word": ([KINEN, "search", "--fulltext", RARE], {}),
        "SessionStart": ([KINEN, "hook", "claude-code"], start),
        "prompt": ([KINEN, "hook", "claude-code"], prompt),
        **{f"search: {text}": ([KINEN, "search", "--fulltext", text], {}) for text in ASKED[-3:]},
        **{f"recall: {text}": ([KINEN, "recall", "--fulltext", text], {}) for text in ASKED[-3:]},
    }
    rows = []
    for name, (line, given) in lines.items():
        used: dict[str, list[float]] = {"ours": [], "bare": []}
        for at in range(8):
            ours, plain = seconds(line, **given), seconds(bare)
            used["ours"] += [ours] if at else []
            used["bare"] += [plain] if at else []
        middle = {side: statistics.median(some) for side, some in used.items()}
        title = f"{name}, {bench.observations:,} observations"
        rows.append(Row(title, middle["ours"], middle["bare"], NO_LIMIT, "a bare interpreter"))
    return rows


RARE = "zyzzyva"
ORIGIN = "https://example.com/acme/app.git"


def commit_note(space: Path) -> None:
    """Make a real repository with one commit of a folder; by its origin it is the same space."""
    shutil.rmtree(space / ".git")
    (space / "note.md").write_text("# A note\n")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    origin = ["remote", "add", "origin", ORIGIN]
    for words in (["init", "-q"], origin, ["add", "."], [*author, "commit", "-qm", "docs: a note"]):
        subprocess.run(["git", "-C", str(space), *words], check=True)


def fill(memory: Memory, count: int) -> None:
    """Observations in sessions, each summed up, as rows: an import would check each of them."""
    rng = random.Random(7)
    happened = events(rng)
    scopes = [{"sessionId": f"session-{n}"} for n in range(-(-count // SESSION))]

    def rows() -> Iterator[tuple[Any, ...]]:
        for n in range(count):
            kind, content, facts = next(happened)
            entry = _observation(n, (kind, content, facts), scopes, BEGAN)
            content += f" {RARE}" if n == count // 2 else ""
            scope = (entry["scopeIds"]["sessionId"], "acme/app", "claude-code", "", "")
            place = (entry["capsuleId"], "main", entry["head"], "[]", "{}")
            yield (entry["id"], kind, content, json.dumps(facts), entry["ts"], *scope, *place)

    memory.journal.open_capsule("measure at scale", scope={"session": "scale"})  # makes the tables
    db = memory.core.store.db
    marks = ", ".join("?" * len(schema.COLUMNS))
    with writing(db):
        names = ", ".join(schema.COLUMNS)
        db.executemany(f"INSERT INTO observations({names}) VALUES ({marks})", rows())
        for n in range(len(scopes)):
            opened = BEGAN + n * 86_400_000
            closed = opened + SESSION * 45_000
            db.execute(
                "INSERT INTO capsules(id, type, intent, status, opened_at, closed_at, session,"
                " repo, agent) VALUES (?, 'session', ?, 'closed', ?, ?, ?, 'acme/app', ?)",
                (_id(1, n), prose(rng, 6), opened, closed, f"session-{n}", "claude-code"),
            )
            db.execute(
                "INSERT INTO summaries(id, capsule, content, created_at) VALUES (?, ?, ?, ?)",
                (_id(2, n), _id(1, n), prose(rng, 120), closed),
            )


def _one_more(memory: Memory, count: int, mode: str) -> Row:
    """The search that takes in an observation, against the one before it."""
    memory.journal.open_capsule("measure what a question takes in", scope={"session": "s1"})
    happened = events(random.Random(13))
    before, after = [], []
    memory.search(Query(ASKED[0], mode=mode))
    for n in range(31):
        query = Query(ASKED[n % len(ASKED)], mode=mode)
        before += alternated({"": lambda request=query: memory.search(request)}, 1)[""]
        kind, content, message = next(happened)
        memory.observe(content, kind=kind, scope={"session": "s1"}, provenance=message)
        after += alternated({"": lambda question=query: memory.search(question)}, 1)[""]
    name = f"search after one more of {count:,}, {mode}"
    against = "the search before it"
    return Row(name, statistics.median(after), statistics.median(before), NO_LIMIT, against)


ROWS = {
    "hook": hook_rows,
    "observe": observe_rows,
    "recall": recall_rows,
    "import": import_rows,
    "catch-up": catch_up_rows,
    "scale": scale_rows,
}


def as_saved(row: Row) -> dict[str, Any]:
    """A row as it is saved, with what else the machine had to do."""
    limit = None if row.limit == NO_LIMIT else row.limit
    load = round(os.getloadavg()[0], 2)
    return {**row._asdict(), "limit": limit, "ratio": round(row.ratio, 3), "load": load}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS)[:-1])
    parser.add_argument("--observations", type=int)
    parser.add_argument("--folder", type=Path, help="where spaces are made, and kept")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child)
        return
    results: dict[str, dict[str, Any]] = {}
    print(f"{'row':<52} {'ratio':>7} {'limit':>6}  {'ours':>9} {'baseline':>9}  against")
    with tempfile.TemporaryDirectory(prefix="kinen-journal-") as temporary:
        benches: dict[int, Bench] = {}
        for name in chosen.rows:
            count = chosen.observations or (1_000_000 if name == "scale" else 100_000)
            root = chosen.folder or Path(temporary) / str(count)
            root.mkdir(parents=True, exist_ok=True)
            bench = benches.setdefault(count, Bench(root, count))
            for row in ROWS[name](bench):
                results[row.name] = as_saved(row)
                limit = "" if row.limit == NO_LIMIT else f"{row.limit:.2f}"
                mark = "" if row.ratio <= row.limit else "  ← over"
                print(
                    f"{row.name:<52} {row.ratio:>7.2f} {limit:>6}  {row.ours:>9.4f}"
                    f" {row.baseline:>9.4f}  {row.against}{mark}",
                    flush=True,
                )
    if not chosen.no_save:
        save("journal", results)


if __name__ == "__main__":
    main()
