"""A team behind `kinen serve --team`, over HTTP."""

from __future__ import annotations

import json
import os
import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from kinen.characters import visible_line
from kinen.errors import Busy, ConfigError, KinenError, StoreError
from kinen.ipc.loopback import is_local
from kinen.model.team import Comparison, Page, Pushed, Version
from kinen.team.merge import LONGEST_NAME, PROTOCOL, encode, from_list, to_json

SECONDS = 30.0
ATTEMPTS = 4
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
BODY_BYTES = 4 << 20
"""Text of one request; a single larger entry still makes a request."""
ANSWER_BYTES = 32 << 20
ANSWER_SECONDS = 300.0
"""What is read of an answer at most: a page has 4 MiB, or one entry of up to 8."""
JSON = {"Content-Type": "application/json"}
LAST = 1 << 62
"""Numbers of entries are smaller."""


class Server:
    """Requests to a team's server; what may pass is tried again."""

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
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
        self._sleep = sleep
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=SECONDS,
            trust_env=not is_local(url),
            verify=_trust(certificate) if urlsplit(url).scheme == "https" else False,
            headers=headers,
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """The answer; a failure that may pass is tried again after a while, then raised."""
        delay = FIRST_DELAY
        for attempt in range(1, ATTEMPTS + 1):
            error: KinenError
            try:
                with self._client.stream(method, path, **options) as response:
                    body = _body(response)
            except httpx.HTTPError as fault:
                _refuse_certificate(fault)
                error = Busy(
                    f"cannot reach the team's server: {type(fault).__name__}",
                    "your entries stay here and are sent later",
                )
            else:
                if response.status_code == 200:
                    if body is None:
                        raise StoreError("the team's server sent no JSON", "check team.url")
                    return body
                error = _failure(response.status_code, body)
                if response.status_code not in (429, 502, 503, 504):
                    raise error
                text = response.headers.get("Retry-After", "")
                delay = max(delay, min(float(text), LONGEST_DELAY) if text.isdecimal() else 0.0)
            if attempt == ATTEMPTS:
                raise error
            self._sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311
            delay = min(delay * 2, LONGEST_DELAY)
        raise AssertionError


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
        headers = {
            "Authorization": f"Bearer {token}",
            "X-Kinen-Space": quote(space, safe=""),
            "X-Kinen-Protocol": str(PROTOCOL),
        }
        self._server = Server(url, headers, certificate=certificate, sleep=sleep)
        if not token:
            raise ConfigError("no token for the team", "run `kinen team login`")
        self._request = self._server.request
        self._person = ""

    @property
    def person(self) -> str:
        """The name that the token was made for."""
        # no cached_property: before Python 3.12 the first call locks those of all other servers
        if not self._person:
            body = self._request("GET", "/v1/team/me")
            name = body.get("person")
            if type(name) is not str or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
                raise StoreError("the team's server sent no name", "check team.url")
            self._person = name
        return self._person

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Merge versions into the team's; they are stored when this returns.

        Those that the server refused are named in the result.
        """
        refused = 0
        invalid: dict[str, str] = {}
        batch: list[str] = []
        size = 0
        for item in [*map(encode, map(to_json, versions)), ""]:
            if batch and (not item or size + len(item) > BODY_BYTES):
                text = f'{{"versions":[{",".join(batch)}]}}'
                body = self._request("POST", "/v1/team/push", content=text, headers=JSON)
                refused += _count(body, "refused")
                invalid |= _reasons(body, "invalid")
                batch = []
                size = 0
            batch.append(item)
            size += len(item)
        return Pushed(refused, invalid=invalid)

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased.

        What is not a version is named, and the page goes on after it.
        """
        parameters = {"after": after, "limit": limit, "erased": int(erased)}
        body = self._request("GET", "/v1/team/pull", params=parameters)
        items, cursor, more = (body.get(name) for name in ("versions", "cursor", "more"))
        if (
            type(items) is not list
            or len(items) > limit
            or type(cursor) is not int
            or not after <= cursor < LAST
            or type(more) is not bool
            or (more and cursor == after)
        ):
            raise StoreError("the team's server sent no page of entries", "check team.url")
        versions, invalid = from_list(items)
        unread = {**_reasons(body, "unread"), **invalid}
        # an older server says neither
        epoch = str(body.get("epoch", ""))[:LONGEST_NAME]
        newest = _count(body, "newest")
        return Page(tuple(versions), cursor, more, unread, epoch, newest)

    def fetch(self, refs: Sequence[str]) -> Page:
        """The team's versions of some entries; what cannot be read is named."""
        body = self._request("POST", "/v1/team/fetch", json={"refs": list(refs)})
        items = body.get("versions")
        if type(items) is not list or len(items) > len(refs):
            raise StoreError("the team's server sent no page of entries", "check team.url")
        versions, invalid = from_list(items)
        more = body.get("more") is True and bool(versions)
        unread = {**_reasons(body, "unread"), **invalid}
        return Page(tuple(versions), more=more, unread=unread)

    def news(self, seen: Mapping[str, str], seconds: float) -> tuple[dict[str, str], list[str]]:
        """The states of spaces that differ from what was seen, and the spaces that are refused.

        Of any spaces of the server; it waits until there is one.
        """
        body = self._request("POST", "/v1/team/news", json={"seen": dict(seen), "wait": seconds})
        refused = body.get("refused")
        if type(refused) is not list:
            raise StoreError("the team's server sent no news", "check team.url")
        return _texts(body, "news"), refused

    def compare(self) -> Comparison:
        """Digests of all that the team holds, by range."""
        body = self._request("GET", "/v1/team/compare")
        epoch = str(body.get("epoch", ""))[:LONGEST_NAME]
        return Comparison(epoch, min(_count(body, "newest"), LAST), _texts(body, "digests"))

    def prints(self, range_: str) -> dict[str, str]:
        """The fingerprints of the entries of a range, by ref."""
        return _texts(self._request("GET", "/v1/team/compare", params={"range": range_}), "prints")

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""
        return _count(
            self._request("POST", "/v1/team/withdraw", json={"machine": machine}), "entries"
        )

    def close(self) -> None:
        """End the connections."""
        self._server.close()


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


def _body(response: httpx.Response) -> dict[str, Any] | None:
    """The JSON object of an answer; None for anything else, also if it does not end."""
    data = bytearray()
    end = time.monotonic() + ANSWER_SECONDS
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > ANSWER_BYTES or time.monotonic() > end:
            return None
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return body if type(body) is dict else None


def _count(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    return value if type(value) is int else 0


def _reasons(body: dict[str, Any], name: str) -> dict[str, str]:
    """Why versions were left out, by ref, as they can be shown."""
    reasons = body.get(name)
    if type(reasons) is not dict:
        return {}
    return {
        visible_line(ref[: 2 * LONGEST_NAME]): visible_line(str(reason)[:LONGEST_NAME])
        for ref, reason in reasons.items()
    }


def _texts(body: dict[str, Any], name: str) -> dict[str, str]:
    texts = body.get(name)
    if type(texts) is not dict or not all(type(text) is str for text in texts.values()):
        raise StoreError("the team's server sent no digests", "check team.url")
    return texts


def _failure(status: int, body: dict[str, Any] | None) -> KinenError:
    """What a server refused, in its own words if it has any."""
    try:
        message = str((body or {})["error"]["message"])[:300]
    except (KeyError, TypeError):
        message = f"status {status}"
    if status in (401, 403):
        hint = "`kinen team login` again, or with a new token"
        if status == 403:
            hint = "`kinen team status` shows the name of the space; ask for a token that allows it"
        return StoreError(f"the team's server refused: {message}", hint)
    if status in (429, 502, 503, 504):
        return Busy(f"the team's server is busy: {message}", "try again later")
    return StoreError(f"the team's server refused: {message}", "check team.url and its version")
