"""Real sessions of coding agents, imported and then asked about.

    python benchmarks/transcripts.py --data DIR [--no-save]

DIR has a folder transcripts with sessions of Claude Code, Codex and Gemini CLI. Each question is
about one of them, and was written after reading it; two of the sessions did the same chores in two
versions of a project. A question's rank is that of the first hit of its session among all hits, not
among sessions; the rank of its answer is that of the first that has the telling words besides.
Times are of the whole import, against parsing the same files as JSON; "again" imports what is there
already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable

ANNOTATIONS, LIVE = "258c7280-ae70-4798-800f-63464d01a85d", "fa812bfe-b295-4cca-9c2f-fdf01028cb46"
GO_CLAUDE, PYDANTIC = "e9f146fa-3b20-48d0-9be4-d99ca901cae4", "b162b1ae-97bc-475f-9b5f-ffbf55ca5b3f"
GO_CODEX, DISCORD = "01996135-afde-7911-97f0-d863511eca56", "0ab84937-9fe7-4284-986a-33c832af0b6a"
QUESTIONS = (
    ("why did the generated SQLite migration have to be rewritten by hand", ANNOTATIONS, "rewr"),
    ("the live view test could not see records of the test's own database", ANNOTATIONS, "sandbox"),
    ("what must a hook print at session start to inject context", ANNOTATIONS, "additionalContext"),
    ("compiler says an alias is unused although it is used in a rescue block", LIVE, "rescue"),
    ("after how long is a session considered stale, and how often is that checked", LIVE, "90"),
    ("why did syncing twice leave four messages instead of two", LIVE, "uuid"),
    ("do we still need the toolchain line in go.mod", GO_CLAUDE, "toolchain"),
    ("notes on how to use Field, from the library docs", PYDANTIC, "Field"),
    ("is the python requirement in example.py only a comment", GO_CODEX, "example.py"),
    ("run everything of the discord bot through uv", DISCORD, "uv run"),
)
DEPTH = 10


def measured(data: Path) -> dict[str, Any]:
    source = data / "transcripts"
    with tempfile.TemporaryDirectory() as created:
        root = Path(created, "space")
        (root / ".kinen").mkdir(parents=True)
        with Memory.open(root, home=Path(created, "home")) as memory:
            took, loaded = _timed(lambda: memory.transfer.import_transcripts(source))
            again, nothing = _timed(lambda: memory.transfer.import_transcripts(source))
            assert not any(nothing.added.values())
            parse = min(_timed(lambda: _parsed(source))[0] for _ in range(3))
            index = _timed(memory.sync)[0]
            results = {text: _search(memory, text, *expected) for text, *expected in QUESTIONS}
    ranks = [value["rank"] for value in results.values()]
    return {
        "import": {
            "megabytes": sum(path.stat().st_size for path in source.rglob("*.jsonl")) / 1e6,
            "seconds": took,
            "of parsing": took / parse,
            "again, of parsing": again / parse,
            "index and embed, seconds": index,
        },
        "added": loaded.added,
        "questions": results,
        "in the first three": sum(0 < rank <= 3 for rank in ranks),
        "first": ranks.count(1),
        "answers in the first three": sum(0 < item["answer"] <= 3 for item in results.values()),
        "search, ms": statistics.median(case["ms"] for case in results.values()),
    }


def _search(memory: Memory, text: str, session: str, telling: str) -> dict[str, Any]:
    memory.search(Query(text, limit=DEPTH))
    took, hits = _timed(lambda: memory.search(Query(text, limit=DEPTH)))
    right = [n for n, hit in enumerate(hits, 1) if hit.record.session == session]
    ns = [n for n, hit in enumerate(hits, 1) if n in right and telling in hit.chunk.text]
    ranks = {"rank": min(right, default=0), "answer": min(ns, default=0)}
    return {**ranks, "session": session[:8], "ms": took * 1e3}


def _parsed(folder: Path) -> None:
    for path in folder.rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            json.loads(line)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def show(results: dict[str, Any]) -> None:
    for name, value in results.items():
        if name == "questions":
            print("rank  answer  session   question")
            for text, item in value.items():
                rank, answer = item["rank"] or "-", item["answer"] or "-"
                print(f"{rank:>4}  {answer:>6}  {item['session']}  {text}")
        elif isinstance(value, dict):
            print(
                name, "  ".join(f"{key} {number:,.4g}" for key, number in value.items()), sep=": "
            )
        else:
            print(f"{name}: {value:,.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the real sessions")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = measured(chosen.data)
    show(results)
    if not chosen.no_save:
        save("transcripts", results)


if __name__ == "__main__":
    main()
