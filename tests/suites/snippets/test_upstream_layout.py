"""A folder laid out as PyTorch's `benchmarks/instruction_counts`, run as it is.

The classes are our own, with the names, the fields and the imports of the original; definitions
are found although nothing of opbench is imported.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.report import export
from opbench.result import Result, Sample
from opbench.store import RunRecord, StoredResult

WORKER = """
import dataclasses, enum
class Language(enum.Enum):
    PYTHON = 0
    CPP = 1
@dataclasses.dataclass(frozen=True)
class WorkerTimerArgs:
    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    num_threads: int = 1
    language: Language = Language.PYTHON
"""
API = """
import dataclasses
from typing import Optional
from worker.main import WorkerTimerArgs
TimerArgs = WorkerTimerArgs
@dataclasses.dataclass(frozen=True)
class GroupedSetup:
    py_setup: str = ""
    cpp_setup: str = ""
    global_setup: str = ""
@dataclasses.dataclass(frozen=True)
class GroupedBenchmark:
    py_fwd_stmt: Optional[str]
    cpp_fwd_stmt: Optional[str]
    py_model_setup: Optional[str]
    cpp_model_setup: Optional[str]
    inferred_model_setup: bool
    setup: GroupedSetup
    signature_args: Optional[tuple]
    signature_output: Optional[str]
    torchscript: bool
    autograd: bool
    num_threads: tuple
"""
STANDARD = """
from core.api import GroupedBenchmark, TimerArgs
from core.utils import flatten
from definitions.setup import SETUP
from worker.main import Language

def grouped(python, cpp, **more):
    values = dict(py_fwd_stmt=python, cpp_fwd_stmt=cpp, py_model_setup=None, cpp_model_setup=None,
                  inferred_model_setup=True, setup=SETUP, signature_args=None,
                  signature_output=None, torchscript=False, autograd=False, num_threads=(1,))
    return GroupedBenchmark(**{**values, **more})

BENCHMARKS = flatten({
    ("Pointwise", "Math"): {
        "add scalar": grouped("\\n    x += 1\\n".replace("    ", ""), "x += 1;"),
        "multiply": grouped("y = x * x", "auto y = x * x;", signature_args=("x",),
                            signature_output="y", torchscript=True, autograd=True,
                            py_model_setup="def model(x):\\n    y = x * x\\n    return y",
                            num_threads=(1, 2)),
    },
    # Defined in Python alone: C++ calls what TorchScript made of it.
    "module": grouped("y = model(x: Tensor)".replace(": Tensor", ""), "auto y = model->forward(x);",
                      py_model_setup="model = torch.nn.ReLU()", inferred_model_setup=False,
                      signature_args=("x: Tensor",), signature_output="y", torchscript=True),
    "explicit": TimerArgs("x.size();", "auto x = torch::ones({4});", language=Language.CPP),
})
"""
FILES = {
    "worker/main.py": WORKER,
    "core/api.py": API,
    "core/utils.py": """
def flatten(schema, prefix=()):
    flat = {}
    for key, value in schema.items():
        label = prefix + (key if isinstance(key, tuple) else (key,))
        flat.update(flatten(value, label) if isinstance(value, dict) else {label: value})
    return flat
""",
    "definitions/setup.py": """
from core.api import GroupedSetup
SETUP = GroupedSetup("x = torch.ones(4)\\n", "auto x = torch::ones({4});\\n")
""",
    "definitions/standard.py": STANDARD,
}


@pytest.fixture(params=[True, False], ids=["packages", "plain folders"])
def standard(request, tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if request.param:
            (path.parent / "__init__.py").touch()
    return tmp_path / "definitions" / "standard.py"


def test_definitions_are_found_and_expanded_as_the_original_does(standard):
    cases = expand(targets_from(standard).definitions)
    found = {
        (case.name, case.axes.get("runtime"), case.stage, case.language, case.threads)
        for case in cases
    }
    assert len(found) == len(cases) == 2 + 2 * 2 * 2 * 2 + 3 + 1
    by_name = {case.name: case for case in cases}
    assert by_name["Pointwise.Math.add_scalar"].stmt == "x += 1;"
    modules = [case for case in cases if case.name == "module"]
    assert {(case.language, case.runtime) for case in modules} == {
        ("python", "eager"), ("python", "torchscript"), ("cpp", "torchscript"),
    }  # fmt: skip
    scripted = next(case for case in modules if case.language == "cpp")
    assert "model = torch.nn.ReLU()" in scripted.prelude
    assert "torch::jit::IValue(x)" in scripted.stmt
    explicit = by_name["explicit"]
    assert (explicit.stmt, explicit.language, explicit.stage) == ("x.size();", "cpp", "call")


def test_results_leave_in_the_form_of_its_ci(standard):
    cases = expand(targets_from(standard).definitions)
    run = RunRecord("run", created=1000.0)
    results = []
    for case in cases:
        counts = tuple(Sample(value, n=100) for value in (812.25, 812.5))
        counted = Result(case.hash, "instructions", "instructions", samples=counts, created=2000.5)
        times = Result(case.hash, "time", "s", samples=(Sample(1.5e-6),), created=1500.0)
        results += [StoredResult("run", case, each, 1) for each in (counted, times)]
    stream = io.StringIO()
    export.export("pytorch-ci", results, [run], stream)
    record = json.loads(stream.getvalue())
    assert {key: record[key] for key in ("version", "start_time", "end_time")} == {
        "version": -1, "start_time": 1000, "end_time": 2000,
    }  # fmt: skip
    keys = [json.loads(key) for key in record["values"]]
    assert len(keys) == len(cases)
    assert keys[0] == {
        "label": ["Pointwise", "Math", "add scalar"],
        "autolabels": {"runtime": "Eager", "autograd": "Forward", "language": "Python"},
        "num_threads": 1,
    }
    # The order of `itertools.product(RuntimeMode, AutogradMode, Language)`, then of the threads.
    multiply = [key for key in keys if key["label"][-1] == "multiply"]
    assert [key["num_threads"] for key in multiply[:4]] == [1, 2, 1, 2]
    assert [key["autolabels"]["language"] for key in multiply[:4]] == ["Python"] * 2 + ["C++"] * 2
    assert [key["autolabels"]["runtime"] for key in multiply] == ["Eager"] * 8 + ["TorchScript"] * 8
    explicit = next(key for key in keys if key["label"] == ["explicit"])
    assert explicit["autolabels"] == {"runtime": "", "autograd": "", "language": "C++"}
    assert {tuple(v["counts"]) for v in record["values"].values()} == {(81225, 81250)}
    assert {tuple(v["times"]) for v in record["values"].values()} == {(1.5e-6,)}
