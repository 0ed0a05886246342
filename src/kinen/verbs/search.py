"""`search` and `recall`: hits, and what an agent should know within a token budget.

A cold search imports this: what a result is made of is imported where it is needed, and the types
of both results are in `kinen.verbs.answers`.
"""

from __future__ import annotations

import os

from kinen.model.kinds import DISTILLERS, MOST_HITS
from kinen.verbs.params import (
    AGENT,
    AS_OF,
    HOW,
    JSON,
    PERIOD,
    PREFIX,
    REPO,
    SCOPE,
    SESSION,
    SPACES,
    TAG,
    begin,
    flag,
    mode_of,
    option,
    param,
    words,
)
from kinen.verbs.verb import Output, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from kinen.memory import Memory
    from kinen.memory.federation import Open
    from kinen.model.journal import Recall as Recalled
    from kinen.model.records import Hits, Query

FILTERS = {
    "kinds": "--kind",
    "by": "--by",
    "mine": "--mine",
    "meta": "--meta",
    "agent": "--agent",
    "author": "--author",
    "repo": "--repo",
    "session": "--session",
    "tags": "--tag",
    "paths": "--path",
    "since": "--since",
    "until": "--until",
    "as_of": "--as-of",
}
"""Parameters that leave out records whatever their text is, and their options."""

SEARCH = {
    "query": words(
        "what you look for; paths with a slash at the end select files",
        metavar="QUERY... [PATH/]...",
        longest=20_000,
        example="why did we drop redis",
    ),
    **HOW,
    "exact": flag("--exact", "match the words as one phrase, as if quoted", unlisted=True),
    "types": option(
        "--type -t",
        "TYPE",
        "type of record: files, commits, memories, notes, ... or all",
        many=True,
        guide="files, commits, memories, notes, symbols",
        example=["notes"],
    ),
    "kinds": option(
        "--kind -k",
        "KIND",
        "kind of event: error, command, ...; with --type commits: fix, feat, ...",
        many=True,
        rare=True,
        unlisted=True,
    ),
    "by": option(
        "--by",
        "NAME",
        "only what this colleague wrote (see kinen team sync)",
        rare=True,
        only="command",
    ),
    "mine": flag("--mine", "without what colleagues wrote", rare=True, only="command"),
    "meta": option(
        "--meta",
        "KEY=VALUE",
        "value in the frontmatter, such as draft=true",
        many=True,
        separator="",
        rare=True,
        unlisted=True,
        example=["status=complete"],
    ),
    "agent": AGENT,
    "author": option(
        "--author",
        "NAME",
        f"author of commits ({PREFIX})",
        aliases=("--user",),
        rare=True,
        unlisted=True,
    ),
    "near": option(
        "--near",
        "PATH",
        "rank commits that touched this file higher",
        many=True,
        path=True,
        loose=True,
        separator="",
        most=20,
        rare=True,
        unlisted=True,
    ),
    "repo": REPO,
    "session": SESSION,
    "tags": TAG,
    "paths": option(
        "--path -p",
        "PATH",
        "folder or glob of the files",
        many=True,
        path=True,
        loose=True,
        separator="",
    ),
    **PERIOD,
    "as_of": AS_OF,
    "limit": param(
        "--limit -n",
        "maximum number of hits (0 = all, default: search.default_limit)",
        None,
        type=int,
        metavar="N",
        request_default=0,
        tool_default=10,
        least=0,
        most=MOST_HITS,
        checked=True,
        unlisted=True,
    ),
    "context": param(
        "--context -C",
        "chunks to show before and after each hit (default: search.context_chunks)",
        -1,
        metavar="N",
        rare=True,
        tool_default=0,
        least=-1,
        most=50,
        checked=True,
        unlisted=True,
    ),
    "min_score": param(
        "--min-score",
        "minimum score, 0 to 1; 0 shows everything (default: what is close enough)",
        None,
        type=float,
        metavar="X",
        rare=True,
        least=0,
        most=1,
        unlisted=True,
    ),
    "budget": param(
        "--budget",
        "most tokens",
        0,
        only="tool",
        tool_default=4000,
        least=200,
        most=100_000,
        unlisted=True,
    ),
    "space": SPACES,
    "engine": option(
        "--engine",
        "URL",
        "search a PostgreSQL database: postgresql://…, or config for engine.url",
        rare=True,
        only="command",
    ),
    "verbose": flag("--verbose -v", "show the whole passage of each hit", only="command endpoint"),
    "explain": flag("--explain -e", "show the votes behind each score", rare=True, unlisted=True),
    "files": flag(
        "--files -l", "print the paths of files only, one per line", only="command endpoint"
    ),
    "as_json": JSON,
    "null": flag(
        "--null -0",
        "with -l, end each path with a NUL character, for xargs -0",
        rare=True,
        only="command",
    ),
    "as_lines": flag(
        "--jsonl", "print one JSON object per hit and line", rare=True, only="command"
    ),
    "colour": flag("--colour", "as text: for a terminal", only="endpoint"),
    "width": param(
        "--width",
        "as text: columns of the terminal; 0: none",
        0,
        least=0,
        most=1000,
        only="endpoint",
    ),
    "folder": option(
        "--folder", "PATH", "as text: paths are relative to this folder", only="endpoint"
    ),
}
RECALL = {
    "query": words(
        "a question; none for the latest work",
        required=False,
        longest=20_000,
        example="why did we drop redis",
    ),
    "search": option("--search", "TEXT", "the query, as an option", hidden=True, only="command"),
    **HOW,
    **PERIOD,
    "as_of": AS_OF,
    "types": option(
        "--type -t",
        "TYPE",
        "type: decision, lesson, files, commits, ...",
        many=True,
        guide="decision, lesson, files",
    ),
    "tags": TAG,
    "files": option(
        "--file -f",
        "PATH",
        "about this file: its path, or the end of it",
        many=True,
        path=True,
        loose=True,
        separator="",
        unlisted=True,
    ),
    "issue": option(
        "--issue",
        "ID",
        "this issue, such as bd-a1b2 or '#12', and what names it",
        unlisted=True,
        example="bd-a1b2",
    ),
    "symbols": option(
        "--symbol",
        "NAME",
        "memories that name this symbol",
        many=True,
        rare=True,
        unlisted=True,
    ),
    **SCOPE,
    "limit": param(
        "--limit -n",
        "maximum number of entries (0 = all)",
        20,
        metavar="N",
        least=0,
        most=MOST_HITS,
        checked=True,
        unlisted=True,
    ),
    "full": flag(
        "--full", "show whole records, not only the relevant lines", rare=True, unlisted=True
    ),
    "budget": param(
        "--budget",
        "token limit (default: recall.budget)",
        0,
        metavar="N",
        least=0,
        most=1_000_000,
        checked=True,
        unlisted=True,
    ),
    "distill": flag("--distill -d", "summarise the hits instead of listing them", unlisted=True),
    "distiller": param(
        "--distiller",
        "which engine writes the digest (default: distill.order); auto: the first available",
        choices=("auto", *DISTILLERS, "none"),
        rare=True,
        unlisted=True,
    ),
    "min_similarity": param(
        "--min-similarity",
        "minimum similarity, 0 to 1 (default: 0)",
        0.0,
        metavar="X",
        rare=True,
        least=0,
        most=1,
        checked=True,
        unlisted=True,
    ),
    "space": SPACES,
    "as_json": JSON,
    "changes": flag("--changes", "", only="tool", guide="on uncommitted changes"),
    "explain": param("--explain", "", default=True, only="tool", tool_default=False, unlisted=True),
}


def fields_of(call: Verb, query: Callable[..., Query]) -> dict[str, Any]:
    """The parameters of a call that a function of `kinen.query` takes by the same name."""
    names: Any = query.__kwdefaults__
    return {name: value for name, value in vars(call).items() if name in names}


class Search(Verb):
    """Search by word and by meaning. Exit 0 with hits, 1 without, 2 on an error.

    \b
    Examples:
      kinen search why did we drop redis
      kinen search --fulltext 'rate-limiter' --type rounds --since 2w
      kinen search --exact 'token refresh failed'
      kinen search -v token refresh
      kinen search --type commits 'token refresh' --near src/auth.py
      kinen search --type files 'where are cookies signed'
      kinen search --type commits --kind fix cookies
      kinen search --as-of 2026-03-01 where are sessions stored
      kinen search --meta draft=true billing docs/plans/
      kinen search deploy --space all -l0 | xargs -0 less
    """

    result = "kinen.verbs.answers:SearchResults"
    tool_result = "kinen.verbs.answers:SizedResults"
    route = "search"
    tool = "kinen_search"
    title = "Search memory"
    guide = "Search files, sessions, commits, memories and code by word and by meaning."
    embeds = True
    quick = True
    params = SEARCH
    query: str
    near: Sequence[str]
    engine: str
    budget: int
    explain: bool
    verbose: bool
    remarks: Mapping[str, str] | None = None
    """Lines below hits, by their refs."""
    files: bool
    colour: bool
    width: int
    folder: str
    local = False
    """Whether a daemon cannot answer."""
    plain = False
    """Whether words alone choose the hits of one local index."""

    @classmethod
    def of_line(cls, words: Sequence[str], values: dict[str, Any]) -> Search:
        """Words at the end that are paths with a slash select files: `deploy docs/`."""
        query = [*words]
        if not values["engine"]:  # whose files are not here
            while len(query) > 1 and "/" in query[-1] and os.path.lexists(query[-1]):
                values["paths"] = (*values["paths"], os.path.abspath(query.pop()))
        if values["by"] and values["mine"]:
            from kinen.errors import QueryError

            raise QueryError("cannot be combined with mine", "use one of them", parameter="by")
        by = f"by={values['by']}" if values["by"] else "by=me" if values["mine"] else ""
        values["meta"] = (*values["meta"], *([by] if by else ()))
        values["limit"] = 0 if values["limit"] is None else values["limit"] or MOST_HITS
        values["since"] = begin(values)
        values["mode"] = mode_of(values)
        call = cls(**{**values, "query": " ".join(query), "folder": os.getcwd()})
        call.local = bool(call.near or call.engine)  # the daemon has another working folder
        rest = ("engine", "space", "types", "files", "semantic", *FILTERS)
        call.plain = not any(values[name] for name in rest)
        return call

    def query_in(self, memory: Memory) -> Query:
        """The query, with the defaults of the space."""
        from kinen.query import search_query

        fields = fields_of(self, search_query)
        fields["limit"] = fields["limit"] or 0  # as configured
        fields["near"] = [
            memory.git.current_name(path if self.local else memory.git.inside(path))
            for path in self.near
        ]
        return search_query(self.query, memory.config.search, **fields)

    def answer(self, memory: Memory) -> Output:
        hits = memory.search(self.query_in(memory))
        if self.verbose:
            from kinen.render.text import changed_line

            sessions: dict[str, str] = {}
            for record in (hit.record for hit in hits):
                parent = str((record.metadata or {}).get("parent", ""))
                sessions.setdefault(record.ref if record.kind == "capsule" else parent, record.ref)
            self.remarks = {
                ref: changed_line(*memory.git.changed_since(session))
                for session, ref in sessions.items()
                if session
            }
        return self.output(hits)

    def answer_of(self, spaces: Sequence[str], opener: Open | None = None) -> Output:
        from kinen.memory.federation import search_spaces

        return self.output(search_spaces(spaces, self.query_in, opener=opener))

    def output(self, hits: Hits) -> Output:
        """The answer of these hits."""
        if self.budget:
            from kinen.verbs.answers import sized, sized_text

            value = sized(hits, self.budget, explain=self.explain)
            return Output(value, sized_text(value), bool(hits), hits.notes)

        def data() -> object:
            from kinen.render.json import hits_json

            return hits_json(hits)

        return Output(data, lambda _: self.text_of(hits), bool(hits), hits.notes)

    def text_of(self, hits: Hits) -> str:
        from kinen.render.screen import Screen, Style
        from kinen.render.text import search_text
        from kinen.text import now

        return search_text(
            hits,
            files=self.files,
            explain=self.explain,
            verbose=self.verbose,
            folder=self.folder,
            screen=Screen(Style(colour=self.colour), self.width, now()),
            remarks=self.remarks,
        )

    def nothing(self, notes: Sequence[str]) -> str:
        """What a command says if there are no hits: what was looked for and where, what to do."""
        if any("nothing" in remark for remark in notes):
            return ""
        values = vars(self)
        kinds = ", ".join(values["types"])
        where = f" among {kinds}" if kinds else ""
        if self.files:
            return f"no files for {self.query!r}{where}: without -l, other hits are shown"
        narrowing = [name for key, name in FILTERS.items() if values[key]]
        if narrowing:
            filters = ", ".join(narrowing)
            return f"nothing for {self.query!r}{where} with {filters}: widen or omit the filter"
        hint = "use other words, or index more with `kinen index --engine …`"
        if not self.engine:
            hint = "use other words, or see what is indexed with `kinen status`"
        return f"nothing has the words of {self.query!r}{where}: {hint}"


class Recall(Verb):
    """Print the plan, pins, the latest summary and matching records as markdown, within a token
    budget.

    Without a query, print what happened last. The output ends with what did not fit. Exit 1 if
    there is nothing. With --distill the hits are summarised, each line with its source; by default
    that happens locally and without a model (see distill.order).

    \b
    Examples:
      kinen recall why did we drop redis
      kinen recall --days 2 --file auth.py --type decision
      kinen recall --distill how do tokens expire --budget 400
      kinen recall token refresh --json | jq '.items[].ref'
      kinen recall --issue bd-a1b2
      kinen recall --space all deploy
    """

    result = "kinen.verbs.answers:Recalled"
    route = "recall"
    tool = "kinen_recall"
    title = "Recall what matters now"
    guide = "What to know to start or resume work: plan, pins, last summary, memories, notes."
    embeds = True
    quick = True
    params = RECALL
    query: str
    budget: int
    full: bool
    distill: bool
    distiller: str
    changes: bool
    explain: bool
    local = False
    """Whether a daemon cannot answer."""
    plain = False

    @classmethod
    def of_line(cls, words: Sequence[str], values: dict[str, Any]) -> Recall:
        values["since"] = begin(values)
        values["mode"] = mode_of(values)
        text = " ".join([*words, *filter(None, [values["search"]])])
        call = cls(**{**values, "query": text})
        call.local = bool(call.engine_of_digest)  # the daemon makes no digests for a command
        rest = ("space", "changes", "semantic", "issue", *FILTERS)
        call.plain = bool(text) and not any(values.get(name) for name in rest)
        return call

    @property
    def engine_of_digest(self) -> str:
        """Which engine writes a digest; `configured` for that of the settings, empty for none."""
        if self.distiller:
            return "" if self.distiller == "none" else self.distiller
        return "configured" if self.distill else ""

    def is_slow(self) -> bool:
        return bool(self.engine_of_digest)

    def recall_query(self) -> Query:
        from kinen.query import recall_query

        return recall_query(self.query, **fields_of(self, recall_query))

    def answer(self, memory: Memory) -> Output:
        if not self.changes:
            query = self.recall_query()
            recall = memory.recall(query, full=self.full, distiller=self.engine_of_digest)
            return self.output(recall)
        from kinen.errors import QueryError
        from kinen.verbs.reports import Context

        unset = vars(Recall())
        others = [name for name, value in vars(self).items() if value and value != unset.get(name)]
        extra = sorted({*others} - {"changes", "budget", "client"})
        if extra:
            fact = f"changes and {', '.join(extra)}"
            raise QueryError(fact, "give changes alone, or with budget")
        return Context(budget=self.budget).answer(memory)

    def answer_of(self, spaces: Sequence[str], opener: Open | None = None) -> Output:
        if self.engine_of_digest:
            from kinen.errors import QueryError

            raise QueryError("a digest is of one space", "omit distill, or name one space")
        from kinen.memory.federation import recall_spaces

        return self.output(
            recall_spaces(spaces, self.recall_query(), full=self.full, opener=opener)
        )

    def output(self, recall: Recalled) -> Output:
        from kinen.characters import visible
        from kinen.recall.tiers import shown

        text = visible(shown(recall))
        notes = (*recall.notes, *(recall.digest.notes if recall.digest else ()))
        if not self.explain:
            items = (item._replace(votes=()) for item in recall.items)
            recall = recall._replace(items=tuple(items))

        def data() -> dict[str, Any]:
            from kinen.render.journal import recall_json

            return recall_json(recall)

        return Output(
            data,
            text,
            bool(recall.items or recall.digest),
            [" ".join(note.split()) for note in notes],
            agent_text=lambda: text or "nothing yet",
        )

    def nothing(self, notes: Sequence[str]) -> str:
        """What a command says if there is nothing and no remark on it."""
        if notes:
            return ""
        return (
            "nothing to recall: `kinen install` records sessions of agents, `kinen save` saves"
            " what was done; a filter may leave everything out"
        )
