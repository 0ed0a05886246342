"""What secrets look like, as rows: light to import, compiled one by one when needed."""

from __future__ import annotations

_AT = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9_])"
_MIXED = r"(?=[A-Za-z_-]*[0-9])(?=[a-z0-9_-]*[A-Z])"

# Class, words in lower case without which it cannot apply, expression.
# These are one long word each, which is all that is looked at for the words.
TOKENS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws_access_key",
        ("akia", "asia"),
        r"(?<![A-Za-z0-9])((?:AKIA|ASIA)[A-Z0-9]{16})(?![A-Za-z0-9])",
    ),
    (
        "github_token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _AT + r"(gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{20,255})" + _END,
    ),
    (
        "gitlab_token",
        ("glpat-", "glptt-", "glrt-", "glcbt-", "gldt-", "glsoat-", "glft-"),
        _AT + r"(gl(?:pat|ptt|rt|cbt|dt|soat|ft)-[\w-]{20,})",
    ),
    ("slack_token", ("xox", "xapp-"), _AT + r"((?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})"),
    (
        "slack_webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/([\w/+-]{20,})",
    ),
    ("stripe_key", ("k_live_", "k_test_"), _AT + r"([sr]k_(?:live|test)_[A-Za-z0-9]{16,})" + _END),
    ("webhook_secret", ("whsec_",), _AT + r"(whsec_[A-Za-z0-9+/=]{20,})"),
    ("anthropic_key", ("sk-ant-",), _AT + r"(sk-ant-[\w-]{20,})"),
    ("openai_key", ("sk-",), _AT + r"(sk-(?!ant-)" + _MIXED + r"[\w-]{20,})"),
    ("google_api_key", ("aiza",), r"(?<![A-Za-z0-9])(AIza[\w-]{35})(?![\w-])"),
    ("google_oauth", ("ya29.", "gocspx-"), _AT + r"(ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})"),
    ("npm_token", ("npm_",), _AT + r"(npm_[A-Za-z0-9]{36})" + _END),
    ("pypi_token", ("pypi-",), _AT + r"(pypi-" + _MIXED + r"[\w-]{40,})"),
    ("sendgrid_key", ("sg.",), _AT + r"(SG\.[\w-]{16,}\.[\w-]{16,})"),
    ("twilio_key", ("sk",), _AT + r"(SK[0-9a-f]{32})" + _END),
    ("mailgun_key", ("key-",), _AT + r"(key-[0-9a-f]{32})" + _END),
    ("digitalocean_token", ("_v1_",), _AT + r"(do[opr]_v1_[a-f0-9]{64})" + _END),
    ("huggingface_token", ("hf_",), _AT + r"(hf_" + _MIXED + r"[A-Za-z0-9]{30,})" + _END),
    ("databricks_token", ("dapi",), _AT + r"(dapi[a-f0-9]{32})"),
    (
        "azure_key",
        ("accountkey=", "sharedaccesskey="),
        r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{30,}={0,2})",
    ),
    (
        "signature",
        ("sig=", "x-amz-signature="),
        r"(?i)[?&](?:sig|X-Amz-Signature)=([A-Za-z0-9%+/_-]{20,}={0,2})",
    ),
    ("discord_webhook", ("/api/webhooks/",), r"/api/webhooks/\d{5,25}/([\w-]{20,})"),
    ("telegram_token", (":aa",), r"(?<![\w:])(\d{8,10}:AA[\w-]{32,33})(?![\w-])"),
    (
        "shopify_token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        _AT + r"(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})" + _END,
    ),
    ("square_token", ("sq0",), _AT + r"(sq0(?:atp|csp|idp)-[\w-]{22,})"),
    ("linear_key", ("lin_api_",), _AT + r"(lin_api_[A-Za-z0-9]{30,})" + _END),
    (
        "notion_token",
        ("secret_", "ntn_"),
        _AT + r"((?:secret|ntn)_(?=[A-Za-z]*\d)[A-Za-z0-9]{40,})" + _END,
    ),
    ("vault_token", ("hvs.", "hvb.", "hvr."), _AT + r"(hv[sbr]\.[\w-]{20,})"),
    ("doppler_token", ("dp.",), _AT + r"(dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,})"),
    ("postman_key", ("pmak-",), _AT + r"(PMAK-[a-f0-9]{24}-[a-f0-9]{34})" + _END),
    ("atlassian_token", ("atatt3",), _AT + r"(ATATT3[\w=-]{20,})"),
    ("grafana_token", ("glsa_",), _AT + r"(glsa_[A-Za-z0-9]{32}_[a-f0-9]{8})" + _END),
    ("sentry_token", ("sntry",), _AT + r"(sntry[su]_[\w+/=-]{20,})"),
    ("docker_token", ("dckr_pat_",), _AT + r"(dckr_pat_[\w-]{20,})"),
    ("groq_key", ("gsk_",), _AT + r"(gsk_[A-Za-z0-9]{30,})" + _END),
    ("xai_key", ("xai-",), _AT + r"(xai-" + _MIXED + r"[A-Za-z0-9]{30,})" + _END),
    ("nvidia_key", ("nvapi-",), _AT + r"(nvapi-[\w-]{30,})"),
    ("supabase_key", ("sbp_", "sb_secret_"), _AT + r"(sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,})"),
    ("age_key", ("age-secret-key-1",), _AT + r"(AGE-SECRET-KEY-1[0-9A-Z]{50,})"),
    ("rubygems_key", ("rubygems_",), _AT + r"(rubygems_[a-f0-9]{48})" + _END),
    ("jwt", ("eyj",), r"(?<![\w.-])(eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?)"),
)
# These need words around them.
PHRASES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "discord_token",
        ("discord",),
        r"(?<![\w.-])([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w.-])",
    ),
    (
        "bearer",
        ("authorization",),
        r"(?i)\bauthorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?\w+ {1,4}([\w.~+/-]{8,}={0,2})",
    ),
    ("bearer", ("bearer",), r"(?i)\bbearer[ \t]{1,4}([A-Za-z0-9._~+/-]{16,}={0,2})"),
    (
        "cookie",
        ("cookie:", 'cookie"', "cookie'"),
        r"(?i)\b(?:set-)?cookie[\"']?\s{0,4}:\s{0,4}[\"']?([\w.-]{1,60}=[^\r\n\"']{8,4000})",
    ),
    ("url_password", ("://",), r"://[^\s:/?#@\"'<>]{0,100}:([^\s@\"'<>/?#]{1,200})@(?=[^\s/@])"),
    (
        "password",
        ("machine", "password"),
        r"(?i)\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}(\S{1,200})",
    ),
    (
        "password",
        ("mysql", "maria"),
        r"\b(?:mysql|mariadb)(?:dump|admin)?\b[^\n|;]{0,200}?\s-p([^\s\"'=-]\S{0,100})",
    ),
    (
        "password",
        ("curl", "wget"),
        r"\b(?:curl|wget)\b[^\n]{0,300}?\s(?:-u|--user)[ =][\"']?[^\s:\"']+:([^\s\"']{1,200})",
    ),
    ("password", ("sshpass",), r"\bsshpass\s{1,4}-p\s{0,4}[\"']?([^\s\"']{1,200})"),
)

NAME = (
    r"passw(?:or)?d|passphrase|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|client[_-]?secret|auth[_-]?key|encryption[_-]?key|signing[_-]?key|master[_-]?key|credential"
)
STEMS = ("passw", "passp", "pwd", "secret", "token", "key", "credential")
"""One of these is in each of the names."""
NAMES = tuple(
    "passw passphrase pwd secret token apikey api_key api-key access_key access-key accesskey"
    " private_key private-key privatekey auth_key auth-key authkey encryption_key signing_key"
    " signing-key signingkey encryptionkey master_key masterkey credential".split()
)
# The name's word, the rest of the name, what stands between, a quote, the value.
ASSIGNED = (
    rf"(?i)(?P<word>{NAME})(?P<rest>[\w-]{{0,40}})\\?[\"'\]]{{0,3}}"
    r"(?P<sign>\s{0,8}(?::\s{0,4}(?:str|string|bytes|Optional\[str\]|str \| None)\s{0,4}(?==))?"
    r"(?::=|=>|==?|:)\s{0,8}|[ \t]{1,4})"
    r"(?:(?P<quote>\\?[\"'`])(?P<inner>[^\"'`\\\r\n]{4,4096})(?=\\?[\"'`])"
    r"|(?P<value>[^\s\"'`\\<>,;&(){}\[\]]{4,4096}))"
)
SAID = (
    rf"(?i)(?P<word>{NAME})\s{{1,4}}(?:is|was|to)\s{{1,4}}[\"'`]?"
    r"(?P<value>(?=[^\s\"'`]*[A-Za-z])(?=[^\s\"'`]*\d)[^\s\"'`<>(){}\[\]]{6,200})"
)
# What a name that has a secret's word in it may be about instead.
HARMLESS = tuple(
    "name names id ids count counts type types url uri path file files field fields length len"
    " limit limits expiry expires expiration ttl at in size max min budget usage policy hash hint"
    " reset label env var header prefix regex pattern arn version endpoint input prompt strength"
    " required enabled manager store ref class error errors provider service mode format index"
    " window cost price s per_second used left rate kind position offset ized izer ize ization"
    " validator rotation scope scopes list map dict set status state message text".split()
)
WORDS = frozenset(
    "none null nil true false undefined string str int bool required optional hidden invalid"
    " incorrect missing changeme example placeholder redacted masked password passwd secret token"
    " bytes text varchar number object any self value unknown default disabled enabled".split()
)
