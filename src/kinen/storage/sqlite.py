"""SQLite's own module, under its usual name.

The standard wrapper also imports `datetime`, which takes a tenth of a hook's time and is not used.
The module itself imports `functools` for its cache of statements, and with it `collections`: as
long as nobody has loaded them, it gets the cache, which is written in C, and nothing else.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:

    def _light_functools():
        from _functools import _lru_cache_wrapper

        def lru_cache(maxsize):
            return lambda call: _lru_cache_wrapper(call, maxsize, False, tuple)

        module = type(sys)("functools")
        module.lru_cache = lru_cache
        return module

    try:
        light = None if {"functools", "_sqlite3"} & sys.modules.keys() else _light_functools()
        if light:
            sys.modules["functools"] = light
        try:
            import _sqlite3 as sqlite3
        finally:
            if light and sys.modules.get("functools") is light:
                del sys.modules["functools"]
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
