"""What secrets look like: words that they come with, and expressions, compiled when needed.

Hooks load this module to look for the words. Most texts have none of them, and then neither the
rules nor `re` are imported.

Every expression takes time linear in the text. Token expressions begin with their literal part and
look behind it afterwards, because `re` finds a literal prefix quickly and nothing else. Repeats are
possessive (`{20,}+`) or bounded. `tests/test_linear_time.py` has a worst case for each of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

FIRST_MARK = "\ud900"
MARKS = f"{FIRST_MARK}-\ud97f"
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


def _guard(head: str, before: str = r"\w-") -> str:
    """An expression that refuses a `head` just matched if it continues a longer word.

    A dash is refused within a word (`my-ghp_…`) and allowed where it begins one: a removed line
    of a diff is `-ghp_…`, or `--ghp_…` in a merge. The letter of an escaped newline (`\\nghp_…`)
    is not part of a word either.
    """
    dash = rf"(?<=-{head})(?<![^\s\"'`-]-{head})(?<!\S--{head})"
    return rf"(?:(?<![{before}]{head})|{dash}|(?<=\\[nrt]{head})|(?<=\\[nrt]-{head}))"


def _token(head: str, body: str, tail: str = "", before: str = r"\w-") -> str:
    """An expression for a token that begins with `head` and does not continue a longer word."""
    return f"({head}{_guard(head, before)}{body}){tail}"


def token_expression(shape: str | tuple[str, ...]) -> str:
    """The expression of a row of `TOKENS`, whose first group is the secret."""
    return shape if isinstance(shape, str) else _token(*shape)


_MIXED = r"(?=[A-Za-z_-]*+[0-9])(?=[a-z0-9_-]*+[A-Z])"
_END = r"(?![A-Za-z0-9_])"

TOKENS: tuple[tuple[str, tuple[str, ...], str | tuple[str, ...]], ...] = (
    (
        "aws_access_key",
        ("AKIA", "ASIA"),
        ("A(?:KI|SI)A", "[A-Z0-9]{16}", "(?![A-Za-z0-9])", "A-Za-z0-9"),
    ),
    (
        "github_token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        ("gh[pousr]_", "[A-Za-z0-9]{30,}+"),
    ),
    ("github_token", ("github_pat_",), ("github_pat_", r"\w{20,}+")),
    (
        "gitlab_token",
        ("glpat-", "glptt-", "glrt-", "glcbt-", "gldt-", "glsoat-", "glft-"),
        ("gl", r"(?:pat|ptt|rt|cbt|dt|soat|ft)-[\w-]{20,}+"),
    ),
    ("slack_token", ("xox",), ("xox[abeoprs]-", "[A-Za-z0-9-]{10,}+")),
    ("slack_token", ("xapp-",), ("xapp-", "[A-Za-z0-9-]{10,}+")),
    (
        "slack_webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/([\w/+-]{20,}+)",
    ),
    (
        "stripe_key",
        ("k_live_", "k_test_"),
        ("[sr]k_", "(?:live|test)_[A-Za-z0-9]{16,}+", "(?!_)"),
    ),
    ("webhook_secret", ("whsec_",), ("whsec_", "[A-Za-z0-9+/=]{20,}+")),
    ("anthropic_key", ("sk-ant-",), ("sk-ant-", r"[\w-]{20,}+")),
    ("openai_key", ("sk-",), ("sk-", r"(?!ant-)" + _MIXED + r"[\w-]{20,}+")),
    ("google_api_key", ("AIza",), ("AIza", r"[\w-]{35}", r"(?![\w-])", "A-Za-z0-9")),
    ("google_oauth", ("ya29.",), (r"ya29\.", r"[\w-]{20,}+")),
    ("google_oauth", ("GOCSPX-",), ("GOCSPX-", r"[\w-]{20,}+")),
    ("npm_token", ("npm_",), ("npm_", "[A-Za-z0-9]{36}", _END)),
    ("pypi_token", ("pypi-",), ("pypi-", _MIXED + r"[\w-]{40,}+")),
    ("sendgrid_key", ("SG.",), (r"SG\.", r"[\w-]{16,}+\.[\w-]{16,}+")),
    ("twilio_key", ("SK",), ("SK", "[0-9a-f]{32}", _END)),
    ("mailgun_key", ("key-",), ("key-", "[0-9a-f]{32}", _END)),
    (
        "digitalocean_token",
        ("doo_v1_", "dop_v1_", "dor_v1_"),
        ("do[opr]_v1_", "[a-f0-9]{64}", _END),
    ),
    ("huggingface_token", ("hf_",), ("hf_", _MIXED + "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("databricks_token", ("dapi",), ("dapi", "[a-f0-9]{32}")),
    ("discord_webhook", ("/api/webhooks/",), r"/api/webhooks/\d{5,25}/([\w-]{20,}+)"),
    (
        "discord_token",
        ("discord", "Discord", "DISCORD"),
        ("[MNO]", r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+", r"(?!\.)", r"\w.-"),
    ),
    ("telegram_token", (":AA",), r"(?:(?<![\w:])|(?<=\\[nrt]))(\d{8,10}:AA[\w-]{32,33})(?![\w-])"),
    (
        "shopify_token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        ("shp", "(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", _END),
    ),
    ("square_token", ("sq0",), ("sq0(?:at|cs|id)p-", r"[\w-]{22,}+")),
    ("linear_key", ("lin_api_",), ("lin_api_", "[A-Za-z0-9]{30,}+", "(?!_)")),
    (
        "notion_token",
        ("secret_",),
        ("secret_", r"(?=[A-Za-z]*+\d)[A-Za-z0-9]{40,}+", "(?!_)"),
    ),
    ("notion_token", ("ntn_",), ("ntn_", r"(?=[A-Za-z]*+\d)[A-Za-z0-9]{40,}+", "(?!_)")),
    ("vault_token", ("hvs.", "hvb.", "hvr."), (r"hv[sbr]\.", r"[\w-]{20,}+")),
    (
        "doppler_token",
        ("dp.",),
        (r"dp\.", r"(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}+", "", r"\w.-"),
    ),
    ("postman_key", ("PMAK-",), ("PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}", _END)),
    ("atlassian_token", ("ATATT3",), ("ATATT3", "[\\w=-]{20,}+")),
    ("grafana_token", ("glsa_",), ("glsa_", "[A-Za-z0-9]{32}_[a-f0-9]{8}", _END)),
    ("sentry_token", ("sntry",), ("sntry[su]_", r"[\w+/=-]{20,}+")),
    ("docker_token", ("dckr_pat_",), ("dckr_pat_", r"[\w-]{20,}+")),
    ("groq_key", ("gsk_",), ("gsk_", "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("xai_key", ("xai-",), ("xai-", _MIXED + "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("nvidia_key", ("nvapi-",), ("nvapi-", r"[\w-]{30,}+")),
    ("supabase_key", ("sbp_",), ("sbp_", "[a-f0-9]{40}")),
    ("supabase_key", ("sb_secret_",), ("sb_secret_", r"[\w-]{20,}+")),
    ("age_key", ("AGE-SECRET-KEY-1",), ("AGE-SECRET-KEY-1", "[0-9A-Z]{50,}+")),
    ("rubygems_key", ("rubygems_",), ("rubygems_", "[a-f0-9]{48}", _END)),
    (
        "jwt",
        ("eyJ",),
        ("eyJ", r"[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?", "", r"\w.-"),
    ),
)
"""Class, words of which one must be in the text, and the shape: an expression, or the arguments of
`_token`, which is not called before a text has one of the words."""

_TERRAFORM = (
    r"variable\s{1,4}\"(?=[^\"\n]{0,80}?(?:passw|secret|token|key|credential))[\w-]{1,80}+\""
    r"\s{0,4}\{(?:[^{}d]|d(?!efault\s{0,20}=))*+default\s{0,20}=\s{0,20}\"([^\"\n]{4,}+)\""
)
_NETRC = (
    r"(?i)machine\s{1,9}\S{1,200}+\s{1,9}login\s{1,9}\S{1,200}+"
    r"\s{1,9}password\s{1,9}(\S{1,200}+)"
)

PHRASES: tuple[tuple[str, str, str], ...] = (
    (
        "bearer",
        "authorization",
        r"(?i)authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?\w++ {1,4}([\w.~+/-]{8,}+={0,2})",
    ),
    ("bearer", "bearer", r"(?i)bearer[ \t]{1,4}([\w.~+/-]{16,}+={0,2})"),
    (
        "cookie",
        "cookie",
        r"(?i)cookie\\?[\"']?\s{0,4}:\s{0,4}\\?[\"']?([\w.-]{1,60}=[^\r\n\"']{8,}+)",
    ),
    ("azure_key", "accountkey=", r"(?i)accountkey=([A-Za-z0-9+/]{30,}+={0,2})"),
    ("azure_key", "sharedaccesskey=", r"(?i)sharedaccesskey=([A-Za-z0-9+/]{30,}+={0,2})"),
    ("signature", "sig=", r"(?i)(?<=[?&])sig=([A-Za-z0-9%+/_-]{20,}+={0,2})"),
    (
        "signature",
        "x-amz-signature=",
        r"(?i)(?<=[?&])x-amz-signature=([A-Za-z0-9%+/_-]{20,}+={0,2})",
    ),
    ("password", "machine", _NETRC),
    ("password", "identified by", r"(?i)identified by\s{1,4}[\"']([^\"'\n]{4,200}+)[\"']"),
    ("password", "<password>", r"(?i)<password>([^<>\s]{4,200}+)</password>"),
    ("secret", "variable", _TERRAFORM),
)
"""Class, the word in lower case with which the expression begins, expression."""

_WORD = rf"[\"']?([^\s\"'{MARKS}]{{1,200}}+)"
_VALUE = rf"[\"']?([^\s\"'{MARKS}-][^\s\"'{MARKS}]{{0,200}}+)"
_MYSQL = rf"-p(?<=\s-p)([^\s\"'={MARKS}-][^\s{MARKS}]{{0,100}}+)"
_CURL = rf"-(?<=\s-)(?:u|-user)[ =][\"']?[^\s:\"']{{1,200}}+:([^\s\"'{MARKS}]{{1,200}}+)"
COMMANDS: tuple[tuple[str, str], ...] = (
    ("mysql", _MYSQL),
    ("mariadb", _MYSQL),
    ("curl", _CURL),
    ("wget", _CURL),
    ("sshpass", rf"-p(?<=\s-p)\s{{0,4}}{_WORD}"),
    ("redis-cli", rf"-a(?<=\s-a)\s{{1,4}}{_VALUE}"),
    ("docker login", rf"-p(?<=\s-p)\s{{1,4}}{_VALUE}"),
    (
        "htpasswd",
        r"-(?<=\s-)(?=[A-Za-z]{0,6}b)[A-Za-z]{1,13}+[ \t]++[^\s>&]++(?:[ \t]++([^\s>&]++))+",
    ),
)
"""Name of a command, expression for its arguments whose group is a password, perhaps in quotes."""


def call_of(command: str) -> str:
    """An expression for a command with its arguments, up to the end of the line or a pipe."""
    return command + r"(?:[^\n|;\\]++|\\[\s\S])*+"


EXPRESSIONS: dict[str, str] = {
    "private_tag": r"(?i)<\s{0,8}+(/?)\s{0,8}+private(?=[\s/>])[^<>]{0,500}+>",
    "key_begin": r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "key_end": r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "key_text": r"(?:[\sA-Za-z0-9+/=:,-]++|\\[nr])*+",
    "url_login": r"://[^\s:/?#@\"'<>`]{0,100}+:((?:[^\s\"'<>`:]++|:(?!//))++)",
    "continued": r"(?:[^\n]*+(?<=\\)\n)*+[^\n]*+",
    "cut_word": r"(?<=\S)\\\n(?=\S)",
    "mark": f"[{MARKS}]",
    "space": r"\s",
}
"""Everything else that masking compiles, by name."""

STEMS = (
    "passw",
    "passp",
    "pwd",
    "secret",
    "token",
    "key",
    "credential",
    "kennwort",
    "de passe",
    "de_passe",
    "contrase",
    "senha",
    "wachtwoord",
    "hasło",
)
"""In lower case; every name of a secret contains one of these."""
EXACT_WORDS = (
    *(word for row in TOKENS for word in row[1]),
    *(row[0] for row in COMMANDS),
    "-----BEGIN",
    "\\\n",
)
"""Words of secrets, to be looked for in a text as it is."""
LOWER_WORDS = (*STEMS, *(row[1] for row in PHRASES))
"""Words of secrets, to be looked for in a text in lower case."""


def lower(text: str) -> str:
    """The text in lower case and of the same length, so that places in it are the same."""
    # U+0130 is the one character whose lower case is two.
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()
