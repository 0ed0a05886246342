"""What kinen writes is for its owner alone, whatever the umask was or an older kinen left."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import forked

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes of files are Unix")


def open_to_others(*folders: Path) -> list[str]:
    """Everything below some folders that others may read, write or enter."""
    results = []
    for folder in folders:
        for path in everything(folder):
            with contextlib.suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if mode & 0o077:
                    results.append(f"{stat.filemode(mode)} {path}")
    return results


def everything(top: Path) -> list[Path]:
    """A folder and what is below it; some may be gone, such as the journal of a transaction."""
    below = [Path(folder, name) for folder, *names in os.walk(top) for name in chain(*names)]
    return [top, *below]


def run(space: Path, *words: str, umask: int = 0, stdin: str = "", **env: str) -> str:
    done = forked.shared().run([*words], space, stdin, {**os.environ, **env}, umask)
    assert done.code in (0, 1), done.err
    return done.out.decode()


def event(space: Path, name: str, **more: Any) -> str:
    return json.dumps({"hook_event_name": name, "session_id": "s1", "cwd": str(space), **more})


@pytest.mark.parametrize("umask", [0o000, pytest.param(0o022, marks=pytest.mark.slow)])
def test_everything_below_the_home_is_private(
    space: Path, home: Path, tmp_path: Path, umask: int
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles. We decided on Assam.\n")
    hook = ("hook", "claude-code")
    run(space, *hook, stdin=event(space, "SessionStart", source="startup"), umask=umask)
    prompt = event(space, "UserPromptSubmit", prompt="why Assam?", prompt_id="1")
    run(space, *hook, stdin=prompt, umask=umask)
    run(space, "index", umask=umask)
    run(space, "search", "kettle", umask=umask)
    run(space, "recall", "kettle", umask=umask)
    run(space, "snapshot", "create", umask=umask)
    run(space, "trust", umask=umask)
    run(space, "config", "set", "--user", "search.default_limit", "7", umask=umask)
    run(space, "doctor", umask=umask)
    run(space, "install", "claude-code", umask=umask)
    bundle = tmp_path / "bundle" / "all.json"
    bundle.parent.mkdir(mode=0o700)
    run(space, "export", str(bundle), umask=umask)
    run(space, "daemon", "start", umask=umask)
    try:
        run(space, "search", "kettle", umask=umask)
        assert open_to_others(home / "kinen", home / ".config" / "kinen", bundle) == []
    finally:
        run(space, "daemon", "stop", umask=umask)
    names = {path.name for path in everything(home / "kinen")}
    assert {"journal.db", "index.db", "cache.db", "vectors.bin", "sync.lock"} <= names
    assert {"spaces.json", "meta.json", "routes", "daemon.json", "daemon.log", "backups"} <= names
    assert open_to_others(home / "kinen", home / ".config" / "kinen", bundle) == []


def test_what_waits_in_a_spool_is_private(space: Path, home: Path, tmp_path: Path) -> None:
    run(space, "log", "first")
    spaces = home / "kinen" / "spaces"
    spaces.rename(home / "away")
    spaces.write_text("not a folder")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run(space, "log", "second", TMPDIR=str(scratch))
    spool = home / "kinen" / "spool"
    assert len([path for path in spool.rglob("*") if "." not in path.name]) > 1
    assert open_to_others(spool) == []
    spool.rename(home / "spool-away")
    spool.write_text("not a folder either")
    run(space, "log", "third", TMPDIR=str(scratch))
    assert [path for path in scratch.rglob("*") if path.is_file()]
    assert open_to_others(*scratch.iterdir()) == []


def test_tokens_and_ports_are_private(space: Path, home: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90) / "kinen"  # its socket would have too long a path
    run(space, "daemon", "start", KINEN_HOME=str(deep))
    try:
        assert (deep / "daemon.port").exists() and (deep / "http.token").exists()
        assert open_to_others(deep) == []
    finally:
        run(space, "daemon", "stop", KINEN_HOME=str(deep))


def test_an_older_home_is_closed_to_others_as_it_is_used(space: Path, home: Path) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    run(space, "log", "an observation")
    run(space, "search", "--hybrid", "kettle")
    wide = home / "kinen"
    for path in everything(wide):
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o777 if path.is_dir() else 0o666)
    run(space, "log", "another observation")
    run(space, "search", "--hybrid", "kettle")
    left = [line for line in open_to_others(wide) if ".db" in line]
    assert left == []
    result = run(space, "doctor")
    assert "files and folders private" in result
    assert open_to_others(wide) == []
    assert "files and folders private" not in run(space, "doctor")
