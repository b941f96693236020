"""C++ names as people write them."""

from __future__ import annotations

import pytest

from opbench.demangling import demangled, short


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


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("_ZN2at3addEii", "at::add"),
        ("_ZN7cutlass7Kernel2I3abcEEvNT_6ParamsE", "cutlass::Kernel2<abc>"),
        ("_ZN2at6native12_GLOBAL__N_13sumIfEEvPT_", "at::native::sum<float>"),
        ("_ZN1fclEi", "f::operator()"),
        ("silu_kernel", "silu_kernel"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("_ZN" + "4name" * 40 + "Ev", ("name::" * 40)[:99] + "…"),
        ("k" * 101, "k" * 99 + "…"),
    ],
)
def test_a_kernel_goes_by_its_name_alone(name, written):
    assert short(name) == written
