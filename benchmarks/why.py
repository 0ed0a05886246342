"""How good and how fast `kinen why` is, on real repositories that are at hand.

    python benchmarks/why.py gold REPOSITORY --gold DIR [--every N]
    python benchmarks/why.py lines GIT_DIR … [--count 300]
    python benchmarks/why.py speed REPOSITORY … [--times 5]

gold: fixes that name the commit which they repair. Each is asked with the index at its parent: the
lines of the code that it changes, and where it only adds some, the two around these.
lines: lines of files at HEAD whose commit names its session by a trailer. The trailers are taken
away; right is the session, and the turn in which its transcript last wrote the line. Invented is an
edit that is named for a line which the transcript does not have.
speed: the CPU time of a cold `kinen why FILE:LINE` against `git blame -w -M -C` of the file, in
turns, with that of a plain `git blame` and of Python that does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from authorship import named_by, traced_commits
from history import NO_VECTORS, clone, clone_name, git
from kinen import Memory
from kinen.agents.tool_use import WINDOW
from kinen.errors import GitError, KinenError
from kinen.memory.why import TEXT, Why
from kinen.recall.authorship import SLACK, FilePatch, Work, normal, same_file, telling, work
from kinen.sources.git.blame import blame
from kinen.sources.traces import entire
from kinen.sources.traces.objects import Objects
from kinen.text import excerpt
from record import save
from speed import KINEN, process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.memory.why import Because

FIRST = 3
"""Commits of an answer that count."""
CODE = "django/"
"""Where the code of the repository with known causes is; its tests and documents are elsewhere."""
PER_FILE = 3
"""Lines of one file that are asked for."""
LARGEST = 10
"""Files whose time is measured."""
SOURCE = (".py", ".ts", ".tsx", ".go", ".rs", ".js")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")


# Fixes and what they repair


def gold(source: str, folder: Path, every: int) -> dict[str, Any]:
    rows = [json.loads(line) for line in (folder / "django_regression_pairs.jsonl").open()]
    causes: dict[str, set[str]] = {}
    for row in rows:
        causes.setdefault(row["fix"], set()).add(row["gold_commit"])
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as created:
        root = clone(source, Path(created))
        git(root, "commit-graph", "write", "--reachable", "--changed-paths")
        order = git(root, "rev-list", "--topo-order", "--reverse", "HEAD").split()
        fixes = [sha for sha in order if sha in causes][::every]
        with Memory.open(root, home=Path(created) / "home", settings=NO_VECTORS) as memory:
            for number, sha in enumerate(fixes):
                git(root, "update-ref", "--no-deref", "HEAD", f"{sha}^")
                memory.sync(embed=False)
                answers = [row for place in fixed_lines(root, sha) if (row := ask(memory, place))]
                counts.update(scores(answers, causes[sha]))
                print(f"\r{number + 1} of {len(fixes)} {dict(counts)}", end="", file=sys.stderr)
    return dict(counts)


def fixed_lines(root: Path, sha: str) -> Iterator[str]:
    """The lines of the code that a commit changes, as they were before it: `PATH:A-B`."""
    path = ""
    for row in git(root, "diff-tree", "-p", "-U0", "-M", f"{sha}^", sha).splitlines():
        if row.startswith("--- "):
            path = row[6:].rstrip("\t") if row.startswith("--- a/") else ""
        elif (hunk := _HUNK.match(row)) and path.startswith(CODE):
            first, size = int(hunk[1]), int(hunk[2] or 1)
            if size:
                yield f"{path}:{first}-{first + size - 1}"
            elif first:
                yield f"{path}:{first}-{first + 1}"


def ask(memory: Memory, place: str) -> Because | None:
    try:
        return memory.reasons.why(place)
    except KinenError:
        return None


def scores(answers: list[Because], causes: set[str]) -> dict[str, int]:
    """Whether a cause is among the commits of the answers: of the lines, then those beside them.

    As in one answer the latest come first.
    """
    own = {commit.ref[7:]: commit.at for answer in answers for commit in answer.commits}
    beside = {row[0][7:]: row[1] for answer in answers for row in answer.beside}
    listed = sorted(own, key=lambda sha: own[sha], reverse=True)
    listed += sorted(beside.keys() - own.keys(), key=lambda sha: beside[sha], reverse=True)
    return {
        "fixes": 1,
        "with lines": bool(answers),
        "among the first three": bool(causes.intersection(listed[:FIRST])),
        "anywhere": bool(causes.intersection(listed)),
    }


# Lines and the turns that wrote them


class Line(NamedTuple):
    """A line of a file, and the turn of the session that its commit names."""

    place: str
    sha: str
    text: str
    session: str
    prompt: str


class Told(NamedTuple):
    """What a session wrote, and when it was asked for what."""

    work: Work
    prompts: list[tuple[int, str]]

    def writes(self, line: str, path: str, until: int) -> int:
        """When it last wrote a line of a file up to a moment; 0 if it did not."""
        file = FilePatch(path, (), ())
        times = [
            edit.ts
            for edit in self.work.edits
            if edit.ts <= until and same_file(edit.path, file) and line in telling(edit.added)
        ]
        return max(times, default=0)


def told(memory: Memory) -> tuple[dict[str, Told], entire.Checkpoints]:
    """The sessions of the checkpoints as their transcripts have them."""
    objects = Objects(memory.git.place()[0])
    stored = entire.checkpoints(objects)
    sessions = {}
    for session in stored.sessions.values():
        past = entire.past(objects, session)
        if past is None:
            continue
        past.diff = WINDOW
        events = list(past.events())
        prompts = [(row.ts, row.content) for row in events if row.provenance.get("role") == "user"]
        sessions[session.id] = Told(work(session.id, past.agent, events), prompts)
    objects.close()
    return sessions, stored


def candidates(memory: Memory, chance: random.Random) -> Iterator[Line]:
    """Lines at HEAD of commits that name a session which wrote them."""
    sessions, stored = told(memory)
    repository = memory.git.place()[0]
    named = {}
    for patch, message in traced_commits(repository, "HEAD"):
        ids = [id_ for id_ in named_by(message, stored) if id_ in sessions]
        if ids:
            named[patch.sha] = (patch, ids)
    files = sorted({file.path for patch, _ in named.values() for file in patch.files})
    chance.shuffle(files)
    for path in files:
        try:
            rows = blame(repository, path, None, "HEAD")
        except GitError:
            continue  # it is gone
        rows = [row for row in rows if row.sha in named and telling([row.text])]
        for row in chance.sample(rows, min(PER_FILE, len(rows))):
            patch, ids = named[row.sha]
            times = {
                id_: sessions[id_].writes(normal(row.text), row.path, patch.committed + SLACK)
                for id_ in ids
            }
            id_ = max(ids, key=lambda id_: times[id_])
            if times[id_]:
                before = [text for ts, text in sessions[id_].prompts if ts <= times[id_]]
                prompt = excerpt(before[-1], TEXT) if before else ""
                yield Line(f"{path}:{row.line}", row.sha, row.text, id_, prompt)


def lines(source: str, count: int) -> dict[str, int]:
    """How many sampled lines have the right session, and the right turn of it."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as created:
        root = clone(source, Path(created))
        with Memory.open(root, home=Path(created) / "home", settings=NO_VECTORS) as memory:
            memory.sync(embed=False)
            Why._traced = lambda *_: ()  # type: ignore[method-assign]  # the trailers are taken away
            sessions, _ = told(memory)
            for line in islice(candidates(memory, random.Random(7)), count):
                answer = ask(memory, line.place)
                commits = (
                    [row for row in answer.commits if row.ref[7:] == line.sha] if answer else []
                )
                first = next((row for commit in commits for row in commit.sessions), None)
                right = first is not None and first.session == line.session
                counts["lines"] += 1
                counts["session"] += right
                counts["session and turn"] += bool(right and first and first.request == line.prompt)
                counts["none named"] += first is None
                if first and first.edit and first.session in sessions:
                    path = commits[0].path
                    wrote = sessions[first.session].writes(normal(line.text), path, 1 << 60)
                    counts["invented"] += not wrote
                    if not wrote:
                        print("invented:", line.place, first.session, first.step, line.text.strip())
    return dict(counts)


# Speed


def speed(source: str, times: int) -> dict[str, Any]:
    """The largest ten files of text: `kinen why` of their middle line against `git blame`."""
    with tempfile.TemporaryDirectory() as created:
        root = clone(source, Path(created))
        env = {**os.environ, "KINEN_HOME": str(Path(created) / "home")}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        process([KINEN, "index", "--no-embed"], cwd=root, env=env)
        rows = [row.split(None, 4) for row in git(root, "ls-tree", "-r", "-l", "HEAD").splitlines()]
        sizes = {row[4]: int(row[3]) for row in rows if row[3].isdigit()}
        results = {}
        for path in sorted(sizes, key=lambda path: -sizes[path]):
            text = git(root, "show", f"HEAD:{path}", errors="replace")
            if "\0" in text or not path.endswith(SOURCE):
                continue
            place = f"{path}:{max(1, text.count(chr(10)) // 2)}"
            commands = {
                "why_ms": [KINEN, "why", place],
                "blame_ms": ["git", "blame", "-w", "-M", "-C", "HEAD", "--", path],
                "plain_blame_ms": ["git", "blame", "HEAD", "--", path],
                "python_ms": [sys.executable, "-c", "pass"],
            }
            results[place] = cpu_turns(commands, times, cwd=root, env=env)
            print(place, results[place])
            if len(results) == LARGEST:
                break
    ratios = [row["ratio"] for row in results.values()]
    return {"files": results, "median ratio": statistics.median(ratios), "worst": max(ratios)}


def cpu_turns(commands: dict[str, list[str]], times: int, **options: Any) -> dict[str, float]:
    """Medians of the CPU time of commands that take turns: other work does not change it."""
    rounds = [{name: cpu(row, **options) for name, row in commands.items()} for _ in range(times)]
    medians = {name: statistics.median(row[name] for row in rounds) for name in commands}
    return {**medians, "ratio": medians["why_ms"] / medians["blame_ms"]}


def cpu(command: list[str], **options: Any) -> float:
    """Milliseconds of a process and of those that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(spent * 1e3, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("gold", "lines", "speed"))
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--gold", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every Nth fix")
    parser.add_argument("--count", type=int, default=50, help="lines of a repository")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for source in options.repositories:
        if options.what == "gold":
            result = gold(source, options.gold, options.every)
        elif options.what == "lines":
            result = lines(source, options.count)
        else:
            result = speed(source, options.times)
        results[clone_name(source)] = result
        print(json.dumps({clone_name(source): result}, indent=1))
        save(f"why-{options.what}", results, quiet=True)
    if options.what == "lines":
        results["all"] = dict(sum(map(Counter, results.values()), Counter()))
        print(results["all"])
    save(f"why-{options.what}", results)


if __name__ == "__main__":
    main()
