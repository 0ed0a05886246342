"""Compiled expressions that are kept for the next process."""

from __future__ import annotations

import marshal
import re
from typing import TYPE_CHECKING

import pytest

from kinen.text.expressions import NAME, Expressions

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = (
    (r"(?P<day>\d{1,2})[./](?P<month>\d\d)|[^\W_]+", 0),
    (r"(?ix) (?:a b | c)+ $  # a comment", 0),
    ("[\u3040-\u30ff]{1,2}(?<!é.)", re.IGNORECASE | re.MULTILINE),
)


def test_a_kept_expression_is_the_one_that_re_compiles(tmp_path: Path) -> None:
    first = Expressions()
    for pattern, flags in PATTERNS:
        assert first.compiled(pattern, flags) == re.compile(pattern, flags)
    first.save(str(tmp_path))
    later = Expressions()
    later.load(str(tmp_path))
    for pattern, flags in PATTERNS:
        kept = later.compiled(pattern, flags)
        whole = re.compile(pattern, flags)
        assert kept == whole
        assert (kept.groupindex, kept.groups) == (whole.groupindex, whole.groups)
    before = (tmp_path / NAME).stat().st_mtime_ns
    later.save(str(tmp_path))  # nothing is new
    assert (tmp_path / NAME).stat().st_mtime_ns == before


DAMAGED = (
    b"",
    b"\x00\xff",
    marshal.dumps(("another version", {("a+", 0): (0, b"", 0, {}, ())})),
    marshal.dumps(7),
)


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_or_foreign_file_is_replaced(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / NAME).write_bytes(damaged)
    expressions = Expressions()
    expressions.load(str(tmp_path))
    assert expressions.compiled("a+", 0) == re.compile("a+")
    expressions.save(str(tmp_path))
    assert (tmp_path / NAME).read_bytes() != damaged


def test_numbers_that_are_no_expression_are_compiled_anew(tmp_path: Path) -> None:
    first = Expressions()
    first.compiled("a+", 0)
    first.save(str(tmp_path))
    version, codes = marshal.loads((tmp_path / NAME).read_bytes())
    used, numbers, *rest = codes["a+", 0]
    codes["a+", 0] = (used, numbers[:-4], *rest)
    (tmp_path / NAME).write_bytes(marshal.dumps((version, codes)))
    later = Expressions()
    later.load(str(tmp_path))
    assert later.compiled("a+", 0).fullmatch("aaa")
