"""What all pages share: the request, the frame around the content, errors, and small parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.model.records import KINDS
from kinen.recall.tiers import short_id
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_line

if TYPE_CHECKING:
    T = TypeVar("T")

ROOT = "/web"
ALL = "all"
"""The name that stands for every space."""
SECTIONS: tuple[tuple[str, str], ...] = (
    ("search", "Search"),
    ("timeline", "Timeline"),
    ("sessions", "Sessions"),
    ("memories", "Memories"),
    ("files", "Files"),
    ("graph", "Graph"),
    ("budget", "Budget"),
    ("ledger", "Ledger"),
    ("health", "Health"),
)
"""The pages of the navigation, by the last part of their address."""
AS_OF = "as_of"
"""The parameter that puts pages back to an earlier time, kept by the links between them."""
PAST_PAGES = ("search", "memories", "budget", "record")
"""Pages that can show an earlier time."""
IN_ALL = ("search", "timeline", "sessions", "memories")
"""Pages that can show all spaces at once."""
LONGEST = 10_000
"""Characters of a field of a request."""


class Fields:
    """The parameters of a request, as text; those that are empty count as missing."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = [(name, value.strip()) for name, value in pairs if value.strip()]
        for name, value in self._pairs:
            if len(value) > LONGEST:
                raise QueryError("too long", f"use at most {LONGEST:,} characters", parameter=name)

    def get(self, name: str, default: str = "") -> str:
        return next((value for key, value in self._pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def number(self, name: str, default: int, most: int) -> int:
        """A number from 0 to `most`."""
        value = self.get(name)
        if not value:
            return default
        if not (value.isascii() and value.isdigit()) or int(value[:12]) > most:
            raise QueryError(f"invalid value {value!r}", f"use 0 to {most:,}", parameter=name)
        return int(value)

    def pairs(self, *without: str) -> list[tuple[str, str]]:
        return [pair for pair in self._pairs if pair[0] not in without]


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page of a space."""

    space: str
    page: str
    fields: Fields
    spaces: tuple[str, ...] = ()
    """The names of all spaces."""
    token: str = ""
    """What forms that change something send back."""
    daemon: Mapping[str, Any] = field(default_factory=dict)
    """The state of the daemon, for the page that shows it."""
    can_restart: bool = False
    """Whether the daemon can be restarted from a page."""
    reader: str = ""
    """Who reads a page of a team's server, where nothing can be changed; empty on one's own."""

    def url(self, page: str = "", space: str = "", **query: object) -> str:
        """The address of a page, of this space unless another is given."""
        path = f"{ROOT}/s/{quote(space or self.space, safe='')}/{page or self.page}"
        if (page or self.page) in PAST_PAGES:
            query = {**query, AS_OF: query.get(AS_OF, self.fields.get(AS_OF))}
        pairs = [(name, value) for name, value in query.items() if value not in ("", None)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def here(self, **changes: object) -> str:
        """The address of this page with some parameters changed; empty ones are removed."""
        pairs = [*self.fields.pairs(*changes), *changes.items()]
        query = urlencode([(name, value) for name, value in pairs if value not in ("", None)])
        return f"{self.url(as_of='')}?{query}" if query else self.url(as_of="")

    def record(self, ref: str, line: int = 0, space: str = "") -> str:
        kind, _, key = ref.partition(":")
        if kind == "capsule":
            return self.url("session", space, id=key)
        if kind == "file":
            return self.url("file", space, path=key)
        return self.url("record", space, ref=ref) + (f"#L{line}" if line else "")


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page."""

    title: str
    body: Html
    scripts: tuple[str, ...] = ()
    """Modules of `static/` besides the one that all pages have."""
    live: bool = False
    """Whether it is shown anew when something is recorded or indexed."""
    status: int = 200


def frame(page: Page, visit: Visit) -> Html:
    """The whole document around the content of a page."""
    title = f"{page.title.replace('`', '')} · {visit.space}"
    head = _head(title, ["pages.js", *page.scripts])
    body = html.element(
        "body",
        html.a("Skip to the content", href="#main", class_="skip"),
        html.header(
            html.a("kinen", href=visit.url("search"), class_="brand"),
            _space_menu(visit),
            _sign_out(visit) if visit.reader else None,
            class_="top",
        ),
        _navigation(visit),
        html.main(
            html.h1(code_line(page.title)),
            page.body,
            id="main",
            tabindex="-1",
            data_live=page.live and not visit.reader,
            data_space=visit.space,
        ),
        html.div("", id="status", role="status", aria_live="polite"),
        data_page=visit.page,
    )
    return Html("<!doctype html>" + html.element("html", head, body, lang="en"))


def _navigation(visit: Visit) -> Html:
    names = SECTIONS
    if visit.space == ALL or visit.reader:
        names = tuple(pair for pair in SECTIONS if pair[0] in IN_ALL)
    parent = {"session": "sessions", "file": "files", "record": "search", "injection": "ledger"}
    current = parent.get(visit.page, visit.page)
    links = (
        html.li(
            html.a(title, href=visit.url(name), aria_current="page" if name == current else None)
        )
        for name, title in names
    )
    return html.nav(html.ul(links), aria_label="Pages")


def _space_menu(visit: Visit) -> Html:
    """The spaces, as a list that opens without a script."""
    page = visit.page if visit.page in dict(SECTIONS) else "search"
    kept = dict(visit.fields.pairs("open", "why", AS_OF)) if page == "search" else {}
    links = [
        html.li(
            html.a(
                name,
                href=visit.url(page, name, **kept),
                aria_current="true" if name == visit.space else None,
            )
        )
        for name in visit.spaces
    ]
    if len(visit.spaces) > 1 and not visit.reader:
        everywhere = page if page in IN_ALL else "search"
        links.append(html.li(html.a("all spaces", href=visit.url(everywhere, ALL, **kept))))
    title = "all spaces" if visit.space == ALL else visit.space
    return html.details(
        html.summary(html.span("Space ", class_="quiet"), title), html.ul(links), class_="spaces"
    )


def _sign_out(visit: Visit) -> Html:
    return html.form(
        html.hidden_inputs([("token", visit.token)]),
        html.span(visit.reader, class_="quiet"),
        " ",
        html.button("Sign out", type="submit"),
        method="post",
        action=f"{ROOT}/sign-out",
        class_="inline",
    )


def error_page(status: int, message: str, hint: str = "") -> bytes:
    """A page about a request that failed; it shows nothing of any space."""
    return _plain(
        message,
        html.p(status, class_="quiet"),
        html.h1(code_line(message)),
        html.p(code_line(hint)) if hint else None,
        html.p(html.a("To the first page", href=f"{ROOT}/")),
    )


def sign_in_page(action: str, target: str, problem: str = "") -> bytes:
    """A page that asks for a token, and then goes to the page that was asked for."""
    return _plain(
        "Sign in",
        html.h1("Sign in"),
        html.p(problem, class_="bad", role="alert") if problem else None,
        html.form(
            html.label(
                "Token",
                html.input_(
                    type="password", name="token", required=True, autocomplete="current-password"
                ),
            ),
            html.hidden_inputs([("next", target)]),
            html.button("Sign in", type="submit"),
            method="post",
            action=action,
            class_="fields",
        ),
        html.p(
            code_line("Whoever runs this server makes one: `kinen team token create`."),
            class_="quiet",
        ),
    )


def _head(title: str, scripts: Iterable[str] = ()) -> Html:
    return html.element(
        "head",
        html.element("meta", charset="utf-8"),
        html.element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html.element("meta", name="color-scheme", content="light dark"),
        html.element("title", f"{title} · kinen"),
        html.element("link", rel="stylesheet", href=f"{ROOT}/static/pages.css"),
        html.element("link", rel="icon", href=f"{ROOT}/static/icon.svg"),
        [html.element("script", type="module", src=f"{ROOT}/static/{name}") for name in scripts],
    )


def _plain(title: str, *children: object) -> bytes:
    """A document without a space around its content."""
    body = html.element("body", html.main(children, id="main"))
    document = "<!doctype html>" + html.element("html", _head(title), body, lang="en")
    return document.encode("utf-8", "replace")


def mutation(
    visit: Visit, action: str, label: object, *children: object, **attributes: Any
) -> Html:
    """A form with a button that changes something; the fields are hidden inputs or `children`.

    `page` is the page that the action belongs to, unless it is this one. Whoever reads a team's
    pages gets no form.
    """
    if visit.reader:
        return Html("")
    place = attributes.pop("page", visit.page)
    hidden = attributes.pop("fields", {})
    classes = attributes.pop("form_class", "inline")
    return html.form(
        html.hidden_inputs({"token": visit.token, **hidden}.items()),
        children,
        html.button(label, type="submit", **attributes),
        method="post",
        action=visit.url(f"{place}/{action}"),
        class_=classes,
    )


def date(at: str) -> Html | None:
    """A moment as people read it, in UTC; at midnight the day alone, which is all that is known."""
    if not at:
        return None
    minute = at[:16].replace("T", " ").removesuffix(" 00:00")
    return html.time(minute, datetime=at)


def ref_link(visit: Visit, ref: str, title: str = "") -> Html:
    """A link to a record, by its short name."""
    if ref.partition(":")[0] not in KINDS:
        return html.code(ref)
    label = title if isinstance(title, Html) else code_line(title or short_id(ref))
    return html.a(label, href=visit.record(ref))


def about(facts: Iterable[object]) -> Html:
    """Facts about something on one line; those that are None are left out."""
    return html.p(html.join(facts, " "), class_="about")


def cards(items: Sequence[Html], nothing: str, **attributes: object) -> Html:
    """A list of entries, or what to say where there are none."""
    return html.ol(items, class_="cards", **attributes) if items else empty(nothing)


def table(heads: Iterable[str], rows: Iterable[object], label: str = "") -> Html:
    """Rows under their heads; with a label, a region that keys can scroll."""
    head = html.tr(html.th(name, scope="col") if name else html.td() for name in heads)
    region = {"tabindex": "0", "role": "region", "aria_label": label} if label else {}
    return html.div(html.table(html.thead(head), html.tbody(rows)), class_="wide", **region)


def banner(visit: Visit, messages: Mapping[str, str], button: Html | None = None) -> Html | None:
    """What the last form did, and a way back."""
    done = visit.fields.get("done")
    if done not in messages:
        return None
    return html.div(html.span(messages[done], role="status"), button, class_="banner")


def chips(names: Iterable[object]) -> list[Html]:
    return [html.span(name, class_="chip") for name in names if name]


def notes(lines: Iterable[str]) -> Html | None:
    items = [html.li(code_line(line)) for line in lines if line]
    return html.ul(items, class_="notes") if items else None


def empty(text: object, *more: object) -> Html:
    return html.p(text, *more, class_="empty")


def choices(
    name: str, title: str, values: Sequence[tuple[str, str]], chosen: str, **attributes: object
) -> Html:
    """A labelled list to choose one value from."""
    options = (html.option(label, value=value, selected=value == chosen) for value, label in values)
    return html.label(title, html.select(options, name=name, **attributes))


def entry(name: str, title: str, value: str = "", **attributes: object) -> Html:
    """A labelled field."""
    return html.label(title, html.input_(name=name, value=value, **attributes))


def of_all_spaces(
    read: Callable[[Memory], Iterable[T]], at: Callable[[T], Any]
) -> tuple[list[tuple[str, T]], list[str]]:
    """What is read from all spaces, each with the name of its space, newest first; and remarks."""
    remarks: list[str] = []
    answers = ask_spaces(
        [ALL], lambda memory: [(memory.space.name, each) for each in read(memory)], remarks.append
    )
    pairs = [pair for answer in answers for pair in answer]
    return sorted(pairs, key=lambda pair: at(pair[1]), reverse=True), remarks


def fields_form(url: str, button: str, *fields: object) -> Html:
    """Fields that choose what a page shows."""
    return html.form(
        *fields, html.button(button, type="submit"), method="get", action=url, class_="fields"
    )
