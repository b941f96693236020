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
