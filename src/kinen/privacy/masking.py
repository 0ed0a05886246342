"""Removes secrets from text before it is stored, and changes nothing else.

The time is linear in the text, whatever it contains. `entrance` loads this module only for text
that has one of the words that secrets come with: a hook starts a process for every event.
"""

from __future__ import annotations

from kinen.characters import spliced
from kinen.privacy import names
from kinen.privacy.marks import fold, mark_of, spelled, unfold
from kinen.privacy.names import Placeholders
from kinen.privacy.shapes import (
    COMMANDS,
    EXPRESSIONS,
    PHRASES,
    PLACED,
    call_of,
    compiled,
    token_expression,
)
from kinen.privacy.values import named_values
from kinen.privacy.words import TOKENS, commands_in, lower, token_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Counts = dict[str, int]
    Rows = list[tuple[str, str, str]]

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
        from kinen.privacy.blocks import mask_private

        text = mask_private(text, counts)
    if "-----BEGIN" in text and "PRIVATE KEY" in text:
        from kinen.privacy.blocks import mask_keys

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
        from kinen.privacy.blocks import mask_manifests

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
    from kinen.privacy.escapes import readable

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
