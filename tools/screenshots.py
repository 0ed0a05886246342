"""Takes pictures of the pages in chromium; needs Playwright, which `make screenshots` installs.

    python tools/screenshots.py [--every DIR] [--space SPACE]

Without options it writes those of the guide and the README, of the demo at a fixed time. With
`--every` it writes each page with data, empty, while sessions are imported and while an index is
made, at two widths and in two schemes, to look at; `--space` has the data, else the demo.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from kinen.index.lock import announced, sync_lock
from kinen.memory import Memory
from kinen.memory.index import IMPORT
from tui_picture import ROOT, demo_space

Pages = Mapping[str, tuple[str, dict[str, str]]]
"""By the name of a picture: the last part of an address, and its parameters."""
PICTURES = ROOT / "docs" / "guides" / "web"
GUIDE: Pages = {
    "search": ("search", {"q": "why did we drop redis", "open": "notes/oncall.md"}),
    "today": ("today", {}),
    "session": ("session", {"id": "last"}),
    "knowledge": ("knowledge", {}),
    "file": ("file", {"path": "labels/render.py"}),
    "graph": ("graph", {"all": "1"}),
    "told": ("told", {"q": "why are the labels blank"}),
    "health": ("health", {}),
}
SIZE = (900, 560)
HEIGHTS = {"today": 1010}
"""Of pictures of the guide that show more."""
SIZES = ((1280, 900), (390, 844))
SCHEMES = ("light", "dark")
TALLEST = 2_400
"""Pixels of a page that are shown, from its top."""
READY = "!document.querySelector('#waiting')"
"""True unless the page waits for another."""
STATES = ("data", "empty", "importing", "indexing")
sys.path.insert(0, str(ROOT / "tests"))


class Folder:
    """The folder of a space, which is all that its server asks of a project."""

    def __init__(self, root: Path) -> None:
        self.root = root


@contextlib.contextmanager
def space_in(state: str, space: Path, scratch: Path) -> Iterator[Path]:
    """A space in one of the states; those without data lie in `scratch`."""
    if state == "data":
        yield space
        return
    folder = scratch / state / space.name
    source = ["clone", "-q", str(space)] if state == "indexing" else ["init", "-q"]
    subprocess.run(["git", *source, str(folder)], check=True)
    (folder / ".kinen").mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        if state != "empty":
            with Memory.open(folder) as memory:
                data = Path(memory.core.folder)
            data.mkdir(parents=True, exist_ok=True)
            if state == "importing":
                stack.enter_context(announced(str(data / IMPORT)))("import", 54, 0)
            else:
                stack.enter_context(sync_lock(str(data / "sync.lock"), 0))("read", 54, 100)
        yield folder


def photograph(
    browser: Any,
    space: Path,
    names: str,
    size: tuple[int, int],
    scheme: str,
    pages: Pages | None = None,
) -> None:
    """Write pictures of pages to `names`, with `{}` for the name of each.

    Without pages it takes all that the space has, from the top to the end.
    """
    from web.conftest import served
    from web.tab import Tab, every_page

    width, height = size
    with served(Folder(space)) as site:  # type: ignore[arg-type]
        with Memory.open(space) as memory:
            site.space = memory.space.name
            memory.index.patience = 0
            chosen = pages or every_page(memory)
        tab = Tab(browser, site, viewport={"width": width, "height": height}, color_scheme=scheme)
        for name, (place, query) in chosen.items():
            page = tab.open(place, **query)
            page.wait_for_function(READY)
            if page.locator("#graph").count():
                page.wait_for_selector("#graph[data-ready]")
                if pages:
                    page.locator("#graph").evaluate("item => item.scrollIntoView()")
            page.wait_for_timeout(300)
            options: dict[str, Any] = {}
            if pages:
                page.set_viewport_size({"width": width, "height": HEIGHTS.get(name, height)})
            else:
                tall = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
                options["clip"] = {"x": 0, "y": 0, "width": width, "height": tall}
            page.screenshot(path=names.format(name), full_page=not pages, **options)
        tab.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Take pictures of the pages.")
    parser.add_argument("--every", type=Path, metavar="DIR", help="where every page is written to")
    parser.add_argument("--space", type=Path, help="the space with data; without it, the demo")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        space = options.space
        if not space:
            stack.enter_context(demo_space())
            space = Path.cwd()
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        if not options.every:
            photograph(browser, space, f"{PICTURES}/{{}}.png", SIZE, "light", GUIDE)
            return
        options.every.mkdir(parents=True, exist_ok=True)
        for state in STATES:
            with space_in(state, space.resolve(), scratch) as folder:
                for size in SIZES:
                    for scheme in SCHEMES:
                        names = f"{options.every}/{state}-{size[0]}-{scheme}-{{}}.png"
                        photograph(browser, folder, names, size, scheme)


if __name__ == "__main__":
    main()
