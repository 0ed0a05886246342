"""A journal that eight processes write while it is exported, and one of a million observations.

`make stress` runs both at full size and prints what each command took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from usage import Usage, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
WRITERS = 8
EACH = 5_000 if LONG else 150
"""Observations of one writer."""
OBSERVATIONS = 1_000_000 if LONG else 5_000
SESSION = 500
"""Observations of one session in the large journal."""
MEMORY_MB = 700
"""What any command on the large journal may hold at its peak."""

WRITER = """
import sys
from kinen import Memory
root, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(root) as memory:
    for n in range(count):
        entry = memory.observe(f"writer {name} saw event {n}", scope={"session": name})
        sys.stdout.write(entry.id + "\\n")
        sys.stdout.flush()
"""


def test_an_export_beside_eight_writers_is_whole(space: Path, kinen, tmp_path: Path) -> None:
    outputs = [tmp_path / f"ids-{n}" for n in range(WRITERS)]
    writers = []
    for n, output in enumerate(outputs):
        command = [sys.executable, "-c", WRITER, str(space), f"w{n}", str(EACH)]
        with output.open("wb") as file:
            writers.append(subprocess.Popen(command, stdout=file))
    bundles: list[tuple[Path, set[str]]] = []
    while any(writer.poll() is None for writer in writers):
        durable = {id_ for output in outputs for id_ in acknowledged(output)}
        bundle = tmp_path / f"bundle-{len(bundles)}.json"
        ran = kinen("export", str(bundle))
        assert ran.code == 0, ran.err
        bundles.append((bundle, durable))
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    assert bundles
    for bundle, durable in (bundles[0], bundles[len(bundles) // 2], bundles[-1]):
        entries = json.loads(bundle.read_text())["observations"]
        ids = [entry["id"] for entry in entries]
        assert len(set(ids)) == len(ids)
        assert durable <= set(ids)
    last = bundles[-1][0]
    exported = len(json.loads(last.read_text())["observations"])
    other = {"KINEN_HOME": str(tmp_path / "other home")}
    ran = kinen("import", str(last), "--json", **other)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["added"]["observations"] == exported


def acknowledged(output: Path) -> Iterator[str]:
    """The ids a writer has printed completely."""
    for line in output.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            yield line.strip()


@pytest.fixture
def measure(space: Path) -> Callable[..., Usage]:
    """Runs a command in the space, and fails unless it succeeds."""

    def run(*words: str) -> Usage:
        usage = measured(space, *words)
        assert usage.code == 0, usage.out
        return usage

    return run


def write_bundle(path: Path, count: int) -> None:
    """Sessions of 500 commands and messages each; every one names its own number."""
    began = 1_700_000_000_000
    with path.open("w") as file:
        file.write(f'{{"version": "1.0", "exported_at": {began}, "observations": [\n')
        for n in range(count):
            entry = {
                "id": f"01J0{n:022d}",
                "kind": "command" if n % 3 else "message",
                "content": f"$ make part-{n}\nbuilt target{n % 997} of module{n % 89} in {n} ms",
                "ts": began + n * 1000,
                "scopeIds": {"sessionId": f"session-{n // SESSION}"},
            }
            file.write(json.dumps(entry) + (",\n" if n + 1 < count else "\n"))
        file.write("]}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a process is not known")
def test_a_large_journal_answers_within_its_memory(
    measure: Callable[..., Usage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    bundle = tmp_path / "bundle.json"
    write_bundle(bundle, OBSERVATIONS)
    last = OBSERVATIONS - 1
    usages = [measure("import", str(bundle)), measure("index")]
    usages.append(measure("log", "one more: the boiler is cold", "--session", "late"))
    usages.append(measure("search", "--fulltext", "boiler"))
    assert "boiler is cold" in usages[-1].out
    usages.append(measure("search", "--fulltext", f"part-{last}"))
    assert f"part-{last}" in usages[-1].out
    usages.append(measure("recall", f"which target was built for part-{last // 2}"))
    assert f"part-{last // 2}" in usages[-1].out
    usages.append(measure("list", "observations", "--limit", "20"))
    assert "boiler is cold" in usages[-1].out
    usages.append(measure("export", str(tmp_path / "again.json")))
    assert max(usage.megabytes for usage in usages) < MEMORY_MB
