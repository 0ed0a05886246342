"""SQLite's module is loaded without what only its wrapper needs, and works as usual."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
before = {"functools", "collections"} & sys.modules.keys()
from kinen.storage.sqlite import sqlite3
assert before or not {"functools", "collections"} & sys.modules.keys()
db = sqlite3.connect(":memory:", cached_statements=2)
for n in range(9):
    assert list(db.execute(f"SELECT {n % 4}, ?", (n,))) == [(n % 4, n)]
import functools
assert functools.wraps and functools.lru_cache(2)(len)("abc") == 3
print("ok")
"""


def test_statements_are_cached_without_loading_functools_and_it_loads_later() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.stdout == "ok\n", run.stderr
