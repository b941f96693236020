"""A library without symbols: said when it matters, with what to install."""

from __future__ import annotations

from opbench.counting import Function, Profile
from opbench.counting.instructions import allocator_unknown, nameless


def profile(**counts: int) -> Profile:
    return Profile({Function("PyList_New", "python3.11"): 900, **{
        Function("???", name.replace("_", ".")): count for name, count in counts.items()
    }})  # fmt: skip


def test_a_stripped_interpreter_is_told_with_its_package():
    said = nameless(profile(python3_11=100))
    assert said.startswith("10% of the instructions are in functions of python3.11 without names")
    assert "apt install python3.11-dbg" in said


def test_a_shared_interpreter_has_the_same_package():
    found = Profile({Function("???", "libpython3.12.so"): 10})
    assert "apt install python3.12-dbg" in nameless(found)


def test_little_of_it_is_not_worth_a_word():
    assert nameless(profile(python3_11=40)) == ""
    assert nameless(Profile()) == ""


def test_nameless_functions_of_the_c_library_are_its_allocator_and_told_apart_already():
    assert nameless(profile(libc_so=500)) == ""


def test_another_library_is_named_without_a_package():
    said = nameless(profile(libgomp_so=500))
    assert "libgomp.so" in said
    assert "apt" not in said


def test_allocations_are_incomplete_where_any_function_of_python_has_no_name():
    assert "python3.11 has functions without names" in allocator_unknown(profile(python3_11=1))
    assert allocator_unknown(profile(libgomp_so=500, libc_so=500)) == ""
