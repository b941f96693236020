"""How the sources of a case become one generator: nothing changed, everything in its order."""

from __future__ import annotations

import itertools
import linecache
import sys
import time
import traceback

import pytest

from opbench.worker import source


@pytest.fixture(autouse=True)
def _clean():
    yield
    sys.modules.pop("opbench_case", None)
    for name in [name for name in linecache.cache if name.startswith("<opbench")]:
        del linecache.cache[name]


def session(log=None, seed=0, **case):
    """A running session of the case; `log` is a name its sources see."""
    module, top, code = source.build({"name": "case", **case})
    module.__dict__["log"] = log
    exec(top, module.__dict__)
    exec(code, module.__dict__)
    loop = module.__dict__["_opbench_session"](seed, time.perf_counter_ns, itertools.repeat)
    next(loop)
    return loop


def test_setup_and_statement_share_their_variables_and_see_the_seed():
    log: list[int] = []
    loop = session(log, seed=7, setup="x = seed + 1", stmt="x += 1\nlog.append(x)")
    loop.send(("time", 3))
    loop.send(("time", 1))
    assert log == [9, 10, 11, 12]


def test_strings_over_several_lines_stay_as_they_are():
    log: list[str] = []
    setup = 'text = """first\n  second\n\tthird\n"""\nif True:\n    more = """a\nb"""'
    session(log, setup=setup, stmt="log.append((text, more))").send(("stmt", 1))
    assert log == [("first\n  second\n\tthird\n", "a\nb")]


def test_module_level_code_runs_before_setup_and_future_imports_are_allowed():
    log: list[str] = []
    session(
        log,
        globals="from __future__ import annotations\nlog.append('top')",
        setup="log.append('setup')",
        stmt="pass",
    )
    assert log == ["top", "setup"]


def test_a_function_of_the_setup_has_its_source_and_its_line_numbers():
    log: list = []
    setup = (
        "import inspect\ndef f(x):\n    # a comment\n    return x / 0\nfound = inspect.getsource(f)"
    )
    loop = session(log, globals="one = 1", setup=setup, stmt="log.append(found)\nf(one)")
    with pytest.raises(ZeroDivisionError) as caught:
        loop.send(("stmt", 1))
    assert log == ["def f(x):\n    # a comment\n    return x / 0\n"]
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.line for frame in frames][-2:] == ["f(one)", "return x / 0"]


def test_torchscript_takes_functions_defined_in_the_setup():
    torch = pytest.importorskip("torch", reason="TorchScript is torch's")
    log: list = []
    setup = "def f(x: torch.Tensor):\n    return x + 1\ng = torch.jit.script(f)"
    session(log, globals="import torch", setup=setup, stmt="log.append(g(torch.ones(2)))").send(
        ("stmt", 1)
    )
    assert torch.equal(log[0], torch.full((2,), 2.0))


@pytest.mark.parametrize("word", ["return", "return 1", "yield 1", "break", "continue", "await x"])
@pytest.mark.parametrize("section", ["setup", "stmt", "before"])
def test_code_that_would_take_over_the_loop_is_refused(word, section):
    with pytest.raises(source.SourceError, match="line 2"):
        source.build({"stmt": "pass", section: f"x = 1\n{word}"})


def test_a_syntax_error_names_the_section_the_line_and_the_text():
    with pytest.raises(source.SourceError) as caught:
        source.build({"stmt": "pass", "setup": "x = 1\ny = = 2"})
    assert str(caught.value).startswith("setup, line 2: ")
    assert "y = = 2" in str(caught.value)


def test_import_star_belongs_to_the_module_level():
    with pytest.raises(source.SourceError, match="move it to the module-level part"):
        source.build({"stmt": "pass", "setup": "from string import *"})
    log: list = []
    session(log, globals="from string import *", stmt="log.append(digits)").send(("stmt", 1))
    assert log == ["0123456789"]


def test_repeatable_waits_once_before_and_once_after_the_calls():
    log: list[str] = []
    loop = session(log, stmt="log.append('call')", sync="log.append('wait')")
    loop.send(("time", 2))
    assert log == ["wait", "call", "call", "wait"]


def test_each_prepares_and_waits_around_every_call():
    log: list[str] = []
    loop = session(
        log,
        way="each",
        before="log.append('before')",
        stmt="log.append('call')",
        sync="log.append('wait')",
    )
    loop.send(("time", 2))
    assert log == ["before", "wait", "call", "wait"] * 2


def test_prebuilt_prepares_the_whole_block_and_hands_each_call_its_own():
    log: list = []
    loop = session(
        log,
        way="prebuilt",
        setup="made = 0",
        before="made += 1\nx = made\nlog.append(('before', x))",
        stmt="log.append(('call', x))",
        sync="log.append('wait')",
    )
    loop.send(("time", 2))
    assert log == [("before", 1), ("before", 2), "wait", ("call", 1), ("call", 2), "wait"]


def test_prebuilt_leaves_names_of_inner_scopes_alone():
    log: list = []
    before = "x = [i for i in range(2)]\ndef f():\n    inner = 1\n    return inner\ny = f()"
    session(log, way="prebuilt", before=before, stmt="log.append((x, y))").send(("time", 1))
    assert log == [([0, 1], 1)]


def test_prebuilt_without_anything_built_is_refused():
    with pytest.raises(source.SourceError, match="assigns a name"):
        source.build({"stmt": "pass", "way": "prebuilt", "before": "print()"})


def test_difference_times_the_subtracted_statement_by_itself():
    log: list[str] = []
    loop = session(log, way="difference", stmt="log.append('all')", minus="log.append('part')")
    loop.send(("time", 2))
    loop.send(("minus", 2))
    assert log == ["all", "all", "part", "part"]


@pytest.mark.parametrize("way", ["repeatable", "each", "prebuilt", "difference"])
def test_the_empty_loop_runs_nothing_of_the_case(way):
    log: list[str] = []
    loop = session(
        log,
        way=way,
        before="x = log.append('before')",
        stmt="log.append('call')",
        minus="log.append('minus')",
        sync="log.append('wait')",
    )
    assert loop.send(("empty", 3)) >= 0
    assert log == []


def test_preparation_and_call_can_be_run_apart():
    log: list[str] = []
    loop = session(log, way="each", before="x = 1\nlog.append('before')", stmt="log.append('call')")
    loop.send(("before", 1))
    loop.send(("stmt", 1))
    loop.send(("calls", 2))
    assert log == ["before", "call"] + ["before", "call"] * 2


def test_names_in_capitals_are_the_users_own():
    log: list[int] = []
    session(log, setup="STMT = SETUP = 3\nSTMT", stmt="STMT\nlog.append(STMT)").send(("time", 1))
    assert log == [3]
