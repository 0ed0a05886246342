"""This tree beside an earlier commit, in turns within one run.

    python benchmarks/before_after.py COMMIT [--documents 2500] [--times 31] [--sessions DIR]
        [--notes DIR] [--instructions]

Both run from their sources with the same interpreter and packages, over the same notes, each with a
home of its own. The ratio of a row is this tree's median to the earlier one's, in CPU time.
--sessions imports transcripts, --notes indexes a folder with vectors. With --instructions it is
what `perf stat` counts of the process itself, or valgrind's cachegrind where the machine has no
counters (thirty times slower: --times 3), which does not depend on how fast the machine is just
then: of the one that a hook leaves behind, more or less would be done when the hook ends.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import resource
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import Replayed, launcher, sample_payloads
from record import save
from speed import QUESTIONS, build_space, process

if TYPE_CHECKING:
    from collections.abc import Callable

TREE = Path(__file__).parents[1]
INDEXED = 3
"""How often each tree indexes all notes."""


class Version:
    """The commands of one tree."""

    def __init__(self, source: Path, home: Path, program: str, space: Path) -> None:
        self.program = program
        self.home = home
        self.space = space
        clean = {name: os.environ[name] for name in ("PATH", "HOME")}
        self.env = {
            **clean,
            "PYTHONPATH": str(source),
            "KINEN_HOME": str(home),
            "KINEN_DAEMON_AUTO_START": "false",
        }

    @property
    def options(self) -> dict[str, Any]:
        return {"cwd": self.space, "env": self.env}

    def run(self, *words: str) -> None:
        process([self.program, *words], **self.options)

    def index(self) -> None:
        """All notes, in a home that has nothing yet."""
        with tempfile.TemporaryDirectory() as home:
            env = {**self.env, "KINEN_HOME": home}
            process([self.program, "index", "--no-embed"], cwd=self.space, env=env)

    def take_in(self, sessions: Path) -> None:
        """All sessions of a folder, until their words are found."""
        with tempfile.TemporaryDirectory() as home:
            env = {**self.env, "KINEN_HOME": home}
            process([self.program, "import", "transcripts", str(sessions)], cwd=self.space, env=env)
            process([self.program, "index", "--no-embed"], cwd=self.space, env=env)

    def embed(self, notes: Path) -> None:
        """All notes of a folder, with their vectors."""
        with tempfile.TemporaryDirectory() as folder:
            env = {**self.env, "KINEN_HOME": folder}
            space = shutil.copytree(notes, Path(folder, "notes"))
            (space / ".kinen").mkdir(exist_ok=True)
            process([self.program, "index"], cwd=space, env=env)

    def check(self) -> None:
        """That this tree is what runs, and that it finds something."""
        words = [self.program, "search", "--fulltext", QUESTIONS[0]]
        run = subprocess.run(words, capture_output=True, text=True, check=True, **self.options)
        assert run.stdout.strip(), run.stderr


def extracted(commit: str, folder: Path) -> Path:
    """The sources of a commit."""
    archive = subprocess.run(
        ["git", "archive", commit, "src"], cwd=TREE, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def rows(version: Version) -> dict[str, Callable[[], object]]:
    """The commands that a person or an agent waits for."""
    searches = {
        f"cold search by word: {question}": partial(version.run, "search", "--fulltext", question)
        for question in QUESTIONS
    }
    line = [version.program, "hook", "claude-code"]
    hooks: dict[str, Callable[[], object]] = {}
    for payload in sample_payloads(str(version.space)):
        hook = Replayed(payload, line, **version.options)
        hooks[f"hook: {hook.name}"] = hook
    return {
        "kinen --help": partial(version.run, "--help"),
        **hooks,
        "kinen log": partial(version.run, "log", "the pool of connections was exhausted"),
        **searches,
        "kinen recall": partial(version.run, "recall", "--budget", "600", QUESTIONS[0]),
        "kinen status": partial(version.run, "status"),
        "index, nothing new": partial(version.run, "index", "--no-embed"),
    }


def alternated(
    calls: dict[str, Callable[[], object]], times: int, spent: Callable[[], float]
) -> dict[str, list[float]]:
    """What the processes of each call take, made in turn."""
    used: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(times):
        for name, call in calls.items():
            began = spent()
            call()
            used[name].append(spent() - began)
    return used


def milliseconds() -> float:
    """The CPU time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def counted(program: str, counts: Path) -> str:
    """A command that appends how many instructions a program took, without its children."""
    path = counts.with_name("counted")
    count = f"perf stat -x, -i -e instructions:u --append -o {counts} --"
    tried = subprocess.run([*count.split(), "true"], capture_output=True, check=False)
    if tried.returncode or not millions(counts):
        log = f"--cachegrind-out-file=/dev/null --log-file={counts}.%p"
        count = f"valgrind --tool=cachegrind --cache-sim=no {log}"
    path.write_text(f'#!/bin/sh\nexec {count} {program} "$@"\n')
    path.chmod(0o755)
    return str(path)


def millions(counts: Path) -> float:
    """All instructions so far, in millions, as perf writes them or valgrind."""
    numbers = re.compile(r"(?m)^(\d+),,instructions|^==\d+== I +refs: +([\d,]+)")
    texts = (path.read_text() for path in counts.parent.glob(f"{counts.name}*"))
    found = (match for text in texts for match in numbers.finditer(text))
    return sum(int((match[1] or match[2]).replace(",", "")) for match in found) / 1e6


def compare(
    before: dict[str, Callable[[], object]],
    after: dict[str, Callable[[], object]],
    times: int,
    spent: Callable[[], float],
) -> dict[str, Any]:
    """The medians of each row, and their ratio."""
    table = {}
    for name, call in before.items():
        call(), after[name]()
        used = alternated({"before": call, "after": after[name]}, times, spent)
        medians = {side: statistics.median(used[side]) for side in used}
        ratio = medians["after"] / medians["before"]
        table[name] = {
            **{side: round(median, 1) for side, median in medians.items()},
            "ratio": round(ratio, 3),
        }
        print(
            f"{name:<52} {medians['before']:8.1f} {medians['after']:8.1f} {ratio:6.2f}",
            flush=True,
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("--documents", type=int, default=2500)
    parser.add_argument("--times", type=int, default=31)
    parser.add_argument("--sessions", type=Path, help="a folder with transcripts to import")
    parser.add_argument("--notes", type=Path, help="a folder of notes to index with vectors")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument(
        "--instructions", action="store_true", help="count them, with perf or valgrind"
    )
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        space = build_space(root, words.documents, 8, 90)
        program = launcher(root)
        unit, spent = "milliseconds", milliseconds
        if words.instructions:
            counts = root / "counts"
            unit, spent = "millions of instructions", partial(millions, counts)
            program = counted(program, counts)
        before = Version(extracted(words.commit, root / "before"), root / "b", program, space)
        after = Version(TREE / "src", root / "a", program, space)
        for version in (before, after):
            version.run("index", "--no-embed")
            version.check()
        print(f"{unit:<52} {'before':>8} {'after':>8}  ratio")
        earlier = {name: call for name, call in rows(before).items() if words.only in name}
        table = compare(earlier, rows(after), words.times, spent)
        if not words.only:
            indexed = ({"index, all": before.index}, {"index, all": after.index})
            table |= compare(*indexed, INDEXED, spent)
        taken: list[tuple[str, str, Path | None]] = [
            ("import and index of sessions", "take_in", words.sessions),
            ("index of notes with vectors", "embed", words.notes),
        ]
        for name, method, source in taken:
            if source and words.only in name:
                calls = [
                    partial(getattr(each, method), source.resolve()) for each in (before, after)
                ]
                table |= compare({name: calls[0]}, {name: calls[1]}, INDEXED, spent)
    results = {"before": words.commit, "documents": words.documents, "unit": unit, "rows": table}
    if not words.only:
        save(f"before-after-{words.commit[:7]}", results)


if __name__ == "__main__":
    main()
