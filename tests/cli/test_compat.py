"""`opbench compat install`: scripts of the older suites run as their documents have them."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def folder(opbench_here, tmp_path):
    done = opbench_here("compat", "install", "classic")
    assert done.returncode == 0, done.stderr
    return tmp_path / "classic"


def python(folder, *words):
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_samples_of_the_mxnet_suite_import_and_print_as_written(folder):
    script = folder / "sample.py"
    script.write_text(
        "from mxnet_benchmarks.nd import Add, run_all_arithmetic_operations_benchmarks\n"
        "from mxnet_benchmarks.gluon import Dense\n"
        "import mxnet_benchmarks.gluon.nn\n"
        'add_benchmark = Add(inputs={"dtype": "float64"})\n'
        "print(add_benchmark.inputs)\n",
        encoding="utf-8",
    )
    done = python(folder, "sample.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "{'lhs': (1024, 1024), 'rhs': (1024, 1024), 'initializer': <function normal at 0x"
    )
    assert done.stdout.endswith("'run_backward': True, 'dtype': 'float64'}\n")


def test_the_hook_is_importable_by_its_bare_name(folder):
    done = python(folder, "-c", "from patching_hook import init, hook; print(init, hook)")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run_benchmarks.py", "-h"), "--config-file"),
        (("run_benchmarks.py", "-h"), "Usage: run_benchmarks.py [OPTIONS]"),
        (("instruction_counts/main.py", "-h"), "Usage: main.py [OPTIONS]"),
        (("benchmark_layer.py", "-h"), "usage: benchmark_layer.py"),
        (("instruction_counts/main.py", "--dry-run", "-k", "math.multiply"),
         "snippets/math.multiply"),
        (("-c", "import benchmark_driver as b; "
          "print(b.run_all_classic_operations_benchmarks.__name__)"),
         "run_all_classic_operations_benchmarks"),
    ],
)  # fmt: skip
def test_commands_of_the_older_suites_are_commands_of_ours(folder, words, says):
    done = python(folder, *words)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


def test_a_file_of_the_users_is_not_overwritten_unless_asked(folder, opbench_here):
    (folder / "patching_hook.py").write_text("mine\n", encoding="utf-8")
    done = opbench_here("compat", "install", "classic")
    assert done.returncode == 2
    assert "patching_hook.py exists already; --force overwrites it" in done.stderr
    assert opbench_here("compat", "install", "classic", "--force").returncode == 0


DEFINITION = """
from core.api import GroupedModules, GroupedSetup, GroupedStmts
from core.types import FlatIntermediateDefinition
from core.utils import flatten, parse_stmts
from definitions.setup import Setup

BENCHMARKS: FlatIntermediateDefinition = flatten({
    "nn": {"relu": GroupedModules(
        "model = torch.nn.ReLU()", "auto model = torch::nn::ReLU();",
        setup=Setup.TRIVIAL_2D.value, signature="f(x) -> y", torchscript=True)},
    "product": GroupedStmts(
        py_stmt="y = x * w", setup=GroupedSetup(py_setup="x = w = torch.ones(4)"),
        signature="f(x, w) -> y"),
})
"""


def test_definitions_import_what_they_imported_and_are_what_main_counts(folder):
    suite = folder / "instruction_counts"
    (suite / "definitions" / "standard.py").write_text(DEFINITION, encoding="utf-8")
    done = python(suite, "main.py", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "standard/product[language=python,runtime=eager]/forward" in done.stdout
    assert "standard/nn.relu[language=cpp,runtime=torchscript]/forward" in done.stdout
    assert "snippets/" not in done.stdout
    flattened = python(
        suite,
        "-c",
        "from core.expand import materialize; from definitions.standard import BENCHMARKS; "
        "print(len(materialize(BENCHMARKS)))",
    )
    assert flattened.stdout == "5\n", flattened.stderr


def test_a_single_layer_and_the_helpers_of_the_layer_suite(folder):
    pytest.importorskip("opacus")
    (folder / "sizes.json").write_text(
        '{"linear": {"input_shape": [], "in_features": 8, "out_features": 8}}', encoding="utf-8"
    )
    words = ("--batch_size", "4", "--num_repeats", "2", "--forward_only")
    done = python(folder, "benchmark_layer.py", "gsm_linear", *words, "-c", "sizes.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Runtime (seconds): ")
    assert "\nMemory statistics (bytes): {'offset': 0, 'input_tensor': 128," in done.stdout
    missing = python(folder, "benchmark_layer.py", "lstm", "-c", "sizes.json")
    assert (missing.returncode, missing.stderr) == (
        1, "benchmark_layer.py: sizes.json has no 'rnn_base'\n",
    )  # fmt: skip
    names = python(
        folder,
        "-c",
        "from layers import LayerFactory, LayerType; from utils import get_path, save_results; "
        "from benchmark_layer import run_layer_benchmark; "
        "print(get_path(LayerType.LINEAR, 16, 100, 20))",
    )
    assert "linear_bs_16_runs_100_repeats_20" in names.stdout, names.stderr
