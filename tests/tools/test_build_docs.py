"""The Python reference follows the classes, also where methods move to parts of the façade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.tool import load

if TYPE_CHECKING:
    import pytest

build_docs = load("build_docs")


class Journal:
    """Everything that was observed."""

    def open_capsule(self, title: str, *, scope: str | None = None) -> str:
        """Open a capsule. Another one stays open."""
        raise NotImplementedError


class Memory:
    """The memory of a space."""

    @property
    def journal(self) -> Journal:
        """The journal of the space."""
        return Journal()

    @property
    def name(self) -> str:
        """The name of the space."""
        return ""

    @classmethod
    def open(cls, path: str = "", *, tell: object = print) -> Memory:
        """Open the memory of the space around a folder."""
        raise NotImplementedError

    def _private(self) -> None:
        raise NotImplementedError


def test_parts_are_found_by_what_their_getters_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "__module__", "kinen.memory.journal")
    assert build_docs.parts(Memory) == [("journal", Journal)]
    text = "\n".join(build_docs.members(Memory, "memory"))
    assert "open(path: str = '', *, tell: object = <built-in function print>) -> Memory" in text
    assert "### memory.name\n\n```python\nname: str\n```\n\nThe name of the space.\n" in text
    assert "journal" not in text
    assert "_private" not in text


def test_a_method_has_its_signature_and_first_sentence() -> None:
    text = "\n".join(build_docs.members(Journal, "memory.journal"))
    assert "open_capsule(title: str, *, scope: str | None = None) -> str" in text
    assert "Open a capsule." in text
    assert "Another" not in text


def test_every_public_name_is_in_the_reference() -> None:
    import kinen

    page = build_docs.python_page()
    names = set(kinen.__all__) - {"__version__", "Memory"}
    assert [name for name in names if f"### {name}\n" not in page] == []
    for verb in ("search", "recall", "observe", "sync", "open"):
        assert f"### memory.{verb}\n" in page
    assert "<class" not in page
    assert "0x" not in page
