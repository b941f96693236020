"""Pickles for Opacus' own report, written by us and read by its `generate_report.py`."""

from __future__ import annotations

import csv
import runpy
import sys
import warnings

import pytest
from tests.suites.layers.small import CONFIG, case

from opbench.plan.policy import Fixed
from opbench.result import Result, Sample
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
    assert pickles.write(results(), only_missing=False) == 12
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
