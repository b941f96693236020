"""Sampling policies as data: their canonical text is part of a result's key."""

from __future__ import annotations

from opbench.api import Options
from opbench.run.policy import Adaptive, Fixed


def test_the_text_tells_policies_apart_and_nothing_else():
    assert Adaptive(precision=0.01).text == "adaptive precision=0.01 max_time=5"
    assert Adaptive(precision=0.01).text != Adaptive(precision=0.02).text
    assert Fixed(num_runs=3).text != Fixed(num_runs=4).text
    # A longer patience with hangs changes no number.
    assert Adaptive(timeout=1).text == Adaptive(timeout=60).text


def test_a_fixed_number_of_runs_or_repeats_asks_for_the_fixed_design():
    assert Options.of({}).policy == Adaptive(precision=0.02)
    assert Options.of({"num_runs": 7}).policy == Fixed(num_runs=7, num_repeats=20)
    assert Options.of({"num_repeats": 7}).policy == Fixed(num_runs=100, num_repeats=7)
    limits = Options.of({"max_time_per_case": "1s", "timeout": 9, "num_runs": 2}).policy
    assert (limits.max_time, limits.timeout) == (1.0, 9.0)
