"""The endpoints of a team: every request has a token, names a space, and is written down."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anyio import to_thread
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kinen import __version__
from kinen.errors import Busy, KinenError
from kinen.http.team_metrics import Metrics
from kinen.postgres.connection import Database
from kinen.team import tokens
from kinen.team.merge import from_json, to_json
from kinen.team.postgres import MOST_VERSIONS, PostgresTeam
from kinen.team.schema import SERVER_ROLE
from kinen.team.tokens import Token

if TYPE_CHECKING:
    from starlette.requests import Request

BODY_BYTES = 32 << 20
SPACE_LENGTH = 200
RATE = 20.0
"""Requests a second of one token, on average."""
BURST = 200.0
"""Requests at once after a pause."""
STRANGERS = 5.0
"""Refused tokens a second of one address."""
MOST_BUCKETS = 10_000
log = logging.getLogger("kinen.team")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.content = {"error": {"code": code, "message": message, "hint": hint}}


class Buckets:
    """How many requests each token or address may still make now."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic):
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> bool:
        """Whether another request is within the limit."""
        now = self._clock()
        level, before = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - before) * self._rate)
        allowed = level >= 1
        self._levels[name] = (level - allowed, now)
        if len(self._levels) > MOST_BUCKETS:
            self._levels.pop(next(iter(self._levels)))
        return allowed


class TeamServer:
    """The endpoints over one database; it holds nothing that another worker would need."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._people = Buckets(RATE, BURST)
        self._strangers = Buckets(STRANGERS, STRANGERS * 4)

    def app(self) -> Starlette:
        routes = [
            Route("/v1/health", self._health),
            Route("/metrics", self._endpoint("metrics", self._show_metrics)),
            Route("/v1/team/me", self._endpoint("read", self._me)),
            Route("/v1/team/pull", self._endpoint("read", self._pull)),
            Route("/v1/team/push", self._endpoint("write", self._push), methods=["POST"]),
            Route("/v1/team/withdraw", self._endpoint("write", self._withdraw), methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    def _endpoint(
        self, right: str, act: Callable[[Request, Token, str, Any], tuple[Any, int]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A function of a request as an endpoint: token, space, limits, errors, audit."""

        async def handle(request: Request) -> Response:
            start = time.perf_counter()
            try:
                # before its body is read: that may be large
                token = await to_thread.run_sync(self._known, request)
                body = await _body(request) if request.method == "POST" else None
                response = await to_thread.run_sync(self._answer, request, token, right, act, body)
            except Refused as refusal:
                headers = {"Retry-After": "1"} if refusal.status in (429, 503) else None
                response = JSONResponse(refusal.content, refusal.status, headers)
            path = request.url.path
            self._metrics.count(path, response.status_code, time.perf_counter() - start)
            return response

        return handle

    def _answer(
        self,
        request: Request,
        token: Token,
        right: str,
        act: Callable[[Request, Token, str, Any], tuple[Any, int]],
        body: Any,
    ) -> Response:
        space = _space(request)
        status = 200
        entries = 0
        try:
            if not token.allows(right, space) and not (
                right == "metrics" and right in token.rights
            ):
                raise Refused(403, "forbidden", f"the token has no right to {right} this space")
            content, entries = act(request, token, space, body)
            if isinstance(content, str):
                return PlainTextResponse(content)
            return JSONResponse(content)
        except Refused as refusal:
            status = refusal.status
            raise
        except KinenError as error:
            refused = _translated(error)
            status = refused.status
            raise refused from error
        finally:
            if right != "metrics":
                self._write_down(token, request.url.path, space, entries, status)

    def _known(self, request: Request) -> Token:
        try:
            return self._token(request)
        except KinenError as error:
            raise _translated(error) from error

    def _token(self, request: Request) -> Token:
        """The token of a request; whoever guesses is slowed down."""
        address = request.client.host if request.client else ""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = tokens.verify(self._database, text) if scheme.lower() == "bearer" else None
        if token is None:
            if not self._strangers.take(address):
                raise Refused(429, "too_many", "too many refused requests", "wait")
            raise Refused(401, "unauthorized", "the token is missing, wrong, expired or revoked")
        if not self._people.take(token.id):
            raise Refused(429, "too_many", "too many requests", "wait")
        return token

    def _write_down(self, token: Token, path: str, space: str, entries: int, status: int) -> None:
        action = path.rpartition("/")[2]
        with suppress(KinenError), self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO kinen.team_audit (person, token, action, space, entries, status)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                (token.person, token.id, action, space, entries, status),
            )

    def _team(self, token: Token, space: str) -> PostgresTeam:
        return PostgresTeam(self._database, space, token.person, SERVER_ROLE)

    def _me(self, _: Request, token: Token, space: str, __: Any) -> tuple[Any, int]:
        content = {
            "person": token.person,
            "space": space,
            "rights": list(token.rights),
            "expires_at": token.expires_at.isoformat(),
        }
        return content, 0

    def _pull(self, request: Request, token: Token, space: str, _: Any) -> tuple[Any, int]:
        after = _number(request, "after", 0, (1 << 62))
        limit = _number(request, "limit", 200, MOST_VERSIONS)
        erased = bool(_number(request, "erased", 0, 1))
        page = self._team(token, space).pull(after, limit, erased=erased)
        self._metrics.add("pulled", len(page.versions))
        versions = [to_json(version) for version in page.versions]
        content = {"versions": versions, "cursor": page.cursor, "more": page.more}
        return content, len(versions)

    def _push(self, _: Request, token: Token, space: str, body: Any) -> tuple[Any, int]:
        items = body.get("versions")
        if type(items) is not list or len(items) > MOST_VERSIONS:
            raise Refused(400, "invalid", f"versions is not a list of at most {MOST_VERSIONS:,}")
        versions = [from_json(item) for item in items]
        self._team(token, space).push(versions)
        self._metrics.add("pushed", len(versions))
        return {"entries": len(versions)}, len(versions)

    def _withdraw(self, _: Request, token: Token, space: str, body: Any) -> tuple[Any, int]:
        machine = body.get("machine", "")
        if type(machine) is not str or len(machine) > SPACE_LENGTH or not machine.isprintable():
            raise Refused(400, "invalid", "machine is not a name")
        count = self._team(token, space).withdraw(machine)
        return {"entries": count}, count

    def _show_metrics(self, *_: Any) -> tuple[Any, int]:
        return self._metrics.text(), 0


async def _body(request: Request) -> Any:
    """The JSON object of a request, within the limit."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_BYTES:
            raise Refused(413, "too_large", f"more than {BODY_BYTES >> 20} MiB", "send less")
    try:
        body = json.loads(bytes(data))
    except (ValueError, RecursionError):
        body = None
    if type(body) is not dict:
        raise Refused(400, "invalid", "the body is not a JSON object")
    return body


def _space(request: Request) -> str:
    space = unquote(request.headers.get("x-kinen-space", ""))
    if len(space) > SPACE_LENGTH or not space.isprintable():
        raise Refused(400, "invalid", "X-Kinen-Space is not the name of a space")
    return space


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise Refused(400, "invalid", f"{name} is not a number up to {most:,}")
    return int(text)


def _translated(error: KinenError) -> Refused:
    if isinstance(error, Busy):
        return Refused(503, "busy", error.fact(), error.hint)
    log.warning("%s", error.fact())
    if "version of an entry" in error.message or "of the team" in error.message:
        return Refused(400, "invalid", error.fact(), error.hint)
    return Refused(503, "busy", "the database does not answer", "try again later")
