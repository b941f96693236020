"""Verdicts of a whole suite at once, with the arithmetic of Benjamini and Hochberg beside them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.stats.verdict import VERDICTS, Question, discovery_limit, verdicts


def question(p: float, value: float = 1.1, reach: float = 0.05) -> Question:
    return Question(value, value - reach, value + reach, p)


def words(questions: list[Question], **options: float) -> list[str]:
    return [given.verdict for given in verdicts(questions, **options)]


@pytest.mark.parametrize(
    ("p_values", "limit"),
    [
        ([], -1),  # nobody asked
        ([0.05], 0.05),  # one question: 0.05 ≤ 0.05 · 1/1
        ([0.051], -1),
        # Four questions may be as large as 0.0125, 0.025, 0.0375, 0.05.
        ([0.012, 0.9, 0.9, 0.9], 0.012),
        ([0.013, 0.9, 0.9, 0.9], -1),
        # The third smallest lets the first two in, although 0.03 alone is more than 0.025.
        ([0.03, 0.036, 0.02, 0.9], 0.036),
        # All four at their bound.
        ([0.05, 0.05, 0.05, 0.05], 0.05),
        # Without a p-value there is no question, so two are left: 0.025, 0.05.
        ([0.02, None, None, 0.9], 0.02),
    ],
)
def test_the_limit_of_benjamini_and_hochberg(p_values, limit):
    assert discovery_limit(p_values, 0.05) == limit


def test_one_in_twenty_would_be_blamed_alone_but_not_in_a_suite():
    assert words([question(0.04)]) == ["slower"]
    assert "slower" not in words([question(0.04), *[question(0.5)] * 19])  # 0.04 > 0.05/20


def test_the_direction_is_that_of_the_ratio():
    pair = [question(0.001, 1.1), question(0.001, 0.9)]
    assert words(pair) == ["slower", "faster"]
    assert [v.verdict for v in verdicts(pair, lower_is_better=False)] == ["faster", "slower"]


@pytest.mark.parametrize(
    ("low", "high", "margin", "verdict"),
    [
        (0.98, 1.02, 0.03, "same"),
        (0.98, 1.031, 0.03, "unknown"),  # could be 3.1 % slower
        (0.97, 1.02, 0.03, "unknown"),  # 1 / 1.03 is 0.9709: could be faster by more than 3 %
        (0.98, 1.02, 0.01, "unknown"),
        (0.98, 1.02, 0.5, "same"),
    ],
)
def test_same_needs_the_whole_interval_within_the_margin(low, high, margin, verdict):
    found = verdicts([Question(1.0, low, high, 0.9)], margin=margin)[0]
    assert found.verdict == verdict
    assert ("reaches beyond" in found.reason) == (verdict == "unknown")


def test_the_reason_names_the_margin_as_it_was_given():
    found = verdicts([Question(1.0, 0.98, 1.02, 0.9)], margin=0.005)[0]
    assert found.reason == "the interval, -2.0% to +2.0%, reaches beyond ±0.5%"


def test_a_certain_difference_is_told_however_small():
    assert words([Question(1.002, 1.001, 1.003, 1e-6)]) == ["slower"]


def test_an_obstacle_outweighs_any_number_and_asks_nothing():
    blocked = Question(2.0, 1.9, 2.1, 1e-9, obstacle="the machine was busy")
    found = verdicts([blocked, question(0.04)])
    assert (found[0].verdict, found[0].reason) == ("unknown", "the machine was busy")
    # 0.04 is the only question left; with the blocked one it would have to be below 0.025.
    assert found[1].verdict == "slower"


@pytest.mark.parametrize(
    "hollow",
    [
        Question(),
        Question(1.1, None, 1.2, 0.01),
        Question(1.1, 1.0, 1.2, None),
        Question(1.1, 1.0, 1.2, math.nan),
        Question(math.nan, math.nan, math.nan, 0.0),
        Question(math.inf, 1.0, math.inf, 0.0),
    ],
)
def test_without_numbers_there_is_no_verdict(hollow):
    found = verdicts([hollow])[0]
    assert (found.verdict, found.reason) == ("unknown", "there is no interval")


shares = st.floats(0, 1)


@given(st.lists(shares, max_size=30), st.floats(0.5, 1))
def test_a_hopeless_question_never_creates_a_discovery(p_values, hopeless):
    before = discovery_limit(p_values, 0.05)
    after = discovery_limit([*p_values, hopeless], 0.05)
    assert after <= before


@given(st.lists(shares, min_size=1, max_size=30))
def test_no_more_is_found_than_by_asking_each_alone_and_no_less_than_by_bonferroni(p_values):
    limit = discovery_limit(p_values, 0.05)
    found = {p for p in p_values if p <= limit}
    assert {p for p in p_values if p <= 0.05 / len(p_values)} <= found
    assert found <= {p for p in p_values if p <= 0.05}


@given(st.lists(st.tuples(shares, st.floats(0.5, 2), st.floats(0, 1)), max_size=20), st.randoms())
def test_the_order_of_the_questions_does_not_matter(asked, random):
    questions = [question(p, value, reach) for p, value, reach in asked]
    given = list(zip(questions, words(questions)))
    random.shuffle(given)
    assert words([q for q, _ in given]) == [word for _, word in given]
    assert all(word in VERDICTS for _, word in given)
