"""Markdown and code as HTML: no raw HTML, no link that runs something, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup as Html
from markupsafe import escape

from kinen.characters import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    Resolve = Callable[[str], str]
    """The page that a link as written leads to; empty if it leads nowhere."""
    Words = Callable[[str], Html]
    """The words between the markup as HTML."""

LONGEST = 400_000
"""Characters of a text that are rendered as markdown; a longer one is shown as it is."""
HIGHLIGHTED = 10_000
"""Characters of a block of code that is coloured: lexers of some languages take quadratic time."""
LANGUAGES = frozenset(
    """bash c console cpp css dockerfile go html ini java javascript js json kotlin make php
    python py rust ruby sh shell sql swift toml ts typescript xml yaml yml""".split()
)
"""Languages that are coloured."""
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]+)(?:\1(?!`)|(?<=…)$)")
"""Code in a line; of a line that was cut short, up to its end."""
_CALLOUT = re.compile(r"\[!(\w{1,20})\][+-]?[ \t]*(.*)")
BOXES = {"[ ] ": "☐", "[x] ": "☑"}
"""How an item of a list begins that is a task, and the box that is shown for it."""
_SAFE_URL = re.compile(r"(?:https?://|mailto:|/(?!/)|[?#])", re.IGNORECASE)
_WIKI = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")


def text(value: object) -> Html:
    """Text as HTML: escaped, with control characters and reading directions spelled out."""
    return escape(visible(str(value)))


def safe_url(url: str) -> bool:
    """Whether a URL leads to a page, a place in it, or a mail: it runs nothing."""
    return bool(_SAFE_URL.match(url)) and url.isprintable()


def _element(name: str, *children: Html, **attributes: object) -> Html:
    """An element; its children are HTML, its attributes text, those that are empty left out."""
    pairs = [f' {key.rstrip("_")}="{text(value)}"' for key, value in attributes.items() if value]
    return _html(f"<{name}{''.join(pairs)}>", *children, f"</{name}>")


def _html(*parts: str) -> Html:
    """HTML that was made here, or text that was escaped."""
    return Html("".join(parts))  # noqa: S704


def highlighted(source: str, language: str) -> Html:
    """Code with a class for each kind of word; plain if it is long or its language is unknown."""
    name = language.strip().lower()
    if name == "diff":
        kinds = {"+": "gi", "-": "gd", "@": "gu"}
        lines = []
        for line in visible(source).split("\n"):
            kind = kinds.get(line[:1], "")
            lines.append(_element("span", escape(line), class_=kind) if kind else escape(line))
        return _html("\n".join(lines))
    if name not in LANGUAGES or len(source) > HIGHLIGHTED:
        return text(source)
    from pygments import lex
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES

    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    parts = []
    for token, value in lex(visible(source), lexer):
        short = STANDARD_TYPES.get(token, "")
        parts.append(_element("span", text(value), class_=short) if short.strip() else text(value))
    return _html(*parts)


def code_block(source: str, language: str = "", anchor: str = "") -> Html:
    code = _element("code", highlighted(source, language))
    return _element("pre", code, class_="code", tabindex="0", id=anchor)


def markdown(source: str, resolve: Resolve = lambda _: "", first_line: int = 1) -> Html:
    """A text as HTML. Blocks have the number of their line as id: `L12`; with 0 they have none.

    `resolve` gets the targets of relative and wiki links, and returns a page of the site.
    """
    if len(source) > LONGEST:
        return code_block(source)
    tokens = _parser().parse(visible(source))
    last = -1
    for token in tokens:
        start = token.map[0] if token.map and token.nesting >= 0 and token.level < 2 else -1
        if first_line and start > last and token.type != "inline":
            token.attrSet("id", f"L{start + first_line}")
            last = start
    return Renderer(resolve).blocks(tokens)


def passage(source: str, words: Words = text) -> Html:
    """A piece of a text as HTML, for a list: headings are bold lines, and nothing has an id.

    `words` makes HTML of the words between the markup, for instance with some of them marked.
    """
    if len(source) > LONGEST:
        return _element("p", words(source))
    tokens = _parser().parse(visible(_with_table_head(source)))
    return Renderer(lambda _: "", words, headings=False).blocks(tokens)


def inline(source: str) -> Html:
    """One line of text as HTML without links, so that it can be the text of a link."""
    tokens = _parser().parseInline(visible(source))[0].children or []
    plain = [token for token in tokens if token.type not in ("link_open", "link_close")]
    return Renderer(lambda _: "", text, headings=False).inline(plain)


def code_line(source: str) -> Html:
    """A line that somebody wrote, such as an outcome, with its code as code and nothing else.

    Prompts, paths and messages of commits are not markdown: a `*` or `_` in them is a character.
    """
    parts: list[Html] = []
    end = 0
    for match in _CODE.finditer(source):
        parts += [text(source[end : match.start()]), _element("code", text(match[2].strip()))]
        end = match.end()
    return _html(*parts, text(source[end:]))


def _with_table_head(source: str) -> str:
    """A text that begins within a table, with the first row as the head that markdown needs."""
    first, _, rest = source.lstrip().partition("\n")
    cells = first.strip().strip("|").split("|")
    if not first.strip().startswith("|") or len(cells) < 2:
        return source
    second = rest.partition("\n")[0].strip()
    if second and set(second) <= set("|:- "):
        return source
    return f"{first}\n|{'---|' * len(cells)}\n{rest}"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )


class Renderer:
    """Makes HTML of the parser's tokens."""

    def __init__(self, resolve: Resolve, words: Words = text, *, headings: bool = True) -> None:
        self._resolve = resolve
        self._words = words
        self._headings = headings

    def blocks(self, tokens: Iterable[Token]) -> Html:
        parts: list[str] = []
        before = ""
        for token in tokens:
            if token.type == "inline":
                children = token.children or []
                if children and before == "list_item_open":
                    mark = children[0].content[:4].lower()
                    if mark in BOXES:
                        children[0].content = f"{BOXES[mark]} {children[0].content[4:]}"
                parts += [self._callout(children), self.inline(children)]
            elif token.type in ("fence", "code_block"):
                parts.append(self._code(token))
            elif not token.hidden:
                parts.append(self._tag(token))
            before = before if token.type == "paragraph_open" else token.type
        return _html(*parts)

    def _callout(self, tokens: list[Token]) -> Html:
        """The title of a callout, which is taken from the text that begins with it."""
        match = _CALLOUT.match(tokens[0].content) if tokens else None
        if match is None:
            return Html()
        title = _element("strong", self._words(match[2] or match[1].capitalize()))
        if len(tokens) > 1 and tokens[1].type != "softbreak":
            tokens[0].content = ""
            return title
        del tokens[:2]
        return _html(title, "<br>" if tokens else "")

    def _code(self, token: Token) -> Html:
        if not self._headings:
            return _element("pre", _element("code", self._words(token.content)), class_="code")
        language = token.info.split()[0] if token.info.split() else ""
        return code_block(token.content, language, str(token.attrGet("id") or ""))

    def _tag(self, token: Token) -> str:
        """A block's start or end tag: its name is one that the parser chooses."""
        name = token.tag
        if name in ("h1", "h2", "h3", "h4", "h5", "h6"):  # below the heading of its page
            name = f"h{min(6, int(name[1]) + 1)}" if self._headings else "p"
        if token.nesting < 0:
            return f"</{name}>"
        attributes = ' class="heading"' if name == "p" and token.tag != "p" else ""
        attributes += ' tabindex="0"' * (name == "table")  # it may scroll: keys reach it
        if anchor := token.attrGet("id"):
            attributes += f' id="{text(anchor)}"'
        if token.tag == "ol" and token.attrGet("start"):
            attributes += f' start="{text(token.attrGet("start"))}"'
        return f"<{name}{attributes}>"

    def inline(self, tokens: list[Token]) -> Html:
        parts: list[str] = []
        closing: list[str] = []
        for token in tokens:
            kind = token.type
            if kind == "text":
                parts.append(self._wiki(token.content))
            elif kind == "code_inline":
                parts.append(_element("code", self._words(token.content)))
            elif kind in ("softbreak", "hardbreak"):
                parts.append("<br>" if kind == "hardbreak" else "\n")
            elif kind == "image":
                name = text(f"image: {token.content or token.attrGet('src')}")
                parts.append(_element("span", name, class_="image"))
            elif kind == "link_open":
                start = _link_start(str(token.attrGet("href") or ""), self._resolve)
                closing.append("</a>" if start else "")
                parts.append(start)
            elif kind == "link_close":
                parts.append(closing.pop() if closing else "")
            elif token.tag in ("em", "strong", "s"):
                parts.append(f"<{token.tag}>" if token.nesting > 0 else f"</{token.tag}>")
            else:
                parts.append(text(token.content))
        return _html(*parts)

    def _wiki(self, words: str) -> Html:
        """Text with its `[[links]]` as links; those that lead nowhere are marked."""
        parts: list[Html] = []
        end = 0
        for match in _WIKI.finditer(words):
            parts.append(self._words(words[end : match.start()]))
            target = match[1].strip()
            label = match[2] or target
            page = self._resolve(target)
            if not self._headings:
                parts.append(self._words(label))
            elif page and safe_url(page):
                parts.append(_element("a", text(label), href=page))
            else:
                parts.append(_element("span", text(label), class_="broken"))
            end = match.end()
        return _html(*parts, self._words(words[end:]))


def _link_start(url: str, resolve: Resolve) -> str:
    """The start tag of a link; empty if it may not be followed."""
    if re.match(r"(?:https?://|mailto:)", url, re.IGNORECASE) and safe_url(url):
        return f'<a href="{text(url)}" rel="noopener noreferrer" target="_blank">'
    if re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE) or url.startswith("//"):
        return ""
    page = url if url.startswith("#") else resolve(url)
    return f'<a href="{text(page)}">' if page and safe_url(page) else ""
