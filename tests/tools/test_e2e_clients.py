"""`make e2e` fails where a client cannot be installed; what decides to run it says why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

E2E = Path(__file__).parents[1] / "e2e"


@pytest.mark.parametrize(
    "test",
    [
        "test_two_agents.py::test_what_claude_code_did_is_told_to_codex",
        "test_mcp_clients.py::test_the_inspector_lists_and_calls_the_tools[modern]",
    ],
)
def test_a_client_that_cannot_be_installed_is_a_failure(test: str, tmp_path: Path) -> None:
    env = {**os.environ, "KINEN_E2E": "1", "KINEN_E2E_CLIENTS": str(tmp_path), "PATH": "/nowhere"}
    words = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", f"{E2E}/{test}")
    run = subprocess.run(
        [sys.executable, *words], env=env, cwd=E2E.parents[1], capture_output=True, text=True
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "a client cannot be installed" in run.stdout
    assert "skipped" not in run.stdout


def test_the_probe_says_why_a_client_cannot_be_had(tmp_path: Path) -> None:
    probe = [sys.executable, str(E2E / "clients.py")]
    nothing = {"KINEN_E2E_CLIENTS": str(tmp_path / "none")}
    without = subprocess.run(
        probe, env={**nothing, "PATH": "/nowhere"}, capture_output=True, text=True
    )
    assert (without.returncode, without.stderr) == (1, "npm is not installed\n")
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error 404' >&2\nexit 1\n")
    npm.chmod(0o755)
    env = {**nothing, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    other = subprocess.run(probe, env=env, capture_output=True, text=True)
    assert other.returncode == 1
    assert other.stderr.startswith("npm has no @anthropic-ai/claude-code ")
    npm.write_text('#!/bin/sh\necho "$3" | sed "s/.*@//"\n')
    assert subprocess.run(probe, env=env).returncode == 0
