"""Completion in real shells: spaces, types, keys, ids and files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BASH = """
PATH={bin}:$PATH
source {bin}/completion.bash
COMP_WORDS=({words})
COMP_CWORD={last}
_kinen_completion kinen
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def programs(kinen, tmp_path: Path) -> str:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "kinen"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kinen "$@"\n')
    program.chmod(0o755)
    (folder / "completion.bash").write_text(kinen("completion", "bash").out)
    return str(folder)


def completed(line: str, folder: Path, programs: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = BASH.format(bin=programs, words=quoted, last=len(words) - 1)
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=folder,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_values(kinen, space: Path, programs: str) -> None:
    kinen("init", "--name", "kettle")
    kinen("plan", "save", "Drop Redis", "- [ ] sessions")
    kinen("capsule", "open", "--intent", "tea", "--session", "s1", "--agent", "claude-code")
    kinen("log", "hello", "--agent", "claude-code")
    assert "kettle" in completed("kinen search --space ke", space, programs)
    assert completed("kinen search --type sum", space, programs) == ["summaries"]
    assert completed("kinen list observations --kind err", space, programs) == ["error"]
    assert completed("kinen list observations --agent cl", space, programs) == ["claude-code"]
    assert completed("kinen plan activate dr", space, programs) == ["drop-redis"]
    assert "search.default_limit" in completed("kinen config get search.default_l", space, programs)
    assert len(completed("kinen capsule show ", space, programs)) == 1
    assert "search" in completed("kinen sea", space, programs)
    assert completed("kinen plan activate dr", space.parent, programs) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_the_script(kinen, tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(kinen("completion", shell).out)
    ran = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def in_shell(shell: list[str], folder: Path, programs: str) -> list[str]:
    """What a shell prints that has kinen on its path."""
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    ran = subprocess.run(
        shell, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    return ran.stdout.split()


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_values(kinen, space: Path, programs: str) -> None:
    kinen("init", "--name", "kettle")
    load = "kinen completion fish | source"
    for line, word in {
        "kinen search --type sum": "summaries",
        "kinen standup -s ke": "kettle",
    }.items():
        shell = ["fish", "--no-config", "-c", f'{load}; complete -C "{line}"']
        assert in_shell(shell, space, programs)[0] == word


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_loads_the_script_and_gets_values(kinen, space: Path, programs: str) -> None:
    kinen("init", "--name", "kettle")
    dump = space.parent / "zcompdump"
    load = f'autoload -U compinit; compinit -u -d {dump}; eval "$(kinen completion zsh)"'
    output = in_shell(["zsh", "-f", "-c", f"{load}; whence -w _kinen_completion"], space, programs)
    assert output == ["_kinen_completion:", "function"]
    text = 'COMP_WORDS="kinen search --type sum" COMP_CWORD=3 _KINEN_COMPLETE=zsh_complete kinen'
    assert "summaries" in in_shell(["zsh", "-f", "-c", text], space, programs)
