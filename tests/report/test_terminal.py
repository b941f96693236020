"""The final table, held against a golden one.

After an intended change: `OPBENCH_UPDATE_GOLDEN=1 pytest tests/report/test_terminal.py`, then read
the difference.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from opbench.case import Case
from opbench.define.suite import Suite
from opbench.plan.groups import Baseline
from opbench.report.terminal.run import LISTED, as_text
from opbench.result import Result, Sample, Warning
from opbench.running.recording import Finished

GOLDEN = Path(__file__).parent / "golden" / "final_table.txt"


def case(name: str, stage: str = "forward", **labels) -> Case:
    return Case("layers", name, stage, "f(x)", labels=tuple(labels.items()))


def timed(of: Case, value: float, width: float = 0.012, warnings=()) -> tuple[Case, Result]:
    samples = tuple(Sample(value, start=start, session=n) for start in range(4) for n in range(3))
    low, high = value * (1 - width), value * (1 + width)
    noted = tuple(Warning(*warning) for warning in warnings)
    return of, Result(
        of.hash, "time", "s", "ok", "", value, low, high, samples, noted,
        detail={"design": "paired"}, group="together",
    )  # fmt: skip


def ended(of: Case, outcome: str, reason: str, metric: str = "time") -> tuple[Case, Result]:
    unit = "s" if metric == "time" else "bytes"
    return of, Result(of.hash, metric, unit, outcome=outcome, reason=reason)


def memory(of: Case, value: float) -> tuple[Case, Result]:
    return of, Result(of.hash, "memory", "bytes", "ok", "", value, value, value)


CONTENDED = ("contended", "31% of the blocks were disturbed by other programs; close them")
LINEAR = [case("linear", batch=16, mode=mode) for mode in ("plain", "hooks", "ghost")]
RESULTS = [
    timed(LINEAR[0], 12.34e-6),
    timed(LINEAR[1], 24.68e-6, 0.003),
    timed(LINEAR[2], 18.51e-6, 0.08, [CONTENDED]),
    memory(LINEAR[0], 4_194_304.0),
    memory(LINEAR[1], 8_388_608.0),
    ended(LINEAR[2], "out_of_memory", "MemoryError", "memory"),
    ended(case("lstm"), "unsupported", "hooks do not support nn.LSTM"),
    ended(case("conv"), "crashed", "SIGSEGV"),
    ended(case("norm"), "failed", "ValueError: [bold]not markup[/bold] (at `y = f(x)`)"),
    ended(case("gru"), "failed", "ValueError: [bold]not markup[/bold] (at `y = f(x)`)"),
    ended(case("slow"), "timeout", "no answer within 60 s"),
    timed(case("a" * 60, batch=1024, sequence=128, heads=16, bias=True), 1.5),
]


def test_the_final_table_is_the_golden_one():
    run = Finished(
        "20261115-120000-ab12",
        RESULTS,
        store=".opbench/results.db",
        baseline=Baseline("mode", "plain"),
    )
    text = as_text(run, width=110)
    if os.environ.get("OPBENCH_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_it_fits_any_width_and_loses_no_case():
    run = Finished("r", RESULTS)
    for width in (50, 80, 200):
        text = as_text(run, width=width)
        assert all(len(line) <= width for line in text.splitlines())
        whole = "".join(text.split())
        for name in ("lstm", "conv", "norm", "gru", "slow"):
            assert name in whole


def test_many_reasons_are_counted_not_listed():
    results = [ended(case(f"c{n}"), "failed", f"reason {n}") for n in range(LISTED + 5)]
    text = as_text(Finished("r", results))
    assert f"reason {LISTED - 1}" in text
    assert f"reason {LISTED}\n" not in text
    assert "and 5 more reasons" in text


def test_a_run_without_results_says_so():
    assert "No results" in as_text(Finished("r"))


def test_what_is_true_of_all_stands_below_the_account_of_a_suite_too(monkeypatch):
    busy = (("contended", "close other programs"),)
    results = [timed(case(f"n{i}"), 1e-3, warnings=busy) for i in range(6)]
    monkeypatch.setattr("opbench.report.terminal.run.suites.first", lambda _ask: ["own account"])
    text = as_text(Finished("r", results))
    assert text.startswith("own account\nThis run: 6 of 6 cases ")
    calm = [timed(case(f"n{i}"), 1e-3) for i in range(6)]
    assert as_text(Finished("r", calm)) == "own account\n"


def test_what_a_framework_cannot_do_needs_no_traceback():
    own = ended(LINEAR[1], "unsupported", "no kernel for this")
    own = (own[0], replace(own[1], detail={"traceback": "…"}))
    text = as_text(Finished("r", [timed(LINEAR[0], 1e-3), own], store="results.db"))
    assert "no kernel for this" in text
    assert "traceback" not in text


def test_what_a_suite_shows_in_tables_of_its_own_is_left_out(monkeypatch):
    class Own(Suite):
        def tables(self, run):
            return ["own table"]

        def shows(self, case):
            return case.name == "linear"

    monkeypatch.setattr("opbench.define.suites.every", lambda: {"own": Own()})
    failed = ended(LINEAR[1], "failed", "a reason of its own")
    failed = (failed[0], replace(failed[1], detail={"traceback": "…"}))
    text = as_text(Finished("r", [timed(LINEAR[0], 1e-3), failed], store="results.db"))
    first, traceback, *_ = text.splitlines()
    assert first == "own table"
    assert traceback == f"The whole traceback: opbench show '{LINEAR[1].id}'"
    assert "a reason of its own" not in text
    other = as_text(Finished("r", [timed(LINEAR[0], 1e-3), timed(case("conv"), 2e-3)]))
    assert "conv" in other
    assert "linear" not in other


def test_every_time_that_has_a_baseline_has_its_grid():
    results = []
    for metric in ("host_time", "device_time"):
        for of, value in ((LINEAR[0], 1e-5), (LINEAR[1], 2e-5)):
            results.append((of, replace(timed(of, value)[1], metric=metric)))
    run = Finished("r", results, baseline=Baseline("mode", "plain"))
    lines = [line.split() for line in as_text(run, width=200).splitlines() if line.strip()]
    assert lines[0] == ["host_time", "plain", "hooks"]
    assert ["device_time", "plain", "hooks"] in lines
    assert sum("2.000× slower [1.997, 2.003]" in " ".join(line) for line in lines) == 2


def test_in_several_environments_the_factors_have_a_column():
    results = []
    for environment in ("one", "two"):
        for of, value in ((LINEAR[0], 1e-5), (LINEAR[1], 2e-5)):
            results.append((of, replace(timed(of, value)[1], environment=environment)))
    run = Finished("r", results, baseline=Baseline("mode", "plain"))
    head, *rows = (line for line in as_text(run, width=200).splitlines() if line.strip())
    assert head.split() == [
        "layers/linear[batch=16,…]/forward",
        "environment",
        "time",
        "vs",
        "plain",
    ]
    assert sum("2.000 [1.997, 2.003]" in row for row in rows) == 2


def test_a_warning_is_shown_with_the_case_its_text_is_about_and_the_widest_one():
    narrow = timed(case("a"), 1e-6, 0.03, [("imprecise", "its interval is ±3%")])
    wide = timed(case("b"), 1e-6, 0.29, [("imprecise", "its interval is ±29%")])
    text = as_text(Finished("r", [narrow, wide]))
    assert "imprecise: 2 cases, e.g. layers/b/forward: its interval is ±29%" in text
    assert "±3%" not in text
    assert "imprecise: 1 case, e.g. layers/a/forward" in as_text(Finished("r", [narrow]))
