"""Draws docs/images/day.svg: a day with kinen in twenty seconds, as an animated picture.

Real commands and the real `kinen tui` run in the demo space with its sessions. The same screens
give the same bytes; readers who ask for less motion see a still, and nothing is loaded from
elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator
from html import escape

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from terminal_picture import on_terminal
from tui_picture import IMAGES, KINEN, ROOT, demo_space

PICTURE = IMAGES / "day.svg"
COLUMNS = 96
LINES = 27
CELL = (8.4, 18)
"""Width and height of a character."""
INK = "#e5e9ee"
GROUND = "#121212"
NAMES = "#282a36 #f28e85 #67c28d #e2b356 #5f9be6 #b9a0f3 #6fc3df #e5e9ee".split()
"""The colours of a terminal, by number."""
BEGIN = ("kinen handoff", 2.6)
KEYS: tuple[tuple[tuple[str, ...], float], ...] = (
    ((), 3.4),
    (("2",), 1.4),
    (("enter",), 2.6),
    (("escape", "slash"), 0.4),
    (("w", "h", "y"), 0.3),
    (("space", *"blank"), 0.5),
    (("space", *"labels"), 2.0),
    (("escape", "escape", "5", "enter"), 2.6),
)
"""What is pressed in `kinen tui`, and for how many seconds the screen stays after it."""
END = ("kinen fix UnicodeDecodeError: unexpected byte order mark", 3.0)
TYPING = 0.4
STILL = 4
"""The frame of readers who want less motion: the first of `kinen tui`."""

Frame = list[list[Segment]]


def command(words: str, env: dict[str, str]) -> Iterator[Frame]:
    """A command while it is typed, in three parts, and then with what it prints."""
    console = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)
    printed = on_terminal([*KINEN, *words.split()[1:]], os.getcwd(), env)
    third = len(words) // 3
    for typed in (words[:third], words[: 2 * third], words):
        yield console.render_lines(Text(f"$ {typed}▌", style="bold"))
    text = Text(f"$ {words}\n", style="bold")
    text.append_text(Text.from_ansi(printed.rstrip(), style="not bold"))
    yield console.render_lines(text)[:LINES]


async def screens() -> list[Frame]:
    """`kinen tui` after each of the keys."""
    from kinen.tui.app import Browser

    app = Browser()
    app.field.cursor_blink = False
    frames = []
    async with app.run_test(size=(COLUMNS, LINES)) as pilot:
        for keys, _ in KEYS:
            await pilot.press(*keys)
            while app.workers:
                await app.workers.wait_for_complete()
                await pilot.pause()
            strips = app.screen._compositor.render_strips()  # noqa: SLF001
            frames.append([list(strip) for strip in strips])
    return frames


def drawn(frame: Frame) -> str:
    """A frame as text and the grounds behind it."""
    parts = []
    width, height = CELL
    for row, line in enumerate(frame):
        x = 0.0
        for segment in line:
            length = segment.cell_length * width
            ink, ground, bold = look(segment.style)
            place = f'x="{x:.1f}" y="{row * height}"'
            if ground != GROUND:
                parts.append(
                    f'<rect {place} width="{length:.1f}" height="{height}" fill="{ground}"/>'
                )
            words = segment.text.rstrip("\n")
            if words.strip():
                left = len(words) - len(words.lstrip())
                shown = words.strip()
                parts.append(
                    f'<text x="{x + left * width:.1f}" y="{row * height + 14}"'
                    f"{'' if ink == INK else f' fill={ink!r}'.replace(chr(39), chr(34))}"
                    f"{' class=' + chr(34) + 'b' + chr(34) if bold else ''}"
                    f' textLength="{Segment(shown).cell_length * width:.1f}">{escape(shown)}</text>'
                )
            x += length
    return "".join(parts)


def look(style: Style | None) -> tuple[str, str, bool]:
    """Ink, ground and weight of a style."""
    style = style or Style()
    ink = hexed(style.color, INK)
    ground = hexed(style.bgcolor, GROUND)
    if style.dim:
        ink = "#9ea8b5" if ink == INK else ink
    return (ground, ink, bool(style.bold)) if style.reverse else (ink, ground, bool(style.bold))


def hexed(color: object, usual: str) -> str:
    number = getattr(color, "number", None)
    triplet = getattr(color, "triplet", None)
    if triplet:
        return str(triplet.hex)
    return usual if number is None else NAMES[number % 8]


def picture(frames: Iterable[tuple[Frame, float]]) -> str:
    """All frames above each other, of which one is visible at a time."""
    shown = list(frames)
    whole = sum(seconds for _, seconds in shown)
    width = round(COLUMNS * CELL[0]) + 24
    height = LINES * CELL[1] + 24
    rules = []
    groups = []
    at = 0.0
    for number, (frame, seconds) in enumerate(shown):
        begin = 100 * at / whole
        at += seconds
        end = 100 * at / whole
        hidden = "0%{visibility:hidden}" if begin else ""
        after = f"{end:.2f}%{{visibility:hidden}}" if end < 99.99 else ""
        rules.append(f"@keyframes f{number}{{{hidden}{begin:.2f}%{{visibility:visible}}{after}}}")
        rules.append(f"#f{number}{{animation:f{number} {whole:.1f}s step-end infinite}}")
        groups.append(f'<g id="f{number}" class="f">{drawn(frame)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        "<title>A day with kinen: what was handed over, what happened, a session, a search, what"
        " the next agent is told, how an error was fixed</title><style>"
        "text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}"
        f".b{{font-weight:700}}.f{{visibility:hidden;fill:{INK}}}{''.join(rules)}"
        "@media(prefers-reduced-motion:reduce){.f{animation:none!important}"
        f"#f{STILL}{{visibility:visible}}}}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>'
        f'<g transform="translate(12 12)">{"".join(groups)}</g></svg>\n'
    )


def main() -> int:
    frames: list[tuple[Frame, float]] = []
    with demo_space() as env:
        for words, seconds in (BEGIN, END):
            *typed, printed = command(words, env)
            frames += [*((frame, TYPING) for frame in typed), (printed, seconds)]
            if words == BEGIN[0]:
                tui = asyncio.run(screens())
                frames += [(frame, stay) for frame, (_, stay) in zip(tui, KEYS, strict=True)]
    drawing = picture(frames)
    PICTURE.write_text(drawing, encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}: {len(drawing) // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
