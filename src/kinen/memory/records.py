"""Records of a space: by ref, by path, with their chunks and links, and what is related to them."""

from __future__ import annotations

from kinen.characters import unescaped
from kinen.errors import Ambiguous, EmbedError, NotFound, QueryError
from kinen.ids import padded
from kinen.index import names
from kinen.model.late import contextlib
from kinen.model.records import (
    FILE_KINDS,
    GIT_KINDS,
    JOURNAL_KINDS,
    KINDS,
    Chunk,
    Edge,
    Query,
    Record,
    Related,
    TagCount,
)
from kinen.privacy.quote import MARK
from kinen.recall.passages import is_numbered, shown_text
from kinen.text import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinen.memory.core import Core
    from kinen.memory.index import Index

SHORT_COMMIT = len("commit:") + 12
SENTENCES = 500
"""Links that come with the sentence around them."""
RELATED_KINDS = (*FILE_KINDS, "memory")
"""Kinds of records that are shown as related, unless others are asked for."""
LINK = 0.4
"""What a direct link adds to the score, which else is the cosine of two meanings."""
SHARED = 0.1
"""What each neighbour or tag in common adds."""
MOST_SHARED = 3
"""Neighbours or tags in common that count."""
NEAR = 0.3
"""Cosine from which on two texts have to do with each other; recall.floor has the measurement."""
NEAREST = 400
"""Chunks that are compared by meaning."""
CROWD = 50
"""Links of a neighbour above which it says nothing: an index page links to everything."""


class Records:
    """Records by ref or path, and the links between them."""

    def __init__(self, core: Core, index: Index) -> None:
        self._core = core
        self._index = index

    def get(self, name: str) -> Record:
        """The record that a ref or a path in the space names."""
        self._index.prepare()
        record = self._find(name)
        if record is None and ("\\" in name or MARK in name):  # copied from output
            record = self._find(unescaped(name).replace(MARK, ""))
        if record is None:
            self._index.catch_up()
            record = self._find(name) or self._named(name) or self._entry(name, JOURNAL_KINDS)
            record = record or self._of_a_clone(name)
        if record is None:
            from kinen.index.git.queries import commits_named

            commits = commits_named(self._core.reader, spelled(name))
            if len(commits) > 1:
                raise Ambiguous(name, [ref[:SHORT_COMMIT] for ref in commits])
            raise names.unknown(
                f"nothing remembered as {name!r}",
                name,
                self._core.reader.paths,
                "`kinen search` shows refs and paths",
            )
        return record

    def _named(self, name: str) -> Record | None:
        """A record by the end of its path, by its file's name or by an alias, if it is unique."""
        kind, colon, key = spelled(name).partition(":")
        text = key if colon and kind in KINDS else self._core.inside(name)
        db = self._core.reader.db
        path = names.only(text, names.matching(text, names.record_paths(db, text)))
        if path:
            return self._core.reader.at_path(path)
        ref = names.only(text, names.with_alias(db, text))
        return self._core.reader.record(ref) if ref else None

    def _find(self, name: str) -> Record | None:
        ref = spelled(name)
        reader = self._core.reader
        record = reader.record(ref)
        if record is None:
            from kinen.index.git.queries import commit_named, path_of

            # A commit by the beginning of its sha, or a file by a name that it had.
            past = commit_named(reader, ref)
            if ref.startswith("file:"):
                file = reader.file_at(ref.removeprefix("file:"))
                past = f"file:{path_of(reader.db, file)}" if file else ""
            record = reader.record(past) if past else None
        return record or reader.at_path(self._core.inside(name)) or self._entry(name)

    def _entry(self, name: str, kinds: Sequence[str] = ()) -> Record | None:
        """An entry of the journal by the beginning of its id, as a recall cites it.

        With the kinds that it may have, a beginning of any length is enough.
        """
        if not self._core.store.exists:
            return None
        try:
            entry = self._core.store.resolve(name, kinds)
        except Ambiguous:
            if kinds:
                raise
            return None  # it may still be the name of a file
        except NotFound:
            return None
        return self._core.reader.record(":".join(entry))

    def _of_a_clone(self, name: str) -> Record | None:
        """An entry that only the index has, by the beginning of its id."""
        from kinen.journal.queries import LEAST, MOST

        kind, _, id_ = spelled(name).upper().rpartition(":")
        if not kind and len(id_) < LEAST:
            return None
        kinds = [each for each in JOURNAL_KINDS if kind in ("", each.upper())]
        starts = [f"{each}:{start}" for each in kinds for start in {id_, padded(id_)}]
        refs = sorted({ref for start in starts for ref in self._core.reader.refs_from(start, MOST)})
        if len(refs) > 1:
            raise Ambiguous(name, refs)
        return self._core.reader.record(refs[0]) if refs else None

    def knows(self, name: str) -> bool:
        """Whether a ref or path names a record."""
        with contextlib.suppress(NotFound):
            return bool(self.get(name))
        return False

    def show(self, name: str, line: int = -1, n: int = -1) -> tuple[Record, list[Chunk]]:
        """A record with its chunks, or the one at a line or number."""
        record = self.get(name)
        chunks = self._core.reader.between(record.ref, 0, 1 << 31)
        if not chunks and record.kind in (*JOURNAL_KINDS, *GIT_KINDS) and line < 0 and n < 0:
            return record, []  # redacted, a pin without a note, a file whose text git has
        if line >= 0:
            chunks = [chunk for chunk in chunks if chunk.start_line <= line <= chunk.end_line]
        elif n >= 0:
            chunks = [chunk for chunk in chunks if chunk.n == n]
        if not chunks:
            raise NotFound(f"nothing there in {name}", f"`kinen show {name}` shows all of it")
        return record, chunks

    def select(self, kinds: Sequence[str] = ()) -> list[Record]:
        self._index.prepare()
        return self._core.reader.records(kinds)

    def resource_path(self, name: str) -> str:
        """The path of a resource, from its path or an unambiguous end of it."""
        name = spelled(name).removeprefix("resource:").removeprefix("./").rstrip("/")
        paths = [record.path for record in self.select(("resource",))]
        path = names.only(name, names.matching(name, paths))
        return path or (name if name.startswith("resources/") else f"resources/{name}")

    def tags(self) -> list[TagCount]:
        """Every tag of a file at HEAD or of a note, the most frequent first."""
        from kinen.index.git import queries

        self._index.prepare()
        files = dict(queries.tags(self._core.reader.db))
        notes = self._core.reader.note_tags()
        counts = [
            TagCount(
                tag, files.get(tag, 0) + notes.get(tag, 0), files.get(tag, 0), notes.get(tag, 0)
            )
            for tag in {*files, *notes}
        ]
        return sorted(counts, key=lambda row: (-row.total, row.tag))

    def tagged(self, tags: Sequence[str]) -> list[Record]:
        """The notes and files that have all of some tags, or a tag below them."""
        self._index.prepare()
        chosen = tuple(tag.lstrip("#") for tag in tags)
        return self._core.reader.matching(Query("", kinds=(*FILE_KINDS, "file"), tags=chosen))

    def orphans(self) -> list[Record]:
        """Notes that link to no other record and that none links to."""
        from kinen.index import graph

        self._index.prepare()
        return [
            record
            for ref in graph.orphans(self._core.reader.db)
            if (record := self._core.reader.record(ref))
        ]

    def links(self, ref: str, depth: int = 1) -> list[Edge]:
        """The edges around a record, both directions, links with the sentence around them."""
        from kinen.index import graph

        edges = graph.around(self._core.reader.db, spelled(ref), depth)
        return [*map(self._with_sentence, edges[:SENTENCES]), *edges[SENTENCES:]]

    def _with_sentence(self, edge: Edge) -> Edge:
        from kinen.text.sentences import sentence_with

        chunk = self._core.reader.at_line(edge.source, edge.line) if edge.line else None
        if chunk is None or not is_numbered(chunk):
            return edge
        words = edge.text or edge.written.partition("#")[0].rpartition("/")[2]
        sentence = sentence_with(chunk.text.split("\n"), edge.line - chunk.start_line, words)
        return edge._replace(sentence=sentence)

    def broken_links(self) -> list[Edge]:
        """Links that lead nowhere."""
        from kinen.index import graph

        self._index.prepare()
        return graph.broken(self._core.reader.db)

    def graph(self) -> list[Edge]:
        """Every link that leads somewhere."""
        from kinen.index import graph

        self._index.prepare()
        return graph.edges(self._core.reader.db)

    def overview(self) -> list[Edge]:
        """Links, sources of memories, and files that sessions changed."""
        from kinen.index import graph

        self._index.prepare()
        return graph.overview(self._core.reader.db)

    def edits(self, path: str) -> list[Record]:
        """The recorded edits of a file by agents, oldest first."""
        self._index.prepare()
        query = Query("", kinds=("observation",), events=("file_diff",), files=(path,))
        return sorted(self._core.reader.matching(query), key=lambda record: record.at)

    def source_text(self, record: Record) -> str:
        """The markdown file of a record as it is now; empty if it is of another kind.

        Where the index is masked, so is this: then it is empty, and the chunks are to be used.
        """
        from kinen.errors import UnsafeFile
        from kinen.sources.files.layout import is_markdown
        from kinen.storage import inside

        masked = self._core.config.privacy.mask_index
        if record.kind not in FILE_KINDS or masked or not is_markdown(record.path):
            return ""
        limit = self._core.config.index.max_file_mb << 20
        try:
            data = inside.read(self._core.space.root, record.path, limit)
        except (OSError, UnsafeFile):
            return ""
        return data.decode("utf-8", "replace")

    def title(self, ref: str) -> str:
        """What a person can choose a record by; the ref of one that is no more."""
        from kinen.render.text import title

        try:
            record = self.get(ref)
        except NotFound:
            return ref
        return title(record, "" if record.title else self.whole_text(ref))

    def whole_text(self, ref: str, last: int = 1 << 31) -> str:
        """The text of a record up to a chunk, without title, aliases and tags of its metadata."""
        reader = self._core.reader
        record = reader.record(ref)
        title = record.title if record else ""
        texts = [shown_text(chunk, title) for chunk in reader.between(ref, 0, last)]
        return "\n".join(filter(None, texts))


class Relations:
    """Finds what is related to a record."""

    def __init__(self, core: Core, records: Records) -> None:
        self._core = core
        self._records = records

    def related(
        self, name: str, limit: int = 10, kinds: Sequence[str] = ()
    ) -> tuple[Record, list[Related], list[str]]:
        """The record of a ref or path, those that are related to it, and notes; closest first."""
        if limit < 1:
            raise QueryError(f"invalid value {limit}", "use 1 or more", parameter="limit")
        record = self._records.get(name)
        chosen = tuple(kinds) or RELATED_KINDS
        finds = _Finds()
        edges = self._records.links(record.ref)
        finds.add_links(record.ref, edges)
        for edge in edges:
            neighbour = edge.target if edge.source == record.ref else edge.source
            if not neighbour or neighbour == record.ref:
                continue
            further = self._records.links(neighbour)
            if len(further) > CROWD:
                continue
            ends = {end for other in further for end in (other.source, other.target)}
            for end in ends - {record.ref, neighbour, ""}:
                finds.shared.setdefault(end, {})[neighbour] = None
        for tag in record.tags:
            for tagged in self._core.reader.matching(Query("", kinds=chosen, tags=(tag,))):
                finds.tags.setdefault(tagged.ref, {})[tag] = None
        reason = self._add_meaning(record.ref, chosen, finds)
        notes = [f"by links and tags only: {reason}"] if reason else []
        related = []
        for ref in finds.refs(record.ref):
            other = self._core.reader.record(ref)
            if other and other.kind in chosen:
                related.append(Related(other, round(finds.score(ref), 3), finds.reasons(ref)))
        related.sort(key=lambda item: (-item.score, item.record.ref))
        return record, related[:limit], notes

    def _add_meaning(self, ref: str, kinds: Sequence[str], finds: _Finds) -> str:
        """Records whose text is near; returns why there are none, if vectors are missing."""
        import numpy as np

        from kinen.memory.embedding import embed_few

        try:
            embed_few(self._core)
            embedder = self._core.embedder
            if embedder is None:
                return "index.embedding_provider is none"
            scan = self._core.scan(embedder)
        except EmbedError as error:
            return str(error)
        rows = scan.rows(self._core.reader.chunk_ids(ref)) if scan is not None else ()
        if scan is None or not len(rows):
            return "it has no vectors yet, run `kinen index`"
        mean = np.mean(rows, axis=0)
        allowed = self._core.reader.allowed(Query("", kinds=tuple(kinds))) or ()
        ids = np.fromiter(allowed, dtype=np.int64)
        vector = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
        nearest = dict(scan.nearest(vector, NEAREST, ids))
        loaded = self._core.reader.load(list(nearest))
        for id_, cosine in nearest.items():
            if cosine >= NEAR and id_ in loaded:
                other = loaded[id_][0].ref
                finds.cosines[other] = max(cosine, finds.cosines.get(other, 0.0))
        return ""


class _Finds:
    """What was found about each record, by ref."""

    def __init__(self) -> None:
        self.links: dict[str, dict[str, None]] = {}
        self.shared: dict[str, dict[str, None]] = {}
        self.tags: dict[str, dict[str, None]] = {}
        self.cosines: dict[str, float] = {}

    def add_links(self, ref: str, edges: Iterable[Edge]) -> None:
        for edge in edges:
            if edge.source == ref and edge.target:
                self.links.setdefault(edge.target, {})["linked from it"] = None
            elif edge.target == ref:
                self.links.setdefault(edge.source, {})["links to it"] = None

    def refs(self, ref: str) -> set[str]:
        return {*self.links, *self.shared, *self.tags, *self.cosines} - {ref}

    def score(self, ref: str) -> float:
        """The cosine, and more for each way in which two records are connected."""
        score = self.cosines.get(ref, 0.0)
        if ref in self.links:
            score += LINK
        for group in (self.shared, self.tags):
            score += SHARED * min(MOST_SHARED, len(group.get(ref, ())))
        return score

    def reasons(self, ref: str) -> tuple[str, ...]:
        reasons = list(self.links.get(ref, ()))
        if ref in self.cosines:
            reasons.append(f"close in meaning ({self.cosines[ref]:.2f})")
        if ref in self.tags:
            reasons.append("tags " + ", ".join(f"#{tag}" for tag in self.tags[ref]))
        if ref in self.shared and ref not in self.links:
            names = [name.partition(":")[2] for name in self.shared[ref]]
            reasons.append("both linked with " + ", ".join(names[:MOST_SHARED]))
        return tuple(reasons)
