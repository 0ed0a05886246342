"""Words that secrets come with, and facts about tokens.

Hooks load this module to look for the words. Most texts have none of them, and then neither the
rules nor `re` are imported.
"""

from __future__ import annotations

from itertools import pairwise

TOKENS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), "{upper:16}", "own"),
    ("bedrock_key", ("ABSK",), "{base64:100+}", "own"),
    ("alibaba_key", ("LTAI",), "{alnum:17-24}", "own digit"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "{alnum:30+}", ""),
    ("github_token", ("github_pat_",), "{word:20+}", ""),
    (
        "gitlab_token",
        (
            *("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glimt-"),
            *("glagent-", "gloas-", "glffct-", "glwt-"),
        ),
        "{url:20+}[.{lower:2}][.{lower:9}]",
        "",
    ),
    ("gitlab_token", ("GR1348941",), "{url:20+}", ""),
    ("bitbucket_token", ("ATBB",), "{word:28+}", "own digit"),
    ("bitbucket_token", ("BBDC-",), "{b64:40+}", ""),
    ("atlassian_token", ("ATATT3", "ATCTT3"), "{url:20+}[={hex:8}]", "own"),
    (
        "slack_token",
        (
            *("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
            *("xoxe.xoxb-", "xoxe.xoxp-", "xapp-"),
        ),
        "{dash:10+}",
        "",
    ),
    ("stripe_key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), "{alnum:16+}", "digit"),
    ("webhook_secret", ("whsec_",), "{base64:20+}", ""),
    ("anthropic_key", ("sk-ant-",), "{url:20+}", ""),
    ("openai_key", ("sk-",), "{url:20+}", "word mixed"),
    ("openai_key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), "{url:40+}", "mixed"),
    ("deepseek_key", ("sk-",), "{hex:32}", "word digit"),
    ("openrouter_key", ("sk-or-v1-",), "{hex:64}", ""),
    ("langfuse_key", ("sk-lf-",), "{url:36}", ""),
    ("perplexity_key", ("pplx-",), "{alnum:40+}", ""),
    ("replicate_token", ("r8_",), "{alnum:37}", "word"),
    ("together_key", ("tgp_v1_",), "{url:40+}", ""),
    ("cerebras_key", ("csk-",), "{lower:40+}", "word digit"),
    ("jina_key", ("jina_",), "{url:40+}", "word digit"),
    ("tavily_key", ("tvly-",), "{url:24+}", "word digit"),
    ("langsmith_key", ("lsv2_pt_", "lsv2_sk_"), "{hex:32}_{hex:10}", ""),
    ("wandb_key", ("wandb_v1_",), "{word:40+}", ""),
    ("huggingface_token", ("hf_",), "{alnum:30+}", "word case"),
    ("huggingface_token", ("api_org_",), "{alnum:30+}", "word case"),
    ("groq_key", ("gsk_",), "{alnum:30+}", "word digit"),
    ("xai_key", ("xai-",), "{word:30+}", "word mixed"),
    ("nvidia_key", ("nvapi-",), "{url:30+}", ""),
    ("pinecone_key", ("pcsk_",), "{alnum:4-8}_{alnum:40+}", ""),
    ("elevenlabs_key", ("sk_",), "{hex:48}", "word digit"),
    ("google_api_key", ("AIza",), "{url:35}", "own"),
    ("google_oauth", ("ya29.",), "{url:20+}", ""),
    ("google_oauth", ("GOCSPX-",), "{url:20+}", ""),
    ("google_oauth", ("1//0",), "{url:40+}", "word digit"),
    ("facebook_token", ("EAAC", "EAAM", "EAAG", "EAAB"), "{alnum:80+}", "own"),
    ("npm_token", ("npm_",), "{alnum:36}", "digit"),
    ("pypi_token", ("pypi-",), "{url:40+}", "word mixed"),
    ("rubygems_key", ("rubygems_",), "{hex:48}", ""),
    ("crates_token", ("cio",), "{alnum:32}", "word mixed"),
    ("docker_token", ("dckr_pat_", "dckr_oat_"), "{url:20+}", ""),
    ("artifactory_key", ("AKCp",), "{alnum:69}", "own"),
    ("artifactory_key", ("cmVmdGtu",), "{alnum:56}", "own"),
    ("sendgrid_key", ("SG.",), "{url:16+}.{url:16+}", "word"),
    ("twilio_key", ("SK",), "{hex:32}", "word digit"),
    ("mailgun_key", ("key-",), "{hex:32}", "word"),
    ("brevo_key", ("xkeysib-",), "{hex:64}-{alnum:16}", ""),
    ("digitalocean_token", ("doo_v1_", "dop_v1_", "dor_v1_"), "{hex:64}", ""),
    ("databricks_token", ("dapi",), "{hex:32}", "word"),
    ("heroku_key", ("HRKU-",), "{url:36+}", ""),
    ("tailscale_key", ("tskey-",), "{lower:2-20}-{url:16+}", ""),
    ("figma_token", ("figd_", "figu_", "figp_", "figo_"), "{url:36+}", "word digit"),
    ("netlify_token", ("nfp_", "nfc_", "nfo_", "nfb_"), "{alnum:36}", "word digit"),
    ("vercel_token", ("vercel_blob_rw_",), "{word:24+}", ""),
    ("vercel_token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), "{alnum:24+}", "word digit"),
    ("fly_token", ("fm1a_", "fm1r_", "fm2_"), "{base64:40+}", "word mixed"),
    ("fly_token", ("fo1_",), "{url:43}", "word mixed"),
    ("pulumi_token", ("pul-",), "{hex:40}", "word"),
    ("newrelic_key", ("NRAK-", "NRII-", "NRIQ-", "NRRA-"), "{url:25+}", "word digit"),
    ("grafana_token", ("glsa_",), "{alnum:32}_{hex:8}", ""),
    ("grafana_token", ("glc_",), "{base64:40+}", "word digit"),
    ("sentry_token", ("sntrys_", "sntryu_"), "{base64:20+}", ""),
    ("posthog_key", ("phx_", "phs_"), "{word:40+}", "word digit"),
    ("datadog_key", ("ddapp_",), "{alnum:34+}", "word digit"),
    ("dynatrace_token", ("dt0c01.", "dt0s01."), "{upper:24}.{upper:64}", ""),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), "{hex:32}", ""),
    ("square_token", ("sq0atp-", "sq0csp-", "sq0idp-"), "{url:22+}", ""),
    ("square_token", ("EAAA",), "{url:56+}", "own mixed"),
    ("easypost_key", ("EZAK", "EZTK"), "{alnum:54}", "own"),
    ("flutterwave_key", ("FLWSECK-", "FLWSECK_TEST-"), "{alnum:32}-X", ""),
    ("shippo_token", ("shippo_live_", "shippo_test_"), "{hex:40}", ""),
    ("duffel_token", ("duffel_live_", "duffel_test_"), "{url:40+}", ""),
    ("linear_key", ("lin_api_", "lin_oauth_"), "{alnum:30+}", "word digit"),
    ("notion_token", ("secret_", "ntn_"), "{alnum:40+}", "word digit"),
    ("vault_token", ("hvs.", "hvb.", "hvr."), "{url:20+}", ""),
    (
        "doppler_token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        "[{url:2-35}.]{alnum:20+}",
        "word digit",
    ),
    ("postman_key", ("PMAK-",), "{hex:24}-{hex:34}", ""),
    ("supabase_key", ("sbp_",), "{hex:40}", ""),
    ("supabase_key", ("sb_secret_",), "{url:20+}", ""),
    ("age_key", ("AGE-SECRET-KEY-1",), "{upper:50+}", ""),
    ("onepassword_token", ("ops_eyJ",), "{base64:100+}", ""),
    ("onepassword_token", ("A3-",), "{upper:6}-{dash:29-30}", "word digit"),
    ("circleci_token", ("CCIPAT_",), "{alnum:22}_{hex:40}", ""),
    ("buildkite_token", ("bkua_",), "{hex:40}", ""),
    ("sonar_token", ("sqp_", "squ_", "sqa_"), "{hex:40}", ""),
    ("sonar_token", ("sqco_",), "{alnum:50+}", "word digit"),
    ("sourcegraph_token", ("sgp_",), "{word:40+}", "word digit"),
    ("planetscale_token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), "{url:30+}", ""),
    ("cloudflare_token", ("cfut_", "cfat_", "cfk_"), "{alnum:48}", "word digit"),
    ("cloudflare_token", ("v1.0-",), "{hex:24}-{hex:146}", ""),
    ("apify_token", ("apify_api_",), "{alnum:30+}", ""),
    ("readme_key", ("rdme_",), "{lower:60+}", ""),
    ("deno_token", ("ddp_", "ddw_"), "{alnum:36}", "word digit"),
    ("prefect_key", ("pnu_",), "{alnum:36}", "word digit"),
    ("contentful_token", ("CFPAT-",), "{url:40+}", ""),
    ("hubspot_token", ("pat-na1-", "pat-eu1-"), "{url:36}", ""),
    ("typeform_token", ("tfp_",), "{url:40+}", "word digit"),
    ("openshift_token", ("sha256~",), "{url:43}", ""),
    ("infracost_key", ("ico-",), "{alnum:32}", "word mixed"),
    ("clojars_token", ("CLOJARS_",), "{hex:60}", ""),
    ("bannerbear_key", ("bb_pr_", "bb_ma_"), "{hex:30}", ""),
    ("dropbox_token", ("sl.",), "{url:100+}", "word mixed"),
    ("jwt", ("eyJ",), "{url:8+}.eyJ{url:8+}[.{url:0+}]", "word"),
    ("mapbox_token", ("sk.eyJ",), "{url:40+}[.{url:20+}]", "word"),
)
"""Class, prefixes, what follows them, and how.

`{alnum:36}` is so many characters of an alphabet, `{alnum:30+}` at least so many; what stands in
brackets may be missing. A prefix that is unmistakable may stand anywhere, also within a word.
`own`: not after a letter or digit of the kind that follows. `word`: only where a word begins,
because other words end in this prefix. `digit`, `mixed` (a digit and a capital) and `case`
(capitals and small letters): what has to follow, because other words begin with this prefix.
"""

DOTTED = "\0."
"""Stands for a long word with a dot in it, among the words of tokens."""
UNPREFIXED = (
    *(":AA", "FFFFNRAL", "Q~", "+ACR", ":APA91b", ".atlasv1.", "_mmk", DOTTED, "hooks.slack.com"),
    *("/api/webhooks/", "/IncomingWebhook/", *(f"-us{number}" for number in range(1, 10))),
)
"""Words of tokens that have no prefix; `shapes.PLACED` has their expressions."""
WITHOUT_DIGITS = ("hf_", "api_org_")
"""Prefixes of tokens that may consist of letters."""
HASHES = ("$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$argon2")
"""Beginnings of hashed passwords."""
FOLLOWED = ("=", ":", '"', "'", "\\", " =")
"""What has to follow a short word for a secret (`pass`, `auth`) that also means something else."""
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("key", ()),
    ("token", ()),
    ("secret", ()),
    (
        "pass",
        (
            *("passw", "passp", "passc", "passord", "de passe", "de_passe", "avra-passe"),
            *(f"pass{sign}" for sign in FOLLOWED),
            *("sshpass", "storepass ", "requirepass ", "keypass ", "_pass "),
        ),
    ),
    ("auth", ("authorization", "masterauth", "auth(", *(f"auth{sign}" for sign in FOLLOWED))),
    ("_pat", tuple(f"_pat{sign}" for sign in FOLLOWED)),
    ("pw", ("pwd", *(f"pw{sign}" for sign in FOLLOWED))),
    ("sig", ("sig=", "signature=")),
    ("sess", ("sessid=", "sessionid=")),
    ("$", HASHES),
    (" codes", ("recovery codes", "backup codes", "scratch codes")),
    (" phrase", ("seed phrase", "recovery phrase")),
    *(
        (word, ())
        for word in (
            *("credential", "bearer", "cookie", "psk", "_salt"),
            *(
                ".sid=",
                "hooks.zapier.com",
                "identified ",
                "securestring",
                "discord",
                "private-lines:",
                '"kty"',
            ),
            *("mnemonic", "sudo -s", ":5432:", ":*:"),
            *("kennwort", "contrase", "senha", "parola", "wachtwoord", "heslo", "adgangskode"),
            *("salasana", "lozinka", "geslo", "kata sandi", "kata laluan"),
        )
    ),
)
"""In lower case: without one of these words, and one of those after it if there are any, no rule
for names and phrases finds anything."""
FOREIGN_WORDS = (
    *("parolă", "hasło", "lösenord", "jelszó", "şifre", "лозинка", "пароль", "парола", "κωδικός"),
    *("mật khẩu", "パスワード", "暗証番号", "密码", "密碼", "口令", "비밀번호", "암호"),
    *("كلمة المرور", "كلمة السر", "رمز عبور", "סיסמה", "סיסמא", "पासवर्ड", "รหัสผ่าน"),
)
"""The same for words that are not ASCII."""
OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        " -p",
        (
            *("mysql", "mariadb", "sshpass", "plink", "pscp", " login", "mongo", "cqlsh", "twine"),
            *("useradd", "usermod", "7z", "openssl"),
        ),
    ),
    (" -P", ("sqlcmd", "bcp ", "zip -P")),
    (" -u", ("curl", "wget", "lftp", "mysql")),
    (" --", ("curl", "wget", "creds", "gh secret", "create secret", "http --auth", "https --auth")),
    (" /user:", ("net use",)),
    ("pass ", ("keytool", "jarsigner", "rclone")),
    (" -k", ("openssl",)),
    (" -K", ("openssl",)),
    (" -b", ("curl", "gh secret")),
    (" -a", ("redis-cli", "http -a")),
    (" -w", ("ldap",)),
    (" -N", ("ssh-keygen",)),
    (" -c", ("snmp",)),
    (" -U", ("smbclient",)),
    (" /p:", ("xfreerdp",)),
    ("htpasswd", ("htpasswd",)),
    ("sqlplus", ("sqlplus",)),
    ("rabbitmqctl", ("rabbitmqctl",)),
)
"""Options of commands with a password. Most texts have few of them, and then no command is looked
for."""
SIGNS_OF_OPTIONS = (" -", " /", "pass", "sqlplus", "rabbitmqctl")
"""Each option has one of these, and most texts have none."""


def lower(text: str) -> str:
    """The text in lower case and of the same length, so that places in it are the same."""
    # U+0130 is the one character whose lower case is two.
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def has_word(low: str) -> bool:
    """Whether a text in lower case has a word of a name or a phrase."""
    if "passed" in low:  # as in the results of tests, on every line
        low = low.replace("passed", "")
    for word, more in WORDS:
        if word in low and (not more or any(longer in low for longer in more)):
            return True
    return not low.isascii() and any(word in low for word in FOREIGN_WORDS)


def commands_in(text: str) -> set[str]:
    """The commands of a text that may be called with a password."""
    if not any(map(text.__contains__, SIGNS_OF_OPTIONS)):
        return set()
    return {
        command
        for option, commands in OPTIONS
        if option in text
        for command in commands
        if command in text
    }


_SHORTEST_TOKEN = 15
_SHORTEST_DOTTED = 59
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+~"
_RUNS = bytes(120 if byte in _LETTERS else 32 for byte in range(256))
_RUN = b"x" * _SHORTEST_TOKEN
_BETWEEN = b"\"'`()[]{}<>,;=|&?!*#$%^@\\"
_APART = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))
_DIGITS = b"0123456789"
_by_start: dict[tuple[int, ...], list[str]] = {}


def token_words(text: str) -> set[str]:
    """The words of tokens that a text has, in words that are long enough and have a digit.

    Most texts have no such word, and no word of a token is looked for.
    """
    present = {word for word in WITHOUT_DIGITS if word in text}
    data = text.encode("ascii", "replace")
    if _RUN not in data.translate(_RUNS):
        return present
    words = [
        word
        for word in data.translate(_APART).split()
        if len(word) >= _SHORTEST_TOKEN
        and len(word.translate(None, _DIGITS)) < len(word)
        and _RUN in word.translate(_RUNS)
    ]
    if any(len(word) >= _SHORTEST_DOTTED and b"." in word and b"/" not in word for word in words):
        words.append(DOTTED.encode())
    if not words:
        return present
    if not _by_start:
        for word in (*(prefix for row in TOKENS for prefix in row[1]), *UNPREFIXED):
            _by_start.setdefault(tuple(word[:2].encode()), []).append(word)
    long = b"\n".join(words)
    starts = _by_start.keys() & pairwise(long)
    present.update(word for start in starts for word in _by_start[start] if word.encode() in long)
    return present
