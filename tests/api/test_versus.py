"""`ob.versus`: functions against each other, from a script, a file and a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opbench.store import Store

SCRIPT = """\
import opbench as ob

def adding(values): return [v + 1 for v in values]
def mapping(values): return list(map(lambda v: v + 1, values))
def numbers(n): return (list(range(n)),)

run = ob.versus(adding, mapping, inputs=numbers, n=[10, 50], metrics=["time"], num_runs=2,
                num_repeats=2)
print(run)
run.chart().save("chart.svg")
run.page().save("page.html")
print(run.frame()["benchmark"].tolist(), len(run.compare().rows))
"""


def python(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(folder: Path) -> list[str]:
    with Store.open(folder / ".opbench" / "results.db", create=False) as store:
        return [stored.case.id for stored in store.results()]


IDS = [
    f"compared/{name}[group=versus,n={n}]/call" for n in (10, 50) for name in ("adding", "mapping")
]


def test_a_script_compares_and_shows_it_all(tmp_path):
    (tmp_path / "compared.py").write_text(SCRIPT)
    said = python(tmp_path, "compared.py")
    assert said.split()[:2] == ["adding", "mapping"]
    assert "\n n=10 " in said
    assert "\n n=50 " in said
    assert said.splitlines()[-1] == "['adding', 'mapping', 'adding', 'mapping'] 2"
    assert "<svg" in (tmp_path / "chart.svg").read_text()
    assert "</html>" in (tmp_path / "page.html").read_text()
    assert names(tmp_path) == IDS


def test_the_same_file_runs_from_the_command_line(tmp_path):
    (tmp_path / "compared.py").write_text(SCRIPT)
    said = python(tmp_path, "-m", "opbench", "run", "compared.py")
    assert said.split()[:2] == ["adding", "mapping"]
    assert not (tmp_path / "chart.svg").exists()
    assert names(tmp_path) == IDS


def test_the_example_of_the_documentation_is_short_and_quoted_as_it_is():
    docs = Path(__file__).parents[2] / "docs"
    lines = (docs / "examples" / "attention.py").read_text("utf-8").splitlines()
    written = [line for line in lines if line.strip()]
    assert len(written) <= 15
    page = (docs / "own-benchmarks.md").read_text("utf-8").splitlines()
    quoted = [line[4:] for line in page if line.startswith("    ")]
    parts = (quoted[start : start + len(written)] for start in range(len(quoted)))
    assert written in parts


NOTEBOOK = """\
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(text):
    done = shell.run_cell(text)
    done.raise_error()
    return done.result
cell("import opbench as ob, math")
cell("SCALE = 3\\ndef helper(x): return math.sqrt(x * SCALE)")
cell("quick = dict(num_runs=2, num_repeats=2, save=False)")
cell("@ob.bench(n=[4])\\ndef first(n): raise ValueError('an earlier cell')")
cell("@ob.bench(n=[4, 9])\\ndef first(n): return helper(n)")
run = cell("ob.run(**quick)")
print([(case.id, result.outcome) for case, result in run])
run = cell("ob.versus({'root': lambda x: helper(x), 'power': lambda x: x ** 0.5}, n=[5],"
           " inputs=lambda n: (n,), **quick)")
print([(case.id, result.outcome) for case, result in run])
"""


def test_a_function_wrapped_in_passing_is_refused_and_not_taken_for_the_one_inside(monkeypatch):
    import functools

    import opbench
    from opbench.define.bench import BenchError

    monkeypatch.setattr("opbench.api.run.execute", lambda *_, **__: pytest.fail("measured"))
    with pytest.raises(BenchError, match=r"^cached: a fresh process would import `names` of .*"):
        opbench.versus({"names": names, "cached": functools.lru_cache(names)}, folder=["x"])


UNDER_MAIN = """
import functools
import opbench as ob

def plain(n): return n

if __name__ == "__main__":
    wrapped = functools.lru_cache(plain)
    try:
        ob.versus({"plain": plain, "wrapped": wrapped}, n=[1])
    except TypeError as error:
        print(error)
"""


def test_what_only_the_run_file_binds_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "guarded.py").write_text(UNDER_MAIN)
    assert python(tmp_path, "guarded.py").startswith(
        'wrapped: `wrapped` is bound only under `if __name__ == "__main__":`, and a fresh process '
    )
    assert not (tmp_path / ".opbench").exists()


def test_functions_of_a_notebook_are_measured_by_their_source(tmp_path):
    pytest.importorskip("IPython")
    said = python(tmp_path, "-c", NOTEBOOK).splitlines()
    first, second = (line for line in said if line.startswith("[("))
    assert first == str([(f"notebook/first[n={n}]/call", "ok") for n in (4, 9)])
    assert second == str(
        [(f"notebook/{name}[group=versus,n=5]/call", "ok") for name in ("root", "power")]
    )


def test_a_list_that_was_meant_as_one_argument_is_explained(tmp_path):
    (tmp_path / "compared.py").write_text(SCRIPT.replace("(list(range(n)),)", "list(range(n))"))
    said = " ".join(subprocess.run(
        [sys.executable, "compared.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    ).stdout.split())  # fmt: skip
    assert "inputs returned a list, whose 10 elements are the arguments" in said
    assert "return a tuple of it, (values,)" in said
