"""`opbench layers --cont`: which run is completed, and what becomes of the pickles."""

from __future__ import annotations

import json
import pickle

import pytest
from tests.suites.layers.small import CONFIG

from opbench.plan.options import RunOptions
from opbench.suites.layers.continuing import in_effect, share_timer

DESIGN = {"num_runs": 2, "num_repeats": 3}


@pytest.mark.parametrize(
    "said",
    [
        {"threads": 1},
        {"device": "cpu"},
        {"seed": 0},
        {"max_starts": 12},
        {"timeout": 5.0},
        {"budget": 9.0},
        {"axes": {"layer": ["linear"]}},
        {"baseline": "mode=baseline"},
    ],
)
def test_what_is_said_and_is_so_anyway_is_the_same_run(said):
    assert in_effect(RunOptions(**DESIGN, **said)) == in_effect(RunOptions(**DESIGN))


@pytest.mark.parametrize(
    "said",
    [
        {"threads": 2},
        {"device": "cuda"},
        {"seed": 1},
        {"max_starts": 1},
        {"num_runs": 4},
        {"max_time_per_case": 1.0},
        {"cpus": (0,)},
        {"keep": ("hooks",)},
        {"targets": ("sizes.json",)},
    ],
)
def test_what_changes_the_times_is_another_run(said):
    assert in_effect(RunOptions(**{**DESIGN, **said})) != in_effect(RunOptions(**DESIGN))


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        (("time", "memory"), ("time",), True),
        (("memory",), ("time", "memory"), True),
        (("time_python", "time_torch"), ("time_torch", "memory"), True),
        (("time_torch", "memory"), ("time", "memory"), False),
        (("host_time", "device_time"), ("time_cuda",), False),
    ],
)
def test_times_of_another_clock_are_another_run(before, now, same):
    assert share_timer(RunOptions(metrics=before), RunOptions(metrics=now)) is same


def read(path):
    return pickle.loads(path.read_bytes())


@pytest.mark.usefixtures("without_gpu")
def test_a_run_with_other_settings_is_not_completed_and_no_pickle_is_stale(opbench_here, tmp_path):
    sizes = tmp_path / "f1.json"
    sizes.write_text(json.dumps({"linear": CONFIG["linear"]}))
    command = ("layers", "-c", "f1.json", "--batch_sizes", "3", "--layers", "linear")
    command += ("--num_repeats", "3", "--num_runs", "2", "--max_starts", "1")
    assert opbench_here(*command).returncode == 0
    (file,) = (tmp_path / "results" / "raw").iterdir()
    first = read(file)

    # Measured on two threads: the file has those times, and says that it had others.
    other = opbench_here(*command, "--cont", "--threads", "2")
    assert "No earlier run with these settings" in other.stderr
    assert "1 pickle written to results/raw; 1 of them held other settings" in other.stderr
    assert read(file)["results"] != first["results"]

    # Without --threads it is the first run again, in the table as in the file.
    file.unlink()
    again = opbench_here(*command, "--cont", "--threads", "1")
    assert again.stderr.splitlines()[0] == (
        "Using f1.json, on cpu. Nothing is missing, so nothing was measured."
    )
    assert "is complete" not in again.stderr
    assert read(file) == first
    kept = file.stat().st_mtime_ns
    assert "pickle" not in opbench_here(*command, "--cont").stderr
    assert file.stat().st_mtime_ns == kept

    # In another size the file is of that size; what was measured before is compared with nothing.
    sizes.write_text(json.dumps({"linear": {**CONFIG["linear"], "in_features": 9}}))
    resized = opbench_here(*command, "--cont")
    assert "1 of them held other settings" in resized.stderr
    assert read(file)["config"]["in_features"] == 9


def test_a_run_begun_with_a_baseline_is_completed_without_one(opbench_here, tmp_path):
    pytest.importorskip("opacus")
    (tmp_path / "f1.json").write_text(json.dumps({"linear": CONFIG["linear"]}))
    command = ("layers", "-c", "f1.json", "--batch_sizes", "3", "--metric", "memory")
    command += ("--num_repeats", "1", "--num_runs", "1", "--max_starts", "1", "--layers")
    assert opbench_here(*command, "linear", "gsm_linear").returncode == 0
    found = opbench_here(*command, "gsm_linear", "--cont")
    assert found.returncode == 0, found.stderr
    assert "Nothing is missing" in found.stderr


def test_only_missing_experiments_run_though_they_are_compared_with_others(opbench_here, tmp_path):
    pytest.importorskip("opacus")
    (tmp_path / "f1.json").write_text(json.dumps({"linear": CONFIG["linear"]}))
    (tmp_path / "raw").mkdir()
    command = ("layers", "-c", "f1.json", "--batch_sizes", "3", "--num_repeats", "2")
    command += ("--num_runs", "2", "--max_starts", "1", "--root", "raw", "--layers", "linear")
    assert opbench_here(*command).returncode == 0
    (before,) = (tmp_path / "raw").iterdir()
    times = before.read_bytes()
    found = opbench_here(*command, "gsm_linear", "--cont")
    assert found.returncode == 0, found.stderr
    assert "1 pickle written" in found.stderr
    assert before.read_bytes() == times
