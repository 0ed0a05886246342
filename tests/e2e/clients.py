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
from pathlib import Path

PINNED = {
    "@anthropic-ai/claude-code": "2.1.325",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.166.0",
    "opencode-ai": "1.18.18",
    # What checks the types of our plugin for OpenCode.
    "@opencode-ai/plugin": "1.18.18",
    "@types/node": "22.20.5",
    "typescript": "5.9.3",
}
MCP = {
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
}
"""Clients of `kinen mcp`, which need a newer node."""
PROBE = 15
"""Seconds that npm may take to know a package."""
NODE = 20
"""The oldest that they run on; where there is only an older one, npm brings a newer."""
NEWER = "22"
PATIENCE = 240
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
    node = shutil.which("node", path=own_node(place)) or shutil.which("node")
    return f"{place / 'node_modules' / '.bin'}:{Path(str(node)).parent}:/usr/bin:/bin"


def install(folder: Path) -> None:
    """Whatever is not there yet in its pinned version."""
    if not shutil.which("npm"):
        if not shutil.which("apt-get") or os.geteuid():
            raise Missing("node and npm are not installed")
        run("apt-get", "update", "-q")
        run("apt-get", "install", "-qy", "--no-install-recommends", "nodejs", "npm")
    wanted = [
        f"{name}@{version}" for name, version in PINNED.items() if at(folder, name) != version
    ]
    if major() < NODE and not os.path.isdir(own_node(folder)):
        wanted.append(f"node-{system()}@{NEWER}")
    if wanted:
        quickly = ("--fetch-retries=1", "--fetch-timeout=60000", "--no-audit", "--no-fund")
        run("npm", "install", "--prefix", str(folder), *quickly, *wanted)


def probe() -> str:
    """Why a client cannot be had from npm; empty if all can."""
    if not shutil.which("npm"):
        return "npm is not installed"
    for name, version in {**PINNED, **MCP}.items():
        command = ["npm", "view", "--fetch-retries=0", f"{name}@{version}", "version"]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=PROBE
            )
        except subprocess.TimeoutExpired:
            return f"npm does not answer within {PROBE} s"
        if version not in ran.stdout:
            return f"npm has no {name} {version}"
    return ""


def at(folder: Path, name: str) -> str:
    """The version of a package that is there, or nothing."""
    about = folder / "node_modules" / name / "package.json"
    return str(json.loads(about.read_text())["version"]) if about.exists() else ""


def own_node(folder: Path) -> str:
    return str(folder / "node_modules" / f"node-{system()}" / "bin")


def system() -> str:
    machine = {"aarch64": "arm64", "x86_64": "x64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"


def major() -> int:
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    return int(said.stdout.strip().lstrip("v").split(".")[0] or 0)


def run(*command: str) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{' '.join(command[:2])} did not end within {PATIENCE} s") from error
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines()
        raise Missing(f"{' '.join(command[:2])} ended with {ran.returncode}: {said[-1:]}")


if __name__ == "__main__":
    sys.exit(probe() or 0)
