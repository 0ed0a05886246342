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
    from kinen.model.late import lru_cache

    try:
        light = None
        if not {"functools", "_sqlite3"} & sys.modules.keys():
            light = sys.modules["functools"] = type(sys)("functools")
            light.lru_cache = lru_cache
        try:
            import _sqlite3 as sqlite3
        finally:
            if light and sys.modules.get("functools") is light:
                del sys.modules["functools"]
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
