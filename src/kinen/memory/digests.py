"""Digests of what a recall found: the passages that are read, and the distillers that read them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from kinen.memory.core import Core
from kinen.model.journal import Digest, Passage
from kinen.model.kinds import DISTILLERS
from kinen.model.records import Hit, Hits
from kinen.recall.clip import cut
from kinen.recall.passages import BARE_LABELS, shown_text
from kinen.text import now

CITED = 160
"""Maximum tokens of a cited observation in a digest's input."""
ASIDE = 40
"""Maximum tokens of each observation around it."""
READ = 300
"""Maximum tokens of a hit in a digest's input."""
BEFORE = 2
"""Observations of the segment before a cited one."""
AFTER = 4
"""Observations of the segment after a cited one."""


def digest_of(
    core: Core,
    question: str,
    passages: Sequence[Passage],
    budget: int,
    distiller: str = "configured",
    *,
    without_model: Callable[[], Digest] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Digest:
    """A digest of passages by the first distiller that answers.

    `without_model` replaces extract. `on_line` receives the lines of a model's answer as they
    arrive.
    """
    from kinen.distill.chain import distill
    from kinen.distill.extract import extract, listed_size

    budget = max(1, min(budget, listed_size(passages)))
    settings = core.config.distill
    before = core.erasures.last()
    named = {"auto": DISTILLERS, "configured": settings.order}
    order = named.get(distiller, (distiller,))
    result = distill(
        question,
        passages,
        budget,
        order=order,
        settings=settings,
        env=os.environ,
        extract=without_model or (lambda: extract(question, passages, budget)),
        stored=core.cache.texts_while(lambda: core.erasures.last() == before),
        now=now(),
        on_line=on_line,
    )
    return result._replace(passages=len(passages))


def passages_of(hits: Hits) -> list[Passage]:
    """The input of a digest: each hit with its context, each chunk once."""
    passages: dict[str, Passage] = {}
    seen: set[str] = set()
    for hit in hits:
        chunks = [*hit.before, hit.display, *hit.after]
        title = hit.record.title
        texts = [shown_text(chunk, title, BARE_LABELS) for chunk in chunks if chunk.id not in seen]
        seen.update(chunk.id for chunk in chunks)
        spoken = hit.record.kind == "observation"
        text = _segment(hit) if spoken and texts else cut("\n".join(texts), READ)
        ref = hit.record.ref
        if ref in passages:
            text = "\n".join(filter(None, (passages[ref].text, text)))
        if text:
            passages[ref] = Passage(ref, text, hit.record.title, hit.record.at)
    return list(passages.values())


def _segment(hit: Hit) -> str:
    """An observation with its neighbours in the segment."""
    lines = [*(chunk.text for chunk in hit.before[-BEFORE:]), hit.chunk.text]
    lines += [chunk.text for chunk in hit.after[:AFTER]]
    excerpts = [cut(line.strip(), CITED if line == hit.chunk.text else ASIDE) for line in lines]
    return "\n".join(excerpts)
