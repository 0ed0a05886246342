"""What a handoff and the next session start hold of sessions that a model has summed up.

    python benchmarks/summaries.py --data FILE.jsonl --repo GIT_FOLDER [--before COMMIT] [--only N]

FILE has one session a line as Entire stores it (`outcome`, `open_items`, `friction`, `learnings`,
and the `path` of its metadata); GIT_FOLDER is a clone of its repository, whose branch
`entire/checkpoints/v1` has the transcripts. Each transcript is imported into a space of its own,
and `kinen handoff` and the start of a new session (600 tokens) are compared with the summary: a
statement counts as held if half of its names and numbers and half of its other words are in one
of the lines or sections, in any order. That is no judgement of meaning, so `--show N` prints the
first sessions to be read. `--before` measures an earlier commit in the same way.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from record import save

TREE = Path(__file__).parents[1]
SHARE = 0.5
KINDS = ("outcome", "open items", "learnings", "friction")
_TOKEN = re.compile(r"[\w./@-]*\w")


def statements(row: dict[str, Any]) -> dict[str, list[str]]:
    """What the summary of a session says, by kind."""
    learned = row["learnings"]
    code = [f"{finding['path']}: {finding['finding']}" for finding in learned.get("code", ())]
    return {
        "outcome": [row["outcome"]],
        "open items": row["open_items"],
        "learnings": [*learned.get("repo", ()), *learned.get("workflow", ()), *code],
        "friction": row["friction"],
    }


def _parts(text: str) -> tuple[set[str], set[str]]:
    """The names and numbers of a text, and its other words."""
    tokens = _TOKEN.findall(text)
    names = {t.lower() for t in tokens if re.search(r"\d|[_./]\w|[a-z][A-Z]", t)}
    words = {t.lower() for t in tokens if len(t) > 3 and t.lower() not in names}
    return names, words


def held(statement: str, text: str) -> bool:
    names, words = _parts(statement)
    low = text.lower()
    found = sum(name in low for name in names)
    others = sum(word in low for word in words)
    return found >= SHARE * len(names) and others >= SHARE * len(words)


def sections(text: str) -> list[str]:
    """A report in pieces in which a statement may stand: each paragraph or list below a heading."""
    return [piece for piece in re.split(r"\n(?=#)|\n\n", text) if piece.strip()]


class Version:
    """The commands of one tree in a home and a repository of their own."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "project"
        subprocess.run(["git", "init", "-q", "-b", "main", self.root], check=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KINEN_HOME": str(folder / "kinen"),
            "PYTHONPATH": str(source),
            "KINEN_DAEMON_AUTO_START": "false",
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
        }

    def run(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "kinen", *words],
            cwd=self.root,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def told(self, transcript: bytes) -> dict[str, str]:
        file = self.root.parent / "session.jsonl"
        file.write_bytes(transcript)
        self.run("import", "transcripts", str(file))
        start = {"session_id": "next", "hook_event_name": "SessionStart", "source": "startup"}
        answer = self.run("hook", "claude-code", stdin=json.dumps(start))
        return {"handoff": self.run("handoff"), "session start": answer}


def measured(source: Path, rows: list[dict[str, Any]], repo: Path, show: int) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {"handoff": Counter(), "session start": Counter()}
    totals: Counter[str] = Counter()
    for number, row in enumerate(rows):
        name = f"entire/checkpoints/v1:{row['path'].rpartition('/')[0]}/full.jsonl"
        blob = subprocess.run(["git", "-C", repo, "show", name], capture_output=True, check=True)
        with tempfile.TemporaryDirectory() as folder:
            told = Version(source, Path(folder)).told(blob.stdout)
        for kind, lines in statements(row).items():
            totals[kind] += len(lines)
            for report, text in told.items():
                counts[report][kind] += sum(
                    any(held(line, piece) for piece in sections(text)) for line in lines
                )
        if number < show:
            print(f"\n=== {row['intent']}\n{json.dumps(statements(row), indent=1)}")
            print("\n".join(f"--- {report}\n{text}" for report, text in told.items()))
    return {"of": dict(totals), **{report: dict(count) for report, count in counts.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--only", type=int, metavar="N", help="the first N sessions")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text().splitlines()][: options.only]
    results: dict[str, Any] = {"now": measured(TREE / "src", rows, options.repo, options.show)}
    if options.before:
        packed = subprocess.run(
            ["git", "archive", options.before, "src"], cwd=TREE, capture_output=True, check=True
        )
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
                archive.extractall(folder, filter="data")
            source = Path(folder, "src")
            results[f"at {options.before}"] = measured(source, rows, options.repo, 0)
    print(f"{'':22}" + "".join(f"{kind:>14}" for kind in KINDS))
    for tree, result in results.items():
        for report in ("handoff", "session start"):
            cells = (f"{result[report].get(k, 0):>8}/{result['of'].get(k, 0):<5}" for k in KINDS)
            print(f"{tree[:8]:8} {report:13}" + "".join(cells))
    save("summaries", results)


if __name__ == "__main__":
    main()
