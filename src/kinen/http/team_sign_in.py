"""Sign-in to a team's server at a company's provider: for its pages and for `kinen team login`."""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import Annotated, Any, Literal
from urllib.parse import urlencode, urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinen.errors import ConfigError, KinenError, SignInError
from kinen.http.guard import Refused
from kinen.http.team_gate import Gate
from kinen.ipc.loopback import is_local
from kinen.postgres.connection import Database
from kinen.team import tokens
from kinen.team.provider import SLOW_DOWN, Account, Provider
from kinen.team.tokens import Attempt, Token
from kinen.verbs.requests import complaint

SECRET = "KINEN_SIGN_IN_SECRET"  # noqa: S105
"""The environment variable with the secret of the client at the provider."""
RETURN = "/web/signed-in"
"""Where the provider sends browsers back to."""
LONGEST_CODE = 4096
Text = Annotated[str, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Group(_Model):
    """What the people of a group may do."""

    spaces: list[Text] = Field(min_length=1)
    rights: list[Literal["read", "write", "admin"]] = ["read", "write"]


class Settings(_Model):
    """The file that `--sign-in` names."""

    url: Text
    issuer: Text
    client: Text
    groups: dict[str, Group] = Field(min_length=1)
    groups_claim: Text = "groups"
    person_claim: Text = "preferred_username"
    scopes: list[Text] = ["profile"]
    hours: int = Field(default=12, ge=1, le=24 * 30)

    def grants(self, groups: tuple[str, ...]) -> dict[str, list[str]]:
        """Rights by space of somebody in some groups."""
        rights: dict[str, set[str]] = {}
        for group in map(self.groups.get, groups):
            for space in group.spaces if group else ():
                rights.setdefault(space, {"read"}).update(group.rights if group else ())
        return {
            space: [each for each in tokens.RIGHTS if each in rights[space]] for space in rights
        }


def read_settings(path: str) -> Settings:
    """The settings of a file; raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            settings = Settings.model_validate(yaml.safe_load(file))
    except ValidationError as error:
        raise ConfigError(
            f"{path}: {complaint(error.errors())}", "see docs/guides/team.md"
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        what = error.strerror if isinstance(error, OSError) else "not a file of YAML"
        raise ConfigError(f"{path}: {what}", "see docs/guides/team.md") from None
    for name, address in (("url", settings.url), ("issuer", settings.issuer)):
        if urlsplit(address).scheme != "https" and not is_local(address):
            raise ConfigError(f"{path}: {name} is not encrypted", "use https://")
    return settings


class SignIn:
    """Lets people in whom the provider knows, with the rights of their groups."""

    def __init__(self, database: Database, gate: Gate, settings: Settings) -> None:
        self._database = database
        self._gate = gate
        self._settings = settings
        self.place = urlsplit(settings.issuer).hostname or settings.issuer
        """The provider, as people read it."""
        self._provider = Provider(
            settings.issuer,
            settings.client,
            os.environ.get(SECRET, ""),
            redirect=settings.url.rstrip("/") + RETURN,
            scopes=tuple(settings.scopes),
            person_claim=settings.person_claim,
            groups_claim=settings.groups_claim,
        )

    def begin(self, target: str) -> tuple[str, str]:
        """Where a browser signs in, and what it keeps until it comes back."""
        state, nonce, verifier, cookie = (secrets.token_urlsafe(32) for _ in range(4))
        address = self._provider.address(state, nonce, verifier)
        attempt = Attempt(nonce, verifier, target[:LONGEST_CODE])
        tokens.begin(self._database, _digest(state, cookie), attempt)
        return address, cookie

    def finish(self, query: dict[str, str], cookie: str) -> tuple[Token, str]:
        """Who came back from the provider, and the page that was asked for."""
        attempt = tokens.take(self._database, _digest(query.get("state", ""), cookie))
        if attempt is None or query.get("iss", self._settings.issuer) != self._settings.issuer:
            raise SignInError("this sign-in has expired, or was used before", "sign in again")
        code = query.get("code", "")
        if not code:
            refused = query.get("error") == "access_denied"
            fact = "the sign-in was refused" if refused else "the sign-in provider reports an error"
            raise SignInError(fact, "sign in again")
        account = self._provider.of_code(code, attempt.nonce, attempt.verifier)
        return self._admit(account)[1], attempt.target

    def sign_out_address(self) -> str:
        """Where a person signs out of the provider too; empty if it does not say."""
        try:
            address = self._provider.sign_out_address()
        except KinenError:
            return ""
        back = self._settings.url.rstrip("/") + "/web/sign-in"
        query = {"client_id": self._settings.client, "post_logout_redirect_uri": back}
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}" if address else ""

    def begin_device(self, _: dict[str, Any]) -> dict[str, Any]:
        """A code for a person at a command line."""
        return self._provider.begin_device()

    def finish_device(self, body: dict[str, Any]) -> dict[str, Any]:
        """The token of a person who typed the code; `pending` until then."""
        account = self._provider.of_device(_code(body, "device_code"))
        if isinstance(account, str):
            return {"pending": True, "slow_down": account == SLOW_DOWN}
        return self._answer(account)

    def renew(self, body: dict[str, Any]) -> dict[str, Any]:
        """Another token, with the rights of today's groups."""
        renewal = _code(body, "renewal")
        account = self._provider.renew(renewal)
        return self._answer(account._replace(renewal=account.renewal or renewal))

    def end(self, body: dict[str, Any]) -> dict[str, Any]:
        """End a token that somebody got by signing in, and the renewal that came with it."""
        token = tokens.verify(self._database, _code(body, "token"))
        ends = token is not None and token.grants is not None
        if token and ends:
            tokens.revoke(self._database, token.id)
            self._gate.write_down(token, "sign-out", "")
        if body.get("renewal"):
            self._provider.forget(_code(body, "renewal"))
        return {"ended": ends}

    def _answer(self, account: Account) -> dict[str, Any]:
        text, token = self._admit(account)
        return {
            "token": text,
            "person": token.person,
            "spaces": list(token.spaces),
            "hours": self._settings.hours,
            "renewal": account.renewal,
        }

    def _admit(self, account: Account) -> tuple[str, Token]:
        grants = self._settings.grants(account.groups)
        if not grants:
            tokens.dismiss(self._database, account)
            raise Refused(
                403, "your groups open no space here", "who runs this server maps groups to spaces"
            )
        text, token = tokens.admit(self._database, account, grants, self._settings.hours)
        self._gate.write_down(token, "sign-in", "")
        return text, token


def _code(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if type(value) is not str or not 0 < len(value) <= LONGEST_CODE or not value.isascii():
        raise Refused(400, f"{name} is not a code")
    return value


def _digest(state: str, cookie: str) -> bytes:
    """The key of a state: in another browser it is worth nothing."""
    return hashlib.sha256(f"{state}.{cookie}".encode("utf-8", "replace")).digest()
