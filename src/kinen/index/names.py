"""What a name means: a path, the end of one, a note without its suffix, an alias."""

from __future__ import annotations

from kinen.errors import NotFound, QueryError
from kinen.model.late import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

LONGEST = 200
"""Characters of a name."""
MOST_WORDS = 8
"""Words of a question that may be a name."""
MOST_FILES = 10
"""A name that more files have is ignored: `index`, `README`."""
SUGGESTED = 3
LIKE = 75
"""The similarity, from 0 to 100, above which another name is suggested."""
_ESCAPED = {ord(sign): f"\\{sign}" for sign in "\\%_"}


def bare(name: str) -> str:
    """A name without the brackets, alias and heading of a wiki link, and without `./`."""
    name = name.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2].partition("|")[0].partition("#")[0]
    return name.removeprefix("./").strip("/ ")


def matching(name: str, paths: Iterable[str]) -> list[str]:
    """The paths that a name means: those that match it best, in order; several if it is ambiguous.

    A whole path is better than the end of one, a name with its suffix better than one without,
    the same case better than another.
    """
    exact = bare(name)
    folded = _folded(exact)
    ranked: dict[int, list[str]] = {}
    for path in paths if folded else ():
        distance = _distance(path, exact, folded)
        if distance >= 0:
            ranked.setdefault(distance, []).append(path)
    return sorted(set(ranked[min(ranked)])) if ranked else []


def _distance(path: str, exact: str, folded: str) -> int:
    """How far a path is from a name; -1 if the name does not mean it."""
    whole = _folded(path)
    stem = _without_suffix(whole)
    for distance, form in enumerate((whole, stem)):
        if form == folded:
            return 4 * distance + (not path.startswith(exact))
        if form.endswith("/" + folded):
            return 4 * distance + 2 + (exact not in path)
    return -1


def _without_suffix(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return folder + slash + (name.rpartition(".")[0] or name)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", text.casefold())


def record_paths(db: sqlite3.Connection, name: str) -> list[str]:
    """The paths of records that may have a name; of deleted files if no other has it."""
    return _present(
        name,
        db,
        "SELECT path, kind != 'file' OR IFNULL(json_extract(metadata, '$.alive'), 1) FROM records"
        " WHERE path != ''",
    )


def tracked_paths(db: sqlite3.Connection, name: str) -> list[str]:
    """The paths of tracked files that may have a name; of deleted ones if no other has it."""
    return _present(name, db, "SELECT path, present FROM paths WHERE file != 0")


def _present(name: str, db: sqlite3.Connection, sql: str) -> list[str]:
    """The paths of rows of path and presence that contain a name."""
    word = bare(name)
    part = word.rpartition("/")[2]
    if not part or len(word) > LONGEST:
        return []
    needle = part.translate(_ESCAPED) if part.isascii() else ""  # LIKE folds ASCII only
    rows = db.execute(f"{sql} AND path LIKE ? ESCAPE '\\'", (f"%{needle}%",)).fetchall()
    present = [path for path, is_present in rows if is_present]
    return present if matching(name, present) else [path for path, _ in rows]


def may_be_name(text: str) -> bool:
    """Whether a whole question can be the name of a file."""
    return len(text) <= LONGEST and len(text.split()) <= MOST_WORDS and "?" not in text


def asked_for(db: sqlite3.Connection, text: str) -> list[str]:
    """The paths whose name a whole question is; none if many files have it."""
    if not may_be_name(text):
        return []
    paths = matching(text, record_paths(db, text))
    return paths if len(paths) <= MOST_FILES else []


def is_identifier(text: str) -> bool:
    """Whether a question is a name in code and no word: `send_all`, `DataFrame`, `Memory.open`."""
    name = text.strip()
    parts = name.split(".")
    return all(part.isidentifier() for part in parts) and (
        len(parts) > 1 or "_" in name.strip("_") or not (name[1:].islower() or name.isupper())
    )


def with_alias(db: sqlite3.Connection, name: str) -> list[str]:
    """The refs of notes with this alias."""
    target = _folded(bare(name))
    rows = db.execute("SELECT ref, aliases FROM records WHERE aliases != '[]' ORDER BY ref")
    return [ref for ref, aliases in rows if target in map(_folded, json.loads(aliases))]


def only(name: str, candidates: Sequence[str]) -> str:
    """The one candidate, empty if there is none; several are refused."""
    if len(candidates) > 1:
        listed = ", ".join(candidates[:5]) + (" …" if len(candidates) > 5 else "")
        raise QueryError(f"several files end in {name}: {listed}", "add the folder before the name")
    return candidates[0] if candidates else ""


def unknown(fact: str, name: str, paths: Callable[[], Iterable[str]], hint: str) -> NotFound:
    """The error for an unknown name, with the most similar names."""
    near = similar(name, paths())
    return NotFound(fact, f"did you mean {' or '.join(near)}?" if near else hint)


def similar(name: str, paths: Iterable[str]) -> list[str]:
    """The paths whose names are most similar to a name, best first."""
    from rapidfuzz import fuzz, process

    target = _without_suffix(_folded(bare(name))).rpartition("/")[2]
    if not target:
        return []
    names = {path: _without_suffix(_folded(path)).rpartition("/")[2] for path in paths}
    best = process.extract(target, names, scorer=fuzz.ratio, score_cutoff=LIKE, limit=SUGGESTED)
    return [path for _, _, path in best]
