"""What is drawn without a model from labelled data, and how much of it is right.

    python benchmarks/memories.py --data DIR [--list]

Figures are saved in `results/`.

DIR has `statements/statements.jsonl` (sentences of real sessions with the label of a reader),
`summaries/*.jsonl` (what a model wrote of real sessions) and `transcripts/` (real sessions). A
statement is read alone, as the only message of a session: what an agent said on the way counts as
its last message, and no choice among options can be drawn. Of summaries, intent and outcome are
read.

One that is drawn is right if the reader called it a rule, a decision or a lesson. What is drawn
from summaries and transcripts has no labels: `--list` prints it, to be read by eye.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kinen.consolidation.conversations import from_session
from kinen.model.journal import Finding, Observation
from kinen.text.labels import labelled
from record import save

LEAST = 0.7
RIGHT = ("R", "L")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--list", action="store_true", help="print what is drawn")
    arguments = parser.parse_args()
    rows = [*statements(arguments.data / "statements/statements.jsonl")]
    right = sum(label in RIGHT for label, _ in rows)
    print(f"statements: {len(rows)} drawn, {right} right by their readers")
    texts = [*summaries(arguments.data / "summaries")]
    print(f"summaries:  {len(texts)} drawn")
    memories = transcripts(arguments.data / "transcripts")
    print(f"transcripts: {len(memories)} drawn")
    save(
        "memories",
        {
            "statements": len(rows),
            "statements_right": right,
            "summaries": len(texts),
            "transcripts": len(memories),
        },
    )
    if arguments.list:
        for label, finding in rows:
            print(f"  {label} {finding.type}: {finding.content}")
        for line in (*texts, *memories):
            print(f"  - {line}")


def statements(file: Path) -> list[tuple[str, Finding]]:
    """The findings in labelled statements, each with the label of its statement."""
    found = []
    for number, line in enumerate(file.read_text().splitlines()):
        row = json.loads(line)
        event = Observation(
            f"o{number}", "message", row["text"], number, provenance={"role": row["role"]}
        )
        drawn = from_session([event])
        found += [(row["label"], finding) for finding in drawn if finding.confidence >= LEAST]
    return found


def summaries(folder: Path) -> list[str]:
    """What is labelled in the prose of summaries: their outcome and intent."""
    found = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            for name in ("intent", "outcome"):
                found += [f"{entry.type}: {entry.text}" for entry in labelled(str(row[name]))]
    return found


def transcripts(folder: Path) -> list[str]:
    """The memories of a scratch space into which all transcripts were imported."""
    with tempfile.TemporaryDirectory() as scratch:
        space = Path(scratch) / "space"
        space.mkdir()
        env = {**os.environ, "HOME": scratch, "KINEN_HOME": f"{scratch}/home"}

        def run(*words: str) -> str:
            done = subprocess.run(words, cwd=space, env=env, capture_output=True, check=False)
            if done.returncode > 1:  # 1 says that there is nothing
                raise SystemExit(done.stderr.decode())
            return done.stdout.decode()

        kinen = (sys.executable, "-m", "kinen")
        run("git", "init", "-q")
        run(*kinen, "init")
        run(*kinen, "import", "transcripts", str(folder.resolve()))
        run(*kinen, "consolidate", "--since", "2000-01-01")
        listed = run(*kinen, "memories", "list", "--limit", "0", "--json")
    rows = json.loads(listed or "{}").get("memories", [])
    return [f"{row['type']}: {row['content']}" for row in rows]


if __name__ == "__main__":
    main()
