"""What a message states: decisions, lessons, rules; and what is only a step.

The one reader of statements: summaries, memories and recall ask it. What is labelled is read by
`labels`, a short reply by `choices`, what a closing message leaves to do by `closing`. Precision
before number: a wrong memory costs more than a missing one.
"""

from __future__ import annotations

from kinen.model.late import lru_cache
from kinen.model.tuples import NamedTuple
from kinen.text import QUESTION, STOP_WORDS, excerpt, lazy_pattern, signed_pattern
from kinen.text.choices import CHOOSING, WHICH, Choice, words_of
from kinen.text.sentences import (
    is_certain,
    joined,
    paragraphs,
    sentences,
    size,
    stands_alone,
    weight,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Role = str
"""`user` or `assistant`."""
LABEL = "label"
RULE = "rule"
WORDING = "wording"

LONGEST = {"user": 4_000, "assistant": 12_000}
"""Characters of a message; a longer one was pasted or generated."""
TYPED = 1_500
"""Characters of a prompt that somebody typed; a longer one holds rules of a template."""
LEAST = 3
"""Words with a meaning of their own from which on a text says what a choice is about."""
SHORT_CUE = 40
LENGTH = 400
"""Characters of a statement."""
WORDS = range(4, 60)
"""Words of a sentence that states one thing."""

STRUCTURED = lazy_pattern(
    r"(?m)^(?:#{1,6} |```|~~~|\s*(?:[-*+] |\d+[.)] )?\*\*[^*\n]{2,80}\*\*|<\w)"
)
"""Headings, code, bold paragraphs and tags: a prompt that has them was not typed."""
_FILLER = lazy_pattern(
    r"(?:(?:no|nope|ok|okay|yes|yeah|yep|right|also|and|but|so(?! far)|well|actually|please"
    r"|great|good|perfect"
    r"|excellent|hmm|then|wait|indeed|alright)\b[,.!: ]+){1,4}"
)
"""Begins a sentence in small letters, as the other expressions of a step, and says nothing."""
_STEP = lazy_pattern(
    r"(?:now |first,? |next,? |then |also |finally,? |so |and |but ){0,3}"
    r"(?:let me\b(?! know)|let's (?:start|check|see|look|move|run|try|verify|continue|now|first)\b"
    r"|let us\b|i'll\b|i will\b|i'm (?:now |also |just )?\w+ing\b|i am going to\b"
    r"|i need to (?:add|fix|check|see|look"
    r"|read|also|find|import|actually|create|update|wire)\b|i should\b"
    r"|i(?: have|'ve got) (?:now )?(?:a|the|all|full|every|everything|enough|sufficient|thorough)\b"
    r"|i understand\b|i see\b|i can see\b"
    r"|expected\b|continuing\b|starting\b|moving on\b|looking at\b|checking\b"
    r"|running\b|reading\b|waiting\b"
    r"|still (?:compiling|running|waiting)\b|almost done\b|now (?:add|update|write|implement|run"
    r"|create|wire|fix|check|the|i|let|it|for|also|move|we|mark|commit|push|reply|resolve|verify)\b"
    r"|need to\b|(?:\w+ly )?\w+ing\b(?=[^.]{0,120}(?:\.\.\.|…)$)"
    r"|(?:add|update|write|implement|run|create|register|close|check)\b(?=[^.]{0,120}:$))"
)
_GOES_ON = signed_pattern(
    r"\b(?:let me\b(?! know)|i'll\b(?! (?:be|wait|leave|stop)\b)|so need to\b"
    r"|i'm (?:now |also |just |still )?(?!assuming|leaving)\w+ing\b|i (?:still |now )?need to\b)"
    r"|[,;:–—] need to\b",
    *("let me", "i'll", "i'm", "need to"),
)
"""In a sentence in small letters: what its author does next, after the reason for it."""
_WAITS = lazy_pattern(
    r"(?i)\b(?:wait(?:ing)? (?:for|on) (?:the )?(?:your?|users?|team|further|next|new|more"
    r"|instructions?|confirmation|approval|feedback)\b|standing by\b"
    r"|i(?:'ll| will) (?:now )?(?:exit|stop)\b"
    r"|(?:if|once|when|whenever|after) you\b|just say\b|say the word\b)"
)
"""Waits for somebody, and not for a command: nothing is done next unless they say so."""
_FULL_STOP = lazy_pattern(r"(?<=[。！？])(?![」』）”’)])")
"""Ends a sentence without a space after it."""
_CITES = lazy_pattern(r"https?://\S|(?<!\w)#\d|\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,40}\b")
"""A link, a number of an issue, a commit: a few words are enough beside it."""
_CODE = lazy_pattern(r"`[^`]{1,200}`")
_EMPTY = lazy_pattern(
    r"(?:done|clean compile|all green|good|perfect|great|excellent|expected|pushed|fixed|works"
    r"|here(?:'s| is) (?:a|the|what)\b.{0,80})[.!:]*"
)
_COURTESY = lazy_pattern(
    r"(?:that'?s |this is )?(?:an? )?(?:really |very )?(?:good|great|nice|fair|sound|excellent"
    r"|interesting) (?:\w+ )?(?:catch|point|question|call|idea|instinct|thought)\b.{0,40}"
    r"|you(?:'re| are) (?:absolutely |completely |quite )?right\b.{0,20}"
    r"|glad (?:it|that|they|you|this)\b.{0,40}"
)
"""An answer to the user as a person, which tells nothing."""
_LESSON = signed_pattern(
    r"\b(?:root cause\b|(?:it )?turn(?:s|ed) out\b(?: that)?|(?:was|were|is|are) caused by\b"
    r"|the (?:(?:actual|real|underlying|main) )?(?:issue|problem|bug|cause|culprit|fix|solution"
    r"|reason|trick)(?: here)? (?:was|were)\b"
    r"|known (?:\w+ ){0,3}(?:bug|issue|conflict|limitation|problem)\b"
    r"|(?:doesn't|does not|don't|do not|cannot|can't|won't|isn't|is not|aren't) (?:\w+ ){0,2}"
    r"(?:support(?:ed)?|allow(?:ed)?|work|handle|accept|exist|match|access|include|persist"
    r"|compatible|available|thread-safe|safe)\b(?! yet\b)"
    r"|(?:fail(?:s|ed|ing)?|broke(?:n)?|crash(?:es|ed)?|hangs?|hung|error(?:s|ed)?)\b.{0,160}"
    r"\b(?:because|since|due to|as soon as|unless|when|if)\b"
    r"|only works?\b|works? (?:only|because|around)\b|gotcha\b|workaround\b"
    r"|(?:has|have|needs?|must|requires?)\b.{0,80}\b(?:otherwise|or else|before it|first)\b)"
    r"|^(?:the |one )?caveat\b(?=:| is)(?!: if)|^(?:note|important|warning|nb)\b ?(?:that|:)",
    *("root cause", "turns out", "turned out", "caused by", " was", " were", "known ", "not "),
    *("n't ", "fail", "broke", "crash", "hang", "hung", "error", "only", "because", " around"),
    *("workaround", "gotcha", "otherwise", "or else", "before it", "first", "caveat", "note"),
    *("important", "warning", "nb"),
)
"""States in small letters a cause, a limit or a way around it; other languages begin with a lead.

Without regard to case it would take three times as long, since every alternative is tried.
"""
_INTENDED = lazy_pattern(
    r"\b(?:i'll|i will|i'm (?:now )?\w+ing|i (?:still |now |also )?(?:need|have) to"
    r"|we'll (?:know|see)|unrelated|untracked|untouched)\b"
)
"""Says what its author is about to do, or what was left alone; asked of small letters, too."""
_HYPOTHETICAL = lazy_pattern(r"(?i)(?:even )?if\b")
"""Begins what would be, and not what is."""
_POINTS_BACK = lazy_pattern(
    r"(?i)(?:this|that|these|those)\b(?! (?:project|repo|repository|branch)\b)"
)
"""Begins a sentence that speaks of what stands before it."""
ALWAYS = frozenset(
    """always never nie niemals immer stets jamais toujours nunca siempre jamás sempre никогда
    всегда 永远 绝不 絕不 切勿 始终 总是 务必 必须 必ず 常に 絶対に 決して""".split()
)
"""Words of a standing rule, where the sentence begins with them or with an order."""
HENCEFORTH = tuple(
    phrase.strip()
    for phrase in """from now on, going forward, under no circumstances, ab jetzt,
    ab sofort, künftig, in zukunft, désormais, à partir de maintenant, dorénavant,
    a partir de ahora, de ahora en adelante, a partir de agora, daqui em diante,
    отныне, впредь, с этого момента,
    从现在开始, 从现在起, 以后都, 今后, 今後は, これからは""".replace("\n", " ").split(",")
)
"""Phrases at either end of a sentence that make it a standing rule."""
REMEMBER = tuple(
    phrase.strip()
    for phrase in """remember that, remember:, keep in mind that, merk dir, merke dir, denk daran,
    souviens-toi, retiens que, n'oublie pas que, recuerda que, recuerda:, lembre-se, lembra que,
    запомни, помни, 记住, 記住, 请记住, 覚えておいて""".replace("\n", " ").split(",")
)
"""Beginnings of a sentence that asks to remember what follows."""
_POLITE = frozenset("please bitte s'il vous plaît por favor пожалуйста 请 and but also so".split())
_VERBS = frozenset("be do have just".split())
_ARTICLES = frozenset("le la les un une el los las una o os as um uma encore".split())
_GERMAN = frozenset("nie niemals immer stets".split())
_PARTICLES = frozenset("ne no do not don't n'".split())
_RULE_WORD = lazy_pattern(r"[^\W_]+(?:['’-][^\W_]+)*|`[^`]+`")
_RULE_CLAUSE = lazy_pattern(r"[,;:–—]\s+|\s-\s|[，、；：]")
_UNSPACED = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]")


class Statement(NamedTuple):
    """A sentence of a message that is worth keeping."""

    kind: str
    """A type of memory."""
    text: str
    by: str
    """What says so: a `LABEL` of its author, a standing `RULE` of the user, or its `WORDING`."""
    reason: str = ""


@lru_cache(256)
def is_step(sentence: str) -> bool:
    """Does a sentence only announce what is done next, agree, or say that something was done?"""
    text = _plain(sentence).lower()
    if _COURTESY.fullmatch(text):
        return True
    rest = _without_filler(text)
    return bool(_STEP.match(rest)) or bool(_EMPTY.fullmatch(rest)) or not rest


def _without_filler(text: str) -> str:
    """A sentence without the words that it begins with before it says something."""
    filler = _FILLER.match(text.lower())
    return text[filler.end() :] if filler else text


@lru_cache(256)
def goes_on(sentence: str) -> bool:
    """Does a sentence end on what is done next? `The branch is behind, so I'm rebasing it.`"""
    text = _plain(sentence)
    return bool(is_step(sentence) or _GOES_ON.search(text.lower())) and not _WAITS.search(text)


def points_back(text: str) -> bool:
    """Does a text begin with what stood before it, as in `That avoids the old layout`?"""
    return bool(_POINTS_BACK.match(text))


@lru_cache(256)
def spoken(text: str) -> Sequence[str]:
    """The sentences of a message in its own words: no code, no quotation, no table."""
    parts = (
        part.strip()
        for paragraph in paragraphs(text)
        for sentence in sentences(paragraph)
        for part in ((sentence,) if sentence.isascii() else _FULL_STOP.split(sentence))
    )
    return tuple(filter(None, parts))


def has_substance(text: str) -> bool:
    """Does a message say anything but what its author is about to do?"""
    return any(
        not is_step(sentence) and (size(sentence) > 3 or bool(_CITES.search(sentence)))
        for sentence in spoken(text)
    )


def statements(role: Role, text: str, *, rules: bool = True) -> Iterator[Statement]:
    """What a message labels, the `rules` that a user sets, and the lessons that an agent words."""
    from kinen.text.labels import LEADS, labelled

    if len(text) > LONGEST[role]:
        return
    for entry in labelled(text):
        yield Statement(entry.type, entry.text, LABEL, entry.reason)
    if role == "user":
        yield from (Statement("pattern", rule, RULE) for rule in (rules_of(text) if rules else ()))
        return
    for sentence in spoken(text):
        claim = _without_filler(sentence)
        if size(claim) not in WORDS or is_step(claim) or claim.endswith(":"):
            continue
        led = claim.casefold().startswith(LEADS["lesson"])
        states = led or (claim[:1] not in "+-|=" and _states_lesson(claim))
        if states and is_certain(_CODE.sub("`code`", claim)):  # whatever the code in it looks like
            yield Statement("lesson", excerpt(claim, LENGTH), WORDING)


def _states_lesson(claim: str) -> bool:
    """Does a sentence state a lesson in English, and say of what?"""
    low = claim.lower()
    match = _LESSON.search(low)
    # Without the words that it is known by, unless these are most of what it says.
    cue = claim[slice(*match.span())] if match else ""
    if not cue or _INTENDED.search(_plain(low)) or _HYPOTHETICAL.match(claim) or points_back(claim):
        return False
    return stands_alone(claim.replace(cue, " ") if len(cue) < SHORT_CUE else claim)


def _plain(claim: str) -> str:
    return claim.replace("’", "'")


def choice_about(choice: Choice, request: str) -> str:
    """What a choice is about: its question, if that leads to the options and says so.

    A question after the options points back to what leads to them, or to the user's request.
    """
    if not choice.lead and telling_words(choice.question) >= LEAST:
        return choice.question
    lead = choice.lead.rstrip(":： ")
    context = lead if size(lead) > 2 * LEAST and telling_words(lead) >= LEAST else request
    says = telling_words(choice.question) >= LEAST - 1
    return joined([context, choice.question]) if says else context.rstrip(".")


def request_of(prompt: str) -> str:
    """The sentence of a prompt that says what it is about: its last question, else its first."""
    if len(prompt) > TYPED or STRUCTURED.search(prompt):
        return ""
    every = [each for text in paragraphs(prompt) for each in sentences(text)]
    telling = [
        sentence for sentence in every if telling_words(sentence) > 1 and len(sentence) <= 200
    ]
    asked = [sentence for sentence in telling if sentence.endswith(QUESTION)]
    return asked[-1] if asked else telling[0] if telling else ""


def telling_words(text: str) -> int:
    """The number of words that say what a question is about: `Which option?` has none."""
    own = (word for word in words_of(text) if word not in CHOOSING and word not in WHICH)
    return weight(" ".join(own))


def rules_of(prompt: str) -> Iterator[str]:
    """The standing rules that a user types: `Never …`, `From now on …`, `Remember that …`."""
    if len(prompt) > TYPED or STRUCTURED.search(prompt):
        return
    for paragraph in paragraphs(prompt):
        for sentence in sentences(paragraph):
            rule = _rule(sentence)
            if rule:
                yield rule


def _rule(sentence: str) -> str:
    """The rule in a sentence, without a word such as `no,` before it; empty if it is none."""
    if sentence.rstrip().endswith((*QUESTION, ":", "：", "…", "...")):
        return ""
    clauses = _RULE_CLAUSE.split(sentence)
    if len(clauses) > 1 and size(clauses[0]) == 1:
        sentence = sentence[len(clauses[0]) :].lstrip(" ,;:–—-，、")
        clauses = clauses[1:]
    if size(sentence) < 4:
        return ""
    order = sentence
    while (first := _RULE_WORD.match(order)) and first[0].casefold() in _POLITE:
        order = order[first.end() :].lstrip(" ,，")
    low = order.casefold().replace("’", "'")
    beginning = next((phrase for phrase in REMEMBER if low.startswith(phrase)), "")
    if beginning:
        return order[len(beginning) :].lstrip(" ,:，：、")
    if low.startswith(HENCEFORTH) or low.rstrip(" .!。！").endswith(HENCEFORTH):
        return sentence
    return sentence if any(map(_orders, clauses)) or _contrasts(clauses) else ""


def _contrasts(clauses: Sequence[str]) -> bool:
    """Do clauses end as in `Use pnpm, never npm`?"""
    if len(clauses) != 2:
        return False
    first, last = (_RULE_WORD.findall(clause.casefold()) for clause in clauses)
    alone = len(last) == 2 and last[0] in ALWAYS and last[1] not in STOP_WORDS
    return alone and len(first) > 1 and first[0] not in STOP_WORDS


def _orders(clause: str) -> bool:
    """Does a clause begin with `always` or `never`, or with an order and one of them?"""
    low = clause.casefold().replace("’", "'")
    low = low.replace("don't ever ", "never ").replace("do not ever ", "never ")
    if _UNSPACED.search(low):
        return any(0 <= low.find(word) < 8 for word in ALWAYS)
    words = [word for word in _RULE_WORD.findall(low) if word not in _POLITE]
    head = [word for word in words[:4] if word not in _PARTICLES][:2]
    if len(words) < 3:
        return False
    if head and head[0] in ALWAYS:
        # Is what follows `always` or `never` an order? `Always the same error`, `Never tested
        # this` and `never mind` tell of something. A German order ends in its verb.
        after = words[words.index(head[0]) + 1 :]
        following = after[0] if after else ""
        if head[0] in _GERMAN:
            return following != "noch" and after[-1:] != [] and after[-1].endswith("n")
        past = following.endswith("ed") and not following.endswith(("eed", "embed"))
        story = following == "mind" or past or (len(following) > 6 and following.endswith("ing"))
        return not story and following not in _ARTICLES and following not in STOP_WORDS - _VERBS
    # English puts the word first in an order: `tests always fail` tells of something.
    return len(head) > 1 and head[1] in ALWAYS - {"always", "never"}
