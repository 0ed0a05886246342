"""Parts of the standard library that a hook or a cold search can do without, and numpy (12 MB).

`re` with `enum`, `functools` and `collections` takes as long as half a bare interpreter, and `json`
imports it. To a type checker the names are those modules; each is imported by its first use.
"""

from __future__ import annotations

__all__ = ["Any", "cache", "contextlib", "json", "lru_cache", "np", "re"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import contextlib
    import json
    import re
    from functools import cache, lru_cache
    from typing import Any

    import numpy as np
else:
    from _functools import _lru_cache_wrapper
    from _json import make_scanner

    Any = object

    class Late:
        """A module that is imported by the first use of one of its names."""

        def __init__(self, name):
            self.__name__ = name

        def __getattr__(self, name):
            value = getattr(__import__(self.__name__), name)
            setattr(self, name, value)
            return value

    class _Scan:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = parse_constant = float
        parse_int = int

    _scan = make_scanner(_Scan)

    def _loads(text, **options):
        """`json.loads` by its part in C; whatever that does not read goes to the module."""
        try:
            plain = (text.decode() if type(text) is bytes else text).strip(" \t\n\r")
            if plain[:1] in ("{", "[") and not options:
                value, end = _scan(plain, 0)
                if end == len(plain):
                    return value
        except (AttributeError, StopIteration, SystemError, ValueError):
            pass  # SystemError: without the module it has no exception for text that is not JSON
        from json import loads

        return loads(text, **options)

    contextlib, json, np, re = map(Late, ("contextlib", "json", "numpy", "re"))
    json.loads = _loads

    def lru_cache(maxsize):
        return lambda call: _lru_cache_wrapper(call, maxsize, False, tuple)

    cache = lru_cache(None)
