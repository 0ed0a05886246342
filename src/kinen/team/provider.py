"""Who somebody is, asked of a company's provider by OpenID Connect.

Authlib makes the requests and checks the claims, joserfc the signatures. A token counts only if it
comes from the configured issuer, for this client, signed with one of the issuer's keys.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from kinen.characters import visible_line
from kinen.errors import Busy, SignInError
from kinen.ipc.loopback import is_local
from kinen.model.tuples import NamedTuple

T = TypeVar("T")
SECONDS = 5.0
"""How long the provider may take to answer."""
SKEW_SECONDS = 60
"""How far its clock may differ from ours."""
METADATA_SECONDS = 3600.0
SIGNATURES = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 Ed25519 Ed448 EdDSA".split()
"""Those that need the provider's private key: `none` and shared secrets are refused."""
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
SLOW_DOWN = "slow_down"
WAITING = ("authorization_pending", SLOW_DOWN)
AGAIN = "`kinen team login` signs in again"
log = logging.getLogger("kinen.team")


class Account(NamedTuple):
    """Somebody as the provider names them."""

    issuer: str
    subject: str
    """Theirs for good, unlike the name."""
    person: str
    groups: tuple[str, ...]
    renewal: str = ""
    """Gets their groups again later, without them."""


class Provider:
    """An OpenID provider. Safe to share between threads."""

    def __init__(
        self,
        issuer: str,
        client: str,
        secret: str = "",
        *,
        redirect: str = "",
        scopes: tuple[str, ...] = ("profile",),
        person_claim: str = "preferred_username",
        groups_claim: str = "groups",
    ) -> None:
        """`redirect` is where it sends browsers back to."""
        self.issuer = issuer
        self._client = client
        self._secret = secret
        self._redirect = redirect
        self._scopes = ("openid", *scopes)
        self._person_claim = person_claim
        self._groups_claim = groups_claim
        self._metadata: dict[str, Any] = {}
        self._read_at = 0.0
        self._keys: KeySet | None = None
        self._lock = threading.Lock()

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """Where a browser signs in."""
        with self._session() as session:
            url, _ = session.create_authorization_url(
                self._endpoint(session, "authorization_endpoint"),
                state=state,
                nonce=nonce,
                code_verifier=verifier,
                scope=" ".join(self._scopes),
            )
        return str(url)

    def of_code(self, code: str, nonce: str, verifier: str) -> Account:
        """Who came back from `address` with a code."""
        with self._session() as session:
            token = session.fetch_token(
                self._endpoint(session, "token_endpoint"),
                grant_type="authorization_code",
                code=code,
                code_verifier=verifier,
                redirect_uri=self._redirect,
            )
            return self._account(session, token, nonce)

    def begin_device(self) -> dict[str, Any]:
        """A code that a person types at an address, and one to ask for the outcome (RFC 8628)."""
        with self._session() as session:
            endpoint = self._endpoint(session, "device_authorization_endpoint")
            scopes = self._read_metadata(session).get("scopes_supported", ())
            lasting = ("offline_access",) if "offline_access" in scopes else ()
            answer = session.request(
                "POST",
                endpoint,
                data={"client_id": self._client, "scope": " ".join((*self._scopes, *lasting))},
                auth=session.client_auth(session.token_endpoint_auth_method),
                withhold_token=True,
            )
            content = answer.json()
            if answer.status_code != httpx2.codes.OK:
                raise OAuthError(content.get("error"))
            return {
                name: content[name]
                for name in (
                    "device_code",
                    "user_code",
                    "verification_uri",
                    "verification_uri_complete",
                    "expires_in",
                    "interval",
                )
                if name in content
            }

    def of_device(self, code: str) -> Account | str:
        """Who typed the code of a device; as long as nobody did, why to wait (`WAITING`)."""
        with self._session() as session:
            try:
                token = session.fetch_token(
                    self._endpoint(session, "token_endpoint"), grant_type=DEVICE, device_code=code
                )
            except OAuthError as error:
                if error.error in WAITING:
                    return str(error.error)
                raise
            return self._account(session, token)

    def renew(self, renewal: str) -> Account:
        """The same person, with today's groups."""
        with self._session() as session:
            token = session.refresh_token(
                self._endpoint(session, "token_endpoint"), refresh_token=renewal
            )
            return self._account(session, token)

    def forget(self, renewal: str) -> None:
        """Have the provider end a renewal, if it can."""
        with self._session() as session:
            endpoint = self._read_metadata(session).get("revocation_endpoint")
            if endpoint:
                session.revoke_token(endpoint, token=renewal, token_type_hint="refresh_token")  # noqa: S106

    def sign_out_address(self) -> str:
        """Where a person signs out of the provider; empty if it has no such page."""
        with self._session() as session:
            return str(self._read_metadata(session).get("end_session_endpoint", ""))

    @contextmanager
    def _session(self) -> Iterator[OAuth2Client]:
        """A client for one exchange: it keeps the last token that it saw. Errors are told here."""
        methods = self._metadata.get("token_endpoint_auth_methods_supported", ())
        posts = "client_secret_post" in methods and "client_secret_basic" not in methods
        try:
            with OAuth2Client(
                self._client,
                self._secret or None,
                "client_secret_post" if self._secret and posts else None,
                redirect_uri=self._redirect,
                code_challenge_method="S256",
                timeout=SECONDS,
                trust_env=not is_local(self.issuer),
            ) as session:
                yield session
        except httpx2.HTTPError as error:
            log.warning("sign-in: %s does not answer: %s", self.issuer, type(error).__name__)
            raise Busy("the sign-in provider does not answer", "try again later") from None
        except OAuthError as error:
            raise _refusal(str(error.error)) from None
        except (JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
            # joserfc names the claim and no value; other errors may repeat what was sent
            fact = str(error) if isinstance(error, JoseError) else type(error).__name__
            log.warning("sign-in: an answer of %s is not valid: %s", self.issuer, fact)
            raise SignInError(
                f"the answer of the sign-in provider is not valid: {visible_line(fact[:100])}",
                "who runs this server finds it in the log",
            ) from None

    def _read_metadata(self, session: OAuth2Client) -> Mapping[str, Any]:
        with self._lock:
            if time.monotonic() - self._read_at > METADATA_SECONDS or not self._metadata:
                url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
                metadata = _json(session, url)
                addresses = [
                    value for name, value in metadata.items() if name.endswith("_endpoint")
                ]
                if metadata["issuer"] != self.issuer:
                    raise ValueError("issuer")
                if not is_local(self.issuer) and not all(
                    address.startswith("https://") for address in (*addresses, metadata["jwks_uri"])
                ):
                    raise ValueError("address")
                self._metadata = metadata
                self._read_at = time.monotonic()
            return self._metadata

    def _endpoint(self, session: OAuth2Client, name: str) -> str:
        address = self._read_metadata(session).get(name)
        if not address:
            what = name.removesuffix("_endpoint").replace("_", " ")
            raise SignInError(
                f"the sign-in provider has no {what}", "sign in on the page, or with a token"
            )
        return str(address)

    def _account(self, session: OAuth2Client, token: Mapping[str, Any], nonce: str = "") -> Account:
        decoded = self._decoded(session, token["id_token"])
        identity = CodeIDToken(
            decoded.claims,
            decoded.header,
            {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self._client},
            },
            {"nonce": nonce, "client_id": self._client, "access_token": token.get("access_token")},
        )
        identity.validate(leeway=SKEW_SECONDS)
        claims = dict(identity)
        endpoint = self._read_metadata(session).get("userinfo_endpoint")
        if endpoint and not claims.keys() >= {self._person_claim, self._groups_claim}:
            answer = session.get(endpoint)
            more = answer.json() if answer.status_code == httpx2.codes.OK else {}
            if more.get("sub") == claims["sub"]:
                claims = {**more, **claims}
        person = self._claim(claims, self._person_claim)
        groups = self._claim(claims, self._groups_claim)
        groups = [groups] if type(groups) is str else groups
        if type(person) is not str or type(groups) is not list:
            raise TypeError
        if self._person_claim == "email" and claims.get("email_verified") is False:
            raise SignInError(
                "the provider has not verified your e-mail address", "verify it there"
            )
        return Account(
            self.issuer,
            claims["sub"],
            person,
            tuple(group for group in groups if type(group) is str),
            str(token.get("refresh_token") or ""),
        )

    def _claim(self, claims: Mapping[str, Any], name: str) -> Any:
        if name not in claims:
            raise SignInError(
                f"the sign-in provider says nothing about {name!r}",
                "who runs this server adds the claim there, or names another in its settings",
            )
        return claims[name]

    def _decoded(self, session: OAuth2Client, text: str) -> jwt.Token:
        registry = JWSRegistry(algorithms=SIGNATURES, strict_check_header=False)
        keys = self._keys
        if keys:
            try:
                return jwt.decode(text, keys, registry=registry)
            except JoseError:
                pass  # the provider may have new keys
        address = self._read_metadata(session)["jwks_uri"]
        keys = KeySet.import_key_set(_json(session, address))  # type: ignore[arg-type]
        decoded = jwt.decode(text, keys, registry=registry)
        self._keys = keys
        return decoded


def _json(session: OAuth2Client, url: str) -> dict[str, Any]:
    answer = session.request("GET", url, withhold_token=True)
    answer.raise_for_status()
    content = answer.json()
    if type(content) is not dict:
        raise TypeError
    return content


def _refusal(code: str) -> SignInError:
    """What a provider refused, by its code; its own words are not repeated."""
    if code == "access_denied":
        return SignInError("the sign-in was refused", AGAIN)
    if code in ("invalid_grant", "expired_token"):
        return SignInError("the sign-in has expired or was ended", AGAIN)
    log.warning("sign-in: the provider answers %s", visible_line(code[:60]))
    return SignInError(
        f"the sign-in provider refuses this server: {visible_line(code[:60])}",
        "who runs this server checks the client and its secret",
    )
