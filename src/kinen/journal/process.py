"""Which process a session runs in, and whether it still runs. Hooks import this module: only `os`.

A process is its number, when it began and the namespace of its number: numbers come again.
"""

from __future__ import annotations

import os

WRAPPERS = frozenset("sh bash dash zsh ksh fish env timeout nice setsid uv uvx".split())
"""Programs that stand between a client and its hook, and end with it."""
DEPTH = 8
"""Ancestors of a hook among which its client is looked for."""


def client() -> str:
    """The process of the client that runs this hook; empty where that cannot be known."""
    pid = os.getppid()
    for _ in range(DEPTH):
        name, parent, began = _stat(pid)
        if not began:
            break
        if name not in WRAPPERS:
            return f"{pid} {began} {_namespace()}"
        pid = parent
    # Without /proc only a client that says which process it is can be known.
    own = os.environ.get("CLAUDE_PID", "")
    return f"{own} - -" if own.isdecimal() and not os.path.exists("/proc/self/stat") else ""


def runs(process: str) -> bool | None:
    """Whether a process still runs; None where nobody knows."""
    pid, _, rest = process.partition(" ")
    began, _, namespace = rest.partition(" ")
    if not pid.isdecimal():
        return None
    if began == "-":
        return _exists(int(pid)) if hasattr(os, "fork") else None
    if namespace != _namespace():
        return None  # in another container: its numbers mean nothing here
    return _stat(int(pid))[2] == began


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, int, str]:
    """The name of a process, its parent and when it began; empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read(1024).decode("utf-8", "replace")
    except OSError:
        return "", 0, ""
    # The name is in brackets and may have any character; state, parent and the rest follow.
    name = line[line.find("(") + 1 : line.rfind(")")]
    fields = line[line.rfind(")") + 2 :].split()
    if len(fields) < 20 or fields[0] in "ZX":
        return "", 0, ""
    return name, int(fields[1]), fields[19]
