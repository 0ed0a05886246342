"""Named tuples that cost a process little until it makes one.

`typing.NamedTuple` compiles a constructor and checks every annotation when a class is defined, in
.2 ms. A search defines 33 classes and makes few of them: these compile a constructor when it is
called again. To a type checker they are those of `typing`.
"""

from __future__ import annotations

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from _collections import _tuplegetter

    class Definition(type):
        """The class of named tuples; the annotations of one that is defined are its fields."""

        unused = True

        def __new__(cls, name, bases, body):
            return super().__new__(cls, name, bases, {**body, "__slots__": ()})

        def __init__(cls, name, bases, body):
            super().__init__(name, bases, body)
            if bases[0] is tuple or hasattr(bases[0], "_fields"):
                return  # NamedTuple itself, or a subclass of a named tuple
            cls._fields = cls.__match_args__ = tuple(cls.__annotations__)
            cls._field_defaults = {field: body[field] for field in cls._fields if field in body}
            for position, field in enumerate(cls._fields):
                setattr(cls, field, _tuplegetter(position, ""))

    class NamedTuple(tuple, metaclass=Definition):
        def __new__(cls, /, *values, **keywords):
            """The first instance of a class; the second compiles a constructor."""
            defined = next(parent for parent in cls.__mro__ if "_fields" in parent.__dict__)
            bound = dict(zip(defined._fields, values, strict=False)) | keywords
            whole = defined._field_defaults | bound
            doubled = len(bound) < len(values) + len(keywords)
            if defined.unused and not doubled and whole.keys() == set(defined._fields):
                defined.unused = False
                return tuple.__new__(cls, map(whole.__getitem__, defined._fields))
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

    def _constructor(defined):
        """The `__new__` of a class, compiled from its fields, as `collections` does."""
        names = ", ".join(defined._fields)
        scope = {"new_tuple": tuple.__new__, "__builtins__": {}, "__name__": defined.__module__}
        new = eval(f"lambda _cls, {names}: new_tuple(_cls, ({names},))", scope)  # noqa: S307
        new.__name__ = "__new__"
        new.__qualname__ = f"{defined.__name__}.__new__"
        new.__defaults__ = tuple(defined._field_defaults.values())
        return new
