"""Memories for the adapters of Python frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from frameworks_memory import Broken
from kinen import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "space").mkdir()
    with Memory.open(tmp_path / "space", home=tmp_path / "home") as memory:
        yield memory


@pytest.fixture
def broken() -> Any:
    return Broken()
