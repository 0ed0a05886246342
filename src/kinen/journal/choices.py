"""What a short reply accepts: one of the options before it, or the question itself.

Structure decides: the options are the numbered or lettered items of the message before, and the
reply is a letter, a number, an ordinal, the words of an option, or nothing but a yes. The table of
words has eight languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinen.model.tuples import NamedTuple
from kinen.text import excerpt, lazy_pattern

LONGEST_REPLY = 120
"""Characters of a reply that may be a mere acceptance; a longer one says something of its own."""
MOST_WORDS = 8
"""Words of a reply that picks an option by its letter, number or place."""
LONGEST = 300
"""Characters of a question or an option."""

YES = frozenset(
    """yes yep yeah yup sure ok okay agreed lgtm approved fine perfect great good go do it ahead
    please sounds right let's that's ja jo klar genau einverstanden gut passt mach bitte oui
    d'accord ouais parfait vas-y sí si vale claro dale perfecto sim isso perfeito pode да ага
    хорошо давай
    согласен согласна ладно конечно 好 好的 是 是的 可以 行 对 同意 没问题
    はい ええ うん 了解 お願いします
    いいです いいですね そうしてください""".split()
)
"""Words of a reply that only agrees."""
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
    r"^[ \t]{0,6}(?:[-*+•][ \t]+)?(?:\[[ xX]\][ \t]+)?(?:#{1,6}[ \t]+)?[*_]{0,2}"
    r"(?:(?:option|variante?|opción|opção|вариант|选项|方案|案|選択肢|オプション)[ \t]*)?"
    r"[(（]?(?P<key>[A-Ha-h]|\d{1,2}|[①-⑧])"
    r"(?:[*_]{0,2}[ \t]*[.):：、）]|[*_]{0,2}[ \t]+[–—-]{1,2}(?=[ \t]))"
    r"[*_]{0,2}[ \t]*(?P<text>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = lazy_pattern(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_KEY = lazy_pattern(r"[A-Ha-h]|\d{1,2}")
_WORD = lazy_pattern(r"[^\W_]+(?:['’-][^\W_]+)*|#?\d+")
_BOUND = lazy_pattern(r"(?<=[.!?。！？])\s+|\n")
_MARKUP = lazy_pattern(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}|^\s*(?:#{1,6}|[-+>])\s+")


class Choice(NamedTuple):
    """What was asked, and what was chosen."""

    question: str
    option: str
    """The option in its own words; empty if the reply only agrees to the question."""

    @property
    def text(self) -> str:
        return f"{self.question} {self.option}".strip()


def options(message: str) -> dict[str, str]:
    """The last list of options that a message offers, by letter or number."""
    items: dict[str, str] = {}
    for item in _ITEM.finditer(_FENCE.sub("", message)):
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
    words = [word.casefold() for word in _WORD.findall(reply)]
    if not words or len(reply.strip()) > LONGEST_REPLY or reply.rstrip().endswith(("?", "？")):
        return None
    offered = options(question)
    sentence = _question(question)
    if offered:
        option = _picked(offered, reply, words)
        return Choice(sentence, option) if option else None
    if sentence and all(word in YES for word in words):
        return Choice(sentence, "")
    return None


def _picked(offered: dict[str, str], reply: str, words: list[str]) -> str:
    """The option that a reply names: by its words, its key or its place."""
    low = reply.strip().strip(".!\"'` ").casefold()
    matches = [
        text for text in offered.values() if len(low) > 2 and text.casefold().startswith(low)
    ]
    if len(matches) == 1:
        return matches[0]
    if len(words) > MOST_WORDS:
        return ""
    keys = {key for word in _keys(reply) if (key := word.upper()) in offered}
    places = {ORDINALS[word] for word in words if word in ORDINALS}
    if len(keys) + len(places) != 1:
        return ""
    if keys:
        return offered[keys.pop()]
    place = places.pop()
    texts = list(offered.values())
    return texts[place - 1 if place > 0 else place] if place <= len(texts) else ""


def _keys(reply: str) -> Iterator[str]:
    """Letters and numbers of a reply that may name an option: `a` in a sentence is an article."""
    words = [word.lstrip("#") for word in _WORD.findall(reply)]
    for word in filter(_KEY.fullmatch, words):
        short = len(words) < 4 and word not in "ae"
        if len(words) == 1 or word.isdigit() or word.isupper() or short:
            yield word


def _question(message: str) -> str:
    """The question that the options answer, which stands before them, else the last one."""
    prose = _FENCE.sub("", message)
    first = _ITEM.search(prose)
    for part in (prose[: first.start()] if first else "", _ITEM.sub("", prose)):
        sentence = [line for line in _BOUND.split(part) if line.rstrip("*_ ").endswith(("?", "？"))]
        if sentence:
            return _plain(sentence[-1])
    return ""


def _in_order(items: dict[str, str]) -> bool:
    """Do the keys begin with 1 or A, and rise?"""
    keys = [(len(key), key) for key in items]
    return keys[0][1] in ("1", "A") and keys == sorted(keys)


def _plain(text: str) -> str:
    return excerpt(" ".join(_MARKUP.sub("", text).split()), LONGEST)
