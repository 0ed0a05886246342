"""The pages for browsers: the link that opens them, their addresses, forms, scripts and events."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Coroutine
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field
from starlette.background import BackgroundTask

from kinen import paths
from kinen.errors import NotFound, SpaceError, StoreError
from kinen.http.guard import (
    HTML,
    KEY_SECONDS,
    LIVE,
    LOCAL,
    OPEN,
    PAGES,
    Refused,
    cookie_name,
    cookie_value,
    same,
)
from kinen.http.space import CurrentSpace, LastEvent, RequestSpace, event_stream, json_response
from kinen.memory import Memory
from kinen.memory.index import work_in
from kinen.space import registry
from kinen.verbs import requests
from kinen.web import health, site
from kinen.web.page import ALL, MOVED, ROOT, Fields, Page, Visit, frame, open_page

if TYPE_CHECKING:
    from kinen.index.lock import Work

api = APIRouter()
pages = APIRouter()
FIRST = "today"
"""The page that a space opens with."""
FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 200
PATIENCE = 12.0
"""Seconds that a form or a page waits for something slow, which then goes on in the background."""
MOST_SLOW = 32
"""Pages that are made while a browser waits."""
_slow: dict[str, asyncio.Future[Response]] = {}
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class PageLink(requests.Response):
    url: str = Field(description="opens the pages in a browser, once")
    seconds: int = Field(description="until it expires")


@api.post("/web", response_model=PageLink)
async def link(space: CurrentSpace) -> Response:
    """A link that opens the pages in a browser once, at the space that the request names."""
    place = PAGES
    if space.name:
        place = await space.call(_registered_page)
    port = await space.backend.open_port()
    if not port:
        raise Refused(409, "no port is open for browsers", "run `kinen web` or `kinen serve`")
    key = space.backend.access.browsers.issue(place)
    url = f"http://{LOCAL[0]}:{port}{OPEN}?key={key}"
    return json_response({"url": url, "seconds": round(KEY_SECONDS)})


def _registered_page(memory: Memory) -> str:
    """The first page of a space, which is registered, so that its name is known."""
    memory.core.register()
    return first_page(memory.space.name)


def first_page(space: str) -> str:
    """The address of a space's first page."""
    return f"{ROOT}/s/{quote(space, safe='')}/{FIRST}"


@pages.get(OPEN)
async def open_link(request: Request, key: str = "") -> Response:
    """Take a one-time key and go to its page with a cookie.

    The page is opened by a document of our own: a browser that followed the link from elsewhere
    would not send a strict cookie with a redirect.
    """
    access = request.app.state.backend.access
    cookie, place = access.browsers.redeem(key)
    if not cookie:
        raise Refused(401, "this link was used already or has expired", "run `kinen web` again")
    response = Response(open_page(place), media_type=HTML.decode())
    response.set_cookie(
        cookie_name(access.port), cookie, path=PAGES, httponly=True, samesite="strict"
    )
    return response


@pages.get(PAGES)
async def first(request: Request) -> Response:
    """The first page: that of the server's folder, of the only space, or of all spaces."""
    backend = request.app.state.backend
    names = _spaces()[0]
    if backend.default:
        space = RequestSpace(backend, "")
        return RedirectResponse(await space.call(lambda memory: first_page(memory.space.name)), 303)
    if not names:
        raise SpaceError("no space yet", "run `kinen init` in a folder of notes")
    return RedirectResponse(first_page(names[0] if len(names) == 1 else ALL), 303)


@pages.get(LIVE)
async def events(request: Request, last: LastEvent = -1) -> Response:
    """What is recorded and indexed, as it happens."""
    return event_stream(request, last, "close some pages")


@pages.get("/web/static/{name}")
async def static(name: str) -> Response:
    return static_response(name)


def static_response(name: str) -> Response:
    """A script or style of the pages, by name."""
    files = _static_files()
    if name not in files:
        raise NotFound(f"no file {name!r}")
    return Response(files[name], media_type=KINDS[os.path.splitext(name)[1]])


@cache
def _static_files() -> dict[str, bytes]:
    """The scripts and styles of the package, by name."""
    folder = resources.files("kinen.render").joinpath("static")
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if os.path.splitext(file.name)[1] in KINDS
    }


@pages.get("/web/s/{space}/{page}")
async def show(request: Request, space: str, page: str) -> Response:
    if page in MOVED:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{ROOT}/s/{quote(space, safe='')}/{MOVED[page]}{query}", 308)
    visit = await _visit(request, space, page, request.query_params.multi_items())
    backend = request.app.state.backend
    if space == ALL and page in site.VIEWS_OF_ALL:
        content = await backend.pool.thread(site.VIEWS_OF_ALL[page], visit)
        return html_response(frame(content, visit), content.status)
    view = site.VIEWS.get(page)
    if view is None or space == ALL:
        raise NotFound(f"no page {page!r}", "use the links of the navigation")

    def work(memory: Memory) -> Response:
        try:
            content = view(memory, visit)
        except (sqlite3.DatabaseError, StoreError) as error:
            if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError, StoreError):
                raise
            content = health.damage_page(memory, error)
        return html_response(frame(content, visit), content.status)

    key = f"{visit.token} {request.url}"
    return await _in_time(key, visit, lambda: RequestSpace(backend, space).call(work))


async def _in_time(
    key: str, visit: Visit, work: Callable[[], Coroutine[Any, Any, Response]]
) -> Response:
    """A page, or if it takes long one that waits for it and asks for the same page again.

    The work goes on meanwhile, so that whoever asks again does not start it anew.
    """
    task = _slow.pop(key, None) or asyncio.ensure_future(work())
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    if done:
        return task.result()
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    while len(_slow) >= MOST_SLOW:
        _slow.pop(next(iter(_slow)))
    _slow[key] = task
    waiting = Page("One moment", "wait.html")
    response = html_response(frame(waiting, visit))
    response.headers["Refresh"] = "1"
    return response


@pages.get("/web/s/{space}/{page}/data")
async def data(request: Request, space: str, page: str) -> Response:
    """The figures that a script of a page draws."""
    visit = await _visit(request, space, page, request.query_params.multi_items())
    source = site.DATA.get(page)
    if source is None:
        raise NotFound(f"no data of {page!r}")
    backend = request.app.state.backend
    make = await RequestSpace(backend, space).call(lambda memory: source(memory, visit))
    value = await backend.pool.thread(make)  # others need not wait for a layout
    return Response(value, media_type="application/octet-stream")


@pages.post("/web/s/{space}/{page}/{action}")
async def change(request: Request, space: str, page: str, action: str) -> Response:
    """Do what a form asks for, if it has the token of the session; then show the next page.

    Every form that changes something comes here: there is no other POST below `PAGES`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM:
        raise Refused(400, "not a form", "send it from the page")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        pairs = parse_qsl(body, max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Refused(400, "too many fields", "send it from the page") from error
    visit = await _visit(request, space, page, pairs)
    if not same(visit.fields.get("token"), visit.token):
        raise Refused(403, "form without the token of this session", "reload the page")
    name = f"{page}/{action}"
    if name == site.RESTART and visit.can_restart:
        # Restart once this response is sent; browsers that connect wait for the new daemon.
        backend = request.app.state.backend
        header = request.headers.get("cookie", "").encode("latin-1")
        cookie = cookie_value(header, cookie_name(backend.access.port))
        return RedirectResponse(
            visit.url(done="restarted"),
            303,
            headers={"Connection": "close"},
            background=BackgroundTask(backend.restart(cookie)),
        )
    work = site.ACTIONS.get(name)
    if work is None:
        raise NotFound(f"no action {action!r}")
    target = RequestSpace(request.app.state.backend, space)

    def run(memory: Memory) -> str:
        done = work(memory, visit)
        if done.event:
            target.publish(done.event, memory, {"ref": done.ref})
        return done.place

    if name not in site.SLOW:
        return RedirectResponse(await target.call(run), 303)
    task = asyncio.ensure_future(target.call(run, apart=True))
    finished, _ = await asyncio.wait({task}, timeout=PATIENCE)
    if not finished:
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return RedirectResponse(await task if finished else visit.url(done="busy"), 303)


async def _visit(request: Request, space: str, page: str, pairs: Any) -> Visit:
    backend = request.app.state.backend
    session = backend.access.session(request.scope)
    names, work = await backend.pool.thread(_spaces, space)
    token = session.token if session else ""
    daemon = await backend.pool.thread(backend.state)
    can_restart = backend.restart is not None
    return Visit(space, page, Fields(pairs), names, token, daemon, can_restart, work)


def _spaces(name: str = "") -> "tuple[tuple[str, ...], Work | None]":
    """The names of all spaces whose folder is there, and what goes on in one of them."""
    spaces = [
        space for space in registry.registered(paths.default_home(os.environ)) if not space.missing
    ]
    works = [work_in(space.index_folder()) for space in spaces if space.name == name]
    return tuple(space.name for space in spaces), next(filter(None, works), None)


def html_response(document: str | bytes, status: int = 200) -> Response:
    body = document.encode("utf-8", "replace") if isinstance(document, str) else document
    return Response(body, status, media_type=HTML.decode())
