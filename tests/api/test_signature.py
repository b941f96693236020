"""What editors, type checkers and `help` see of `opbench.run` and `opbench.ab`."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import opbench
from opbench.api import keywords
from opbench.api.signature import keywords_source
from opbench.plan.options import options_of

SOURCE = Path(opbench.__file__).parent


@pytest.mark.parametrize("command", ["run", "ab"])
def test_the_signature_and_the_help_name_every_option(command):
    function = getattr(opbench, command)
    shown = inspect.signature(function).parameters
    offered = options_of(command)
    assert set(offered) < set(shown)
    for name, option in offered.items():
        optional = " | None" if option.default is None else ""
        assert shown[name].annotation == option.kind.keyword + optional
        assert f"    {name} " in function.__doc__
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in shown.values())


def test_the_help_is_about_keywords_where_a_flag_says_the_opposite():
    for function in (opbench.run, opbench.ab):
        (line,) = (line for line in function.__doc__.splitlines() if line.startswith("    save "))
        assert line.split(maxsplit=1)[1] == "False: store nothing."


def test_a_function_shows_the_defaults_of_its_own():
    assert inspect.signature(opbench.run).parameters["precision"].default == 0.02
    assert inspect.signature(opbench.ab).parameters["precision"].default == 0.005


def test_the_keywords_for_type_checkers_are_those_of_the_schema():
    text = Path(keywords.__file__).read_text(encoding="utf-8")
    assert text == keywords_source(), "write it anew: make reference"


def test_a_type_checker_accepts_what_is_right_and_refuses_what_is_not(tmp_path):
    """The files that hold the signatures only: checking all of opbench takes minutes."""
    pytest.importorskip("mypy")
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from opbench.api.ab import ab\n"
        "from opbench.api.run import run\n"
        'run("tour", precision="1%", budget=60, metrics=["time"], axes={"n": [1]}, cpus="0")\n'
        'ab("tour", environments=["a", "b"], device="cuda", on="ray", timeout="5s")\n'
        "run(precison=0.1)\n"
        'run(threads="two")\n'
        "ab(baseline='mode=plain')\n"
        "from opbench.define.bench import bench\n"
        "@bench\ndef plain() -> int: return 1\n"
        "@bench(n=[1, 2], stages='call', group='sums')\n"
        "def sized(n: int) -> int: return n + plain()\n"
        "@bench(n=[1], stages=3)\ndef wrong(n: int) -> int: return n\n"
        "@bench(input=len)\ndef misspelt() -> int: return 1\n"
        "sized('a')\n"
    )
    files = [SOURCE / "api" / name for name in ("run.py", "ab.py", "keywords.py", "signature.py")]
    files.append(SOURCE / "define" / "bench.py")
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--follow-imports=skip",
            "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), snippet, *files,
        ],
        cwd=SOURCE.parent, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if "snippet.py" in line]
    wrong = dict.fromkeys(line.split(":")[1] for line in found if ": error:" in line)
    assert list(wrong) == ["5", "6", "7", "13", "15", "17"], found
    assert 'Unexpected keyword argument "precison"' in found[0]
