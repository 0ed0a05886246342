from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kinen.recall import fuse

SCORES = st.dictionaries(st.integers(1, 60), st.floats(0, 40, allow_nan=False), max_size=30)
COSINES = st.dictionaries(st.integers(1, 60), st.floats(-1, 1, allow_nan=False), max_size=30)


def opinion(scores: dict[int, float]) -> fuse.Lexical:
    """Full text's scores over a record of sixty chunks."""
    places = {id_: (1, id_) for id_ in range(1, 61)}
    return fuse.Lexical(scores, fuse.lifts(scores, places), 60)


@given(SCORES, COSINES)
def test_shares_add_up_to_the_score_and_the_score_lies_between_0_and_1(lexical, semantic) -> None:
    for ranked in (
        fuse.convex(opinion(lexical), semantic),
        fuse.reciprocal(lexical, semantic),
        fuse.by_words(opinion(lexical)),
        fuse.by_meaning(semantic),
    ):
        for item in ranked:
            assert math.isclose(sum(vote.share for vote in item.votes), item.score, abs_tol=1e-12)
            assert 0 <= item.score <= 1


@given(SCORES, COSINES)
def test_a_ranking_is_ordered_and_the_same_every_time(lexical, semantic) -> None:
    ranked = fuse.convex(opinion(lexical), semantic)
    assert [entry.score for entry in ranked] == sorted(
        (item.score for item in ranked), reverse=True
    )
    again = fuse.convex(opinion(dict(reversed(lexical.items()))), dict(reversed(semantic.items())))
    assert ranked == again


@given(SCORES)
def test_ranks_count_from_one_and_equals_share_a_place(scores) -> None:
    places = fuse.ranks(scores)
    for id_, place in places.items():
        assert place == 1 + sum(other > scores[id_] for other in scores.values())


@given(SCORES, COSINES, st.floats(0.1, 0.9))
def test_what_both_retrievers_prefer_is_preferred(lexical, semantic, weight) -> None:
    words = fuse.Lexical(lexical, {}, 60)
    ranked = {entry.id: entry.score for entry in fuse.convex(words, semantic, weight)}
    both = set(lexical) & set(semantic)
    for item in both:
        for two in both:
            if lexical[item] >= lexical[two] and semantic[item] >= semantic[two]:
                assert ranked[item] >= ranked[two] - 1e-12


@given(SCORES, COSINES)
def test_words_say_less_where_texts_are_in_another_language_or_words_are_nowhere(
    lexical, semantic
) -> None:
    def said(elsewhere: float, known: int) -> float:
        counts = {"known": known, "word": 1}
        evidence = fuse.Evidence(opinion(lexical), semantic, {}, 0.0, elsewhere, counts)
        votes = [vote for entry in fuse.hybrid(evidence) for vote in entry.votes]
        return sum(vote.share for vote in votes if vote.retriever == "fulltext")

    assert math.isclose(said(1.0, 1), said(0.0, 1) * (1 - fuse.ELSEWHERE), abs_tol=1e-9)
    assert said(0.0, 0) <= said(0.0, 1)


@given(SCORES)
def test_full_text_finds_only_what_it_matched_itself(scores) -> None:
    assert {word.id for word in fuse.by_words(opinion(scores))} == set(scores)


@given(SCORES)
def test_a_neighbour_lifts_by_half_of_the_better_one(scores) -> None:
    results = fuse.lifts(scores, {id_: (1, id_) for id_ in scores})
    for id_ in scores:
        best = max(scores.get(id_ - 1, 0.0), scores.get(id_ + 1, 0.0))
        assert results.get(id_, 0.0) == fuse.NEIGHBOUR * best


@given(SCORES, COSINES, st.floats(0, 0.3))
def test_a_few_words_of_the_question_do_not_outweigh_the_first_of_both(
    lexical, semantic, strength
) -> None:
    first = {99: 50.0}
    ranked = fuse.reciprocal({**lexical, **first}, {**semantic, 99: 1.0})
    scores = {entry.id: entry.score for entry in ranked}
    raised = fuse.with_runs(ranked, {100: strength})
    assert {entry.id: entry.score for entry in raised}[99] == scores[99]
    assert raised[0].score == max(scores.values())
    assert raised[0].id != 100
