"""C++ statements: compiled together, cached, timed like any other case, each failing alone."""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from opbench.case import Case, CppBuild
from opbench.counting.statements import compiled
from opbench.envs.environments import current
from opbench.worker.cpp import build as cpp_build
from opbench.worker.cpp import toolchain
from opbench.worker.cpp.source import tier_of, unbalanced
from opbench.workers.session import SessionEnded

pytestmark = pytest.mark.usefixtures("compiler")


def cpp(stmt: str, setup: str = "", globals: str = "", **more) -> Case:
    return Case("t", "n", "call", stmt, setup, globals, language="cpp", **more)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPBENCH_CACHE", str(folder))
        yield folder


GOOD = cpp("x = x + 1;", "volatile int x = 3;")
#: Takes a hundred nanoseconds or more: what a loop alone takes, measured beside other programs,
#: may be a nanosecond off.
VECTOR = cpp(
    "v.assign(1000, 1); last = v.back();",
    "std::vector<int> v; volatile int last = 1;",
    "#include <vector>",
)
BAD = cpp("int a = 1;\nint y = nowhere + 1;", "volatile int x = 3;")
BAD_SETUP = cpp("x = 1;", "int x = 1;\nint x = 2;")
OPEN = cpp("if (true) { x = 1;", "int x = 1;")
CLOSED = cpp("x = 1; } }", "int x = 1;")
THROWS = cpp('throw std::runtime_error("out of cheese");')
THROWS_IN_SETUP = cpp("x = 1;", 'int x = 1; if (x) throw std::runtime_error("no setup");')
CRASHES = cpp("*(volatile int*)0 = 1;")
ALL = (GOOD, VECTOR, BAD, BAD_SETUP, OPEN, CLOSED, THROWS, THROWS_IN_SETUP, CRASHES)


@pytest.fixture(scope="module")
def built(cache):
    return compiled(ALL, current())


@pytest.fixture
def worker(built, start_worker):
    return start_worker(libraries=built.libraries)


def session_of(worker, case):
    session = worker.open()
    session.prepare(case, 0, 120.0)
    return session


def test_all_that_compile_become_one_library(built):
    libraries = set(built.libraries.values())
    assert len(built.libraries) == 5
    assert len(libraries) == 1


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (BAD, "cpp_stmt line 2: ‘nowhere’ was not declared in this scope (at `int y = nowhere"),
        (BAD_SETUP, "cpp_setup line 2: redeclaration of ‘int x’ (at `int x = 2;`)"),
        (OPEN, "cpp_stmt line 1: '{' is never closed (at `if (true) { x = 1;`)"),
        (CLOSED, "cpp_stmt line 1: '}' closes nothing"),
    ],
)
def test_what_does_not_compile_is_reported_at_the_users_line(built, case, says):
    ended = built.failures[case.hash]
    assert ended.outcome == "failed"
    plain = ended.reason.replace("'", "‘").replace("’", "‘")
    assert says.replace("'", "‘").replace("’", "‘") in plain


def test_what_was_compiled_is_not_compiled_again(built, monkeypatch):
    monkeypatch.setenv("CXX", "false")  # another compiler would be another cache
    assert compiled([GOOD], current()).failures
    monkeypatch.undo()
    again = compiled([GOOD, VECTOR], current())
    assert set(again.libraries.values()) == set(built.libraries.values())


def test_a_broken_global_setup_is_blamed_on_those_who_share_it(cache):
    cases = [cpp(f"x = {n};", "int x;", "#include <no_such_header>") for n in (1, 2)]
    found = compiled([*cases, GOOD], current())
    assert len(found.failures) == 2
    assert "global_setup line 1" in found.failures[cases[0].hash].reason
    assert found.libraries


def test_without_a_compiler_there_is_one_line_of_advice(cache, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(shutil.which("true") or "").parent / "nothing"))
    monkeypatch.delenv("CXX", raising=False)
    assert cpp_build.build([GOOD.to_dict()], 1) == {
        cpp_build_key(GOOD): {"outcome": "unsupported", "reason": toolchain.NO_COMPILER}
    }


def cpp_build_key(case: Case) -> str:
    from opbench.worker.cpp.source import key_of

    return key_of(case.to_dict())


def test_a_compiled_statement_is_warmed_up_and_timed(worker):
    session = session_of(worker, VECTOR)
    warm = session.warm_up(0.05, 0.002, 120.0)
    assert warm["n"] > 1000
    answer = session.block("time", warm["n"], 120.0)
    assert 0 < answer["value"] < 1e-5
    session.prepare(VECTOR, 1, 120.0)  # the next run of a fixed design
    assert session.block("time", 10, 120.0)["n"] == 10


@pytest.mark.parametrize(
    ("case", "outcome", "reason"),
    [
        (THROWS, "failed", "StatementError: out of cheese"),
        (THROWS_IN_SETUP, "failed", "StatementError: no setup"),
        (CRASHES, "crashed", "SIGSEGV"),
    ],
)
def test_what_it_does_wrong_is_its_own_outcome(worker, case, outcome, reason):
    with pytest.raises(SessionEnded) as caught:
        session_of(worker, case).block("time", 1, 120.0)
    assert (caught.value.outcome, caught.value.reason) == (outcome, reason)
    assert session_of(worker, GOOD).block("time", 1, 120.0)["n"] == 1


def test_a_case_prints_as_a_script_that_compiles_it(tmp_path):
    import sys

    from opbench.report.script import script

    path = tmp_path / "script.py"
    path.write_text(script(VECTOR))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "median_seconds" in done.stdout


def test_headers_are_as_few_as_the_text_needs():
    assert tier_of({"stmt": "x = 1;"}) == "none"
    assert tier_of({"stmt": "auto y = torch::ones({1});"}) == "tensor"
    assert tier_of({"stmt": "at::add(x, x);"}) == "tensor"
    assert tier_of({"setup": "auto m = torch::nn::Linear(1, 1);", "stmt": ""}) == "all"


@pytest.mark.parametrize(
    "source", ['f("(");', "f('{');", "// ((\nf();", "/* ( */ f();", 'R"x(()x";', "f([](){});"]
)
def test_brackets_in_strings_and_comments_do_not_count(source):
    assert unbalanced(source) is None


def test_an_edited_header_is_compiled_again(cache, tmp_path, start_worker):
    """The text of the statement is the same; a header that it includes is not."""
    header, own = tmp_path / "my stores.h", tmp_path / "nested.h"
    header.write_text(f'#pragma once\n#include "{own}"\n')
    case = cpp("store(); x = value;", "volatile long x = 0;", f'#include "{header}"')

    def value(number: int) -> float:
        own.write_text(f"constexpr long value = {number};\ninline void store() {{}}\n")
        found = compiled([case], current())
        assert not found.failures, found.failures
        return found.libraries[cpp_build_key(case)]

    first = value(1)
    assert value(1) == first
    second = value(2)
    assert second != first
    assert value(1) == first  # switching back finds what was compiled before


def test_a_header_that_comes_to_lie_in_front_is_compiled(cache, tmp_path):
    """Nothing that the compiler read has changed, but it would read another file now."""
    for folder, value in (("first", 2), ("second", 1)):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep" / "value.h").write_text(f"constexpr int value = {value};\n")
    case = cpp(
        "x = value;", "volatile int x = 0;", '#include "deep/value.h"',
        cpp_build=CppBuild(str(tmp_path), ("first", "second")),
    )  # fmt: skip
    hidden = tmp_path / "first" / "deep" / "value.h"
    text = hidden.read_text()
    hidden.unlink()
    before = compiled([case], current()).libraries[cpp_build_key(case)]
    assert compiled([case], current()).libraries[cpp_build_key(case)] == before
    hidden.write_text(text)
    assert compiled([case], current()).libraries[cpp_build_key(case)] != before


def test_the_compilers_own_files_lie_where_they_are_removed(tmp_path, monkeypatch):
    """Killed, it leaves them; a stand-in says where it would write them."""
    stand_in = tmp_path / "g++"
    stand_in.write_text('#!/bin/sh\necho "$TMPDIR"\nexit 1\n')
    stand_in.chmod(0o755)
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    build = cpp_build.Build(str(stand_in), None, cpp_build.Index(str(tmp_path)), 1)
    ((_, said),) = build.compile([("none", {"k": {"stmt": "", "name": "n"}})], str(drafts))
    assert said.strip() == str(drafts)


def test_headers_flags_and_libraries_of_the_users_own(cache, tmp_path, start_worker):
    """A header beside the file, a folder of headers, a macro, an archive; relative, as written."""
    (tmp_path / "include").mkdir()
    (tmp_path / "beside.h").write_text("inline int beside() { return 1; }\n")
    (tmp_path / "include" / "far.h").write_text('extern "C" int far_away();\n')

    def archive(value: int) -> None:
        run = functools.partial(subprocess.run, check=True, cwd=tmp_path, text=True)
        text = f'extern "C" int far_away() {{ return {value}; }}\n'
        run(["g++", "-fPIC", "-c", "-x", "c++", "-", "-o", "far.o"], input=text)
        run(["ar", "rcs", "libfar.a", "far.o"])

    build = CppBuild(str(tmp_path), ("include",), ("-DMORE=100",), ("-L.", "-lfar"))
    case = cpp(
        "total = beside() + far_away() + MORE; if (total != 111) throw total;",
        "volatile int total = 0;",
        '#include "beside.h"\n#include <far.h>',
        cpp_build=build,
    )
    archive(10)
    found = compiled([case, GOOD], current())
    assert not found.failures, found.failures
    worker = start_worker(libraries=found.libraries)
    assert session_of(worker, case).block("time", 3, 120.0)["n"] == 3
    # The code of an archive is copied, so an edited one means another library.
    archive(11)
    again = compiled([case], current())
    assert again.libraries[cpp_build_key(case)] != found.libraries[cpp_build_key(case)]
    # So is that of an object file.
    bare = replace(case, cpp_build=replace(build, extra_ldflags=("far.o",)))
    object_ = compiled([bare], current()).libraries[cpp_build_key(bare)]
    archive(12)
    assert compiled([bare], current()).libraries[cpp_build_key(bare)] != object_
    wrong = replace(case, cpp_build=replace(build, extra_ldflags=("-lnowhere_at_all",)))
    failed = compiled([wrong, GOOD], current())
    assert "nowhere_at_all" in failed.failures[wrong.hash].reason
    assert GOOD.hash not in failed.failures
