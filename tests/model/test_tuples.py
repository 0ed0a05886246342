"""Named tuples of ours beside those of `typing`."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.model.tuples import NamedTuple


class Ours(NamedTuple):
    ref: str
    """What it is named."""
    line: int = 1
    tags: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.ref}:{self.line}"

    @classmethod
    def at(cls, ref: str, line: int) -> Ours:
        return cls(ref, line=line)


class Theirs(typing.NamedTuple):
    ref: str
    line: int = 1
    tags: tuple[str, ...] = ()


class Special(Ours):
    """A subclass with a constructor of its own."""

    def __new__(cls, ref: str) -> Special:
        return super().__new__(cls, ref.upper())


def fresh(like: Any) -> tuple[Any, Any]:
    """A class of ours and one of `typing`, neither of which was called yet."""
    body = {"__annotations__": dict.fromkeys(like, "int"), "__module__": __name__, **like}
    body = {name: value for name, value in body.items() if value is not None}
    kind: Any = typing
    theirs = kind.NamedTupleMeta("Pair", (kind._NamedTuple,), dict(body))
    return type(NamedTuple)("Pair", (NamedTuple,), body), theirs


FIELDS = st.lists(st.sampled_from("abcde"), unique=True, min_size=1)
CALLS = st.tuples(
    st.lists(st.integers(), max_size=6),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(), max_size=4),
)


def outcome(kind: Any, values: list[int], named: dict[str, int]) -> Any:
    try:
        made = kind(*values, **named)
    except TypeError as error:
        return str(error)
    return repr(made), tuple(made), made._asdict(), made == tuple(made), hash(made)


@given(FIELDS, st.integers(0, 5), st.lists(CALLS, min_size=1, max_size=4))
def test_every_call_does_what_those_of_typing_do(
    fields: list[str], required: int, calls: list[tuple[list[int], dict[str, int]]]
) -> None:
    defaults = {field: None if n < required else n for n, field in enumerate(fields)}
    ours, theirs = fresh(defaults)
    for values, named in calls:
        assert outcome(ours, values, named) == outcome(theirs, values, named)


@given(
    FIELDS, st.lists(st.integers(), max_size=6), st.dictionaries(st.sampled_from("abf"), st.just(7))
)
def test_make_and_replace_do_what_those_of_typing_do(
    fields: list[str], values: list[int], changes: dict[str, int]
) -> None:
    def run(kind: Any) -> Any:
        try:
            return tuple(kind._make(values)._replace(**changes))
        except (TypeError, ValueError) as error:
            return str(error)  # a TypeError here and since Python 3.13, a ValueError before

    ours, theirs = fresh(dict.fromkeys(fields))
    assert run(ours) == run(theirs)


def test_a_class_has_what_others_look_for() -> None:
    assert Ours._fields == Theirs._fields == Ours.__match_args__
    assert Ours._field_defaults == Theirs._field_defaults
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert (Ours.__name__, Ours.__module__, Ours.__doc__) == ("Ours", __name__, None)
    assert Ours.at("a.md", 3).place == "a.md:3"


def test_a_value_cannot_change_and_has_no_other_attributes() -> None:
    value = Ours("a.md")
    with pytest.raises(AttributeError):
        value.line = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        value.other = 2  # type: ignore[attr-defined]
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", [Ours("a.md"), Ours("b.md", 2, ("x",))])
def test_values_are_copied_and_pickled(value: Ours) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value


def test_a_subclass_keeps_the_fields() -> None:
    value = Special("a.md")
    assert (value.ref, value.line, type(value)) == ("A.MD", 1, Special)
    assert repr(value) == "Special(ref='A.MD', line=1, tags=())"
    assert Special("b.md").ref == "B.MD"


def test_patterns_match_by_position() -> None:
    match Ours("a.md", 4):
        case Ours(ref, line):
            assert (ref, line) == ("a.md", 4)
