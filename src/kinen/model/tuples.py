"""Named tuples that cost a process little until it makes one.

`typing.NamedTuple` compiles a constructor and checks every annotation when a class is defined, in
.2 ms. A search defines 33 classes and makes few instances of most: these compile a constructor when
that costs less than to do without. To a type checker they are those of `typing`.
"""

from __future__ import annotations

import sys

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from _collections import _tuplegetter

    PARTIAL = 12
    """What a call by names or with defaults costs without a constructor, in other calls."""
    COMPILED = 200
    """What a constructor costs, in the same."""
    _spent = {}
    """What was spent on the calls of each class."""

    class Definition(type):
        """The class of named tuples; the annotations of one that is defined are its fields."""

        def __new__(cls, name, bases, body):
            body = {**body, "__slots__": ()}
            if bases[0] is not tuple and not hasattr(bases[0], "_fields"):
                # Neither NamedTuple itself nor a subclass of a named tuple. What is in the body of
                # a class costs a quarter of an attribute that the class gets afterwards.
                fields = tuple(_annotations(body))
                body["_field_defaults"] = {field: body[field] for field in fields if field in body}
                body["_fields"] = body["__match_args__"] = fields
                for position, field in enumerate(fields):
                    body[field] = _tuplegetter(position, "")
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=Definition):
        def __new__(cls, /, *values, **keywords):
            """An instance of a class that has made few."""
            fields = cls._fields
            whole = len(values) == len(fields) and not keywords
            _spent[cls] = spent = _spent.get(cls, 0) + (1 if whole else PARTIAL)
            if spent < COMPILED:
                if whole:
                    return tuple.__new__(cls, values)
                bound = dict(zip(fields, values, strict=False)) | keywords
                entries = cls._field_defaults | bound
                if len(bound) == len(values) + len(keywords) and entries.keys() == set(fields):
                    return tuple.__new__(cls, map(entries.__getitem__, fields))
            defined = next(parent for parent in cls.__mro__ if "_fields" in parent.__dict__)
            defined.__new__ = staticmethod(_constructor(defined))
            return defined.__new__(cls, *values, **keywords)

        @classmethod
        def _make(cls, values):
            instance = tuple.__new__(cls, values)
            if len(instance) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(instance)}")
            return instance

        def _replace(self, /, **changes):
            changed = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"Got unexpected field names: {list(changes)!r}")
            return changed

        __replace__ = _replace

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            fields = (f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(fields)})"

    def _annotations(body):
        """The annotations in the body of a class."""
        if "__annotations__" in body or sys.version_info < (3, 14):
            return body.get("__annotations__", ())
        from annotationlib import Format, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(body)
        return annotate(Format.VALUE) if annotate else ()

    def _constructor(defined):
        """The `__new__` of a class, compiled from its fields, as `collections` does."""
        names = ", ".join(defined._fields)
        scope = {"new_tuple": tuple.__new__, "__builtins__": {}, "__name__": defined.__module__}
        new = eval(f"lambda _cls, {names}: new_tuple(_cls, ({names},))", scope)  # noqa: S307
        new.__name__ = "__new__"
        new.__qualname__ = f"{defined.__name__}.__new__"
        new.__defaults__ = tuple(defined._field_defaults.values())
        return new
