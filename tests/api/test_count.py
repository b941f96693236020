"""`ob.count` and `opbench count`: one statement, with a real Valgrind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import opbench as ob
from opbench.api.count import case_of
from opbench.errors import UserError
from opbench.workers.shared import NoSupervisor, Supervisor

pytestmark = pytest.mark.valgrind


@pytest.fixture(autouse=True, scope="module")
def pool(tmp_path_factory) -> Iterator[None]:
    """A pool of this file's own, ended with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        yield
        with contextlib.suppress(NoSupervisor):
            supervisor = Supervisor(begin=False)
            supervisor.retire()
            supervisor.close()


def kept() -> list[str]:
    """The starts that the pool keeps, by their ids."""
    supervisor = Supervisor(begin=False)
    try:
        return [start["id"] for start in supervisor.starts()]
    finally:
        supervisor.close()


def test_the_next_call_finds_its_worker_and_the_same_count():
    first = ob.count("f(3)", "def f(n):\n    return [n] * n")
    starts = kept()
    assert len(starts) == 1
    ob.count("sorted(x)", "x = [str(n) for n in range(50)]")
    again = ob.count("f(3)", "def f(n):\n    return [n] * n")
    assert kept() == starts
    exact = not first.results["instructions"].warnings
    assert again.per_call() == pytest.approx(first.per_call(), rel=0 if exact else 0.001)


@pytest.mark.slow
def test_without_the_pool_a_worker_starts_and_ends():
    ob.count("x = 1")
    starts = kept()
    ob.count("x = 1", pool=False)
    assert kept() == starts


def test_what_a_statement_executes():
    found = ob.count("sum(r)", "r = list(range(20_000))", number=10)
    # Some fifty instructions for each number.
    assert 20_000 * 10 < found.per_call() < 20_000 * 200
    assert found.per_call("instructions_raw") >= found.per_call()
    assert found.stats.number_per_run == 10
    assert found.stats.task_spec.stmt == "sum(r)"
    assert "instructions per call" in repr(found)


def test_names_as_globals_are_looked_up_in_a_dict():
    """As the script of torch's Timer does, which is what people compare with."""
    stmt, setup = "a + b + c + d", "a = b = c = d = 3.5"
    local = ob.count(stmt, setup)
    module = ob.count(stmt, setup, globals=True)
    looked_up = counted_in(module)
    # `_PyDict_...`, `_Py_dict_lookup` or `PyDict_GetItem...`, as the compiler inlines; a stripped
    # interpreter names none.
    assert any("dict" in name.lower() or name == "???" for name in named(looked_up))
    assert not any("dict" in name.lower() for name in named(counted_in(local)))
    # Four lookups, at some twenty to sixty instructions each; the rest is the same.
    assert 60 < module.per_call("instructions_raw") - local.per_call("instructions_raw") < 600
    assert module.stats.counts() / module.stats.number_per_run == pytest.approx(
        module.per_call("instructions_raw"), rel=0.01
    )
    assert module.stats.task_spec.stmt == stmt


def counted_in(counted) -> dict[str, int]:
    return {function: count for count, function in counted.stats.stats()}


def named(functions: dict[str, int]) -> set[str]:
    return {name.partition(" [")[0] for name in functions}


def test_from_the_command_line(opbench_here):
    here = Path.cwd()  # where the other tests have started a worker
    done = opbench_here("count", "len(x)", "--setup", "x = [1]", "--functions", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "instructions per call" in done.stdout
    assert "total per call" in done.stdout
    assert "counting instructions of 1 case" in done.stderr
    wrong = opbench_here("count", "nowhere + 1", cwd=here)
    assert wrong.returncode == 1  # as for every case that fails
    assert wrong.stderr.count("NameError: name 'nowhere' is not defined (at `nowhere + 1`)") == 1


def test_what_cannot_be_counted_here_ends_as_a_run_of_it_does(opbench_here, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    done = opbench_here("count", "len('')", "--no-pool")
    assert done.returncode == 3
    assert "unsupported: " in done.stderr


def test_cpp_with_headers_and_flags(opbench_here, tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "stores.h").write_text("constexpr int stores = TIMES * 100;\n")
    done = opbench_here(
        "count", "for (int i = 0; i < stores; i++) x = i;", "--setup", "volatile int x;",
        "--language", "cpp", "--global-setup", "#include <stores.h>", "-I", "include",
        "--extra-cflags", "-DTIMES=5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 1000 < float(done.stdout.split()[0].replace(",", "")) < 5000


def test_what_cannot_be_counted_is_refused_before_anything_starts():
    with pytest.raises(UserError, match="unknown language 'fortran'"):
        ob.count("x = 1", language="fortran")
    with pytest.raises(UserError, match="belongs to C"):
        ob.count("x = 1", global_setup="#include <vector>")
    with pytest.raises(UserError, match="give --language cpp too"):
        ob.count("x = 1", extra_include_paths=["include"])
    with pytest.raises(UserError, match="names of Python"):
        ob.count("x = 1;", language="cpp", globals=True)
    with pytest.raises(UserError, match=r"the statement '# nothing' does nothing"):
        ob.count("# nothing")
    with pytest.raises(UserError, match="the statement line 2: not valid Python: "):
        ob.count("x = 1\ny = (", globals=True)
    with pytest.raises(UserError, match=r"setup line 1: .*never closed"):
        ob.count("x", "x = (")
    for setup in ("from math import *", "from __future__ import annotations"):
        with pytest.raises(UserError, match=r"setup line 1: .*with --globals"):
            ob.count("x", setup)
        assert case_of("x", setup, "", "python", globals=True)
    with pytest.raises(UserError, match="unknown environment"):
        ob.count("x = 1", env="nowhere")


def test_source_may_be_indented():
    case = case_of("\n    x + 1\n    ", "\n    x = 1\n    ", "", "python")
    assert case.stmt.strip() == "x + 1"
    assert case.setup.splitlines()[-1] == "x = 1"


def test_torch_is_imported_where_it_is_mentioned():
    assert case_of("torch.add(x, x)", "x = torch.ones(1)", "", "python").framework == "torch"
    assert "import torch" in case_of("x + x", "x = torch.ones(1)", "", "python").globals
    assert case_of("x + x", "x = 1", "", "python").framework == "python"
    assert case_of("x + x;", "auto x = at::ones({1});", "", "cpp").preload == ("torch",)
    assert case_of("x + x", "import numpy as np\nx = np.ones(1)", "", "python").preload
