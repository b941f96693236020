"""From samples to a result: the estimate, and the warnings that travel inside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.case import Case
from opbench.plan.policy import Adaptive, Fixed
from opbench.result import Metric, Sample
from opbench.sampling.outcome import (
    exact_results,
    failure,
    from_samples,
)
from opbench.stats.settling import slower_at_first
from opbench.workers.session import SessionEnded

CASE = Case("s", "n", "call", "pass")
TIME = Metric("time", "s", "", sampled=True)
PLACE = {"environment": "current", "fingerprint": "f", "policy": "p", "group": ""}


def samples(starts=3, blocks=12, contended=0, value=lambda start, block: 1e-6):
    found = []
    for start in range(starts):
        for block in range(blocks):
            disturbed, order = len(found) < contended, len(found)
            found.append(Sample(value(start, block), start, contended=disturbed, order=order))
    return tuple(found)


def warnings(found, policy=None) -> dict[str, str]:
    result = from_samples(CASE, TIME, found, {}, policy or Adaptive(precision=0.05), PLACE)
    return {warning.code: warning.text for warning in result.warnings}


def codes(found, policy=None) -> set[str]:
    return set(warnings(found, policy))


def test_quiet_samples_give_an_estimate_without_warnings():
    result = from_samples(CASE, TIME, samples(), {"way": "repeatable"}, Adaptive(), PLACE)
    assert result.ok
    assert result.estimate == 1e-6
    assert result.low < 1e-6 < result.high
    assert result.warnings == ()
    assert result.detail["way"] == "repeatable"
    assert len(result.samples) == 36


def test_more_than_a_quarter_of_disturbed_blocks_is_worth_a_warning():
    # Of 36 blocks, 9 are a quarter.
    assert codes(samples(contended=9)) == set()
    assert codes(samples(contended=10)) == {"contended"}


def test_disturbed_blocks_do_not_count_while_enough_undisturbed_ones_remain():
    def value(start, block):
        return 9e-6 if start == 0 else 1e-6

    result = from_samples(CASE, TIME, samples(contended=12, value=value), {}, Adaptive(), PLACE)
    assert result.estimate == 1e-6


def test_a_case_that_was_not_warm_has_a_warning():
    def falling(start, block):
        return 1e-6 * (1.2 if block < 4 else 1.0)

    assert abs(slower_at_first(samples(value=falling)) - 0.2) < 1e-9
    assert "its last: it was not warm; raise" in warnings(samples(value=falling))["unsettled"]
    busy = warnings(samples(value=falling, contended=1))["unsettled"]
    assert "its last: other programs ran, or it was not warm; raise" in busy
    # Eight blocks of a session are too few to tell.
    assert slower_at_first(samples(blocks=8, value=falling)) == 0.0


def test_an_interval_wider_than_asked_is_warned_of_in_the_adaptive_design_only():
    def scattered(start, block):
        return 1e-6 * (1 + 0.2 * start)

    wide = samples(value=scattered)
    assert codes(wide) == {"imprecise"}
    assert codes(wide, Fixed()) == set()


@pytest.mark.parametrize(
    ("policy", "option"),
    [
        (Adaptive(precision=0.5), "--max-time-per-case"),
        (Adaptive(precision=0.5, max_starts=2), "--max-starts"),
        (Fixed(num_runs=2), "--num-runs"),
        (Fixed(starts=2), "--max-starts"),
    ],
)
def test_fewer_than_three_starts_have_a_warning_that_says_how_to_get_more(policy, option):
    result = from_samples(CASE, TIME, samples(starts=2), {}, policy, PLACE)
    (warning,) = result.warnings
    assert warning.code == "few-starts"
    assert "rests on 2 worker starts" in warning.text
    assert warning.text.endswith(f"raise {option}")


def test_an_interval_as_good_as_asked_is_not_marked():
    """Five starts around 1 whose half-width is 2.776 / √5 times their standard deviation."""

    def of_width(half: float):
        sd = half * 5**0.5 / 2.776
        places = [-1.2649, -0.6325, 0.0, 0.6325, 1.2649]  # of standard deviation 1
        return samples(5, value=lambda start, block: 1e-6 * (1 + sd * places[start]))

    assert codes(of_width(0.0204), Adaptive(precision=0.02)) == set()
    assert codes(of_width(0.023), Adaptive(precision=0.02)) == {"imprecise"}


def imprecise(stopped: str, scatter: float = 0.05, **detail) -> str:
    wide = samples(value=lambda start, block: 1e-6 * (1 + scatter * start))
    detail["stopped"] = stopped
    (warning,) = from_samples(CASE, TIME, wide, detail, Adaptive(), PLACE).warnings
    assert warning.code == "imprecise"
    return warning.text


def test_a_wide_interval_repeats_no_figure_that_its_row_may_contradict():
    """Drift widens intervals after their warnings were written."""
    for text in (imprecise("time"), imprecise("starts")):
        assert text.startswith("its interval is wider than the asked ±2%, because ")
        assert text.count("±") == 1


def test_advice_on_a_wide_interval_fits_how_it_was_measured():
    assert "raise --max-time-per-case" in imprecise("time")
    alone = imprecise("starts")
    assert "compare side by side" in alone
    assert "raise --max-starts to " in alone
    # A side of a comparison that memory did not hold together is compared already.
    apart = imprecise("starts", design="separate")
    assert "side by side" not in apart
    assert "raise --max-starts to " in apart
    # A number of starts that nobody would take is no advice.
    far = imprecise("starts", scatter=0.3)
    assert far.endswith("; compare side by side (opbench run --baseline, opbench ab)")
    far = imprecise("starts", scatter=0.3, design="separate")
    assert far.endswith("; quiet the machine (opbench doctor)")


def at_two_speeds(fast: float, every: int):
    return samples(5, blocks=20, value=lambda start, n: 1e-6 * (fast if n % every == 0 else 1.0))


def test_blocks_at_two_speeds_are_reported_with_the_mean_that_their_median_hides():
    found = at_two_speeds(0.4, 3)  # 7 of 20 blocks
    (warning,) = from_samples(CASE, TIME, found, {}, Adaptive(), PLACE).warnings
    assert warning.code == "two-speeds"
    assert "35% of them take 60% less time" in warning.text
    assert "0.79 times this estimate" in warning.text  # (7 * 0.4 + 13) / 20
    (slow,) = from_samples(CASE, TIME, at_two_speeds(2.0, 4), {}, Adaptive(), PLACE).warnings
    assert "25% of them take 100% more time" in slow.text


NOISE = {0: -2e-9, 1: 0.5e-9, 2: 2.5e-9}


@pytest.mark.parametrize(
    "value",
    [
        lambda start, block: -3e-10 + 1e-12 * block,
        lambda start, block: 0.0,
        # Of either sign, by chance.
        lambda start, block: NOISE[start],
        lambda start, block: 2e-12 + 1e-14 * block,
    ],
)
def test_a_time_that_cannot_be_told_from_zero_says_so_and_nothing_else(value):
    found = samples(value=value)
    assert warnings(found) == {
        "zero-time": "its time cannot be distinguished from zero: a call takes less than the loop "
        "around it varies here; give it more to do"
    }
    written = Case("s", "n", "call", "int x = 0;", language="cpp")
    (warning,) = from_samples(written, TIME, found, {}, Adaptive(), PLACE).warnings
    assert "or the compiler removed the statement; " in warning.text


def test_a_call_that_launches_nothing_is_not_explained_by_a_loop():
    view = Case("s", "n", "call", "x.t()", device="cuda")
    found = samples(value=lambda start, block: 0.0)
    (warning,) = from_samples(view, TIME, found, {}, Adaptive(), PLACE).warnings
    assert (warning.code, warning.text.split(":")[0]) == ("zero-time", "it launches nothing")


def test_a_short_time_and_a_wide_interval_are_no_time_of_zero():
    assert codes(samples(value=lambda start, block: 5e-10)) == set()
    wide = samples(2, value=lambda start, block: 1e-6 * (1 + 9 * start))
    assert "imprecise" in codes(wide)
    assert "zero-time" not in codes(wide)
    memory = Metric("memory", "bytes", "", sampled=True)
    nothing = samples(value=lambda start, block: 0.0)
    found = from_samples(CASE, memory, nothing, {}, Adaptive(), PLACE)
    assert "zero-time" not in {warning.code for warning in found.warnings}


def test_bursts_and_starts_that_differ_are_not_two_speeds():
    assert codes(at_two_speeds(3.0, 20)) == set(), "one block in twenty is a burst"
    by_start = samples(5, value=lambda start, block: 1e-6 * (1.5 if start == 4 else 1.0))
    assert "two-speeds" not in codes(by_start)
    assert "two-groups" in codes(by_start)


@pytest.mark.parametrize(
    ("device", "metric", "marked"),
    [("cpu", TIME, True), ("cuda", TIME, False), ("cpu", Metric("memory", "bytes", ""), False)],
)
def test_a_clock_of_the_cpu_that_timed_launches_says_so(device, metric, marked):
    case = replace(CASE, device=device)
    found = from_samples(case, metric, samples(), {"gpu_in_use": True}, Adaptive(), PLACE)
    assert ("gpu-not-awaited" in {warning.code for warning in found.warnings}) is marked


def test_every_warning_says_what_to_do():
    def bad(start, block):
        return 1e-6 * (2 if block < 4 else 1.0) * (1 + start)

    found = from_samples(CASE, TIME, samples(2, contended=20, value=bad), {}, Adaptive(), PLACE)
    text = " ".join(warning.text for warning in found.warnings)
    assert len(found.warnings) >= 3
    assert "--max-time-per-case" in text
    assert "quieter" in text


def test_a_failure_keeps_reason_traceback_and_the_last_words():
    ended = SessionEnded("crashed", "SIGSEGV", output="bye", traceback="Traceback …")
    result = failure(CASE, TIME, ended, PLACE)
    assert result.outcome_text == "crashed SIGSEGV"
    assert (result.detail["output"], result.detail["traceback"]) == ("bye", "Traceback …")
    assert result.estimate is None


def test_an_exact_metric_reports_the_largest_of_its_repeats():
    answer = {"results": {"memory": {"samples": [4096, 4100, 4096], "detail": {"source": "x"}}}}
    (result,) = exact_results(CASE, [answer], Metric("memory", "bytes", ""), PLACE)
    assert (result.estimate, result.low, result.high) == (4100, 4096, 4100)
    assert [sample.value for sample in result.samples] == [4096, 4100, 4096]
    assert result.detail["source"] == "x"


def test_a_metric_of_several_starts_is_their_mean_part_by_part():
    def answer(total, parts, held):
        detail = {"parts": parts, "held": held, "source": "x", "calls": 8}
        return {"results": {"parts": {"samples": [total], "detail": detail}}}

    found = [
        answer(3.0, {"linear": 1.0, "noise": 2.0}, {"linear": 400}),
        answer(5.0, {"linear": 4.0, "clipping": 1.0}, {"linear": 400}),
    ]
    (result,) = exact_results(CASE, found, Metric("parts", "s", "", starts=2), PLACE)
    assert result.estimate == 4.0
    assert result.detail["parts"] == {"linear": 2.5, "noise": 2.0, "clipping": 1.0}
    assert result.detail["held"] == {"linear": 400}, "bytes stay whole numbers"
    assert (result.detail["source"], result.detail["calls"]) == ("x", 8)
