"""What a closing message says: the result, in a number of tokens, and what is left to do."""

from __future__ import annotations

from itertools import takewhile

from kinen.model.tuples import NamedTuple
from kinen.text import QUESTION, estimate, excerpt, lazy_pattern, signed_pattern
from kinen.text.sentences import RULER, plain, sentences, size
from kinen.text.shorten import LABELS
from kinen.text.statements import goes_on, is_step, spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LENGTH = 400
"""Characters of a point that is left to do."""
LISTED = 4
"""Items of a list that are named after its lead-in."""
SHORTEST = 90
"""Characters to which a line is cut at least."""
LONGEST = 240
"""Characters to which a line is cut at most."""
STEP = 15
"""Characters by which a line is cut further, until all lines fit."""

TITLE = 4
"""Words below which a line that is no item of a list is a title."""

WHOLE = 3
"""Words from which on a message is a sentence."""

LONGEST_NAME = 40
"""Characters of what an item begins with, if it is named before it is explained."""

_FENCE = ("```", "~~~")
_ITEM = lazy_pattern(
    r"(?:(?:[-*+•・]|\d{1,2}[.)])\s+|\d{1,2}[、．）]\s*)(?P<box>\[[ xX]?\]\s*)?(?P<text>.*)"
)
_RESULT = lazy_pattern(
    r"(?i)\b\d[\d,]*(?:/\d+)? (?:\w+ )?(?:tests?|passed|passing|checks|failures)\b"
    r"|[✅✓✔☑]|\(\d+/\d+\)"
    r"|\b(?:tests?|checks|suite|build|lint|types?|typecheck)\b.{0,40}\b(?:pass\w*|green|clean)\b"
    r"|\b(?:pushed|committed|merged|deployed|released|published|closed|deleted|reverted)\b"
    r"|\b(?:pull request|PR|commit)\b|/pull/\d|\b\d{1,3} ?%|\bcoverage\b"
    r"|\b(?:not|un)[ -]?(?:committed|pushed|tested|verified)\b|\bpending\b"
)
_GIT_STATUS = lazy_pattern(
    r"(?:On branch \S+|Your branch (?:is|and) .*|HEAD detached (?:at|from) \S+"
    r"|(?:Changes (?:not staged|to be committed)|Untracked files).*:"
    r"|nothing (?:added )?to commit.*|no changes added to commit.*|\(use \"git .*"
    r"|(?:modified|new file|deleted|renamed|both modified): {2,}.*)"
)
"""A line that `git status` prints."""
_BOLD = lazy_pattern(r"(?:\*\*|__)[^*_]{1,80}(?:\*\*|__)[:：]?")
_TAG = lazy_pattern(r"</?[A-Za-z][\w-]*>")
"""A line that only opens or closes a part of a message."""
_NAME_END = lazy_pattern(r"\*{0,2}(?::| [–—-]) ")
"""Ends the name that an item begins with."""
_LEAD_IN = signed_pattern(r"[*_`]*[^.!?。！？]{0,120}[:：][*_` ]*", ":", "：")
_OFFER = r"if you(?:'d)? (?:want|like|prefer)\b|want me to\b|should i\b|shall i\b"
_OPEN_SIGNS = (
    *("next ", "remain", "total ", "still ", "not ", "uncommitted", "to do", "follow", "pending"),
    *("outstanding", "deferred", "out of scope", "you", "waiting", "blocked", "need", "ready for"),
    *("want me", "should i", "shall i"),
)
"""Without one of these in small letters nothing says that work is left."""
_OPEN = signed_pattern(
    r"\b(?:next (?:steps?|task|up|session|time)"
    r"|remain(?:s|ing)? (?:\w+ ){0,2}?"
    r"(?:to be|to do|open|work|tasks?|items?|steps?|issues?|gaps?|phases?)\b"
    r"|total (?:missing|remaining|open|left)\b"
    r"|what remains|still (?:need|to do|open|missing|pending|has to|have to|to be)"
    r"|not (?:yet|done|implemented|started|pushed|committed)|uncommitted"
    r"|(?:left|things) to do|follow[- ]?ups?|outstanding|deferred|out of scope"
    r"|(?:is|are|still|remains?) pending|pending (?:\w+ )?(?:changes?|tasks?|work|items?|review)"
    r"|you(?:'ll| will| should| may| might| can)? (?:need|want|have) to|once you"
    r"|(?:(?:'m|'re|am|is|are|still|now|just) |^)waiting (?:for|on)"
    r"|blocked (?:by|on)|needs? (?:manual|your|to be)|would you like|ready for (?:your )?review\b"
    rf"|{_OFFER})",
    *_OPEN_SIGNS,
)
_UNDONE = signed_pattern(
    r"\b(?:next (?:steps?|task|session|up) (?:is|are|would|will|could|should)\b"
    r"|remain(?:s|ing)? (?:\w+ ){0,2}?"
    r"(?:to be|to do|open|work|tasks?|items?|steps?|issues?|gaps?|phases?)\b"
    r"|total (?:missing|remaining|open|left)\b|what remains\b"
    r"|still (?:needs?|to do|open|missing|pending|has to|have to|to be)\b"
    r"|not (?:yet )?(?:done|implemented|started|finished|pushed|committed|tested|verified)\b"
    r"|not (?:yet \w{1,20}(?:ed|en)|\w{1,20}(?:ed|en) yet)\b"
    r"|uncommitted\b|(?:left|things) to do\b"
    r"|follow[- ]?ups?\b|outstanding\b|deferred\b|out of scope\b"
    r"|(?:is|are|still|remains?) pending\b"
    r"|pending (?:\w+ )?(?:changes?|tasks?|work|items?|review)\b"
    r"|you(?:'ll| will| should| may| might| can)? (?:still )?(?:need|have) to\b"
    r"|blocked (?:by|on)\b|needs? (?:manual|your)\b|needs? to be \w{1,20}(?:ed|en)\b"
    r"|once you (?:'ve |have |are )?(?:confirm|approv|merg|review|decid|provid|tell|happy|ready)"
    rf"|would you like\b|ready for (?:your )?review\b|{_OFFER})"
    r"|n't (?:\w+ ){0,3}yet\b|(?:(?:'m|'re|am|is|are|still|now|just) |^)waiting (?:for|on)\b"
    r"|^next up\b",
    *(*_OPEN_SIGNS, "n't "),
)
"""Says in small letters that work is left, or offers it.

`_OPEN` is wider, for headings and for what is left out: without it, hand-overs of 13 sessions have
9 of 25 decisions instead of 10.
"""
_MARKED = signed_pattern(r"\bTODO\b(?!\.)", "TODO")
_TODO = lazy_pattern(r"^TODO\b(?!\.)|\bTODO:")
_EXPLAINS = lazy_pattern(
    r"(?i)\b(?:is|are|was|were|gets?) (?:then |already |now )?"
    r"(?:done|handled|finished|completed?)\b"
    r"|\bpending (?:until|unless|while|when|if|as long as)\b"
    r"|\b(?:need|have|needs) to\b[^.]{0,200}\b(?:each|every) (?:time|run|call|request)\b"
    r"|^(?:when|if|until|unless|while|whenever)\b[^.]{0,200}\b(?:is|are) (?:still )?pending\b"
)
"""Explains how something works, and leaves nothing to do."""
_UNCOMMITTED = lazy_pattern(r"(?i)\bun(?:committed|pushed|staged)\b|\b(?:commit|push)(?:ted|ed)?\b")
_SHA = lazy_pattern(r"\W{0,2}[0-9a-f]{7,40}\b")
"""Begins an item that names a commit."""
_COMPLETE = lazy_pattern(
    r"(?i)\b(?:unrelated|nothing (?:left|remaining|pending|else)|no (?:remaining|open|pending"
    r"|further)"
    r"|all (?:\w+ ){0,3}(?:done|complete|closed|finished|merged)"
    r"|belongs? to (?:an)?other (?:agents?|team|members?))\b"
)
_WAITS = lazy_pattern(
    r"(?i)(?:still |now |idle and )?waiting (?:for|on) (?:completion|it|them|both|all|results?"
    r"|(?:the )?team[- ]?(?:lead|mates?)|the (?:\w+ )?"
    r"(?:(?:sub)?agents?|tasks?|results?|build|tests?|command|process|notification))\b"
)
"""An agent waits for what it began itself, or for another agent: no person has to do anything."""
_LOOKS = lazy_pattern(r"(?i)(?:now )?let me (?!know\b)")
"""Announces what the agent looks at next."""
_ANSWERS = lazy_pattern(r"(?i)(?:yes|yep|no|nope)\b[^?]{0,60}$")
"""A short answer to a question of the user."""
_CONDITION = lazy_pattern(
    r"(?i).{0,200}\b(?:if|when|while|unless)\b[^.]{0,80}\b(?:is|are) pending\b"
)
"""Tells when the code waits for something."""
_NOTHING_LEFT = (_SHA, _WAITS, _LOOKS, _ANSWERS, _CONDITION)
"""Begin sentences that sound open, and leave nothing to do for anybody."""


class Line(NamedTuple):
    """A line of a message, and how much it matters.

    0 the result, 1 a point, or the first below a heading, 2 the other points there, 3 a detail.
    """

    text: str
    rank: int


def condensed(text: str, tokens: int) -> str:
    """A message without steps and code: its result first of all, then its points, then details.

    Where it is too long, points are cut to an equal length before any of them is left out.
    """
    lines = list(_ranked(text))
    if sum(estimate(line.text) for line in lines) <= tokens:
        chosen = [line.text for line in lines]
        return "\n".join(_without_bare_lead_ins(chosen))
    selected: dict[int, str] = {}
    for rank in range(4):
        places = [n for n, line in enumerate(lines) if line.rank == rank]
        tokens -= _take(lines, places, tokens, selected)
    for n in [n for n in selected if n + 1 not in selected]:
        lead_in = selected[n]
        selected[n] = _with_names(lead_in, lines[n + 1 :], tokens + estimate(lead_in))
        tokens -= estimate(selected[n]) - estimate(lead_in)
    return "\n".join(_without_bare_lead_ins([selected[n] for n in sorted(selected)]))


def lead_in(text: str) -> str:
    """The first line of a message: where a table or code is all that follows, it has the result."""
    first = next((line.text for line in _ranked(text)), "")
    return first.strip().strip("*").rstrip(":")


def first_lines(lines: Iterable[str], tokens: int) -> str:
    """The beginning of a text in whole lines and sentences, without a lead-in at its end."""
    chosen: list[str] = []
    for line in lines:
        cost = estimate(line)
        if cost > tokens:
            is_item = bool(chosen and _ITEM.match(line.strip()))
            chosen.append("" if is_item else _beginning(line, tokens, whole=bool(chosen)))
            break
        tokens -= cost
        chosen.append(line)
    while chosen and _leads_in(chosen[-1]):
        before_lead_in = " ".join(sentences(chosen.pop())[:-1])
        chosen += [before_lead_in] if before_lead_in else []
    return "\n".join(chosen)


def _leads_in(line: str) -> bool:
    """Is a line empty, or does it announce what follows: by a colon, or as the label of a part?"""
    return line.rstrip("* ").endswith((":", "：")) or line.strip("* ") in ("", *LABELS)


def _beginning(line: str, tokens: int, *, whole: bool) -> str:
    """The first sentences of a line that fit; if none does, none or the first words."""
    fitting = ""
    for sentence in sentences(line):
        longer = f"{fitting} {sentence}".strip()
        if estimate(longer) > tokens:
            break
        fitting = longer
    if fitting or whole:
        return fitting
    return excerpt(line, max(20, len(line) * tokens // estimate(line)))


def without_open(text: str) -> str:
    """A message without what it said was left to do then."""
    return "\n".join(line for line in text.splitlines() if not _is_open(line))


def _is_open(line: str) -> bool:
    return bool(_OPEN.search(line.lower()) or _MARKED.search(line))


def count_results(text: str) -> int:
    """The lines of a message that tell a result: tests, commits, what is pending."""
    return sum(bool(_RESULT.search(line.text)) for line in _ranked(text))


def by_sentence(text: str) -> str:
    """A message with each sentence on a line of its own."""
    return "\n".join(part for line in text.splitlines() for part in sentences(line))


def results_first(text: str) -> str:
    """The lines of a message, those that tell a result in figures or a link before the others.

    The first stays where it is if it is short: it says what was done.
    """
    lines = text.splitlines()
    head = lines[:1] if lines and len(lines[0]) <= SHORTEST else []
    return "\n".join([*head, *sorted(lines[len(head) :], key=_is_no_figure)])


def _is_no_figure(line: str) -> bool:
    return not (any(map(str.isdigit, line)) and _RESULT.search(line))


def ends_in_step(text: str) -> bool:
    """Does a message end by announcing what is done next? A colon does, in any language.

    One or two words with a full stop, as `Pushed.`, are a remark on what was done.
    """
    bare = text.strip()
    if bare.endswith((":", "：")):
        return True
    if size(bare) < WHOLE and bare.endswith((".", "!", "。", "！")) and not bare.endswith("..."):
        return False
    return any(goes_on(sentence) for sentence in list(spoken(text))[-1:])


def announces(text: str) -> bool:
    """Does a message announce anywhere what is done next?"""
    return ends_in_step(text) or any(map(goes_on, spoken(text)))


def next_points(text: str) -> list[str]:
    """What a closing message says is still to do, or asks to be told.

    Where it lists what is left, that is all of it: no other sentence is searched for more.
    """
    from kinen.text.labels import LEADS, is_open, starts

    points = listed_points(text)
    listed = bool(points)
    told = list(spoken(text))
    for sentence in told:
        if any(sentence in point or point in sentence for point in points):
            continue
        what, value = starts(sentence)
        if what == "next" and value.strip() and not is_open(plain(value)):
            points.append(plain(value))
            continue
        settled = _COMPLETE.search(sentence) or any(rule.match(sentence) for rule in _NOTHING_LEFT)
        begins = sentence.casefold().startswith(LEADS["next"])
        asks = sentence is told[-1] and sentence.endswith(QUESTION)
        says_so = asks or (not listed and (begins or _is_undone(sentence)))
        if says_so and not settled and size(sentence) > 2:
            points += [] if sentence.endswith((":", "：")) else [sentence]
    return _told_once(points)


def says_open(text: str) -> bool:
    """Does a message say anywhere that something is not done?"""
    return any(map(_is_undone, spoken(text)))


def _is_undone(sentence: str) -> bool:
    undone = _UNDONE.search(sentence.lower()) or ("TODO" in sentence and _TODO.search(sentence))
    return bool(undone) and not _EXPLAINS.search(sentence)


def is_uncommitted(point: str) -> bool:
    """Does a point say that something is to be committed or pushed?"""
    return bool(_UNCOMMITTED.search(point))


def left_points(text: str) -> list[str]:
    """What a message lists as still to do, or says in a sentence that begins with that."""
    from kinen.text.labels import LEADS

    begun = (line for line in spoken(text) if line.casefold().startswith(LEADS["next"]))
    return listed_points(text) or _told_once(line for line in begun if not line.endswith(":"))


def listed_points(text: str) -> list[str]:
    """What stands beside or below a label that says that it is still to do, and empty boxes."""
    from kinen.text.labels import is_open, starts

    points: list[str] = []
    lead_in = ""
    items: list[str] = []
    whole = fenced = False
    for line in [*text.splitlines(), "#"]:
        bare = line.strip()
        fence = bare.startswith(_FENCE)
        fenced ^= fence
        if fence or (fenced and line != "#"):
            continue
        item = _ITEM.match(bare)
        content = item["text"] if item else bare.lstrip("# ")
        what, value = starts(content)
        is_lead_in = bare.rstrip("*_").endswith((":", "："))
        if item and item["box"]:
            points += [] if "x" in item["box"].lower() else [plain(content)]
        elif what == "next" and value.strip() and not is_open(plain(value)):
            points.append(plain(value))
        elif item or (whole and bare and not (items or is_lead_in or _heads(bare))):
            items += [] if is_open(plain(content)) else [plain(content)]
        elif _heads(bare) or (is_lead_in and not (whole and not items)) or (bare and items):
            if line[:1].isspace() and items and not is_lead_in:
                continue  # an item goes on
            points += _points_of(lead_in, items, whole=whole)
            items = []
            lead_in, whole = _opens(bare)
    return _told_once(points)


def _heads(line: str) -> bool:
    """Is a line a heading, or a title in bold that stands for one?"""
    return line.startswith("#") or bool(_BOLD.fullmatch(line))


def _opens(line: str) -> tuple[str, bool]:
    """The lead-in, if it says that something is open; and whether its items stand alone."""
    from kinen.text.labels import heads

    head = plain(line.lstrip("#").strip()).rstrip(":：")
    if not (_heads(line) or line.rstrip("*_").endswith((":", "："))):
        return "", False
    if heads(head) == "next":
        return head, True
    return (head, False) if _is_open(head) and not _COMPLETE.search(head) else ("", False)


def _points_of(lead_in: str, items: Sequence[str], *, whole: bool) -> list[str]:
    """The items of a list that is open: each a point, or all of them behind their lead-in."""
    if not lead_in or not items:
        return []
    if whole and all(size(item) > 2 for item in items):
        return list(items)
    return [f"{lead_in}: {', '.join(items[:LISTED])}" + (" …" if len(items) > LISTED else "")]


def _told_once(points: Iterable[str]) -> list[str]:
    return [excerpt(point, LENGTH) for point in dict.fromkeys(points) if size(point)]


def _ranked(text: str) -> Iterator[Line]:
    """The lines that say something, with how much each matters.

    Headings, code and the rows of tables are left out.
    """
    fenced = False
    first = True
    below = 0
    checked = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_FENCE):
            fenced = not fenced
        if bare.startswith("#"):
            below = 0
            checked = _is_checked(bare)
        if fenced or bare.startswith((*_FENCE, "#", "|")) or not bare.strip("-=* "):
            continue
        if RULER in bare:  # drawn around an insight
            continue
        selected = _without_steps(line)
        if not selected.strip() or _TAG.fullmatch(bare) or _GIT_STATUS.fullmatch(bare):
            continue
        is_item = bool(_ITEM.match(bare)) and not line[:2].isspace()
        below = below + 1 if is_item else 0
        if not _ITEM.match(bare):
            checked = bool(_LEAD_IN.fullmatch(bare)) and _is_checked(bare)
        yield Line(selected, 0 if first or checked else _rank(selected, below))
        first = False


def _is_checked(line: str) -> bool:
    """Does a heading or lead-in say that results follow: `Verification passed:`?"""
    from kinen.text.labels import RESULT, label_of

    words = plain(line.lstrip("# ")).rstrip(":：").split()
    return any(label_of(word) == RESULT for word in words)


def _rank(line: str, below: int) -> int:
    """How much a line matters, at its place in a list, or 0 outside of one."""
    if _RESULT.search(line):
        return 2 if line[:2].isspace() else 0  # a detail is nothing without the point above it
    is_title = size(line) < TITLE and not below
    if is_title or line[:2].isspace():
        return 3
    return 2 if below > 1 else 1


def _without_steps(line: str) -> str:
    """A line without sentences that only announce something; items of lists stay."""
    bare = line.lstrip()
    if bare.startswith(("-", "*", "+", "|", ">", "•")) or bare[:1].isdigit():
        return line.rstrip()
    return " ".join(part for part in sentences(line) if not is_step(part))


def _take(
    lines: Sequence[Line], places: Sequence[int], tokens: int, selected: dict[int, str]
) -> int:
    """Keep as many of some lines as fit, cut to one length; the tokens that they take."""
    spent = 0
    share = _width([lines[n].text for n in places], tokens)
    for n in places:
        text = _shortened(lines[n].text, share)
        cost = estimate(text)
        if spent + cost > tokens:
            break
        selected[n] = text
        spent += cost
    return spent


def _with_names(line: str, following: Sequence[Line], tokens: int) -> str:
    """A point that ends in a colon with the names of the items below it, which are left out."""
    if not line.endswith((":", "：")) or not following or not following[0].text[:2].isspace():
        return line
    names = []
    for detail in takewhile(lambda line: line.text[:2].isspace(), following):
        item = _ITEM.match(detail.text.strip())
        names += [_NAME_END.split(item["text"], maxsplit=1)[0].strip(" *")] if item else []
    short = [name for name in names[:LISTED] if len(name) <= LONGEST_NAME]
    longer = f"{line} {', '.join(short)}" + (" …" if len(short) < len(names) else "")
    return longer if short and estimate(longer) <= tokens else f"{line[:-1]} …"


def _width(lines: Sequence[str], tokens: int) -> int:
    """The largest length to which lines can be cut so that all of them fit; else the least."""
    for width in range(LONGEST, SHORTEST, -STEP):
        if sum(estimate(_shortened(line, width)) for line in lines) <= tokens:
            return width
    return SHORTEST


def _shortened(line: str, characters: int) -> str:
    """A line cut at a word, with its indentation."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + excerpt(line, min(characters, LONGEST))


def _without_bare_lead_ins(lines: Sequence[str]) -> list[str]:
    """The lines without those that announce a list of which nothing follows."""
    selected: list[str] = []
    for line in reversed(lines):
        follows = bool(selected) and bool(_ITEM.match(selected[-1].strip()))
        if follows or not _LEAD_IN.fullmatch(line.strip()):
            selected.append(line)
    return selected[::-1]
