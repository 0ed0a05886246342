"""Whether the sessions of a clone are those that importing their transcripts by hand gives.

    python benchmarks/traces.py GIT_DIR … [--show N]

The repositories are git directories with Entire's checkpoints. Each is cloned twice: one clone is
indexed with its checkpoints; from the other they are taken away, and the longest transcript of
each session is imported as a file. Compared are the prompts, edits, commands, errors and other
events of each session, each with its text and files. The time is the CPU time of kinen and git: of
the first index beside that of the clone without checkpoints, and of a second one without changes.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkpoint_sessions import longest_transcripts, write
from history import NO_VECTORS, clone, clone_name, git
from kinen import Memory
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable

    Event = tuple[str, str, tuple[str, ...]]
    Sessions = dict[str, Counter[Event]]

KINDS = ("prompt", "file_diff", "command", "error")
CHECKPOINTS = "entire/checkpoints/v1"


def cpu(call: Callable[[], object]) -> float:
    before = os.times()
    call()
    return sum(os.times()[:4]) - sum(before[:4])


def sessions(memory: Memory) -> Sessions:
    """The events of each session in the index."""
    rows: Sessions = {}
    for record in memory.core.reader.records(("observation",)):
        about = record.metadata or {}
        kind = "prompt" if about.get("role") == "user" else str(about["event"])
        files = tuple(about.get("files", ()))
        event = (kind, memory.records.whole_text(record.ref), files)
        rows.setdefault(record.session, Counter())[event] += 1
    return rows


def measure(source: str, show: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        root = clone(source, folder)
        (folder / "bare").mkdir()
        bare = clone(source, folder / "bare")
        for ref in git(bare, "for-each-ref", "--format=%(refname)").splitlines():
            if ref.endswith(CHECKPOINTS):
                git(bare, "update-ref", "-d", ref)
        transcripts = folder / "transcripts"
        transcripts.mkdir()
        for name, transcript in longest_transcripts(root).items():
            write(root, transcripts, name, transcript)
        with Memory.open(root, home=folder / "home", settings=NO_VECTORS) as memory:
            first = cpu(lambda: memory.sync(embed=False))
            again = cpu(lambda: memory.sync(embed=False))
            traces = sessions(memory)
        with Memory.open(bare, home=folder / "other", settings=NO_VECTORS) as memory:
            plain = cpu(lambda: memory.sync(embed=False))
            memory.transfer.import_transcripts(transcripts)
            memory.sync(embed=False)
            imported = sessions(memory)
    for name in sorted({*traces, *imported}):
        one = traces.get(name, Counter())
        other = imported.get(name, Counter())
        differing = [*(("trace", *row) for row in one - other)]
        differing += [("import", *row) for row in other - one]
        for where, kind, text, files in differing[:show]:
            print(f"  {name[:12]} only in {where}: {kind} {files} {text[:300]!r}")
    return {
        "sessions": len(traces),
        "imported": len(imported),
        "equal": sum(traces[name] == imported.get(name) for name in traces),
        "events": {kind: pair(traces, imported, kind) for kind in (*KINDS, "other")},
        "cpu_s": {"with": first, "without": plain, "again": again},
    }


def pair(traces: Sessions, imported: Sessions, kind: str) -> dict[str, int]:
    """How many events of a kind there are, and how many of them both have."""
    counts = [
        Counter(
            {
                (name, event): number
                for name, events in rows.items()
                for event, number in events.items()
                if (event[0] if event[0] in KINDS else "other") == kind
            }
        )
        for rows in (traces, imported)
    ]
    both = counts[0] & counts[1]
    return {"trace": counts[0].total(), "import": counts[1].total(), "equal": both.total()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", metavar="GIT_DIR")
    parser.add_argument("--show", type=int, default=0, help="differences to print, by session")
    options = parser.parse_args()
    results = {}
    print(f"SQLite {sqlite3.sqlite_version}")
    for source in options.repositories:
        name = clone_name(source)
        results[name] = row = measure(source, options.show)
        seconds = row["cpu_s"]
        more = seconds["with"] - seconds["without"]
        each = 100 * more / max(1, row["sessions"])
        kinds = ", ".join(
            f"{kind} {counts['equal']} of {counts['trace']} and {counts['import']}"
            for kind, counts in row["events"].items()
        )
        print(f"{name}: {row['equal']} of {row['sessions']} sessions equal; {kinds}")
        print(
            f"  {more:.1f} s CPU for the sessions, {each:.1f} s for 100;"
            f" without them {seconds['without']:.1f} s; again {seconds['again']:.2f} s"
        )
    save("traces", results)


if __name__ == "__main__":
    main()
