"""What an agent may be given unasked: what this machine recorded, or all of a trusted space.

The files of a clone were written by anybody. When kinen writes a checkpoint or a plan, it notes the
digest of the file in the journal, so that a session start can tell its own files from those that
came by `git clone`. Hooks import this module: it is light.
"""

from __future__ import annotations

from kinen.journal.schema import strings
from kinen.privacy.exclude import matching_glob
from kinen.storage import inside
from kinen.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

LONGEST = 200_000
"""Bytes of a file that are read, and so the bytes that its digest is of."""
OWN = "own:"
"""How the keys begin under which the journal notes digests; the value is the path."""
RECORDED = ("observation:", "summary:", "capsule:", "memory:", "pin:")
"""Refs of what the journal has."""
NOUNS = ("checkpoint", "plan", "memory", "issue", "commit")


def own_key(data: bytes) -> str:
    """The key under which a file that kinen wrote here is noted; line ends may change."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    plain = data[:LONGEST].replace(b"\r\n", b"\n")
    return OWN + blake2b(plain, digest_size=32).hexdigest()


def is_own(db: sqlite3.Connection, data: bytes) -> bool:
    """Whether kinen wrote a file of this content on this machine."""
    sql = "SELECT 1 FROM meta WHERE key = ?"
    return db.execute(sql, (own_key(data),)).fetchone() is not None


class Admission:
    """Decides for the entries of one space, and counts what it withholds."""

    def __init__(
        self,
        root: str,
        db: sqlite3.Connection | None,
        *,
        trusted: bool,
        excluded: Iterable[str] = (),
    ) -> None:
        """`trusted` says that the user trusts the space; `db` is its journal, and `excluded` has
        the globs of paths that are never told.
        """
        self._root = root
        self._db = db
        self.trusted = trusted
        self._excluded = tuple(excluded)
        self.withheld: dict[str, int] = {}
        self._own: dict[str, bool] = {}
        self.drawn: dict[str, str] = {}
        """Memories that were drawn from something that came with the repository, and from what."""

    def admits(self, path: str, noun: str) -> bool:
        """Whether a file of the space that was read may be told; one that may not is counted.

        One that is hidden is neither told nor counted.
        """
        if self._is_hidden(path):
            return False
        admitted = self.trusted or self.is_own(path)
        if not admitted:
            self.withhold(noun)
        return admitted

    def _is_hidden(self, path: str) -> bool:
        """Whether the user forgot or excluded a checkpoint or a plan."""
        if matching_glob(path, self._excluded):
            return True
        sql = "SELECT 1 FROM suppressed WHERE ref IN (?, ?)"
        refs = (f"checkpoint:{path}", f"plan:{path}")
        return self._db is not None and self._db.execute(sql, refs).fetchone() is not None

    def read(self, path: str) -> str:
        """The text of a file of the space; empty if it cannot or may not be read."""
        from kinen.errors import UnsafeFile

        if self._is_hidden(path):
            return ""
        try:
            data = inside.read(self._root, path, LONGEST, cut=True)
        except (OSError, UnsafeFile):
            return ""
        self._own[path] = self._db is not None and is_own(self._db, data)
        return data.decode("utf-8", "replace")

    def withhold(self, noun: str, count: int = 1) -> None:
        """Count entries that are not told."""
        self.withheld[noun] = self.withheld.get(noun, 0) + count

    def memory(self, ref: str, derived_from: str) -> bool:
        """Whether a memory may be told, by the JSON array of the refs that it was drawn from."""
        # Where a quote in a path shifts the strings, none is admitted.
        sources = strings(derived_from)
        foreign = (each for each in sources if not each.startswith(RECORDED))
        first = next((each for each in foreign if not self._own_file(each)), "")
        if first:
            self.drawn[ref] = first
        return self.trusted or not first

    def _own_file(self, ref: str) -> bool:
        kind, _, path = ref.partition(":")
        if kind not in ("checkpoint", "plan"):
            return False
        if path not in self._own:
            self.read(path)
        return self.is_own(path)

    def is_own(self, path: str) -> bool:
        """Whether kinen wrote a file on this machine, as it was when it was read here."""
        return self._own.get(path, False)

    def count_checkpoints(self, paths: Iterable[str]) -> None:
        """Count the checkpoints that were not written here, by their paths."""
        if self.trusted or not self.withheld.get("checkpoint"):
            return
        own: set[str] = set()
        if self._db is not None:
            sql = "SELECT value FROM meta WHERE key > ? AND key < ?"
            own = {row[0] for row in self._db.execute(sql, (OWN, OWN[:-1] + ";"))}
        others = sum(path not in own for path in paths)
        self.withheld["checkpoint"] = max(others, self.withheld["checkpoint"])

    def hint(self) -> str:
        """A line on what is withheld and how the user may allow it; empty if nothing is."""
        counts = [
            f"{count:,} {plural(noun) if count > 1 else noun}"
            for noun in NOUNS
            if (count := self.withheld.get(noun, 0))
        ]
        if not counts:
            return ""
        listed = " and ".join(filter(None, [", ".join(counts[:-1]), counts[-1]]))
        return (
            f"Not shown: {listed} of this repository that kinen did not write on this machine."
            " The user can have them shown here with `kinen trust --memory`."
        )
