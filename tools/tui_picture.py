"""Draws docs/images/tui-*.svg: `kinen tui` in the demo's space, as pictures for the guide.

The program runs as in its tests, without a terminal. The same screens give the same bytes, and
nothing in a picture is loaded from elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from terminal_picture import NOON, PROGRAM, SESSION, environment

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
KINEN = (sys.executable, "-c", PROGRAM)
SIZE = (120, 30)
PICTURES = {
    "tui-today": ["1"],
    "tui-search": ["slash", *"why blank labels", "enter"],
    "tui-sessions": ["2"],
    "tui-told": ["5"],
}
FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
SERIAL = re.compile(r"terminal-\d+")


class Demo:
    """The folder that the demo of the pages fills."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)


@contextlib.contextmanager
def demo_space() -> Iterator[dict[str, str]]:
    """Work in the demo of the pages at a fixed time, with a session of docs/examples; its env."""
    sys.path.insert(0, str(ROOT / "tests"))
    from web.demo import fill

    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder) / "parcelry"
        shutil.copytree(ROOT / "src" / "kinen" / "cli" / "demo_space", space)
        (space / ".kinen").mkdir()
        env = environment(folder)
        os.environ.update(env)
        time.time = lambda: float(NOON)
        time.time_ns = lambda: NOON * 10**9
        os.urandom = random.Random(1).randbytes  # the same ids every time
        demo = Demo(space)
        demo.git("init", "-q", "-b", "main")
        demo.git("config", "user.name", "Mira")
        demo.git("config", "user.email", "mira@parcelry.example")
        os.chdir(space)
        fill(demo)  # type: ignore[arg-type]
        for words in (["import", "transcripts", str(SESSION)], ["index"]):
            subprocess.run([*KINEN, *words], env=env, check=True, capture_output=True)
        yield env
        os.chdir(ROOT)


async def draw(keys: list[str]) -> str:
    """The picture after some keys; the same screen gives the same bytes."""
    from kinen.tui.app import Browser

    app = Browser()
    app.field.cursor_blink = False
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*("space" if key == " " else key for key in keys))
        await app.workers.wait_for_complete()
        await pilot.pause()
        picture = app.export_screenshot(title="kinen tui", simplify=True)
    return SERIAL.sub("terminal", FONT_FACES.sub("", picture))


def main() -> None:
    with demo_space():
        for name, keys in PICTURES.items():
            (IMAGES / f"{name}.svg").write_text(asyncio.run(draw(keys)), encoding="utf-8")


if __name__ == "__main__":
    main()
