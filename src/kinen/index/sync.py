"""Brings the index up to date with its sources: full text of everything first, vectors after."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.errors import EmbedError
from kinen.index.graph import relink
from kinen.model.documents import Report
from kinen.ports import Embedder, Past, Source
from kinen.storage.database import translated, writing
from kinen.text import digest, iso, now

if TYPE_CHECKING:
    from kinen.index.cache import Cache
    from kinen.index.git.commits import Settings
    from kinen.index.graph import Resolver
    from kinen.index.writer import Writer

    Progress = Callable[[str, int, int], None]

BULK = 300
"""From this many changes on, full text is built once at the end instead of row by row."""
HEADING = 0.2
"""The weight of the headings in a chunk's vector (docs/decisions/0005-passages.md)."""
STRIDE = 64
"""Texts embedded between two commits: what a killed process loses at most."""


class Job(NamedTuple):
    """What a sync works on, and where it reports its progress."""

    writer: Writer
    cache: Cache
    progress: Progress
    enough: Callable[[], bool] = bool
    """True when no more time should be spent on vectors."""


def sync(
    job: Job,
    sources: Iterable[Source],
    embedder: Embedder | None,
    attachments: Callable[[], set[str]],
    resolver: Resolver,
    past: tuple[Past, Settings] | None = None,
    changed: Callable[[], set[str] | None] = set,
) -> Report:
    """Full text of every source, then links, then vectors.

    `changed` names files that are not as the last commit has them; see `date_by_commits`.
    """
    report = sync_text(job, sources)
    if past is not None:
        read = sync_past(job, *past)
        left = job.writer.count("git") - read.added
        report = report.plus(read._replace(unchanged=max(0, left)))
        date_by_commits(job.writer, changed)
    relink(job.writer, "links:" + digest("\n".join(sorted(attachments()))), resolver)
    if embedder is not None:
        report = _with_vectors(job, embedder, report)
    with translated(job.writer.path), writing(job.writer.db):
        job.writer.count_chunks()
        job.writer.set("synced", iso(now()))
    return report


def _with_vectors(job: Job, embedder: Embedder, report: Report) -> Report:
    """Embed; a provider that fails costs its vectors, never the full text."""
    try:
        done, left = sync_vectors(job, embedder)
    except EmbedError as error:
        chunks = job.writer.db.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]
        return report._replace(pending=chunks, failure=str(error))
    return report._replace(embedded=done, pending=left)


def sync_text(job: Job, sources: Iterable[Source]) -> Report:
    """Read what changed and make it searchable by word."""
    total = Report()
    for source in sources:
        states = job.writer.states(source.name)
        delta = source.delta(states)
        job.progress("read", 0, delta.total)
        done = job.writer.apply(
            source.name,
            delta.changes,
            anew=delta.anew,
            bulk=delta.total > max(BULK, len(states) // 4),
            done=_read_progress(job.progress, delta.total),
        )
        left = job.writer.count(source.name) - done.added - done.changed
        total = total.plus(done._replace(unchanged=max(0, left)))
    return total


def sync_past(job: Job, past: Past, settings: Settings) -> Report:
    """Read what is new in the repository's history."""
    from kinen.index.git.sync import follow

    job.progress("history", 0, 0)
    return follow(job.writer, past, settings, lambda seen: job.progress("history", seen, 0))


def sync_vectors(
    job: Job, embedder: Embedder, only: Container[str] | None = None
) -> tuple[int, int]:
    """Embed what has no vector yet, the longest first; (embedded, still pending).

    `only` are the digests to embed, if not all.
    """
    writer = job.writer
    model = embedder.fingerprint
    if writer.get("embedded") == f"{model}:{writer.get('generation')}":
        return 0, 0
    pending = writer.pending(job.cache.digests(model))
    waiting = [row for row in pending if only is None or row[0] in only]
    done = 0
    headings: dict[str, Any] = {}
    job.progress("embed", 0, len(waiting))
    try:
        while done < len(waiting) and not job.enough():
            stride = waiting[done : done + STRIDE]
            digests = [content for content, _ in stride]
            job.cache.put(model, digests, embed_texts(embedder, writer.texts(digests), headings))
            done += len(stride)
            job.progress("embed", done, len(waiting))
    finally:
        _finish_vectors(writer, model, done, complete=done == len(pending))
    return done, len(pending) - done


def _finish_vectors(writer: Writer, model: str, done: int, *, complete: bool) -> None:
    """New vectors make a new generation; remember when there is nothing left to embed."""
    with translated(writer.path), writing(writer.db):
        if done:
            writer.bump()
        if complete:
            writer.set("embedded", f"{model}:{writer.get('generation')}")


def embed_texts(embedder: Embedder, texts: list[tuple[str, str]], headings: dict[str, Any]) -> Any:
    """Vectors of chunks, each moved a little towards the headings above it.

    `headings` are the vectors of headings so far; new ones are added.
    """
    import numpy as np

    new = sorted({above for above, _ in texts if above and above not in headings})
    if new:
        headings.update(zip(new, embedder.embed(new), strict=True))
    vectors = embedder.embed([body for _, body in texts])
    for at, (above, _) in enumerate(texts):
        if above:
            drawn = vectors[at] + HEADING * headings[above]
            vectors[at] = drawn / max(float(np.linalg.norm(drawn)), 1e-12)
    return vectors


def _read_progress(progress: Progress, total: int) -> Callable[[int], None]:
    """Counts files; changes that a source adds at its end, such as its own state, are not any."""
    return lambda seen: progress("read", min(seen, total) if total else seen, total)


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
