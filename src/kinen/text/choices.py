"""What a short reply accepts: one of the options before it, or the question itself.

Structure decides: the options are the numbered or lettered items of a message that asks which, and
the reply is nothing but a letter, a number, an ordinal or the words of an option beside words that
choose. Any other word may be a refusal (`not 2`, `skip 2`) or about something else (`2 is broken`),
so that such a reply accepts nothing. The tables of words have eight languages.
"""

from __future__ import annotations

from kinen.model.tuples import NamedTuple
from kinen.text import QUESTION, excerpt, lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_REPLY = 120
"""Characters of a reply that may be a mere acceptance; a longer one says something of its own."""
LONGEST = 300
"""Characters of a question or an option."""
POINTING = 7
"""Words of a question that may be about the sentence before it: `Shall I do that?`"""

YES = frozenset(
    """yes yep yeah yup sure ok okay agreed lgtm approved fine perfect great good go do it ahead
    please sounds right let's that's thanks ja jo klar genau einverstanden gut passt mach bitte
    danke oui d'accord ouais parfait vas-y merci sí si vale claro dale perfecto gracias sim isso
    perfeito pode obrigado да ага хорошо давай согласен согласна ладно конечно спасибо 好 好的 是
    是的 可以 行 对 同意 没问题 谢谢 はい ええ うん 了解 お願いします いいです いいですね
    そうしてください""".split()
)
"""Words of a reply that only agrees."""
CHOOSING = YES | frozenset(
    """option number choice the one lets with for take pick choose use prefer want i i'd i'll we
    we'll then die der das den dem variante nummer nehmen nimm nehme nehmt wir ich mit dann lieber
    le la les numéro choix je nous on prends prenons choisis choisissons avec pour va alors plutôt
    el lo opción número con por tomo usa usemos elijo prefiero vamos entonces a o opção com de
    escolho prefiro usar então вариант номер возьмём возьми беру выбираю выбери пусть будет тогда
    选 选择 选项 方案 用 就 吧 案 番 で にします にしましょう でお願いします 選択肢
    の方で""".split()
)
"""Words that may stand beside the option in a reply that picks one."""
NO = frozenset(
    """no nope nah not don't wait nein nicht ne non pas não нет не стой 不 不是 不要 等等 いや
    いいえ""".split()
)
"""Words with which a clause takes back what stands before it."""
WHICH = frozenset(
    """what which who whom whose when where why how was welche welcher welches welchen welchem wer
    wen wem wann wo wohin warum wieso wie womit quel quelle quels quelles lequel laquelle que qui
    quand où pourquoi comment combien qué cuál cuáles quién cuándo dónde cómo cuánto cuántos qual
    quais quem quando onde como quanto что какой какая какое какие какую каким кто когда где куда
    почему зачем как сколько который которую""".split()
)
"""Words with which a question begins that no yes answers."""
OR = frozenset("or oder ou или".split())
"""Between alternatives, of which a yes does not say which."""
_UNSPACED_WHICH = tuple(
    """什么 什麼 哪 谁 誰 怎么 怎麼 为何 多少 还是 還是 何 どの どれ どちら どう いつ どこ なぜ
    いくつ それとも""".split()
)
"""The same where words are not spaced."""
_ASKING = frozenset(QUESTION)
_BECAUSE = frozenset("because weil parce car porque pois потому 因为".split())
ORDINALS = {
    word: number
    for number, words in enumerate(
        """first erste ersten erstes premier première primera primero primeira primeiro первый
        первая первое первую 第一个 第一 一番目 最初
        | second zweite zweiten zweites deuxième seconde segunda segundo второй вторая второе вторую
        第二个 第二 二番目
        | third dritte dritten drittes troisième tercera tercero terceira terceiro третий
        третья третье третью 第三个 第三 三番目
        | fourth vierte vierten quatrième cuarta cuarto quarta quarto четвёртый четвертый четвёртую
        第四个 第四 四番目""".split("|"),
        1,
    )
    for word in words.split()
} | dict.fromkeys(
    "last latter letzte letzten dernière dernier última último последний 最后".split(), -1
)
"""Places in a list, -1 for its end."""

_ITEM = lazy_pattern(
    r"(?im)^[ \t]{0,6}(?:[-*+•][ \t]+)?(?:\[[ xX]\][ \t]+)?(?:#{1,6}[ \t]+)?[*_]{0,2}"
    r"(?:(?:option|variante?|opción|opção|вариант|选项|方案|案|選択肢|オプション)[ \t]*)?"
    r"[(（]?(?P<key>[A-Ha-h]|\d{1,2}|[①-⑧])"
    r"(?:[*_]{0,2}[ \t]*[.):：、）]|[*_]{0,2}[ \t]+[–—-]{1,2}(?=[ \t]))"
    r"[*_]{0,2}[ \t]*(?P<text>\S.*)$"
)
FENCE = lazy_pattern(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_KEY = lazy_pattern(r"[A-Ha-h]|\d{1,2}")
_CJK = "\u3040-\u30ff\u3400-\u9fff"
_PLAIN = lazy_pattern(r"[^\W_]+(?:['-][^\W_]+)*")
"""Words of ASCII, without the ranges below: to compile those is 2 % of a recall."""
_WORD = lazy_pattern(f"[{_CJK}]+|(?:(?![{_CJK}])[^\\W_])+(?:['’-](?:(?![{_CJK}])[^\\W_])+)*")
_CLAUSE = lazy_pattern(r"[,;.!:()\n，。；！：、（）]+|\s[–—-]+\s")
_BOUND = lazy_pattern(r"(?<=[.!?؟。！？])\s+|\n")
_LISTED = lazy_pattern(r"\s*(?:[-*+•]|\d{1,2}[.)]|\|)\s")
_MARKUP = lazy_pattern(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}|^\s*(?:#{1,6}|[-+>])\s+")


class Choice(NamedTuple):
    """What was asked, and what was chosen."""

    question: str
    option: str
    """The option in its own words; empty if the reply only agrees to the question."""
    rest: str = ""
    """What the reply adds: `but keep the old one`."""
    lead: str = ""
    """The line that leads to the options, if that is not the question; what `Shall I?` is about."""

    @property
    def what(self) -> str:
        """The option, else the question with what it is about."""
        return self.option or f"{self.lead} {self.question}".strip()

    @property
    def taken(self) -> str:
        """The option with what the reply adds to it."""
        return f"{self.option} ({self.rest})" if self.rest else self.option


def options(message: str) -> dict[str, str]:
    """The last list of options that a message offers, by letter or number."""
    items: dict[str, str] = {}
    for item in _ITEM.finditer(FENCE.sub("", message)):
        key = item["key"].upper()
        key = str("①②③④⑤⑥⑦⑧".index(key) + 1) if key in "①②③④⑤⑥⑦⑧" else key
        if key in ("1", "A"):
            items = {}  # an earlier list was another one
        items[key] = _plain(item["text"])
    return items if len(items) > 1 and _in_order(items) else {}


def accepted(question: str, reply: str) -> Choice | None:
    """What a reply to a message accepts, or None if it is no mere acceptance.

    `question` is the whole message of the other side, as markdown.
    """
    sentence, lead = _question(question)
    if not sentence:
        return None
    offered = options(question)
    if offered:
        option, rest = picked(offered, reply)
        # A list and `Shall I commit?` is a report.
        return Choice(sentence, option, rest, lead) if option and asks_which(sentence) else None
    if not agrees(reply) or asks_which(sentence):
        return None
    return Choice(sentence, "", lead=_proposal(question))


def agrees(reply: str) -> bool:
    """Does a reply only say yes?"""
    words = map(str.casefold, _written(reply))
    yes = not _ASKING.intersection(reply) and next(words, "") in YES
    return yes and all(word in YES for word in words)


def asks_which(question: str) -> bool:
    """Does a question ask for more than a yes: `Which …?`, `In which …?`, `… or …?`"""
    words = words_of(question)
    # A preposition or `and` may stand before the word, and `est-ce` before `que`.
    first = words[:2] if words and len(words[0]) < 5 else words[:1]
    return (
        not WHICH.isdisjoint(first)
        or not OR.isdisjoint(words)
        or any(word in question for word in _UNSPACED_WHICH)
    )


def picked(offered: Mapping[str, str], reply: str) -> tuple[str, str]:
    """The option that a reply picks, and what it adds to that; empty if it picks none.

    The first clause decides, after `yes,`. What follows must neither name another option nor begin
    with a no.
    """
    if len(reply.strip()) > LONGEST_REPLY or _ASKING.intersection(reply):
        return "", ""
    clauses = _clauses(reply)
    while len(clauses) > 1 and YES.issuperset(words_of(clauses[0])):
        del clauses[0]
    if not clauses:
        return "", ""
    option = _named(offered, " ".join(clauses))
    if option:
        return option, ""
    rest = clauses[1:]
    option = _named(offered, clauses[0]) or _placed(offered, clauses[0])
    added = [word for clause in rest for word in words_of(clause)]
    if added and (added[0] in NO or _places(offered, " ".join(rest))):
        return "", ""
    return (option, "" if CHOOSING.issuperset(added) else ", ".join(rest)) if option else ("", "")


def _clauses(reply: str) -> list[str]:
    """The clauses of a reply; a reason is one of its own."""
    clauses = []
    for clause in _CLAUSE.split(reply.strip().strip("\"'` ")):
        tokens = clause.split()
        at = next((n for n, token in enumerate(tokens) if token.casefold() in _BECAUSE), None)
        clauses += [" ".join(tokens[:at]), " ".join(tokens[at:]) if at is not None else ""]
    return [clause for clause in clauses if words_of(clause)]


def _named(offered: Mapping[str, str], clause: str) -> str:
    """The only option that begins with the words of a clause, words that choose aside."""
    words = words_of(clause)
    for own in (words, [word for word in words if word not in CHOOSING]):
        if len("".join(own)) < 3:
            continue
        matches = []
        for text in offered.values():
            theirs = words_of(text)
            theirs = theirs if own is words else [word for word in theirs if word not in CHOOSING]
            if theirs[: len(own)] == own:
                matches.append(text)
        if len(matches) == 1:
            return matches[0]
    return ""


def _placed(offered: Mapping[str, str], clause: str) -> str:
    """The option that a clause picks by its key or its place, if all other words choose."""
    places = _places(offered, clause)
    others = [word for word in words_of(clause) if word not in CHOOSING and word not in ORDINALS]
    if len(places) != 1 or any(word.upper() not in offered for word in others):
        return ""
    return places.pop()


def _places(offered: Mapping[str, str], clause: str) -> set[str]:
    """The options that a clause names by key or place: `a` in a sentence is an article."""
    words = [*_written(clause)]
    texts = list(offered.values())
    found = set()
    for word in words:
        place = ORDINALS.get(word.casefold(), 0)
        if place and abs(place) <= len(texts):  # the last is -1
            found.add(texts[place - 1 if place > 0 else place])
        short = len(words) < 4 and word not in "aeo"
        likely = len(words) == 1 or word.isdigit() or word.isupper() or short
        if _KEY.fullmatch(word) and likely and word.upper() in offered:
            found.add(offered[word.upper()])
    return found


def words_of(text: str) -> list[str]:
    return [word.casefold() for word in _written(text)]


def _written(text: str) -> Iterator[str]:
    pattern = _PLAIN if text.isascii() else _WORD
    return (match[0].replace("’", "'") for match in pattern.finditer(text))


def _question(message: str) -> tuple[str, str]:
    """The question that options answer, and the line that leads to them if it is another one.

    The question stands before the options, else it is the last one.
    """
    if not any(sign in message for sign in QUESTION):
        return "", ""
    prose = FENCE.sub("", message)
    first = _ITEM.search(prose)
    before = prose[: first.start()] if first else ""
    for part in (before, _ITEM.sub("", prose)):
        lines = [line for line in _BOUND.split(part) if line.strip()]
        sentence = [line for line in lines if line.rstrip("*_ ").endswith(tuple(_ASKING))]
        if sentence:
            lead = "" if part is before else next(reversed(before.strip().split("\n")), "")
            return _plain(sentence[-1]), _plain(lead)
    return "", ""


def _proposal(message: str) -> str:
    """The sentence that a short question points back to; a list of several things is none."""
    lines = [line for line in _BOUND.split(FENCE.sub("", message)) if line.strip()]
    ends = (line.rstrip("*_ ").endswith(tuple(_ASKING)) for line in reversed(lines))
    last = len(lines) - 1 - next((n for n, asks in enumerate(ends) if asks), len(lines))
    if last < 1 or len(words_of(lines[last])) > POINTING or _LISTED.match(lines[last - 1]):
        return ""
    return _plain(lines[last - 1])


def _in_order(items: dict[str, str]) -> bool:
    """Do the keys begin with 1 or A, and rise?"""
    keys = [(len(key), key) for key in items]
    return keys[0][1] in ("1", "A") and keys == sorted(keys)


def _plain(text: str) -> str:
    return excerpt(" ".join(_MARKUP.sub("", text).split()), LONGEST)
