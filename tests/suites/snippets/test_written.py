"""`opbench time`: statements from the command line, compared at once."""

from __future__ import annotations

import re

import pytest

from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.frameworks.jax import waiting
from opbench.plan import options
from opbench.suites.snippets.written import definition_of, to_give, without_value


@pytest.mark.parametrize(
    ("statement", "setup", "framework", "imports"),
    [
        ("sum(range(10))", "", "python", ""),
        ("torch.mm(x, x)", "x = torch.ones(2, 2)", "torch", "import torch"),
        ("x @ x", "x = torch.ones(2, 2)", "torch", "import torch"),
        ("np.sum(x)", "x = np.ones(3)", "numpy", "import numpy as np"),
        ("numpy.sum(x)", "x = numpy.ones(3)", "numpy", "import numpy as np\nimport numpy"),
        ("jnp.sum(x)", "x = jnp.ones(3)", "jax", "import jax.numpy as jnp"),
        # Of two, the one that is not merely used by the other.
        ("torch.sum(x)", "x = torch.from_numpy(np.ones(3))", "torch", "import numpy as np"),
        # An attribute of something else is no framework.
        ("thing.torch", "class thing: torch = 1", "python", ""),
    ],
)
def test_frameworks_are_found_by_their_names(statement, setup, framework, imports):
    (case,) = expand([definition_of([statement], setup)])
    assert case.framework == framework
    assert imports in case.globals


def test_a_framework_can_be_named():
    (case,) = expand([definition_of(["f()"], "def f(): pass", framework="numpy")])
    assert case.framework == "numpy"
    with pytest.raises(UserError, match="unknown framework 'numpi'"):
        definition_of(["f()"], framework="numpi")


def test_axes_are_variables_and_statements_the_last_axis():
    cases = expand([definition_of(["x[:n]", "x[n:]"], "x = [0] * n", {"n": ["4", "a b"]})])
    assert [case.axes for case in cases] == [
        {"n": 4, "statement": "x[:n]"},
        {"n": 4, "statement": "x[n:]"},
        {"n": "a b", "statement": "x[:n]"},
        {"n": "a b", "statement": "x[n:]"},
    ]
    assert "n = 4\nx = [0] * n" in cases[0].setup
    assert "n = 'a b'\n" in cases[2].setup


def test_shapes_are_tuples_however_they_are_written():
    axes = options.asked({"axes": ["shape=2x3,(4, 5),()"]})["axes"]
    cases = expand([definition_of(["torch.ones(shape)"], axes=axes)])
    assert [case.axes["shape"] for case in cases] == ["2x3", "4x5", "()"]
    made = [case.setup.splitlines()[-1] for case in cases]
    assert made == ["shape = (2, 3)", "shape = (4, 5)", "shape = ()"]


def test_a_device_is_a_variable_where_it_is_used():
    used = definition_of(["x + x"], "x = torch.ones(3, device=device)")
    (case,) = expand([used], device="cuda")
    assert "device = 'cuda'\n" in case.setup
    assert not case.unsupported
    assert case.sync == "torch.cuda.synchronize()"
    (case,) = expand([definition_of(["x + x"], "x = torch.ones(3)")], device="cuda")
    assert case.unsupported == (
        "neither statement nor setup uses `device`, so it cannot run on cuda"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statements": []}, "give at least one statement"),
        ({"statements": ["  "]}, "does nothing; write an expression"),
        ({"statements": ["f("]}, r"the statement 'f\(' is not valid Python"),
        ({"statements": ["f()"], "setup": "1 +"}, r"--setup '1 \+' is not valid Python"),
        ({"statements": ["f()", " f() "]}, "is given twice"),
        ({"statements": ["f()"], "axes": {"a b": ["1"]}}, "must be a Python name"),
        ({"statements": ["f()"], "axes": {"statement": ["1"]}}, "must be a Python name"),
        ({"statements": ["1"], "axes": {"m": ["1"]}}, "nor --setup uses m; leave it out"),
        (
            {"statements": ["f(x)"], "setup": "import f\nx = range(n)", "axes": {"m": ["1", "2"]}},
            "-a m: .* uses m; n has no value: did you mean -a n=1,2?",
        ),
    ],
)
def test_mistakes_are_one_line(arguments, message):
    with pytest.raises(UserError, match=message) as error:
        definition_of(**arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("written", "waits"),
    [
        ("jnp.sum(x)", "jax.block_until_ready(jnp.sum(x))"),
        ("y = f(x)\ny + 1", "y = f(x)\njax.block_until_ready(y + 1)"),
        ("a, b = f(x)", "a, b = f(x)\njax.block_until_ready((a, b))"),
        ("x += 1", "x += 1\njax.block_until_ready(x)"),
        ("for _ in x: pass", "for _ in x: pass"),
    ],
)
def test_statements_of_jax_wait_for_what_they_compute(written, waits):
    assert waiting(written) == waits


@pytest.mark.parametrize(
    ("statement", "setup", "lacking"),
    [
        (" torch.relu(x) + np.ones(n) + print", "", ["x"]),
        ("[i for i in y]", "def y(a, *b): return a, b, device", []),
        ("p.join(q, z)", "import os.path as p\ntry: pass\nexcept OSError as q: pass", ["z"]),
        ("anything", "from math import *", []),
        ("await f()", "async def f(): pass\nmatch 1:\n  case [m, *r]: m, r", []),
    ],
)
def test_names_without_a_value_are_known_from_the_source(statement, setup, lacking):
    assert without_value([statement], setup, ["n"]) == lacking


def test_the_advice_for_a_module_of_python_is_to_import_it():
    assert to_give("threading") == "--setup 'import threading'"
    assert to_give("x") == "--setup 'x = …', or -a x=…"


def test_a_gpu_that_is_not_there_is_one_line(opbench_here):
    done = opbench_here("time", "x + x", "--setup", "x = torch.ones(3)", "--device", "cuda:99")
    assert done.returncode == 2
    assert done.stderr.startswith("opbench: --device cuda:99: ")
    assert done.stdout == ""


FACTOR = r"\d+(\.\d+)?× (slower|faster) \[\d+(\.\d+)?, \d+(\.\d+)?\]"


def test_the_command_compares_without_a_file_or_a_store(opbench_here, own_pool, tmp_path):
    short, long = "sum(range(n))", "[sum(range(n)) for _ in range(9)]"
    done = opbench_here("time", short, long, "-a", "n=10,1000", "--max-time-per-case", "0.5s")
    assert done.returncode == 0, done.stderr
    heading, _, *rows = [line for line in done.stdout.splitlines() if line.strip()]
    assert heading.split("  ")[0].strip() == "" or short in heading
    assert short in heading
    assert long in heading
    # Below the rows stands why a verdict is unknown, as on a machine that does much else.
    for row, size in zip(rows[:2], ("n=10 ", "n=1000"), strict=True):
        assert row.strip().startswith(size)
        assert re.search(r"[µn]s ± [\d.]+ %", row)
        assert re.search(FACTOR, row) or "unknown" in row, row
    assert not (tmp_path / ".opbench").exists()
    workers = opbench_here("workers").stdout
    assert "plain Python" in workers


def test_what_fails_says_why_and_the_others_are_measured(opbench_here, own_pool, tmp_path):
    done = opbench_here("time", "1 + n", "missing", "-a", "n=1", "--save", "--no-pool")
    assert done.returncode == 1
    assert re.search(r"n=1 .*s ± .* failed", done.stdout), done.stdout
    assert "NameError: name 'missing' is not defined" in done.stdout
    assert "missing has no value; give it one: --setup 'missing = …'" in done.stdout
    assert "results in .opbench/results.db" in done.stdout.replace(str(tmp_path) + "/", "")
    assert opbench_here("workers").stdout == "No workers are kept.\n"
