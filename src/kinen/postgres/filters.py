"""The filters of a query as SQL over chunks c and records r of PostgreSQL.

The rules are those of `kinen.index.match`; the contract tests hold both to the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kinen.index.match import folder_glob, is_date, value_spellings
from kinen.model.records import Query
from kinen.postgres.words import phrase_query
from kinen.text import words

Clause = tuple[str, list[Any]]
Stems = Callable[[str], list[str]]
_TOUCHING = (
    "EXISTS (SELECT 1 FROM kinen.touch t WHERE t.space = r.space AND t.record = r.id"
    " AND t.path ~ %s)"
)
_NAMING = (
    "(r.kind IN ('checkpoint', 'observation') AND jsonb_typeof(r.metadata -> %s) = 'array'"
    " AND EXISTS (SELECT 1 FROM jsonb_array_elements_text(r.metadata -> %s) j"
    " WHERE j = %s OR j ~ %s))"
)
_VALUE = "r.metadata #> %s::text[]"
_WITH_VALUE = (
    f"{_VALUE} IS NOT NULL AND EXISTS (SELECT 1 FROM jsonb_array_elements_text("
    f"CASE jsonb_typeof({_VALUE}) WHEN 'array' THEN {_VALUE}"
    f" ELSE jsonb_build_array({_VALUE}) END) j"
    " WHERE left(lower(coalesce(j, 'null')), %s) = ANY(%s))"
)
_LONGEST = 1_000_000
"""More characters than a value has."""
_DAY = len("2026-03-01")


def conditions(query: Query, stems: Stems) -> Clause:
    """The query's filters as conditions joined by AND; empty without any."""
    clauses = [*_clauses(query, stems)]
    values = [value for _, bound in clauses for value in bound]
    return " AND ".join(clause for clause, _ in clauses), values


def _clauses(query: Query, stems: Stems) -> Iterator[Clause]:
    if query.kinds:
        yield "r.kind = ANY(%s)", [list(query.kinds)]
    if query.omitted:
        yield "r.kind <> ALL(%s)", [list(query.omitted)]
    yield from _of_content(query, stems)
    events = list(query.events)
    if events and "commit" in query.kinds:  # by what the subject begins with: `fix(auth): …`
        yield (
            "(r.event = ANY(%s) OR (r.kind = 'commit' AND r.metadata ->> 'type' = ANY(%s)))",
            [events, events],
        )
    elif events:
        yield "r.event = ANY(%s)", [events]
    for parts in ([*map(_about_file, query.files)], [*map(_naming_symbol, query.symbols)]):
        if parts:
            either = " OR ".join(clause for clause, _ in parts)
            yield f"({either})", [value for _, bound in parts for value in bound]
    for name in ("session", "repo", "agent", "user"):
        if getattr(query, name):
            # The column, or a word in it, begins with the value, ignoring case.
            column = f"translate(lower(r.\"{name}\"), '/-', '  ')"
            value = "translate(lower(%s), '/-', '  ')"
            yield f"strpos(' ' || {column}, ' ' || {value}) > 0", [getattr(query, name)]
    if query.since:
        yield "r.at >= %s", [query.since]
    if query.until:
        yield "r.at <> '' AND r.at <= %s", [query.until]


def _of_content(query: Query, stems: Stems) -> Iterator[Clause]:
    """Tags, paths, metadata, and words that a chunk must have or must not have."""
    for tag in query.tags:
        yield (
            "EXISTS (SELECT 1 FROM unnest(r.tags) t WHERE t = %s OR starts_with(t, %s))",
            [tag, f"{tag}/"],
        )
    if query.paths:
        # Records of files below the paths, and commits that touched one of these.
        patterns = [regular(folder_glob(path)) for path in query.paths]
        either = ["r.path ~ %s" for _ in patterns]
        values = [*patterns]
        if "commit" in query.kinds:
            either += [_TOUCHING for _ in patterns]
            values += patterns
        yield f"({' OR '.join(either)})", values
    for phrase in query.required:
        yield _containing(phrase, stems)
    for word in query.excluded:
        sequence = stems(word)
        if sequence:
            yield "NOT c.words @@ %s::tsquery", [phrase_query(sequence)]
    for condition in query.meta:
        key, _, value = condition.partition("=")
        path = key.replace('"', "").split(".")
        length = _DAY if is_date(value) else _LONGEST
        spellings = [*map(str.lower, value_spellings(value))]
        yield _WITH_VALUE, [*[path] * 4, length, spellings]


def _containing(phrase: str, stems: Stems) -> Clause:
    """Chunks with a phrase in their text, heading or title."""
    folded = " ".join(phrase.split()).lower()
    plain = " ".join(words(folded)) == folded
    text = "kinen.contains(c.title || E'\\n' || c.heading || E'\\n' || c.body, %s, %s)"
    sequence = stems(phrase)
    if not sequence:
        return text, [folded, plain]
    found = "c.id IN (SELECT m.id FROM kinen.matching(%s::tsquery, NULL) m)"
    return f"({found} AND {text})", [phrase_query(sequence), folded, plain]


def _about_file(path: str) -> Clause:
    """Records that are a file, touched it, or name it by its path or the end of its path."""
    path = path.removeprefix("./").strip("/")
    end = f"(^|/){re.escape(path)}$"
    clause = f"r.path ~ %s OR {_TOUCHING} OR {_NAMING}"
    return clause, [end, end, "files", "files", path, f"/{re.escape(path)}$"]


def _naming_symbol(symbol: str) -> Clause:
    """Checkpoints that name a symbol, alone or at the end of a longer name."""
    return _NAMING, ["symbols", "symbols", symbol, f"[.:#]{re.escape(symbol)}$"]


def regular(glob: str) -> str:
    """A glob, as SQLite reads it, as a regular expression of PostgreSQL."""
    parts = []
    for match in re.finditer(r"\*|\?|\[(\^?)(\]?[^\]]*)\]|.", glob, re.DOTALL):
        part = match[0]
        if part == "*":
            parts.append(".*")
        elif part == "?":
            parts.append(".")
        elif match[2] is not None:
            inside = match[2].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{match[1]}{inside}]")
        else:
            parts.append(re.escape(part))
    return f"^{''.join(parts)}$"
