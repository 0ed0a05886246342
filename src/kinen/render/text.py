"""Text of hits, records, counts and the state of a space."""

from __future__ import annotations

from kinen.characters import visible_line
from kinen.ids import SHORT_SESSION, short_id
from kinen.model.late import re
from kinen.paths import openable
from kinen.recall.floor import strength_word
from kinen.recall.passages import best_line, event_title, first_words, unmarked, without_labels
from kinen.render.screen import PLAIN, Screen, Style, columns, fit, readable
from kinen.text import excerpt, plural, terms, word_places, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kinen.model.documents import Report, Status
    from kinen.model.records import Chunk, Hit, Hits, Record

LINES = 3
"""Number of lines shown for a hit without a passage."""
LINE_WIDTH = 640
"""Maximum number of characters per line of a passage."""
SHORT_COMMIT = len("commit:") + 12
SOME = 5
"""Files named of those that changed since."""
OUTCOME = "**Outcome**: "


NOUNS = {"observations": "events", "capsules": "sessions"}
"""What people read in place of the names that JSON and refs have (docs/vocabulary.md)."""


def counted(count: int, plural: str) -> str:
    """A count with its noun: `1 summary`, `1,200 summaries`."""
    plural = NOUNS.get(plural, plural)
    if count != 1:
        return f"{count:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"


def counts_text(counts: Mapping[str, int], *, zeros: bool = False) -> str:
    """Counts by plural noun on one line, those of zero only with `zeros`."""
    return ", ".join(counted(count, noun) for noun, count in counts.items() if count or zeros)


def search_text(
    hits: Hits,
    *,
    files: bool = False,
    explain: bool = False,
    verbose: bool = False,
    folder: str = "",
    screen: Screen = Screen(),  # noqa: B008
    remarks: Mapping[str, str] | None = None,
) -> str:
    """The output of `kinen search`: hits, or with `files` the paths of files only.

    Paths can be opened from `folder`; without it they are relative to the space.
    """
    if files:
        return "\n".join(file_list(hits, folder))
    return hits_text(hits, screen, explain=explain, verbose=verbose, folder=folder, remarks=remarks)


def file_list(hits: Hits, folder: str = "") -> list[str]:
    """The paths of the hits that are files and still there, each once."""
    files = [hit for hit in hits if hit.record.path and not _is_deleted(hit.record)]
    return list(dict.fromkeys(place(hit, folder) for hit in files))


def _is_deleted(record: Record) -> bool:
    return record.kind == "file" and (record.metadata or {}).get("alive") is False


def hits_text(
    hits: Hits,
    screen: Screen = Screen(),  # noqa: B008
    *,
    explain: bool = False,
    verbose: bool = False,
    folder: str = "",
    remarks: Mapping[str, str] | None = None,
) -> str:
    """Three lines per hit: its title, where and when it is, and the passage that matches best.

    With `verbose`, or where the query asks for chunks around a hit, the whole passage with them.
    `remarks` are lines that stand below a hit, by its ref.
    """
    query_terms = terms(hits.query.text)
    verbose = verbose or hits.query.context > 0
    lines = []
    for hit in hits:
        lines.append(hit_text(hit, query_terms, screen, verbose=verbose, folder=folder))
        remark = (remarks or {}).get(hit.record.ref)
        if remark:
            lines.append(f"    {screen.style('dim', remark)}")
        if explain:
            lines.append(screen.style("dim", f"  {explanation(readable(hit))}"))
    return "\n".join(lines)


def hit_text(
    hit: Hit, query_terms: Sequence[str], screen: Screen, *, verbose: bool = False, folder: str = ""
) -> str:
    style = screen.style
    name = hit_title(hit)
    line = snippet(hit, query_terms, screen.width - 2 if screen.terminal else 0)
    hit = readable(hit if verbose else hit._replace(votes=(), before=(), after=(), also=()))
    rows = [style("bold", fit(name, screen.width) if screen.terminal else name)]
    rows.append(f"  {_facts(hit, screen, folder)}")
    if not verbose:
        return "\n".join([*rows, *([f"  {highlighted(line, query_terms, style)}"] if line else [])])
    rows += [f"    {line}" for line in hit_lines(hit, query_terms, style)]
    before = hit.before
    after = hit.after
    if hit.record.kind == "observation":  # has its whole segment as context
        before = before[-1:]
        after = after[:2]
    rows += [style("dim", f"    before: {excerpt(chunk.text, 160)}") for chunk in before]
    rows += [style("dim", f"    after: {excerpt(chunk.text, 160)}") for chunk in after]
    return "\n".join(rows)


def _facts(hit: Hit, screen: Screen, folder: str) -> str:
    """Where a hit is, of which session, by whom and when, and how close it is.

    What does not fit is left out from the second fact on: the place and the number stay.
    """
    record = hit.record
    about = record.metadata or {}
    who = about.get("author") if record.kind == "commit" else about.get("agent")
    strength = f"{hit.strength} {strength_word(hit.strength)}"
    facts = [
        ", ".join(record.tags) if record.kind == "file" else "",
        f"session {record.session[:SHORT_SESSION]}" if record.session and not record.path else "",
        colleague(record).strip() or str(who or ""),
        screen.at(record.at) if screen.terminal else record.at[:10],
        strength,
    ]
    facts = [fact for fact in facts if fact]
    if screen.terminal:
        plain = _location(hit, PLAIN, folder, screen)
        while len(facts) > 1 and 2 + columns(" · ".join([plain, *facts])) > screen.width:
            del facts[0]
    location = _location(hit, screen.style, folder, screen)
    return " · ".join([location, screen.style("dim", " · ".join(facts))])


def _location(hit: Hit, style: Style, folder: str, screen: Screen) -> str:
    """`path:line` or `path#page=N` of a hit; what is not a file comes after its space's name."""
    name = place(hit, folder)
    if screen.terminal and not hit.record.path:
        name = short_id(name)
    is_openable = hit.record.path and hit.root and folder
    location = style("path", f"{hit.space}:{name}" if hit.space and not is_openable else name)
    if hit.display.start_line:
        return location + ":" + style("line", str(hit.line or hit.display.start_line))
    if hit.display.page:
        return location + style("line", f"#page={hit.display.page}")
    return location


def hit_title(hit: Hit) -> str:
    """The title of a hit: the heading that it is below, or what its record is called."""
    text = hit.chunk.text if not hit.chunk.n else f"… {hit.chunk.text.lstrip()}"
    return title(hit.record, text, hit.display.heading)


def title(record: Record, text: str = "", heading: str = "") -> str:
    """What a person can choose a record by, on one line: a heading, a subject, a command, a tool
    with its file, or the first words of a text with who said them; never the kind of a record.

    `text` is that of the record or a part of it, `heading` where in the record that stands.
    """
    about = record.metadata or {}
    if record.kind == "observation" and not record.title:
        name = event_title(about, text)
    elif record.kind == "memory" and not record.title:
        name = f"{about.get('type', record.kind)}: {first_words(text)}"
    elif record.kind == "capsule":
        name = f"session: {first_words(record.title)}"
    elif record.kind == "summary" and OUTCOME in text:
        outcome = text.partition(OUTCOME)[2].partition("\n")[0]
        name = f"outcome: {first_words(outcome)}"
    else:
        name = first_words(heading or record.title or text)
    return visible_line(name or record.path or record.ref)


def snippet(hit: Hit, query_terms: Sequence[str], width: int) -> str:
    """The part of a passage that has most words of the query, on one line that can be printed.

    It is cut to a number of columns, or for 0 to LINE_WIDTH characters. Empty where the title says
    it all.
    """
    headline = hit_title(hit)
    lines = [visible_line(unmarked(line).strip()) for line in _passage_lines(hit)]
    lines = [line for line in lines if line and line.strip("-=|: ")]
    start = best_line("\n".join(lines), query_terms)
    line = " ".join("".join(lines[start : start + 1]).split())
    if not width:
        if len(line) > LINE_WIDTH:
            return clipped(line, query_terms, LINE_WIDTH)
        whole = excerpt(" ".join([line, *lines[start + 1 :]]), LINE_WIDTH)
        return "" if whole in headline else whole
    if columns(line) > width:
        room = width * len(line) // columns(line)  # a letter may take two columns
        return fit(clipped(line, query_terms, room - 2), width)
    line = " ".join(" ".join([line, *lines[start + 1 :]])[: 2 * LINE_WIDTH].split())
    return "" if line in headline else fit(line, width)


def _passage_lines(hit: Hit) -> list[str]:
    """The lines of a hit that its title does not show."""
    record = hit.record
    if record.kind == "commit":
        return [
            line for line in hit.chunk.text.removeprefix(record.title).splitlines() if line.strip()
        ]
    if record.kind == "file":
        return hit.chunk.text.splitlines()[1:]
    text = hit.display.text
    if record.kind == "observation":
        command = str((record.metadata or {}).get("command") or text.partition("\n")[0][2:])
        text = without_labels(text).removeprefix(f"$ {command}")
    lines = [line for line in text.splitlines() if line.strip()]
    if record.path.endswith(".rst"):
        lines = without_rules(lines)
    headings = {record.title, *hit.display.heading.split(" > ")}
    return [line for line in lines if line.strip("# ") not in headings]


def colleague(record: Record) -> str:
    """The colleague who wrote an entry, with the agent; empty for one's own."""
    metadata = record.metadata or {}
    if metadata.get("edited"):
        return f" by {metadata['edited']}"
    if not metadata.get("by"):
        return ""
    from kinen.journal.authors import Colleague, signature

    author = Colleague.on(metadata["by"], metadata.get("machine", ""))
    return signature(author, metadata.get("agent", ""))


def hit_lines(hit: Hit, query_terms: Sequence[str], style: Style = PLAIN) -> list[str]:
    """The passage of a hit, or the lines with words of the query if it has none."""
    if hit.record.kind == "commit":
        return matching_lines(hit.chunk.text, hit.record.title, query_terms, style)
    if hit.record.kind == "file":
        return hit.chunk.text.splitlines()[1:]
    if hit.passage is not None:
        lines = [line for line in hit.passage.text.splitlines() if line.strip()]
        if hit.record.path.endswith(".rst"):
            lines = without_rules(lines)
        lines = without_titles(lines, hit)
        return [
            highlighted(clipped(line, query_terms, LINE_WIDTH), query_terms, style)
            for line in lines
        ]
    start = best_line(hit.chunk.text, query_terms)
    lines = [line for line in hit.chunk.text.splitlines()[start:] if line.strip()]
    return [highlighted(excerpt(line, 200), query_terms, style) for line in lines[:LINES]]


def without_rules(lines: Sequence[str]) -> list[str]:
    """Lines of reStructuredText without the rules that mark headings and tables.

    A rule is a row of one punctuation character, three or more, not indented: `====  ===`.
    """
    return [line for line in lines if not _is_rule(line.rstrip())]


def _is_rule(line: str) -> bool:
    marks = line.replace(" ", "")
    return line[:3] == marks[:1] * 3 and not line[0].isalnum() and not marks.strip(line[0])


def without_titles(lines: list[str], hit: Hit) -> list[str]:
    """The lines of a passage without the title and headings that the hit's first line shows."""
    titles = {hit.record.title, *hit.display.heading.split(" > ")}
    start = 0
    while start < len(lines) and lines[start].strip("# ") in titles:
        start += 1
    return lines[start:]


def clipped(line: str, query_terms: Sequence[str], width: int) -> str:
    """A line, cut to the part with most words of the query if it is longer than `width`."""
    line = line.rstrip()
    if len(line) <= width:
        return line
    stems = {word[:5] for word in query_terms}
    matches = [at for at, word in word_places(line) if word.lower()[:5] in stems]
    middle = matches[len(matches) // 2] if matches else 0
    start = max(0, min(middle - width // 2, len(line) - width))
    if start:
        start = line.find(" ", start) + 1
    end = start + width
    if end < len(line):
        end = max(line.rfind(" ", start, end), start + width // 2)
    before = "…" if start else ""
    after = "…" if end < len(line) else ""
    return f"{before}{line[start:end]}{after}"


def place(hit: Hit, folder: str = "") -> str:
    """The path of a hit, the abbreviated ref of a commit, or the ref of any other record."""
    record = hit.record
    if record.path:
        return openable(hit.root, record.path, folder)
    return record.ref[:SHORT_COMMIT] if record.kind == "commit" else record.ref


def explanation(hit: Hit) -> str:
    """Why a hit has its score: rank, score and share of each vote."""
    votes = [
        f"{vote.retriever} #{vote.rank} ({vote.score:.3f}) gives {vote.share:.3f}"
        for vote in hit.votes
    ]
    return f"{' + '.join(votes)} = {hit.score:.3f} · {hit.chunk.id}"


def matching_lines(text: str, title: str, query_terms: Sequence[str], style: Style) -> list[str]:
    """The lines of a commit's body that have words of the query."""
    stems = {word[:5] for word in query_terms}
    lines = [line for line in text.removeprefix(title).splitlines() if line.strip()]
    matches = [line for line in lines if {word.lower()[:5] for word in words(line)} & stems]
    return [highlighted(excerpt(line, 200), query_terms, style) for line in matches[:LINES]]


def highlighted(line: str, query_terms: Sequence[str], style: Style) -> str:
    """A text with the words of a query in the style `match`."""
    if not style.colour:
        return line
    stems = sorted({word[: max(4, len(word) - 2)] for word in query_terms}, key=len, reverse=True)
    if not stems:
        return line
    # one or two Latin letters, such as those of `e2e`, begin too many words
    ends = (r"\b" if len(stem) < 3 and stem.isascii() else r"\w*" for stem in stems)
    pattern = r"\b(?:" + "|".join(map("{}{}".format, map(re.escape, stems), ends)) + ")"
    return re.sub(pattern, lambda match: style("match", match[0]), line, flags=re.IGNORECASE)


def records_text(records: Iterable[Record], style: Style = PLAIN) -> str:
    """A line per record: path, title and tags."""
    rows = []
    for record in map(readable, records):
        tags = style("dim", " ".join(f"#{tag}" for tag in record.tags))
        rows.append(f"{style('path', record.path or record.ref)}  {record.title}  {tags}".rstrip())
    return "\n".join(rows)


def record_text(record: Record, chunks: Sequence[Chunk], style: Style = PLAIN) -> str:
    """A record with its chunks, each with its line or page number."""
    record = readable(record)
    metadata = record.metadata or {}
    name = title(record, next((chunk.text for chunk in readable(chunks)), ""))
    lines = [style("bold", name), record.ref]
    if record.at:
        lines.append(f"at {record.at}")
    if record.kind == "commit":
        lines.append(f"by {metadata.get('author', '')} <{metadata.get('email', '')}>")
    elif metadata.get("edited") or metadata.get("by"):
        lines.append(colleague(record).strip())
    if metadata.get("alive") is False:
        lines.append("deleted")
    if record.tags:
        lines.append("tags " + ", ".join(record.tags))
    for chunk in readable(chunks):
        heading = f"  {style('dim', chunk.heading)}" if chunk.heading else ""
        lines.append(f"\n{style('line', _chunk_place(chunk))}{heading}\n{chunk.text}")
    return "\n".join(lines)


def _chunk_place(chunk: Chunk) -> str:
    if chunk.start_line:
        return str(chunk.start_line)
    return f"page {chunk.page}" if chunk.page else f"#{chunk.n}"


def status_text(status: Status, style: Style = PLAIN, synced: str = "") -> str:
    """What is in a space, and what needs attention; `synced` is the time in other words."""
    status = readable(status)
    counts = status.counts
    kinds = counts_text({plural(kind): count for kind, count in status.kinds.items()}, zeros=True)
    rows = [
        ("space", f"{style('bold', status.name)}  {status.root}"),
        ("origin", status.origin or "no git origin"),
        ("contains", kinds or "nothing yet: run `kinen index`"),
        ("chunks", f"{counts.chunks:,}, {counts.vectors:,} of them with a vector"),
        ("links", f"{counts.edges:,}, {counts.broken:,} of them broken"),
        ("model", _model(status)),
        ("synced", synced or status.synced or "never"),
        ("data", f"{status.data} ({size_text(status.bytes)})"),
    ]
    lines = [f"{style('dim', f'{name:<10}')} {value}" for name, value in rows]
    if counts.skipped:
        warning = f"{counted(counts.skipped, 'files')} could not be read: see `kinen index status`"
        lines.append(style("warn", warning))
    if status.untrusted:
        keys = ", ".join(status.untrusted)
        lines.append(style("warn", f"ignored or limited until you run `kinen trust`: {keys}"))
    return "\n".join(lines)


def _model(status: Status) -> str:
    if status.provider == "none":
        return "none: full text only (index.embedding_provider is none)"
    size = f", {status.dimensions} dimensions" if status.dimensions else ""
    pending = ""
    if status.pending and status.vectors_off:
        chunks = counted(status.pending, "chunks")
        return f"{status.provider} {status.model}, {chunks} without a vector (--no-embed)"
    if status.pending:
        pending = f", {counted(status.pending, 'chunks')} to embed: run `kinen index`"
    return f"{status.provider} {status.model}{size}{pending}"


def report_text(report: Report) -> str:
    """What a sync did, on one line."""
    changes = {name: getattr(report, name) for name in report._fields[:4]}
    parts = [f"{count:,} {name}" for name, count in changes.items() if count]
    if report.embedded:
        unchanged = "" if parts else " (no file changes)"
        parts.append(f"{counted(report.embedded, 'chunks')} embedded{unchanged}")
    if report.pending:
        parts.append(f"{report.pending:,} without a vector")
    return f"{', '.join(parts) or 'nothing changed'} ({report.seconds:.1f} s)"


def size_text(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:,.1f} MB"


def changed_line(changed: Sequence[str], edited: int) -> str:
    """How many of the files that a session edited are different now, with their names."""
    if not changed:
        return ""
    names = ", ".join([*map(visible_line, changed[:SOME]), *(["…"] if changed[SOME:] else [])])
    return f"{len(changed):,} of {counted(edited, 'files')} of this session changed since: {names}"
