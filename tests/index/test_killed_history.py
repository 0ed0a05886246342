"""Whoever is killed while reading a history: the next one goes on, and the index is the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.index.writer import Writer
from properties.test_history import dump

if TYPE_CHECKING:
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
COMMITS = 9_000
SETTINGS = {"index.embedding_provider": "none", "git.snapshot_frequency": "0"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long history, made in one stroke: changes, renames, deletions, tags."""
    root = tmp_path_factory.mktemp("long") / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    rng, lines, there = random.Random(4), list[bytes](), list[str]()
    for n in range(COMMITS):
        output = f"fix(part{n % 7}): change number {n}\n\nWhy {n}.\n\ntags: +t{n % 5}, -t{n % 3}"
        data = output.encode()
        lines += [b"commit refs/heads/main", b"committer A <a@u> %d +0000" % (1_600_000_000 + n)]
        lines += [b"data %d" % len(data), data]
        if there and n % 11 == 0:
            old = there.pop(rng.randrange(len(there)))
            there.append(f"d{n % 13}/r{n}.py")
            lines.append(f"R {old} {there[-1]}".encode())
        elif len(there) > 40 and n % 17 == 0:
            lines.append(f"D {there.pop(rng.randrange(len(there)))}".encode())
        else:
            path = rng.choice(there) if there and n % 3 else f"d{n % 13}/f{n}.py"
            there += [path] if path not in there else []
            text = "".join(f"line {k} of {path} {n if k == 3 else ''}\n" for k in range(9)).encode()
            lines += [f"M 100644 inline {path}".encode(), b"data %d" % len(text), text]
    stream = b"\n".join([*lines, b""])
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=stream, check=True)
    return root


def test_a_killed_reading_is_taken_up_again(repository: Path, tmp_path: Path) -> None:
    rng, command = random.Random(1), [sys.executable, "-m", "kinen", "index", "--no-embed"]
    whole = tmp_path / "whole"
    with Memory.open(repository, home=whole, settings=SETTINGS) as memory:
        began = time.monotonic()
        memory.sync(embed=False)
        needed = time.monotonic() - began
        with closing(Writer(f"{memory.space.data}/index.db")) as writer:
            expected = dump(writer.db)
    home = tmp_path / "home"
    env = {**os.environ, "KINEN_HOME": str(home), "KINEN_GIT_SNAPSHOT_FREQUENCY": "0"}
    for _ in range(30 if LONG else 4):
        process = subprocess.Popen(
            command, cwd=repository, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.1, 0.2 + needed))
        process.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
        process.wait()
    with Memory.open(repository, home=home, settings=SETTINGS) as memory:
        memory.sync(embed=False)
        assert not memory.index.check()
        assert len(memory.search("change number 77 why")) == 10
        with closing(Writer(f"{memory.space.data}/index.db")) as writer:
            results = dump(writer.db)
    for part, rows in expected.items():
        assert results[part] == rows, part
