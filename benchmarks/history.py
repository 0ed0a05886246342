"""How fast and how good git history is as memory, on real repositories that are at hand.

    python benchmarks/history.py speed REPOSITORY... [--times 5]
    python benchmarks/history.py cochange REPOSITORY...
    python benchmarks/history.py gold REPOSITORY --gold DIR

speed: ratios within one run against the plain git command that each rests on; ours and git take
turns, medians are compared. cochange: of the last 500 commits one file each is hidden and asked
for; the index knows nothing of these commits. gold: django's fixes, each asked with the index at
its parent: what the history said before the answer was written. Repositories are cloned without
a working tree; they are never changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query
from kinen.index.git import queries
from record import save
from speed import KINEN, peak_mb, process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO_VECTORS = {"index.embedding_provider": "none", "git.snapshot_frequency": "0"}
HELD_OUT = 500
MOST = 30
"""Files of a commit that is asked about; of more nobody could say what is missing."""


def git(root: Path, *words: str, **options: Any) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, check=True, text=True, **options
    )
    return done.stdout.strip()


def clone(source: str, folder: Path) -> Path:
    root = folder / Path(source).resolve().name
    if root.name in ("repo", "repo.git"):
        root = folder / Path(source).resolve().parent.name
    command = ["git", "clone", "-q", "--shared", "--no-checkout", source, str(root)]
    subprocess.run(command, check=True)
    return root


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def turns(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> dict[str, float]:
    """Medians of two calls that take turns, and the ratio of these."""
    pairs = [(timed(ours), timed(theirs)) for _ in range(times)]
    mine, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {"ours_ms": mine * 1e3, "git_ms": plain * 1e3, "ratio": mine / plain}


# Speed


def speed(source: str, times: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        root = clone(source, folder)
        with Memory.open(root, home=folder / "first", settings=NO_VECTORS) as memory:
            memory.sync(embed=False)  # everything is imported, and git's files are in memory
        results: dict[str, Any] = {"commits": int(git(root, "rev-list", "--count", "HEAD"))}
        results["index"] = turns(_indexing(root, folder), _bare(root), times)
        results["command"] = turns(_command(root, folder), _bare(root), max(3, times // 2))
        results["peak_mb"] = _peak(root, folder / "peak")
        home = folder / "first"
        results["index_mb"] = sum(p.stat().st_size for p in home.rglob("index.db*")) / 1e6
        with Memory.open(root, home=home, settings=NO_VECTORS) as memory:
            results.update(_query_times(memory))
            results["new_commit"] = _new_commit(memory, root, 4 * times)
    return results


def _indexing(root: Path, folder: Path) -> Callable[[], object]:
    homes = (folder / f"home{n}" for n in range(10_000))

    def index() -> None:
        with Memory.open(root, home=next(homes), settings=NO_VECTORS) as memory:
            memory.sync(embed=False)

    return index


def _command(root: Path, folder: Path) -> Callable[[], object]:
    homes = (folder / f"command{n}" for n in range(10_000))
    env = {**os.environ, "KINEN_GIT_SNAPSHOT_FREQUENCY": "0"}
    return lambda: process(
        [KINEN, "index", "--no-embed"], cwd=root, env={**env, "KINEN_HOME": str(next(homes))}
    )


def _bare(root: Path) -> Callable[[], object]:
    return lambda: process(["git", "-C", str(root), "log", "-z", "--raw", "-M"])


def _peak(root: Path, home: Path) -> float:
    run = [sys.executable, __file__, "peak", str(root), "--home", str(home)]
    return float(subprocess.run(run, capture_output=True, check=True, text=True).stdout)


def _query_times(memory: Memory) -> dict[str, Any]:
    """Warm answers for the most-touched files and some others."""
    files = sorted(memory.git.files()[0], key=lambda file: (-file.metadata["commits"], file.path))
    chosen = [value.path for value in [*files[:10], *files[10 :: max(1, len(files) // 40)]]]
    results = {}
    for name, ask in (("history", memory.git.history), ("cochange", memory.git.cochanged)):
        calls = [partial(ask, path) for path in chosen]
        times = sorted(min(timed(call) for _ in range(3)) * 1e3 for call in calls)
        results[name] = {"median_ms": statistics.median(times), "slowest_ms": times[-1]}
    return results


def _new_commit(memory: Memory, root: Path, times: int) -> dict[str, float]:
    """A commit of three changed files, indexed by a memory that is open, against `git show`."""
    names = [file.path for file in memory.git.files(limit=400)[0]][::100][:3]
    blob = git(root, "hash-object", "-w", "--stdin", input="changed\n")
    ours, theirs = [], []
    env = {**os.environ, "GIT_INDEX_FILE": str(root / ".git" / "bench")}
    author = {
        f"GIT_{who}_{what}": "bench"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    git(root, "read-tree", "HEAD", env=env)
    for n in range(times):
        blob = git(root, "hash-object", "-w", "--stdin", input=f"changed {n}\n")
        for name in names:
            git(root, "update-index", "--cacheinfo", f"100644,{blob},{name}", env=env)
        tree = git(root, "write-tree", env=env)
        words = ("commit-tree", tree, "-p", "HEAD", "-m", f"fix(bench): change {n}")
        sha = git(root, *words, env={**env, **author})
        git(root, "update-ref", "HEAD", sha)
        ours.append(timed(memory.index.follow_history))
        theirs.append(timed(lambda: process(["git", "-C", str(root), "show", "--raw", "HEAD"])))
        assert memory.records.get(f"commit:{sha}").title.endswith(str(n))
    mine, plain = statistics.median(ours), statistics.median(theirs)
    return {"ours_ms": mine * 1e3, "git_ms": plain * 1e3, "ratio": mine / plain}


# What changes together


def cochange(source: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        root = clone(source, folder)
        before, later = _held_out(root)
        git(root, "update-ref", "--no-deref", "HEAD", before)
        with Memory.open(root, home=folder / "home", settings=NO_VECTORS) as memory:
            memory.sync(embed=False)
            return _recalls(memory, root, later)


def _held_out(root: Path) -> tuple[str, list[str]]:
    """A commit of the first line, and the last 500 after it that are no merges."""
    line = git(root, "rev-list", "--first-parent", "HEAD").split()
    low, high = 0, len(line) - 1
    while low < high:
        middle = (low + high) // 2
        words = ("rev-list", "--no-merges", "--count", f"{line[middle]}..HEAD")
        low, high = (low, middle) if int(git(root, *words)) >= HELD_OUT else (middle + 1, high)
    words = ("rev-list", "--no-merges", "-n", str(HELD_OUT), f"{line[low]}..HEAD")
    return line[low], git(root, *words).split()


def _recalls(memory: Memory, root: Path, later: list[str]) -> dict[str, Any]:
    request, results = 0, {"kinen": [0, 0], "support": [0, 0]}
    for sha in later:
        names = git(root, "diff-tree", "--no-commit-id", "-r", "-z", "--name-only", "-M", sha)
        existing = [name for name in names.split("\0") if name and memory.git.tracks(name)]
        if not 2 <= len(existing) <= MOST:
            continue
        request += 1
        hidden = existing[int(hashlib.sha256(sha.encode()).hexdigest(), 16) % len(existing)]
        rest = [name for name in existing if name != hidden]
        answers = {
            "kinen": [pair.path for pair in memory.git.cochanged(rest, limit=10)],
            "support": _by_support(memory, rest)[:10],
        }
        for name, paths in answers.items():
            results[name][0] += hidden in paths[:5]
            results[name][1] += hidden in paths
    output = {
        name: {"@5": at5 / request, "@10": at10 / request} for name, (at5, at10) in results.items()
    }
    return {"asked": request, **output}


def _by_support(memory: Memory, paths: list[str]) -> list[str]:
    """The files that share most commits with any of these: what counting alone gives."""
    db = memory.core.reader.db
    ours = [memory.core.reader.file_at(path) for path in paths]
    shared: dict[str, set[int]] = {}
    for file in ours:
        rows = db.execute(
            f"SELECT m.commit_id, n.path FROM ({queries.TOUCHED.format('?1')}) m"
            " JOIN touches t ON t.commit_id = m.commit_id JOIN paths p ON p.id = t.path"
            " JOIN files f ON f.id = CASE t.file WHEN 0 THEN p.file ELSE t.file END"
            " JOIN paths n ON n.id = f.path WHERE n.present",
            (file,),
        )
        for commit, path in rows:
            shared.setdefault(path, set()).add(commit)
    for path in paths:
        shared.pop(path, None)
    return sorted(shared, key=lambda path: (-len(shared[path]), path))


# Fixes and what they repair


def gold(source: str, folder: Path, every: int) -> dict[str, Any]:
    """Follow the history from fix to fix, and ask for each before it is there."""
    pairs = [json.loads(line) for line in (folder / "django_regression_pairs.jsonl").open()]
    fixes = [json.loads(line) for line in (folder / "django_fix_to_files.jsonl").open()]
    by_sha: dict[str, list[tuple[str, Any]]] = {}
    for kind, rows in (("commit", pairs), ("files", fixes)):
        for row in rows:
            by_sha.setdefault(row["fix" if kind == "commit" else "commit"], []).append((kind, row))
    tally = _Tally()
    with tempfile.TemporaryDirectory() as created:
        root = clone(source, Path(created))
        order = git(root, "rev-list", "--topo-order", "--reverse", "HEAD").split()
        shas = [sha for sha in order if sha in by_sha][::every]
        home = os.environ.get("KINEN_HOME") or str(Path(created) / "home")
        with Memory.open(root, home=home, settings={"git.snapshot_frequency": "0"}) as memory:
            for n, sha in enumerate(shas):
                git(root, "update-ref", "--no-deref", "HEAD", f"{sha}^")
                memory.sync()
                for kind, row in by_sha[sha]:
                    tally.ask(memory, kind, row)
                print(f"\r{n + 1} of {len(shas)}", end="", file=sys.stderr)
    return tally.as_dict()


class _Tally:
    """Recall at ten, by what was asked and how."""

    def __init__(self) -> None:
        self.sums: dict[str, dict[str, float]] = {}
        self.counts: dict[str, int] = {}

    def ask(self, memory: Memory, kind: str, row: Any) -> None:
        ways = dict(_commit_ways(row) if kind == "commit" else _file_ways(row))
        golden = {row["gold_commit"]} if kind == "commit" else set(row["files"])
        if kind == "files":
            golden = {path for path in golden if memory.git.tracks(path)}
        if not golden:
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        sums = self.sums.setdefault(kind, {})
        for name, query in ways.items():
            results = set(_answer_names(memory, name, query))
            share = len(results & golden) / min(10, len(golden))
            sums[name] = sums.get(name, 0.0) + share

    def as_dict(self) -> dict[str, Any]:
        return {
            kind: {
                "asked": self.counts[kind],
                **{name: total / self.counts[kind] for name, total in sums.items()},
            }
            for kind, sums in self.sums.items()
        }


def _commit_ways(row: Any) -> Iterator[tuple[str, Query]]:
    query = Query(row["query"], limit=10, kinds=("commit",))
    yield "full text", query._replace(mode="fulltext")
    yield "hybrid", query
    yield "hybrid with files inferred", query
    yield "hybrid with the fix's files given", query._replace(near=tuple(row["fix_files"]))


def _file_ways(row: Any) -> Iterator[tuple[str, Query]]:
    query = Query(row["query"], limit=10, kinds=("file",))
    yield "names alone", query
    yield "full text of commits", query._replace(mode="fulltext")
    yield "hybrid search of commits", query
    yield "hybrid with names and co-change", query


def _answer_names(memory: Memory, way: str, query: Query) -> list[str]:
    """Shas or paths of the answer; where a way leaves signals out, by their weights."""
    from kinen.recall import files

    weights = (files.INFERRED, files.NAMES, files.COMMITS, files.COMPANIONS)
    if way in ("hybrid", "full text"):
        files.INFERRED = 0.0
    elif way == "names alone":
        files.COMMITS = files.COMPANIONS = 0.0
    elif way in ("full text of commits", "hybrid search of commits"):
        files.NAMES = files.COMPANIONS = 0.0
    try:
        hits = memory.search(query)
    finally:
        files.INFERRED, files.NAMES, files.COMMITS, files.COMPANIONS = weights
    if query.kinds == ("commit",):
        return list(dict.fromkeys(hit.record.ref.partition(":")[2] for hit in hits))
    return [hit.record.path for hit in hits]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("speed", "cochange", "gold", "peak"))
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--gold", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every Nth fix")
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    if options.what == "peak":
        with Memory.open(options.repositories[0], home=options.home, settings=NO_VECTORS) as memory:
            memory.sync(embed=False)
        print(peak_mb())
        return
    results = {}
    for source in options.repositories:
        name = clone_name(source)
        if options.what == "speed":
            results[name] = speed(source, options.times)
        elif options.what == "cochange":
            results[name] = cochange(source)
        else:
            results[name] = gold(source, options.gold, options.every)
        print(json.dumps({name: results[name]}, indent=1))
    save(f"history-{options.what}", results)


def clone_name(source: str) -> str:
    path = Path(source).resolve()
    return (path.parent.name if path.name == "repo" else path.name).rpartition("+")[2]


if __name__ == "__main__":
    main()
