"""What a memory can be asked."""

from __future__ import annotations

import os

from kinen.errors import Busy, EmbedError, QueryError
from kinen.model.kinds import BUILT_IN
from kinen.model.late import contextlib
from kinen.model.records import FILE_KINDS, Hit, Hits, Query, Record
from kinen.model.tuples import NamedTuple
from kinen.paths import inside
from kinen.query import search_query, storable_query
from kinen.text import iso, now, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.past import Moment, Past
    from kinen.recall.prompts import Related
    from kinen.recall.search import Meaning


IN_FILES = (*FILE_KINDS, "symbol", "file")
"""Kinds of records whose text is that of a file."""
HALF = 0.5
"""Share of the lines of a passage that must have been there for it to count as known."""
FURTHEST = 200
"""Hits among which a record is looked for, to say where it stands."""
FILTERS = tuple("kinds events session agent user repo tags paths since until as_of".split())
"""Fields of a query that exclude records."""


class Standing(NamedTuple):
    """Where a record stands in a search, and why it is not higher."""

    record: Record
    rank: int
    """Its place among the hits, from 1; 0 if it is not among the first `FURTHEST`."""
    hit: Hit | None
    """The hit with its votes; None if nothing in the record matches."""
    reason: str


class Searcher:
    """Search, and everything else that only reads."""

    def __init__(self, core: Core, index: Index, past: Callable[[], Past]) -> None:
        self._core = core
        self._index = index
        self._past = past
        self._last_question: tuple[tuple[str, str], Any] = (("", ""), None)

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first.

        A text is asked as the settings of `search` say.
        """
        from kinen.recall.search import worded

        config = self._core.config.search
        request = search_query(query, config) if isinstance(query, str) else query
        if request.as_of:
            return self._search_past(request)
        asked = worded(storable_query(self._in_space(request)))
        notes: list[str] = []

        def answer() -> Hits:
            notes.extend(self._index.prepare(new_files=True))
            return self._found(asked)

        hits = self._index.healed(answer, notes)
        if not self._core.frozen and self.stale(hits):
            with contextlib.suppress(Busy):
                self._index.sync(embed=False, wait=0.2)
                notes.append("files had changed: the index was brought up to date")
                hits = answer()
        if not hits:
            notes.extend(self._index.uncompared())
        root = self._core.space.root
        rooted = tuple(hit._replace(root=root) for hit in hits)
        return Hits(rooted, hits.query, hits.mode, (*notes, *hits.notes))

    def _search_past(self, query: Query) -> Hits:
        """The hits that could have been found at an earlier time.

        Records of the journal and commits count by their time. A file that changed since counts
        with the lines that it had in the commit of that time.
        """
        from kinen.recall.floor import in_order

        past = self._past()
        moment = past.moment(query.as_of)
        current = query._replace(as_of="")
        until = min(query.until or moment.at, moment.at)
        hits = self.search(current._replace(until=until))
        candidates = list(hits)
        kinds = tuple(kind for kind in IN_FILES if not query.kinds or kind in query.kinds)
        if moment.commit and kinds and moment.at < iso(now()):
            later = current._replace(kinds=kinds, since=moment.at, until="")
            candidates += self.search_again(self._in_space(later))
        then = [_as_known(past, hit, moment, query.text) for hit in candidates]
        best = sorted((hit for hit in then if hit), key=lambda hit: -hit.score)
        root = self._core.space.root
        rooted = tuple(hit._replace(root=root) for hit in best[: query.limit])
        notes = dict.fromkeys((*past.remarks(moment), *hits.notes))
        known = Hits(rooted, query, hits.mode, tuple(notes))
        return in_order(known) if query.once else known

    def _in_space(self, query: Query) -> Query:
        """The query with absolute paths relative to the space."""
        root = self._core.space.root
        relative = tuple(
            inside(path, root) if os.path.isabs(path) else path for path in query.paths
        )
        outside = next((path for path in relative if os.path.isabs(path)), "")
        if outside == root:  # all of it
            return query._replace(paths=tuple(path for path in relative if path != root))
        if outside:
            fact = f"{outside} is outside the space {root}"
            raise QueryError(fact, "give a path inside it", parameter="paths")
        return query._replace(paths=relative)

    def search_again(self, query: Query) -> Hits:
        """Answer a query right after another one: the index is up to date."""
        from kinen.recall.search import worded

        return self._found(worded(storable_query(query)))

    def _found(self, query: Query) -> Hits:
        """The hits of a query; by words alone if they answer it and the model is not loaded."""
        from kinen.recall import floor
        from kinen.recall.search import search

        core = self._core
        free = query.words_first and query.mode == "hybrid" and not query.min_similarity
        prepare = core.words_first if free and core.waits_for_model else None
        if prepare:
            hits = search(core.reader, query._replace(mode="fulltext"), lambda: (None, ""))
            counts = core.reader.document_counts(terms(query.text))
            if floor.answered_by_words(hits, counts, core.reader.chunk_count()):
                prepare()
                return Hits(hits, hits.query, hits.mode, (*hits.notes, floor.BY_WORDS))
        hits = search(core.reader, query, lambda: self._meaning(query))
        notes = hits.notes
        if query.floor and not hits and query.mode in ("hybrid", "semantic"):
            from kinen.recall.wording import english

            embedder = core.embedder
            english_model = embedder and embedder.fingerprint == BUILT_IN["english"]
            if english_model and (floor.is_scripted(query.text) or english(query.text) < 0):
                notes = (*notes, floor.OTHER_LANGUAGE)
        if prepare and not core.waits_for_model:
            notes = (floor.POOR_WORDS, *notes)
        return Hits(hits, hits.query, hits.mode, notes)

    def related(self, prompt: str, session: str, budget: int, known: Sequence[str] = ()) -> Related:
        """Full-text hits for a prompt in other sessions and in files, rendered for an agent.

        Refs in `known` are already in the agent's context and are omitted.
        """
        from kinen.memory.prompts import related

        return related(self.search, self._core.reader, prompt, session, budget, known)

    def standing(self, query: Query, record: Record) -> Standing:
        """Why a record is, or is not, among the hits of a query."""
        rank, hit = self._place(query, record)
        if hit:
            reason = f"shown as hit {rank:,}"
            if rank > query.limit:
                reason = f"hit {rank:,}, and only the first {query.limit:,} are shown"
            return Standing(record, rank, hit, reason)
        filters = [name for name in FILTERS if getattr(query, name)]
        if filters:
            bare = query._replace(**{name: type(getattr(query, name))() for name in filters})
            rank, hit = self._place(bare, record)
            if hit:
                reason = f"excluded by the filters; without them it is hit {rank:,}"
                return Standing(record, 0, hit, reason)
        paths = (record.path,) if record.path else ()
        kinds = () if record.path else (record.kind,)
        alone = Query(query.text, mode=query.mode, paths=paths, kinds=kinds)
        _, hit = self._place(alone, record)
        if hit:
            return Standing(record, 0, hit, f"not among the first {FURTHEST} hits")
        return Standing(record, 0, None, "no word of the query is in it, nor is it near in meaning")

    def _place(self, query: Query, record: Record) -> tuple[int, Hit | None]:
        hits = self.search(query._replace(limit=FURTHEST, context=0, floor=False))
        for rank, hit in enumerate(hits, 1):
            if hit.record.ref == record.ref:
                return rank, hit
        return 0, None

    def stale(self, hits: Hits) -> bool:
        """Did a file that was found change or vanish since it was indexed?

        A record of kind `file` is read from the history, so its file does not count.
        """
        records = [hit.record for hit in hits]
        paths = {record.path for record in records if record.path and record.kind != "file"}
        for path, stamp in self._core.reader.stamps(paths).items():
            try:
                stat = os.stat(os.path.join(self._core.space.root, path))
            except OSError:
                return True
            if stamp != f"{stat.st_mtime_ns}:{stat.st_size}":
                return True
        return False

    def _meaning(self, query: Query) -> tuple[Meaning | None, str]:
        """The semantic half of a search, or why there is none."""
        from kinen.memory.embedding import embed_few, embeddable
        from kinen.recall.floor import FLUENT_ENOUGH, FOREIGN, UNKNOWN_SCRIPT
        from kinen.recall.search import Meaning

        try:
            embedder = self._core.embedder
            if embedder is None:
                return None, "index.embedding_provider is none"
            if not self._index.vectors_off:
                embed_few(self._core)
                embedder = self._core.embedder or embedder  # new text may have changed it
            # an embedder of a service does not tell: its models know many languages
            fluency = getattr(embedder, "fluency", None)
            latin = max(query.text) <= "\u024f"  # a tokenizer is not loaded for nothing
            if fluency and not latin and fluency(query.text) < FOREIGN:
                return None, UNKNOWN_SCRIPT
            scan = self._core.scan(embedder)
            if scan is None:
                return None, "there are no vectors yet, run `kinen index`"
            chunks = embeddable(self._core, embedder)
            vector = query.vector
            if vector is None:
                question = (embedder.fingerprint, query.text)
                last, vector = self._last_question
                if question != last:  # a recall asks for messages with the same words
                    vector = embedder.embed([query.text], query=True)[0]
                    self._last_question = (question, vector)
            if fluency and fluency(query.text) >= FLUENT_ENOUGH:
                fluency = None
        except EmbedError as error:
            return None, str(error)
        missing = max(0, chunks - len(scan.ids))
        half = Meaning(scan, vector, missing, chunks, fluency)
        if embedder.fingerprint != BUILT_IN["english"]:
            from kinen.embed.language import elsewhere

            half = half._replace(elsewhere=elsewhere)
        return half, ""


def _as_known(past: Past, hit: Hit, moment: Moment, question: str) -> Hit | None:
    """A hit with the lines that its file had at a time; None if it did not stand there."""
    record = hit.record
    text = past.text(record.path, moment) if record.path and record.kind in IN_FILES else None
    if text is None:
        return hit if record.at and record.at <= moment.at else None
    lines = {" ".join(line.split()) for line in text.splitlines()}
    current = hit.display.text.splitlines()
    stood = [line for line in current if " ".join(line.split()) in lines]
    if len(stood) == len(current):
        return hit
    matches = any(term.lower() in "\n".join(stood).lower() for term in terms(question))
    if not matches or len(stood) < HALF * len(current):
        return None
    chunk = hit.display._replace(text="\n".join(stood))
    return hit._replace(chunk=chunk, passage=None, before=(), after=(), also=())
