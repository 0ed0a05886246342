"""Removes secrets from text before it is stored, and changes nothing else.

The time is linear in the text, whatever it contains. `entrance` loads this module only for text
that has one of the words that secrets come with: a hook starts a process for every event.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from kinen.characters import spliced, storable
from kinen.privacy import names
from kinen.privacy.names import Placeholders, class_of, kind_of
from kinen.privacy.shapes import (
    COMMANDS,
    EXPRESSIONS,
    FIRST_MARK,
    PHRASES,
    PLACED,
    call_of,
    compiled,
    token_expression,
)
from kinen.privacy.words import TOKENS, commands_in, lower, token_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Counts = dict[str, int]
    Rows = list[tuple[str, str, str]]
    Span = tuple[int, int, str]

VERSION = 5
"""Increased with every change of a rule: text masked by older rules is masked again on import."""
PASSES = 3
"""How often the rules are applied at most: a mask may reveal a secret beside it."""
NEIGHBOURHOOD = 4_000
"""Characters before and after a mark that are looked at again."""


def mask(text: str) -> tuple[str, Counts]:
    """The text without secrets, and how many of each class were masked."""
    counts: Counts = {}
    text = fold(text)
    rows = _token_rows(text)
    masked = _mask_shapes(_mask_blocks(text, counts), rows, counts)
    changed = masked != text
    text = _mask_named_values(masked, counts)
    joined = _mask_as_read(text, counts)
    if joined != text:
        text = joined
        rows = _token_rows(text)
    if changed:
        text = _mask_uncovered(text, rows, counts)
    return unfold(text), counts


def _mask_uncovered(text: str, rows: Rows, counts: Counts) -> str:
    """Applies the rules again around marks while that masks anything."""
    for _ in range(PASSES - 1):
        text = _mask_blocks(text, counts)
        edits: list[tuple[int, int, str]] = []
        for start, stop in _surroundings(text):
            piece = text[start:stop]
            masked = _mask_shapes(piece, rows, counts)
            if masked != piece:
                masked = _mask_named_values(masked, counts)
                edits.append((start, stop, _mask_as_read(masked, counts)))
        if not edits:
            break
        text = spliced(text, edits)
    return text


def _surroundings(text: str) -> list[tuple[int, int]]:
    """Beginnings and ends of the parts of a text that are near a mark, cut at white space."""
    if len(text) <= 4 * NEIGHBOURHOOD:
        return [(0, len(text))]
    space = compiled(EXPRESSIONS["space"])
    spans: list[tuple[int, int]] = []
    place = 0
    while match := compiled(EXPRESSIONS["mark"]).search(text, place):
        start = max(0, match.start() - NEIGHBOURHOOD)
        start = 1 + max(text.rfind(" ", 0, start), text.rfind("\n", 0, start))
        after = space.search(text, min(len(text), match.end() + NEIGHBOURHOOD))
        place = after.end() if after else len(text)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, place))
    return spans


def evidence(counts: Counts) -> dict[str, object]:
    """What may be stored about a masking: how many secrets, and of which classes."""
    return {"count": sum(counts.values()), "classes": sorted(counts)} if counts else {}


def mask_values(value: object, depth: int = 50) -> tuple[object, Counts]:
    """The same for nested lists and mappings; a key that names a secret masks its value."""
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, (dict, list, tuple)):
        return value, {}
    if not depth:
        return "[too deep]", {}
    counts: Counts = {}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    result = {}
    for key, item in pairs:
        masked, classes = mask_values(item, depth - 1)
        if isinstance(key, str) and isinstance(item, str) and masked == item:
            masked, classes = _mask_named(key, item)
        result[key] = masked
        for name, count in classes.items():
            counts[name] = counts.get(name, 0) + count
    return (result if isinstance(value, dict) else list(result.values())), counts


def _mask_blocks(text: str, counts: Counts) -> str:
    low = lower(text)
    if "private" in low and "<" in low:
        text = mask_private(text, counts)
    if "-----BEGIN" in text and "PRIVATE KEY" in text:
        text = mask_keys(text, counts)
    return text


def _mask_shapes(text: str, rows: Rows, counts: Counts) -> str:
    """Masks text with the shape of a secret, and text in the place of one."""
    text = _mask_tokens(text, rows, counts)
    if "://" in text and "@" in text:
        text = _mask_url_logins(text, counts)
    text = _mask_commands(text, counts)
    low = lower(text)
    if "secret" in low and "kind" in low:
        text = mask_manifests(text, counts)
        low = lower(text)
    if ":5432:" in text or ":*:" in text:
        text = _mask_groups(text, "pgpass", counts)
        low = lower(text)
    if "|" in text and any(word in low for word in _READERS):
        text = _mask_groups(text, "piped", counts)
        low = lower(text)
    for name, word, expression in PHRASES:
        if word in low:
            masked = _mask_phrase(text, low, name, word, expression, counts)
            if masked != text:
                text = masked
                low = lower(text)
    return text


_READERS = ("chpasswd", "sudo -s", "-stdin", "--with-token")
"""Commands that read a password from a pipe."""


def _mask_groups(text: str, name: str, counts: Counts) -> str:
    """Masks the first group of an expression wherever it is a password."""
    edits = [
        (*match.span(1), mark_of(counts, "password"))
        for match in compiled(EXPRESSIONS[name]).finditer(text)
        if not match[1].isalpha() and not names.is_placeholder(match[1])
    ]
    return spliced(text, edits)


def _token_rows(text: str) -> Rows:
    """Class, prefix and expression of the tokens that a text may have. Masking adds none, so one
    look is enough.
    """
    words = token_words(text)
    if not words:
        return []
    return [
        *(
            (name, prefix, token_expression(prefix, body, how))
            for name, prefixes, body, how in TOKENS
            for prefix in prefixes
            if prefix in words
        ),
        *((row[0], "", row[2]) for row in PLACED if any(word in words for word in row[1])),
    ]


def _mask_tokens(text: str, rows: Rows, counts: Counts) -> str:
    placeholders = Placeholders()
    for name, prefix, expression in rows:
        if prefix in text:

            def replace(match: re.Match[str], name: str = name, start: int = len(prefix)) -> str:
                if placeholders[match[1][start:]]:
                    return match[0]
                before = match[0][: match.start(1) - match.start()]
                return f"{before}{mark_of(counts, name)}{match[0][match.end(1) - match.start() :]}"

            text = compiled(expression).sub(replace, text)
    return text


def _mask_phrase(text: str, low: str, name: str, word: str, expression: str, counts: Counts) -> str:
    """Masks the first group of an expression wherever it matches at its word."""
    pattern = compiled(expression)
    placeholders = Placeholders()
    edits: list[tuple[int, int, str]] = []
    place = low.find(word)
    while place >= 0:
        match = pattern.match(text, place)
        if match is None:
            place = low.find(word, place + len(word))
            continue
        secret = match[1]
        prose = name == "bearer" and not any(c.isdigit() or c == "=" for c in secret)
        if name == "cookie":
            secret = secret.partition("=")[2] or secret
            prose = secret.isalpha() and secret.islower()  # `consent=accepted`
        if not prose and not placeholders[secret]:
            edits.append((*match.span(1), mark_of(counts, name)))
        place = low.find(word, match.end())
    return spliced(text, edits)


def _mask_url_logins(text: str, counts: Counts) -> str:
    placeholders = Placeholders()
    edits = [
        (*match.span(1), mark_of(counts, "url_password"))
        for match in compiled(EXPRESSIONS["url_user"]).finditer(text)
        if names.is_random(match[1]) and not placeholders[match[1]]
    ]
    text = spliced(text, edits)
    edits = []
    for match in compiled(EXPRESSIONS["url_login"]).finditer(text):
        rest = match[1]
        length = _password_end(rest)
        if length > 0 and not placeholders[rest[:length]]:
            start = match.start(1)
            edits.append((start, start + length, mark_of(counts, "url_password")))
    return spliced(text, edits)


def _password_end(rest: str) -> int:
    """Where the password ends in what follows `scheme://user:`; 0 if there is no password.

    Passwords with `/`, `#`, `?` or `@` should be escaped and often are not: the last `@` before a
    query counts, unless the first part is a port.
    """
    first = rest.find("@")
    if first < 0:
        return 0
    if rest[0].isdigit() and rest.lstrip("0123456789")[0] in "/?#":
        return 0
    last = first
    if rest.find("@", first + 1) > 0:
        end = len(rest)
        for separator in "?#":
            place = rest.find(separator, first)
            end = place if 0 <= place < end else end
        last = rest.rfind("@", first, end)
        while last > first and rest[last - 1] == "/":
            last = rest.rfind("@", first, last)
    return last if rest[last + 1 : last + 2] not in ("", "/", "@") else 0


def _mask_commands(text: str, counts: Counts) -> str:
    present = commands_in(text)
    for command in COMMANDS if present else ():
        for expression in COMMANDS[command] if command in present else ():
            text = _mask_arguments(text, command, compiled(expression), counts)
    return text


def _mask_arguments(text: str, command: str, pattern: re.Pattern[str], counts: Counts) -> str:
    """Masks the passwords among the arguments of a command, wherever it is called."""
    search = pattern.search
    placeholders = Placeholders()
    edits: list[tuple[int, int, str]] = []
    for call in compiled(call_of(command)).finditer(text):
        place, stop = call.span()
        while match := search(text, place, stop):
            place = match.end()
            group = match.lastindex or 0
            password = match[group].strip("\"'")
            port = ":" in password and password.replace(":", "").isdigit()
            if password and not port and not placeholders[password]:
                start = text.index(password, match.start(group))
                edits.append((start, start + len(password), mark_of(counts, "password")))
    return spliced(text, edits)


def _mask_as_read(text: str, counts: Counts) -> str:
    """Masks secrets that are only seen where escapes are resolved: `token%3D…`, `\\u0026key=…`,
    `password=&quot;…`, colours, and a backslash at the end of a line that cuts a word in two.
    """
    if not compiled(EXPRESSIONS["escape"]).search(text):
        return text

    more: Counts = {}
    views = readable(text)
    whole = _BETWEEN_BLOCKS.join(view.text for view in views)
    whole = _mask_shapes(whole, _token_rows(whole), more)
    masked = _mask_named_values(whole, more).split(_BETWEEN_BLOCKS)
    if not more or len(masked) != len(views):
        return text
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
    edits: list[tuple[int, int, str]] = []
    for view, after in zip(views, masked, strict=True):
        if after != view.text:
            edits += view.edits(after)
    return spliced(text, edits)


_BETWEEN_BLOCKS = "\n\0}\0\n"
"""Between texts that are masked together: no rule looks across this."""


def _mask_named(key: str, value: str) -> tuple[str, Counts]:
    """Masks a value by the name of its key, in a mapping."""
    low = lower(key)
    for word in names.WORDS:
        place = low.find(word)
        kind = names.kind_of(low, place, word) if place >= 0 else ""
        if not kind or value.lower() == low:
            continue
        rest = key[place + len(word) :]
        if names.is_harmless(key[place : place + len(word)], rest):
            continue
        if names.is_quoted_secret(kind, word, value):
            name = names.class_of(kind)
            return spelled(name), {name: 1}
    return value, {}


def _mask_named_values(text: str, counts: Counts) -> str:
    """Masks the values of names: `password = …`, `--token …`, `the password is …`."""
    spans = named_values(text, lower(text))
    if not spans:
        return text
    edits: list[tuple[int, int, str]] = []
    end = 0
    for start, stop, name in sorted(spans):
        if start >= end:
            edits.append((start, stop, mark_of(counts, name)))
            end = stop
    return spliced(text, edits)


_OTHER_CLASSES = ("private_key", "private", "password", "secret", "url_password")
CLASSES: tuple[str, ...] = tuple(
    sorted(
        {
            *(row[0] for row in TOKENS),
            *(row[0] for row in PLACED),
            *(row[0] for row in PHRASES),
            *_OTHER_CLASSES,
        }
    )
)
CHARACTERS = {name: chr(ord(FIRST_MARK) + number) for number, name in enumerate(CLASSES)}
"""What stands for a mark, `[masked:password]`, while rules are applied: the text does not grow, and
the words of a mark do not look like names to the next rule. They are halves of surrogate pairs for
planes that have no characters, so they stand in no valid text, and cannot be stored."""


def spelled(name: str) -> str:
    """The mark of a class as text."""
    return "[private]" if name == "private" else f"[masked:{name}]"


def mark_of(counts: dict[str, int], name: str) -> str:
    """Adds one to the count of a class; returns the character that stands for its mark."""
    counts[name] = counts.get(name, 0) + 1
    return CHARACTERS[name]


def fold(text: str) -> str:
    """The text with a character for each of its marks."""
    if storable(text) != text:
        text = compiled(EXPRESSIONS["mark"]).sub("\ufffd", text)
    if "[masked:" in text or "[private]" in text:
        for name, character in CHARACTERS.items():
            text = text.replace(spelled(name), character)
    return text


def unfold(text: str) -> str:
    """The text with its marks spelled, as they are stored."""
    if not text.isascii():
        for name, character in CHARACTERS.items():
            text = text.replace(character, spelled(name))
    return text


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


LONGEST_ESCAPED = 250_000
"""Characters of lines with escapes that are looked at."""


def readable(text: str) -> list[View]:
    """The lines of a text that have escapes, as they read; lines that continue are one."""
    views: list[View] = []
    left = LONGEST_ESCAPED
    place = 0
    while left > 0 and (match := compiled(EXPRESSIONS["escape"]).search(text, place)):
        start = text.rfind("\n", place, match.start()) + 1 or place
        while start > place and text[start - 2] == "\\":
            start = text.rfind("\n", place, start - 1) + 1 or place
        end = compiled(EXPRESSIONS["continued"]).match(text, match.end(), match.end() + left)
        place = end.end() if end else match.end()
        left -= place - start
        views.append(_view(text, start, place))
    return views


class View:
    """A part of a text with its escapes resolved, and where its characters stand in the text."""

    def __init__(self, text: str, starts: list[int], ends: list[int], gained: list[int]) -> None:
        self.text = text
        self._starts = starts
        self._ends = ends
        self._gained = gained

    def edits(self, masked: str) -> list[tuple[int, int, str]]:
        """What has to be replaced in the text so that it reads like this one with marks."""
        edits: list[tuple[int, int, str]] = []
        mark = compiled(EXPRESSIONS["mark"])
        pieces = mark.split(masked)
        start = len(pieces[0])
        for number, match in enumerate(mark.finditer(masked), 1):
            if number == len(pieces) - 1:
                stop = len(self.text) - len(pieces[number])
            else:
                stop = self.text.index(pieces[number], start + 1)
            first = start + self._gained[bisect_right(self._ends, start)]
            last = stop + self._gained[bisect_left(self._starts, stop)]
            edits.append((first, last, match[0]))
            start = stop + len(pieces[number])
        return edits


def _view(text: str, start: int, stop: int) -> View:
    """A part of a text as it reads, without its escapes."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gained = [start]
    length = 0
    place = start
    for match in compiled(EXPRESSIONS["escape"]).finditer(text, start, stop):
        plain = _meaning(match[0])
        length += match.start() - place
        pieces += (text[place : match.start()], plain)
        starts.append(length)
        length += len(plain)
        ends.append(length)
        place = match.end()
        gained.append(place - length)
    pieces.append(text[place:stop])
    return View("".join(pieces), starts, ends, gained)


_ENTITIES = {"&quot;": '"', "&apos;": "'", "&amp;": "&", "&lt;": "<", "&gt;": ">"}


def _meaning(escape: str) -> str:
    """The character that an escape stands for; none for a colour or a line that goes on."""
    if escape[-1] in "m\n":
        return ""
    if escape[0] == "&":
        digits = escape[2:-1]
        number = int(digits[1:], 16) if digits[0] == "x" else int(digits) if digits.isdigit() else 0
        return _ENTITIES.get(escape) or chr(number)
    return escape[-1] if escape[-1] in "/\"'" else chr(int(escape[-2:], 16))


def named_values(text: str, low: str) -> list[Span]:
    """Beginning, end and class of every value; `low` is the text in lower case."""
    spans: list[Span] = []
    verdicts: dict[str, bool] = {}
    ascii_only = low.isascii()
    match_value = compiled(names.NAMED_VALUE).match
    for word in names.WORDS:
        if (ascii_only and not word.isascii()) or word not in low:
            continue
        end = 0
        place = low.find(word)
        while place >= 0:
            name_end = place + len(word)
            kind = kind_of(low, place, word) if place >= end else ""
            match = match_value(low, name_end) if kind else None
            if match:
                start, stop = match.span(match.lastindex or 0)
                if match.lastgroup == "spoken":
                    stop = start + len(text[start:stop].rstrip(".,:;!?"))
                if _is_secret(text, low, place, kind, match, text[start:stop], verdicts):
                    if stop - start == _LONGEST_START and match.lastgroup in names.WHOLE:
                        whole = compiled(names.WHOLE[match.lastgroup]).match(text, start)
                        stop = whole.end() if whole else stop
                    spans.append((start, stop, class_of(kind)))
                    end = stop
            place = low.find(word, name_end)
    return spans


_REMEMBERED = 120
"""Characters up to which a name with its value is judged once for all its occurrences."""
_LONGEST_START = 64
"""How much of a bare value is judged."""
_BEFORE = 48
"""Characters before a name that say what it is: an option, a variable of a Dockerfile."""


def _is_secret(
    text: str,
    low: str,
    place: int,
    kind: str,
    match: re.Match[str],
    value: str,
    verdicts: dict[str, bool],
) -> bool:
    """Whether a value that follows a name is a secret; each name with its value is judged once.

    Past `JUDGED` of them, every value is a secret whose name is one of a secret.
    """
    start, stop = match.span(match.lastindex or 0)
    spoken = match.lastgroup == "spoken"
    rest_start, name_end = (match.start(), match.start()) if spoken else match.span("rest")
    if low[stop - 1] == low[name_end - 1] and low.endswith(low[start:stop], 0, name_end):
        return False  # `api_key=API_KEY`
    judged = len(verdicts) < names.JUDGED
    blank = not spoken and not match["sign"].strip()
    key_start = max(0, place - _BEFORE) if blank else max(0, place - 1)
    key_end = stop + 1 if judged else name_end
    key = text[key_start:key_end] if key_end <= place + _REMEMBERED else ""
    verdict = verdicts.get(key)
    if verdict is None:
        word = text[place:rest_start]
        verdict = _verdict(text, place, kind, word, match, value, judged)
        if key:
            verdicts[key] = verdict
    return verdict


def _verdict(
    text: str,
    place: int,
    kind: str,
    word: str,
    match: re.Match[str],
    value: str,
    judged: bool,
) -> bool:
    """Whether a value is a secret; one that is not `judged` is, if its name is one of a secret."""
    if match.lastgroup == "spoken":
        if kind in ("short", "general") or (match["whose"] and kind != "password"):
            return False
        if ":" in match["is"] and not match["whose"]:
            return False
        return not judged or names.is_announced_secret(value)
    rest = text[slice(*match.span("rest"))]
    if names.is_harmless(word, rest) or (kind == "general" and rest):
        return False
    if not judged:
        return True
    sign = match["sign"]
    operator = sign.strip()
    if match.lastgroup in names.QUOTED:
        if operator in ("(", ",") or (not operator and not word.isupper()):
            beside = operator != "," or text[match.end("rest") : match.end("rest") + 1] in "\"'"
            return beside and names.is_literal_secret(kind, word, value)
        return names.is_quoted_secret(kind, word, value)
    if operator == ">":
        return names.is_quoted_secret(kind, word, value)
    after = match.end() + len(value)
    before = text[place - 1 : place]
    if not operator and not _is_set(text, place, word):
        return kind == "password" and names.is_spoken_secret(value)
    around = (before, text[after : after + 1])
    return names.is_bare_secret(kind, word + rest, sign, value, around)


def _is_set(text: str, place: int, word: str) -> bool:
    """Whether blanks set a name to what follows: `--token …`, `ENV TOKEN …`, `requirepass …`."""
    before = text[max(0, place - _BEFORE) : place]
    if word in ("requirepass", "masterauth"):
        return not before.rpartition("\n")[2].strip()
    if before and not before[-1].isspace():
        name = before.split()[-1] if before.strip() else ""
        before = before[: len(before) - len(name)]
        if name.startswith("-") and not name.startswith("---") and "=" not in name:
            return True
    return compiled(names.SETTER).search(before) is not None
