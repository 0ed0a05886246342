"""How a link names a note: as short as it can be, and in the way that it was written before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from posixpath import basename, dirname, relpath

from kinen.lsp.vault import ref_of
from kinen.markdown.links import Names
from kinen.model.documents import Link

Resolve = Callable[[Link], str]

_SUFFIX = re.compile(r"\.(?:md|markdown)$")


def shortest_name(path: str, resolve: Resolve | None = None) -> str:
    """The file's name without suffix; if a link with it leads elsewhere, the whole path."""
    forms = (without_suffix(basename(path)), without_suffix(path), path)
    if resolve is None:
        return forms[0]
    ref = ref_of(path)
    return next((form for form in forms if resolve(Link(form)) == ref), path)


def without_suffix(path: str) -> str:
    """A path as a wiki link has it: `.mdx` stays."""
    return _SUFFIX.sub("", path)


def renamed_target(link: Link, from_path: str, path: str, names: Names) -> str:
    """What a link has to say to lead to a path, as near as possible to how it was written."""
    ref = ref_of(path)
    forms = list(_forms(link, from_path, path))
    links = ((form, link._replace(target=form)) for form in forms)
    return next((form for form, new in links if names.resolve(new, from_path) == ref), forms[-1])


def _forms(link: Link, from_path: str, path: str) -> Iterator[str]:
    """The ways to name a path, the most like the link first."""
    written = link.target
    named = path if _SUFFIX.search(written) or not link.wiki else without_suffix(path)
    beside = relpath(named, dirname(from_path) or ".")
    if written.startswith("/"):
        yield f"/{named}"
    elif written.startswith("./"):
        yield beside if beside.startswith("../") else f"./{beside}"
    elif written.startswith("../") or not link.wiki:
        yield beside
    else:
        depth = written.strip("/").count("/") + 1
        yield "/".join(named.split("/")[-depth:])
    yield from (named, path) if link.wiki else (beside, f"/{path}")
