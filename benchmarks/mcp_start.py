"""What `kinen mcp` costs until an agent has its tools, beside `python -c pass`.

    python benchmarks/mcp_start.py [--times 21] [--other TREE]

CPU seconds and peak memory of the whole process: started, `initialize` and `tools/list` answered,
input closed; and the same with a first call of `kinen_search`. In turns with the bare interpreter,
and with `--other` also with the same command of another checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kinen.text import estimate
from record import save

SOURCE = Path(__file__).parents[1] / "src"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
SEARCH = {"name": "kinen_search", "arguments": {"query": "kettle"}}
START: tuple[tuple[str, dict[str, Any]], ...] = (("initialize", HELLO), ("tools/list", {}))
COMMAND = [sys.executable, "-m", "kinen", "mcp"]
BARE = [sys.executable, "-c", "pass"]


def measured(
    command: list[str], requests: tuple[tuple[str, dict[str, Any]], ...], folder: Path, source: Path
) -> tuple[float, float, list[str]]:
    """CPU seconds, MB at the peak, and the answers of a process."""
    env = {**os.environ, "PYTHONPATH": str(source), "HOME": str(folder)}
    env |= {"KINEN_HOME": str(folder / "home"), "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=folder / "space", env=env, **pipes)
    assert process.stdin
    assert process.stdout
    answers = []
    for number, (method, params) in enumerate(requests):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        answers.append(process.stdout.readline().decode())
    process.stdin.close()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not all(answers):
        raise SystemExit(f"{command}: {process.returncode}, {answers}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=21)
    parser.add_argument("--other", type=Path, help="another checkout")
    arguments = parser.parse_args()
    cases: dict[str, tuple[list[str], tuple[tuple[str, dict[str, Any]], ...], Path]] = {
        "python -c pass": (BARE, (), SOURCE),
        "tools listed": (COMMAND, START, SOURCE),
        "first search": (COMMAND, (*START, ("tools/call", SEARCH)), SOURCE),
    }
    if arguments.other:
        other = arguments.other / "src"
        cases["tools listed, other"] = (COMMAND, START, other)
        cases["first search, other"] = (COMMAND, (*START, ("tools/call", SEARCH)), other)
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    memory: dict[str, float] = {}
    tokens: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "space" / ".kinen").mkdir(parents=True)
        (folder / "space" / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
        for _ in range(arguments.times):
            for case, (command, requests, source) in cases.items():
                taken, peak, answers = measured(command, requests, folder, source)
                seconds[case].append(taken)
                memory[case] = max(peak, memory.get(case, 0))
                if len(answers) > 1:
                    tools = json.loads(answers[1])["result"]["tools"]
                    shown = ("name", "description", "inputSchema")
                    texts = ({key: tool[key] for key in shown} for tool in tools)
                    sizes = (estimate(json.dumps(text, separators=(",", ":"))) for text in texts)
                    tokens[case] = sum(sizes)
    bare = statistics.median(seconds["python -c pass"])
    results = {}
    print(f"{'case':<22} {'CPU ms':>8} {'ratio':>7} {'MB':>5} {'tokens':>7}")
    for case, taken_all in seconds.items():
        median = statistics.median(taken_all)
        row = {
            "cpu_ms": round(1000 * median, 1),
            "ratio": round(median / bare, 2),
            "peak_mb": round(memory[case], 1),
            "tokens_listed": tokens.get(case, 0),
        }
        results[case] = row
        figures = (
            f"{row['cpu_ms']:>8} {row['ratio']:>7} {row['peak_mb']:>5} {tokens.get(case, 0):>7}"
        )
        print(f"{case:<22} {figures}")
    save("mcp-start", results)


if __name__ == "__main__":
    main()
