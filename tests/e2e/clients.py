"""The real clients, installed once into a folder that later runs use again.

`python tests/e2e/clients.py` says in some seconds whether npm has them all, and why not.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PINNED = {
    "@anthropic-ai/claude-code": "2.1.325",
    "@earendil-works/pi-coding-agent": "0.80.10",
    "@github/copilot": "1.0.102",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.166.0",
    "@qwen-code/qwen-code": "0.24.4",
    "opencode-ai": "1.18.18",
    # What checks the types of our plugins.
    "@kilocode/plugin": "7.3.1",
    "@opencode-ai/plugin": "1.18.18",
    "@types/node": "22.20.5",
    "typescript": "5.9.3",
    # Clients of `kinen mcp`.
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
}
PROBE = 15
"""Seconds that npm may take to know a package."""
NODE = "22.23.3"
"""What they run on; npm brings it, since few systems have one that is new enough for all."""
PATIENCE = 400
"""Seconds that installing them may take."""


class Missing(Exception):
    """The clients cannot be had here, and why."""


def folder() -> Path:
    """Where the clients are installed."""
    default = Path(__file__).parents[2] / "build" / "e2e"
    return Path(os.environ.get("KINEN_E2E_CLIENTS") or default)


def path() -> str:
    """A PATH with the clients, with node, and with what they call."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(place)
    return f"{place / 'node_modules' / '.bin'}:{own_node(place)}:/usr/bin:/bin"


def install(folder: Path) -> None:
    """Whatever is not there yet in its pinned version; node first, since npm asks for its age."""
    if not shutil.which("npm"):
        if not shutil.which("apt-get") or os.geteuid():
            raise Missing("node and npm are not installed")
        run("apt-get", "update", "-q")
        run("apt-get", "install", "-qy", "--no-install-recommends", "nodejs", "npm")
    for packages in ({f"node-{system()}": NODE}, PINNED):
        missing = [
            f"{name}@{version}" for name, version in packages.items() if at(folder, name) != version
        ]
        if missing:
            quickly = ("--fetch-retries=1", "--fetch-timeout=60000", "--no-audit", "--no-fund")
            env = {**os.environ, "PATH": f"{own_node(folder)}:{os.environ['PATH']}"}
            run("npm", "install", "--prefix", str(folder), *quickly, *missing, env=env)


def probe() -> str:
    """Why a client cannot be had from npm; empty if all can, or are installed."""
    place = folder()
    absent = [package for package in PINNED.items() if at(place, package[0]) != package[1]]
    if not absent:
        return ""
    if not shutil.which("npm"):
        return "npm is not installed"
    pool = ThreadPoolExecutor(4)
    reason = next(filter(None, pool.map(missing, absent)), "")
    pool.shutdown(cancel_futures=True)
    return reason


def missing(package: tuple[str, str]) -> str:
    """Why npm does not have a package in a version; empty if it has."""
    name, version = package
    command = ["npm", "view", "--fetch-retries=0", f"{name}@{version}", "version"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE)
    except subprocess.TimeoutExpired:
        return f"npm does not answer within {PROBE} s"
    return "" if version in ran.stdout else f"npm has no {name} {version}"


def at(folder: Path, name: str) -> str:
    """The version of a package that is there, or nothing."""
    about = folder / "node_modules" / name / "package.json"
    return str(json.loads(about.read_text())["version"]) if about.exists() else ""


def own_node(folder: Path) -> str:
    return str(folder / "node_modules" / f"node-{system()}" / "bin")


def system() -> str:
    machine = {"aarch64": "arm64", "x86_64": "x64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"


def run(*command: str, env: dict[str, str] | None = None) -> None:
    try:
        ran = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{' '.join(command[:2])} did not end within {PATIENCE} s") from error
    if ran.returncode:
        printed = (ran.stderr or ran.stdout).strip().splitlines()
        raise Missing(f"{' '.join(command[:2])} ended with {ran.returncode}: {printed[-1:]}")


if __name__ == "__main__":
    sys.exit(probe() or 0)
