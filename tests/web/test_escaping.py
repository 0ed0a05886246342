"""Whatever people and agents wrote, no page has an element or address that runs or loads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

import kinen.render
from kinen.render.html import FOLDER, _pages
from kinen.render.markdown import HIGHLIGHTED, code_line, highlighted, markdown, safe_url
from web.hostile import NAME, NOTE, write_hostile
from web.payloads import MARK, PAYLOADS

if TYPE_CHECKING:
    from daemon.served import Project
    from web.conftest import Site

OURS = {"script", "link", "meta", "svg", "form", "input", "button", "textarea", "details", "title"}
"""Elements of our own pages, which are looked at closely."""
NEVER = ("iframe", "object", "embed", "base", "style", "math", "video", "template", "noscript")


def check(page: str) -> None:
    """Fail if a page has anything that could run, load or send something of its content."""
    tree = LexborHTMLParser(page)
    for name in (*NEVER, "img", "marquee", "xss", "animate"):
        assert not tree.css(name), f"<{name}>"
    for node in tree.css("*"):
        for key, value in node.attributes.items():
            text = value or ""
            assert not key.startswith("on"), f"{node.tag} {key}"
            assert key not in ("style", "srcdoc", "xlink:href"), f"{node.tag} {key}"
            if key in ("href", "src", "action", "formaction", "data"):
                assert safe_url(text), f"{node.tag} {key}={text}"
                assert MARK not in text or "?" in text or node.tag == "a", f"{key}={text}"
    for script in tree.css("script"):
        assert (script.attributes.get("src") or "").startswith("/web/static/")
        assert not script.text(strip=True)
    for link in tree.css("link, form"):
        target = link.attributes.get("href") or link.attributes.get("action") or ""
        assert target.startswith("/web/"), target
    for meta in tree.css("meta"):
        assert "http-equiv" not in meta.attributes


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_of_a_payload_runs_nothing(payload: str) -> None:
    check(f"<!doctype html><body>{markdown(payload, lambda name: '/web/x?' + 'ref')}</body>")
    check(f"<!doctype html><body>{code_line(payload)}{code_line(f'`{payload}`')}</body>")
    shown = _pages.from_string('<p title="{{ text }}">{{ text }}{{ "a" ~ text }}</p>')
    check(f"<!doctype html><body>{shown.render(text=payload)}")
    for language in ("html", "js", "bash", "diff", payload):
        check(f"<!doctype html><body>{highlighted(payload, language)}</body>")


@pytest.mark.parametrize(
    ("written", "page"),
    [
        ("use `a < b` and *c*", "use <code>a &lt; b</code> and *c*"),
        ("``x`` of `__init__`", "<code>x</code> of <code>__init__</code>"),
        ("cut in `the mid…", "cut in <code>the mid…</code>"),
        ("one ` alone, `` two", "one ` alone, `` two"),
        ("`over\nlines`", "`over\nlines`"),
    ],
)
def test_code_in_a_line_is_shown_as_code(written: str, page: str) -> None:
    assert code_line(written) == page


def test_tasks_have_boxes_and_callouts_a_title() -> None:
    page = markdown("- [ ] paint\n- [x] rotate\n\n> [!note] Answer\n> [ ] *no*\n\n> [!tip]\n")
    assert LexborHTMLParser(page).text() == "☐ paint☑ rotateAnswer[ ] noTip"
    assert "<strong>Answer</strong><br>[ ] <em>no</em>" in page


def test_text_of_markdown_is_not_lost() -> None:
    page = LexborHTMLParser(markdown("# A <b>title</b>\n\nSome *words*, `code <i>` & more.\n"))
    assert page.css_first("h2").text() == "A <b>title</b>"
    assert page.css_first("p").text() == "Some words, code <i> & more."


def test_blocks_have_the_lines_of_the_file() -> None:
    page = LexborHTMLParser(
        markdown("# Title\n\nFirst.\n\n- a\n- b\n\n```\nx\n```\n", first_line=4)
    )
    assert [node.attributes["id"] for node in page.css("[id]")] == ["L4", "L6", "L8", "L9", "L11"]


def test_links_lead_to_records_or_are_marked_as_broken() -> None:
    pages = {"a.md": "/web/s/x/record?ref=note:a.md", "B": "/web/s/x/record?ref=note:b.md"}
    text = "[one](a.md) [two](c.md) [[B]] [[B|three]] [[D]] [out](https://example.org)"
    page = LexborHTMLParser(markdown(text, lambda name: pages.get(name, "")))
    links = {node.text(): node.attributes["href"] for node in page.css("a")}
    assert links == {
        "one": pages["a.md"],
        "B": pages["B"],
        "three": pages["B"],
        "out": "https://example.org",
    }
    assert [node.text() for node in page.css(".broken")] == ["D"]


def test_long_code_is_shown_without_colours() -> None:
    assert "<span" in highlighted("x = 1\n", "python")
    assert "<span" not in highlighted("x = 1\n" * HIGHLIGHTED, "python")


def test_templates_leave_escaping_to_the_engine() -> None:
    """What autoescape cannot see: attributes without quotes, and what runs or is not escaped."""
    templates = sorted((Path(FOLDER) / "templates").glob("*.html"))
    assert len(templates) > 10
    for path in templates:
        text = path.read_text()
        assert not re.search(r"=\s*\{[{%]", re.sub(r"\{%.*?%\}", "", text)), path
        assert not re.search(r"\|\s*safe\b|autoescape|Markup|\{% *filter", text), path
        assert not re.search(r"""\s(?:on\w+|style|srcdoc)=["']""", text), path
        urls = re.findall(r"""\s(?:href|src|action)="([^"{]*)(\{\{)?""", text)
        assert all(url.startswith(("/web/", "#")) or (not url and made) for url, made in urls), path


def test_control_characters_of_a_value_are_spelled_out() -> None:
    shown = _pages.from_string("{{ text }}").render(text="a\x1b[31m\u202eb<")
    assert shown == "a\\x1b[31m\\u202eb&lt;"


PAGES = [
    ("search", {"q": "needle"}),
    ("search", {"q": "needle", "open": NOTE, "why": NAME, "context": "2"}),
    ("search", {"q": PAYLOADS[0], "tags": PAYLOADS[3], "agent": PAYLOADS[37], "since": "2w"}),
    ("search", {"q": "needle", "types": PAYLOADS[0]}),
    ("search", {"q": "needle", "since": PAYLOADS[0]}),
    ("record", {"ref": NOTE}),
    ("record", {"ref": NAME}),
    ("record", {"ref": PAYLOADS[0]}),
    ("today", {}),
    ("sessions", {}),
    ("session", {"id": "last"}),
    ("session", {"id": "last", "only": "all"}),
    ("knowledge", {}),
    ("code", {}),
    ("file", {"path": NAME}),
    ("graph", {}),
    ("graph", {"ref": NAME, "depth": "3"}),
    ("told", {"q": "needle"}),
    ("sent", {}),
    ("injection", {"id": PAYLOADS[0]}),
    ("health", {}),
    ("week", {}),
    ("compare", {"begin": "30d"}),
    ("errors", {"q": PAYLOADS[0]}),
    ("erase", {"ref": NAME}),
    ("file", {"path": NAME, "lines": "1"}),
    ("why", {"target": f"{NAME}:1"}),
    (PAYLOADS[0], {}),
]


def test_no_page_runs_what_people_and_agents_wrote(site: Site, project: Project) -> None:
    with site.memory() as memory:
        write_hostile(project, memory)
        memory.ledger.record_answer(PAYLOADS[0], PAYLOADS[3], PAYLOADS[0], [PAYLOADS[0], NOTE])
        sent = memory.ledger.injections()[0][0].id
        memory.consolidation.consolidate()
        refs = [record.ref for record in memory.records.select()]
    check(site.page("injection", id=sent))
    for page, query in PAGES:
        answer = site.get(page, **query)
        assert answer.status_code in (200, 400, 404, 405), (page, query)
        check(answer.text)
    for ref in refs:
        check(site.get("record", ref=ref).text)


def test_pages_are_small() -> None:
    static = Path(kinen.render.__file__).parent / "static"
    sizes = {path.name: path.stat().st_size for path in static.iterdir()}
    assert sum(sizes.values()) < 150_000, sizes
    assert not [name for name in sizes if not name.endswith((".css", ".js", ".svg"))]
    for path in static.glob("*.js"):
        text = path.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), path
        assert not re.search(r"\beval\(|new Function|https?://\w", text), path
