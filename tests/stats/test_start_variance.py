"""A machine's scatter between worker starts is learnt from the cases measured before."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from opbench.stats.distributions import t_quantile
from opbench.stats.estimate import Estimate, estimate
from opbench.stats.prior import NOTHING, Prior, VarianceFit, satterthwaite
from opbench.stats.start_variance import Learnt, StartVariance, StartVariances


def found(starts: int, seen: float) -> Estimate:
    return Estimate(1.0, 0.9, 1.1, starts, 0.0, seen, seen)


def chi_square(rng: np.random.Generator, sds: np.ndarray, freedom: int) -> list[float]:
    return list(sds**2 * rng.chisquare(freedom, len(sds)) / freedom)


def fit_prior(variances: list[float], freedom: int) -> Prior:
    fit = VarianceFit()
    for variance in variances:
        fit.add(variance, freedom)
    return fit.prior


def test_before_enough_cases_nothing_is_known():
    machine = StartVariance()
    for _ in range(5):
        machine.add(found(starts=3, seen=0.08))
    assert machine.prior == NOTHING
    machine.add(found(starts=3, seen=0.08))  # twelve degrees of freedom
    assert machine.prior.sd > 0.05


def test_one_start_teaches_nothing():
    machine = StartVariance()
    for _ in range(100):
        machine.add(found(starts=1, seen=0.0))
    assert machine.prior == NOTHING


def test_cases_that_scatter_alike_count_for_as_much_as_is_allowed_and_no_more():
    rng = np.random.default_rng(1)
    prior = fit_prior(chi_square(rng, np.full(400, 0.03), 4), 4)
    assert prior.sd == pytest.approx(0.03, rel=0.05)
    assert prior.freedom == 8
    few = fit_prior(chi_square(rng, np.full(4, 0.03), 4), 4)
    assert few.freedom <= 16 / 4


def test_the_fit_finds_what_the_cases_were_drawn_from():
    """Variances from a scaled inverse chi-square of 3 degrees around 2 %."""
    rng = np.random.default_rng(2)
    sds = 0.02 * np.sqrt(3 / rng.chisquare(3, 3000))
    prior = fit_prior(chi_square(rng, sds, 4), 4)
    assert prior.sd == pytest.approx(0.02, rel=0.06)
    assert prior.freedom == pytest.approx(3, rel=0.15)


def test_cases_that_differ_greatly_teach_next_to_nothing():
    rng = np.random.default_rng(3)
    sds = np.exp(rng.normal(math.log(0.02), 1.5, 200))
    assert fit_prior(chi_square(rng, sds, 4), 4).freedom < 1.5


def test_one_disturbed_case_counts_only_so_much():
    rng = np.random.default_rng(4)
    variances = chi_square(rng, np.full(20, 0.01), 4)
    quiet = fit_prior(variances, 4)
    loud = fit_prior([*variances, 25.0], 4)
    assert loud.sd < 2 * quiet.sd
    assert loud.freedom < quiet.freedom


def test_clocks_that_tick_do_not_make_a_machine_free_of_noise():
    assert fit_prior([0.0] * 20, 4).sd >= 0.001


def test_a_prior_and_what_is_seen_are_averaged_by_their_degrees_of_freedom():
    assert Prior(0.02, 4).moderated(0.05**2, 6) == (
        pytest.approx((4 * 0.02**2 + 6 * 0.05**2) / 10),
        10,
    )
    assert NOTHING.moderated(0.01, 5) == (0.01, 5)
    assert NOTHING.moderated(0.0, 0) == (0.05**2, 2)


@pytest.mark.parametrize("freedom", [0.01, 0.3, 0.77, 1.5, 1.99])
@pytest.mark.parametrize("sd", [0.001, 0.036, 0.3])
def test_to_know_little_is_never_worse_than_to_know_nothing(freedom, sd):
    """Starts that scatter very differently from case to case are worth less than one start: an
    interval of one more start was ±80 % then, and ±22 % where nothing was known at all."""

    def reach(prior: Prior) -> float:
        variance, known = prior.moderated(0.0, 0)
        return t_quantile(known) * math.sqrt(variance)

    at_most = t_quantile(2) * max(0.05, sd)
    assert reach(Prior(sd, freedom)) <= at_most * (1 + 1e-9)
    assert reach(Prior(sd, freedom)) <= t_quantile(freedom) * sd * (1 + 1e-9)


def test_degrees_of_freedom_of_sums():
    assert satterthwaite([(1.0, 5), (1.0, 5)]) == pytest.approx(10)
    assert satterthwaite([(1.0, 5), (0.0, 1)]) == pytest.approx(5)
    # (9 + 1)² / (81 / 3 + 1 / 30): the larger one decides.
    assert satterthwaite([(9.0, 3), (1.0, 30)]) == pytest.approx(100 / (27 + 1 / 30))
    assert satterthwaite([]) == math.inf


def test_what_was_learnt_is_stored_with_its_worth():
    learnt = Learnt(Prior(0.03, 2.5), Prior(0.004, 8.0))
    assert learnt.detail == {
        "layout": 0.03,
        "layout_freedom": 2.5,
        "pair_layout": 0.004,
        "pair_layout_freedom": 8.0,
    }
    assert Learnt.stored(learnt.detail) == learnt
    assert Learnt().detail == {}
    # Older results say how much starts scattered and not how surely: they are read, as nothing.
    assert Learnt.stored({"layout": 0.012}) == Learnt()


@pytest.mark.parametrize("starts", [3, 5])
@pytest.mark.parametrize("unlike", [0.0, 0.7])
def test_intervals_hold_and_are_narrower_where_other_cases_have_shown(starts, unlike):
    """Cases of typically 6 %, alike or by a factor of two different from each other."""
    rng = random.Random(1)
    machine = StartVariance()
    held, widths, plain = 0, [], []
    cases = 500
    for _ in range(cases):
        sd = 0.06 * math.exp(rng.gauss(0, unlike))
        samples = [
            (start, 0, level * (1 + rng.gauss(0, 0.005)))
            for start in range(starts)
            for level in [math.exp(rng.gauss(0, sd))]
            for _ in range(5)
        ]
        answer = estimate(samples, prior=machine.prior)
        assert answer is not None
        held += answer.low <= math.exp(sd**2 / 2) <= answer.high
        widths.append(answer.half_width)
        plain.append(estimate(samples).half_width)
        machine.add(answer)
    assert held / cases >= 0.92
    assert sorted(widths)[cases // 2] < sorted(plain)[cases // 2]


def fit_of(rng: np.random.Generator, sd: float, cases: int) -> VarianceFit:
    fit = VarianceFit()
    for variance in chi_square(rng, np.full(cases, sd), 4):
        fit.add(variance, 4)
    return fit


def test_a_first_case_begins_with_what_earlier_runs_showed_at_a_small_weight():
    rng = np.random.default_rng(5)
    fits = [fit_of(rng, 0.04, 40) for _ in range(3)]
    machine = StartVariances({("time", ""): fits, ("time", "paired"): [fit_of(rng, 0.01, 40)]})
    learnt = machine.learnt("time", "paired")
    assert learnt.start.sd == pytest.approx(0.04, rel=0.1)
    assert learnt.start.freedom == 1.5
    assert learnt.pair.sd == pytest.approx(0.01, rel=0.2)
    # Of another metric, and of pairs in another design, nothing is known.
    assert machine.learnt("device_time", "paired") == Learnt()
    assert machine.learnt("time", "interleaved") == Learnt(learnt.start)
    assert machine.fits == {}


def test_the_cases_of_this_run_replace_earlier_runs_once_they_are_a_fit():
    machine = StartVariances({("time", ""): [fit_of(np.random.default_rng(6), 0.01, 40)]})
    machine.add(found(starts=5, seen=0.08), "time")
    assert machine.learnt("time", "").start.sd == pytest.approx(0.01, rel=0.15)
    for _ in range(3):
        machine.add(found(starts=5, seen=0.08), "time")
    assert machine.learnt("time", "").start.sd > 0.05
    # Only what this run saw is kept of it, or a run would be remembered again and again.
    assert machine.fits["time", ""].cases == 4


def test_runs_that_differ_from_each_other_count_for_less():
    rng = np.random.default_rng(7)
    alike = StartVariances({("time", ""): [fit_of(rng, 0.02, 10) for _ in range(4)]})
    unlike = StartVariances(
        {("time", ""): [fit_of(rng, sd, 10) for sd in (0.002, 0.01, 0.05, 0.2)]}
    )
    assert unlike.learnt("time", "").start.freedom < alike.learnt("time", "").start.freedom / 2
    assert alike.learnt("time", "").start.freedom == 1.5


@pytest.mark.parametrize("today", [0.012, 0.036, 0.06])
def test_intervals_of_a_first_case_hold_though_yesterday_was_of_other_cases(today):
    """Yesterday's twenty cases scattered by 0.5 to 7 %; today's first one by its own amount."""
    rng, generator = random.Random(8), np.random.default_rng(8)
    held = rounds = 2000
    for _ in range(rounds):
        yesterday = VarianceFit()
        for sd in np.exp(generator.uniform(math.log(0.005), math.log(0.07), 20)):
            yesterday.add(float(sd**2 * generator.chisquare(4) / 4), 4)
        prior = StartVariances({("time", ""): [yesterday]}).learnt("time", "").start
        assert prior.freedom > 0
        samples = [(start, 0, math.exp(rng.gauss(0, today))) for start in range(5)] * 3
        answer = estimate(samples, prior=prior)
        held -= not answer.low <= math.exp(today**2 / 2) <= answer.high
    # 93 %, less two standard deviations of so many rounds.
    assert held / rounds >= 0.918
