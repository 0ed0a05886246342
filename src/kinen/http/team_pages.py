"""The pages of a team's server: those of `kinen web` that only read, after signing in.

A browser signs in with a token and gets a cookie of its own. The cookie opens no endpoint of the
API, and the token no page.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlsplit

from anyio import to_thread
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kinen.errors import KinenError, NotFound
from kinen.http.guard import FRAMES, PAGES, STATIC, Guard, Refused, Scope, cookie_value, same
from kinen.http.routes_web import first_page, html_response, static_response
from kinen.http.team_gate import Gate, form_token, refusal
from kinen.http.team_metrics import Metrics
from kinen.http.team_mirror import Mirrors
from kinen.memory import Memory
from kinen.team.tokens import Token
from kinen.web import site
from kinen.web.page import MOVED, Fields, Visit, error_page, frame, sign_in_page

if TYPE_CHECKING:
    from starlette.requests import Request


COOKIE = "kinen-team"
SIGN_IN = "/web/sign-in"
SIGN_OUT = "/web/sign-out"


def check_origin(scope: Scope) -> None:
    """Refuse frames, and forms of other sites; who asks is decided by the cookie."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if headers.get(b"sec-fetch-dest", b"") in FRAMES:
        raise Refused(403, "pages are not shown in frames", "open the page itself")
    if scope["method"] in ("GET", "HEAD"):
        return
    # behind a proxy the scheme is unknown here, the host is not
    sender = urlsplit(headers.get(b"origin", b"").decode("latin-1")).netloc
    host = headers.get(b"host", b"").decode("latin-1")
    if not sender or sender.lower() != host.lower():
        raise Refused(403, "form from a page of another origin", "send it from the page")
    if headers.get(b"sec-fetch-site", b"same-origin") != b"same-origin":
        raise Refused(403, "form from a page of another site", "send it from the page")


class TeamPages:
    """Pages of the spaces that a browser's token opens."""

    def __init__(self, gate: Gate, mirrors: Mirrors, metrics: Metrics) -> None:
        self._gate = gate
        self._mirrors = mirrors
        self._metrics = metrics

    def app(self) -> Guard:
        routes = [
            Route(PAGES, self._endpoint(self._first)),
            Route(SIGN_IN, self._endpoint(self._ask_token)),
            Route(SIGN_IN, self._endpoint(self._sign_in), methods=["POST"]),
            Route(SIGN_OUT, self._endpoint(self._sign_out), methods=["POST"]),
            Route(STATIC + "{name}", self._endpoint(_static)),
            Route("/web/s/{space:path}/{page}", self._endpoint(self._show)),
        ]
        app = Starlette(routes=routes)
        return Guard(app, check=check_origin, used=lambda: None, error_page=error_page)

    def _endpoint(
        self, act: Callable[[Request, Fields], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            start = time.perf_counter()
            body = (await request.body()).decode("utf-8", "replace")
            try:
                fields = Fields(parse_qsl(body, max_num_fields=20))
                response = await to_thread.run_sync(act, request, fields)
            except ValueError:
                response = _error(Refused(400, "too many fields", "send it from the page"))
            except (KinenError, Refused) as error:
                response = _error(refusal(error))
            self._metrics.count(PAGES, response.status_code, time.perf_counter() - start)
            return response

        return handle

    def _token(self, request: Request) -> Token | None:
        return self._gate.enter_browser(_cookie(request), _address(request))

    def _first(self, request: Request, _: Fields) -> Response:
        token = self._token(request)
        if token is None:
            return RedirectResponse(SIGN_IN, 303)
        names = self._gate.spaces(token)
        if not names:
            raise NotFound("no space yet", "somebody has to run `kinen sync` first")
        return RedirectResponse(first_page(names[0]), 303)

    def _ask_token(self, request: Request, _: Fields) -> Response:
        return html_response(sign_in_page(SIGN_IN, request.query_params.get("next", "")))

    def _sign_in(self, request: Request, fields: Fields) -> Response:
        """Take a token and go to the page that was asked for, with a cookie."""
        target = fields.get("next")
        try:
            token = self._gate.enter(fields.get("token"), _address(request))
        except Refused as error:
            if error.status != 401:
                raise
            return html_response(sign_in_page(SIGN_IN, target, error.message), 401)
        if "read" not in token.rights:
            raise Refused(403, "the token has no right to read", "ask for another one")
        cookie = self._gate.sign_in(token)
        self._gate.write_down(token, "sign-in", "")
        own = target.startswith(PAGES) and "\\" not in target
        response = RedirectResponse(target if own else PAGES, 303)
        forwarded = request.headers.get("x-forwarded-proto", "")
        response.set_cookie(
            COOKIE,
            cookie,
            path=PAGES,
            httponly=True,
            samesite="strict",
            secure="https" in (request.url.scheme, forwarded),
        )
        return response

    def _sign_out(self, request: Request, fields: Fields) -> Response:
        cookie = _cookie(request)
        if not cookie or not same(fields.get("token"), form_token(cookie)):
            raise Refused(403, "form without the token of this session", "reload the page")
        self._gate.sign_out(cookie)
        response = RedirectResponse(SIGN_IN, 303)
        response.delete_cookie(COOKIE, path=PAGES)
        return response

    def _show(self, request: Request, _: Fields) -> Response:
        token = self._token(request)
        if token is None:
            target = quote(f"{request.url.path}?{request.url.query}".rstrip("?"), safe="")
            return RedirectResponse(f"{SIGN_IN}?next={target}", 303)
        space = request.path_params["space"]
        page = MOVED.get(request.path_params["page"], request.path_params["page"])
        status = 200
        try:
            if not token.allows("read", space):
                # a space that exists is refused like one that does not
                raise Refused(403, "the token has no right to read this space")
            view = site.VIEWS.get(page) if page in site.SHARED else None
            if view is None:
                raise NotFound(f"no page {page!r}", "use the links of the navigation")
            visit = Visit(
                space,
                page,
                Fields(request.query_params.multi_items()),
                self._gate.spaces(token),
                form_token(_cookie(request)),
                reader=token.person,
            )

            def work(memory: Memory) -> tuple[str, int]:
                content = view(memory, visit)
                return frame(content, visit), content.status

            document, status = self._mirrors.call(space, work)
        except (KinenError, Refused) as error:
            status = refusal(error).status
            raise
        finally:
            self._gate.write_down(token, page[:40], space, status=status)
        return html_response(document, status)


def _static(request: Request, _: Fields) -> Response:
    return static_response(request.path_params["name"])


def _cookie(request: Request) -> str:
    return cookie_value(request.headers.get("cookie", "").encode("latin-1"), COOKIE)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _error(error: Refused) -> Response:
    return html_response(error_page(error.status, error.message, error.hint), error.status)
