"""Takes secrets out of text before it reaches the disk, and leaves everything else as it was.

Most text has none of the words that secrets come with, and then nothing is even imported: a
hook starts a process for every event.
"""

from __future__ import annotations

from kinen.secret_shapes import (
    ASSIGNED,
    HARMLESS,
    NAME,
    NAMES,
    PHRASES,
    SAID,
    STEMS,
    TOKENS,
    WORDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

CLASSES = tuple(
    sorted(
        {rule[0] for rule in (*TOKENS, *PHRASES)} | {"private_key", "private", "password", "secret"}
    )
)

VERSION = 1
"""Raised with every rule: what was masked by older ones is masked again on import."""
SHORTEST = 20
"""No token is a shorter word than this."""

_made: dict[str, re.Pattern[str]] = {}


def mask(text: str) -> tuple[str, dict[str, int]]:
    """The text without secrets, and how many of each class were masked."""
    found: dict[str, int] = {}
    low = text.lower()
    # What is left may join into something that only now looks like a secret.
    while True:
        again = _masked(text, low, found)
        if again == text:
            return text, found
        text, low = again, again.lower()


def _masked(text: str, low: str, found: dict[str, int]) -> str:
    if "<private" in low:
        text = _without_private(text, found)
    if "private key" in low and "-----begin" in low:
        text = _without_keys(text, found)
    words = low.split()
    long = ""
    if max(map(len, words), default=0) >= SHORTEST:
        long = " ".join([word for word in words if len(word) >= SHORTEST])
    for rules, where in ((TOKENS, long), (PHRASES, low)):
        for name, telling, expression in rules if where else ():
            for word in telling:
                if word in where and (word != "://" or "@" in where):
                    text = _sub(expression, _replacer(name, found), text)
                    break
    if any(stem in low for stem in STEMS) and any(name in low for name in NAMES):
        text = _without_assigned(text, found)
    return text


def evidence(found: dict[str, int]) -> dict[str, object]:
    """What may be kept of a masking: how many, and of which classes."""
    return {"count": sum(found.values()), "classes": sorted(found)} if found else {}


def mask_values(value: object, depth: int = 50) -> tuple[object, dict[str, int]]:
    """The same through nested lists and mappings; a key that names a secret tells of its value."""
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, (dict, list, tuple)):
        return value, {}
    if not depth:
        return "[too deep]", {}
    found: dict[str, int] = {}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    made = {}
    for key, one in pairs:
        made[key], masked = mask_values(one, depth - 1)
        if isinstance(key, str) and isinstance(one, str) and made[key] == one:
            made[key], masked = _named(key, one)
        _add(found, masked)
    return (made if isinstance(value, dict) else list(made.values())), found


def _named(key: str, value: str) -> tuple[str, dict[str, int]]:
    low = key.lower()
    if not any(word in low for word in NAMES):
        return value, {}
    match = _compiled(rf"(?i)(?P<word>{NAME})(?P<rest>[\w-]{{0,40}})$").search(key)
    if not match or not _is_secret(match["word"], match["rest"], '"', ":", value, key):
        return value, {}
    name = _class_of(match["word"])
    return f"[masked:{name}]", {name: 1}


def _add(found: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        found[name] = found.get(name, 0) + count


def _compiled(expression: str) -> re.Pattern[str]:
    if expression not in _made:
        import re

        _made[expression] = re.compile(expression, re.ASCII)
    return _made[expression]


def _sub(expression: str, replace: Callable[[re.Match[str]], str], text: str) -> str:
    return _compiled(expression).sub(replace, text)


def _replacer(name: str, found: dict[str, int]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        secret = match[1]
        word = name == "bearer" and not any(one.isdigit() or one == "=" for one in secret)
        if word or _is_placeholder(secret):
            return match[0]
        _add(found, {name: 1})
        at = match.start(1) - match.start()
        return f"{match[0][:at]}[masked:{name}]{match[0][at + len(secret) :]}"

    return replace


def _without_assigned(text: str, found: dict[str, int]) -> str:
    """What a name that tells of a secret is given, or is said to be, goes."""
    low = text.lower()
    if len(low) != len(text):  # some letters are two in lower case
        low = "".join(one.lower() if one.isascii() else one for one in text)
    assigned, said = _compiled(ASSIGNED), _compiled(SAID)
    kept, at = [], 0
    for spot in sorted(_spots(low)):
        if spot < at:
            continue
        match, value = assigned.match(text, spot), ""
        if match:
            before = text[max(0, spot - 40) : spot]
            name = before + match["word"] + match["rest"]
            start = match.start("inner" if match["inner"] else "value")
            given = match["inner"] or match["value"]
            parts = (match["word"], match["rest"], match["quote"] or "", match["sign"])
            value = given if _is_secret(*parts, given, name) else ""
        if not value:
            match = said.match(text, spot)
            start = match.start("value") if match else 0
            given = match["value"].rstrip(".,:!?") if match else ""
            value = "" if _is_placeholder(given) else given
        if match and value:
            kind = _class_of(match["word"])
            _add(found, {kind: 1})
            kept.append(f"{text[at:start]}[masked:{kind}]")
            at = start + len(value)
    return "".join(kept) + text[at:]


def _spots(low: str) -> set[int]:
    """Where a name that tells of a secret stands."""
    spots = set()
    for word in NAMES:
        at = low.find(word)
        while at >= 0:
            spots.add(at)
            at = low.find(word, at + 1)
    return spots


def _class_of(word: str) -> str:
    return "password" if word.lower().startswith(("pass", "pwd")) else "secret"


def _is_secret(word: str, rest: str, quote: str, sign: str, value: str, name: str) -> bool:
    """Is what a name is given the secret itself, and not code, a type or a placeholder?"""
    tail = rest.lower().replace("-", "_").strip("_")
    if tail and (tail in HARMLESS or tail.endswith(tuple("_" + one for one in HARMLESS))):
        return False
    if rest[:1].isupper() and rest.lower().endswith(HARMLESS):
        return False
    if rest[:1].islower() and word[-1:].islower():
        return False  # tokenize, secretary, passwords
    if _is_placeholder(value) or value.lower() in name.lower().rsplit(None, 1)[-1:]:
        return False
    flag = not sign.strip(" \t")
    if flag and not _is_flag(name):
        return False
    password = _class_of(word) == "password"
    digits = any(one.isdigit() for one in value)
    plain = value.replace("_", "").replace("-", "").replace(".", "").isalpha()
    if " " in value:
        return word.lower() == "passphrase"
    if quote:
        return len(value) >= (4 if password else 8) and (password or not plain)
    if not plain:
        return len(value) >= 6 and (digits or password) and not _is_code(value, sign)
    # Bare letters are a value in an environment file and a name in code.
    tight = sign.strip() == sign and sign == "="
    return tight and password and len(value) >= 6 and (word + rest).isupper()


def _is_flag(name: str) -> bool:
    """Does a name end as an option of a command does: `--db-password`?"""
    last = name.rsplit(maxsplit=1)[-1] if name.split() else ""
    return last.startswith("--")


def _is_code(value: str, sign: str) -> bool:
    """Does it read like an expression: `config.token2`, `settings.API_KEY1`, `a/b/c.py`?"""
    pieces = value.split(".")
    dotted = len(pieces) > 1 and all(one.isidentifier() for one in pieces)
    return (
        dotted
        or value.startswith(("/", "./", "../", "~/", "http://", "https://"))
        or (sign.strip() == ":" and value.isdigit())
    )


def _is_placeholder(value: str) -> bool:
    low = value.lower()
    if low.startswith(
        (
            "$",
            "%",
            "{{",
            "<",
            "[masked",
            "[private",
            "your",
            "my_",
            "env.",
            "secrets.",
            "process.env",
            "os.environ",
            "os.getenv",
        )
    ):
        return True
    if low in WORDS or "[masked:" in low or "..." in low or "…" in low:
        return True
    return len(set(low.strip("\"'"))) <= 2 or (low.isdigit() and len(low) < 6)


def _without_private(text: str, found: dict[str, int]) -> str:
    """Everything between `<private>` and its end, or the end of the text, goes."""
    kept, depth, at = [], 0, 0
    for tag in _compiled(r"(?i)<(/?)private\s{0,4}>").finditer(text):
        if not tag[1]:
            if not depth:
                kept.append(text[at : tag.start()] + "[private]")
                _add(found, {"private": 1})
            depth += 1
        elif depth:
            depth -= 1
            at = tag.end() if not depth else at
    return "".join(kept) + ("" if depth else text[at:])


def _without_keys(text: str, found: dict[str, int]) -> str:
    """Private key blocks go from their first line to their last, or as far as key text runs."""
    kept, at = [], 0
    begin = _compiled(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
    end = _compiled(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
    run = _compiled(r"(?:\\[nr]|[\sA-Za-z0-9+/=:,-])*")
    last = [one.end() for one in end.finditer(text)]
    for match in begin.finditer(text):
        if match.start() < at:
            continue
        while last and last[0] <= match.end():
            last.pop(0)
        stop = last[0] if last else run.match(text, match.end()).end()  # type: ignore[union-attr]
        kept.append(text[at : match.start()] + "[masked:private_key]")
        _add(found, {"private_key": 1})
        at = stop
    return "".join(kept) + text[at:]
