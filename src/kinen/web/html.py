"""HTML as values: text is escaped when an element is made, and nothing else makes elements.

A page is nested calls, `div(p("3 < 4"), class_="note")`. Only `Html` is inserted as it is, and only
this module, `markdown` and `code` make it from text. Decision: docs/decisions/0017-pages.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, partial
from html import escape
from typing import TYPE_CHECKING

from kinen.characters import visible

if TYPE_CHECKING:
    Child = object
    """Text, a number, `Html`, an iterable of these, or nothing (None and False)."""

URLS = ("href", "src", "action", "formaction")
_SAFE_URL = re.compile(r"(?:https?://|mailto:|/(?!/)|[?#])", re.IGNORECASE)
_NAME = re.compile(r"[a-z][a-zA-Z0-9-]*")
VOID = frozenset(("br", "hr", "img", "input", "link", "meta"))
"""Elements that have no end tag."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Text as HTML: escaped, with control characters and reading directions spelled out."""
    written = str(value)
    return Html(escape(written if written.isprintable() else visible(written), quote=True))


def safe_url(url: str) -> bool:
    """Whether a URL leads to a page, a place in it, or a mail: it runs nothing."""
    return bool(_SAFE_URL.match(url)) and url.isprintable()


def join(children: Iterable[Child], between: str = "") -> Html:
    """Children one after the other."""
    parts = [_child(child) for child in children]
    return Html(text(between).join(filter(None, parts)) if between else "".join(parts))


def _child(child: Child) -> str:
    if isinstance(child, Html):
        return child
    if child is None or child is False or child is True:
        return ""
    if isinstance(child, Iterable) and not isinstance(child, str):
        return join(child)
    return text(child)


@lru_cache(maxsize=256)
def _label(key: str) -> str:
    """The attribute that a keyword stands for."""
    label = key.rstrip("_").replace("_", "-")
    if label.startswith("on") or label == "style" or not _NAME.fullmatch(label):
        raise ValueError(f"no attribute {label!r}: use a class, or a script of its own")
    return label


def element(name: str, /, *children: Child, **attributes: object) -> Html:
    """An element. `class_` is class, `aria_label` is aria-label; True is one without a value.

    Attributes that are None or False are left out, and so are URLs that could run something.
    Event handlers and styles are refused: the pages' policy would, too.
    """
    head = [name]
    for key, value in attributes.items():
        label = _label(key)
        if value is None or value is False:
            continue
        if label in URLS and not safe_url(str(value)):
            continue
        written = value if type(value) is int else text(value)
        head.append(label if value is True else f'{label}="{written}"')
    start = f"<{' '.join(head)}>"
    return Html(start if name in VOID else f"{start}{join(children)}</{name}>")


def hidden_inputs(pairs: Iterable[tuple[str, object]]) -> list[Html]:
    """Fields of a form that nobody sees."""
    return [input_(type="hidden", name=name, value=value) for name, value in pairs]


a = partial(element, "a")
article = partial(element, "article")
aside = partial(element, "aside")
button = partial(element, "button")
code = partial(element, "code")
dd = partial(element, "dd")
details = partial(element, "details")
div = partial(element, "div")
dl = partial(element, "dl")
dt = partial(element, "dt")
form = partial(element, "form")
h1 = partial(element, "h1")
h2 = partial(element, "h2")
header = partial(element, "header")
input_ = partial(element, "input")
label = partial(element, "label")
li = partial(element, "li")
main = partial(element, "main")
mark = partial(element, "mark")
nav = partial(element, "nav")
ol = partial(element, "ol")
option = partial(element, "option")
p = partial(element, "p")
pre = partial(element, "pre")
section = partial(element, "section")
select = partial(element, "select")
small = partial(element, "small")
span = partial(element, "span")
strong = partial(element, "strong")
summary = partial(element, "summary")
table = partial(element, "table")
tbody = partial(element, "tbody")
td = partial(element, "td")
textarea = partial(element, "textarea")
th = partial(element, "th")
thead = partial(element, "thead")
time = partial(element, "time")
tr = partial(element, "tr")
ul = partial(element, "ul")
