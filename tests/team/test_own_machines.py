"""`kinen sync FOLDER` and `kinen sync ssh HOST`: one's own machines, without a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program ssh here is a POSIX script")

SSH = """#!/bin/sh
# Runs the command as another machine would: with another home.
[ "$1 $2" = "-T --" ] || exit 9
HOME={there}; KINEN_HOME=$HOME/.kinen; export HOME KINEN_HOME
printf '%s\\n' "$3" >>{log}
cd / && {limit} sh -c "$4"
"""


class Machine:
    """A home with a space called tea, and kinen as a process."""

    def __init__(self, home: Path, path: Path) -> None:
        self.home, self.root, self._path = home, home / "tea", path
        self.root.mkdir(parents=True)
        (self.root / "note.md").write_text("# Tea\n")
        self("init", "--name", "tea")

    def __call__(self, *words: str, code: int = 0) -> str:
        env = {
            **os.environ,
            "HOME": str(self.home),
            "KINEN_HOME": str(self.home / ".kinen"),
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
            "KINEN_DAEMON_AUTO_START": "false",
            "PATH": f"{self._path}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            [sys.executable, "-m", "kinen", *words],
            cwd=self.root, env=env, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def remember(self, text: str) -> str:
        """Add a memory; the ref of the entry that it was drawn from."""
        self("memories", "add", text)
        rows = json.loads(self("export", "-"))["observations"]
        (id_,) = (row["id"] for row in rows if text in row["content"])
        return f"observation:{id_}"

    def memories(self) -> set[str]:
        out = self("memories", "list", "--json", code=0)
        return {row["content"] for row in json.loads(out)["memories"]}


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    path = tmp_path / "bin"
    path.mkdir()
    kinen = path / "kinen"
    kinen.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kinen "$@"\n')
    kinen.chmod(0o755)
    here, there = Machine(tmp_path / "here", path), Machine(tmp_path / "there", path)
    network(tmp_path)
    return here, there


def network(tmp_path: Path, limit: str = "") -> Path:
    """A program ssh that reaches the other machine; returns the log of the names it got."""
    program, log = tmp_path / "bin/ssh", tmp_path / "log"
    program.write_text(SSH.format(there=tmp_path / "there", log=log, limit=limit))
    program.chmod(0o755)
    return log


def test_two_machines_meet_over_ssh_and_erasing_travels(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    here, there = machines
    secret = "ghp_" + "a1B2" * 9
    ref = here.remember("the kettle is blue")
    here("log", "-k", "message", f"the samovar uses {secret}")
    there.remember("the cup is red")
    assert "sent " in here("sync", "ssh", "desk")
    assert here.memories() == there.memories() == {"the kettle is blue", "the cup is red"}
    assert '"sent": 0' in here("sync", "ssh", "desk", "--json")
    here("forget", ref)
    here("sync", "ssh", "ada@desk")
    assert there.memories() == {"the cup is red"}
    assert secret not in there("export", "-")
    assert (tmp_path / "log").read_text().split() == ["desk", "desk", "ada@desk"]


def test_a_host_is_never_an_option_and_a_dead_connection_loses_nothing(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    here, there = machines
    here.remember("the kettle is blue")
    for host in ("-oProxyCommand=touch x", "--", "a b", "desk;touch x", "", "ada@-x", "$(x)"):
        assert "not a name of a machine" in here("sync", "--", "ssh", host, code=2)
    log = network(tmp_path, limit="sed -u 2q |")
    assert not log.exists()
    assert "gave no answer" in here("sync", "ssh", "desk", code=2)
    network(tmp_path)
    here("sync", "ssh", "desk")
    assert there.memories() == {"the kettle is blue"}


def test_a_synced_folder_brings_two_homes_together_whatever_happens_to_its_files(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    here, there = machines
    folder = tmp_path / "Sync"
    assert "no folder" in here("sync", str(folder), code=2)
    folder.mkdir()
    ref = here.remember("the kettle is blue")
    here("sync", str(folder))
    (own,) = folder.glob("kinen/*/*")
    there.remember("the cup is red")
    there("sync", str(folder))
    here("sync", str(folder))
    assert here.memories() == there.memories() == {"the kettle is blue", "the cup is red"}
    size = own.stat().st_size
    here("sync", str(folder))
    assert own.stat().st_size == size

    own.with_name(own.name.replace(".jsonl", ".sync-conflict-1.jsonl")).write_bytes(
        own.read_bytes()
    )
    with own.open("ab") as file:
        file.write(b'{"noun": "mem')  # the process died here
    here.remember("the lid is green")
    assert "could not be read" in here("sync", str(folder))
    there("sync", str(folder))
    assert "the lid is green" in there.memories()

    there("forget", ref)
    there("sync", str(folder))
    assert not [path for path in folder.rglob("*.jsonl") if "kettle" in path.read_text()]
    here("sync", str(folder))
    assert here.memories() == there.memories() == {"the cup is red", "the lid is green"}
