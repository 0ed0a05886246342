"""Names of secrets (`password = …`, `API_KEY=…`), and how to tell a secret from code."""

from __future__ import annotations

from kinen.privacy.shapes import MARKS, compiled

_PASSWORD = (
    r"passw(?:or)?[dt]|passphrase|pwd|kennwort|mot[ _]de[ _]passe|contrase[ñn]a|senha"  # noqa: S105
    r"|wachtwoord|hasło"
)
_OTHER = (
    r"secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|encryption[_-]?key"
    r"|signing[_-]?key|master[_-]?key|client[_-]?key[_-]?data|credential"
)
_WORD = rf"(?P<word>(?P<password>{_PASSWORD})|{_OTHER})"
_REST = r"(?P<rest>[\w-]{0,40}+)"
NAME = _WORD + _REST
"""A name with a word for a secret in it, from that word on. Matched in lower case."""

# Spelled out, because `re` looks a character up in a table only if a set has no class in it.
_SPACES = r" \t\n\r\f\v"
_ENDS = rf"{_SPACES}\"'`\\<>,;&(){{}}\[\]{MARKS}"
_QUOTE = r"[bruf]?\\?[\"'`]"


def _quoted(name: str, quote: str) -> str:
    plain = rf"[^{quote}\\\r\n]*+"
    return rf"[bruf]?{quote}(?![{MARKS}])(?=\S{{4}})(?P<{name}>{plain}(?:\\[^\r\n]{plain})*+)"


_QUOTED = "|".join((_quoted("double", '"'), _quoted("single", "'"), _quoted("backtick", "`")))
_ESCAPED = rf"\\[\"'`](?![{MARKS}])(?=\S{{4}})(?P<escaped>[^\"'`\\\r\n]*+)"
_BARE = f"[^{_ENDS}]"
# Only after `=` alone does a value end at `&`, as in a query.
_LOOSE = _BARE.replace("&", "")
BARE = _BARE + "{6,}+"
LOOSE = _LOOSE + "{6,}+"
_BARE_START = f"(?P<bare>{_BARE}{{6,64}}+)"
_LOOSE_START = f"(?P<loose>{_LOOSE}{{6,64}}+)"


def _value(bare: str) -> str:
    """An expression that sees a value from before it: there may be names in it.

    `re` decides here what cannot be a secret, so that few places of any text are looked at in
    Python: a quoted value has four characters, a bare one six, with a digit unless the name is
    one of a password.
    """
    digit = rf"(?(password)|(?=[^{_ENDS}0-9]{{0,64}}+[0-9]))"
    return rf"(?={_QUOTED}|{_ESCAPED}|{digit}(?![$%])(?={_BARE}{{6}}){bare})"


_ANNOTATION = r"(?::\s{0,4}[a-z][\w.\[\]|? ]{0,40}?\s{0,4}(?==[^=]))?"
_SIGN = (
    rf"(?P<sign>(?>(?P<tight>=)(?!\s|={{1,2}}+\s{{0,8}}+{_QUOTE})|\s{{0,8}}+{_ANNOTATION}"
    rf"(?:={{2,3}}+\s{{0,8}}+(?={_QUOTE})|(?::=|=>|=|[:：])\s{{0,8}}+)))"
)
_ASSIGNED = rf"\\?[\"'\]]{{0,3}}+{_SIGN}" + _value(f"(?(tight){_BARE_START}|{_LOOSE_START})")
_WHOSE = (
    r"(?:\s{1,4}(?:for|of|on|für|von|vom|zum|zur|der|des|pour|du|de|del|para|do|da)"
    r"(?:\s{1,4}[^\s\"'`=:.,;]{1,30}+){1,3}?)?"
)
_IS = r"(?:is|was|to|lautet|ist|war|auf|est|sera|es|era|será|é|foi|è)"
_ANNOUNCED = (
    rf"(?=\s)(?(password){_WHOSE})\s{{1,4}}{_IS}\s{{1,4}}(?:«\s?|[\"'`„“]?)"
    rf"(?=[^{_SPACES}\"'`0-9]*+[0-9])(?=[^{_SPACES}\"'`a-z]*+[a-z])"
    rf"(?=(?P<spoken>[^{_SPACES}\"'`«»„“”<>(){{}}\[\]{MARKS}]{{6,}}+))"
)
NAMED_VALUE = f"{_WORD}(?:{_REST}{_ASSIGNED}|{_ANNOUNCED})"
"""A name and where its value stands: `password = …`, `the password is …`."""
FLAG = rf"--(?<!\w--)(?<!\S---)[\w-]{{0,40}}?{NAME}(?P<sign>[ \t]{{1,4}}+){_value(_LOOSE_START)}"
"""The same for an option: `--token …`."""
QUOTED = frozenset({"double", "single", "backtick", "escaped"})
"""Groups of `NAMED_VALUE` and `FLAG` for a value in quotes."""
INTERPOLATED = r"\{[A-Za-z_][\w.:!]{0,60}\}|\$\{|%\(\w{1,40}\)s|#\{|\{\{"
PLACEHOLDER = (
    r"(?i)[$%<]|\{[\w.]*+\}|\{\{|\[masked|\[private|your|my_|env\.|secrets\."
    r"|process\.env|os\.(?:environ|getenv)"
    r"|(?:none|null|nil|true|false|undefined|string|str|int|bool|required|optional|hidden|invalid"
    r"|incorrect|missing|changeme|example|placeholder|redacted|masked|password|passwd|secret|token"
    r"|bytes|text|varchar|number|object|any|self|value|unknown|default|disabled|enabled"
    r"|[0-9]{1,5})\Z"
)
OMITTED = f"[…{MARKS}]"
# A dotted name, a YAML tag, alias or SQL parameter, a path.
CODE = r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++:?\Z|[!*:@&][A-Za-z_][\w.]*+\Z|(?:\.{0,2}|~)/"
NAMES_OF_CODE = (
    r"_{0,2}[a-z]{1,20}(?:_[a-z]{0,20}\d{0,3})+|[a-z]+(?:[A-Z][a-z]+)+\d{0,2}"
    r"|(?:[A-Z]+[a-z]+){2,}\d{0,2}|[A-Z]{1,2}[a-z]{2,8}\d{1,3}"
)
LAST_HUMP = r"[A-Z]?[a-z0-9]*+\Z"
EXPRESSIONS = (
    NAME,
    NAMED_VALUE,
    FLAG,
    BARE,
    LOOSE,
    INTERPOLATED,
    PLACEHOLDER,
    OMITTED,
    CODE,
    NAMES_OF_CODE,
    LAST_HUMP,
)
"""Every expression of this module."""

HARMLESS = frozenset(
    "name names id ids count counts type types url uri path file files field fields length len"
    " limit limits expiry expires expiration ttl at in size max min budget usage policy hash hint"
    " reset label env var header prefix regex pattern arn version endpoint input prompt strength"
    " required enabled manager store ref class error errors provider service mode format index"
    " window cost price s second used left rate kind position offset ized izer ize ization"
    " validator rotation scope scopes list map dict set status state message text stdin seconds"
    " encoder".split()
)
"""Endings of names that are about a secret and do not hold one: `token_count`, `passwordField`."""
_PASSWORDS = ("pass", "pwd", "kennwort", "mot", "contrase", "senha", "wachtwoord", "hasło")
_ALGORITHMS = tuple(
    "argon2 sha md5 bcrypt scrypt pbkdf2 rs256 hs256 es256 aes base64 base32 utf8 utf-8 x509"
    " ed25519 rsa hmac".split()
)


JUDGED = 10_000
"""How many different values of one kind are judged in a text. All others are masked unseen: judging
takes time, and a text with more of them is neither prose nor code."""


def class_of(word: str) -> str:
    """The class under which a secret with this name is counted."""
    return "password" if word.lower().startswith(_PASSWORDS) else "secret"


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret: `$TOKEN`, `<your-key>`, `xxxx`."""
    start = value[:200]
    if compiled(PLACEHOLDER).match(start):
        return True
    if "..." in start or "[masked:" in start:
        return True
    if not start.isascii() and compiled(OMITTED).search(start):
        return True
    # Most values have many different characters at their beginning, which is checked quickly.
    return len(set(start[:12])) <= 6 and len(set(start.lower().strip("\"'"))) <= 2


class Placeholders(dict[str, bool]):
    """Which values of a text are placeholders: each is judged once, `JUDGED` of them at most.

    A value beyond that is a placeholder only if it has a mark in it.
    """

    def __missing__(self, value: str) -> bool:
        if len(self) < JUDGED:
            verdict = is_placeholder(value)
            self[value] = verdict
            return verdict
        return not value.isascii() and compiled(OMITTED).search(value) is not None


def is_harmless(word: str, rest: str) -> bool:
    """Whether a name is about a secret (`token_count`, `passwordField`) and does not hold one."""
    if not rest:
        return False
    last = rest.replace("-", "_").strip("_").rpartition("_")[2]
    if last.lower() in HARMLESS:
        return True
    if rest[0].isupper():
        hump = compiled(LAST_HUMP).search(last)
        return hump is not None and hump[0].lower() in HARMLESS
    return rest[0].islower() and word[-1].islower()


def is_quoted_secret(word: str, value: str) -> bool:
    """Whether a quoted value of a name is a secret."""
    if " " in value:
        return word.lower() == "passphrase" and not is_placeholder(value)
    password = word.lower().startswith(_PASSWORDS)
    if len(value) < (4 if password else 8):
        return False
    if not password and _is_letters(value):
        return False
    interpolated = ("{" in value or "%" in value) and compiled(INTERPOLATED).search(value)
    return not interpolated and not is_placeholder(value)


def _is_letters(value: str) -> bool:
    """Whether a value consists of letters and the punctuation of names."""
    if value.isalnum():
        return value.isalpha()
    return value.replace("_", "").replace("-", "").replace(".", "").isalpha()


def is_bare_secret(word: str, rest: str, sign: str, value: str, after: str) -> bool:
    """Whether an unquoted value is a secret, and not code, a type or a placeholder.

    `sign` is what stands between name and value, `after` the character that follows the value.
    The value has six characters or more.
    """
    operator = sign.strip()
    if "\n" in sign and after not in ("", "\r", "\n"):
        return False
    variable = sign == "=" and (word + rest).isupper()
    if _is_letters(value):
        # Bare letters are a value in an environment file and a name in code.
        return variable and class_of(word) == "password" and not is_placeholder(value)
    if not variable and _is_code(word, value, operator, after):
        return False
    return not is_placeholder(value)


def _is_code(word: str, value: str, operator: str, after: str) -> bool:
    """Whether a value reads like an expression: `config.token2`, `get_token2(`, `!vault`."""
    if compiled(CODE).match(value) or "://" in value or "::" in value:
        return True
    plain = value.rstrip(":")
    if not plain.isidentifier():
        call = after in ("(", "[") and plain.replace(".", "").isidentifier()
        arrow = after == ">" and value[-1] == "-"
        return call or arrow or (operator == ":" and value.isdigit())
    if after in ("(", "[") or compiled(NAME).search(plain.lower()):
        return True
    if class_of(word) == "password" and "_" not in plain:
        return False
    return compiled(NAMES_OF_CODE).fullmatch(plain) is not None


def is_announced_secret(value: str) -> bool:
    """Whether a word after "the password is" is the password, and not a word of the sentence."""
    if len(value) < 6 or value.lower().startswith(_ALGORITHMS):
        return False
    return not is_placeholder(value)
