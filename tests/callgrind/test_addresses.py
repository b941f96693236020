"""Whose instructions they were: symbols of real libraries, and dumps that book them wrongly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opbench.callgrind import Function, allocations, read
from opbench.callgrind.symbols import Symbols, demangled, symbols

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")

FIRST = """
namespace shapes { __attribute__((noinline)) int area(int a, int b) { return a * b + 1; } }
static __attribute__((noinline)) int hidden(int x) { return x * 7; }
extern "C" {
extern int elsewhere(int);
int caller(int x) { return hidden(x) + shapes::area(x, x) + elsewhere(x); }
int other_name(int x) __attribute__((alias("caller")));
}
"""
SECOND = """
extern "C" {
int elsewhere(int x) { return x + 5; }
int malloc_like(int x) { return x - 5; }
}
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("libraries")
    made = {}
    for name, source in {"first": FIRST, "second": SECOND}.items():
        (folder / f"{name}.cpp").write_text(source)
        made[name] = str(folder / f"lib{name}.so")
        command = ["c++", "-O1", "-shared", "-fPIC", "-o", made[name], f"{name}.cpp"]
        subprocess.run(command, cwd=folder, check=True)
    made["stripped"] = str(folder / "libstripped.so")
    shutil.copy(made["first"], made["stripped"])
    subprocess.run(["strip", made["stripped"]], check=True)
    return made


def address(library: str, name: str) -> int:
    """By the tool that everyone uses for it."""
    listed = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    return next(
        int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {name}")
    )


def test_functions_are_found_by_any_of_their_addresses(libraries):
    known = Symbols(libraries["first"])
    for raw, name in [
        ("caller", "caller"),
        ("_ZL6hiddeni", "hidden(int)"),
        ("_ZN6shapes4areaEii", "shapes::area(int, int)"),
    ]:
        start = address(libraries["first"], raw)
        assert known.start(start) == known.start(start + 4) == start
        assert known.name(start) == name


def test_between_functions_there_is_none(libraries):
    known = Symbols(libraries["first"])
    assert known.start(0) == known.start(1 << 40) == -1
    assert known.name(-1) == "???"


def test_static_functions_of_a_stripped_file_have_no_name(libraries):
    known = Symbols(libraries["stripped"])
    assert known.name(address(libraries["first"], "caller")) == "caller"
    assert known.start(address(libraries["first"], "_ZL6hiddeni")) == -1


def test_files_without_symbols_have_none(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library")
    empty = tmp_path / "empty.so"
    empty.touch()
    assert symbols(str(text)) is symbols(str(empty)) is symbols(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("_ZN2at3addEii", "at::add(int, int)"),
        ("_ZN2at3addEii.isra.0", "at::add(int, int).isra.0"),
        ("PyDict_New", "PyDict_New"),
        ("_Zxyz", "_Zxyz"),
    ],
)
def test_names_as_they_are_written(name, written):
    assert demangled(name) == written


def dump(lines: str) -> str:
    return f"# callgrind format\nversion: 1\npositions: instr\nevents: Ir\n\n{lines}"


def test_code_that_is_booked_to_what_it_called_is_the_callers(libraries):
    first = libraries["first"]
    caller, hidden = address(first, "caller"), address(first, "_ZL6hiddeni")
    text = dump(
        f"ob=(1) {first}\nfl=(1) ???\n"
        f"fn=(1) caller\n{caller:#x} 100\n+4 100\n"
        f"cfn=(2) hidden(int)\ncalls=90 {hidden:#x}\n* 300\n\n"
        f"fn=(2)\n{hidden:#x} 100\n{caller + 8:#x} 100\n+4 50\n"
    )
    profile = read(text.splitlines())
    at_caller, at_hidden = (
        Function("caller", Path(first).name),
        Function("hidden(int)", "libfirst.so"),
    )
    assert profile.own == {at_caller: 350, at_hidden: 100}
    # As often as the instruction was executed, not as often as a return was seen.
    assert profile.calls == {(at_caller, at_hidden): 100}


def test_code_of_another_library_is_found_there(libraries):
    first, second = libraries["first"], libraries["second"]
    caller, elsewhere = address(first, "caller"), address(second, "elsewhere")
    text = dump(
        f"ob=(1) {first}\nfl=(1) ???\nfn=(1) caller\n{caller:#x} 10\n+4 10\n"
        f"cob=(2) {second}\ncfi=(2) ???\ncfn=(2) elsewhere\ncalls=10 {elsewhere:#x}\n* 40\n\n"
        # The caller's code after the return, under the name of a function of another library.
        f"ob=(2)\nfl=(2)\nfn=(2)\n{elsewhere:#x} 10\n{caller + 12:#x} 10\n"
    )
    profile = read(text.splitlines())
    assert profile.own == {
        Function("caller", "libfirst.so"): 30,
        Function("elsewhere", "libsecond.so"): 10,
    }


def test_a_change_of_file_before_a_call_is_for_the_call(libraries):
    first, second = libraries["first"], libraries["second"]
    caller, elsewhere = address(first, "caller"), address(second, "elsewhere")
    text = dump(
        f"ob=(2) {second}\nfl=(2) ???\nfn=(2) elsewhere\n{elsewhere:#x} 10\n"
        f"fi=(1) ???\ncob=(1) {first}\ncfi=(1)\ncfn=(1) caller\n"
        f"calls=10 {caller:#x}\n{caller + 4:#x} 5\n"
        f"{elsewhere + 4:#x} 10\n"
    )
    assert read(text.splitlines()).own == {Function("elsewhere", "libsecond.so"): 20}


def test_positions_are_relative_to_the_last_instruction_not_to_a_call(libraries):
    first = libraries["first"]
    caller, hidden = address(first, "caller"), address(first, "_ZL6hiddeni")
    text = dump(
        f"ob=(1) {first}\nfl=(1) ???\nfn=(1) caller\n{caller:#x} 10\n"
        f"cfn=(2) hidden(int)\ncalls=10 {hidden:#x}\n+99 40\n+4 10\n"
    )
    assert read(text.splitlines()).own == {Function("caller", "libfirst.so"): 20}


def test_calls_through_stubs_lead_to_what_is_behind_them(libraries):
    first, second = libraries["first"], libraries["second"]
    caller, elsewhere, stub = address(first, "caller"), address(second, "elsewhere"), 0x4978000
    text = dump(
        f"ob=(1) {first}\nfl=(1) ???\nfn=(1) caller\n{caller:#x} 10\n"
        f"cob=(3) ???\ncfi=(3) ???\ncfn=(3) {stub:#018x} [PLT]\ncalls=10 {stub:#x}\n* 80\n\n"
        f"ob=(3)\nfl=(3)\nfn=(3)\n{stub:#x} 10\n+4 10\n+4 10\n+4 10\n"
        f"cob=(2) {second}\ncfi=(2) ???\ncfn=(2) elsewhere\ncalls=10 {elsewhere:#x}\n* 20\n\n"
        f"ob=(2)\nfl=(2)\nfn=(2)\n{elsewhere:#x} 10\n"
    )
    profile = read(text.splitlines())
    at_caller, at_elsewhere = (
        Function("caller", "libfirst.so"),
        Function("elsewhere", "libsecond.so"),
    )
    assert profile.calls == {(at_caller, at_elsewhere): 10}
    stubs = Function("(calls into other libraries)")
    assert profile.own == {at_caller: 10, at_elsewhere: 10, stubs: 40}


def test_a_library_without_symbols_keeps_the_names_of_the_dump():
    text = dump(
        "ob=(1) /nowhere/libgone.so\nfl=(1) ???\nfn=(1) f\n0x10 3\n"
        "cfn=(2) malloc\ncalls=3 0x40\n* 9\n"
    )
    profile = read(text.splitlines())
    assert profile.own == {Function("f", "libgone.so"): 3}
    assert allocations(profile) == 3


def test_an_empty_dump_is_an_empty_profile():
    assert read(dump("").splitlines()).own == {}
