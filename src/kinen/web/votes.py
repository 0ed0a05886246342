"""The votes behind a hit, as bars that add up to its score."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.model.records import Vote
from kinen.web import html
from kinen.web.html import Html
from kinen.web.page import table as page_table

MEANINGS = {
    "fulltext": "words of the query",
    "neighbours": "words in the passages beside it",
    "semantic": "meaning",
    "phrase": "several words of the query in a row",
    "recency": "how new it is",
    "files": "the files that it changed",
}
"""What each retriever looks at; others are shown by their names."""


def points(share: float) -> str:
    """A share of the score as points of 100."""
    return f"{100 * share:.1f}"


def bar(votes: Sequence[Vote], score: float) -> Html:
    """A bar of the score, from 0 to 1, with a part for each vote."""
    parts = [
        (
            f"{vote.retriever} {points(vote.share)}",
            100 * vote.share,
            f"vote {_class(vote.retriever)}",
        )
        for vote in votes
    ]
    sum_ = " + ".join(title for title, _, _ in parts)
    label = f"{points(score)} of 100 points: {sum_}" if sum_ else points(score)
    return strip(parts, (100, 6), label, "votes")


def strip(
    parts: Sequence[tuple[str, float, str]], size: tuple[int, int], label: str, class_: str
) -> Html:
    """Parts of a whole side by side, each with its title, width and class."""
    whole, height = size
    rects = [html.element("rect", x="0", y="0", width=whole, height=height, class_="rest")]
    start = 0.0
    for title, part, part_class in parts:
        width = max(0.0, min(part, whole - start))
        rects.append(
            html.element(
                "rect",
                html.element("title", title),
                x=f"{start:.2f}",
                y="0",
                width=f"{width:.2f}",
                height=height,
                class_=part_class,
            )
        )
        start += width
    return html.element(
        "svg",
        rects,
        viewBox=f"0 0 {whole} {height}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_=class_,
    )


def table(votes: Sequence[Vote], score: float) -> Html:
    """The votes as rows whose points add up."""
    rows = [
        html.tr(
            html.th(
                html.span("", class_=f"key {_class(vote.retriever)}"), vote.retriever, scope="row"
            ),
            html.td(MEANINGS.get(vote.retriever, "")),
            html.td(f"#{vote.rank}" if vote.rank else "", class_="number"),
            html.td(points(vote.share), class_="number"),
        )
        for vote in votes
    ]
    total = html.tr(
        html.th("together", scope="row"),
        html.td("of 100 points, which decide the order"),
        html.td(),
        html.td(html.strong(points(score)), class_="number"),
    )
    return page_table(("vote", "for", "rank", "points"), [*rows, total])


def _class(retriever: str) -> str:
    return f"v-{retriever}" if retriever in MEANINGS else "v-other"
