"""Pickles for Opacus' own report, written by us and read by its `generate_report.py`."""

from __future__ import annotations

import csv
import pickle
import runpy
import sys
import warnings

import pytest
from tests.suites.layers.small import CONFIG, case

from opbench.plan.policy import Fixed
from opbench.result import Result, Sample
from opbench.running.recording import Finished
from opbench.suites.layers.command import _print_runs
from opbench.suites.layers.config import checked
from opbench.suites.layers.pickles import Pickles

LAYERS = ("linear", "embedding", "layernorm")
FACTOR = 3.0


def results():
    """Each layer as it is and with hooks, the latter taking three times as long."""
    policy = Fixed(num_runs=2, num_repeats=5).text
    for layer in LAYERS:
        for mode, seconds in (("baseline", 1e-3), ("hooks", FACTOR * 1e-3)):
            for batch in (4, 8):
                one = case(layer, mode, batch=batch)
                samples = tuple(Sample(seconds, order=order) for order in range(2))
                yield one, Result(one.hash, "time", "s", samples=samples, policy=policy)
                detail = {"max_memory": 100, "components": {"offset": 0, "layer": 40, "other": 1}}
                yield one, Result(one.hash, "memory", "bytes", policy=policy, detail=detail)


@pytest.mark.parametrize("in_modes", [False, True])
def test_opacus_own_report_has_a_value_in_every_cell(tmp_path, monkeypatch, in_modes):
    """Under the names of 2021 (`gsm_linear_bs_4_…`) and under those of today."""
    pytest.importorskip("benchmarks.generate_report", reason="opacus' wheel has it from 1.4 on")
    config = checked({key: CONFIG[key] for key in LAYERS}, "test")
    pickles = Pickles(config, tmp_path / "raw", "", 2, 5, None, in_modes)
    assert pickles.write(results(), only_missing=False).written == 12
    names = {path.name for path in (tmp_path / "raw").iterdir()}
    assert ("linear_mode_hooks_bs_4_runs_2_repeats_5_seed_None.pkl" in names) == in_modes
    assert ("gsm_linear_bs_4_runs_2_repeats_5_seed_None.pkl" in names) != in_modes
    words = (
        "--path-to-results",
        str(tmp_path / "raw"),
        "--save-path",
        str(tmp_path / "report.csv"),
    )
    monkeypatch.setattr(sys, "argv", ["generate_report.py", *words])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_module("benchmarks.generate_report", run_name="__main__")
    lines = list(csv.reader((tmp_path / "report.csv").open()))
    header = next(line for line in lines if "hooks/baseline" in line)
    body = [line for line in lines if line[0] in ("4", "8")]
    assert len(body) == 6
    assert all(all(line) for line in body)
    for line in body:
        assert float(line[header.index("hooks/baseline")]) == pytest.approx(FACTOR)


def one(metric="time", seconds=1e-3, outcome="ok", **config):
    of = case("linear", **config)
    samples = tuple(Sample(seconds, order=order) for order in range(2)) if outcome == "ok" else ()
    policy = Fixed(num_runs=2, num_repeats=5).text
    return of, Result(of.hash, metric, "s", samples=samples, policy=policy, outcome=outcome)


def pickles_in(folder, metrics=("time", "memory"), **config):
    sizes = checked({"linear": {**CONFIG["linear"], **config}}, "test")
    return Pickles(sizes, folder, "", 2, 5, None, False, metrics)


def test_a_complete_file_is_kept_and_one_with_other_settings_or_times_is_not(tmp_path):
    pickles_in(tmp_path).write([one()], only_missing=True)
    (path,) = tmp_path.iterdir()
    again = pickles_in(tmp_path).write([one()], only_missing=True)
    assert (again.written, again.replaced) == (0, 0)
    slower = pickles_in(tmp_path).write([one(seconds=2e-3)], only_missing=True)
    assert (slower.written, slower.replaced) == (1, 1)
    larger = pickles_in(tmp_path, in_features=9)
    files = larger.write([one(seconds=2e-3, in_features=9)], only_missing=True)
    assert list(files.lines(tmp_path)) == [
        f"1 pickle written to {tmp_path}; 1 of them held other settings or times"
    ]
    assert pickle.loads(path.read_bytes())["config"]["in_features"] == 9


def test_of_several_timers_a_file_has_the_first_that_was_asked_for(tmp_path):
    """Whichever a run that was continued has first."""
    both = [one("time_torch", 2e-3), one("time_python", 1e-3)]
    pickles_in(tmp_path, ("time_python", "time_torch")).write(both, only_missing=False)
    (path,) = tmp_path.iterdir()
    assert pickle.loads(path.read_bytes())["results"][0]["runtime"] == 1e-3


def test_files_that_stay_although_they_are_not_of_this_run_are_named(tmp_path):
    pickles_in(tmp_path).write([one()], only_missing=False)
    (path,) = tmp_path.iterdir()
    files = pickles_in(tmp_path).write([one(outcome="failed")], only_missing=False)
    assert list(files.lines(tmp_path)) == [
        f"Of an earlier run, as the layer has no time now: {path}; delete it"
    ]
    path.write_text("notes")
    files = pickles_in(tmp_path).write([one()], only_missing=True)
    assert list(files.lines(tmp_path)) == [
        f"Not replaced, as it is no pickle of layers: {path}; write elsewhere with --suffix or "
        "--root"
    ]
    assert path.read_text() == "notes"


def test_runs_are_printed_with_the_timer_where_there_are_several(capsys):
    run = Finished("id", [one("time_python"), one("time_torch", 2e-3)])
    _print_runs(run)
    lines = [line.split("  ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert lines[1:3] == ["time_python  run 1  0.001 s", "time_torch  run 0  0.002 s"]
    _print_runs(Finished("id", [one()]))
    assert capsys.readouterr().out.splitlines()[0].endswith("forward_backward  run 0  0.001 s")
