"""How close hits are to a question, and the floor below which they have nothing to do with it.

A search always finds something that is nearest. Two floors were measured (docs/decisions/0014,
0019): of a recall, below which nothing is known at all, and of a search, for each hit.
"""

from __future__ import annotations

from math import exp, log

from kinen.model.records import Hits
from kinen.recall.fuse import index_size
from kinen.recall.wording import english, english_words, informative
from kinen.text import pairs, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kinen.model.records import Hit, Vote

UNKNOWN = "nothing is known about this"
LEAST_CHUNKS = 100
"""Chunks below which some missing words say little: whatever there is may be what is meant."""
NEAR = 0.3
"""Cosine from which on an entry has to do with a question, whatever its words are."""
FEW_MISSING = 0.25
"""Share of a question's words from which on too many are in no entry, if none is near."""
MOST_MISSING = 0.5
"""The share that has to be passed where no vectors were compared."""
NAMED = 5
"""Words that are named at most."""

BY_WORDS = "found by words alone, as the model is not loaded: mode hybrid waits for it"
POOR_WORDS = "words alone answer this poorly: the model was loaded for it"
NOTHING_CLOSE = "nothing close"
NEAREST = 3
"""Hits below the floor that a note names."""
SCORE = (0.28, 0.75)
"""Fused scores from which on a hit is close, if few words are missing, and as good as it gets."""
WORDS = (0.2, 0.7)
"""The same of full text alone, where only missing words decide what is close."""
COSINE = (0.4, 0.85)
"""The same of cosines, in an index of many chunks (`fuse.MANY`)."""
LEAST_COSINE = 0.2
"""The first of them in the smallest index: of few chunks, none is near by chance."""
LEAST_ELSEWHERE = 0.27
"""The same for a question in another language than English."""
MOST_BY_WORDS = 85
"""The strength of a hit with every word of a question of several, in the smallest index."""
MOST_WORDED = 0.65
"""The score up to which missing words count against a hit."""
CLOSE = 35
"""The strength of a hit that is just close enough."""
FAIR = 50
STRONG = 65
ODDS = {
    "hybrid": (-1.53, 0.0, 8.28, 0.19, 1.96, -1.73),
    "semantic": (-0.87, 0.65, 9.52, 0.12, 0.0, -1.45),
    "fulltext": (-3.16, 2.74, 12.02, 1.2, 0.0, 0.0),
}
"""The log odds that a hit answers, by mode: a constant, and the weights of its score, of its lead
over the best other one, of 1 / its place, of its cosine and of its rivals. Learned from 24 sets
(0019)."""
ODDS_ELSEWHERE = (-3.53, 2.55, 5.19, 0.99, 0.0, 0.0)
"""The same of full text for a hit in another language than English: a lead says less there."""
HEAD = 400
"""Characters of a hit by which its language is told."""
RIVAL = 0.05
"""How much less another hit may score to be as likely the answer."""
MOST_RIVALS = 5
MOST_LEAD = 0.3
CHANCES = (0.0, 0.5, 0.9, 1.0)
"""Chances that a hit answers which are a strength of `CLOSE`, `FAIR`, `STRONG` and 100."""
FOREIGN = 0.15
"""Fluency of a model below which its vectors say nothing: it does not know the script."""
FLUENT = 0.65
"""The mean fluency of question and hit below which any two texts are near: words decide, too."""
FLUENT_ELSEWHERE = 0.8
"""The same of a question with function words of another language than English."""
FLUENT_ENOUGH = 0.9
"""Fluency of a question from which on no hit is looked at: it is in the model's own language."""
UNKNOWN_SCRIPT = "the model does not know this script"
LITTLE_KNOWN = "the model may not know this language: hits need words of the question"
OTHER_LANGUAGE = (
    "the question is in another language than this space: `kinen config set"
    " index.embedding_model multilingual` finds what it means"
)
HALF = 0.5
"""Share of a question, by the rarity of its words, with which a strong hit answers it."""
ALL = 0.999
SHARED = (0.3, 0.9)
"""Shares of a question, by the rarity of its words, from which on a hit is close, and best."""
OF_FILES = frozenset({"commits", "names", "companions"})
"""Votes for a file of the history; only commits that are close vote."""
STEM = 5
"""Letters by which words with other endings are compared."""
LONG = 8
"""Letters from which on a word does not weigh more."""
MOST_TERMS = 5_000
ASIDE = ("files", "recency", "date")
"""Votes that do not say how close a hit is to the question."""


def missing_words(counts: Mapping[str, int]) -> list[str]:
    """The words of a question that no entry has."""
    return [word for word, count in counts.items() if not count]


def is_known(counts: Mapping[str, int], hits: Iterable[Hit], chunks: int) -> bool:
    """Whether hits may have to do with a question, by its words and how near they are.

    `counts` says how many chunks have each word of the question, `chunks` how many there are.
    """
    if not counts:
        return True
    share = len(missing_words(counts)) / len(counts)
    if chunks < LEAST_CHUNKS:
        return share < 1 or any(hit.strength >= CLOSE for hit in hits)
    cosines = [vote.score for hit in hits for vote in hit.votes if vote.retriever == "semantic"]
    if cosines:
        return max(cosines) >= NEAR or share < FEW_MISSING
    return share <= MOST_MISSING


def without_weak(hits: Hits, needed: Callable[[Hit], bool] | None = None) -> Hits:
    """The hits of a recall without weak ones, if one is strong: they would only pad the answer.

    Without a strong hit all of them stay, because lines of weak hits answer long questions. Hits
    that are `needed` for what they are stay in any case.
    """
    if not any(hit.strength >= STRONG for hit in hits):
        return hits
    close = tuple(hit for hit in hits if hit.strength >= CLOSE or (needed and needed(hit)))
    return Hits(close, hits.query, hits.mode, hits.notes)


def answered_by_words(hits: Hits, counts: Mapping[str, int], chunks: int) -> bool:
    """Whether full text has answered a question well enough to do without the model.

    The first hit has every word of it, or it is fair and has half of them by their rarity.
    `counts` and `chunks` as in `is_known`.
    """
    if not hits:
        return False
    shared = shared_weight(hits[0], counts, chunks)
    return shared > ALL or (shared >= HALF and hits[0].strength >= FAIR)


def unknown_note(counts: Mapping[str, int]) -> str:
    """What is said then, with the words that are nowhere."""
    words = missing_words(counts)
    named = ", ".join(words[:NAMED]) + (" …" if len(words) > NAMED else "")
    return f"{UNKNOWN}: no entry has {named}" if words else UNKNOWN


def strength_word(strength: int) -> str:
    """What a strength means, in a word."""
    if strength >= STRONG:
        return "strong"
    return "fair" if strength >= FAIR else "weak"


class Yardstick:
    """What the hits of a question are measured by. A plain class: the cold search loads it."""

    def __init__(self, mode: str, chunks: int, weight: float = 0.0) -> None:
        """`chunks` is how many the index has.

        `weight` is that of the votes `ASIDE`, by which the others were scaled down.
        """
        self.mode = mode
        self.chunks = chunks
        self.weight = weight
        self.elsewhere = False
        """Whether the question is in another language than English."""
        self.words_missing = False
        """Whether too many words of the question are in no entry."""
        self.by_words = False
        """Whether words alone decide, as the model does not know the script of the question."""
        self.fluency: Callable[[str], float] | None = None
        """How well the model knows the language of a text; None where no vector was compared."""
        self.by_place = False
        """Whether scores are places in rankings, which say nothing of a distance."""

    @property
    def cosine(self) -> float:
        """The cosine from which on a hit is close."""
        least = LEAST_ELSEWHERE if self.elsewhere else LEAST_COSINE
        return least + (COSINE[0] - least) * index_size(self.chunks)

    @property
    def worded(self) -> int:
        """The least strength of a hit that has every word of a question of several.

        In a large index BM25 knows which words are rare. In a small one every word is frequent, and
        that several of them stand together is what counts.
        """
        return round(MOST_BY_WORDS - (MOST_BY_WORDS - CLOSE) * index_size(self.chunks))


def with_strengths(
    hits: Hits, yardstick: Yardstick, counts: Callable[[], Mapping[str, int]]
) -> Hits:
    """Hits with their strengths; one that has every word of the question is at least close.

    `counts` says how many chunks have each word of the question.
    """
    known_terms = set(terms(hits.query.text))
    query_terms = _whole_words(words(hits.query.text), known_terms)
    worded = [has_all_words(hit, query_terms) for hit in hits]
    telling: tuple[str, ...] = ()
    if len(known_terms) > 1:
        telling = informative(hits.query.text)
        yardstick.elsewhere = is_scripted(hits.query.text) or english(hits.query.text) < 0
    compared = any(map(is_compared, hits))
    yardstick.by_place = compared and yardstick.mode == "rrf"
    lexical = not compared and any(map(_is_lexical, hits))
    by_words = yardstick.by_words or (lexical and is_scripted(hits.query.text))
    yardstick.by_words = by_words
    if not all(worded) and yardstick.chunks >= LEAST_CHUNKS:
        by_word = counts()
        share = len(missing_words(by_word)) / max(1, len(by_word))
        most = FEW_MISSING if compared else MOST_MISSING
        yardstick.words_missing = share >= most
    least = yardstick.worded if len(query_terms) > 1 else CLOSE
    rated = tuple(
        hit._replace(strength=max(strength(hit.votes, yardstick), least if has_words else 0))
        for hit, has_words in zip(hits, worded, strict=True)
    )
    if telling and len(telling) < len(known_terms):
        rated = tuple(
            hit if _by_meaning(hit, yardstick) or has_any_word(hit, telling) else _weak(hit)
            for hit in rated
        )
    notes = hits.notes
    if by_words or yardstick.fluency:
        close = sum(hit.strength >= CLOSE for hit in rated)
        rated = tuple(_in_language(hits.query.text, rated, yardstick, counts))
        if not by_words and sum(hit.strength >= CLOSE for hit in rated) < close:
            notes = (*notes, LITTLE_KNOWN)
    return Hits(rated, hits.query, hits.mode, notes)


def _in_language(
    question: str,
    hits: Sequence[Hit],
    yardstick: Yardstick,
    counts: Callable[[], Mapping[str, int]],
) -> Iterator[Hit]:
    """Hits with the strengths that hold in the language of the question.

    All texts of a language that the model hardly knows are near to each other, so that a hit needs
    words of the question, too. Of a script that it does not know, words alone decide.
    """
    fluent = FLUENT if english(question) >= 0 else FLUENT_ELSEWHERE
    asked = yardstick.fluency(question) if yardstick.fluency else 0.0
    by_word: Mapping[str, int] = {}
    for hit in hits:
        if hit.strength < CLOSE and not yardstick.by_words:
            yield hit
            continue
        if yardstick.fluency and asked + yardstick.fluency(hit.chunk.text) >= 2 * fluent:
            yield hit
            continue
        by_word = by_word or counts()
        shared = scaled(shared_weight(hit, by_word, yardstick.chunks), SHARED)
        if yardstick.by_words:
            yield hit._replace(strength=shared)
        else:
            yield hit if shared >= CLOSE else _weak(hit)


def _weak(hit: Hit) -> Hit:
    """A hit below the floor."""
    return hit._replace(strength=min(hit.strength, CLOSE - 1))


def is_scripted(text: str) -> bool:
    """Is most of a text in a script that is not Latin?"""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter > "\u024f" for letter in letters) > len(letters)


def with_chances(hits: Hits, chunks: int, weight: float = 0.0) -> Hits:
    """Close hits with the strength of their chance to answer, where the index is large.

    How close a hit is decides whether it is shown. How likely it answers is seen beside the others:
    several that are equally close cannot all be what was asked for. In the smallest index nothing
    can be learned from that, and the strengths stay. `weight` as in `Yardstick`.
    """
    compared = any(map(is_compared, hits))
    odds = ODDS.get(hits.mode if compared else "fulltext")
    of_files = any({vote.retriever for vote in hit.votes} <= OF_FILES for hit in hits)
    if not odds or of_files or hits.mode not in ODDS:
        return hits
    scores = [_closeness(hit.votes) / (1 - weight) for hit in hits]
    rated = []
    for place, (hit, score) in enumerate(zip(hits, scores, strict=True)):
        best = max((*scores[:place], *scores[place + 1 :]), default=score - MOST_LEAD)
        lead = max(-MOST_LEAD, min(MOST_LEAD, score - best))
        cosine = next((vote.score for vote in hit.votes if vote.retriever == "semantic"), 0.0)
        rivals = sum(other > score - RIVAL for other in scores) - 1
        rivals_share = min(1.0, rivals / MOST_RIVALS)
        values = (1.0, score, lead, 1 / (1 + place), cosine, rivals_share)
        chance = _chance(odds, values)
        least, fair, strong, most = CHANCES
        if chance >= fair and not compared and _is_elsewhere(hit.chunk.text[:HEAD]):
            chance = _chance(ODDS_ELSEWHERE, values)
        if chance < fair:
            likely = CLOSE + (FAIR - CLOSE) * (chance - least) / (fair - least)
        elif chance < strong:
            likely = FAIR + (STRONG - FAIR) * (chance - fair) / (strong - fair)
        else:
            likely = STRONG + (100 - STRONG) * (chance - strong) / (most - strong)
        strength = round(hit.strength + (likely - hit.strength) * index_size(chunks))
        rated.append(hit if hit.strength < CLOSE else hit._replace(strength=strength))
    return Hits(tuple(rated), hits.query, hits.mode, hits.notes)


def _chance(odds: Sequence[float], values: Sequence[float]) -> float:
    return 1 / (1 + exp(-sum(map(float.__mul__, odds, values))))


def _is_elsewhere(text: str) -> bool:
    """Is a text in another language than English, by its function words or its script?"""
    # Without `words`: a cold search loads no `re` for a dash in a note.
    every = {word.strip("-–—.,:;!?()[]\"'*_`“”„").lower() for word in text.split()}
    return is_scripted(text) or english_words(every) < 0


def _closeness(votes: Iterable[Vote]) -> float:
    """The part of a score that says how close a hit is to the question."""
    return sum(vote.share for vote in votes if vote.retriever not in ASIDE)


def in_order(hits: Hits) -> Hits:
    """Hits none of which claims to be closer than one before it.

    Other votes than those for closeness decide the order too: a number that rises further down a
    page is taken for a page in the wrong order.
    """
    least = 100
    results = []
    for hit in hits:
        least = min(least, hit.strength)
        results.append(hit if hit.strength == least else hit._replace(strength=least))
    return Hits(tuple(results), hits.query, hits.mode, hits.notes)


def strength(votes: Sequence[Vote], yardstick: Yardstick) -> int:
    """How close a hit is by its votes: a number from 0 to 100 that means the same in each mode."""
    cosine = next((vote.score for vote in votes if vote.retriever == "semantic"), None)
    by_meaning = scaled(cosine, (yardstick.cosine, COSINE[1])) if cosine is not None else 0
    by_cosine = cosine is not None and yardstick.mode not in ("hybrid", "fulltext")
    if by_cosine or yardstick.by_place:
        worded = any(vote.retriever == "fulltext" for vote in votes)
        return max(by_meaning, CLOSE if worded and not yardstick.words_missing else 0)
    score = _closeness(votes)
    retrievers = {vote.retriever for vote in votes}
    if retrievers <= OF_FILES:
        return max(scaled(score, SCORE), CLOSE if retrievers & {"commits", "names"} else 0)
    fused = yardstick.mode == "hybrid" and retrievers & {"semantic", "no vector"}
    by_score = scaled(score / (1 - yardstick.weight), SCORE if fused else WORDS)
    if yardstick.words_missing and score < MOST_WORDED:  # more is a phrase, or a file's name
        by_score = min(by_score, CLOSE - 1)
    elif not fused:
        by_score = max(by_score, CLOSE)
    return max(by_meaning, by_score)


def is_compared(hit: Hit) -> bool:
    """Whether a hit was compared by its vector."""
    return any(vote.retriever in ("semantic", "no vector") for vote in hit.votes)


def _by_meaning(hit: Hit, yardstick: Yardstick) -> bool:
    """Whether a hit is close by its vector, or was not found by words at all."""
    cosines = [vote.score for vote in hit.votes if vote.retriever == "semantic"]
    return max(cosines, default=0.0) >= yardstick.cosine or not _is_lexical(hit)


def _is_lexical(hit: Hit) -> bool:
    """Whether a hit was found by its words."""
    return any(vote.retriever == "fulltext" for vote in hit.votes)


def scaled(value: float, ends: tuple[float, float]) -> int:
    """A value as a number from 0 to 100, with `CLOSE` at the first of two ends."""
    close, best = ends
    if value < close:
        return max(0, int(CLOSE * value / close))
    return min(100, round(CLOSE + (100 - CLOSE) * (value - close) / (best - close)))


def _whole_words(question: Iterable[str], known_terms: set[str]) -> list[str]:
    """The words of a question that are searched for; in a script without spaces pairs of letters.

    Where an identifier stands as it is, its parts need not.
    """
    every: list[str] = []
    for word in map(str.lower, question):
        scripted = not word.isascii() and (pairs(word) or [word[:STEM]])
        every += scripted if scripted and known_terms.issuperset(scripted) else [word]
    return [word for word in every if word in known_terms]


def has_all_words(hit: Hit, query_terms: Sequence[str]) -> bool:
    """Whether a hit has every word of a question, perhaps with another ending."""
    text = _text_of(hit)
    beginnings = {word[:STEM] for word in query_terms}
    plain = "".join(query_terms).isascii()
    if plain and not all(map(text.lower().__contains__, beginnings)):
        return False  # as most hits: their words need not be told apart
    stems = {word.lower()[:STEM] for word in words(text)}
    if not plain:
        stems.update(pairs(text))
    return bool(query_terms) and beginnings <= stems


def has_any_word(hit: Hit, query_terms: Sequence[str]) -> bool:
    """Whether a hit has a word of a question, perhaps with another ending or without accents."""

    def stem(word: str) -> str:
        if not word.isascii():
            from unicodedata import normalize

            word = normalize("NFD", word)
        letters = (letter for letter in word if letter.isalnum())
        return "".join(letters)[:STEM].rstrip("s")

    own = set(map(stem, terms(_text_of(hit), MOST_TERMS)))
    return not own.isdisjoint(map(stem, query_terms))


def _text_of(hit: Hit) -> str:
    record = hit.record
    about = (record.title, record.path, *record.tags, *map(str, (record.metadata or {}).values()))
    return "\n".join((*about, hit.display.heading, hit.chunk.text))


def shared_weight(hit: Hit, counts: Mapping[str, int], chunks: int) -> float:
    """The share of a question's words that a hit has, rare ones counting more; no word, none."""
    weights = {word: _weight(word, count, chunks) for word, count in counts.items()}
    text = _text_of(hit)
    if all(map(str.isascii, counts)):  # the pattern for other scripts takes 25 ms to compile
        text = text.encode("ascii", "replace").decode()
    own = {word[:STEM] for word in terms(text, MOST_TERMS)}
    shared = sum(weight for word, weight in weights.items() if word[:STEM] in own)
    return shared / max(1e-9, sum(weights.values()))


def _weight(word: str, count: int, chunks: int) -> float:
    """What a word of a question weighs: more if it is rare or long, less if no entry has it.

    The words that a language asks with are short and often nowhere; no list of them is needed. In
    scripts without spaces most pairs of letters around them are nowhere, too.
    """
    rarity = log(1 + chunks / (count or 0.5))
    if pairs(word):
        return rarity if count else rarity / 3
    rarity *= min(len(word), LONG) / STEM
    return rarity if count else rarity / 2


def by_language(notes: Iterable[str]) -> bool:
    """Whether the words of a question decided, as the model does not know its language."""
    return any(note.endswith((UNKNOWN_SCRIPT, LITTLE_KNOWN)) for note in notes)


def close_only(hits: Hits) -> Hits:
    """The hits that are close to the question; a note names the nearest if there are none."""
    close = tuple(hit for hit in hits if hit.strength >= CLOSE)
    notes = hits.notes
    if len(hits) and not close:
        nearest = ", ".join(f"{_place(hit)} ({hit.strength})" for hit in hits[:NEAREST])
        notes = (*notes, f"{NOTHING_CLOSE}; nearest: {nearest} · a minimum score of 0 shows them")
    return Hits(close, hits.query, hits.mode, notes)


def _place(hit: Hit) -> str:
    line = hit.line or hit.display.start_line
    return f"{hit.record.path or hit.record.ref}{f':{line}' if line else ''}"
