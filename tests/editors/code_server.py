"""VS Code as a server for browsers: code-server from npm, built once into a folder of its own.

`python tests/editors/code_server.py` builds it, or says why it cannot be had. It takes some minutes
the first time, most of it for modules in C++; compilers and headers have to be installed.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "4.139.1"
"""Of code-server; it is VS Code 1.139.1."""
NODE = "24.21.0"
"""The node that it runs on, which npm has as a package."""
NATIVE = ("@vscode/spdlog", "node-pty", "@parcel/watcher", "@vscode/sqlite3")
"""Modules that are compiled here; their downloads are not on npm."""
HEADERS = ("libkrb5-dev", "libxkbfile-dev", "libsecret-1-dev", "build-essential", "pkg-config")
QUICKLY = ("--no-audit", "--no-fund", "--fetch-retries=1", "--ignore-scripts")
PATIENCE = 1800
"""Seconds that a step may take."""


class Missing(Exception):
    """code-server cannot be had here, and why."""


def folder() -> Path:
    """Where code-server is built."""
    default = Path(__file__).parents[2] / "build" / "code-server"
    return Path(os.environ.get("KINEN_CODE_SERVER") or default)


def built(place: Path) -> bool:
    """Whether this version was built completely."""
    try:
        return (place / "built").read_text() == f"{VERSION} {NODE}"
    except OSError:
        return False


def command(place: Path) -> list[str]:
    """The beginning of the command line that starts it."""
    entry = place / "server" / "out" / "node" / "entry.js"
    return [str(node(place) / "node"), str(entry)]


def node(place: Path) -> Path:
    """The folder of the node that it runs on."""
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
    return place / "node_modules" / f"node-{sys.platform}-{machine}" / "bin"


def build(place: Path) -> None:
    """Install and compile code-server, unless it was done before."""
    if not shutil.which("npm"):
        raise Missing("npm is not installed")
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built(place):
            return
        name = node(place).parent.name
        npm(place, "install", "--prefix", str(place), f"{name}@{NODE}", "--no-save")
        server = unpack(place)
        vscode = server / "lib" / "vscode"
        npm(place, "install", "--omit=dev", cwd=server)
        npm(place, "rebuild", "argon2", cwd=server)
        npm(place, "install", "--omit=dev", cwd=vscode)
        npm(place, "install", "--omit=dev", cwd=vscode / "extensions")
        for module in NATIVE:
            # The last step of node-pty fails after the module was compiled.
            npm(place, "rebuild", module, cwd=vscode, fails=module == "node-pty")
        (vscode / "node_modules.asar").symlink_to("node_modules")
        (place / "built").write_text(f"{VERSION} {NODE}")


def unpack(place: Path) -> Path:
    """The files of the package; npm alone would not install what is inside of `lib/vscode`."""
    server = place / "server"
    shutil.rmtree(server, ignore_errors=True)
    npm(place, "pack", f"code-server@{VERSION}", "--silent", cwd=place)
    archive = place / f"code-server-{VERSION}.tgz"
    server.mkdir(parents=True)
    run(["tar", "xzf", str(archive), "--strip-components=1", "-C", str(server)])
    archive.unlink()
    return server


def npm(place: Path, verb: str, *words: str, cwd: Path | None = None, fails: bool = False) -> None:
    options = QUICKLY if verb == "install" else ()
    env = dict(os.environ)
    env["PATH"] = f"{node(place)}:{env['PATH']}"
    env["npm_config_nodedir"] = str(node(place).parent)
    env["npm_config_yes"] = "true"
    run(["npm", verb, *words, *options], cwd=cwd, env=env, fails=fails)


def run(
    line: list[str],
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    fails: bool = False,
) -> None:
    """Run a step; its last lines are the reason where it fails."""
    try:
        step = subprocess.run(
            line, cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{' '.join(line[:3])}: {error}") from error
    if step.returncode and not fails:
        reason = " ".join((step.stderr or step.stdout).strip().splitlines()[-8:])
        raise Missing(f"{' '.join(line[:3])}: {reason[-600:]} (needs {' '.join(HEADERS)})")


if __name__ == "__main__":
    try:
        build(folder())
    except Missing as error:
        sys.exit(f"code-server: {error}")
    print(f"code-server {VERSION} in {folder()}")
