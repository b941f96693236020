"""Faster, slower, same, or unknown: decided for a whole suite at once.

A suite of fifty cases asks fifty questions; at 5 % each, two or three unchanged ones would be
called different every time. The false-discovery rate (Benjamini and Hochberg 1995) bounds their
share among those called different instead. What is not called different is *same* only if its
interval excludes any difference worth mentioning; otherwise the honest answer is *unknown*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opbench.stats.needed import advice
from opbench.stats.ratio import Ratio

VERDICTS = ("faster", "slower", "same", "unknown")

#: Expected share of unchanged cases among those called faster or slower.
FALSE_DISCOVERY = 0.05

#: Where nothing was found, the interval must lie within this of 1 to be called *same*. It does not
#: hide what was found: a difference that is certain is called so, however small.
MARGIN = 0.03


@dataclass(frozen=True)
class Question:
    """One case of the suite: its interval and p-value, or the reason there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    #: Set when nothing can be said, whatever the numbers.
    obstacle: str = ""
    #: Where more worker starts would help: the ratio, and what one start of both sides took.
    ratio: Ratio | None = None
    seconds: float = 0.0
    fixed: bool = False


@dataclass(frozen=True)
class Verdict:
    verdict: str
    #: Why it is unknown, or nothing.
    reason: str = ""


def verdicts(
    questions: Sequence[Question],
    *,
    rate: float = FALSE_DISCOVERY,
    margin: float = MARGIN,
    lower_is_better: bool = True,
) -> list[Verdict]:
    """One verdict per question, in order."""
    asked = [q.p_value for q in questions if _answerable(q)]
    limit = discovery_limit(asked, rate)
    given = [_verdict(question, limit, margin, lower_is_better) for question in questions]
    return [
        replace(verdict, reason=f"{verdict.reason}; {_advice(question, margin, rate, len(asked))}")
        if verdict.verdict == "unknown" and not question.obstacle and question.ratio is not None
        else verdict
        for question, verdict in zip(questions, given, strict=True)
    ]


def _advice(question: Question, margin: float, rate: float, cases: int) -> str:
    assert question.ratio is not None
    return advice(question.ratio, margin, rate, cases, question.seconds, question.fixed)


def discovery_limit(p_values: Sequence[float | None], rate: float) -> float:
    """The largest p-value that still counts as a discovery; below zero when none does.

    p-values are sorted; the k-th smallest of m may be as large as k/m of the rate.
    """
    known = sorted(p for p in p_values if p is not None)
    limit = -1.0
    for rank, p in enumerate(known, start=1):
        if p <= rate * rank / len(known):
            limit = p
    return limit


def _answerable(question: Question) -> bool:
    p = question.p_value
    return not question.obstacle and p is not None and math.isfinite(p)


def _verdict(question: Question, limit: float, margin: float, lower_is_better: bool) -> Verdict:
    if question.obstacle:
        return Verdict("unknown", question.obstacle)
    if (
        question.value is None
        or question.low is None
        or question.high is None
        or question.p_value is None
        or not all(map(math.isfinite, (question.value, question.p_value)))
    ):
        return Verdict("unknown", "there is no interval")
    if question.p_value <= limit:
        more = question.value > 1
        return Verdict("slower" if more == lower_is_better else "faster")
    if question.low >= 1 / (1 + margin) and question.high <= 1 + margin:
        return Verdict("same")
    reach = f"{question.low - 1:+.1%} to {question.high - 1:+.1%}"
    return Verdict("unknown", f"the interval, {reach}, reaches beyond ±{100 * margin:.3g}%")
