"""The parts of the standard library that are imported late are the same as those."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kinen.model import late


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, -2.5, true, null, "\\u00e9"]}', "[]", " {} \n", b'{"b": "\xc3\xa9"}\n', "3", '"x"'],
)
def test_json_is_read_as_by_the_module(text: str | bytes) -> None:
    assert late.json.loads(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", '{"a": }', "[1] 2", "[1,]", b"\xff", '{"a": "\n"}'])
def test_text_that_is_not_json_raises_what_the_module_raises(text: str | bytes) -> None:
    with pytest.raises(ValueError) as expected:
        json.loads(text)
    # In a process of its own, which has not imported the module.
    program = f"from kinen.model.late import json\ntry: json.loads({text!r})\n"
    program += "except ValueError as error: print(type(error).__name__, error)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.rstrip("\n") == f"{type(expected.value).__name__} {expected.value}"


def test_nothing_is_imported_before_it_is_used() -> None:
    program = "import sys\nfrom kinen.model.late import cache, contextlib, json, re\n"
    program += (
        "json.loads('[1]')\nprint({'re', 'json', 'contextlib', 'functools'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "set()\n"
