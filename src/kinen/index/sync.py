"""Brings the index up to date with its sources: full text of everything first, vectors after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.errors import EmbedError
from kinen.index.git.dating import date_by_commits
from kinen.index.graph import relink
from kinen.model.records import Report
from kinen.storage.database import translated, writing
from kinen.text import digest, iso, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kinen.index.cache import Cache
    from kinen.index.git.commits import Settings
    from kinen.index.graph import Name, Resolve
    from kinen.index.writer import Writer
    from kinen.ports import Embedder, Past, Source

    Progress = Callable[[str, int, int], None]

BULK = 300
"""From this many changes on, full text is built once at the end instead of row by row."""
HEADING = 0.2
"""The weight of the headings in a chunk's vector (docs/decisions/0005-passages.md)."""
STRIDE = 64
"""Texts embedded between two commits: what a killed process loses at most."""


class Job(NamedTuple):
    """What a sync works on, and whom it tells."""

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
    resolver: Callable[[Iterable[Name]], Resolve],
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
        report = _add(report, read._replace(unchanged=max(0, left)))
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
        known = job.writer.states(source.name)
        delta = source.delta(known)
        job.progress("read", 0, delta.total)
        done = job.writer.apply(
            source.name,
            delta.changes,
            anew=delta.anew,
            bulk=delta.total > max(BULK, len(known) // 4),
            done=_counting(job.progress, delta.total),
        )
        left = job.writer.count(source.name) - done.added - done.changed
        total = _add(total, done._replace(unchanged=max(0, left)))
    return total


def sync_past(job: Job, past: Past, settings: Settings) -> Report:
    """Read what is new in the repository's history."""
    from kinen.index.git.sync import follow

    job.progress("history", 0, 0)
    return follow(job.writer, past, settings, lambda seen: job.progress("history", seen, 0))


def sync_vectors(job: Job, embedder: Embedder) -> tuple[int, int]:
    """Embed what has no vector yet, the longest first; (embedded, still pending)."""
    writer, model = job.writer, embedder.fingerprint
    if writer.get("embedded") == f"{model}:{writer.get('generation')}":
        return 0, 0
    waiting = writer.pending(job.cache.known(model))
    work = sum(length for _, length in waiting)
    done = characters = 0
    headings: dict[str, Any] = {}
    job.progress("embed", 0, work)
    try:
        while done < len(waiting) and not job.enough():
            stride = waiting[done : done + STRIDE]
            digests = [one for one, _ in stride]
            job.cache.put(model, digests, _embedded(embedder, writer.texts(digests), headings))
            done += len(stride)
            characters += sum(length for _, length in stride)
            job.progress("embed", characters, work)
    finally:
        _settle(writer, model, done, complete=done == len(waiting))
    return done, len(waiting) - done


def _settle(writer: Writer, model: str, done: int, *, complete: bool) -> None:
    """New vectors make a new generation; remember when there is nothing left to embed."""
    with translated(writer.path), writing(writer.db):
        if done:
            writer.bump()
        if complete:
            writer.set("embedded", f"{model}:{writer.get('generation')}")


def _embedded(embedder: Embedder, texts: list[tuple[str, str]], known: dict[str, Any]) -> Any:
    """Vectors of chunks, each drawn a little towards the headings above it."""
    import numpy as np

    new = sorted({above for above, _ in texts if above and above not in known})
    if new:
        known.update(zip(new, embedder.embed(new), strict=True))
    vectors = embedder.embed([body for _, body in texts])
    for at, (above, _) in enumerate(texts):
        if above:
            drawn = vectors[at] + HEADING * known[above]
            vectors[at] = drawn / max(float(np.linalg.norm(drawn)), 1e-12)
    return vectors


def _counting(progress: Progress, total: int) -> Callable[[int], None]:
    return lambda seen: progress("read", seen, total)


def _add(one: Report, two: Report) -> Report:
    return Report(
        added=one.added + two.added,
        changed=one.changed + two.changed,
        removed=one.removed + two.removed,
        skipped=one.skipped + two.skipped,
        unchanged=one.unchanged + two.unchanged,
        notes=one.notes + two.notes,
    )
