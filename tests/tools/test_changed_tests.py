"""`make check` runs the tests of what changed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tools.tool import load

if TYPE_CHECKING:
    from pathlib import Path

changed_tests = load("changed_tests")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with the layout of this one, on a branch that has left main."""
    files = {
        "src/kinen/index/vectors.py": "",
        "src/kinen/index/reader.py": "",
        "src/kinen/text.py": "",
        "tests/test_architecture.py": "",
        "tests/test_docs.py": "",
        "tests/test_text.py": "",
        "tests/test_reading.py": "from kinen.index import reader\n",
        "tests/index/test_vectors.py": "",
        "tests/index/test_vectors_on_disk.py": "",
        "README.md": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(tmp_path, "init", "-q", "-b", "main")
    run(tmp_path, "add", ".")
    run(tmp_path, "commit", "-qm", "all")
    run(tmp_path, "switch", "-qc", "topic")
    return tmp_path


def run(folder: Path, *words: str) -> None:
    env = {**os.environ}
    for role in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{role}_NAME"] = "Mira"
        env[f"GIT_{role}_EMAIL"] = "mira@example.org"
    subprocess.run(["git", *words], cwd=folder, env=env, check=True)


def chosen(checkout: Path) -> list[str]:
    return changed_tests.test_files(changed_tests.changed_files("", checkout), checkout)


def test_nothing_changed_leaves_the_architecture(checkout: Path) -> None:
    assert chosen(checkout) == ["tests/test_architecture.py"]


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("src/kinen/text.py", ["tests/test_text.py"]),
        (
            "src/kinen/index/vectors.py",
            ["tests/index/test_vectors.py", "tests/index/test_vectors_on_disk.py"],
        ),
        ("src/kinen/index/reader.py", ["tests/test_reading.py"]),
        ("README.md", ["tests/test_docs.py"]),
        ("tests/test_reading.py", ["tests/test_reading.py"]),
    ],
)
def test_a_change_chooses_its_tests_before_and_after_its_commit(
    path: str, tests: list[str], checkout: Path
) -> None:
    with (checkout / path).open("a") as file:
        file.write("# changed\n")
    values = sorted([*tests, "tests/test_architecture.py"])
    assert chosen(checkout) == values
    run(checkout, "commit", "-qam", "change")
    assert chosen(checkout) == values


def test_a_new_file_counts_and_a_removed_test_does_not(checkout: Path) -> None:
    (checkout / "tests" / "index" / "test_new.py").write_text("")
    (checkout / "tests" / "test_text.py").unlink()
    assert chosen(checkout) == ["tests/index/test_new.py", "tests/test_architecture.py"]
