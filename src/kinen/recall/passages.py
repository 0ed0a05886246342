"""Hits as they are shown: each with the passage around its match, and no passage twice."""

from __future__ import annotations

from kinen.characters import visible_line
from kinen.model.tuples import NamedTuple
from kinen.text import estimate, excerpt, words
from kinen.text.passages import LIMIT, SHORT, is_heading, passage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from kinen.model.records import Chunk, Hit
    from kinen.ports import Index

    Lines = Sequence[range]

REACH = 12
"""Chunks looked at on either side of a match.

Two neighbours in a section weigh more than `sources.chunks.SMALL` tokens together, so that this
many are always beyond `LIMIT`.
"""
LITTLE = 40
"""Tokens up to which frontmatter is a title and a few tags."""
TAKEN = -1
"""The section of lines that another hit shows."""
BARE_LABELS = ("aliases: ", "tags: ", "branch: ")
"""Lines of metadata that say nothing of what was done."""
LABELS = (*BARE_LABELS, "files: ", "symbols: ")
"""Lines of metadata that help to find a record and are not its text."""
TITLE = 160
"""Maximum number of characters of a title, on the widest screen."""
WORDS = 4 * TITLE
"""Characters of a text in which its first words are looked for."""
CLIENT_LABELS = ("Tool: ", "File: ", "Agent: ")
"""Beginnings of lines that clients' hooks write above what was done."""
TARGETS = ("filePath", "pattern", "path", "url", "query", "description")
"""What a tool was used on, by the names that provenance has."""
_MARKS = (">", "-", "*", "+")
"""What a line of a quote or an item begins with."""
GAP = "…"
"""Stands for lines between a lead-in and the lines around a match."""


class Page(NamedTuple):
    """Consecutive lines of a record around a match."""

    number: int
    """The number of its first line; 0 where lines have no numbers."""
    lines: list[str]
    sections: list[int]


def without_metadata(reader: Index, hits: Sequence[Hit]) -> list[Hit]:
    """Hits that show text: a title, aliases and tags help to find a file and are not its text.

    A match in them is shown as the next best match in its file, or as the beginning of the text.
    """
    shown = []
    for hit in hits:
        if not is_metadata(hit.chunk):
            shown.append(hit)
            continue
        prose = prose_of(hit.chunk, hit.record.title)
        text = hit.chunk._replace(text=prose)
        shown.append(hit._replace(chunk=text if prose else _body(reader, hit, hits)))
    return shown


def is_metadata(chunk: Chunk) -> bool:
    """Is it what the frontmatter or the manifest says of a file, put in other words?"""
    return bool(chunk.start_line) and not is_numbered(chunk)


def prose_of(chunk: Chunk, title: str, labels: tuple[str, ...] = LABELS) -> str:
    """What metadata says in sentences: a summary, a note, the decision of a checkpoint."""
    lines = [line for line in chunk.text.split("\n") if not line.startswith(labels)]
    return "\n".join(line for line in lines if line.strip("# ") != title)


def shown_text(chunk: Chunk, title: str, labels: tuple[str, ...] = LABELS) -> str:
    """The text of a chunk; of metadata without the record's title and the lines with `labels`."""
    return prose_of(chunk, title, labels) if is_metadata(chunk) else chunk.text


def _body(reader: Index, hit: Hit, hits: Sequence[Hit]) -> Chunk:
    """The chunk of a file's text to show for a match in its metadata."""
    ref = hit.record.ref
    others = [other.chunk for other in hits if other.record.ref == ref]
    others += reader.between(ref, hit.chunk.n + 1, hit.chunk.n + REACH)
    others += reader.between(ref, 0, hit.chunk.n)  # a checkpoint has its metadata last
    texts = (chunk for chunk in others if not is_metadata(chunk))
    return next(texts, hit.chunk._replace(text=""))


def distinct_passages(
    hits: Iterable[Hit], limit: int, situated: Callable[[Hit, Lines], Hit]
) -> list[Hit]:
    """The first `limit` hits, each as `situated` shows it beside the lines that are shown already.

    A hit that a better one shows is not listed again: it is in the other's `also`. Empty items,
    as in templates, are listed only if there is nothing else.
    """
    distinct: list[Hit] = []
    empty: list[Hit] = []
    places: dict[str, list[int]] = {}
    for hit in hits:
        listed = places.setdefault(hit.record.ref, [])
        covering = next((n for n in listed if _covers(distinct[n], hit)), -1)
        if covering >= 0:
            better = distinct[covering]
            distinct[covering] = better._replace(also=(*better.also, hit))
        elif len(distinct) < limit:
            lines = [_lines(distinct[n]) for n in listed]
            passage_hit = situated(hit, lines)
            if _is_empty(passage_hit):
                empty.append(passage_hit)
                continue
            listed.append(len(distinct))
            distinct.append(passage_hit)
    return distinct or empty[:limit]


def _is_empty(hit: Hit) -> bool:
    """Does a passage have nothing but empty items or rules below its heading?"""
    lines = [line for line in hit.display.text.split("\n") if line.strip()]
    bare = [line for line in lines if not any(map(str.isalnum, line))]
    return bool(bare) and all(is_heading(line) for line in lines if line not in bare)


def _covers(better: Hit, hit: Hit) -> bool:
    """Does the passage of a better hit show all of this one's match?

    Frontmatter that says little is covered by any passage of its file.
    """
    if better.passage is None or not hit.chunk.start_line:
        return False
    if not is_numbered(hit.chunk):
        return estimate(hit.chunk.text) <= LITTLE
    lines = _lines(better)
    inside = hit.chunk.start_line in lines and hit.chunk.end_line in lines
    return inside and hit.chunk.text in better.passage.text


def _lines(hit: Hit) -> range:
    """The numbers of the lines that a hit shows."""
    return range(hit.display.start_line, hit.display.end_line + 1)


def with_passage(
    reader: Index, hit: Hit, query_terms: Sequence[str], context: int = 0, covered: Lines = ()
) -> Hit:
    """A hit with its passage, the line that says most of what was asked, and `context` chunks.

    The passage does not grow into lines that are `taken`.
    """
    own = hit.chunk
    reach = REACH + context
    around = reader.between(own.ref, own.n - reach, own.n + reach)
    chunk, line = passage_of(own, around, query_terms, covered=covered)
    before = [
        neighbour for neighbour in around if neighbour.n < own.n and not _within(neighbour, chunk)
    ]
    after = [
        neighbour for neighbour in around if neighbour.n > own.n and not _within(neighbour, chunk)
    ]
    return hit._replace(
        passage=chunk,
        line=line,
        before=tuple(before[-context:] if context else ()),
        after=tuple(after[:context]),
    )


def _within(chunk: Chunk, passage_: Chunk) -> bool:
    if not chunk.start_line or not passage_.start_line:
        return False
    return passage_.start_line <= chunk.start_line and chunk.end_line <= passage_.end_line


def passage_of(
    own: Chunk,
    around: Sequence[Chunk],
    query_terms: Sequence[str],
    limit: int = LIMIT,
    covered: Lines = (),
) -> tuple[Chunk, int]:
    """The passage around a chunk, as a wider chunk, and the number of its best line (0: none).

    `around` has the chunk and its neighbours in order; lines that are `taken` bound the passage.
    """
    if own.start_line and not is_numbered(own):
        return _frontmatter_passage(own, around, limit), own.start_line
    page = page_of(own, around, covered)
    offset = own.start_line - page.number if page.number else 0
    best = offset + best_line(own.text, query_terms)
    last = offset + own.text.count("\n")
    ranges = passage(page.lines, page.sections, offset, last, limit, best)
    texts = ["\n".join(page.lines[stretch.start : stretch.stop]) for stretch in ranges]
    text = f"\n{GAP}\n".join(texts)
    if not page.number:
        return own._replace(text=text), 0
    start_line = page.number + ranges[0].start
    end_line = page.number + ranges[-1].stop - 1
    return own._replace(text=text, start_line=start_line, end_line=end_line), page.number + best


def _frontmatter_passage(own: Chunk, around: Sequence[Chunk], limit: int) -> Chunk:
    """What the frontmatter says of a file, and how the file begins if that leaves room."""
    following = next(
        (neighbour for neighbour in around if neighbour.n > own.n and is_numbered(neighbour)), None
    )
    room = limit // SHORT - estimate(own.text)
    if following is None or room < limit // (3 * SHORT):
        return own
    beginning, _ = passage_of(following, around, (), room)
    if estimate(beginning.text) > room:
        return own
    repeated = {line.strip("# ") for line in beginning.text.split("\n")}
    lines = [line for line in own.text.split("\n") if line.strip("# ") not in repeated]
    text = "\n".join([*lines, beginning.text])
    return own._replace(text=text, end_line=beginning.end_line)


def is_numbered(chunk: Chunk) -> bool:
    """Are the lines of a chunk those of its file? What frontmatter says is put in other words."""
    return bool(chunk.start_line) and chunk.text.count("\n") == chunk.end_line - chunk.start_line


def page_of(own: Chunk, around: Sequence[Chunk], covered: Lines = ()) -> Page:
    """The lines around a chunk, as far as they are known, with the section of each.

    Lines that are `taken` and not the chunk's own are a section apart.
    """
    if not own.start_line:
        lines = own.text.split("\n")
        return Page(0, lines, [0] * len(lines))
    pieces, own_section = _sections(own, around)
    if own_section and not covered:
        # A passage ends with its section, or with the next one if its own is a bare heading.
        pieces = [piece for piece in pieces if own_section <= piece[1] <= own_section + 1]
    texts: dict[int, str] = {}
    section_of: dict[int, int] = {}
    for chunk, section in reversed(pieces):  # where chunks overlap, the first one counts
        texts.update(enumerate(chunk.text.split("\n"), chunk.start_line))
        numbers = range(chunk.start_line, chunk.end_line + 1)
        section_of.update(dict.fromkeys(numbers, section))
    for shown in covered:
        section_of.update(dict.fromkeys(section_of.keys() & shown, TAKEN))
    section_of.update(dict.fromkeys(range(own.start_line, own.end_line + 1), own_section))
    texts.update(enumerate(own.text.split("\n"), own.start_line))
    # The known lines as a page; lines between chunks are blank and belong to what is above.
    number = min(texts)
    places = range(number, max(texts) + 1)
    sections: list[int] = []
    section = section_of.get(number, 0)
    for at in places:
        section = section_of.get(at, section)
        sections.append(section)
    return Page(number, [texts.get(at, "") for at in places], sections)


def _sections(own: Chunk, around: Sequence[Chunk]) -> tuple[list[tuple[Chunk, int]], int]:
    """The chunks with lines of their file, each with the number of its section; that of `own`."""
    pieces: list[tuple[Chunk, int]] = []
    section = own_section = 0
    heading: str | None = None
    for chunk in around:
        if not is_numbered(chunk):
            continue
        first = chunk.text.partition("\n")[0]
        if chunk.heading != heading or (not first[:1].isalpha() and is_heading(first)):
            section += 1
        heading = chunk.heading
        if chunk.n == own.n:
            own_section = section
        pieces.append((chunk, section))
    return pieces, own_section


def best_line(text: str, query_terms: Sequence[str]) -> int:
    """The offset of the line that says most of what was asked, the first of equals."""
    stems = {word[:5] for word in query_terms}
    best = 0
    most = -1
    for at, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        small = line.lower()
        score = 0
        if any(stem in small for stem in stems):
            score = len({word.lower()[:5] for word in words(line)} & stems)
        if score > most:
            best = at
            most = score
    return best


def event_title(about: Mapping[str, Any], text: str) -> str:
    """What an observation says was done, or who said what."""
    if about.get("event") == "message":
        words_ = first_words(without_labels(text))
        speaker = about.get("agent") if about.get("role") == "assistant" else about.get("by")
        who = about.get("teammate") or speaker or about.get("role") or ""
        return f"{who}: {words_}" if who and words_ else words_
    command = about.get("command") or ""
    if not command and text.startswith("$ "):
        command = text.partition("\n")[0][2:]
    if command:
        failed = str(about.get("exitCode") or 0) != "0"
        code = f" (exit {about['exitCode']})" if failed else ""
        return f"$ {_one_line(command)}{code}"
    if not about.get("toolName"):
        return first_words(without_labels(text)) or ", ".join(about.get("files") or ())
    target = next((_one_line(about[name]) for name in TARGETS if about.get(name)), "")
    return f"{about['toolName']} {target or first_words(without_labels(text))}".strip()


def without_labels(text: str) -> str:
    """The text of an observation without the lines that name its tool, file or agent."""
    while text.startswith(CLIENT_LABELS):
        text = text.partition("\n")[2]
    return text


def unmarked(text: str) -> str:
    """The words of a text without marks of bold text, code, headings, quotes and items."""
    words = text.replace("**", "").replace("`", "").split()
    begun = words[1:] if words[:1] and words[0] in _MARKS else words
    return " ".join(word for word in begun if word.strip("#"))


def first_words(text: str) -> str:
    """The beginning of a text on one line, without marks of markdown."""
    return _one_line(unmarked(text[:WORDS]))


def _one_line(text: object) -> str:
    return excerpt(visible_line(" ".join(str(text).split())), TITLE)
