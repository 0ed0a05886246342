"""What secrets look like: expressions, compiled when a text needs them.

Every expression takes time linear in the text. Token expressions begin with their literal part and
look behind it afterwards, because `re` finds a literal prefix quickly and nothing else. Repeats are
possessive (`{20,}+`) or bounded. `tests/test_linear_time.py` has a worst case for each of them.
"""

from __future__ import annotations

from kinen.privacy.words import DOTTED, HASHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

FIRST_MARK = "\ud900"
MARKS = f"{FIRST_MARK}-\ud9ff"
"""Characters that stand for marks while rules are applied, for a set in an expression."""

_patterns: dict[str, re.Pattern[str]] = {}


def compiled(expression: str) -> re.Pattern[str]:
    """A compiled expression; `re` is imported for the first."""
    pattern = _patterns.get(expression)
    if pattern is None:
        import re

        pattern = re.compile(expression, re.ASCII)
        _patterns[expression] = pattern
    return pattern


ALPHABETS = {
    "alnum": "A-Za-z0-9",
    "lower": "a-z0-9",
    "upper": "A-Z0-9",
    "hex": "0-9a-fA-F",
    "digit": "0-9",
    "url": "A-Za-z0-9_-",
    "word": "A-Za-z0-9_",
    "b64": "A-Za-z0-9+/",
    "dash": "A-Za-z0-9-",
    "base64": "A-Za-z0-9+/=_-",
}
_DIGITS_IN_BASE64 = "[DTjz][AEIMQUYcgk][w-z0-5]"
"""Three digits, after one of `MNO`: the first part of a bot's token at Discord is a number."""
_DISCORD = (
    rf"([MNO](?<![\w.-][MNO]){_DIGITS_IN_BASE64}(?:[MNO]{_DIGITS_IN_BASE64}){{4,6}}[\w-]{{0,3}}+"
    r"\.[\w-]{6}\.[\w-]{27,}+)"
)
PLACED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("telegram_token", (":AA",), r"(?<![\d:])(\d{8,10}:AA[\w-]{32,33})(?![\w-])"),
    (
        "mailchimp_key",
        tuple(f"-us{n}" for n in range(1, 10)),
        r"(?<![\w-])([0-9a-f]{32}-us[0-9]{1,2})(?!\w)",
    ),
    ("newrelic_key", ("FFFFNRAL",), r"(?<!\w)(\w{32}FFFFNRAL)(?!\w)"),
    ("azure_secret", ("Q~",), r"(?<![\w.~-])([\w.~]{3}[0-9]Q~[\w.~-]{31,34})(?![\w.~-])"),
    ("azure_key", ("+ACR",), r"(?<![\w+/])([A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9]{6})(?!\w)"),
    ("firebase_key", (":APA91b",), r"(?<![\w-])([\w-]{11,22}:APA91b[\w-]{100,}+)"),
    ("terraform_token", (".atlasv1.",), r"(?<!\w)(\w{14}\.atlasv1\.[\w-]{60,}+)"),
    ("maxmind_key", ("_mmk",), r"(?<!\w)([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?!\w)"),
    ("airtable_token", (DOTTED,), r"(pat(?<!\wpat)[A-Za-z0-9]{14}\.[0-9a-f]{64})(?!\w)"),
    (
        "discord_token",
        (DOTTED,),
        _DISCORD,
    ),
    (
        "slack_webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,}+)",
    ),
    ("discord_webhook", ("/api/webhooks/",), r"/api/webhooks/\d{5,25}/([\w-]{20,}+)"),
    ("teams_webhook", ("/IncomingWebhook/",), r"/IncomingWebhook/([0-9a-f]{32})"),
)
"""Class, words, expression: tokens that have no prefix, whose first group is the secret."""


def _guard(head: str, alphabet: str, how: str) -> str:
    """An expression that refuses a prefix just matched where it may be the end of another word.

    A dash is refused within a word (`my-key-…`) and allowed where it begins one: a removed line
    of a diff is `-key-…`, or `--key-…` in a merge. The letter of an escaped newline (`\\nkey-…`)
    is not part of a word either.
    """
    if "own" in how:
        own = "A-Z0-9" if alphabet == "upper" else "A-Za-z0-9"
        return rf"(?:(?<![{own}]{head})|(?<=\\[nrt]{head}))"
    if "word" not in how:
        return ""
    dash = rf"(?<=-{head})(?<![^\s\"'`-]-{head})(?<!\S--{head})"
    return rf"(?:(?<![\w-]{head})|{dash}|(?<=\\[nrt]{head})|(?<=\\[nrt]-{head}))"


_NEEDS = {
    "digit": r"(?=[A-Za-z+/=_.-]{0,80}+[0-9])",
    "mixed": r"(?=[A-Za-z+/=_.-]{0,80}+[0-9])(?=[a-z0-9+/=_.-]{0,80}+[A-Z])",
    "case": r"(?=[a-z0-9_]{0,80}+[A-Z])(?=[A-Z0-9_]{0,80}+[a-z])",
}


def token_expression(prefix: str, body: str, how: str) -> str:
    """The expression for one prefix of a row of `TOKENS`; its first group is the secret."""
    head = prefix.replace(".", r"\.")
    shape = end = ""
    first = ""
    for piece in body.replace("[", "(?>(?:").replace("]", ")?)").replace(".", r"\.").split("{"):
        name, colon, rest = piece.partition(":")
        if not colon or name not in ALPHABETS:
            shape += piece
            continue
        length, _, literal = rest.partition("}")
        first = first or name
        least, _, most = length.partition("-")
        if length.endswith("+"):
            shape += f"[{ALPHABETS[name]}]{{{length[:-1]},}}+{literal}"
            end = "(?!_)" if "word" in how else ""
        else:
            shape += f"[{ALPHABETS[name]}]{{{least},{most or least}}}+{literal}"
            end = "" if ")?)" in literal else rf"(?![\w{ALPHABETS[name]}])"
    needs = "".join(expression for need, expression in _NEEDS.items() if need in how)
    return f"({head}{_guard(head, first, how)}{needs}{shape}){end}"


_TERRAFORM = (
    r"variable\s{1,4}\"(?=[^\"\n]{0,80}?(?:passw|secret|token|key|credential))[\w-]{1,80}+\""
    r"\s{0,4}\{(?>(?:[^{}d]++|d(?!efault\s{0,20}=))*)default\s{0,20}=\s{0,20}\"([^\"\n]{4,}+)\""
)
_NETRC = (
    r"(?i)machine\s{1,9}\S{1,200}+\s{1,9}login\s{1,9}\S{1,200}+"
    r"\s{1,9}password\s{1,9}(\S{1,200}+)"
)

_PUTTY = r"(?i)private-lines: \d{1,3}\s{1,2}((?>(?:[A-Za-z0-9+/=]{1,64}\r?\n?)+))"
_JWK = r"\"kty\"(?>(?:[^{}\"]++|\"(?!d\"|kty\"))*)\"d\"\s{0,4}:\s{0,4}\"([\w-]{20,}+)"
_HASH = (
    r"\$(?:[156y]\$(?:rounds=\d{1,9}\$)?|2[abxy]\$\d\d\$|argon2\w{1,2}\$v=\d{1,3}\$[\w=,]{1,40}\$)"
    r"([\w./+]{1,32}\$[\w./+]{20,}+|[\w./]{53})"
)
_CODES = (
    r"(?i)\w{6,8} codes[^\n]{0,80}\n((?:\s{0,8}(?:\d{1,2}[.)]|[-*])?[ \t]{0,4}(?=[^\n]{0,12}\d)"
    r"[a-z0-9]{4,6}[ -][a-z0-9]{4,6}[ \t]{0,4}(?:\n|\Z)){1,20})"
)
_SEED = (
    r"(?i)(?:seed phrase|recovery phrase|mnemonic)[\"']?\s{0,4}[:=]\s{0,4}"
    r"[\"']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})(?![\w ])"
)
_BASIC = (
    r"(?i)(?:auth|credentials?)\s{0,2}=?\s{0,2}\(\s{0,4}[\"'][^\"'\n]{0,80}[\"']\s{0,2},\s{0,4}"
    r"[\"'](?=[A-Za-z]{0,200}+[^A-Za-z\"'\n])([^\"'\n]{4,200}+)[\"']"
)
_COOKIES = (
    r"(?i)cookies\s{0,4}=\s{0,4}\{\s{0,4}[\"'][\w.-]{1,60}[\"']\s{0,4}:\s{0,4}[\"']([^\"'\n]{16,}+)"
)

_AUTHORIZATION = (
    r"(?i)authorization\\?[\"']?\s{0,4}[:=,]\s{0,4}(?:[bruf]?\\?[\"'])?"
    r"(?:\w++ {1,4}(?:token=)?|key=|(?=[\w.~+/-]{20}))([\w.~+/-]{8,}+={0,2})"
)

PHRASES: tuple[tuple[str, str, str], ...] = (
    ("bearer", "authorization", _AUTHORIZATION),
    ("bearer", "bearer", r"(?i)bearer[ \t]{1,4}([\w.~+/-]{16,}+={0,2})"),
    (
        "cookie",
        "cookie",
        r"(?i)cookie\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?([\w.-]{1,60}=[^\r\n\"']{8,}+)",
    ),
    ("cookie", "cookies", _COOKIES),
    (
        "zapier_webhook",
        "hooks.zapier.com",
        r"(?i)hooks\.zapier\.com/hooks/catch/([\w/]{12,}+)",
    ),
    ("cookie", "sessid=", r"(?i)sessid=([\w,-]{16,}+)"),
    ("cookie", "jsessionid=", r"(?i)jsessionid=([\w.!-]{16,}+)"),
    ("cookie", "connect.sid=", r"(?i)connect\.sid=([\w%.:-]{16,}+)"),
    ("azure_key", "accountkey=", r"(?i)accountkey=([A-Za-z0-9+/]{30,}+={0,2})"),
    ("azure_key", "sharedaccesskey=", r"(?i)sharedaccesskey=([A-Za-z0-9+/]{30,}+={0,2})"),
    ("signature", "sig=", r"(?i)(?<=[?&])sig=([A-Za-z0-9%+/_-]{20,}+={0,2})"),
    (
        "signature",
        "x-amz-signature=",
        r"(?i)(?<=[?&])x-amz-signature=([A-Za-z0-9%+/_-]{20,}+={0,2})",
    ),
    (
        "discord_token",
        "discord",
        r"(?i)discord[^\n]{0,80}?(?<![\w.-])([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+)(?!\.)",
    ),
    ("password", "machine", _NETRC),
    (
        "password",
        "identified ",
        r"(?i)identified (?:with \w{1,40} )?by\s{1,4}[\"']([^\"'\n]{4,200}+)[\"']",
    ),
    ("password", "<password>", r"(?i)<password>([^<>\s]{4,200}+)</password>"),
    (
        "password",
        "securestring",
        r"(?i)securestring\s{1,4}(?:-string\s{1,4})?[\"']([^\"'$\n]{4,200}+)[\"']",
    ),
    ("password", "auth=(", _BASIC),
    ("password", "auth = (", _BASIC),
    ("password", "auth(", _BASIC),
    ("password", "credential(", _BASIC),
    ("password", "credentials(", _BASIC),
    *(("password_hash", word, _HASH) for word in HASHES),
    ("private_key", "private-lines:", _PUTTY),
    ("private_key", '"kty"', _JWK),
    ("secret", "variable", _TERRAFORM),
    ("secret", "recovery codes", _CODES),
    ("secret", "backup codes", _CODES),
    ("secret", "scratch codes", _CODES),
    ("secret", "seed phrase", _SEED),
    ("secret", "recovery phrase", _SEED),
    ("secret", "mnemonic", _SEED),
)
"""Class, the word in lower case with which the expression begins, expression."""

_WORD = rf"[\"']?([^\s\"'{MARKS}]{{1,200}}+)"
_VALUE = rf"[\"']?([^\s\"'{MARKS}-][^\s\"'{MARKS}]{{0,200}}+)"
_QUOTED_VALUE = r"(?:\"([^\"\n]{1,200}+)\"|'([^'\n]{1,200}+)')"
_MYSQL = rf"-p(?<=\s-p)([^\s\"'={MARKS}-][^\s{MARKS}]{{0,100}}+)"
_USER = rf"[ =]?[\"']?[^\s:\"'-][^\s:\"']{{0,200}}+:([^\s\"'{MARKS}]{{1,200}}+)"
_STORE = rf"-(?:src|dest|new)?(?:store|key)pass\s{{1,4}}{_VALUE}"
_LOGIN = rf"-(?<=\s-)(?:u|-user){_USER}"


def _option(name: str) -> str:
    """An expression for the value of an option that stands by itself: `-p …`."""
    return rf"-{name}(?<=\s-{name})\s{{1,4}}{_VALUE}"


COMMANDS: dict[str, tuple[str, ...]] = {
    "mysql": (_MYSQL, rf"-p(?<=\s-p){_QUOTED_VALUE}", rf"\spassword\s{{1,4}}{_VALUE}"),
    "mariadb": (_MYSQL,),
    "curl": (
        _LOGIN,
        rf"-(?<=\s-)u[ ]?[\"']?:([^\s\"'{MARKS}]{{1,200}}+)",
        r"-(?<=\s-)(?:b|-cookie)[ =][\"']?([\w.-]{1,60}=[^\"'\s][^\"'\n]{7,}+)",
    ),
    "wget": (_LOGIN, rf"--(?:http-|ftp-|proxy-)?password(?:=|\s{{1,4}}){_VALUE}"),
    "http -a": (rf"-a(?<=\s-a){_USER}",),
    "http --auth": (rf"--auth{_USER}",),
    "https --auth": (rf"--auth{_USER}",),
    "net use": (rf"\s([^\s/\\:*\"'{MARKS}][^\s\"'{MARKS}]{{3,100}}+)\s{{1,4}}/user:",),
    "keytool": (_STORE,),
    "jarsigner": (_STORE,),
    "rclone": (rf"\spass(?:word)?(?:=|\s{{1,4}}){_VALUE}",),
    "sshpass": (rf"-p(?<=\s-p)\s{{0,4}}{_WORD}",),
    "plink": (_option("pw"),),
    "pscp": (_option("pw"),),
    "redis-cli": (_option("a"),),
    " login": (_option("p"),),
    "mongo": (_option("p"),),
    "cqlsh": (_option("p"),),
    "twine": (_option("p"),),
    "useradd": (_option("p"),),
    "usermod": (_option("p"),),
    "sqlcmd": (_option("P"),),
    "bcp ": (_option("P"),),
    "zip -P": (_option("P"),),
    "ldap": (_option("w"),),
    "ssh-keygen": (_option("N"),),
    "snmp": (_option("c"),),
    "7z": (rf"-p(?<=\s-p){_WORD}",),
    "openssl": (rf"pass:(?<=\spass:){_WORD}", rf"-[kK](?<=\s-[kK])\s{{1,4}}{_VALUE}"),
    "lftp": (rf"-u(?<=\s-u)\s{{1,4}}[\"']?[^\s,\"']{{1,100}}+,{_WORD}",),
    "smbclient": (rf"-U(?<=\s-U)\s{{1,4}}[\"']?[^\s%\"']{{1,100}}+%{_WORD}",),
    "xfreerdp": (rf"/p:(?<=\s/p:){_WORD}",),
    "sqlplus": (rf"\s[\w$]{{1,60}}+/([^\s@/\"'{MARKS}]{{1,100}}+)@",),
    "rabbitmqctl": (rf"(?:add_user|change_password)\s{{1,4}}\S{{1,100}}+\s{{1,4}}{_VALUE}",),
    "creds": (rf"creds[= ][\"']?[^\s:\"']{{1,100}}+:([^\s\"'{MARKS}]{{1,200}}+)",),
    "gh secret": (rf"-(?<=\s-)(?:b|-body)[ =]{_VALUE}",),
    "create secret": (rf"--from-literal[= ][\"']?[\w.-]{{1,100}}+=([^\s\"'{MARKS}]{{1,200}}+)",),
    "htpasswd": (
        r"-(?<=\s-)(?=[A-Za-z]{0,6}b)[A-Za-z]{1,13}+[ \t]++[^\s>&]++(?:[ \t]++([^\s>&]++))+",
    ),
}
"""Name of a command, expressions for its arguments whose last group is a password, perhaps in
quotes."""


def call_of(command: str) -> str:
    """An expression for a command with its arguments, up to the end of the line or a pipe."""
    return command + r"(?>(?:[^\n|;&\\]++|&(?!&)|\\[\s\S])*)"


EXPRESSIONS: dict[str, str] = {
    "private_tag": r"(?i)<\s{0,8}+(/?)\s{0,8}+private(?=[\s/>])[^<>]{0,500}+>",
    "key_begin": r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "key_end": r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "key_text": r"(?>(?:[\sA-Za-z0-9+/=:,-]++|\\[nr])*)",
    "url_login": r"://[^\s:/?#@\"'<>`]{0,100}+:((?>(?:[^\s\"'<>`:]++|:(?!//))+))",
    "continued": r"(?>(?:[^\n]*+(?<=\\)\n)*)[^\n]*+",
    "escape": (
        r"[%\\&\x1b](?:(?<=%)(?:25){0,3}(?:0[9AaDd]|2[0-9A-Ca-cFf]|3[A-Fa-f]|40|5[B-Eb-e]|7[B-Eb-e])"
        r"|(?<=\\)(?:\n(?<=\S\\\n)(?=\S)|(?:x1[Bb]|033|u001[Bb]|e)\[[0-9;]{0,20}m"
        r"|(?:u00|x)[2-7][0-9A-Fa-f]|\\{0,2}/|\\{1,6}[\"'])|(?<=\x1b)\[[0-9;]{0,20}m"
        r"|(?<=&)(?:quot|apos|amp|lt|gt|#[0-9]{2,3}|#x[0-9A-Fa-f]{2});)"
    ),
    "url_user": (r"https?://([\w.~+=-]{20,200}+)(?=(?::[\w-]{0,20}+)?@(?![\w.-]{0,80}sentry))"),
    "pgpass": (
        r"(?m)^[^\s:#]{1,200}+:(?:[0-9]{2,5}|\*):[^\s:]{1,100}+:[^\s:]{1,100}+:([^\s:]{4,200}+)$"
    ),
    "piped": (
        rf"(?:echo|printf)[ \t]{{1,4}}(?:-n[ \t]{{1,4}})?[\"']?(?:[\w.-]{{1,60}}+:)?"
        rf"([^\s\"'|$`{MARKS}][^\s\"'|{MARKS}]{{3,200}}+)[\"']?[ \t]{{0,4}}\|[ \t]{{0,4}}"
        r"(?:sudo[ \t]{1,4}-S|(?:sudo[ \t]{1,4})?chpasswd|[^\n|]{0,100}(?:-stdin|--with-token))"
    ),
    "manifest": r"(?m)[\"']?kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?Secret[\"']?(?=\s|[,}\]]|\Z)",
    "data": r"(?m)^([+-]?[ \t]{0,80})(?:data|stringData):[ \t]{0,8}\r?$",
    "entry": (
        rf"([+-]?[ \t]{{0,80}})[\"']?[\w./-]{{1,250}}+[\"']?:[ \t]{{0,8}}[\"']?"
        rf"([^\s\"'{MARKS}][^\n\"'{MARKS}]*+)?[\"']?\r?(?:\n|\Z)"
    ),
    "object": r"\"(?:data|stringData)\"\s{0,8}:\s{0,8}\{([^{}]*+)\}",
    "member": rf":\s{{0,8}}\"([^\"\\{MARKS}]{{4,}}+)\"",
    "mark": f"[{MARKS}]",
    "space": r"\s",
}
"""Everything else that masking compiles, by name."""
