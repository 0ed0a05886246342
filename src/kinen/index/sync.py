"""Brings the index up to date with its sources: full text of everything first, vectors after."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any

from kinen.errors import EmbedError
from kinen.index.graph import relink
from kinen.model.documents import Report
from kinen.model.tuples import NamedTuple
from kinen.ports import Embedder, Past, Source, Walk
from kinen.storage.database import translated, writing
from kinen.text import digest, iso, now
from kinen.text.links import Names

if TYPE_CHECKING:
    from kinen.index.cache import Cache
    from kinen.index.git.commits import Settings
    from kinen.index.writer import Writer

    Progress = Callable[[str, int, int], None]
    Choice = Callable[[Writer], Embedder]
    """The embedding model for what an index has."""

HEADING = 0.2
"""The weight of the headings in a chunk's vector (docs/decisions/0005-passages.md)."""
STRIDE = 64
"""Texts embedded between two commits: what a killed process loses at most."""


class Job(NamedTuple):
    """What a sync works on, and where it reports its progress."""

    writer: Writer
    progress: Progress
    enough: Callable[[], bool] = bool
    """True when no more time should be spent on vectors."""
    between: Callable[[], object] = bool
    """Called between two strides of them, with nothing open."""


def sync(
    job: Job,
    sources: Iterable[Source],
    embedding: tuple[Choice, Cache] | None,
    walk: Walk,
    past: tuple[Past, Settings] | None = None,
    changed: Callable[[], set[str] | None] = set,
) -> Report:
    """Full text of every source, then links, then vectors.

    `walk` has the files that links may lead to, as soon as the sources are read. `changed` names
    files that are not as the last commit has them; see `date_by_commits`.
    """
    reports = [job.writer.sync(source, job.progress) for source in sources]
    if past is not None:
        read = sync_past(job, *past)
        left = job.writer.count("git") - read.added
        reports.append(read._replace(unchanged=max(0, left)))
        date_by_commits(job.writer, changed)
    report = Report.total(reports)
    stamp = "links:" + digest("\n".join(sorted(walk.attachments)))
    relink(job.writer, stamp, lambda names, only: Names(names, walk.files, only).resolve)
    if embedding is not None:
        try:
            done, left = sync_vectors(job, *embedding)
        except EmbedError as error:  # costs the vectors, never the full text
            pending = job.writer.db.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]
            report = report._replace(pending=pending, failure=str(error))
        else:
            report = report._replace(embedded=done, pending=left)
    with translated(job.writer.path), writing(job.writer.db):
        job.writer.count_chunks()
        job.writer.set("synced", iso(now()))
    return report


def sync_past(job: Job, past: Past, settings: Settings) -> Report:
    """Read what is new in the repository's history."""
    from kinen.index.git.sync import follow

    job.progress("history", 0, 0)
    return follow(job.writer, past, settings, lambda seen: job.progress("history", seen, 0))


def sync_vectors(
    job: Job, choose: Choice, cache: Cache, only: Container[str] | None = None
) -> tuple[int, int]:
    """Embed what has no vector yet, the newest first; (embedded, still pending).

    `only` are the digests to embed, if not all.
    """
    writer = job.writer
    embedder = choose(writer)
    model = embedder.fingerprint
    if writer.get("embedded") == f"{model}:{writer.get('generation')}":
        return 0, 0
    pending = writer.pending(cache.digests(model))
    waiting = [content for content in pending if only is None or content in only]
    done = 0
    headings: dict[str, Any] = {}
    job.progress("embed", 0, len(waiting))
    try:
        while done < len(waiting) and not job.enough():
            stride = waiting[done : done + STRIDE]
            texts = writer.texts(stride)
            if texts:
                cache.put(model, [*texts], embed_texts(embedder, [*texts.values()], headings))
            done += len(stride)
            job.between()
            job.progress("embed", done, len(waiting))
    finally:
        # New vectors make a new generation; remember when there is nothing left to embed.
        with translated(writer.path), writing(writer.db):
            if done:
                writer.bump()
            if done == len(pending):
                writer.set("embedded", f"{model}:{writer.get('generation')}")
    return done, len(pending) - done


def embed_texts(embedder: Embedder, texts: list[tuple[str, str]], headings: dict[str, Any]) -> Any:
    """Vectors of chunks, each moved a little towards the headings above it.

    The same text below other headings is embedded once. `headings` are the vectors of headings so
    far; new ones are added.
    """
    import numpy as np

    new = sorted({above for above, _ in texts if above and above not in headings})
    if new:
        headings.update(zip(new, embedder.embed(new), strict=True))
    bodies = {body: at for at, body in enumerate(dict.fromkeys(body for _, body in texts))}
    vectors = embedder.embed([*bodies])[[bodies[body] for _, body in texts]]
    for at, (above, _) in enumerate(texts):
        if above:
            drawn = vectors[at] + HEADING * headings[above]
            vectors[at] = drawn / max(float(np.linalg.norm(drawn)), 1e-12)
    return vectors


_CANDIDATES = (
    "SELECT r.id, r.path, c.at, r.at, c.sha FROM records r"
    " JOIN paths p ON p.path = r.path AND p.present"
    " JOIN files f ON f.path = p.id JOIN commits c ON c.id = f.last"
    " WHERE r.source IN ('files', 'symbols') AND NOT r.dated AND r.at != c.at ORDER BY r.path"
)


def date_by_commits(writer: Writer, changed: Callable[[], set[str] | None]) -> int:
    """Give files without a date of their own that of their last commit; how many there were.

    `changed` names the paths that differ from that commit, or gives None where git cannot tell;
    those keep the time on disk. It is asked only if files or commits differ from the last time.
    """
    rows = writer.db.execute(_CANDIDATES).fetchall()
    state = digest(repr(rows)) if rows else ""
    if state == writer.get("undated"):
        return 0
    differing = changed() if rows else set()
    if differing is None:
        return 0
    moved = [(at, id_) for id_, path, at, *_ in rows if path not in differing]
    with translated(writer.path), writing(writer.db):
        writer.db.executemany("UPDATE records SET at = ? WHERE id = ?", moved)
        left = [row for row in rows if row[1] in differing]
        writer.set("undated", digest(repr(left)) if left else "")
    return len(moved)
