"""Sweeps for real: users' models, torch and ONNX Runtime, their profilers, the files at the end."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.late import needs

needs("torch", "onnxruntime", "onnxscript")

MODELS = """
import torch

class Mini(torch.nn.Module):
    def __init__(self, out, hidden):
        super().__init__()
        self.fc = torch.nn.Linear(hidden, out)

    def forward(self, x):
        return torch.relu(self.fc(x))

class Normed(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(hidden)

    def forward(self, x):
        return self.norm(x * 3.0 + 1.0)
"""

QUICK = "[run]\nnum_runs = 1\nnum_repeats = 2\n"

SWEEP = (
    """
model = "models.py:Mini"
model_init_params = ["hidden", "out"]
input_params = [["batch", "hidden"]]

[input_scales]
batch = [2, 4]
hidden = [8]
out = [5]

[job_configs]
dtype = ["fp32"]
runtime = ["pt", "ort"]

"""
    + QUICK
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sweep")


@pytest.fixture
def measured(folder, opbench_here) -> Path:
    """A folder in which a sweep has been run, once for all tests."""
    if not (folder / "mini.toml").exists():
        (folder / "models.py").write_text(MODELS)
        (folder / "mini.toml").write_text(SWEEP)
        done = opbench_here("run", "mini.toml", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-2:] == ["mini.csv", "mini.png"]
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def test_one_summary_row_per_point_and_config_with_forward_and_backward_apart(measured):
    found = [row for row in rows(measured / "mini.csv") if row["row"] == "summary"]
    assert [(row["batch"], row["runtime"], row["dtype"]) for row in found] == [
        ("2", "pt", "fp32"), ("2", "ort", "fp32"), ("4", "pt", "fp32"), ("4", "ort", "fp32"),
    ]  # fmt: skip
    for row in found:
        assert row["forward_outcome"] == "ok"
        low, middle, high = (float(row[f"forward_{n}"]) for n in ("min", "median", "max"))
        assert 0 < low <= middle <= high
    eager, ort = found[:2]
    assert eager["backward_outcome"] == "ok"
    assert float(eager["backward_median"]) > 0
    assert ort["backward_outcome"] == "unsupported: ONNX Runtime computes no gradients"
    assert ort["backward_median"] == ""


def test_one_row_per_kernel_from_the_profiler_of_the_framework(measured):
    kernels = [row for row in rows(measured / "mini.csv") if row["row"] == "kernel"]
    names = {}
    for row in kernels:
        names.setdefault((row["runtime"], row["stage"]), {})[row["kernel"]] = row
    assert names["pt", "forward"]["aten::addmm"]["calls"] == "1"
    assert "aten::relu" in names["pt", "forward"]
    assert "aten::mm" in names["pt", "backward"]
    # What a backward pass needs is prepared outside of what is counted.
    assert "aten::addmm" not in names["pt", "backward"]
    assert "Gemm" in names["ort", "forward"] or "FusedGemm" in names["ort", "forward"]
    for row in kernels:
        total, calls, mean = (float(row[name]) for name in ("total", "calls", "mean"))
        assert total == pytest.approx(calls * mean, rel=1e-4)


def test_the_file_says_where_its_numbers_are_from(measured):
    text = (measured / "mini.csv").read_text()
    assert text.startswith("# run: ")
    assert "# python: " in text


def test_the_chart_has_a_panel_for_each_dim_that_varies(opbench_here, measured):
    assert (measured / "mini.png").read_bytes().startswith(b"\x89PNG")
    done = opbench_here("report", "sweep", "--chart", "c.json", "-o", "again.csv", cwd=measured)
    assert done.stdout.split() == ["again.csv", "c.json"]
    assert (measured / "again.csv").read_text() == (measured / "mini.csv").read_text()
    chart = json.loads((measured / "c.json").read_text())
    panels = chart["vconcat"][0]["hconcat"]
    assert [panel["title"] for panel in panels] == ["forward", "backward"]
    titles = json.dumps(chart["vconcat"][0])
    assert '"title": "batch"' in titles
    assert len(chart["vconcat"]) == 1  # hidden and out do not vary
    for config in ("pt fp32", "ort fp32"):
        assert f'"config": "{config}"' in json.dumps(chart)


def test_a_training_batch_norm_exported_as_inference_is_a_mismatch_and_not_a_fast_result(
    opbench_here, tmp_path
):
    """A Python file this time, with the names of the classic job at its top level."""
    (tmp_path / "normed.py").write_text(
        MODELS + "model = Normed\n"
        "model_init_params = ['hidden']\n"
        "input_params = [['batch', 'hidden']]\n"
        "input_scales = {'batch': [16], 'hidden': [8]}\n"
        "job_configs = [{'dtype': 'fp32', 'runtime': 'ort'}]\n"
        "stages = ['forward']\n"
    )
    done = opbench_here("run", "normed.py", "--num-runs", "1", "--num-repeats", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "mismatch" in done.stdout
    assert "training = false" in done.stdout
    found = rows(tmp_path / "normed.csv")
    assert found[0]["forward_outcome"].startswith("mismatch: the output of ONNX Runtime")
    assert found[0]["forward_median"] == ""


def test_models_of_installed_packages_and_json(opbench_here, tmp_path):
    (tmp_path / "linear.json").write_text(
        json.dumps(
            {
                "model": "torch.nn.Linear",
                "model_init_params": ["in_features", "out_features"],
                "input_params": [["batch", "in_features"]],
                "input_scales": {"batch": [1], "in_features": [4], "out_features": [2]},
            }
        )
    )
    done = opbench_here("list", "linear.json")
    assert done.stdout.splitlines() == [
        "sweep/linear[batch=1,in_features=4,out_features=2,dtype=fp32,runtime=pt]/forward",
        "sweep/linear[batch=1,in_features=4,out_features=2,dtype=fp32,runtime=pt]/backward",
    ]
    shown = opbench_here("show", "forward", "--in", "linear.json").stdout
    assert "net = Linear(in_features=4, out_features=2)" in shown


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("modls.py:Mini", "no file modls.py in its folder"),
        ("models.py:Mni", "models has no model called Mni; did you mean Mini?"),
        ("models.py", "expected FILE.py:NAME or package.module:NAME"),
        ("models.py:torch", "model must be an nn.Module class"),
        ("no_such_package.x:Mini", "No module named 'no_such_package'"),
    ],
)
def test_a_model_that_cannot_be_found(opbench_here, tmp_path, model, said):
    (tmp_path / "models.py").write_text(
        "class Mini: pass\nimport json as torch\n"  # fails without torch
    )
    (tmp_path / "s.toml").write_text(SWEEP.replace("models.py:Mini", model))
    done = opbench_here("list", "s.toml")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_a_compiled_model_is_checked_and_timed(tmp_path, opbench_here):
    (tmp_path / "models.py").write_text(MODELS)
    text = SWEEP.replace('["pt", "ort"]', '["compile"]').replace("[2, 4]", "[2]")
    (tmp_path / "mini.toml").write_text(text)
    done = opbench_here("run", "mini.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    summary, *kernels = rows(tmp_path / "mini.csv")
    assert summary["forward_outcome"] == summary["backward_outcome"] == "ok"
    assert kernels


UNUSUAL = """
import torch

class Pair(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc = torch.nn.Linear(hidden, hidden)

    def forward(self, x):
        return self.fc(x), x

class Words(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.table = torch.nn.Embedding(10, hidden)

    def forward(self, x):
        return self.table(x)
"""


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("Words", 'input_values = ["integers:10"]'),
        pytest.param("Pair", 'output = "y[0]"', marks=pytest.mark.slow),
    ],
)
def test_what_an_unusual_model_needs_is_said_and_then_it_runs(opbench_here, tmp_path, model, key):
    (tmp_path / "models.py").write_text(UNUSUAL)
    sweep = (
        f'model = "models.py:{model}"\nmodel_init_params = ["hidden"]\n'
        'input_params = [["hidden"]]\nstages = ["backward"]\n'
        "input_scales = { hidden = [8] }\n"
        'job_configs = { dtype = ["fp32"], runtime = ["pt"] }\n'
    )
    (tmp_path / "bare.toml").write_text(sweep + QUICK)
    bare = opbench_here("run", "bare.toml", "--metric", "time", cwd=tmp_path)
    said = key.partition("=")[0]
    assert [line for line in bare.stdout.splitlines() if said in line and "bare: " in line]
    (tmp_path / "with_key.toml").write_text(f"{sweep}{key}\n{QUICK}")
    done = opbench_here("run", "with_key.toml", "--metric", "time", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
