"""This tree beside an earlier commit, in turns within one run.

    python benchmarks/before_after.py COMMIT [--documents 2500] [--times 31] [--sessions DIR]
        [--notes DIR]

Both run from their sources with the same interpreter and packages, over the same notes, each with a
home of its own. The ratio of a row is this tree's median to the earlier one's, in CPU time.
--sessions imports transcripts, --notes indexes a folder with vectors.
"""

from __future__ import annotations

import argparse
import io
import os
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


def alternated(calls: dict[str, Callable[[], object]], times: int) -> dict[str, list[float]]:
    """The CPU seconds of the processes of each call, made in turn."""
    used: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(times):
        for name, call in calls.items():
            began = _spent()
            call()
            used[name].append(_spent() - began)
    return used


def _spent() -> float:
    """The CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compare(
    before: dict[str, Callable[[], object]], after: dict[str, Callable[[], object]], times: int
) -> dict[str, Any]:
    """The medians of each row, in milliseconds, and their ratio."""
    table = {}
    for name, call in before.items():
        call(), after[name]()
        used = alternated({"before": call, "after": after[name]}, times)
        medians = {side: statistics.median(used[side]) for side in used}
        ratio = medians["after"] / medians["before"]
        table[name] = {
            **{side: round(1000 * seconds, 1) for side, seconds in medians.items()},
            "ratio": round(ratio, 3),
        }
        print(
            f"{name:<52} {1000 * medians['before']:8.1f} {1000 * medians['after']:8.1f} "
            f"{ratio:6.2f}",
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
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        space = build_space(root, words.documents, 8, 90)
        program = launcher(root)
        before = Version(extracted(words.commit, root / "before"), root / "b", program, space)
        after = Version(TREE / "src", root / "a", program, space)
        for version in (before, after):
            version.run("index", "--no-embed")
            version.check()
        print(f"{'milliseconds':<52} {'before':>8} {'after':>8}  ratio")
        earlier = {name: call for name, call in rows(before).items() if words.only in name}
        table = compare(earlier, rows(after), words.times)
        if not words.only:
            table |= compare({"index, all": before.index}, {"index, all": after.index}, INDEXED)
        taken: list[tuple[str, str, Path | None]] = [
            ("import and index of sessions", "take_in", words.sessions),
            ("index of notes with vectors", "embed", words.notes),
        ]
        for name, method, source in taken:
            if source and words.only in name:
                calls = [
                    partial(getattr(each, method), source.resolve()) for each in (before, after)
                ]
                table |= compare({name: calls[0]}, {name: calls[1]}, INDEXED)
    results = {"before": words.commit, "documents": words.documents, "rows": table}
    if not words.only:
        save(f"before-after-{words.commit[:7]}", results)


if __name__ == "__main__":
    main()
