"""Takes secrets out of text before it reaches the disk, and leaves everything else as it was.

The time is linear in the text, whatever it holds. Most text has none of the words that secrets
come with, and for such a text not even `re` is imported: a hook starts a process for every event.
"""

from __future__ import annotations

from kinen import secret_names as names
from kinen.secret_names import class_of, is_placeholder
from kinen.secret_shapes import COMMANDS, EXPRESSIONS, PHRASES, TOKENS, compiled
from kinen.secret_values import named_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Found = dict[str, int]

CLASSES = tuple(
    sorted(
        {
            *(row[0] for row in (*TOKENS, *PHRASES)),
            *("private_key", "private", "password", "secret", "url_password"),
        }
    )
)
VERSION = 3
"""Raised with every change of a rule: what older rules masked is masked again on import."""
PASSES = 3
"""How often the rules are applied at most: a mask may uncover a secret beside it."""
LONGEST_KEY = 32_768
"""Characters between the first and the last line of a private key."""


def mask(text: str) -> tuple[str, Found]:
    """The text without secrets, and how many of each class were masked."""
    found: Found = {}
    for number in range(PASSES):
        masked = _mask_blocks_and_shapes(text, found)
        changed = masked != text
        if not changed and number:
            break  # the rules for names saw this text already
        text = _mask_named_values(masked, found)
        if "\\\n" in text:
            text = _mask_continued(text, found)
        if not changed:
            break
    return text, found


def evidence(found: Found) -> dict[str, object]:
    """What may be stored about a masking: how many secrets, and of which classes."""
    return {"count": sum(found.values()), "classes": sorted(found)} if found else {}


def mask_values(value: object, depth: int = 50) -> tuple[object, Found]:
    """The same for nested lists and mappings; a key that names a secret masks its value."""
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, (dict, list, tuple)):
        return value, {}
    if not depth:
        return "[too deep]", {}
    found: Found = {}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    result = {}
    for key, item in pairs:
        masked, classes = mask_values(item, depth - 1)
        if isinstance(key, str) and isinstance(item, str) and masked == item:
            masked, classes = _mask_named(key, item)
        result[key] = masked
        for name, count in classes.items():
            found[name] = found.get(name, 0) + count
    return (result if isinstance(value, dict) else list(result.values())), found


def lower(text: str) -> str:
    """The text in lower case and of the same length, so that places in it are the same."""
    # U+0130 is the one character whose lower case is two.
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def _mask_blocks_and_shapes(text: str, found: Found) -> str:
    low = lower(text)
    if "private" in low and "<" in low:
        text = _mask_private(text, found)
    if "-----BEGIN" in text and "PRIVATE KEY" in text:
        text = _mask_keys(text, found)
    return _mask_shapes(text, found)


def _mask_shapes(text: str, found: Found) -> str:
    """Masks what looks like a secret, or stands where one stands."""
    text = _mask_tokens(text, found)
    if "://" in text and "@" in text:
        text = _mask_url_logins(text, found)
    text = _mask_commands(text, found)
    low = lower(text)
    for name, word, expression in PHRASES:
        if word in low:
            text = _mask_phrase(text, low, name, word, expression, found)
            low = lower(text)
    return text


def _count(found: Found, name: str) -> str:
    """Counts one more of a class; returns the mark that stands for it."""
    found[name] = found.get(name, 0) + 1
    return f"[masked:{name}]"


def _mask_tokens(text: str, found: Found) -> str:
    for name, words, expression in TOKENS:
        if any(word in text for word in words):

            def replace(match: re.Match[str], name: str = name) -> str:
                if is_placeholder(match[1]):
                    return match[0]
                start = match.start(1) - match.start()
                end = match.end(1) - match.start()
                return f"{match[0][:start]}{_count(found, name)}{match[0][end:]}"

            text = compiled(expression).sub(replace, text)
    return text


def _mask_phrase(text: str, low: str, name: str, word: str, expression: str, found: Found) -> str:
    """Masks the first group of an expression wherever it matches at its word."""
    pattern = compiled(expression)
    pieces: list[str] = []
    end = 0
    place = low.find(word)
    while place >= 0:
        match = pattern.match(text, place)
        if match is None:
            place = low.find(word, place + len(word))
            continue
        secret = match[1]
        prose = name == "bearer" and not any(c.isdigit() or c == "=" for c in secret)
        if not prose and not is_placeholder(secret):
            pieces.append(text[end : match.start(1)])
            pieces.append(_count(found, name))
            end = match.end(1)
        place = low.find(word, match.end())
    return "".join(pieces) + text[end:]


def _mask_url_logins(text: str, found: Found) -> str:
    def replace(match: re.Match[str]) -> str:
        rest = match[1]
        end = _password_end(rest)
        if end <= 0 or is_placeholder(rest[:end]):
            return match[0]
        start = match.start(1) - match.start()
        return f"{match[0][:start]}{_count(found, 'url_password')}{rest[end:]}"

    return compiled(EXPRESSIONS["url_login"]).sub(replace, text)


def _password_end(rest: str) -> int:
    """Where the password ends in what follows `scheme://user:`; 0 if that is no password.

    Passwords with `/`, `#`, `?` or `@` should be escaped and often are not: the last `@` before a
    query counts, unless the first part is a port.
    """
    first = rest.find("@")
    if first < 0:
        return 0
    port = len(rest) - len(rest.lstrip("0123456789"))
    if port and rest[port] in "/?#":
        return 0
    end = len(rest)
    for sign in "?#":
        place = rest.find(sign, first)
        end = place if 0 <= place < end else end
    last = rest.rfind("@", first, end)
    while last > first and rest[last - 1] == "/":
        last = rest.rfind("@", first, last)
    return last if rest[last + 1 : last + 2] not in ("", "/", "@") else 0


def _mask_commands(text: str, found: Found) -> str:
    for command, expression in COMMANDS:
        place = text.find(command)
        if place < 0:
            continue
        line = compiled(EXPRESSIONS["arguments"])
        arguments = compiled(expression)
        placeholders: dict[str, bool] = {}
        pieces: list[str] = []
        end = 0
        while place >= 0:
            match = line.match(text, place)
            stop = match.end() if match else place + len(command)
            for match in arguments.finditer(text, place, stop):
                start, secret = _last_word(match)
                known = placeholders.get(secret)
                if known is None:
                    known = not secret or is_placeholder(secret)
                    placeholders[secret] = known
                if not known:
                    pieces.append(text[end:start])
                    pieces.append(_count(found, "password"))
                    end = start + len(secret)
            place = text.find(command, max(stop, place + 1))
        text = "".join(pieces) + text[end:]
    return text


def _last_word(match: re.Match[str]) -> tuple[int, str]:
    """The last word of a command's arguments without its quotes, and where it begins."""
    word = match[1]
    start = match.start(1)
    if " " in word or "\t" in word:
        last = word.split()[-1]
        start += word.rindex(last)
        word = last
    if word.isalnum():
        return start, word
    bare = word.lstrip("\"'")
    return start + len(word) - len(bare), bare.rstrip("\"'")


def _mask_continued(text: str, found: Found) -> str:
    """Masks secrets that a backslash at the end of a line cuts in two."""
    lines = text.split("\n")
    result: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end + 1 < len(lines) and lines[end].endswith("\\"):
            end += 1
        block = lines[start : end + 1]
        if end > start and any(map(_is_tight, block, block[1:])):
            block = _mask_joined(block, found)
        result += block
        start = end + 1
    return "\n".join(result)


def _is_tight(line: str, following: str) -> bool:
    """Whether a word goes on over the end of a line."""
    return len(line) > 1 and not line[-2].isspace() and following[:1].strip() != ""


def _mask_joined(lines: list[str], found: Found) -> list[str]:
    joined = "".join([*(line[:-1] for line in lines[:-1]), lines[-1]])
    more: Found = {}
    masked = _mask_named_values(_mask_shapes(joined, more), more)
    if masked == joined:
        return lines
    for name, count in more.items():
        found[name] = found.get(name, 0) + count
    return [masked]


def _mask_named(key: str, value: str) -> tuple[str, Found]:
    """Masks a value by the name of its key, in a mapping."""
    low = lower(key)
    if not any(stem in low for stem in names.STEMS):
        return value, {}
    for match in compiled(names.NAME).finditer(low):
        word = key[match.start("word") : match.end("word")]
        rest = key[match.start("rest") : match.end("rest")]
        if names.is_harmless(word, rest) or value.lower() == low:
            continue
        if names.is_quoted_secret(word, value):
            found: Found = {}
            return _count(found, class_of(word)), found
    return value, {}


def _mask_named_values(text: str, found: Found) -> str:
    """Masks the values of names: `password = …`, `--token …`, `the password is …`."""
    low = lower(text)
    if not any(stem in low for stem in names.STEMS):
        return text
    spans = named_values(text, low)
    if not spans:
        return text
    pieces: list[str] = []
    end = 0
    for start, stop, name in sorted(spans):
        if start >= end:
            pieces.append(text[end:start])
            pieces.append(_count(found, name))
            end = stop
    return "".join(pieces) + text[end:]


def _mask_private(text: str, found: Found) -> str:
    """Masks what stands between `<private>` and its end, or the end of the text.

    A tag in backticks is one that somebody talks about.
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
                pieces.append(text[end : tag.start()] + "[private]")
                found["private"] = found.get("private", 0) + 1
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    return "".join(pieces) + ("" if depth else text[end:])


def _mask_keys(text: str, found: Found) -> str:
    """Masks private keys from their first line to their last, or as far as key text goes."""
    begins = [match.span() for match in compiled(EXPRESSIONS["key_begin"]).finditer(text)]
    ends = [match.end() for match in compiled(EXPRESSIONS["key_end"]).finditer(text)]
    pieces: list[str] = []
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
        pieces.append(text[end:start])
        pieces.append(_count(found, "private_key"))
        end = stop
    return "".join(pieces) + text[end:]
