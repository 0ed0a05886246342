"""What a team's server does with a provider that lies: forged, old and unsigned tokens."""

from __future__ import annotations

import hmac
import json
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from kinen.errors import ConfigError, Conflict, KinenError, SignInError
from kinen.http.team_sign_in import read_settings
from kinen.team import tokens
from kinen.team.provider import Account, Provider
from team_service import OTHER, SPACE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kinen.postgres.connection import Database

KEY = RSAKey.generate_key(2048, {"kid": "own", "use": "sig", "alg": "RS256"})
STRANGER = RSAKey.generate_key(2048, {"kid": "own", "use": "sig", "alg": "RS256"})
SECRET = "a secret of the client that nobody may see"


class Liar:
    """A provider on loopback that answers with whatever token a test wants."""

    def __init__(self) -> None:
        self.token = ""
        self.more: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        liar = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.endswith("openid-configuration"):
                    self._answer(liar.configuration())
                else:
                    self._answer(KeySet([KEY]).as_dict(private=False))

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._answer({"token_type": "Bearer", "id_token": liar.token, **liar.more})

            def _answer(self, content: Any) -> None:
                body = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            **self.metadata,
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def liar() -> Iterator[Liar]:
    liar = Liar()
    yield liar
    liar.close()


def claims(liar: Liar, **other: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {
        "iss": liar.issuer,
        "sub": "1",
        "aud": "kinen",
        "exp": now + 300,
        "iat": now,
        "nonce": "n",
        "preferred_username": "ada",
        "groups": ["developers"],
    }
    return {name: value for name, value in {**usual, **other}.items() if value is not None}


def signed(content: dict[str, Any], key: Any = KEY, algorithm: str = "RS256") -> str:
    header = {"alg": algorithm, "kid": "own"}
    return jwt.encode(header, content, key, algorithms=[algorithm])


def by_hand(algorithm: str, content: dict[str, Any], secret: bytes = b"") -> str:
    """What no library makes: without a signature, or with the public key as a shared secret."""

    def encoded(part: bytes) -> str:
        return urlsafe_b64encode(part).decode().rstrip("=")

    header = {"alg": algorithm, "kid": "own"}
    text = ".".join(encoded(json.dumps(part).encode()) for part in (header, content))
    return f"{text}.{encoded(hmac.digest(secret, text.encode(), 'sha256') if secret else b'')}"


def sign_in(liar: Liar, **options: Any) -> Account:
    return Provider(liar.issuer, "kinen", SECRET, **options).of_code("code", "n", "verifier")


def test_a_token_that_is_right_is_taken(liar: Liar) -> None:
    for other in ({}, {"aud": ["kinen"]}, {"aud": ["kinen", "web"], "azp": "kinen"}):
        liar.token = signed(claims(liar, **other))
        assert sign_in(liar)[:4] == (liar.issuer, "1", "ada", ("developers",))
    for skew in (-30, 30):  # a clock that differs
        now = int(time.time()) + skew
        liar.token = signed(claims(liar, iat=now, nbf=now, exp=now + 20))
        assert sign_in(liar).person == "ada"
    liar.token = signed(claims(liar, groups="developers"))
    assert sign_in(liar).groups == ("developers",)


HOUR = 3600
FORGED: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "somebody"},
    "several audiences": {"aud": ["kinen", "somebody"]},
    "made for another": {"azp": "somebody"},
    "expired": {"exp": int(time.time()) - HOUR},
    "from the future": {"iat": int(time.time()) + HOUR},
    "not valid yet": {"nbf": int(time.time()) + HOUR},
    "no end": {"exp": None},
    "another nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "no subject": {"sub": None},
    "a subject that is no text": {"sub": 7},
    "a person that is no text": {"preferred_username": ["ada"]},
    "groups that are no list": {"groups": {"developers": True}},
}


@pytest.mark.parametrize("case", FORGED)
def test_claims_that_are_wrong_are_refused(
    liar: Liar, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    liar.token = signed(claims(liar, **FORGED[case]))
    with pytest.raises(SignInError) as error:
        sign_in(liar)
    said = error.value.line() + caplog.text
    for secret in (SECRET, liar.token, "evil.example", "verifier"):
        assert secret not in said


def test_signatures_that_are_wrong_are_refused(liar: Liar) -> None:
    content = claims(liar)
    public = KEY.as_pem(private=False)
    for token in (
        by_hand("none", content),
        by_hand("None", content),
        signed(content, STRANGER),
        by_hand("HS256", content, public),
        signed(content)[:-8] + "AAAAAAAA",
        signed(content).rpartition(".")[0] + ".",
        "no.token.atall",
        "",
        7,
        None,
    ):
        liar.token = token
        with pytest.raises(SignInError):
            sign_in(liar)


def test_another_issuer_in_the_metadata_is_refused(liar: Liar) -> None:
    liar.token = signed(claims(liar))
    liar.metadata = {"issuer": "https://evil.example"}
    with pytest.raises(SignInError):
        sign_in(liar)
    liar.metadata = {"token_endpoint": None}
    with pytest.raises(SignInError, match="no token"):
        sign_in(liar)


def test_an_address_that_is_not_verified_is_nobody(liar: Liar) -> None:
    mail = {"email": "ada@acme.example", "email_verified": False}
    liar.token = signed(claims(liar, **mail))
    with pytest.raises(SignInError, match="verified"):
        sign_in(liar, person_claim="email")
    liar.token = signed(claims(liar, **mail, hd="acme.example") | {"email_verified": True})
    account = sign_in(liar, person_claim="email", groups_claim="hd")
    assert account[2:4] == ("ada@acme.example", ("acme.example",))


def test_a_renewal_needs_no_nonce_and_the_same_checks(liar: Liar) -> None:
    provider = Provider(liar.issuer, "kinen", SECRET)
    liar.token = signed(claims(liar, nonce=None))
    liar.more = {"refresh_token": "second"}
    assert provider.renew("first").renewal == "second"
    liar.token = signed(claims(liar, aud="somebody"))
    with pytest.raises(SignInError):
        provider.renew("second")
    for code, fact in (
        ("invalid_grant", "expired or was ended"),
        ("invalid_client", "refuses this server: invalid_client"),
        ("<b>\n\x1b[31m", "refuses this server"),
    ):
        liar.more = {"error": code, "error_description": f"the secret is {SECRET}"}
        with pytest.raises(SignInError, match=fact) as error:
            provider.renew("second")
        assert SECRET not in error.value.line()
        assert error.value.line().isprintable()


def test_a_name_belongs_to_the_account_that_had_it_first(database: Database) -> None:
    grants = {SPACE: ["read", "write"], OTHER: ["read"]}
    ada = Account("https://a.example", "1", "ada of names", ("developers",))
    _, token = tokens.admit(database, ada, grants, 1)
    assert (token.person, token.rights) == ("ada of names", ("read",))
    renamed = ada._replace(person="somebody else")
    assert tokens.admit(database, renamed, grants, 1)[1].person == "ada of names"
    for other in (ada._replace(subject="2"), ada._replace(issuer="https://b.example")):
        with pytest.raises(Conflict, match="belongs to another account"):
            tokens.admit(database, other, grants, 1)
    for name in ("", " ", "a\nb", "x" * 101):
        with pytest.raises(KinenError, match="invalid name"):
            tokens.admit(database, ada._replace(subject="3", person=name), grants, 1)


GOOD = """
url: https://team.example
issuer: https://login.example
client: kinen
groups: {developers: {spaces: [a, b]}, auditors: {spaces: ["*", b], rights: [read]}}
"""


def test_groups_open_spaces_with_their_own_rights(tmp_path: Path) -> None:
    file = tmp_path / "sign-in.yml"
    file.write_text(GOOD)
    settings = read_settings(str(file))
    both = ["read", "write"]
    assert settings.grants(("developers", "x")) == {"a": both, "b": both}
    assert settings.grants(("auditors", "developers")) == {"*": ["read"], "a": both, "b": both}
    assert settings.grants(("x",)) == {}


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (("https://login", "http://login"), "issuer is not encrypted"),
        (("https://team", "http://team"), "url is not encrypted"),
        (("client: kinen", "clients: kinen"), "client"),
        (("rights: [read]", "rights: [reads]"), "rights"),
        (("spaces: [a, b]", "spaces: []"), "spaces"),
        (("groups: {", "groups: ["), "not a file of YAML"),
    ],
)
def test_settings_that_are_wrong_are_named(
    tmp_path: Path, change: tuple[str, str], fact: str
) -> None:
    file = tmp_path / "sign-in.yml"
    file.write_text(GOOD.replace(*change))
    with pytest.raises(ConfigError, match=fact):
        read_settings(str(file))
    with pytest.raises(ConfigError, match="No such file"):
        read_settings(str(tmp_path / "none.yml"))


def test_without_a_provider_nothing_more_is_imported() -> None:
    program = (
        "import sys, kinen.http.team_server, kinen.cli.team, kinen.memory.team;"
        "more = {'authlib', 'joserfc', 'httpx2', 'kinen.http.team_sign_in'};"
        "sys.exit(bool(more & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
