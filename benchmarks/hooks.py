"""How long an agent waits for its hooks, as ratios to `python -c pass`, the bare interpreter.

    python benchmarks/hooks.py [--observations 100000] [--times 101] [--payloads FILE.jsonl]

Payloads go through the command as a current pip installs it, a process each, over a journal and an
index of the given size, with pins, a plan, summaries and 2,000 memories, in turns with the
baseline. With `--payloads` those of a real client are replayed, one JSON object a line; their
folder and ids are replaced.
Afterwards every event has to be in the journal, once.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journal import NO_LIMIT, Bench, alternated, as_saved, p95
from kinen import Memory
from kinen.journal import memories
from kinen.model.journal import Learned
from record import save
from speed import KINEN, Row, process, prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Payload = dict[str, Any]

FIXTURES = Path(__file__).parents[1] / "tests" / "agents" / "payloads"
MEMORIES = 2_000
AGAINST = "python -c pass"
LAUNCHER = """#!{python}
import sys
from kinen.cli import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
"""The command that a current pip writes; older ones import `re` in it."""
RECORDED = ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStop", "Stop")


def sample_payloads(folder: str) -> Iterator[Payload]:
    """One payload of each kind, as the client sends them."""
    base = {"session_id": "s1", "transcript_path": "/nowhere", "cwd": folder, "prompt_id": "p1"}
    output = "\n".join(f"tests/test_{n}.py::test_one PASSED" for n in range(60))
    patch = [{"oldStart": 7, "oldLines": 3, "newStart": 7, "newLines": 3}]
    patch[0]["lines"] = [" def wait(self):", "-    return 1", "+    return self.pause"]
    file = {"file_path": f"{folder}/src/limiter.py", "old_string": "return 1"}
    edited = {"filePath": file["file_path"], "structuredPatch": patch, "originalFile": output * 4}
    ran = {"tool_name": "Bash", "tool_input": {"command": "pytest -q tests"}}
    for name, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Why does the limiter sleep in its tests? " * 8}),
        ("PostToolUse", {**ran, "tool_response": {"stdout": output, "stderr": ""}}),
        ("PostToolUse", {"tool_name": "Edit", "tool_input": file, "tool_response": edited}),
        ("PostToolUse", {"tool_name": "Read", "tool_input": file, "tool_response": {}}),
        ("PostToolUseFailure", {**ran, "error": f"Exit code 1\n{output}"}),
        ("SubagentStop", {"agent_id": "a", "agent_type": "Explore"}),
        ("Stop", {"last_assistant_message": "The limiter waits for its bucket. " * 20}),
        ("PreCompact", {"trigger": "auto"}),
    ):
        ended = {"last_assistant_message": "found it"} if name == "SubagentStop" else {}
        yield {**base, "hook_event_name": name, "tool_use_id": "t", **more, **ended}


def captured(file: Path, folder: str) -> Iterator[Payload]:
    """The payloads of a real client, as if they came from a folder here; each kind once."""
    seen = set()
    for line in file.read_text().splitlines():
        data = json.loads(line)
        here = json.loads(line.replace(data["cwd"], folder))
        kind = (data["hook_event_name"], data.get("tool_name"), data.get("source"))
        expected = data.get("agent_type") != "" and "<task-" not in data.get("prompt", "")
        if kind not in seen and expected and kind[0] in (*RECORDED, "SessionStart", "PreCompact"):
            seen.add(kind)
            yield here


def launcher(folder: Path) -> str:
    """The path of a command `kinen` in a folder."""
    path = folder / "kinen"
    path.write_text(LAUNCHER.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def agents(folder: str, program: str, options: Payload) -> Iterator[Replayed]:
    """A command of each agent, as the fixtures of the tests have it."""
    for file in sorted(FIXTURES.glob("*.jsonl")):
        lines = file.read_text().replace("ROOT", folder).splitlines()
        event = next(json.loads(line) for line in lines if "echo hello" in line)
        words = [program, "hook", file.stem, *filter(None, [event["event"]])]
        payload = {"hook_event_name": "PostToolUse", "tool_use_id": "t", **event["payload"]}
        hook = Replayed(payload, words, **options)
        hook.name = f"{file.stem}, a command"
        hook.recorded = True
        yield hook


class Replayed:
    """One payload, sent again and again; a new event each time."""

    def __init__(self, payload: Payload, line: list[str], **options: Any) -> None:
        self.said, self.line, self.options, self.sent = payload, line, options, 0
        tool = payload.get("tool_name", "")
        self.name = payload["hook_event_name"] + (f" {tool}" if tool else "")
        self.name += (
            f" {payload['source']}" if payload.get("source") not in (None, "startup") else ""
        )
        self.recorded = payload["hook_event_name"] in RECORDED

    def __call__(self) -> None:
        self.sent += 1
        mark = f"{self.name} {self.sent}"
        fresh = {"tool_use_id": mark, "prompt_id": mark, "agent_id": mark}
        fresh["timestamp"] = f"2026-01-01T00:00:00.{self.sent:06d}Z"
        if not self.recorded:
            fresh["session_id"] = mark
        payload = {**self.said, **{key: fresh[key] for key in fresh if key in self.said}}
        process(self.line, input=json.dumps(payload).encode(), **self.options)


def remembered(memory: Memory) -> None:
    """Memories, pins and a plan, as a space of this size has them."""
    rng, now = random.Random(11), round(time.time() * 1000)
    existing = [
        Learned(f"{n:032x}", "decision", prose(rng, 14), rng.uniform(0.5, 1), now - n * 3_600_000)
        for n in range(MEMORIES)
    ]
    memories.learn(memory.core.store.db, existing)
    for summary in memory.journal.entries("summaries", limit=3)[0]:
        memory.journal.pin(summary.ref, "keep in mind")
    steps = "\n".join(f"- [ ] {prose(rng, 8)}" for _ in range(12))
    memory.worklog.save_plan("Ship the parcels", steps, activate=True)


def rows(bench: Bench, payloads: Path | None, times: int) -> Iterator[Row]:
    with bench.memory(bench.observations) as memory:
        memory.sync(embed=False)
        remembered(memory)
        space, home = memory.space.root, memory.space.home
        before = memory.journal.entries("observations")[1]
    env = {key: value for key, value in os.environ.items() if key != "CLAUDE_PROJECT_DIR"}
    options: dict[str, Any] = {"cwd": space, "env": {**env, "KINEN_HOME": home}}
    program = launcher(bench.root)
    line = [program, "hook", "claude-code"]
    message = captured(payloads, space) if payloads else sample_payloads(space)
    hooks = [Replayed(one, line, **options) for one in message]
    hooks += [] if payloads else agents(space, program, options)
    on = {**options, "env": {**options["env"], "KINEN_HOOKS_INJECT_ON_PROMPT": "true"}}
    prompt = next(hook for hook in hooks if hook.name == "UserPromptSubmit")
    output = Replayed(prompt.said, line, **on)
    output.name = "UserPromptSubmit, injecting"
    bare = functools.partial(process, [sys.executable, "-c", "pass"], input=b"", **options)
    # Apart, since another environment has kinen find out anew where it is.
    for some, count in ((hooks, times), ([output], times // 3)):
        calls: dict[str, Callable[[], object]] = {element.name: element for element in some}
        calls["bare"] = bare
        alternated(calls, 5)
        seconds = alternated(calls, count)
        for entry in some:
            limit = NO_LIMIT if entry is output else 2.0 if entry.recorded else 4.0
            for name, of in (("p50", statistics.median), ("p95", p95)):
                ours, base = of(seconds[entry.name]), of(seconds["bare"])
                yield Row(f"{entry.name}, {name}", ours, base, limit, AGAINST)
    with Memory.open(space, home=home) as memory:
        written = memory.journal.entries("observations")[1] - before
    total = sum(item.sent for item in (*hooks, output) if item.recorded)
    assert written == total, f"{written} of {total} observations are in the journal"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=101)
    parser.add_argument("--payloads", type=Path, help="JSON lines that a real client sent")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    assert subprocess.run([KINEN, "hook", "claude-code"], input=b"{}", check=False).returncode == 0
    results: dict[str, dict[str, Any]] = {}
    print(f"{'row':<42} {'ratio':>7} {'limit':>6}  {'ours':>9} {'baseline':>9}")
    with tempfile.TemporaryDirectory(prefix="kinen-hooks-") as temporary:
        for row in rows(Bench(Path(temporary), chosen.observations), chosen.payloads, chosen.times):
            results[row.name] = as_saved(row)
            limit = "" if row.limit == NO_LIMIT else f"{row.limit:.2f}"
            mark = "" if row.ratio <= row.limit else "  ← over"
            text = f"{row.ratio:>7.2f} {limit:>6}  {row.ours:>9.4f} {row.baseline:>9.4f}"
            print(f"{row.name:<42} {text}{mark}", flush=True)
    if not chosen.no_save:
        save("hooks", results)


if __name__ == "__main__":
    main()
