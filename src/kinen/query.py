"""The parameters of a search or recall from any surface → Query, checked here once."""

from __future__ import annotations

from kinen.characters import storable
from kinen.errors import QueryError
from kinen.model.kinds import (
    CHECKPOINT_TYPES,
    EVENTS,
    LESSONS,
    MEMORY_TYPES,
    MODE_ALIASES,
    MOST_HITS,
)
from kinen.model.records import KINDS, WITHOUT_FILE, Query
from kinen.text import nearest, now, parse_time, plural, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from kinen.config.keys import SearchSection

PATHS = ("paths", "near", "files")
TEXTS = (
    *PATHS,
    *"text mode kinds session tags since until events meta repo agent user symbols as_of".split(),
    *"issue refs parents".split(),
)
"""Fields of a query that are texts, or several of them."""
TOLD_TYPES = tuple(dict.fromkeys((*CHECKPOINT_TYPES[1:], *MEMORY_TYPES)))
"""Types of checkpoints and memories, which cut across kinds of records."""


MOST = {"limit": MOST_HITS, "context": 50, "budget": 1_000_000}
"""The largest numbers that a question may ask for."""
LONGEST = 10_000
"""Characters of a question."""

NAMES = 100
"""Tags, paths, types or files that a question may name of each."""


def _check_size(text: str, names: Mapping[str, Collection[str]], numbers: dict[str, float]) -> None:
    """Refuse what would take long, before anything is done for it."""
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters", f"ask in at most {LONGEST:,}")
    for name, values in names.items():
        if len(values) > NAMES:
            raise QueryError(
                f"{len(values):,} are too many", f"give at most {NAMES}", parameter=name
            )
        if any(len(value) > LONGEST for value in values):
            raise QueryError(
                "a name is too long", f"use at most {LONGEST:,} characters", parameter=name
            )
    for name, number in numbers.items():
        if number > MOST[name]:
            raise QueryError(
                f"{number:,} is too much", f"use at most {MOST[name]:,}", parameter=name
            )


def search_query(
    text: str,
    settings: SearchSection,
    *,
    mode: str = "",
    types: Iterable[str] = (),
    kinds: Iterable[str] = (),
    agent: str = "",
    author: str = "",
    repo: str = "",
    session: str = "",
    tags: Iterable[str] = (),
    paths: Iterable[str] = (),
    since: str = "",
    until: str = "",
    as_of: str = "",
    limit: int = 0,
    context: int = -1,
    min_score: float | None = None,
    near: Iterable[str] = (),
    exact: bool = False,
    meta: Iterable[str] = (),
    files: bool = False,
) -> Query:
    """A search, with the space's defaults for omitted parameters.

    `types` are of records, `kinds` of observations or commits, `near` paths as the repository has
    them now; `context` is the number of chunks around a hit. Without `min_score`, hits that are not
    close to the question are left out; with `files`, those that are in no file.
    """
    lists = {"types": types, "kinds": kinds, "tags": tags, "paths": paths, "near": near}
    names = {name: tuple(values) for name, values in {**lists, "meta": meta}.items()}
    _check_size(text, names, {"limit": limit, "context": context})
    if context < -1:
        raise QueryError(f"{context} is negative", "use 0 or more", parameter="context")
    chosen = kinds_of(names["types"])
    return Query(
        text,
        limit=limit or settings.default_limit,
        mode=MODE_ALIASES.get(mode, mode) or settings.default_mode,
        kinds=chosen,
        session=_stored(session),
        tags=tuple(tag.lstrip("#") for tag in names["tags"]),
        paths=names["paths"],
        since=parse_time(since, now()) if since else "",
        until=parse_time(until, now(), end=True) if until else "",
        as_of=as_of.strip(),
        context=settings.context_chunks if context < 0 else context,
        min_score=min_score or 0.0,
        floor=min_score is None,
        once=True,
        meta=conditions_of(names["meta"]),
        events=events_of(names["kinds"], chosen),
        agent=_stored(agent),
        repo=_stored(repo),
        user=author,
        near=names["near"],
        exact=exact,
        omitted=WITHOUT_FILE if files and not chosen else (),
        words_first=not mode,
    )


def recall_query(
    text: str,
    *,
    types: Iterable[str] = (),
    tags: Iterable[str] = (),
    files: Iterable[str] = (),
    symbols: Iterable[str] = (),
    issue: str = "",
    session: str = "",
    repo: str = "",
    agent: str = "",
    user: str = "",
    since: str = "",
    until: str = "",
    as_of: str = "",
    limit: int = 20,
    budget: int = 0,
    min_similarity: float = 0.0,
    mode: str = "",
) -> Query:
    """A recall; its types may be of checkpoints and memories, or of records.

    The mode matters only with a text.
    """
    _check_numbers(limit, budget, min_similarity)
    types = tuple(types)
    tags = tuple(tags)
    files = tuple(files)
    symbols = tuple(symbols)
    names_given = {"types": types, "tags": tags, "files": files, "symbols": symbols}
    _check_size(text, names_given | {"issue": (issue,)}, {"limit": limit, "budget": budget})
    for name in ("files", "symbols", "tags"):
        if not all(map(str.strip, names_given[name])):
            raise QueryError("a name is empty", "give a name, or omit it", parameter=name)
    events = _told_types(types)
    return Query(
        text,
        limit=limit or MOST_HITS,
        kinds=("checkpoint", "memory") if events else kinds_of(types),
        events=events,
        session=_stored(session),
        repo=_stored(repo),
        agent=_stored(agent),
        user=_stored(user),
        tags=tuple(tag.lstrip("#") for tag in tags),
        files=files,
        symbols=symbols,
        issue=issue.strip(),
        since=parse_time(since, now()) if since else "",
        until=parse_time(until, now(), end=True) if until else "",
        as_of=as_of.strip(),
        budget=budget,
        min_similarity=min_similarity,
        mode=(MODE_ALIASES.get(mode, mode) if text.strip() else "") or "hybrid",
    )


def _told_types(types: Iterable[str]) -> tuple[str, ...]:
    """The types of checkpoints and memories among some types, which must be all or none."""
    names = listed(types)
    singular = [name.removesuffix("s") for name in names]
    events = tuple(name for name in singular if name in TOLD_TYPES)
    given = len(events)
    if {*events} & {*LESSONS}:
        events = tuple(dict.fromkeys((*events, *LESSONS)))
    if given and given < len(names):
        raise QueryError(
            f"{', '.join(names)}: types of notes and kinds of records", "ask for them one by one"
        )
    return events


def _check_numbers(limit: int, budget: int, min_similarity: float) -> None:
    """Refuse numbers of a recall that mean nothing."""
    if budget < 0:
        raise QueryError(f"{budget} is negative", "use 1 or more", parameter="budget")
    if limit < 0:
        raise QueryError(f"{limit} is negative", "use 1 or more, 0 for all", parameter="limit")
    if not 0 <= min_similarity <= 1:
        raise QueryError(
            f"invalid value {min_similarity}",
            "use a number from 0 to 1",
            parameter="min_similarity",
        )


def _stored(name: str) -> str:
    """A name as the journal stores it: one that looks like a secret is masked."""
    if not name:
        return ""
    from kinen.privacy import entrance  # most searches filter by no name

    return entrance.name(name)


def storable_query(query: Query) -> Query:
    """The query without characters that a database refuses; paths as the index spells them."""
    changed: dict[str, Any] = {}
    for name in TEXTS:
        value = getattr(query, name)
        change = spelled if name in PATHS else storable
        if isinstance(value, str):
            changed[name] = change(value)
        else:
            changed[name] = tuple(map(change, value))
    return query._replace(**changed)


def listed(names: Iterable[str]) -> list[str]:
    """Names that may come one by one, or several in a text with commas."""
    return [name for text in names for name in text.lower().replace(",", " ").split()]


def kinds_of(types: Iterable[str]) -> tuple[str, ...]:
    """Kinds of records by their plurals or singulars; none for `all`."""
    names = listed(types)
    if not names:
        return ()
    plurals = {plural(kind): kind for kind in KINDS} | {"events": "observation"}
    for name in names:
        if name != "all" and plurals.get(name, name) not in KINDS:
            raise QueryError(f"no type {name!r}", choice_hint(name, [*plurals, "all"]))
    return () if "all" in names else tuple(dict.fromkeys(plurals.get(name, name) for name in names))


def events_of(kinds: Iterable[str], types: Collection[str] = ()) -> tuple[str, ...]:
    """Kinds of observation, checked; with the type commit, kinds of commits (`fix`, `feat`)."""
    if "commit" in types:
        return tuple(kind.lower() for kind in kinds)
    events = tuple(kinds)
    for kind in events:
        if kind not in EVENTS:
            hint = choice_hint(kind, EVENTS)
            if not nearest(kind, EVENTS):
                hint += "; kinds of commits need the type commits"
            raise QueryError(f"no kind of observation {kind!r}", hint)
    return events


def choice_hint(word: str, names: Collection[str]) -> str:
    """What to use in place of a word that is none of some names."""
    near = nearest(word, names)
    return f"did you mean {near}?" if near else f"use {', '.join(names)}"


def conditions_of(meta: Iterable[str]) -> tuple[str, ...]:
    """Conditions on metadata as `key=value`, checked."""
    conditions = tuple(meta)
    for condition in conditions:
        key, equals, value = condition.partition("=")
        if not (key.strip() and equals) or key[-1] in "!<>" or value.startswith("="):
            hint = "use key=value, or key= for an empty value"
            raise QueryError(f"invalid condition {condition!r}", hint, parameter="meta")
    return conditions


def place(name: str) -> tuple[str, int, int]:
    """A ref or path, the line after a colon, and the chunk after `#`; -1 for none."""
    head, separator, number = name.rpartition("#")
    if separator and number.isdecimal() and head.partition(":")[0] in KINDS:
        return head, -1, int(number)
    head, separator, number = name.rpartition(":")
    if separator and head and number.isdecimal() and head not in KINDS:
        return head, int(number), -1
    return name, -1, -1
