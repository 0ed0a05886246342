from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sources.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """An empty repository."""
    return Repository(tmp_path / "repo")
