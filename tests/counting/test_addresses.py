"""Whose instructions they were: symbols of real libraries, and dumps that book them wrongly."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from opbench.counting import Function, allocations, read
from opbench.counting.symbols import Symbols, read_symbols, symbols

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
int elsewhere(int x) { return x * x * x + 5; } // more than 4 bytes on every architecture
int malloc_like(int x) { return x - 5; }
}
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory, compiler) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("libraries")
    made = {}
    for name, source in {"first": FIRST, "second": SECOND}.items():
        (folder / f"{name}.cpp").write_text(source)
        made[name] = str(folder / f"lib{name}.so")
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", made[name], f"{name}.cpp"]
        subprocess.run(command, cwd=folder, check=True)
    made["stripped"] = str(folder / "libstripped.so")
    shutil.copy(made["first"], made["stripped"])
    subprocess.run(["strip", made["stripped"]], check=True)
    return made


@dataclass(frozen=True)
class Code:
    """Two libraries, and where some of their functions begin."""

    first: str
    second: str
    caller: int
    hidden: int
    elsewhere: int


@pytest.fixture
def code(libraries) -> Code:
    first, second = libraries["first"], libraries["second"]
    return Code(
        first,
        second,
        address(first, "caller"),
        address(first, "_ZL6hiddeni"),
        address(second, "elsewhere"),
    )


CALLER = Function("caller", "libfirst.so")
HIDDEN = Function("hidden(int)", "libfirst.so")
ELSEWHERE = Function("elsewhere", "libsecond.so")


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


def dump(lines: str) -> str:
    return f"# callgrind format\nversion: 1\npositions: instr\nevents: Ir\n\n{lines}"


def test_code_that_is_booked_to_what_it_called_is_the_callers(code):
    text = dump(
        f"ob=(1) {code.first}\nfl=(1) ???\n"
        f"fn=(1) caller\n{code.caller:#x} 100\n+4 100\n"
        f"cfn=(2) hidden(int)\ncalls=90 {code.hidden:#x}\n* 300\n\n"
        f"fn=(2)\n{code.hidden:#x} 100\n{code.caller + 8:#x} 100\n+4 50\n"
    )
    profile = read(text.splitlines())
    assert profile.own == {CALLER: 350, HIDDEN: 100}
    # As often as the instruction was executed, not as often as a return was seen.
    assert profile.calls == {(CALLER, HIDDEN): 100}


def test_code_of_another_library_is_found_there(code):
    text = dump(
        f"ob=(1) {code.first}\nfl=(1) ???\nfn=(1) caller\n{code.caller:#x} 10\n+4 10\n"
        f"cob=(2) {code.second}\ncfi=(2) ???\ncfn=(2) elsewhere\n"
        f"calls=10 {code.elsewhere:#x}\n* 40\n\n"
        # The caller's code after the return, under the name of a function of another library.
        f"ob=(2)\nfl=(2)\nfn=(2)\n{code.elsewhere:#x} 10\n{code.caller + 12:#x} 10\n"
    )
    assert read(text.splitlines()).own == {CALLER: 30, ELSEWHERE: 10}


def test_a_change_of_file_before_a_call_is_for_the_call(code):
    text = dump(
        f"ob=(2) {code.second}\nfl=(2) ???\nfn=(2) elsewhere\n{code.elsewhere:#x} 10\n"
        f"fi=(1) ???\ncob=(1) {code.first}\ncfi=(1)\ncfn=(1) caller\n"
        f"calls=10 {code.caller:#x}\n{code.caller + 4:#x} 5\n"
        f"{code.elsewhere + 4:#x} 10\n"
    )
    assert read(text.splitlines()).own == {ELSEWHERE: 20}


def test_positions_are_relative_to_the_last_instruction_not_to_a_call(code):
    text = dump(
        f"ob=(1) {code.first}\nfl=(1) ???\nfn=(1) caller\n{code.caller:#x} 10\n"
        f"cfn=(2) hidden(int)\ncalls=10 {code.hidden:#x}\n+99 40\n+4 10\n"
    )
    assert read(text.splitlines()).own == {CALLER: 20}


def test_calls_through_stubs_lead_to_what_is_behind_them(code):
    stub = 0x4978000
    text = dump(
        f"ob=(1) {code.first}\nfl=(1) ???\nfn=(1) caller\n{code.caller:#x} 10\n"
        f"cob=(3) ???\ncfi=(3) ???\ncfn=(3) {stub:#018x} [PLT]\ncalls=10 {stub:#x}\n* 80\n\n"
        f"ob=(3)\nfl=(3)\nfn=(3)\n{stub:#x} 10\n+4 10\n+4 10\n+4 10\n"
        f"cob=(2) {code.second}\ncfi=(2) ???\ncfn=(2) elsewhere\n"
        f"calls=10 {code.elsewhere:#x}\n* 20\n\n"
        f"ob=(2)\nfl=(2)\nfn=(2)\n{code.elsewhere:#x} 10\n"
    )
    profile = read(text.splitlines())
    assert profile.calls == {(CALLER, ELSEWHERE): 10}
    stubs = Function("(calls into other libraries)")
    assert profile.own == {CALLER: 10, ELSEWHERE: 10, stubs: 40}


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


def test_symbols_of_all_that_a_process_has_mapped_are_read_in_advance():
    symbols.cache_clear()
    read_symbols([os.getpid(), 2**22 + 1])  # the second is no process
    read = symbols.cache_info().currsize
    assert read > 3  # the interpreter, the C library, extension modules
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "r-xp" in line and "libc.so" in line)
    assert symbols(library) is not None
    assert symbols.cache_info().currsize == read
