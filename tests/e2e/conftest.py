"""The real clients of others against a model on loopback: only where KINEN_E2E=1 asks for it.

Whoever asks wants to know whether they work: a client that cannot be installed is a failure.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from e2e.machine import Machine
    from e2e.stub_llm import Stub

if os.environ.get("KINEN_E2E") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def clients() -> str:
    """The PATH that the real clients are on."""
    from e2e.clients import Missing, path

    try:
        return path()
    except Missing as why:
        pytest.fail(f"a client cannot be installed: {why}", pytrace=False)


@pytest.fixture
def stub() -> Iterator[Stub]:
    from e2e.stub_llm import Stub

    stub = Stub("- Access tokens live for 15 minutes [1]")
    yield stub
    stub.close()


@pytest.fixture
def machine(tmp_path: Path, home: Path, clients: str, stub: Stub) -> Machine:
    """A home, and a repository in it for the clients to work in."""
    from e2e.machine import Machine

    stub.text = "That is all."
    return Machine(tmp_path / "my parcels", home, clients, stub)
