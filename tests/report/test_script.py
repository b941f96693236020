"""Standalone scripts: written to a file, run by a plain interpreter, in every way of measuring."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from opbench.case import Case, UserModule
from opbench.define.expand import expand
from opbench.define.suites import load
from opbench.report.script import indented, script


def run(case: Case, tmp_path) -> float:
    text = script(case).replace("0.3, 2.0", "0.01, 0.05")  # no need for a good number here
    path = tmp_path / "case.py"
    path.write_text(text)
    # -E and a foreign folder: nothing of ours can be imported by accident.
    done = subprocess.run(
        [sys.executable, "-E", str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert done.returncode == 0, done.stderr + text
    assert re.search(
        r"median \S+ (ns|µs|ms|s) per call, quartiles .*blocks of \d+ calls", done.stdout
    )
    found = re.search(r"median_seconds (\S+)", done.stdout)
    assert found is not None
    return float(found.group(1))


def pure(**fields) -> Case:
    return Case(**{"suite": "s", "name": "n", "stage": "call", "stmt": "pass", **fields})


def test_a_script_says_what_it_is():
    case = pure(labels=(("n", 64),), stmt="f()", globals="from math import sin as f")
    text = script(case)
    assert text.startswith(f"# s/n[n=64]/call\n# case {case.hash}: python (eager), cpu, threads 1")
    assert "import opbench" not in text
    compile(text, "script", "exec")


def test_repeatable_calls_see_the_set_up_and_the_empty_loop_costs_nothing(tmp_path):
    assert abs(run(pure(), tmp_path)) < 1e-6
    case = pure(
        setup="values = list(range(20_000))\nassert seed == 3", stmt="y = sum(values)", seed=3
    )
    assert run(case, tmp_path) > 1e-6


def test_each_call_has_its_own_untimed_preparation(tmp_path):
    case = pure(
        timing_mode="each",
        setup="import time",
        before="time.sleep(0.001)\nstack = [1]",
        stmt="stack.pop()",
    )
    assert run(case, tmp_path) < 1e-3


def test_a_prebuilt_batch_keeps_what_each_preparation_assigned(tmp_path):
    case = pure(timing_mode="prebuilt", before="a, b = [1], [2]", stmt="a.pop()\nb.pop()")
    assert run(case, tmp_path) < 1e-3


def test_what_a_preparation_assigns_inside_a_comprehension_or_function_is_not_kept(tmp_path):
    before = "a = [n for n in (1, 2)]\ndef more():\n    inner = 3\n    return inner"
    case = pure(timing_mode="prebuilt", before=before, stmt="a.pop()")
    assert run(case, tmp_path) < 1e-3


def test_a_difference_subtracts_the_second_statement(tmp_path):
    case = pure(timing_mode="difference", setup="v = [0] * 50_000", stmt="sum(v)", minus="sum(v)")
    alone = pure(setup="v = [0] * 50_000", stmt="sum(v)")
    # One of a few: another program may fall on one of the two statements.
    half = run(alone, tmp_path) / 2
    assert any(abs(run(case, tmp_path)) < half for _ in range(8))


def test_strings_over_several_lines_and_future_imports_stay_as_they_are(tmp_path):
    case = pure(
        globals='from __future__ import annotations\nTEXT = """a\n  b\n"""',
        setup='text = """a\n  b\n"""\nassert text == TEXT\nif text:\n    x = f"""{seed}\n"""',
        stmt="if x:\n    y = [\n        1,\n    ]\nelse:\n    y = None",
        sync="assert True",
    )
    run(case, tmp_path)


def test_names_of_the_benchmark_may_be_those_of_the_script(tmp_path):
    run(
        pure(globals="time = gc = statistics = 5", setup="n = block = 1", stmt="n + time"), tmp_path
    )


def test_a_users_module_is_found_and_needs_no_opbench(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine.py").write_text(
        "import opbench as ob\n"
        "@ob.bench\ndef f(): return 1\n"
        "@ob.bench(axes={'n': [1]})\ndef g(n): return n\n"
        "print(ob.run().table(), file=open('/dev/null', 'w'))\n"
    )
    user = UserModule("mine", str(project), "0")
    case = pure(globals="from mine import f, g", stmt="f() + g(n=1)", module=user)
    assert f"sys.path.insert(0, {str(project)!r})" in script(case)
    assert "needs the standard library, and your module mine: send that along.\n" in script(case)
    assert "needs the standard library only.\n" in script(pure(stmt="1"))
    run(case, tmp_path)


def test_a_framework_that_reads_its_threads_on_import_gets_them_first():
    text = script(pure(framework="numpy", globals="import numpy as np", threads=2))
    assert text.index('os.environ["OMP_NUM_THREADS"] = "2"') < text.index("import numpy")


def test_another_language_is_refused():
    with pytest.raises(ValueError, match=r"written in c\+\+"):
        script(pure(language="c++"))


def test_a_torch_case_of_the_tour_runs_by_itself(tmp_path):
    pytest.importorskip("torch")
    (case,) = expand(load("tour"), keep=["linear"], stages=["backward"])
    assert case.timing_mode == "each"
    assert 0 < run(case, tmp_path) < 10


def test_indenting_leaves_the_inside_of_strings():
    assert indented('a = """x\ny"""\nb', "  ") == '  a = """x\ny"""\n  b'
