"""Records, hits and graphs as text, JSON and drawings; the same for every surface."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_json
from kinen.recall.passages import best_line
from kinen.render.style import PLAIN, Style, readable
from kinen.text import excerpt, terms, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinen.model.records import Chunk, Counts, Edge, Hit, Hits, Record, Report, Status, Vote

SHOWN = 3
"""Lines of a hit without a passage shown to people."""
WIDEST = 640
"""Characters of a line of a passage."""
_WORD = re.compile(r"\w+")
SHORT = len("commit:") + 12


def to_json(value: object) -> str:
    """JSON for people and programs; control characters are escapes, so that both may have it."""
    return visible_json(json.dumps(value, ensure_ascii=False, indent=2, default=str))


# Hits


def hits_json(hits: Hits) -> dict[str, Any]:
    return {
        "query": hits.query.text,
        "mode": hits.mode,
        "results": [hit_json(hit) for hit in hits],
        "notes": list(hits.notes),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    record = record_json(hit.record)
    if hit.space:
        record["space"] = hit.space
    shown = hit.display
    return {
        "chunk": {
            "content": shown.text,
            "start_line": shown.start_line or None,
            "end_line": shown.end_line or None,
            "line": hit.line or shown.start_line or None,
            "page": shown.page or None,
            "heading": shown.heading,
        },
        "source": record,
        "context": {
            "before": [chunk.text for chunk in hit.before],
            "after": [chunk.text for chunk in hit.after],
        },
        "score": _number(hit.score),
        "match_type": match_type(hit),
        "votes": [vote_json(vote) for vote in hit.votes],
    }


def vote_json(vote: Vote) -> dict[str, Any]:
    return {
        "retriever": vote.retriever,
        "rank": vote.rank,
        "score": _number(vote.score),
        "share": _number(vote.share),
    }


def record_json(record: Record) -> dict[str, Any]:
    return {
        "ref": record.ref,
        "path": record.path,
        "type": record.kind,
        "title": record.title,
        "at": record.at,
        "session": record.session,
        "tags": list(record.tags),
        "metadata": dict(record.metadata or {}),
    }


def match_type(hit: Hit) -> str:
    """Which retrievers found it: `hybrid`, `fulltext` or `semantic`."""
    found = [vote.retriever for vote in hit.votes]
    return found[0] if len(found) == 1 and hit.record.kind != "file" else "hybrid"


def _number(value: float) -> float:
    """Enough digits to tell hits apart; shares still add up to the score."""
    return round(float(value), 6)


def hits_text(hits: Hits, *, style: Style = PLAIN, explain: bool = False) -> str:
    """One block per hit, `path:line` first, so that editors and pagers can jump."""
    asked = terms(hits.query.text)
    return "\n".join(hit_text(hit, asked, style=style, explain=explain) for hit in hits)


def search_text(
    hits: Hits, *, files: bool = False, explain: bool = False, colour: bool = False
) -> str:
    """What `kinen search` prints: hits, or only where they are."""
    if files:
        return "\n".join(dict.fromkeys(place(hit) for hit in hits))
    return hits_text(hits, style=Style(colour=colour), explain=explain)


def hit_text(hit: Hit, asked: Sequence[str], *, style: Style = PLAIN, explain: bool = False) -> str:
    hit = readable(hit)
    shown = hit.display
    head = style("path", f"{hit.space}:{place(hit)}" if hit.space else place(hit))
    if shown.start_line:
        head += ":" + style("line", str(hit.line or shown.start_line))
    elif shown.page:
        head += style("line", f"#page={shown.page}")
    about = style("bold", excerpt(shown.heading or hit.record.title or told(hit.record), 80))
    lines = _hit_lines(hit, asked, style)
    if hit.record.kind == "commit":
        author = (hit.record.metadata or {}).get("author", "")
        about = f"{hit.record.at[:10]} {author}: {about}"
    elif hit.record.kind == "file":
        about = ", ".join(hit.record.tags)
    head += f"  {about}  {style('dim', f'{hit.score:.3f}')}"
    rows = [head, *(f"    {line}" for line in lines)]
    if explain:
        rows.append("    " + style("dim", explanation(hit)))
    around = (("before", hit.before), ("after", hit.after))
    if hit.record.kind == "observation":  # comes with its whole segment
        around = (("before", hit.before[-1:]), ("after", hit.after[:2]))
    for name, chunks in around:
        rows += [style("dim", f"    {name}: {excerpt(chunk.text, 160)}") for chunk in chunks]
    return "\n".join(rows)


def _hit_lines(hit: Hit, asked: Sequence[str], style: Style) -> list[str]:
    """What is printed of a hit: its passage, or of what has none the lines with the words."""
    if hit.record.kind == "commit":
        return matching_lines(hit.chunk.text, hit.record.title, asked, style)
    if hit.record.kind == "file":
        return hit.chunk.text.splitlines()[1:]
    if hit.passage is not None:
        lines = [line for line in hit.passage.text.splitlines() if line.strip()]
        return [_marked(clipped(line, asked, WIDEST), asked, style) for line in lines]
    return shown_lines(hit.chunk.text, best_line(hit.chunk.text, asked), asked, style)


def clipped(line: str, asked: Sequence[str], width: int) -> str:
    """A line, of one that is wider than `width` the part with most words of the question."""
    line = line.rstrip()
    if len(line) <= width:
        return line
    starts = {word[:5] for word in asked}
    places = [match.start() for match in _WORD.finditer(line) if match[0].lower()[:5] in starts]
    middle = places[len(places) // 2] if places else 0
    start = max(0, min(middle - width // 2, len(line) - width))
    if start:
        start = line.find(" ", start) + 1
    end = start + width
    if end < len(line):
        end = max(line.rfind(" ", start, end), start + width // 2)
    before = "…" if start else ""
    after = "…" if end < len(line) else ""
    return f"{before}{line[start:end]}{after}"


def told(record: Record) -> str:
    """What an entry of the journal is, when it has no title: its kind, and when it happened."""
    said = record.metadata or {}
    return f"{said.get('event') or said.get('type') or record.kind} {record.at[:16]}".strip()


def place(hit: Hit) -> str:
    """Where it is; of a commit's name as much as tells it from others."""
    record = hit.record
    return record.path or (record.ref[:SHORT] if record.kind == "commit" else record.ref)


def explanation(hit: Hit) -> str:
    """Why it ranked here: each vote's place and score, and the shares that add up."""
    said = [
        f"{vote.retriever} #{vote.rank} ({vote.score:.3f}) gives {vote.share:.3f}"
        for vote in hit.votes
    ]
    return f"{' + '.join(said)} = {hit.score:.3f} · {hit.chunk.id}"


def shown_lines(text: str, at: int, asked: Sequence[str], style: Style) -> list[str]:
    lines = text.splitlines()
    chosen = [line for line in lines[at:] if line.strip()][:SHOWN]
    return [_marked(excerpt(line, 200), asked, style) for line in chosen]


def matching_lines(text: str, title: str, asked: Sequence[str], style: Style) -> list[str]:
    """The lines of a commit's body that have words of the question."""
    wanted = {word[:5] for word in asked}
    lines = [line for line in text.removeprefix(title).splitlines() if line.strip()]
    said = [line for line in lines if {word.lower()[:5] for word in words(line)} & wanted]
    return [_marked(excerpt(line, 200), asked, style) for line in said[:SHOWN]]


def _marked(line: str, asked: Sequence[str], style: Style) -> str:
    if not style.colour:
        return line
    stems = sorted({re.escape(word[: max(4, len(word) - 2)]) for word in asked}, key=len)
    if not stems:
        return line
    pattern = r"\b(?:" + "|".join(reversed(stems)) + r")\w*"
    return re.sub(pattern, lambda found: style("match", found[0]), line, flags=re.IGNORECASE)


# Records, counts, reports


def records_text(records: Iterable[Record], style: Style = PLAIN) -> str:
    rows = []
    for record in map(readable, records):
        tags = style("dim", " ".join(f"#{tag}" for tag in record.tags))
        rows.append(f"{style('path', record.path or record.ref)}  {record.title}  {tags}".rstrip())
    return "\n".join(rows)


def record_text(record: Record, chunks: Sequence[Chunk], style: Style = PLAIN) -> str:
    """A record's head and what is remembered of it, with line or page numbers."""
    record, chunks = readable(record), readable(chunks)
    head = [style("bold", record.title), f"{record.ref}"]
    if record.at:
        head.append(f"at {record.at}")
    about = record.metadata or {}
    if record.kind == "commit":
        head.append(f"by {about.get('author', '')} <{about.get('email', '')}>")
    if about.get("alive") is False:
        head.append("deleted")
    if record.tags:
        head.append("tags " + ", ".join(record.tags))
    body = []
    for chunk in chunks:
        where = f"{chunk.start_line}" if chunk.start_line else f"page {chunk.page}"
        where = where if chunk.start_line or chunk.page else f"#{chunk.n}"
        body.append(f"\n{style('line', where)}  {style('dim', chunk.heading)}\n{chunk.text}")
    return "\n".join([*head, *body])


def counts_json(counts: Counts) -> dict[str, int]:
    return dict(counts._asdict())


def status_json(status: Status) -> dict[str, Any]:
    return {
        "space": {
            "name": status.name,
            "root": status.root,
            "id": status.id,
            "origin": status.origin or None,
        },
        "data": status.data,
        "bytes": status.bytes,
        "synced": status.synced or None,
        "counts": counts_json(status.counts),
        "types": dict(status.kinds),
        "embedding": {
            "provider": status.provider,
            "model": status.model or None,
            "dimensions": status.dimensions or None,
            "pending": status.pending,
        },
        "consolidation": {"epoch": status.epoch, "surprise": round(status.surprise, 4)},
        "untrusted": list(status.untrusted),
    }


def status_text(status: Status, style: Style = PLAIN) -> str:
    """What a space remembers, and what needs attention."""
    status = readable(status)
    counts = status.counts
    kinds = ", ".join(f"{count:,} {plural(kind)}" for kind, count in status.kinds.items())
    rows = [
        ("space", f"{style('bold', status.name)}  {status.root}"),
        ("origin", status.origin or "no git origin"),
        ("remembers", kinds or "nothing yet, run `kinen index`"),
        ("chunks", f"{counts.chunks:,}, {counts.vectors:,} of them with a vector"),
        ("links", f"{counts.edges:,}, and {counts.broken:,} broken"),
        ("model", _model(status)),
        ("surprise", f"{status.surprise:.2f} since epoch {status.epoch}"),
        ("synced", status.synced or "never"),
        ("data", f"{status.data} ({status.bytes / 1e6:,.1f} MB)"),
    ]
    lines = [f"{style('dim', f'{name:<10}')} {value}" for name, value in rows]
    if counts.skipped:
        lines.append(
            style("warn", f"{counts.skipped:,} files unread: `kinen index status` says why")
        )
    if status.untrusted:
        keys = ", ".join(status.untrusted)
        lines.append(style("warn", f"ignored until `kinen trust`: {keys}"))
    return "\n".join(lines)


def plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _model(status: Status) -> str:
    if status.provider == "none":
        return "none: full text only (index.embedding_provider is none)"
    waiting = f", {status.pending:,} chunks wait for `kinen index`" if status.pending else ""
    size = f", {status.dimensions} dimensions" if status.dimensions else ""
    return f"{status.provider} {status.model}{size}{waiting}"


def report_text(report: Report) -> str:
    """What a sync did, on one line."""
    done = [
        f"{count:,} {name}"
        for name, count in zip(report._fields[:4], report[:4], strict=True)
        if count
    ]
    line = ", ".join(done) or "nothing changed"
    if report.embedded:
        line += f", {report.embedded:,} chunks embedded"
    if report.pending:
        line += f", {report.pending:,} still without a vector"
    return f"{line} ({report.seconds:.1f} s)"


# Graphs


def edges_json(edges: Iterable[Edge]) -> list[dict[str, Any]]:
    return [dict(edge._asdict()) for edge in edges]


def graph_dot(edges: Iterable[Edge]) -> str:
    edges = map(readable, edges)
    lines = ["digraph kinen {", "  rankdir=LR; node [shape=box, fontname=Helvetica];"]
    lines += [f"  {_quoted(_name(e.source))} -> {_quoted(_name(e.target))};" for e in edges]
    return "\n".join([*lines, "}"])


def graph_mermaid(edges: Sequence[Edge]) -> str:
    edges = readable(edges)
    refs = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    ids = {ref: f"n{at}" for at, ref in enumerate(refs)}
    nodes = [f'  {ids[ref]}["{_name(ref).replace(chr(34), "&quot;")}"]' for ref in refs]
    arrows = [f"  {ids[edge.source]} --> {ids[edge.target]}" for edge in edges]
    return "\n".join(["graph LR", *nodes, *arrows])


def links_text(ref: str, edges: Sequence[Edge], style: Style = PLAIN) -> str:
    """What a record links to, what links to it, and what lies further away."""
    ref, edges = readable(ref), readable(edges)
    groups: dict[str, list[str]] = {"links to": [], "linked from": [], "further": []}
    for edge in edges:
        line = f":{edge.line}" if edge.line else ""
        if edge.source == ref:
            end = _name(edge.target) if edge.target else style("warn", f"{edge.written} (broken)")
            groups["links to"].append(f"{end}{_how(edge)}")
        elif edge.target == ref:
            groups["linked from"].append(f"{style('path', _name(edge.source))}{line}{_how(edge)}")
        else:
            end = _name(edge.target) if edge.target else f"{edge.written} (broken)"
            groups["further"].append(f"{_name(edge.source)} → {end}")
    rows = []
    for name, found in groups.items():
        if found:
            rows += [style("bold", name), *(f"  {one}" for one in dict.fromkeys(found))]
    return "\n".join(rows)


def _how(edge: Edge) -> str:
    """What kind of link it is, where that is not plain."""
    return "" if edge.type == "links" else f"  ({edge.type}{' ' + edge.text if edge.text else ''})"


def _name(ref: str) -> str:
    return ref.split(":", 1)[-1]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
