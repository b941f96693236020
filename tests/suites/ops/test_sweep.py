"""Every operator of the catalogue really runs: each spelling once, on small shapes, in this
process. What comes out is finite, and so is every gradient."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest
from tests.late import late
from tests.suites.ops.inprocess import check_all

from opbench.define.expand import expand
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import forms, operator_definition
from opbench.worker.session import Session

torch = late("torch")

OPERATORS = list(catalogue().values())
#: What they return is whatever was in memory.
UNWRITTEN = ("empty", "empty_like", "empty_strided")


def cases(operator, framework, stage, size="small", **axes):
    size = size if size in operator.sizes else "typical"
    given = {"framework": framework, "size": size, **axes}
    return expand(
        [operator_definition(operator)],
        axes={axis: [value] for axis, value in given.items()},
        stages=[stage],
    )


def outcome(case):
    """The variables of the case after one call."""
    session = Session()
    session.do_prepare({"case": case.to_dict(), "seed": 0})
    session.run("calls", 1)
    names = dict(session.loop.gi_frame.f_locals)
    session.loop.close()
    return SimpleNamespace(**{name: value for name, value in names.items() if name[0] != "_"})


def tensors(value):
    if isinstance(value, torch.Tensor):
        dense = value if value.layout == torch.strided else value.to_dense()
        return [dense.dequantize() if dense.is_quantized else dense]
    if isinstance(value, (tuple, list)):
        return [each for part in value for each in tensors(part)]
    return []


def by_category(operators):
    found = {}
    for operator in operators:
        found.setdefault(operator.category, []).append(operator)
    return pytest.mark.parametrize("operators", found.values(), ids=found)


@by_category(OPERATORS)
def test_torch_runs_it_and_all_values_are_finite(operators):
    def check(operator):
        made = cases(operator, "torch", "forward")
        assert len(made) == len(forms(operator)) if operator.parts else len(made) == 1
        for case in made:
            if case.unsupported:
                assert "torch" not in operator.spelling or "on cuda only" in case.unsupported
                continue
            found = [] if operator.name in UNWRITTEN else tensors(outcome(case).y)
            assert all(torch.isfinite(each).all() for each in found), case.stmt

    check_all(operators, check)


@pytest.mark.parametrize("dtype", ["int8", "complex64", "float8_e4m3fn"])
def test_torch_takes_every_dtype_that_an_entry_names(dtype):
    able = [each for each in OPERATORS if "torch" in each.spelling and dtype in each.dtypes]
    assert len(able) > 60

    def check(operator):
        for case in cases(operator, "torch", "forward", dtype=dtype):
            assert not case.unsupported or "on cuda only" in case.unsupported
            if not case.unsupported:
                outcome(case)

    check_all(able, check)


@by_category(each for each in OPERATORS if each.differentiable and "torch" in each.spelling)
def test_torch_goes_backward_and_all_gradients_are_finite(operators):
    def check(operator):
        for case in cases(operator, "torch", "forward_backward"):
            if case.unsupported:
                assert "has no gradient" in case.unsupported
                continue
            seen = vars(outcome(case))
            gradients = [
                seen[each.name].grad
                for each in operator.inputs
                if each.grad and each.name in seen and case.axes.get("form", "fused") == "fused"
            ]
            assert all(gradient is not None for gradient in gradients), case.stmt
            assert all(torch.isfinite(each).all() for each in gradients), case.stmt

    check_all(operators, check)


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="needs NumPy")
@by_category(each for each in OPERATORS if "numpy" in each.spelling)
def test_numpy_runs_it_and_all_values_are_finite(operators):
    import numpy

    def check(operator):
        (case,) = cases(operator, "numpy", "forward")
        value = outcome(case).y
        parts = value if isinstance(value, (tuple, list)) else [value]
        assert all(numpy.isfinite(part).all() for part in parts), case.stmt

    check_all(operators, check)
