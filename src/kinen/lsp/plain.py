"""Answers with many places as plain JSON.

Objects of the protocol are checked and converted field by field; with a link in each of a thousand
notes that takes longer than the answer itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pygls.protocol import default_converter

if TYPE_CHECKING:
    from cattrs import Converter

Plain = dict[str, Any]
"""A part of an answer as it is sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is sent as it is."""

    json: Plain | list[Plain]


def converter() -> Converter:
    """That of pygls, which also knows plain answers."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_unstructure_hook(Answer, lambda answer: answer.json)
    return converter


def place(line: int, column: int, end_line: int, end_column: int) -> Plain:
    """A range; lines count from 1, columns as the editor counts them."""
    return {
        "start": {"line": line - 1, "character": column},
        "end": {"line": end_line - 1, "character": end_column},
    }


def location(uri: str, place: Plain) -> Plain:
    return {"uri": uri, "range": place}


def text_edit(place: Plain, text: str) -> Plain:
    return {"range": place, "newText": text}


def document_edit(uri: str, version: int | None, edits: list[Plain]) -> Plain:
    return {"textDocument": {"uri": uri, "version": version}, "edits": edits}


def file_rename(old: str, new: str) -> Plain:
    return {"kind": "rename", "oldUri": old, "newUri": new}


def workspace_edit(changes: list[Plain]) -> Answer:
    return Answer({"documentChanges": changes})
