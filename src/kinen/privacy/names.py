"""Names of secrets (`password = …`, `API_KEY=…`), and how to tell a secret from code."""

from __future__ import annotations

from kinen.privacy.shapes import MARKS, compiled
from kinen.privacy.words import FOLLOWED

PASSWORDS: dict[str, tuple[str, ...]] = {
    "English": ("password", "passwd", "passphrase", "passcode", "pwd"),
    "German": ("passwort", "kennwort"),
    "French": ("mot de passe", "mot_de_passe"),
    "Spanish, Catalan": ("contraseña", "contrasena", "contrasenya"),
    "Portuguese": ("senha", "palavra-passe"),
    "Italian, Romanian, Turkish": ("parola d'ordine", "parola", "parolă"),
    "Dutch": ("wachtwoord",),
    "Polish": ("hasło",),
    "Czech, Slovak": ("heslo",),
    "Swedish": ("lösenordet", "lösenord"),
    "Danish": ("adgangskoden", "adgangskode"),
    "Norwegian": ("passordet", "passord"),
    "Finnish": ("salasana",),
    "Hungarian": ("jelszó",),
    "Turkish": ("şifre",),
    "Croatian, Serbian, Slovenian": ("lozinka", "geslo", "лозинка"),
    "Russian, Ukrainian, Bulgarian": ("пароль", "парола"),
    "Greek": ("κωδικός",),
    "Vietnamese": ("mật khẩu",),
    "Indonesian, Malay": ("kata sandi", "kata laluan"),
    "Japanese": ("パスワード", "暗証番号"),
    "Chinese": ("密码", "密碼", "口令"),
    "Korean": ("비밀번호", "암호"),
    "Arabic, Persian": ("كلمة المرور", "كلمة السر", "رمز عبور"),
    "Hebrew": ("סיסמה", "סיסמא"),
    "Hindi": ("पासवर्ड",),
    "Thai": ("รหัสผ่าน",),
}
"""Words for a password, in lower case."""
WORDS: dict[str, str] = {
    **{word: "password" for words in PASSWORDS.values() for word in words},
    **dict.fromkeys(("dbpass", "db_pass", "rediscli_auth"), "password"),
    **dict.fromkeys(("secret", "token", "credential", "key"), "secret"),
    **dict.fromkeys(("pass", "pw", "psk", "requirepass", "masterauth"), "short"),
    **dict.fromkeys(("pat", "auth", "salt"), "general"),
}
"""Words for a secret. `short` ones also mean something else, so that the value has to look like a
password; `general` ones mostly do, so that it has to be random."""
_BEFORE_PASS = ("store", "admin", "smtp", "user", "root", "mail", "key", "db", "require")
"""What may stand before `pass` in one word."""
_BEFORE_KEY = (
    *("api", "access", "private", "auth", "encryption", "signing", "master", "subscription"),
    *("preshared", "app", "client", "secret", "server"),
)
"""Keys that are secrets. Any other key has to be random, and none of these:"""
_HARMLESS_KEYS = (
    *("public", "pub", "publishable", "cache", "primary", "foreign", "sort", "partition", "object"),
    *("idempotency", "row", "hash", "group", "site", "host", "s3", "range", "unique", "storage"),
    *("routing", "range", "index", "map", "dedup", "deduplication", "restore", "lookup", "image"),
)
NAME = (
    r"(?P<word>passw(?:or)?[dt]|passphrase|pwd|secret|token|credential"
    r"|(?:api|access|private|auth|encryption|signing|master)[_-]?key)(?P<rest>[\w-]{0,40}+)"
)
"""A name with a word for a secret in it, from that word on. Matched in lower case."""

# Spelled out, because `re` looks a character up in a table only if a set has no class in it.
_SPACES = r" \t\n\r\f\v"
_ENDS = rf"{_SPACES}\"'`\\<>,;&(){{}}\[\]{MARKS}"
_QUOTE = r"[bruf]?\\?[\"'`]"


def _quoted(name: str, quote: str) -> str:
    plain = rf"[^{quote}\\\r\n]*+"
    return rf"[bruf]?{quote}(?![{MARKS}])(?=\S{{4}})(?P<{name}>{plain}(?>(?:\\[^\r\n]{plain})*))"


_QUOTED = "|".join((_quoted("double", '"'), _quoted("single", "'"), _quoted("backtick", "`")))
_ESCAPED = rf"\\[\"'`](?![{MARKS}])(?=\S{{4}})(?P<escaped>[^\"'`\\\r\n]*+)"
_BARE = f"[^{_ENDS}]"
# Only after `=` alone does a value end at `&`, as in a query.
_LOOSE = _BARE.replace("&", "")
_BARE_START = f"(?P<bare>{_BARE}{{6,64}}+)"
_LOOSE_START = f"(?P<loose>{_LOOSE}{{6,64}}+)"


_ANY_VALUE = (
    rf"(?={_QUOTED}|{_ESCAPED}|(?![$%])(?={_BARE}{{6}})(?(tight){_BARE_START}|{_LOOSE_START}))"
)
"""An expression that sees a value from before it: there may be names in it. A quoted value has four
characters, a bare one six."""
_ANNOTATION = r"(?::\s{0,4}[a-z][\w.\[\]|? ]{0,40}?\s{0,4}(?==[ \t]{0,8}[^\s=]))?"
_SIGN = (
    rf"(?P<sign>(?>(?P<tight>=)(?!\s|={{1,2}}+\s{{0,8}}+{_QUOTE})|\s{{0,8}}+{_ANNOTATION}"
    rf"(?:={{2,3}}+\s{{0,8}}+(?={_QUOTE})|(?::=|=>|=|[:：])\s{{0,8}}+)"
    r"|,?\s{1,40}+\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}|>(?=[^<>\s]{4,200}+</)"
    rf"|(?:\(|\s{{0,4}},\s{{0,4}})(?={_QUOTE})"
    rf"|[ \t]{{1,4}}+(?={_QUOTE}|[^{_ENDS}0-9]{{0,64}}+[0-9])))"
)
"""What stands between a name and its value: `=`, `:`, `" value="`, `>`, `(`, `", "`, blanks."""
_ASSIGNED = rf"\\?[\"'\]]{{0,3}}+{_SIGN}{_ANY_VALUE}"
_WHOSE = (
    r"(?P<whose>\s{1,4}(?:for|of|on|für|von|vom|zum|zur|der|des|pour|du|de|del|para|do|da)"
    r"(?:\s{1,4}[^\s\"'`=:.,;]{1,30}+){1,3}?)?"
)
_IS = (
    r"(?P<is>\s{1,4}(?:is|was|to|lautet|ist|war|auf|est|sera|es|era|será|é|foi|è|är|er|on|je|este)\s{1,4}"
    r"|\s{0,4}(?:[—–是为は는은]|это)\s{0,4}|\s?:\s{1,4})"
)
_SPOKEN = rf"[^{_SPACES}\"'`«»„“”「」<>(){{}}\[\]{MARKS}]"
_ANNOUNCED = (
    rf"{_WHOSE}{_IS}(?:«\s?|[\"'`„“「]?)"
    rf"(?=[^{_SPACES}\"'`0-9]{{0,64}}+[0-9])(?=[^{_SPACES}\"'`a-z]{{0,64}}+[a-z])"
    rf"(?=(?P<spoken>{_SPOKEN}{{6,64}}+))"
)
NAMED_VALUE = rf"(?P<rest>[\w-]{{0,40}}+){_ASSIGNED}|{_ANNOUNCED}"
"""What follows a word for a secret, up to the value: ` = …`, ` for the server is …`."""
WHOLE = {"bare": f"{_BARE}++", "loose": f"{_LOOSE}++", "spoken": f"{_SPOKEN}++"}
"""Expressions for a whole value, of which `NAMED_VALUE` only sees the beginning."""
QUOTED = frozenset({"double", "single", "backtick", "escaped"})
"""Groups of `NAMED_VALUE` for a value in quotes."""
INTERPOLATED = r"\{[A-Za-z_][\w.:!]{0,60}\}|\$\{|%\(\w{1,40}\)s|#\{|\{\{"
PLACEHOLDER = (
    r"(?i)[$%<]|\{[\w.]*+\}|\{\{|\[masked|\[private|your|my_|env[.:]|file:|fd:|\(\(|secrets\."
    r"|process\.env|os\.(?:environ|getenv)"
    r"|(?:none|null|nil|true|false|undefined|string|str|int|bool|required|optional|hidden|invalid"
    r"|incorrect|missing|changeme|example|placeholder|redacted|masked|password|passwd|secret|token"
    r"|bytes|text|varchar|number|object|any|self|value|unknown|default|disabled|enabled"
    r"|[0-9]{1,5})\Z"
)
SAMPLE = r"(?i)example|x{6}|1234567890|abcdefgh|your[_-]|[_-]here\b|replace[_-]?me|insert[_-]"
OMITTED = f"[…{MARKS}]"
# A dotted name, a YAML tag, alias or SQL parameter, a path.
CODE = r"[A-Za-z_]\w*+(?>(?:\.[A-Za-z_]\w*+)+):?\Z|[!*:@&][A-Za-z_][\w.]*+\Z|(?:\.{0,2}|~)/"
NAMES_OF_CODE = (
    r"_{0,2}[a-z]{1,20}(?:_[a-z]{0,20}\d{0,3})+|[a-z]+(?:[A-Z][a-z]+)+\d{0,2}"
    r"|(?:[A-Z]+[a-z]+){2,}\d{0,2}|[A-Z]{1,2}[a-z]{2,8}\d{1,3}"
)
LAST_HUMP = r"[A-Z]?[a-z0-9]*+\Z"
HUMPS = r"[A-Z]{0,4}[a-z]{2,}(?>(?:[A-Z]{1,4}[a-z]{2,})*)[A-Z]{0,4}"
RANDOM = r"[A-Za-z0-9]{12,}+"
UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
SETTER = r"(?:^|\s)(?:ENV|ARG|env|set|setenv|SetEnv|config|configure|export)\s+\Z"
EXPRESSIONS = (
    NAME,
    NAMED_VALUE,
    *WHOLE.values(),
    INTERPOLATED,
    PLACEHOLDER,
    SAMPLE,
    OMITTED,
    CODE,
    NAMES_OF_CODE,
    LAST_HUMP,
    HUMPS,
    RANDOM,
    UUID,
    SETTER,
)
"""Every expression of this module."""

HARMLESS = frozenset(
    "name names id ids count counts type types url uri path file files field fields length len"
    " limit limits expiry expires expiration ttl at in size max min budget usage policy hash hint"
    " reset label env var header prefix regex pattern arn version endpoint input prompt strength"
    " required enabled manager store ref class error errors provider service mode format index"
    " window cost price s second used left rate kind position offset ized izer ize ization"
    " validator rotation scope scopes list map dict set status state message text stdin seconds"
    " encoder algorithm algo dir".split()
)
"""Endings of names that are about a secret and do not hold one: `token_count`, `passwordField`."""
_ALGORITHMS = tuple(
    "argon2 sha md5 bcrypt scrypt pbkdf2 rs256 hs256 es256 aes base64 base32 utf8 utf-8 x509"
    " ed25519 rsa hmac".split()
)


JUDGED = 10_000
"""How many different values of one kind are judged in a text. All others are masked unseen: judging
takes time, and a text with more of them is neither prose nor code."""


def kind_of(low: str, place: int, word: str) -> str:
    """The kind of a word for a secret at a place of a text in lower case; empty if it is none."""
    kind = WORDS[word]
    if kind == "password" or (kind == "secret" and word != "key"):
        return kind
    before = low[max(0, place - 16) : place]
    after = low[place + len(word) : place + len(word) + 2]
    if word == "key":
        if "a" <= after[:1] <= "z" and not low.startswith("data", place + 3):
            return ""
        name = before.rstrip("_- ")
        if name.endswith(_BEFORE_KEY):
            return kind
        part = before[-1:].isalnum() or before[-1:] in ("_", "-")
        query = before[-1:] in ("?", "&") and after[:1] == "="
        return "general" if query or (part and not name.endswith(_HARMLESS_KEYS)) else ""
    if word in ("requirepass", "masterauth"):
        return kind
    if word in ("psk", "salt"):
        fits = not after[:1].isalnum() and (word == "psk" or before[-1:] == "_")
        return kind if fits and not before[-1:].isalnum() else ""
    if word == "pat" and before[-1:] != "_":
        return ""
    if before[-1:].isalnum() and not (word == "pass" and before.endswith(_BEFORE_PASS)):
        return ""
    blank = after[:1] == " " and word == "pass" and before.endswith(("store", "key", "_"))
    return kind if blank or after.startswith(FOLLOWED) else ""


def class_of(kind: str) -> str:
    """The class under which a secret of this kind is counted."""
    return "password" if kind in ("password", "short") else "secret"


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret: `$TOKEN`, `<your-key>`, `xxxx`."""
    start = value[:200]
    if compiled(PLACEHOLDER).match(start) or compiled(SAMPLE).search(start):
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


def is_random(value: str) -> bool:
    """Whether a value consists of random characters, as no word, path or UUID does."""
    value = value[:200]
    piece = compiled(RANDOM).search(value)
    if len(value) < 20 or piece is None or compiled(UUID).fullmatch(value):
        return False
    if "://" in value or ("/" in value and "." in value[-6:]):
        return False
    letters = piece[0]
    if letters.isalpha():
        return _is_random_letters(letters)
    digits = sum(map(str.isdigit, letters))
    return digits < len(letters) and (digits > 1 or _has_many_capitals(letters))


def _is_random_letters(value: str) -> bool:
    """Whether letters are in upper and lower case without the order of a name in code."""
    if len(value) < 8 or not value.isalpha() or not _has_many_capitals(value):
        return False
    return compiled(HUMPS).fullmatch(value) is None


def _has_many_capitals(value: str) -> bool:
    """Whether a text in both cases has more capitals than a name in code."""
    return not value.isupper() and sum(map(str.isupper, value)) >= 0.28 * len(value)


def is_strong(value: str) -> bool:
    """Whether a value looks like a password: letters, digits, and both cases or signs."""
    if len(value) < 8 or value.isalpha() or not any(map(str.isdigit, value)):
        return False
    if value.lower().startswith(_ALGORITHMS) or compiled(NAMES_OF_CODE).fullmatch(value):
        return False
    cases = value.upper() != value != value.lower()
    signs = any(c in "!#$%^&*+~?@" for c in value) and value.upper() != value.lower()
    return (cases or signs) and "/" not in value and ".." not in value


def is_quoted_secret(kind: str, word: str, value: str) -> bool:
    """Whether a quoted value of a name is a secret."""
    if " " in value:
        return word.lower() == "passphrase" and not is_placeholder(value)
    if kind in ("short", "general"):
        return (is_strong if kind == "short" else is_random)(value) and not is_placeholder(value)
    if len(value) < (4 if kind == "password" else 8):
        return False
    if kind == "secret" and _is_letters(value) and not is_random(value):
        return False
    interpolated = ("{" in value or "%" in value) and compiled(INTERPOLATED).search(value)
    return not interpolated and not is_placeholder(value)


def is_literal_secret(kind: str, word: str, value: str) -> bool:
    """The same for a value that stands beside a name, as in a call: `("password", "…")`."""
    if kind != "password":
        return is_random(value) and not is_placeholder(value)
    if not is_quoted_secret(kind, word, value) or compiled(NAME).search(value.lower()):
        return False
    return not (_is_letters(value) or _is_path(value) or compiled(NAMES_OF_CODE).fullmatch(value))


def _is_letters(value: str) -> bool:
    """Whether a value consists of letters and the punctuation of names."""
    if value.isalnum():
        return value.isalpha()
    return value.replace("_", "").replace("-", "").replace(".", "").isalpha()


def is_bare_secret(kind: str, name: str, sign: str, value: str, around: tuple[str, str]) -> bool:
    """Whether an unquoted value is a secret, and not code, a type or a placeholder.

    `sign` is what stands between name and value, `around` what stands before the name and after the
    value. The value has six characters or more.
    """
    before, after = around
    if "\n" in sign and "value" not in sign and after not in ("", "\r", "\n"):
        return False
    if before == ":" and sign == ":":
        return False  # a part of `arn:aws:secretsmanager:eu-west-1:1:secret:…`
    variable = sign == "=" and name.isupper()
    if kind == "general":
        return is_random(value) and not is_placeholder(value)
    if _is_letters(value):
        # Bare letters are a value in an environment file or a connection string, a name in code.
        setting = variable or (before == ";" and sign == "=")
        if after in ("(", "[", "."):
            return False
        if kind != "password" or not (setting or _is_random_letters(value)):
            return False
        return not is_placeholder(value)
    if kind != "password" and not any(c.isdigit() for c in value):
        return False
    if kind == "short" and not is_strong(value):
        return False
    if _is_code(kind, value, sign.strip(), after) if not variable else _is_path(value):
        return False
    return not is_placeholder(value)


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "../", "~/")) and not is_random(value)


def _is_code(kind: str, value: str, operator: str, after: str) -> bool:
    """Whether a value reads like an expression: `config.token2`, `get_token2(`, `!vault`."""
    if compiled(CODE).match(value) or "://" in value or "::" in value:
        random = max(map(len, value.split("."))) >= 20 and is_random(value)
        return not random or compiled(NAME).search(value.lower()) is not None
    plain = value.rstrip(":")
    if not plain.isidentifier():
        call = after in ("(", "[") and plain.replace(".", "").isidentifier()
        arrow = after == ">" and value[-1] == "-"
        return call or arrow or (operator == ":" and value.isdigit())
    if after in ("(", "[") or compiled(NAME).search(plain.lower()):
        return True
    if kind in ("password", "short") and "_" not in plain:
        return False
    return compiled(NAMES_OF_CODE).fullmatch(plain) is not None


def is_spoken_secret(value: str) -> bool:
    """Whether a word after "password" is the password, and not a word of the sentence."""
    return (
        is_strong(value) and not _is_code("password", value, "", "") and not is_placeholder(value)
    )


def is_announced_secret(value: str) -> bool:
    """Whether a word after "the password is" is the password, and not a word of the sentence."""
    if len(value) < 6 or value.lower().startswith(_ALGORITHMS):
        return False
    return not is_placeholder(value)
