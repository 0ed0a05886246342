"""What commands print is what tests/golden has, and nothing there looks broken."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinen.render.screen import columns

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
COLUMNS = 80
RAN = re.compile(r"^[$%] (.*)\n((?:(?:  |!).*\n|\n)*)exit (\d+)$", re.MULTILINE)
"""A line, what it printed, and its exit code."""


@pytest.mark.slow
def test_outputs_are_the_golden_ones() -> None:
    line = [sys.executable, "tools/golden.py", "--check"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_command_ends_with_a_traceback_or_fails_in_silence() -> None:
    for file in GOLDEN.glob("*.txt"):
        for line, output, code in RAN.findall(file.read_text()):
            assert code in ("0", "1", "2"), line
            assert "Traceback" not in output, line
            assert code == "0" or output.strip(), line


def test_messages_in_an_empty_space_fit_a_terminal_and_count_well() -> None:
    text = (GOLDEN / "empty.txt").read_text()
    for line, output, _ in RAN.findall(text):
        assert not re.search(r"(?<![\d,.:-])1 [a-z]{3,}s\b", output), line
        wide = [row for row in output.splitlines() if columns(row[2:]) > COLUMNS]
        assert [row for row in wide if "/scratch" not in row] == [], line


def test_no_command_ends_in_a_bug() -> None:
    for path in GOLDEN.glob("*.txt"):
        assert "this is a bug" not in path.read_text(), path.name
