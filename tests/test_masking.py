"""Secrets go, whatever they stand in; what only looks like one stays as it is."""

from __future__ import annotations

import random
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.masking import CLASSES, evidence, mask, mask_values
from kinen.secret_shapes import PHRASES
from kinen.secret_shapes import TOKENS as SHAPES

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"


def made(seed: str, length: int, letters: str = ALNUM) -> str:
    """Secrets are made at run time: no scanner should find one in this file."""
    rng = random.Random(seed)
    body = "".join(rng.choices(letters, k=max(1, length - 3)))
    return (body + {HEX: "a7b", UPPER: "A7B"}.get(letters, "a7K"))[:length]


# Class, what stands before the random part, its letters and length, what stands after.
TOKENS = (
    ("aws_access_key", "AKIA", UPPER, 16, ""),
    ("aws_access_key", "ASIA", UPPER, 16, ""),
    ("github_token", "ghp_", ALNUM, 36, ""),
    ("github_token", "gho_", ALNUM, 36, ""),
    ("github_token", "ghs_", ALNUM, 36, ""),
    ("github_token", "ghu_", ALNUM, 36, ""),
    ("github_token", "github_pat_", ALNUM + "_", 82, ""),
    ("gitlab_token", "glpat-", URLSAFE, 20, ""),
    ("gitlab_token", "gldt-", URLSAFE, 24, ""),
    ("slack_token", "xoxb-", "0123456789-", 40, ""),
    ("slack_token", "xoxp-", LOWER + "-", 50, ""),
    ("slack_token", "xapp-1-", ALNUM, 40, ""),
    ("slack_webhook", "https://hooks.slack.com/services/T024F/B0/", ALNUM, 24, ""),
    ("stripe_key", "sk_live_", ALNUM, 24, ""),
    ("stripe_key", "rk_live_", ALNUM, 24, ""),
    ("stripe_key", "sk_test_", ALNUM, 99, ""),
    ("webhook_secret", "whsec_", ALNUM, 32, ""),
    ("anthropic_key", "sk-ant-api03-", URLSAFE, 93, "AA"),
    ("openai_key", "sk-", ALNUM, 48, ""),
    ("openai_key", "sk-proj-", URLSAFE, 120, ""),
    ("google_api_key", "AIza", URLSAFE, 35, ""),
    ("google_oauth", "ya29.", URLSAFE, 60, ""),
    ("google_oauth", "GOCSPX-", URLSAFE, 28, ""),
    ("npm_token", "npm_", ALNUM, 36, ""),
    ("pypi_token", "pypi-AgEIcHlwaS5vcmc", URLSAFE, 120, ""),
    ("sendgrid_key", "SG.", URLSAFE, 22, "." + made("sg", 43)),
    ("twilio_key", "SK", HEX, 32, ""),
    ("mailgun_key", "key-", HEX, 32, ""),
    ("digitalocean_token", "dop_v1_", HEX, 64, ""),
    ("huggingface_token", "hf_", ALNUM, 34, ""),
    ("databricks_token", "dapi", HEX, 32, ""),
    ("discord_webhook", "https://discord.com/api/webhooks/112233445566/", URLSAFE, 68, ""),
    ("telegram_token", "123456789:AA", URLSAFE, 33, ""),
    ("shopify_token", "shpat_", HEX, 32, ""),
    ("square_token", "sq0atp-", URLSAFE, 22, ""),
    ("linear_key", "lin_api_", ALNUM, 40, ""),
    ("notion_token", "ntn_", ALNUM, 46, ""),
    ("vault_token", "hvs.", URLSAFE, 90, ""),
    ("doppler_token", "dp.pt.", ALNUM, 43, ""),
    ("postman_key", "PMAK-", HEX, 24, "-" + made("pm", 34, HEX)),
    ("atlassian_token", "ATATT3", URLSAFE, 180, ""),
    ("grafana_token", "glsa_", ALNUM, 32, "_" + made("gr", 8, HEX)),
    ("sentry_token", "sntrys_", ALNUM, 80, ""),
    ("docker_token", "dckr_pat_", URLSAFE, 27, ""),
    ("groq_key", "gsk_", ALNUM, 52, ""),
    ("nvidia_key", "nvapi-", URLSAFE, 64, ""),
    ("supabase_key", "sbp_", HEX, 40, ""),
    ("age_key", "AGE-SECRET-KEY-1", UPPER, 58, ""),
    ("rubygems_key", "rubygems_", HEX, 48, ""),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", URLSAFE, 40, "." + made("sig", 43, URLSAFE)),
)
SETTINGS = (
    "$ export LEAKED={}\n",
    "+LEAKED: {}\n",
    '{{"value": "{}", "next": 1}}',
    "found `{}` in the log, see issue #12",
    "curl -H 'X-Thing: {}' https://api.example.com/v1",
    "client = Client('{}', timeout=3)",
)
P1, P2 = made("pw", 12), "hunt" + "er2!x"
ASSIGNED = (
    ("password", "DB_PASSWORD={}\n", P1),
    ("password", "export PGPASSWORD='{}'", P1),
    ("password", "password: {}\nuser: ada", P2),
    ("password", '"password": "{}",', P2),
    ("password", "password = '{}'  # prod", P1),
    ("password", 'password: "{}"', "a,b(" + "c7)&d"),
    ("password", "passphrase: '{}'", "correct horse " + "battery staple"),
    ("password", 'def login(user, password="{}"):', P1),
    ("password", "--password {} --host db", P1),
    ("password", "--db-password={} --host db", P1),
    ("password", "Server=db;User Id=sa;Password={};Encrypt=true", P1),
    ("password", "jdbc:mysql://db/x?user=a&password={}&ssl=1", P1),
    ("password", "machine api.example.com login ada password {}\n", P1),
    ("password", "mysql -h db -u root -p{} shop", P1),
    ("password", "curl -u ada:{} https://example.com", P1),
    ("password", "sshpass -p {} ssh db", P1),
    ("password", "the password is {}.", P2),
    ("password", 'DB_PASSWORD: str = "{}"', P1),
    ("password", "MYSQL_ROOT_PASSWORD={}", "correct" + "horse"),
    ("secret", "aws_secret_access_key = {}", made("aws", 40, BASE64)),
    ("secret", "AWS_SECRET_ACCESS_KEY={}", made("aws2", 40, BASE64)),
    ("secret", "client_secret: '{}'", made("cs", 32)),
    ("secret", 'api_key = "{}"', made("ak", 32, HEX)),
    ("secret", "X-API-Key: {}", made("xak", 32)),
    ("secret", '{{\\"access_token\\": \\"{}\\"}}', made("at", 40)),
    ("secret", "token={}&user=1", made("t", 24)),
    ("secret", "+  SECRET_KEY = '{}'", made("sk", 50)),
    ("secret", "GITHUB_TOKEN={}", made("gt", 40, HEX)),
    ("bearer", "Authorization: Bearer {}", made("b", 40)),
    ("bearer", "'Authorization': 'Basic {}'", made("ba", 30) + "=="),
    ("bearer", "authorization: token {}", made("bt", 40, HEX)),
    ("cookie", "Cookie: session={}; theme=dark", made("c", 32)),
    ("cookie", "Set-Cookie: sid={}; HttpOnly", made("c2", 32)),
    ("url_password", "postgres://ada:{}@db:5432/shop", P1),
    ("url_password", "redis://:{}@cache:6379/0", P1),
    ("url_password", "mongodb+srv://ada:{}@cluster0.example.net/x", P1),
    ("url_password", "git clone https://ada:{}@example.com/r.git", P1),
    ("azure_key", "AccountName=x;AccountKey={};EndpointSuffix=y", made("az", 86, BASE64) + "=="),
    ("signature", "https://x.blob.core.windows.net/c?sv=2022&sig={}&se=1", made("s", 43)),
    (
        "discord_token",
        "discord bot {}",
        "M" + made("d", 25) + "." + made("e", 6) + "." + made("f", 38),
    ),
)
SHA1, SHA256 = made("sha1", 40, HEX), made("sha256", 64, HEX)
UUID = "123e4567-e89b-12d3-a456-426614174000"
LOOK_ALIKES = (
    f"commit {SHA1}",
    f"{SHA1[:7]} fix(auth): token refresh",
    f"Merge {SHA1[:12]} into {SHA1}",
    f"index {SHA1[:9]}..{SHA1[9:18]} 100644",
    f"sha256:{SHA256}",
    f"image: postgres@sha256:{SHA256}",
    f"--hash=sha256:{SHA256}",
    f'checksum = "{SHA256}"',
    f'"integrity": "sha512-{made("i", 86, BASE64)}==",',
    f"  integrity sha512-{made('i2', 86, BASE64)}==",
    f"golang.org/x/text v0.3.0 h1:{made('go', 43, BASE64)}=",
    f'ETag: "{made("et", 32, HEX)}"',
    f"id: {UUID}",
    f"request {UUID} took 12 ms",
    "observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX",
    f"md5 {made('md5', 32, HEX)}  file.tar.gz",
    f"trace_id={made('tr', 32, HEX)} span_id={made('sp', 16, HEX)}",
    f"![](data:image/png;base64,{made('img', 400, BASE64)}==)",
    f"ssh-rsa AAAAB3NzaC1yc2E{made('pub', 300, BASE64)} ada@host",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{made('ed', 43, BASE64)} ada@host",
    f"-----BEGIN CERTIFICATE-----\n{made('cert', 64, BASE64)}\n-----END CERTIFICATE-----",
    f"-----BEGIN PUBLIC KEY-----\n{made('pk', 64, BASE64)}\n-----END PUBLIC KEY-----",
    "/usr/lib/python3/dist-packages/very/long/path/to/some/module_with_secret_token_name.py",
    "https://example.com/docs/how-to-rotate-your-api-key-and-token-safely?page=2",
    "https://example.com:8443/a/b@c",
    "git@github.com:ada/repo.git",
    "ssh://git@example.com:22/r.git",
    "mailto:ada@example.com",
    "s3://bucket/prefix/key-with-dashes/2026/01/02/file.parquet",
    "pod web-7d9c5b6f4-x2x7z restarted",
    "token = get_token()",
    "token = request.headers['X-Token']",
    "self.token = token",
    "password: str",
    "password: Optional[str] = None",
    "def login(user: str, password: str) -> Token:",
    "secret: ${{ secrets.DEPLOY_KEY }}",
    "PASSWORD=$PASSWORD",
    "export TOKEN=${TOKEN:-}",
    'os.environ["API_TOKEN"]',
    "const token = process.env.API_TOKEN",
    "api_key=API_KEY",
    "api_key = settings.API_KEY",
    "Authorization: Bearer <your-token>",
    "Authorization: Bearer $TOKEN",
    "password=********",
    "token: xxxxxxxxxxxx",
    "password: null",
    "max_tokens: 4096",
    "tokens=1500",
    "token_count = 31415926",
    "prompt_tokens: 12345678",
    "token budget: 2000",
    "password reset flow was broken",
    "password: required",
    '"password": "Enter your password",',
    '<input type="password" name="password">',
    "password_field = page.find('input')",
    "secret_name: my-tls-secret-2",
    'secretName: "db-credentials-v2"',
    "token_url = https://auth.example.com/token2",
    "token_expiry: 20261115T120000",
    "passwords are hashed with argon2id",
    "tokenizer = load('minilm-l6-v2')",
    "the token is required",
    "secrets: inherit",
    "pip install sk-learn scikit-learn==1.5.2",
    "task-force-alpha-2026-report-final-version",
    "risk-adjusted-return-on-capital-2026",
    "key-value store",
    "hf_dataset_name = 'squad_v2'",
    "npm_config_registry=https://registry.npmjs.org",
    "SG. said so",
    "AKIAisnotakey",
    "from secrets import token_hex",
    "secrets.token_urlsafe(32)",
    "assert mask(token) == expected_token",
    "#a1b2c3 #ffeedd",
    "v1.2.3-beta.4+build.5678",
    "978-3-16-148410-0",
    "$ pytest -q\n12 passed in 0.34s",
    "Tool: Read\nFile: src/kinen/text.py",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>',
    "Co-authored-by: Ada <ada@example.com>",
    "the cookie: a small biscuit",
    "Bearer authentication is used by the API",
    "if (token === 'EOF') { return null }",
    "switch (token) { case 'a1': break }",
    "--token-file ./token.txt",
    '{"type": "secret", "name": "api-key"}',
)


@pytest.mark.parametrize(("at", "row"), list(enumerate(TOKENS)), ids=lambda one: str(one)[:24])
def test_a_token_goes_and_the_text_around_it_stays(at: int, row: tuple) -> None:
    name, head, letters, length, tail = row
    secret = head + made(f"{at}", length, letters) + tail
    for setting in SETTINGS:
        before, after = setting.format("\0").split("\0")
        text = f"{before}{secret}{after}"
        shown, found = mask(text)
        assert secret[-12:] not in shown, shown
        assert name in found or "secret" in found or "password" in found, (found, shown)
        assert shown.startswith(before)
        assert shown.endswith(after)


@pytest.mark.parametrize(("name", "text", "secret"), ASSIGNED)
def test_what_a_name_is_given_goes_and_the_name_stays(name: str, text: str, secret: str) -> None:
    before, after = text.format("\0").split("\0")
    shown, found = mask(text.format(secret))
    assert secret not in shown, shown
    assert set(found) == {name}, (found, shown)
    assert shown.startswith(before.partition("session=")[0].partition("sid=")[0])
    if name != "cookie":
        assert shown == f"{before}[masked:{name}]{after}"


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert mask(text) == (text, {})


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(TOKENS) + len(ASSIGNED) >= 60
    assert len({row[0] for row in (*TOKENS, *ASSIGNED)}) >= 20
    assert len(set(LOOK_ALIKES)) >= 60
    assert {row[0] for row in (*TOKENS, *ASSIGNED)} <= set(CLASSES)


PEM = "-----BEGIN {}PRIVATE KEY-----"


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_private_keys_go_whole(kind: str, newline: str) -> None:
    body = newline.join(made(f"pem{n}", 64, BASE64) for n in range(4))
    block = newline.join([PEM.format(kind), body, PEM.format(kind).replace("BEGIN", "END")])
    shown, found = mask(f"before {block} after")
    assert shown == "before [masked:private_key] after"
    assert found == {"private_key": 1}


def test_a_key_that_was_cut_off_goes_as_far_as_it_runs() -> None:
    body = "\n".join(made(f"cut{n}", 64, BASE64) for n in range(3))
    shown, found = mask(f"x = '{PEM.format('RSA ')}\n{body}'; y = 2")
    assert shown == "x = '[masked:private_key]'; y = 2"
    assert found == {"private_key": 1}


@pytest.mark.parametrize(
    ("text", "shown", "count"),
    [
        ("a <private>b</private> c", "a [private] c", 1),
        ("a <PRIVATE>b\n\nc</Private> d", "a [private] d", 1),
        ("a <private>b <private>c</private> d</private> e", "a [private] e", 1),
        ("<private>a</private> b <private>c</private>", "[private] b [private]", 2),
        ("a <private>b, and no end", "a [private]", 1),
        ("a </private> b", "a </private> b", 0),
    ],
)
def test_private_text_is_never_kept(text: str, shown: str, count: int) -> None:
    assert mask(text) == (shown, {"private": count} if count else {})


def test_nested_values_are_masked_by_their_text_and_by_their_name() -> None:
    secret = made("nested", 30)
    value, found = mask_values(
        {"env": {"API_KEY": secret, "token_count": "12"}, "args": ["--password", f"token={secret}"]}
    )
    assert secret not in str(value)
    assert value["env"]["token_count"] == "12"
    assert evidence(found) == {"count": 2, "classes": ["secret"]}
    deep: object = secret
    for _ in range(200):
        deep = [deep]
    assert "[too deep]" in str(mask_values(deep)[0])


PIECES = st.sampled_from(
    [
        *("password", "=", ": ", '"', "'", "\\", " ", "\n", "token", "Bearer ", "ghp_", "://", "@"),
        *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "<private>", "is "),
        *("</private>", "[masked:", "]", "secret", "_", "a1B2c3D4", made("x", 40), "eyJhbGciOiJI"),
        *("Cookie: ", ";", "AKIA", made("y", 16, UPPER), "\ud800", "\0", "é", "--", ":"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=20).map("".join))
def test_masking_twice_is_masking_once_and_never_fails(text: str) -> None:
    shown, _ = mask(text)
    assert mask(shown) == (shown, {})


@pytest.mark.parametrize("word", sorted({word for row in (*SHAPES, *PHRASES) for word in row[1]}))
def test_no_text_makes_it_slow(word: str) -> None:
    for text in (word * 4_000, (word + " ") * 3_000, word + "a" * 200_000, word + "A1_-" * 30_000):
        mask(text)


def test_long_texts_of_one_kind_end() -> None:
    for text in (
        *("a" * 3_000_000, PEM.format("RSA ") * 20_000, "password=" * 20_000, "<private>" * 50_000),
        *("password: " + "x1" * 500_000, "://" * 100_000 + "@", "token " * 50_000),
    ):
        mask(text)


def test_text_without_a_secret_loads_nothing() -> None:
    source = Path(__file__).parents[1] / "src"
    program = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from kinen.masking import mask\n"
        "mask('$ pytest -q\\n12 passed in 0.3 s: see docs/api.md and src/app.py')\n"
        "print([name for name in ('re', 'typing', 'json', 'enum') if name in sys.modules])\n"
    )
    run = [sys.executable, "-I", "-S", "-c", program]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"
