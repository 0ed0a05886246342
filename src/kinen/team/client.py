"""A team behind `kinen serve --team`, over HTTP."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from kinen.errors import Busy, ConfigError, KinenError, StoreError
from kinen.ipc.endpoints import is_local
from kinen.model.team import Page, Version
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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if urlsplit(url).scheme != "https" and not is_local(url):
            raise ConfigError(
                "team.url is not encrypted: a token and your entries would be readable on the way",
                "use https://, or a server on this machine",
            )
        if not token:
            raise ConfigError("no token for the team", "run `kinen team login` with your token")
        self._sleep = sleep
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=SECONDS,
            trust_env=not is_local(url),
            headers={"Authorization": f"Bearer {token}", "X-Kinen-Space": quote(space, safe="")},
        )

    def push(self, versions: Sequence[Version]) -> None:
        """Merge versions into the team's; they are stored when this returns."""
        items = [to_json(version) for version in versions]
        batch: list[Any] = []
        size = 0
        for item in items:
            length = len(str(item))
            if batch and size + length > BODY_BYTES:
                self._request("POST", "/v1/team/push", json={"versions": batch})
                batch = []
                size = 0
            batch.append(item)
            size += length
        if batch:
            self._request("POST", "/v1/team/push", json={"versions": batch})

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
        return StoreError(f"the team's server refused: {message}", "ask for a new token")
    if response.status_code in (429, 502, 503, 504):
        return Busy(f"the team's server is busy: {message}", "try again later")
    return StoreError(f"the team's server refused: {message}", "check team.url and its version")
