"""Reading and writing Callgrind's files; names without marks of a build; what is noise."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.counting import Damaged, Function, Profile, allocations, noise, read, write
from opbench.counting.cycles import cycles
from opbench.counting.names import standard_file, standard_name, standard_object


def pack(data: object) -> str:
    return base64.b85encode(zlib.compress(json.dumps(data).encode())).decode()


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
    assert profile.spent == {(outer, malloc): 60}
    assert profile.inclusive()[outer] == 15 + 60
    assert allocations(profile) == 3


def test_the_empty_loop_is_taken_off_function_by_function():
    f, g = Function("f"), Function("g")
    left = Profile({f: 10, g: 5}, {(f, g): 4}) - Profile({f: 10, g: 2}, {(f, g): 4})
    assert left == Profile({g: 3}, {})


def test_what_is_packed_comes_back():
    profile = Profile({Function("at::add(x, y)", "libtorch.so"): 12, Function("µ"): -3})
    assert Profile.unpack(profile.pack()) == profile


def test_calls_and_lines_are_packed_where_their_cost_is_known():
    f, g = Function("f", "x.so"), Function("g")
    profile = Profile({f: 5}, {(f, g): 2}, {(f, g): 40}, {("a.cpp", 3): 45})
    assert Profile.unpack(profile.pack()) == profile
    assert Profile.unpack(Profile({f: 5}, {(f, g): 2}).pack()) == Profile({f: 5})


@pytest.mark.parametrize(
    "packed",
    ["", "no base 85 \n", "c$@", pack({}), pack({"names": ["f"], "objects": [""], "own": ["x"]}),
     pack({"names": ["f"], "objects": [""], "own": [1], "callers": [7], "callees": [0]}),
     pack([1]), pack({"names": 3, "objects": [""], "own": [1]})],
)  # fmt: skip
def test_a_packed_profile_that_cannot_be_read(packed):
    with pytest.raises(Damaged):
        Profile.unpack(packed)


def test_what_is_written_can_be_read():
    a, c = Function("a b", "x.so"), Function("c")
    profile = Profile({a: 12, c: 7}, {(a, c): 3, (c, c): 2}, {(a, c): 7, (c, c): 5})
    assert read(write(profile, "case").splitlines()) == profile


def test_two_columns_of_positions_give_lines():
    dump = """\
positions: instr line
events: Ir

ob=(1) /usr/lib/nowhere.so
fl=(1) /home/me/project/src/scale.cpp
fn=(1) scale
0x100 7 2
+4 +1 3
+4 * 4
fi=(2) ???
+4 1 50
fe=(1)
+4 7 1
"""
    assert read(dump.splitlines()).lines == {("src/scale.cpp", 7): 3, ("src/scale.cpp", 8): 7}


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/tmp/x/42126ebae4243ad5f362/stmt", "stmt"),
        ("/tmp/x/globals", "global_setup"),
        ("/a/b/c/scale.cpp", "c/scale.cpp"),
        ("scale.cpp", "scale.cpp"),
    ],
)
def test_files_are_named_without_the_folders_of_one_machine(path, short):
    assert standard_file(path) == short


def test_what_a_function_calls_counts_with_it():
    f, g, h = Function("f"), Function("g"), Function("h")
    profile = Profile({f: 1, g: 20, h: 300}, {}, {(f, g): 320, (g, h): 300})
    assert profile.inclusive() == {f: 321, g: 320, h: 300}


def test_a_circle_counts_nothing_twice():
    # f calls g, g calls f again and then h: the arc g → f holds what f → g holds, and more.
    f, g, h, top = (Function(name) for name in ("f", "g", "h", "top"))
    spent = {(top, f): 111, (f, g): 110 + 60, (g, f): 60, (g, h): 100, (g, g): 55}
    found = Profile({f: 1, g: 10, h: 100}, {}, spent).inclusive()
    assert found == {f: 111, g: 111, h: 100, top: 111}


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_circles_are_what_reaches_each_other(arcs):
    reached = {(a, a) for a in range(8)} | arcs
    for between in range(8):
        reached |= {
            (a, b) for a in range(8) for b in range(8)
            if (a, between) in reached and (between, b) in reached
        }  # fmt: skip
    expected = {
        frozenset(b for b in range(8) if (a, b) in reached and (b, a) in reached) for a in range(8)
    }
    assert {frozenset(each) for each in cycles(arcs)} == {e for e in expected if len(e) > 1}


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
