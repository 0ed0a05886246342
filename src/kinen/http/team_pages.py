"""The pages of a team's server: those of `kinen web` that only read, after signing in.

A browser signs in with a token and gets a cookie of its own. The cookie opens no endpoint of the
API, and the token no page.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kinen.errors import KinenError, NotFound, SignInError
from kinen.http.guard import FRAMES, PAGES, STATIC, Guard, Refused, Scope, cookie_value, same
from kinen.http.routes_web import first_page, html_response, static_response
from kinen.http.team_gate import Gate, form_token, refusal
from kinen.http.team_metrics import Metrics
from kinen.http.team_mirror import Mirrors
from kinen.memory import Memory
from kinen.team.tokens import Token
from kinen.web import site
from kinen.web.page import MOVED, Fields, Visit, error_page, frame, open_page, sign_in_page

if TYPE_CHECKING:
    from starlette.requests import Request

    from kinen.http.team_sign_in import SignIn

COOKIE = "kinen-team"
SIGN_IN = "/web/sign-in"
SIGN_OUT = "/web/sign-out"
AT_PROVIDER = "/web/sign-in/provider"
SIGNED_IN = "/web/signed-in"
ON_THE_WAY = "kinen-sign-in"
"""The cookie of a browser that is at the provider."""


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

    def __init__(
        self,
        gate: Gate,
        mirrors: Mirrors,
        metrics: Metrics,
        sign_in: SignIn | None,
        sign_ins: CapacityLimiter,
    ) -> None:
        """`sign_ins` limits how many wait for the provider of `sign_in` at once."""
        self._gate = gate
        self._mirrors = mirrors
        self._metrics = metrics
        self._provider = sign_in
        self._sign_ins = sign_ins

    def app(self) -> Guard:
        def static(request: Request, _: Fields) -> Response:
            return static_response(request.path_params["name"])

        routes = [
            Route(PAGES, self._endpoint(self._first)),
            Route(SIGN_IN, self._endpoint(self._ask_token)),
            Route(SIGN_IN, self._endpoint(self._sign_in), methods=["POST"]),
            Route(SIGN_OUT, self._endpoint(self._sign_out), methods=["POST"]),
            Route(STATIC + "{name}", self._endpoint(static)),
            Route("/web/s/{space:path}/{page}", self._endpoint(self._show)),
        ]
        if self._provider:
            routes += [
                Route(AT_PROVIDER, self._endpoint(self._go, self._sign_ins)),
                Route(SIGNED_IN, self._endpoint(self._return, self._sign_ins)),
            ]
        app = Starlette(routes=routes)
        return Guard(app, check=check_origin, used=lambda: None, error_page=error_page)

    def _endpoint(
        self, act: Callable[[Request, Fields], Response], limiter: CapacityLimiter | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            start = time.perf_counter()
            body = (await request.body()).decode("utf-8", "replace")
            try:
                fields = Fields(parse_qsl(body, max_num_fields=20))
                response = await to_thread.run_sync(act, request, fields, limiter=limiter)
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
        target = request.query_params.get("next", "")
        return self._form(target, signed_out="signed-out" in request.query_params)

    def _form(
        self, target: str, problem: str = "", status: int = 200, *, signed_out: bool = False
    ) -> Response:
        """The page that asks people to sign in."""
        provider = self._provider
        page = sign_in_page(
            SIGN_IN,
            target,
            problem,
            provider=provider.place if provider else "",
            at_provider=f"{AT_PROVIDER}?next={quote(target, safe='')}",
            sign_out=provider.sign_out_address() if provider and signed_out else "",
        )
        return html_response(page, status)

    def _sign_in(self, request: Request, fields: Fields) -> Response:
        """Take a token and go to the page that was asked for, with a cookie."""
        target = fields.get("next")
        try:
            token = self._gate.enter(fields.get("token"), _address(request))
        except Refused as error:
            if error.status != 401:
                raise
            return self._form(target, error.message, 401)
        if "read" not in token.rights:
            raise Refused(403, "the token has no right to read", "ask for another one")
        self._gate.write_down(token, "sign-in", "")
        response = RedirectResponse(_own(target), 303)
        self._let_in(request, response, token)
        return response

    def _go(self, request: Request, _: Fields) -> Response:
        """Send a browser to the provider."""
        assert self._provider
        self._gate.meet(_address(request))
        address, cookie = self._provider.begin(request.query_params.get("next", ""))
        response = RedirectResponse(address, 303)
        # lax: the provider sends the browser back from another site
        self._set_cookie(request, response, ON_THE_WAY, cookie, "lax")
        return response

    def _return(self, request: Request, _: Fields) -> Response:
        """Let a browser in that comes back from the provider."""
        assert self._provider
        self._gate.meet(_address(request))
        way = cookie_value(request.headers.get("cookie", "").encode("latin-1"), ON_THE_WAY)
        try:
            token, target = self._provider.finish(dict(request.query_params), way)
        except SignInError as error:
            return self._form("", error.message, 401)
        # a page and no redirect: one that another site began would come without the strict cookie
        response = html_response(open_page(_own(target)))
        response.delete_cookie(ON_THE_WAY, path=PAGES)
        self._let_in(request, response, token)
        return response

    def _let_in(self, request: Request, response: Response, token: Token) -> None:
        self._set_cookie(request, response, COOKIE, self._gate.sign_in(token), "strict")

    def _set_cookie(
        self,
        request: Request,
        response: Response,
        name: str,
        value: str,
        sites: Literal["lax", "strict"],
    ) -> None:
        forwarded = request.headers.get("x-forwarded-proto", "")
        response.set_cookie(
            name,
            value,
            path=PAGES,
            httponly=True,
            samesite=sites,
            secure="https" in (request.url.scheme, forwarded),
        )

    def _sign_out(self, request: Request, fields: Fields) -> Response:
        cookie = _cookie(request)
        if not cookie or not same(fields.get("token"), form_token(cookie)):
            raise Refused(403, "form without the token of this session", "reload the page")
        self._gate.sign_out(cookie)
        response = RedirectResponse(f"{SIGN_IN}?signed-out" if self._provider else SIGN_IN, 303)
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


def _cookie(request: Request) -> str:
    return cookie_value(request.headers.get("cookie", "").encode("latin-1"), COOKIE)


def _own(target: str) -> str:
    """A page that was asked for, if it is one of ours."""
    return target if target.startswith(PAGES) and "\\" not in target else PAGES


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _error(error: Refused) -> Response:
    return html_response(error_page(error.status, error.message, error.hint), error.status)
