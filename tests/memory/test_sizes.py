"""The size of a space while other processes write in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinen import Memory
from kinen.memory import garbage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_file_that_vanishes_while_a_space_is_measured_is_no_error(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        data = memory.space
    draft = os.path.join(data.data, "sync.lock.state")
    with open(draft, "w", encoding="utf-8") as file:
        file.write("indexing")
    ask = os.stat

    def vanish(path: str, **more: bool) -> os.stat_result:
        """Another process takes the draft away as soon as somebody has asked for it."""
        about = ask(path, **more)
        if path == draft:
            os.unlink(path)
        return about

    monkeypatch.setattr(os, "stat", vanish)
    assert garbage.usage(data).bytes > 0
    assert not os.path.lexists(draft)
