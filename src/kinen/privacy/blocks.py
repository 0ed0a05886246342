"""Masks blocks of text: `<private>…</private>`, private keys, manifests of secrets."""

from __future__ import annotations

from kinen.characters import spliced
from kinen.privacy.marks import mark_of
from kinen.privacy.names import Placeholders
from kinen.privacy.shapes import EXPRESSIONS, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    Counts = dict[str, int]

LONGEST_KEY = 32_768
"""Characters between the first and the last line of a private key."""


def mask_private(text: str, counts: Counts) -> str:
    """Masks the text from `<private>` to the closing tag, or to the end if there is none.

    A tag in backticks is a mention and does not count.
    """
    pieces: list[str] = []
    depth = 0
    end = 0
    for tag in compiled(EXPRESSIONS["private_tag"]).finditer(text):
        quoted = text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]
        if quoted or tag[0].endswith("/>"):
            continue
        if not tag[1]:
            if not depth:
                pieces.append(text[end : tag.start()] + mark_of(counts, "private"))
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    return "".join(pieces) + ("" if depth else text[end:])


def mask_keys(text: str, counts: Counts) -> str:
    """Masks private keys from their first line to their last, or as far as key text goes."""
    begins = [match.span() for match in compiled(EXPRESSIONS["key_begin"]).finditer(text)]
    ends = [match.end() for match in compiled(EXPRESSIONS["key_end"]).finditer(text)]
    edits: list[tuple[int, int, str]] = []
    end = 0
    last = 0
    for number, (start, body) in enumerate(begins):
        if start < end:
            continue
        while last < len(ends) and ends[last] <= body:
            last += 1
        following = begins[number + 1][0] if number + 1 < len(begins) else len(text)
        stop = ends[last] if last < len(ends) else len(text) + 1
        if stop > min(following, body + LONGEST_KEY):
            run = compiled(EXPRESSIONS["key_text"]).match(text, body, following)
            stop = run.end() if run else body
        edits.append((start, stop, mark_of(counts, "private_key")))
        end = stop
    return spliced(text, edits)


def mask_manifests(text: str, counts: Counts) -> str:
    """Masks the data of Kubernetes' secrets, in YAML and JSON, whatever their names are."""
    edits: list[tuple[int, int, str]] = []
    placeholders = Placeholders()
    start = 0
    while start < len(text):
        stop = text.find("\n---", start)
        stop = len(text) if stop < 0 else stop + 1
        if compiled(EXPRESSIONS["manifest"]).search(text, start, stop):
            spans = sorted((*_yaml_data(text, start, stop), *_json_data(text, start, stop)))
            edits += [
                (first, last, mark_of(counts, "secret"))
                for first, last in spans
                if last - first >= 4 and not placeholders[text[first:last]]
            ]
        start = stop + 3
    return spliced(text, edits)


def _yaml_data(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Where the values below `data:` and `stringData:` stand, block scalars line by line."""
    spans: list[tuple[int, int]] = []
    entry = compiled(EXPRESSIONS["entry"])
    place = start
    while data := compiled(EXPRESSIONS["data"]).search(text, place, stop):
        depth = len(data[1])
        place = min(data.end() + 1, stop)
        within = 0
        while place < stop:
            end = text.find("\n", place, stop)
            end = stop if end < 0 else end + 1
            line = text[place:end]
            indent = len(line) - len(line.lstrip("+- \t"))
            if line.strip() and indent <= depth:
                break
            match = None if within and indent > within else entry.match(text, place, stop)
            if match and match[2] and match[2].strip() not in ("|", ">", "|-", ">-", "|+", ">+"):
                spans.append((match.start(2), match.start(2) + len(match[2].rstrip())))
                within = 0
            elif match:
                within = indent
            elif line.strip():
                spans.append((place + indent, place + len(line.rstrip())))
            place = end
    return spans


def _json_data(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Where the values of `"data": {…}` stand."""
    member = compiled(EXPRESSIONS["member"])
    return [
        match.span(1)
        for data in compiled(EXPRESSIONS["object"]).finditer(text, start, stop)
        for match in member.finditer(text, *data.span(1))
    ]
