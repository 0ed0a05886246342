"""The memories that a server keeps open."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.memory.pool import MemoryPool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def opened(space: Path) -> list[str]:
    """The folders that were opened; the space has an index."""
    with Memory.open(space) as memory:
        memory.observe("the kettle is on")
        memory.sync()
    return []


def asked(opened: list[str], *steps: tuple[str, str, Callable[[], object]]) -> list[Memory]:
    """The memories that answered: a folder, a lane, and what happens afterwards."""

    def open_(folder: str) -> Memory:
        opened.append(folder)
        return Memory.open(folder)

    async def run() -> list[Memory]:
        pool = MemoryPool(open_)
        memories = []
        for folder, lane, then in steps:
            memories.append(await pool.call([folder], lambda memory: memory, lane=lane))
            then()
        await pool.close()
        return memories

    return asyncio.run(run())


def nothing() -> None:
    pass


def test_a_space_is_looked_for_again_only_if_its_files_changed(
    space: Path, opened: list[str]
) -> None:
    config = space / ".kinen" / "config.yml"

    def change() -> None:
        assert len(opened) == 2  # the second is not older than the stamps of its files
        config.parent.mkdir(exist_ok=True)
        config.write_text("search:\n  default_limit: 3\n")

    root = str(space)
    first, second, third = asked(
        opened, (root, ASK, nothing), (root, ASK, change), (root, ASK, nothing)
    )
    assert first is second
    assert third is not second
    assert second.config.search.default_limit != 3
    assert third.config.search.default_limit == 3


def test_questions_and_writing_never_share_a_memory(space: Path, opened: list[str]) -> None:
    root = str(space)
    steps = [(root, lane, nothing) for lane in (ASK, JOURNAL, ASK, JOURNAL)]
    asking, writing, *again = asked(opened, *steps)
    assert asking is not writing
    assert again == [asking, writing]


def test_a_link_that_leads_elsewhere_is_another_space(
    space: Path, opened: list[str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".kinen").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(space)

    def lead_elsewhere() -> None:
        link.unlink()
        link.symlink_to(other)

    steps = [(str(link), ASK, nothing), (str(link), ASK, lead_elsewhere), (str(link), ASK, nothing)]
    first, second, third = asked(opened, *steps)
    assert first is second
    assert third.space.root == os.path.realpath(other)
