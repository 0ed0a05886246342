"""Secrets and look-alikes for the masking rules.

Every secret is generated when this module is imported, so no scanner finds one in the file.
`HELD_BACK_*` lists shapes that were written down before the rules and that no rule may be written
for: they measure how far the rules carry. `SECRETS` and `LOOK_ALIKES` are what the rules must get
right.
"""

from __future__ import annotations

import random
import string
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
_TAILS = {HEX: "a7b", UPPER: "A7B"}


class Secret(NamedTuple):
    """One secret in one surrounding; `{}` in the text stands for the secret."""

    kind: str
    text: str
    secret: str

    @property
    def whole(self) -> str:
        return self.text.replace("{}", self.secret)


def token(seed: str, length: int, letters: str = ALNUM) -> str:
    """Random letters that are the same in every run, and that always have a digit."""
    body = "".join(random.Random(seed).choices(letters, k=max(1, length - 3)))
    return (body + _TAILS.get(letters, "a7K"))[:length]


WORD_1 = "Tr0ub" + "4dor&3"
WORD_2 = "hunt" + "er2!x"
WORD_3 = "Som" + "mer2031"
_UUID = "-".join(token(f"uuid{n}", n, HEX) for n in (8, 4, 4, 4, 12))

HELD_BACK_SECRETS = (
    Secret("cloudflare token", "export CF_API_TOKEN={}", token("cf", 40, URLSAFE)),
    Secret("heroku key", "HEROKU_API_KEY={}", _UUID),
    Secret("mapbox secret token", "accessToken: 'sk.{}'", "eyJ1Ijoi" + token("mb", 60)),
    Secret("new relic key", "license {} is used", "NRAK-" + token("nr", 27, UPPER)),
    Secret("datadog key", "DD_API_KEY: {}", token("dd", 32, HEX)),
    Secret("pagerduty header", "Authorization: Token token={}", token("pd", 20, URLSAFE)),
    Secret("okta header", "Authorization: SSWS {}", "00" + token("ok", 40, URLSAFE)),
    Secret("npm authToken", "//registry.npmjs.org/:_authToken={}", _UUID),
    Secret("npm _auth", "//npm.example.com/:_auth={}", token("na", 40, BASE64) + "=="),
    Secret("docker auth", '"auths": {"ghcr.io": {"auth": "{}"}}', token("da", 48, BASE64) + "="),
    Secret("ansible password", "ansible_become_pass: {}", WORD_1),
    Secret("putty key", "Private-Lines: 2\n{}\nPrivate-MAC: 00", token("pu", 64, BASE64)),
    Secret("wireguard key", "[Interface]\nPrivateKey = {}\n", token("wg", 43, BASE64) + "="),
    Secret("jwk private part", '{"kty":"EC","crv":"P-256","d":"{}"}', token("jwk", 43, URLSAFE)),
    Secret("laravel app key", "APP_KEY=base64:{}", token("lv", 43, BASE64) + "="),
    Secret("rails secret", "  secret_key_base: {}", token("rk", 128, HEX)),
    Secret("django secret", "SECRET_KEY = 'django-insecure-{}'", token("dj", 50)),
    Secret("fernet key", "FERNET_KEY={}", token("fe", 43, URLSAFE) + "="),
    Secret("vault header", "X-Vault-Token: {}", "s." + token("va", 24)),
    Secret("redis-cli", "redis-cli -h cache -a {} ping", WORD_1),
    Secret("mongo shell", "mongosh --host db -u root -p {} admin", WORD_1),
    Secret("docker login", "docker login -u ada -p {} registry.example.com", WORD_1),
    Secret("libpq string", 'psql "host=db user=ada password={} dbname=shop"', WORD_1),
    Secret("odbc string", "Driver={SQL Server};UID=sa;PWD={};", WORD_1),
    Secret("figma token", "figma: {}", "figd_" + token("fg", 40, URLSAFE)),
    Secret("tailscale key", "tailscale up --authkey {}", "tskey-auth-" + token("ts", 30)),
    Secret("pulumi token", "PULUMI_ACCESS_TOKEN={}", "pul-" + token("pl", 40, HEX)),
    Secret("terraform cloud", '  token = "{}"', token("t1", 14) + ".atlasv1." + token("t2", 60)),
    Secret("replicate token", "replicate {} was used", "r8_" + token("re", 37)),
    Secret("openrouter key", "key {} for the router", "sk-or-v1-" + token("or", 64, HEX)),
    Secret("mailchimp key", "MAILCHIMP_KEY={}", token("mc", 32, HEX) + "-us12"),
    Secret("aws session", "aws_session_token = {}", "FwoGZXIvYXdz" + token("as", 200, BASE64)),
    Secret("spring property", "spring.datasource.password={}", WORD_1),
    Secret("xml element", "<server><password>{}</password></server>", WORD_1),
    Secret("xml attribute", '<user username="ada" password="{}" roles="admin"/>', WORD_1),
    Secret("pgpass", "db.example.com:5432:shop:ada:{}", WORD_1),
    Secret("openssl -pass", "openssl enc -aes-256-cbc -pass pass:{} -in a", WORD_1),
    Secret("zip -P", "zip -P {} out.zip a.txt", WORD_1),
    Secret("gpg passphrase", "gpg --batch --passphrase {} -d a.gpg", WORD_1),
    Secret("italian prose", "la password del server è {}", WORD_3),
    Secret("dutch prose", "het wachtwoord is {}", WORD_3),
    Secret("polish prose", "hasło: {}", WORD_3),
    Secret("japanese prose", "パスワード: {}", WORD_3),
    Secret("kubernetes secret", "data:\n  password: {}\n", token("ks", 24, BASE64)),
    Secret("from-literal", "kubectl create secret generic x --from-literal=password={}", WORD_1),
    Secret("sql identified by", "CREATE USER ada IDENTIFIED BY '{}';", WORD_1),
    Secret("sql with password", "ALTER ROLE ada WITH PASSWORD '{}';", WORD_1),
    Secret("chpasswd", 'echo "ada:{}" | chpasswd', WORD_1),
    Secret("powershell", 'ConvertTo-SecureString "{}" -AsPlainText -Force', WORD_1),
    Secret(
        "totp secret", "otpauth://totp/kinen:ada?secret={}&issuer=kinen", token("ot", 32, UPPER)
    ),
    Secret("ethereum key", "PRIVATE_KEY=0x{}", token("eth", 64, HEX)),
    Secret("chinese prose", "数据库密码：{}", WORD_3),
)
_SHA1 = token("held sha1", 40, HEX)
_SHA256 = token("held sha256", 64, HEX)
HELD_BACK_LOOK_ALIKES = (
    "if (user.password !== hash(input.password2)) throw new Error()",
    "const { token: accessToken2 } = await refresh(session)",
    "let secret: Vec<u8> = rand::thread_rng().gen();",
    'token := strings.TrimPrefix(header, "Bearer ")',
    'password = input("Password: ")',
    "private readonly passwordEncoder2: BCryptPasswordEncoder",
    '@Column(name = "password_hash", length = 60)',
    "ALTER TABLE users ADD COLUMN reset_token varchar(64);",
    "INSERT INTO tokens (user_id, token) VALUES ($1, $2)",
    "WHERE token = :token1 AND expires_at > now()",
    "it('rejects a password of 7 characters', async () => {",
    "def test_token_expires_after_3600_seconds(client):",
    "tests/auth/test_login.py::test_password_is_hashed[argon2id] PASSED",
    "secret = Secret.from_name('db', key2)",
    "api_key=os.getenv('OPENAI_API_KEY', default='')",
    '    api_key = config["providers"][0]["api_key"]',
    "  password: ${DB_PASSWORD:?set it}",
    "  token: ((github-token))",
    "password: '{{ vault_db_password_2 }}'",
    "password: ENC[AES256_GCM,data:abc=,type:str]",
    "secret_id: projects/1234567890/secrets/db/versions/3",
    "TOKEN_TTL_SECONDS=86400",
    "JWT_SECRET_FILE=/run/secrets/jwt_secret_v2",
    "  keyFile: /etc/ssl/private/server1.key",
    f"Binary files a/token.png and b/token.png differ ({_SHA1[:7]})",
    f'  resolved "https://registry.yarnpkg.com/js-tokens/-/js-tokens-4.0.0.tgz#{_SHA1}"',
    f'js-tokens@^4.0.0:\n  version "4.0.0"\n  integrity sha512-{token("jt", 86, BASE64)}==',
    f"tokenizers==0.15.2 --hash=sha256:{_SHA256}",
    f"key: cache-v2-{_SHA256}",
    f"cosign verify --key cosign.pub ghcr.io/a/b@sha256:{_SHA256}",
    f"X-Request-Id: {_UUID}",
    f'etag W/"{token("etag", 27, BASE64)}"',
    f"docker.io/library/redis:7@sha256:{_SHA256}",
    f'src="data:font/woff2;base64,{token("font", 200, BASE64)}"',
    f"SHA256:{token('fp', 43, BASE64)} ada@host (ED25519)",
    f"Signed-off-by: Ada <ada+{token('mail', 6, LOWER)}@users.noreply.example.com>",
    "https://user@example.com:8443/path?next=/a@b",
    "see http://localhost:3000/#/users/@me for the profile",
    "npm view @scope/pkg2@1.2.3 dist.tarball",
    "go get example.com/x/token/v2@v2.3.4",
    "The tokenizer splits tokens: 1500 of them per second",
    "Passwords: see the wiki. Tokens: ask ops.",
    "Das Passwort wurde gestern geändert",
    "Le mot de passe doit contenir 12 caractères",
    "La contraseña debe tener 8 caracteres",
    "A senha precisa de 10 caracteres",
    "the password is hashed, the token is signed with RS256",
    "Set the secret to something long, and the key to 32 bytes",
    "feat(auth)!: tokens: rotate every 24h",
    "cursor=next_page_token_2&limit=100",
    "mysql -h db -u root --protocol=tcp shop < dump.sql",
    'curl -u "$USER:$PASS" https://example.com',
)
