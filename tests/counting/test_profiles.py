"""Reading and writing Callgrind's files; names without marks of a build; what is noise."""

from __future__ import annotations

import pytest

from opbench.counting import Function, Profile, allocations, noise, read, write
from opbench.counting.names import standard_name, standard_object

DUMP = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 100

ob=(1) /usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-aarch64-linux-gnu.so
fl=(1) /build/one.c
fn=(1) outer
10 5
+2 7
cob=(2) /lib/libc.so.6
cfi=(2) malloc.c
cfn=(2) malloc
calls=3 1
* 60
* 1
cfn=(3) stale
calls=0 1
* 999
fi=(3) /build/inline.h
-1 2

ob=(2)
fn=(2)
1 40
+1 20
fn=(4) _int_malloc'2
1 25
"""


def test_a_dump_with_compressed_names_and_positions():
    profile = read(DUMP.splitlines())
    outer, malloc = Function("outer", "_ctypes.so"), Function("malloc", "libc.so")
    assert profile.own == {outer: 15, malloc: 60, Function("_int_malloc", "libc.so"): 25}
    assert profile.total == 100
    assert profile.calls == {(outer, malloc): 3}
    assert allocations(profile) == 3


def test_the_empty_loop_is_taken_off_function_by_function():
    f, g = Function("f"), Function("g")
    left = Profile({f: 10, g: 5}, {(f, g): 4}) - Profile({f: 10, g: 2}, {(f, g): 4})
    assert left == Profile({g: 3}, {})


def test_what_is_packed_comes_back():
    profile = Profile({Function("at::add(x, y)", "libtorch.so"): 12, Function("µ"): -3})
    assert Profile.unpack(profile.pack()) == profile


def test_what_is_written_can_be_read():
    profile = Profile({Function("a b", "x.so"): 12, Function("c"): 7})
    assert read(write(profile, "case").splitlines()) == profile


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("f'2", "f"),
        ("0x0000000000005b24", "???"),
        ("0x00000000005035b0'2", "???"),
        ("take_gil.constprop.0", "take_gil"),
        ("f(int) [clone .isra.0]", "f(int)"),
        ("pthread_mutex_lock@@GLIBC_2.17", "pthread_mutex_lock"),
        ("session_x.part.3.cold", "session_x"),
        ("opbench_0123456789abcdef0123", "opbench_statement"),
        ("operator()(int)", "operator()(int)"),
    ],
)
def test_names_carry_no_marks_of_a_build(name, standard):
    assert standard_name(name) == standard


@pytest.mark.parametrize(
    ("path", "standard"),
    [
        ("/home/me/.venv/lib/libtorch_cpu.so", "libtorch_cpu.so"),
        ("/x/libgomp-a34b3233.so.1.0.0", "libgomp.so"),
        ("/x/_C.cpython-312-x86_64-linux-gnu.so", "_C.so"),
        ("/cache/opbench-202a46e9262c1e0b.so", "statements.so"),
        ("/usr/lib/libpython3.11.so.1.0", "libpython3.11.so"),
    ],
)
def test_libraries_carry_no_folder_hash_or_version(path, standard):
    assert standard_object(path) == standard


@pytest.mark.parametrize(
    "name",
    [
        "malloc", "_int_malloc", "_int_free", "_int_memalign", "_PyObject_Free", "_mi_page_malloc",
        "unicodekeys_lookup_unicode", "_Py_dict_lookup", "find_empty_slot",
    ],
)  # fmt: skip
def test_allocators_and_hash_tables_are_noise(name):
    assert noise(Function(name, "libpython3.11.so"))


@pytest.mark.parametrize(
    "name", ["_PyEval_EvalFrameDefault", "at::native::add", "memcpy", "PyDict_GetItem"]
)
def test_what_people_want_to_know_is_not(name):
    assert not noise(Function(name, "libpython3.11.so"))


def test_nameless_functions_of_the_c_library_are_its_allocators():
    assert noise(Function("???", "libc.so"))
    assert not noise(Function("???", "libffi.so"))
