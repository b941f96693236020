"""Sampling policies as data: their canonical text is part of a result's key."""

from __future__ import annotations

from pathlib import Path

import opbench
from opbench.plan.options import RunOptions
from opbench.plan.policy import Adaptive, Fixed


def test_the_text_tells_policies_apart_and_nothing_else():
    assert Adaptive(precision=0.01).text == "adaptive precision=0.01 max_time=5"
    assert Adaptive(precision=0.01).text != Adaptive(precision=0.02).text
    assert Fixed(num_runs=3).text != Fixed(num_runs=4).text
    # A longer timeout changes no number.
    assert Adaptive(timeout=1).text == Adaptive(timeout=60).text


def test_a_fixed_number_of_runs_or_repeats_asks_for_the_fixed_design():
    assert RunOptions.of({}).policy == Adaptive(precision=0.02)
    assert RunOptions.of({"num_runs": 7}).policy == Fixed(num_runs=7, num_repeats=20)
    assert RunOptions.of({"num_repeats": 7}).policy == Fixed(num_runs=100, num_repeats=7)
    limits = RunOptions.of({"max_time_per_case": "1s", "timeout": 9, "num_runs": 2}).policy
    assert (limits.max_time, limits.timeout) == (1.0, 9.0)


def test_max_starts_is_part_of_the_policy_when_it_was_asked_for() -> None:
    usual, two, many = (RunOptions.of({"max_starts": n}).policy for n in (None, 2, 30))
    assert "max_starts" not in usual.text, "results of earlier versions keep their key"
    assert two.max_starts == 2
    assert many.max_starts == 30
    assert many.text.endswith("max_starts=30")
    # Twelve is what single cases take anyway, and more than comparisons do.
    assert RunOptions.of({"max_starts": 12}).policy.text != usual.text


def test_a_fixed_design_spreads_its_runs_over_no_more_starts_than_allowed() -> None:
    assert RunOptions.of({"num_runs": 9}).policy.starts == 3
    fewer = RunOptions.of({"num_runs": 9, "max_starts": 2}).policy
    assert fewer.starts == 2
    assert fewer.text != RunOptions.of({"num_runs": 9}).policy.text


def test_asked_for_starts_are_made(tmp_path: Path) -> None:
    """A precision nobody reaches: all the starts are used, and no more."""
    file = tmp_path / "mine.toml"
    # Worker starts that differ: where they agree, more blocks of a few are the better spent time.
    setup = "import os; x = range(50 + 40 * (os.getppid() % 7))"
    file.write_text(f'[[benchmark]]\nname = "one"\nstmt = "sum(x)"\nsetup = "{setup}"\n')
    # More than twelve is more than usual, and as many must be paid for on a busy machine, too.
    for most, seconds in ((2, 1), (13, 8)):
        limits = {"max_starts": most, "max_time_per_case": seconds}
        run = opbench.run(file, save=False, precision=1e-5, **limits)
        assert [result.detail["starts"] for _, result in run.results] == [most]
