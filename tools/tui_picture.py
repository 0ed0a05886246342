"""Draws docs/images/tui-*.svg: `kinen tui` in the demo's space, as pictures for the guide.

The program runs as in its tests, without a terminal; nothing in a picture is loaded from elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DEMO = ROOT / "src" / "kinen" / "cli" / "demo_space"
SIZE = (100, 26)
PICTURES = {
    "tui-search": [*"why postgres"],
    "tui-sessions": ["escape", "2"],
    "tui-memories": ["escape", "3"],
    "tui-told": ["escape", "6"],
}
FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
SERIAL = re.compile(r"terminal-\d+")


async def draw(keys: list[str]) -> str:
    """The picture after some keys; the same screen gives the same bytes."""
    from kinen.tui.app import Browser

    app = Browser()
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*("space" if key == " " else key for key in keys))
        await app.workers.wait_for_complete()
        await pilot.pause()
        picture = app.export_screenshot(title="kinen tui", simplify=True)
    return SERIAL.sub("terminal", FONT_FACES.sub("", picture))


def fill() -> None:
    """Draw memories from the demo's notes, and make a plan."""
    from kinen import Memory

    with Memory.open() as memory:
        memory.sync(embed=False)
        memory.consolidation.consolidate()
        steps = (
            "- [x] measure a claim of 50 rows\n- [ ] jitter between retries\n- [ ] dead letters\n"
        )
        memory.worklog.save_plan("Webhook retries", steps, activate=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder) / "parcelry"
        shutil.copytree(DEMO, space)
        (space / ".kinen").mkdir()
        os.environ.update(
            HOME=folder,
            KINEN_HOME=f"{folder}/home",
            KINEN_DAEMON_AUTO_START="false",
            KINEN_INDEX_EMBEDDING_PROVIDER="none",
            TZ="UTC",
        )
        os.chdir(space)
        fill()
        IMAGES.mkdir(exist_ok=True)
        for name, keys in PICTURES.items():
            (IMAGES / f"{name}.svg").write_text(asyncio.run(draw(keys)), encoding="utf-8")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
