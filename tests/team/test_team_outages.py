"""A short run of benchmarks/team_outages.py: servers, PostgreSQL and PgBouncer fail in turn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bouncer import PROGRAM

OUTAGES = Path(__file__).parents[2] / "benchmarks" / "team_outages.py"


@pytest.mark.usefixtures("postgres_server_url")
def test_what_agents_record_is_stored_once_whatever_fails() -> None:
    if not Path(PROGRAM).exists() or not Path("/proc/self").exists():
        pytest.skip("needs pgbouncer and /proc")
    if "KINEN_TEST_POSTGRES" in os.environ:
        pytest.skip("a server that was named is not killed")
    words = ["--agents", "5", "--events", "5", "--seconds", "30", "--interval", "3"]
    words += ["--searches", "1", "--no-save"]
    line = [sys.executable, str(OUTAGES), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "the standby took over" in done.stderr
    assert "PgBouncer was killed" in done.stderr
