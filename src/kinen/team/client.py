"""A team behind `kinen serve --team`, over HTTP."""

from __future__ import annotations

import os
import random
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from kinen.errors import Busy, ConfigError, KinenError, StoreError
from kinen.ipc.endpoints import is_local
from kinen.model.team import Page, Pushed, Version
from kinen.team.merge import from_json, to_json

SECONDS = 30.0
ATTEMPTS = 4
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
BODY_BYTES = 4 << 20
"""Text of one request; a single larger entry still makes a request."""


class HttpTeam:
    """The entries of one space on a team's server."""

    def __init__(
        self,
        url: str,
        space: str,
        token: str,
        *,
        certificate: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`certificate` is a PEM file that is trusted besides the authorities of the system."""
        if urlsplit(url).scheme != "https" and not is_local(url):
            raise ConfigError(
                "team.url is not encrypted: a token and your entries would be readable on the way",
                "use https://, or a server on this machine",
            )
        if not token:
            raise ConfigError("no token for the team", "run `kinen team login` with your token")
        self._sleep = sleep
        self._person = ""
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=SECONDS,
            trust_env=not is_local(url),
            verify=_trust(certificate) if urlsplit(url).scheme == "https" else False,
            headers={"Authorization": f"Bearer {token}", "X-Kinen-Space": quote(space, safe="")},
        )

    @property
    def person(self) -> str:
        """The name that the token was made for."""
        # no cached_property: before Python 3.12 the first call locks those of all other servers
        if not self._person:
            self._person = self._fetch_person()
        return self._person

    def _fetch_person(self) -> str:
        body = self._request("GET", "/v1/team/me")
        name = body.get("person")
        if type(name) is not str or not name:
            raise StoreError("the team's server sent no name", "check team.url")
        return name

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Merge versions into the team's; they are stored when this returns."""
        refused = 0
        items = [to_json(version) for version in versions]
        batch: list[Any] = []
        size = 0
        for item in items:
            length = len(str(item))
            if batch and size + length > BODY_BYTES:
                refused += self._push(batch)
                batch = []
                size = 0
            batch.append(item)
            size += length
        if batch:
            refused += self._push(batch)
        return Pushed(refused)

    def _push(self, batch: list[Any]) -> int:
        body = self._request("POST", "/v1/team/push", json={"versions": batch})
        return int(body.get("refused", 0))

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased."""
        parameters = {"after": after, "limit": limit, "erased": int(erased)}
        body = self._request("GET", "/v1/team/pull", params=parameters)
        try:
            versions = tuple(from_json(item) for item in body["versions"])
            return Page(versions, int(body["cursor"]), bool(body["more"]))
        except (KeyError, TypeError, ValueError):
            raise StoreError(
                "the team's server sent no page of entries", "check team.url"
            ) from None

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""
        body = self._request("POST", "/v1/team/withdraw", json={"machine": machine})
        return int(body.get("entries", 0))

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """The answer; a failure that may pass is tried again after a while, then raised."""
        delay = FIRST_DELAY
        for attempt in range(1, ATTEMPTS + 1):
            error: KinenError
            try:
                response = self._client.request(method, path, **options)
            except httpx.HTTPError as fault:
                _refuse_certificate(fault)
                error = Busy(
                    f"cannot reach the team's server: {type(fault).__name__}",
                    "your entries stay here and are sent later",
                )
            else:
                if response.status_code == 200:
                    return _body(response)
                error = _failure(response)
                if response.status_code not in (429, 502, 503, 504):
                    raise error
                delay = max(delay, _retry_after(response))
            if attempt == ATTEMPTS:
                raise error
            self._sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311
            delay = min(delay * 2, LONGEST_DELAY)
        raise AssertionError


def _trust(certificate: str) -> ssl.SSLContext:
    """What a server's certificate is checked with."""
    context = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or None)
    if not certificate:
        return context
    try:
        context.load_verify_locations(os.path.expanduser(certificate))
    except (OSError, ssl.SSLError):
        raise ConfigError(
            f"team.certificate is not a certificate: {certificate}", "name a PEM file"
        ) from None
    return context


def _refuse_certificate(fault: httpx.HTTPError) -> None:
    """Raise an error that waiting does not repair."""
    cause: BaseException | None = fault
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        raise ConfigError(
            f"the certificate of the team's server is not trusted: {cause.verify_message}",
            "set team.certificate to the PEM file of the server or of its authority",
        ) from None


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if type(body) is not dict:
        raise StoreError("the team's server sent no JSON", "check team.url")
    return body


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_DELAY) if text.isdecimal() else 0.0


def _failure(response: httpx.Response) -> KinenError:
    """What a server refused, in its own words if it has any."""
    try:
        detail = response.json()["error"]
        message = str(detail["message"])[:300]
    except (ValueError, KeyError, TypeError):
        message = f"status {response.status_code}"
    if response.status_code in (401, 403):
        hint = "`kinen team login` with a new token"
        if response.status_code == 403:
            hint = "`kinen team status` shows the name of the space; ask for a token that allows it"
        return StoreError(f"the team's server refused: {message}", hint)
    if response.status_code in (429, 502, 503, 504):
        return Busy(f"the team's server is busy: {message}", "try again later")
    return StoreError(f"the team's server refused: {message}", "check team.url and its version")
