"""The endpoints of a team: every request has a token, names a space, and is written down."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kinen import __version__
from kinen.characters import visible_line
from kinen.errors import KinenError
from kinen.http.guard import PAGES, Receive, Refused, Scope, Send
from kinen.http.team_gate import LIMITS, Gate, Limits, failure, refusal
from kinen.http.team_metrics import Metrics
from kinen.http.team_mirror import Mirrors
from kinen.http.team_pages import TeamPages
from kinen.http.team_schema import SCHEMA
from kinen.memory import Memory
from kinen.postgres.connection import Database
from kinen.team import admin, audit
from kinen.team.merge import PROTOCOL, encode, from_list, to_json
from kinen.team.postgres import MOST_VERSIONS, PostgresTeam, states
from kinen.team.schema import SERVER_ROLE
from kinen.team.tokens import Token
from kinen.verbs.requests import SearchRequest, call_of, complaint, values_of
from kinen.verbs.search import Search

if TYPE_CHECKING:
    from starlette.requests import Request

    from kinen.http.team_sign_in import Settings, SignIn


BODY_BYTES = 32 << 20
SIGN_IN = "/v1/team/sign-in"
SIGN_IN_BYTES = 64 << 10
"""Of a body that is read without a token."""
NEWS = "/v1/team/news"
NEWS_BYTES = 1 << 20
MOST_SPACES = 1000
"""Of a machine that waits for news."""
SPACE_LENGTH = 200
OLDEST_PROTOCOL = 1
MOST_SIGN_INS = 8
"""Sign-ins at once in a worker: each waits for the provider, which may be slow."""
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
log = logging.getLogger("kinen.team")


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose token has the right that its endpoint needs."""

    request: Request
    token: Token
    space: str
    body: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets, and what the audit says of it."""

    content: Any
    entries: int = 0
    refs: Sequence[str] = ()
    changed: Sequence[str] = ()


Act = Callable[[Call], Answer]


class TeamServer:
    """The endpoints over one database; it holds nothing that another worker would need."""

    def __init__(
        self,
        database: Database,
        metrics: Metrics,
        mirrors: Mirrors,
        limits: Limits = LIMITS,
        sign_in: Settings | None = None,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._limits = limits
        self._gate = Gate(database, limits)
        self._mirrors = mirrors
        self.news = News(database)
        self._sign_in: SignIn | None = None
        if sign_in:
            from kinen.http.team_sign_in import SignIn

            self._sign_in = SignIn(database, self._gate, sign_in)

    def app(self) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
        """The endpoints, and the pages for browsers below `PAGES`."""
        routes = [
            Route("/", lambda _: RedirectResponse(PAGES, 303)),
            Route("/v1/health", self._health),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/v1/openapi.json", lambda _: JSONResponse(SCHEMA)),
            Route(SIGN_IN, self._offer),
            Route("/metrics", self._endpoint("metrics", self._show_metrics)),
            Route("/v1/search", self._endpoint("read", self._search), methods=["GET", "POST"]),
            Route("/v1/team/me", self._endpoint("read", self._me)),
            Route("/v1/team/pull", self._endpoint("read", self._pull)),
            Route("/v1/team/fetch", self._endpoint("read", self._fetch), methods=["POST"]),
            Route("/v1/team/compare", self._endpoint("read", self._compare)),
            Route("/v1/team/push", self._endpoint("write", self._push), methods=["POST"]),
            Route("/v1/team/withdraw", self._endpoint("write", self._withdraw), methods=["POST"]),
            Route(NEWS, self._await_news, methods=["POST"]),
        ]
        limiter = CapacityLimiter(MOST_SIGN_INS)
        if self._sign_in:
            for path, act in (
                ("device", self._sign_in.begin_device),
                ("token", self._sign_in.finish_device),
                ("renew", self._sign_in.renew),
                ("end", self._sign_in.end),
            ):
                act_on = self._open_endpoint(act, limiter)
                routes.append(Route(f"{SIGN_IN}/{path}", act_on, methods=["POST"]))
        api = Starlette(routes=routes)
        pages = TeamPages(self._gate, self._mirrors, self._metrics, self._sign_in, limiter).app()

        async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
            page = scope["type"] == "http" and scope["path"].startswith(PAGES)
            await self._logged(pages if page else api, scope, receive, send)

        return dispatch

    async def _logged(self, app: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has an id: that of the proxy in front, or a new one.

        One line of the log tells what became of it; no text of an entry and no token is in it.
        """
        begin = time.perf_counter()
        sent = dict(scope.get("headers", ())).get(b"x-request-id", b"").decode("latin-1")
        id_ = sent if REQUEST_ID.fullmatch(sent) else uuid4().hex
        about: dict[str, Any] = {"request_id": id_, "status": 0}
        scope.setdefault("state", {})["about"] = about

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                about["status"] = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id_.encode())]
            await send(message)

        try:
            waits = scope["type"] == "http" and scope["path"] == NEWS
            with nullcontext() if waits else self._metrics.in_progress():
                await app(scope, receive, answer)
        finally:
            self._metrics.pool(self._database.pool_stats())
            if log.isEnabledFor(logging.INFO):
                client = scope.get("client") or ("",)
                about |= {
                    "method": scope.get("method", ""),
                    "path": scope.get("path", ""),
                    "address": client[0],
                    "milliseconds": round((time.perf_counter() - begin) * 1000, 1),
                }
                log.info("request", extra={"about": about})

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def _ready(self, _: Request) -> Response:
        """Whether requests can be answered: the database is asked, as a request would."""
        try:
            await to_thread.run_sync(PostgresTeam(self._database, "", "", SERVER_ROLE).newest)
        except KinenError as error:
            log.warning("not ready: %s", error)
            return JSONResponse(failure(refusal(error)), 503)
        return JSONResponse({"status": "ready"})

    async def _offer(self, _: Request) -> Response:
        """Whether people sign in at a provider, and at which."""
        return JSONResponse({"provider": self._sign_in.place if self._sign_in else None})

    def _endpoint(self, right: str, act: Act) -> Callable[[Request], Awaitable[Response]]:
        """A function of a request as an endpoint: token, space, limits, errors, audit."""

        async def handle(request: Request) -> Response:
            start = time.perf_counter()
            try:
                # before its body is read: that may be large
                token = await to_thread.run_sync(self._token, request)
                body = await _body(request) if request.method == "POST" else None
                response = await to_thread.run_sync(self._answer, request, token, right, act, body)
            except (KinenError, Refused) as error:
                response = _failed(request, error)
            response.headers["X-Kinen-Protocol"] = str(PROTOCOL)
            path = request.url.path
            self._metrics.count(path, response.status_code, time.perf_counter() - start)
            return response

        return handle

    async def _await_news(self, request: Request) -> Response:
        """Which of some spaces changed, as soon as one does: no thread and no connection waits."""
        start = time.perf_counter()
        try:
            token = await to_thread.run_sync(self._token, request)
            request.state.about |= {"person": token.person, "token": token.id}
            body = await _body(request, NEWS_BYTES)
            # The spaces that a machine asks for, as it saw them last, and how long it waits.
            seen = body.get("seen")
            seconds = body.get("wait", 0)
            if type(seen) is not dict or not 0 < len(seen) <= MOST_SPACES:
                raise Refused(400, f"seen is not an object of 1 to {MOST_SPACES:,} spaces")
            if not all(type(state) is str and _is_name(name) for name, state in seen.items()):
                raise Refused(400, "seen has what is not the name or the state of a space")
            if type(seconds) not in (int, float) or not seconds >= 0:
                raise Refused(400, "wait is not a number of seconds")
            open_ = {name: state for name, state in seen.items() if token.allows("read", name)}
            news = await self.news.wait(open_, seconds) if open_ else {}
            refused = [name for name in seen if name not in open_]
            response: Response = JSONResponse({"news": news, "refused": refused})
        except (KinenError, Refused) as error:
            response = _failed(request, error)
        self._metrics.count(NEWS, response.status_code, time.perf_counter() - start)
        return response

    def _open_endpoint(
        self, act: Callable[[dict[str, Any]], dict[str, Any]], limiter: CapacityLimiter
    ) -> Callable[[Request], Awaitable[Response]]:
        """A function of a body as an endpoint for people who have no token yet."""

        async def handle(request: Request) -> Response:
            start = time.perf_counter()
            try:
                self._gate.meet(request.client.host if request.client else "")
                body = await _body(request, SIGN_IN_BYTES)
                content = await to_thread.run_sync(act, body, limiter=limiter)
                response: Response = JSONResponse(content, headers={"Cache-Control": "no-store"})
            except (KinenError, Refused) as error:
                response = _failed(request, error)
            self._metrics.count(SIGN_IN, response.status_code, time.perf_counter() - start)
            return response

        return handle

    def _token(self, request: Request) -> Token:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        address = request.client.host if request.client else ""
        return self._gate.enter(text if scheme.lower() == "bearer" else "", address)

    def _answer(self, request: Request, token: Token, right: str, act: Act, body: Any) -> Response:
        space = unquote(request.headers.get("x-kinen-space", ""))
        if not _is_name(space):
            raise Refused(400, "X-Kinen-Space is not the name of a space")
        request.state.about |= {"person": token.person, "token": token.id, "space": space}
        # Refuse machines that this server no longer understands; newer ones are understood.
        text = request.headers.get("x-kinen-protocol", "1")
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
        if number < OLDEST_PROTOCOL:
            raise Refused(400, f"this server speaks protocol {PROTOCOL}", "update kinen")
        answer = Answer(None)
        status = 200
        try:
            if not token.allows(right, space) and not (
                right == "metrics" and right in token.rights
            ):
                raise Refused(403, f"the token has no right to {right} this space")
            answer = act(Call(request, token, space, body))
        except (KinenError, Refused) as error:
            status = refusal(error).status
            raise
        finally:
            quiet = right == "read" and status == 200 and not answer.entries
            if right != "metrics" and not quiet:  # nothing was read
                action = request.url.path.rpartition("/")[2]
                self._gate.write_down(
                    token,
                    action,
                    space,
                    entries=answer.entries,
                    status=status,
                    refs=answer.refs,
                    changed=answer.changed,
                )
        if isinstance(answer.content, str):
            return PlainTextResponse(answer.content)
        # ASCII: whatever an older server let into the database can be sent
        return Response(encode(answer.content), media_type="application/json")

    def _team(self, call: Call) -> PostgresTeam:
        admin = call.token.allows("admin", call.space)
        return PostgresTeam(self._database, call.space, call.token.person, SERVER_ROLE, admin=admin)

    def _me(self, call: Call) -> Answer:
        token = call.token
        about = {"person": token.person, "space": call.space, "rights": list(token.rights)}
        return Answer({**about, "expires_at": token.expires_at.isoformat()})

    def _pull(self, call: Call) -> Answer:
        after = _number(call.request, "after", 0, (1 << 62))
        limit = _number(call.request, "limit", 200, MOST_VERSIONS)
        erased = bool(_number(call.request, "erased", 0, 1))
        page = self._team(call).pull(after, limit, erased=erased)
        self._metrics.add("pulled", len(page.versions))
        if not erased:
            self._metrics.behind(page.newest - after)
        versions = [to_json(version) for version in page.versions]
        content = {
            "versions": versions,
            "cursor": page.cursor,
            "more": page.more,
            "unread": dict(page.unread),
            "epoch": page.epoch,
            "newest": page.newest,
        }
        return Answer(content, len(versions))

    def _fetch(self, call: Call) -> Answer:
        refs = call.body.get("refs")
        fit = type(refs) is list and len(refs) <= MOST_VERSIONS
        if not fit or not all(type(ref) is str and "\0" not in ref for ref in refs):
            raise Refused(400, f"refs is not a list of at most {MOST_VERSIONS:,}")
        page = self._team(call).fetch(refs)
        self._metrics.add("pulled", len(page.versions))
        versions = [to_json(version) for version in page.versions]
        content = {"versions": versions, "more": page.more, "unread": dict(page.unread)}
        return Answer(content, len(versions))

    def _compare(self, call: Call) -> Answer:
        range_ = call.request.query_params.get("range", "")
        if range_:
            return Answer({"prints": self._team(call).prints(range_[:2])})
        state = self._team(call).compare()
        about = {"epoch": state.epoch, "newest": state.newest}
        return Answer({**about, "digests": dict(state.digests)})

    def _push(self, call: Call) -> Answer:
        items = call.body.get("versions")
        if type(items) is not list or len(items) > MOST_VERSIONS:
            raise Refused(400, f"versions is not a list of at most {MOST_VERSIONS:,}")
        versions, invalid = from_list(items)
        quota = self._limits.quota
        if quota and audit.entry_count(self._database, call.space) >= quota:
            full = f"the quota of this space is reached: {quota:,} entries"
            invalid |= {visible_line(each.ref): full for each in versions if not each.erased}
            versions = [version for version in versions if version.erased]
        pushed = self._team(call).push(versions)
        count = len(versions) - len(pushed.invalid)
        self._metrics.add("pushed", count)
        content = {
            "entries": count,
            "refused": pushed.refused,
            "invalid": {**invalid, **pushed.invalid},
        }
        return Answer(content, count, pushed.erased, pushed.changed)

    def _withdraw(self, call: Call) -> Answer:
        machine = call.body.get("machine", "")
        if type(machine) is not str or len(machine) > SPACE_LENGTH or not machine.isprintable():
            raise Refused(400, "machine is not a name")
        count = self._team(call).withdraw(machine)
        return Answer({"entries": count}, count)

    def _search(self, call: Call) -> Answer:
        values: Any = call.body
        if values is None:  # then its fields are in the address
            pairs = call.request.query_params
            lists = {name for name, row in Search.params.items() if row.many and not row.joined}
            values = {name: pairs.getlist(name) if name in lists else pairs[name] for name in pairs}
        try:
            request = SearchRequest.model_validate(values)
        except ValidationError as error:
            raise Refused(400, complaint(error.errors())) from None
        if request.space:
            raise Refused(400, "a search is of one space", "name it by X-Kinen-Space")
        if request.near or request.as_of:
            raise Refused(400, "a team's space has no repository", "leave out near and as_of")

        def work(memory: Memory) -> Any:
            return call_of(Search, values_of(Search, request), memory).answer(memory).data

        content = self._mirrors.call(call.space, work)
        for hit in content["results"]:
            hit["source"]["root"] = ""  # a folder of this server
        return Answer(content, len(content["results"]))

    def _show_metrics(self, _: Call) -> Answer:
        return Answer(self._metrics.text(lambda: admin.spaces(self._database)))


def _failed(request: Request, error: KinenError | Refused) -> Response:
    refused = refusal(error)
    if refused.status >= 500:
        log.warning(
            "%s %s: %s",
            request.method,
            request.url.path,
            error,
            extra={"about": {"request_id": request.state.about["request_id"]}},
        )
    headers = {"Retry-After": "1"} if refused.status in (429, 503) else None
    return JSONResponse(failure(refused), refused.status, headers)


async def _body(request: Request, most: int = BODY_BYTES) -> Any:
    """The JSON object of a request, within the limit."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise Refused(413, f"more than {most:,} bytes", "send less")
    try:
        body = json.loads(bytes(data))
    except (ValueError, RecursionError):
        body = None
    if type(body) is not dict:
        raise Refused(400, "the body is not a JSON object")
    return body


def _is_name(space: str) -> bool:
    return len(space) <= SPACE_LENGTH and space.isprintable()


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise Refused(400, f"{name} is not a number up to {most:,}")
    return int(text)


EVERY_SECONDS = 1.0
"""How often the database is asked while somebody waits, once for everybody who does."""
LONGEST_WAIT = 25.0
"""Proxies end a connection that is silent for a minute, some after half of one."""


class News:
    """The states of all spaces. LISTEN would need a connection that PgBouncer does not give."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._states: dict[str, str] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._closed = asyncio.Event()

    async def wait(self, seen: Mapping[str, str], seconds: float) -> dict[str, str]:
        """The states of spaces that are not as a machine saw them, once there is one."""
        end = time.monotonic() + min(seconds, LONGEST_WAIT)
        while True:
            async with self._reading:
                if time.monotonic() - self._read_at >= EVERY_SECONDS:
                    self._states = await to_thread.run_sync(states, self._database)
                    self._read_at = time.monotonic()
            now = self._states
            news = {name: now.get(name, now[""]) for name in seen}
            news = {name: state for name, state in news.items() if state != seen[name]}
            if news or time.monotonic() >= end or self._closed.is_set():
                return news
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), EVERY_SECONDS)

    def close(self) -> None:
        """Answer everybody who waits: this worker ends."""
        self._closed.set()
