"""The votes behind a hit, as bars that add up to its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.web import html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.model.records import Vote
    from kinen.web.html import Html

MEANINGS = {
    "fulltext": "words of the query",
    "neighbours": "words in the passages beside it",
    "semantic": "meaning",
    "phrase": "several words of the query in a row",
    "recency": "how new it is",
    "files": "the files that it changed",
}
"""What each retriever looks at; others are shown by their names."""


def bar(votes: Sequence[Vote], score: float) -> Html:
    """A bar of the score, from 0 to 1, with a part for each vote."""
    parts = []
    start = 0.0
    for vote in votes:
        width = max(0.0, min(100 * vote.share, 100 - start))
        parts.append(
            html.element(
                "rect",
                html.element("title", f"{vote.retriever} {vote.share:.3f}"),
                x=f"{start:.2f}",
                y="0",
                width=f"{width:.2f}",
                height="6",
                class_=f"vote {_class(vote.retriever)}",
            )
        )
        start += width
    sum_ = " + ".join(f"{vote.retriever} {vote.share:.3f}" for vote in votes)
    return html.element(
        "svg",
        html.element("rect", x="0", y="0", width="100", height="6", class_="rest"),
        parts,
        viewBox="0 0 100 6",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"score {score:.3f}: {sum_}" if sum_ else f"score {score:.3f}",
        class_="votes",
    )


def table(votes: Sequence[Vote], score: float) -> Html:
    """The votes as rows whose shares add up to the score."""
    rows = [
        html.tr(
            html.th(
                html.span("", class_=f"key {_class(vote.retriever)}"), vote.retriever, scope="row"
            ),
            html.td(MEANINGS.get(vote.retriever, "")),
            html.td(f"#{vote.rank}" if vote.rank else "", class_="number"),
            html.td(f"{vote.score:.3f}", class_="number"),
            html.td(f"{vote.share:.3f}", class_="number"),
        )
        for vote in votes
    ]
    total = html.tr(
        html.th("score", scope="row"),
        html.td("the sum of the shares"),
        html.td(),
        html.td(),
        html.td(html.strong(f"{score:.3f}"), class_="number"),
    )
    heads = ("vote", "for", "rank", "own score", "share")
    return html.div(
        html.table(
            html.thead(html.tr(html.th(name, scope="col") for name in heads)),
            html.tbody(rows, total),
        ),
        class_="wide",
    )


def _class(retriever: str) -> str:
    return f"v-{retriever}" if retriever in MEANINGS else "v-other"
