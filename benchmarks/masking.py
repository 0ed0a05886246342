"""What masking finds and leaves, by family, and what it costs beside an earlier commit.

    python benchmarks/masking.py [COMMIT] [--times 7] [--verbose]

The shapes are those of `tests/secret_shapes.py`; `--verbose` prints what is missed. With a commit,
the rules of both trees see the same texts in turns, in processes of their own: the pages, the code
and the history of this repository, cut as tool outputs are. A ratio is this tree's CPU time to the
earlier one's, the median of all turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from before_after import extracted
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable

TREE = Path(__file__).parents[1]
sys.path.insert(0, str(TREE / "tests"))

from secret_shapes import (  # noqa: E402
    LOOK_ALIKES,
    SECRETS,
    Shape,
    look_alike_stays,
    shape_is_masked,
    shapes,
)

LONGEST = 20_000
"""Characters of a text, as of the output of a tool."""
MEASURED = """
import json, sys, time
from kinen.privacy import entrance
texts = json.load(open(sys.argv[1]))
start = time.process_time()
for text in texts["quiet"][:1]:
    entrance.masked(text)
quiet = time.process_time() - start
start = time.process_time()
for text in texts["named"][:1]:
    entrance.masked(text)
named = time.process_time() - start
results = {"first text without words": quiet, "first text with words": named}
for name, some in texts.items():
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        for text in some:
            entrance.masked(text)
        best = min(best, time.process_time() - start)
    results[name] = best
print(json.dumps(results))
"""


def counted(
    families: dict[str, tuple[str, ...]], right: Callable[[Shape], bool], verbose: bool
) -> dict[str, Any]:
    """How many shapes of each family are right, by half."""
    results: dict[str, Any] = {}
    for shape in shapes(families):
        row = results.setdefault(shape.family, {"tuned": [0, 0], "held": [0, 0]})[shape.half]
        good = right(shape)
        row[0] += good
        row[1] += 1
        if verbose and not good:
            print(f"  {shape.half}: {shape.text!r}")
    return results


def show(title: str, results: dict[str, Any]) -> dict[str, Any]:
    print(f"\n{title:32} {'tuned':>12} {'held':>12}")
    total = {"tuned": [0, 0], "held": [0, 0]}
    for family, row in results.items():
        print(f"{family:32} {'{}/{}'.format(*row['tuned']):>12} {'{}/{}'.format(*row['held']):>12}")
        for half, (good, every) in row.items():
            total[half][0] += good
            total[half][1] += every
    shares = [f"{100 * good / every:.1f} %" for good, every in total.values()]
    print(f"{'all':32} {shares[0]:>12} {shares[1]:>12}")
    return {**results, "all": total}


def tool_outputs() -> dict[str, list[str]]:
    """Texts of this repository: those that have no word of a secret, and those that have one."""
    from kinen.privacy.entrance import _may_hold_secret

    log = subprocess.run(
        ["git", "log", "--stat", "-400"], cwd=TREE, capture_output=True, text=True, check=True
    ).stdout
    lines = log.splitlines()
    texts = ["\n".join(lines[n : n + 60]) for n in range(0, len(lines), 60)]
    texts += ["\n".join(f"tests/test_{n}.py::test_one PASSED [ {n}%]" for n in range(99))]
    for path in sorted((TREE / "src").rglob("*.py")) + sorted((TREE / "docs").rglob("*.md")):
        texts.append(path.read_text(encoding="utf-8")[:LONGEST])
    named = [text for text in texts if _may_hold_secret(text)]
    return {"quiet": [text for text in texts if text not in named], "named": named}


def costs(commit: str, times: int) -> dict[str, Any]:
    """CPU time of this tree's rules as a multiple of an earlier commit's."""
    texts = tool_outputs()
    sizes = {name: sum(map(len, some)) for name, some in texts.items()}
    runs: dict[str, list[dict[str, float]]] = {"this": [], "earlier": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts))
        trees = {"this": TREE / "src", "earlier": extracted(commit, Path(folder))}
        for _ in range(times):
            for name, source in trees.items():
                program = f"import sys; sys.path.insert(0, {str(source)!r})\n{MEASURED}"
                words = [sys.executable, "-I", "-S", "-c", program, str(file)]
                out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                runs[name].append(json.loads(out))
    print(f"\nCPU time beside {commit} ({times} turns)")
    results = {}
    for row in runs["this"][0]:
        mine = [run[row] for run in runs["this"]]
        ratio = statistics.median(
            a[row] / b[row] for a, b in zip(runs["this"], runs["earlier"], strict=True)
        )
        speed = sizes[row] / min(mine) / 1e6 if row in sizes else None
        results[row] = {"ratio": round(ratio, 3), "seconds": min(mine), "MB/s": speed}
        figure = f"{speed:.1f} MB/s" if speed else f"{1e3 * min(mine):.2f} ms"
        print(f"{row:32} {ratio:8.2f} {figure:>14}")
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()

    results = {
        "secrets": show("secrets masked", counted(SECRETS, shape_is_masked, args.verbose)),
        "look-alikes": show(
            "look-alikes left", counted(LOOK_ALIKES, look_alike_stays, args.verbose)
        ),
    }
    if args.commit:
        results["cost"] = costs(args.commit, args.times)
    save("masking", results)


if __name__ == "__main__":
    main()
