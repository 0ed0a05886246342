"""Runs kinen in a process of its own, and measures what a command took.

A process that is forked begins with the size of its parent, and pytest is large: a small process in
between starts the command, so that the peak is the command's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

BETWEEN = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


class Usage(NamedTuple):
    """What a command printed, and what it took."""

    code: int
    out: str
    cpu: float
    megabytes: float
    seconds: float


def measured(folder: Path, *words: str) -> Usage:
    """Run kinen in a folder; where there is no `resource`, as on Windows, this cannot be done."""
    began = time.perf_counter()
    command = [sys.executable, "-c", BETWEEN, sys.executable, "-m", "kinen", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    code, out, cpu, peak = json.loads(done.stdout)
    megabytes = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    usage = Usage(code, out, cpu, megabytes, time.perf_counter() - began)
    print(f"{' '.join(words)[:40]:40} {usage.seconds:8.2f} s {cpu:8.2f} s CPU {megabytes:6.0f} MB")
    return usage


def start_indexing(space: Path, *words: str) -> subprocess.Popen[str]:
    """Start `kinen index` in a folder; its output is piped."""
    return subprocess.Popen(
        [sys.executable, "-m", "kinen", "index", *words],
        cwd=space,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
