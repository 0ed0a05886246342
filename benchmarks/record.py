"""Writes a benchmark's figures with the commit they were measured on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def path_of(name: str) -> Path:
    """`results/<name>-<commit>.json`; a tree with changes is marked as such."""
    commit, dirty = MEASURED
    return RESULTS / f"{name}-{commit}{'-dirty' if dirty else ''}.json"


def saved(name: str) -> dict[str, Any]:
    """What an earlier run on the same commit saved; empty if none did."""
    path = path_of(name)
    return json.loads(path.read_text())["results"] if path.exists() else {}


def save(name: str, results: dict[str, Any], *, quiet: bool = False) -> Path:
    """Write the figures; a benchmark that takes long does so after each phase."""
    commit, dirty = MEASURED
    RESULTS.mkdir(exist_ok=True)
    path = path_of(name)
    about = {
        "commit": commit,
        "dirty": dirty,
        "python": sys.version.split()[0],
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "system": platform.system(),
    }
    path.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    if quiet:
        return path
    print(f"\nwrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return path


def _git(*words: str) -> str:
    run = subprocess.run(
        ["git", *words], capture_output=True, text=True, check=False, cwd=RESULTS.parent
    )
    return run.stdout.strip()


# What a process takes by itself is measured; benchmarks/daemon.py starts its own.
os.environ["KINEN_DAEMON_AUTO_START"] = "false"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# As of the start: the code that is measured, whatever is committed meanwhile.
MEASURED = (
    _git("rev-parse", "--short=10", "HEAD") or "unknown",
    bool(_git("status", "--porcelain", "--", ":/src")),
)
