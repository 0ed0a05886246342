"""What a memory can be asked."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.errors import Busy, EmbedError, NotFound
from kinen.memory.syncing import FIRST_SEARCH_SECONDS, Syncing
from kinen.model import GIT_KINDS, JOURNAL_KINDS, Hits, Query
from kinen.text import estimate, excerpt, iso, now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.entries import Item, Recall
    from kinen.model import Chunk, Edge, Hit, Record
    from kinen.recall.search import Meaning


PINNED, SUMMARY, TOLD, ASIDE = 400, 600, 160, 40
"""Tokens of a pin, a summary, a hit and what stands around it, as a recall shows them."""
BEFORE, AFTER = 2, 4
"""Observations of its segment around one that is cited."""


class Asking(Syncing):
    """Search, and everything else that only reads."""

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first."""
        from kinen.recall.search import search

        asked = Query(query) if isinstance(query, str) else query
        notes: list[str] = []

        def answer() -> Hits:
            notes.extend(self._first_sync())
            return search(self._reader, asked, lambda: self._meaning(asked))

        hits = self._healed(answer, notes)
        if self._stale(hits):
            with contextlib.suppress(Busy):
                self.sync(embed=False, wait=0.2)
                notes.append("files had changed: the index was brought up to date")
                hits = answer()
        return Hits(hits.hits, hits.query, hits.mode, (*notes, *hits.notes))

    def _stale(self, hits: Hits) -> bool:
        """Did a file that was found change or vanish since it was indexed?"""
        paths = {hit.record.path for hit in hits if hit.record.path}
        for path, stamp in self._reader.stamps(paths).items():
            try:
                stat = os.stat(os.path.join(self.space.root, path))
            except OSError:
                return True
            if stamp != f"{stat.st_mtime_ns}:{stat.st_size}":
                return True
        return False

    def _meaning(self, query: Query) -> tuple[Meaning | None, str]:
        """The semantic half of a search, or why there is none."""
        from kinen.recall.search import Meaning

        try:
            embedder = self._embedder
            if embedder is None:
                return None, "index.embedding_provider is none"
            scan = self._scan(embedder)
            if scan is None:
                return None, "there are no vectors yet, run `kinen index`"
            vector = query.vector
            if vector is None:
                vector = embedder.embed([query.text], query=True)[0]
        except EmbedError as error:
            return None, str(error)
        return Meaning(scan, vector), ""

    def record(self, name: str) -> Record:
        """The record that a ref or a path in the space names."""
        self._first_sync()
        found = self._reader.record(name) or self._traced(name)
        found = found or self._reader.at_path(self._inside(name))
        if found is None:
            raise NotFound(f"nothing remembered as {name!r}", "`kinen search` shows refs and paths")
        return found

    def knows(self, name: str) -> bool:
        """Whether a ref or path names a record."""
        with contextlib.suppress(NotFound):
            return bool(self.record(name))
        return False

    def _traced(self, name: str) -> Record | None:
        """A commit by the beginning of its sha, or a file by a name that it had."""
        from kinen.index.past import commit_named, file_at, path_of

        ref = commit_named(self._reader, name)
        if name.startswith("file:"):
            file = file_at(self._reader.db, name.removeprefix("file:"))
            ref = f"file:{path_of(self._reader.db, file)}" if file else ""
        return self._reader.record(ref) if ref else None

    def show(self, name: str, line: int = -1, n: int = -1) -> tuple[Record, list[Chunk]]:
        """A record with its chunks, or the one at a line or number."""
        record = self.record(name)
        chunks = self._reader.between(record.ref, 0, 1 << 31)
        if not chunks and record.kind in (*JOURNAL_KINDS, *GIT_KINDS) and line < 0 and n < 0:
            return record, []  # redacted, a pin without a note, a file whose text git has
        if line >= 0:
            chunks = [one for one in chunks if one.start_line <= line <= one.end_line]
        elif n >= 0:
            chunks = [one for one in chunks if one.n == n]
        if not chunks:
            raise NotFound(f"nothing there in {name}", f"`kinen show {name}` shows all of it")
        return record, chunks

    def records(self, kinds: Sequence[str] = ()) -> list[Record]:
        self._first_sync()
        return self._reader.records(kinds)

    def skipped(self) -> list[tuple[str, str]]:
        """Files that could not be indexed, each with its reason."""
        return self._reader.skipped()

    def links(self, ref: str, depth: int = 1) -> list[Edge]:
        """The edges around a record, both directions."""
        from kinen.index import graph

        return graph.around(self._reader.db, ref, depth)

    def broken(self) -> list[Edge]:
        """Links that lead nowhere."""
        from kinen.index import graph

        self._first_sync()
        return graph.broken(self._reader.db)

    def graph(self) -> list[Edge]:
        """Every link that leads somewhere."""
        from kinen.index import graph

        self._first_sync()
        return graph.edges(self._reader.db)

    def check(self) -> str:
        """What is wrong with the databases, or nothing."""
        return self._reader.check() or self._cache.check()

    def try_model(self) -> str:
        """The model's name, once it has embedded something."""
        embedder = self._embedder
        if embedder is None:
            return "none"
        embedder.embed(["a try"], query=True)
        return f"{embedder.name}, {embedder.dimensions} dimensions"

    def add_resource(
        self, file: str, *, to: str = "", tags: Sequence[str] = (), note: str = ""
    ) -> Record:
        """Copy a file into resources/, note its tags and note in the manifest, and index it."""
        from kinen.sources.manifest import add

        path = add(self.space.root, file, to, tuple(tags), note)
        self.sync(seconds=FIRST_SEARCH_SECONDS)
        for skipped, reason in self.skipped():
            if skipped == path:
                raise NotFound(f"{path} is there, but not searchable: {reason}")
        return self.record(path)

    # Recall

    def recall(self, query: Query | str = "") -> Recall:
        """What an agent is given: pins, the summary, and what was found, inside a token budget.

        Without a question, what happened last.
        """
        from kinen.recall import tiers
        from kinen.recall.fuse import RECENCY_WEIGHT
        from kinen.recall.search import recent

        asked = Query(query) if isinstance(query, str) else query
        asked = asked._replace(recency=asked.recency or RECENCY_WEIGHT)
        budget = asked.budget or self.config.recall.budget
        notes: list[str] = []
        if asked.text.strip():
            hits = self.search(asked)
        else:
            notes.extend(self._first_sync())
            hits = recent(self._reader, asked)
        pins, summary = self._always(asked)
        found = [self._told(hit) for hit in hits]
        return tiers.tiers(asked.text, budget, pins, summary, found, (*notes, *hits.notes))

    def _always(self, query: Query) -> tuple[list[Item], Item | None]:
        """The pins that hold, and the latest summary."""
        if not self._journal.exists:
            return [], None
        from kinen.entries import Scope
        from kinen.journal import reading
        from kinen.recall.tiers import item

        db = self._journal.db
        scope = Scope(query.session, query.repo, query.agent, query.user)
        pins = []
        for pin in reading.pins_in(db, scope, round(now() * 1000)):
            text = self._pinned(pin.target)
            if text or pin.note:
                said = "\n".join(filter(None, (pin.note, text)))
                pins.append(item("pins", pin.target, _cut(said, PINNED)))
        latest = reading.latest_summary(db, scope)
        if latest is None:
            return pins, None
        at = iso(latest.created_at / 1000)
        return pins, item("summary", latest.ref, _cut(latest.content, SUMMARY), at=at)

    def _pinned(self, ref: str) -> str:
        return "\n".join(chunk.text for chunk in self._reader.between(ref, 0, 8))

    def _told(self, hit: Hit) -> Item:
        """A hit as an agent reads it: an observation in its segment, a chunk under its heading."""
        from kinen.recall.tiers import item

        record, chunk = hit.record, hit.chunk
        if record.kind == "observation":
            lines = [*(one.text for one in hit.before[-BEFORE:]), chunk.text]
            lines += [one.text for one in hit.after[:AFTER]]
            told = [_cut(line.strip(), TOLD if line == chunk.text else ASIDE) for line in lines]
            text = "\n".join(told)
        else:
            title = chunk.heading or record.title
            head = title if title and not chunk.text.startswith(("#", title)) else ""
            text = "\n".join(filter(None, (head, _cut(chunk.text, TOLD))))
        line = f":{chunk.start_line}" if chunk.start_line else ""
        ref = f"{record.ref}{line}" if record.path else record.ref
        return item("hits", ref, text, score=hit.score, votes=hit.votes, at=record.at)


def _cut(text: str, tokens: int) -> str:
    """A text of at most so many tokens, whole lines first; what is cut off is shown by a sign."""
    if estimate(text) <= tokens:
        return text
    kept: list[str] = []
    for line in text.splitlines():
        if estimate("\n".join([*kept, line])) > tokens:
            break
        kept.append(line)
    if kept:
        return "\n".join(kept) + "\n…"
    return excerpt(text, max(8, 3 * tokens))
