"""The self-test for real, with plain Python: workers start fast, and nobody needs torch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from opbench.api import selftest
from opbench.api.selftest import WORKLOADS, Report, calls_for, pair, share_interval, workload
from opbench.errors import UserError

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_more_work_is_looked_for_in_each_operator_and_the_report_adds_up(
    opbench_here: Command,
) -> None:
    ran = opbench_here(
        "selftest", "--framework", "python", "-n", 1, "--effect", "90%",
        "--time-per-pair", "100ms", "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    page = json.loads(ran.stdout)
    assert page["framework"] == "python"
    assert page["unmeasured"] == []
    assert page["seconds_per_pair"] > 0
    assert page["detectable"] > 0
    same, more = page["rows"]
    operators = len(WORKLOADS["python"].operators)
    assert (same["effect"], more["effect"]) == (0, 0.9)
    assert same["trials"] == more["trials"] == operators
    # On a busy machine a pair may rightly be unknown.
    assert 0 <= more["found"] <= operators
    for row in (same, more):
        assert 0 <= row["low"] <= row["found"] / row["trials"] <= row["high"] <= 1


def test_from_python_and_in_words() -> None:
    from opbench.cli.selftest import _as_text

    report = selftest.selftest(
        1, (0.0, 9.0, 9.0), seconds=0.1, framework="python", operators=["sum"]
    )
    assert [(trial.operator, trial.effect) for trial in report.trials] == [
        ("sum", 0.0),
        ("sum", 9.0),  # asked twice, measured once
    ]
    (found,) = report.of(9.0)
    assert found.row.verdict in ("slower", "unknown")
    assert found.row.design == "paired"
    assert 2 < found.row.value < 50  # ten times the work, whatever else the machine does
    said = _as_text(report)
    assert "identical pairs called different (false alarms): " in said
    assert f"pairs with 900.0% more work called slower: {int(found.found)} of 1 " in said
    assert said.endswith("s per case.")


def test_pairs_that_cannot_be_measured_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from opbench.cli.selftest import _as_json, _as_text

    broken = selftest.Workload("python", {"raise": "1 / 0"}, "", "")
    monkeypatch.setitem(selftest.WORKLOADS, "python", broken)
    report = selftest.selftest(1, (0.0,), seconds=0.2, framework="python")
    assert len(report.unmeasured) == 1
    assert "1 pair could not be measured: the base failed: ZeroDivisionError" in _as_text(report)
    page = json.loads(_as_json(report))
    assert page["detectable"] is None
    assert "ZeroDivisionError" in page["unmeasured"][0]


def test_without_torch_plain_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "find_spec", lambda name: None)
    assert workload().framework == "python"
    with pytest.raises(UserError, match="torch is not installed here"):
        workload("torch")
    monkeypatch.setattr(selftest, "find_spec", lambda name: object())
    assert workload().framework == "torch"
    with pytest.raises(UserError, match="unknown framework 'jax'; choose from: torch, pyt"):
        workload("jax")


@pytest.mark.parametrize(
    ("effect", "extra", "calls"),
    [
        (0.0, 0, 20),
        (0.02, 1, 50),
        (0.01, 1, 100),
        (0.05, 1, 20),
        (0.03, 3, 100),
        (0.4, 2, 5),  # not 1 on top of 2, which would be half as much again
        (0.5, 1, 2),
        (0.001, 1, 1000),
    ],
)
def test_an_effect_is_exactly_so_many_calls_more(effect: float, extra: int, calls: int) -> None:
    assert calls_for(effect) == (extra, calls)
    for using in WORKLOADS.values():
        for operator in using.operators:
            base, new = pair(operator, effect, 0, using)
            assert len(base.stmt.splitlines()) == calls
            assert len(new.stmt.splitlines()) == calls + extra
            assert base.hash != new.hash


@pytest.mark.parametrize(
    ("found", "trials", "low", "high"),
    [
        (0, 0, 0.0, 1.0),  # nothing tried, nothing known
        (0, 40, 0.0, 0.088),
        (40, 40, 0.912, 1.0),
        (5, 10, 0.237, 0.763),
    ],
)
def test_shares_come_with_the_interval_of_wilson(found, trials, low, high) -> None:
    assert share_interval(found, trials) == pytest.approx((low, high), abs=0.001)


def test_a_report_without_trials_promises_nothing() -> None:
    report = Report()
    assert report.tallies == []
    assert report.detectable == float("inf")
    assert report.seconds_per_pair == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--effect", "much"], "expected a percentage"),
        (["--effect", "0%"], "expected a percentage"),
        (["--framework", "jax"], "choose from: torch, python"),
        (["-n", "0"], "--pairs"),
        (["--time-per-pair", "soon"], "expected a time"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_self_test_is_one_line(
    opbench_here: Command, arguments: list[str], said: str
) -> None:
    refused = opbench_here("selftest", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
