"""A summary in the order in which the next session needs it, shortened to a number of tokens.

Hooks import this module: no regular expressions.
"""

from __future__ import annotations

from kinen.text import estimate, excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LABELS = (
    *("Outcome", "Next", "State", "Unresolved", "Earlier", "Decided", "Learned", "Intent", "Files"),
    "Commands",
)
"""Parts of a summary, the most needed first."""
SHARES = {"State": 0.12, "Next": 0.18, "Earlier": 0.38, "Outcome": 0.27, "Unresolved": 0.05}
"""What these parts may take of a summary; what is left then goes to them in this order."""
DETAIL = 8
"""The rank of an indented line."""
STAGES = ((8, 2000), (8, 400), (8, 240), (7, 400), (7, 240))
"""How a part is shortened until it fits: the last rank that stays, and characters of a line."""
NARROW = (160, 360)
NARROW_EARLIER = (110, 600)
"""Characters of a line, and of the first in a list, where lines are left out; and the same of
earlier results, of which the first is that of the request with the most changes."""
LONG_WORD = 80
"""Characters of a word up to which it ends a line that would end in a colon."""
BULLETS = ("- ", "* ", "• ", *(f"{n}. " for n in range(1, 20)))
RESULTS = (
    *("test", "pass", "commit", "push", "merged", "pull", "coverage", "deployed", "released"),
    *("✓", "✅"),
)
"""Words of a line that tells a result."""
COUNT_WORDS = 4
"""Words of `- and 3 more`."""
LEAST = 12
"""Tokens below which nothing more is looked for that would fit."""


def for_the_next(summary: str, tokens: float = 0) -> str:
    """A summary in the order in which the next session needs it; others stay as they are.

    Commands are left out. With `tokens`, the parts that are needed most share them: each is cut to
    its share before another is left out.
    """
    parts: dict[str, list[str]] = {}
    label = ""
    for line in summary.splitlines():
        if line.startswith("**") and line[2:].partition("**")[0] in LABELS:
            label = line[2:].partition("**")[0]
        if line.strip() and not is_count(line):
            parts.setdefault(label, []).append(line)
    if "Outcome" not in parts:
        return summary
    if tokens:
        parts = _fitted(parts, tokens)
    return "\n".join("\n".join(parts[name]) for name in LABELS[:-1] if name in parts)


def _fitted(parts: dict[str, list[str]], tokens: float) -> dict[str, list[str]]:
    """The parts that are needed most, each cut to its share; of the others what fits then."""
    chosen = _shared(parts, tokens)
    left = tokens - sum(estimate(line) for lines in chosen.values() for line in lines)
    for name in LABELS[:-1]:
        if name in parts and name not in chosen:
            head, *points = parts[name]
            fitting = section(head, points, left).splitlines()
            if not points and estimate(head) <= left:
                fitting = [head]
            if fitting:
                chosen[name] = fitting
                left -= sum(map(estimate, fitting))
    return chosen


def is_count(line: str) -> bool:
    """Does a line only say how many observations or points there are?"""
    words = line.split()
    if line.startswith("- and "):
        return len(words) == COUNT_WORDS and words[2].replace(",", "").isdigit()
    return len(words) > 1 and words[0].replace(",", "").isdigit() and words[1][:11] == "observation"


def _shared(parts: dict[str, list[str]], tokens: float) -> dict[str, list[str]]:
    """The parts that have a share of the tokens, cut to it; what one does not need goes on."""
    needs = {name: sum(map(estimate, parts[name])) for name in SHARES if name in parts}
    sizes = {name: min(need, SHARES[name] * tokens) for name, need in needs.items()}
    left = tokens - sum(sizes.values())
    for name, need in needs.items():
        more = max(0, min(left, need - sizes[name]))
        sizes[name] += more
        left -= more
    short = {name: trimmed(parts[name], size) for name, size in sizes.items()}
    return {name: lines for name, lines in short.items() if lines != [f"**{name}**"]}


def trimmed(lines: list[str], tokens: float) -> list[str]:
    """Lines that fit into `tokens`: cut to one length, and what matters least left out."""
    # How much each line matters: 0 the first and results; then points, by their place in a list.
    # Indented details matter least.
    ranks: list[int] = []
    place = 0
    for n, line in enumerate(lines, 1):
        place = place + 1 if line.startswith(BULLETS) else 0
        # What closes a text after a list tells a result, too, if it has a figure.
        closes = (
            n == len(lines)
            and not place
            and any(word.strip(".,;:()%").isdigit() for word in line.split())
        )
        if not ranks or closes or _is_result(line):
            ranks.append(0)
        else:
            ranks.append(DETAIL if line.startswith("  ") else min(max(1, place), DETAIL - 1))
    for deepest, width in STAGES:
        chosen = [n for n, rank in enumerate(ranks) if rank <= deepest]
        short = without_lead_ins([_at_most(lines[n], width) for n in chosen])
        if sum(map(estimate, short)) <= tokens:
            return short
    width, wide = NARROW_EARLIER if lines[0].startswith("**Earlier**") else NARROW
    narrow = [_at_most(line, width if n != 1 else wide) for n, line in enumerate(lines)]
    return _chosen(narrow, ranks, tokens)


def _is_result(line: str) -> bool:
    """Does a line tell a result in figures: of tests, commits, a pull request?"""
    words = line.lower()
    return any(map(str.isdigit, words)) and any(word in words for word in RESULTS)


def _chosen(lines: list[str], ranks: list[int], tokens: float) -> list[str]:
    """The lines that fit, those that matter most first, in their order."""
    selected: dict[int, str] = {}
    order = sorted(range(len(lines)), key=lambda n: ranks[n])
    for n in (n for n in order if ranks[n] < DETAIL):
        line = lines[n] if estimate(lines[n]) <= tokens else cut(lines[n], tokens)
        if estimate(line) > tokens or (line != lines[n] and tokens < 2 * LEAST):
            break
        selected[n] = line
        tokens -= estimate(line)
    return without_lead_ins([selected[n] for n in sorted(selected)])


def without_lead_ins(lines: list[str]) -> list[str]:
    """The lines without those that announce what is not there any more.

    The sentences before such an announcement stay.
    """
    chosen: list[str] = []
    for line in reversed(lines):
        below = chosen[-1] if chosen else ""
        indent = len(line) - len(line.lstrip())
        deeper = len(below) - len(below.lstrip()) > indent
        listed = below.startswith((*BULLETS, "**")) and not line.startswith(BULLETS)
        if _is_heading(line) and len(lines) > 1 and (not below or _is_heading(below)):
            continue
        if deeper or listed or not line.rstrip("* ").endswith(":"):
            chosen.append(line)
            continue
        marker = next(filter(line.lstrip().startswith, BULLETS), "")
        text = line.lstrip()[len(marker) :]
        if marker and "**" in text:  # a point with a name says something without its details
            chosen.append(line.rstrip().rstrip(":"))
        elif ". " in text:
            chosen.append(f"{line[:indent]}{marker}{text.rpartition('. ')[0]}.")
    return chosen[::-1]


def _is_heading(line: str) -> bool:
    """Is a line a heading of markdown, or all bold as one?"""
    bare = line.strip()
    bold = bare[:2] == bare[-2:] == "**" and "**" not in bare[2:-2]
    return bold or bare.startswith(("# ", "## ", "### ", "#### "))


def _at_most(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return indent + excerpt_at(line, width)


def excerpt_at(line: str, width: int) -> str:
    """An excerpt that does not end with a lead-in.

    `… written down in:…` goes on with the next word, or ends before that clause.
    """
    short = excerpt(line, width)
    head = short.removesuffix("…").rstrip("* ")
    if short == head or not head.endswith(":"):
        return short
    following = " ".join(line.split())[len(head) :].lstrip("* ").split(None, 1)
    if following and len(following[0]) <= LONG_WORD:
        return f"{head} {following[0].rstrip(',;')}" + ("…" if len(following) > 1 else "")
    clause = max(head.rfind(". "), head.rfind("; "))
    return f"{head[: clause + 1]} …" if clause > 0 else short


def outcome_only(summary: str) -> str:
    """A summary without what it was made of."""
    return for_the_next(summary).partition("\n**Intent**")[0].partition("\n**Files**")[0]


def without_cut(summary: str) -> str:
    """A summary without statements that were cut: the messages they are from have them whole."""
    lines = (
        "; ".join(part for part in line.split("; ") if not part.rstrip().endswith("…"))
        for line in summary.splitlines()
    )
    return "\n".join(filter(None, lines)) or summary


def section(title: str, lines: Iterable[str], room: float) -> str:
    """A heading and the lines below it that fit into `room` tokens; nothing if none does."""
    kept = [title]
    left = room - estimate(title)
    for line in lines:
        if left < LEAST:
            break
        cost = estimate(line)
        if cost <= left:
            kept.append(line)
            left -= cost
    return "\n".join(kept) if len(kept) > 1 else ""


def cut(text: str, tokens: float) -> str:
    """A text of about `tokens`: whole lines, and the beginning of the next."""
    kept: list[str] = []
    for line in filter(str.strip, text.strip().splitlines()):
        cost = estimate(line)
        if cost > tokens:
            indent = line[: len(line) - len(line.lstrip())]
            kept.append(indent + _beginning(line, tokens, tokens * len(line) / cost))
            break
        tokens -= cost
        kept.append(line.rstrip())
    return "\n".join(kept)


def _beginning(line: str, tokens: float, characters: float) -> str:
    """As much of a line as fits; its first words may take more or fewer tokens than others."""
    for share in (1.25, 1.1, 1, 0.9):
        short = excerpt_at(line, max(1, round(characters * share)))
        if estimate(short) <= tokens:
            return short
    return excerpt_at(line, max(1, round(characters * 0.8)))
