"""SQLite's own module, under its usual name.

The standard wrapper also imports `datetime`, which takes a tenth of a hook's time and is not used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
