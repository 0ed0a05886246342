"""What secrets look like: tables of expressions, compiled one by one when a text needs them.

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


_MIXED = r"(?=[A-Za-z_-]*+[0-9])(?=[a-z0-9_-]*+[A-Z])"
_END = r"(?![A-Za-z0-9_])"

TOKENS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws_access_key",
        ("AKIA", "ASIA"),
        _token("A(?:KI|SI)A", "[A-Z0-9]{16}", "(?![A-Za-z0-9])", "A-Za-z0-9"),
    ),
    (
        "github_token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _token("gh[pousr]_", "[A-Za-z0-9]{30,}+"),
    ),
    ("github_token", ("github_pat_",), _token("github_pat_", r"\w{20,}+")),
    (
        "gitlab_token",
        ("glpat-", "glptt-", "glrt-", "glcbt-", "gldt-", "glsoat-", "glft-"),
        _token("gl", r"(?:pat|ptt|rt|cbt|dt|soat|ft)-[\w-]{20,}+"),
    ),
    ("slack_token", ("xox",), _token("xox[abeoprs]-", "[A-Za-z0-9-]{10,}+")),
    ("slack_token", ("xapp-",), _token("xapp-", "[A-Za-z0-9-]{10,}+")),
    (
        "slack_webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/([\w/+-]{20,}+)",
    ),
    (
        "stripe_key",
        ("k_live_", "k_test_"),
        _token("[sr]k_", "(?:live|test)_[A-Za-z0-9]{16,}+", "(?!_)"),
    ),
    ("webhook_secret", ("whsec_",), _token("whsec_", "[A-Za-z0-9+/=]{20,}+")),
    ("anthropic_key", ("sk-ant-",), _token("sk-ant-", r"[\w-]{20,}+")),
    ("openai_key", ("sk-",), _token("sk-", r"(?!ant-)" + _MIXED + r"[\w-]{20,}+")),
    ("google_api_key", ("AIza",), _token("AIza", r"[\w-]{35}", r"(?![\w-])", "A-Za-z0-9")),
    ("google_oauth", ("ya29.",), _token(r"ya29\.", r"[\w-]{20,}+")),
    ("google_oauth", ("GOCSPX-",), _token("GOCSPX-", r"[\w-]{20,}+")),
    ("npm_token", ("npm_",), _token("npm_", "[A-Za-z0-9]{36}", _END)),
    ("pypi_token", ("pypi-",), _token("pypi-", _MIXED + r"[\w-]{40,}+")),
    ("sendgrid_key", ("SG.",), _token(r"SG\.", r"[\w-]{16,}+\.[\w-]{16,}+")),
    ("twilio_key", ("SK",), _token("SK", "[0-9a-f]{32}", _END)),
    ("mailgun_key", ("key-",), _token("key-", "[0-9a-f]{32}", _END)),
    (
        "digitalocean_token",
        ("doo_v1_", "dop_v1_", "dor_v1_"),
        _token("do[opr]_v1_", "[a-f0-9]{64}", _END),
    ),
    ("huggingface_token", ("hf_",), _token("hf_", _MIXED + "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("databricks_token", ("dapi",), _token("dapi", "[a-f0-9]{32}")),
    ("discord_webhook", ("/api/webhooks/",), r"/api/webhooks/\d{5,25}/([\w-]{20,}+)"),
    (
        "discord_token",
        ("discord", "Discord", "DISCORD"),
        _token("[MNO]", r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+", r"(?!\.)", r"\w.-"),
    ),
    ("telegram_token", (":AA",), r"(?:(?<![\w:])|(?<=\\[nrt]))(\d{8,10}:AA[\w-]{32,33})(?![\w-])"),
    (
        "shopify_token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        _token("shp", "(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", _END),
    ),
    ("square_token", ("sq0",), _token("sq0(?:at|cs|id)p-", r"[\w-]{22,}+")),
    ("linear_key", ("lin_api_",), _token("lin_api_", "[A-Za-z0-9]{30,}+", "(?!_)")),
    (
        "notion_token",
        ("secret_",),
        _token("secret_", r"(?=[A-Za-z]*+\d)[A-Za-z0-9]{40,}+", "(?!_)"),
    ),
    ("notion_token", ("ntn_",), _token("ntn_", r"(?=[A-Za-z]*+\d)[A-Za-z0-9]{40,}+", "(?!_)")),
    ("vault_token", ("hvs.", "hvb.", "hvr."), _token(r"hv[sbr]\.", r"[\w-]{20,}+")),
    (
        "doppler_token",
        ("dp.",),
        _token(r"dp\.", r"(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}+", before=r"\w.-"),
    ),
    ("postman_key", ("PMAK-",), _token("PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}", _END)),
    ("atlassian_token", ("ATATT3",), _token("ATATT3", "[\\w=-]{20,}+")),
    ("grafana_token", ("glsa_",), _token("glsa_", "[A-Za-z0-9]{32}_[a-f0-9]{8}", _END)),
    ("sentry_token", ("sntry",), _token("sntry[su]_", r"[\w+/=-]{20,}+")),
    ("docker_token", ("dckr_pat_",), _token("dckr_pat_", r"[\w-]{20,}+")),
    ("groq_key", ("gsk_",), _token("gsk_", "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("xai_key", ("xai-",), _token("xai-", _MIXED + "[A-Za-z0-9]{30,}+", "(?!_)")),
    ("nvidia_key", ("nvapi-",), _token("nvapi-", r"[\w-]{30,}+")),
    ("supabase_key", ("sbp_",), _token("sbp_", "[a-f0-9]{40}")),
    ("supabase_key", ("sb_secret_",), _token("sb_secret_", r"[\w-]{20,}+")),
    ("age_key", ("AGE-SECRET-KEY-1",), _token("AGE-SECRET-KEY-1", "[0-9A-Z]{50,}+")),
    ("rubygems_key", ("rubygems_",), _token("rubygems_", "[a-f0-9]{48}", _END)),
    (
        "jwt",
        ("eyJ",),
        _token("eyJ", r"[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?", before=r"\w.-"),
    ),
)
"""Class, words of which one must be in the text, expression whose first group is the secret."""

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
