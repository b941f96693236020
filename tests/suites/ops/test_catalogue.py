"""The entries themselves: names, sizes, domains, work; no framework is imported."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.suites.ops.inprocess import case_of, check_all, computed

from opbench import frameworks
from opbench.define.expand import expand
from opbench.define.targets import resolve
from opbench.suites.ops.catalogue import CATEGORIES, catalogue, find, names_of
from opbench.suites.ops.entry import FRAMEWORKS, SIZES, DType
from opbench.suites.ops.groups import GROUPS
from opbench.suites.ops.programs import program, traffic, work
from opbench.suites.ops.scaling import fitted, halved

OPERATORS = list(catalogue().values())

#: The operators of MXNet's own benchmarks, aliases merged: what the catalogue set out to cover.
REFERENCE = (Path(__file__).parent / "reference.txt").read_text(encoding="utf-8").split()


def test_every_operator_of_the_reference_list_has_an_entry():
    assert len(REFERENCE) == 234
    assert [name for name in REFERENCE if find(name) is None] == []


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("layer_norm", "LayerNorm"),
        ("max_pool2d", "MaxPool2D"),
        ("scaled_dot_product_attention", "attention"),
        ("permute", "transpose"),
        ("gemm", "dot"),
    ],
)
def test_operators_go_by_the_names_that_torch_users_know(name, operator):
    assert find(name).name == operator
    cases = expand(resolve(["ops"]).definitions, axes={"op": [name]})
    assert {case.name for case in cases} == {operator}


def test_every_category_has_operators_and_every_operator_is_in_its_file():
    assert {operator.category for operator in OPERATORS} == set(CATEGORIES)


def test_no_two_operators_answer_to_one_name():
    names = Counter(
        name for operator in OPERATORS for name in {each.lower() for each in names_of(operator)}
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_groups_name_operators_that_exist():
    assert {name for members in GROUPS.values() for name in members} <= set(catalogue())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_input_of_an_operator_is_used(framework):
    """Or its shape would make another case of the same work. Optimizers of torch keep their state
    themselves."""

    def check(operator):
        emitted = program(operator, frameworks.get(framework), operator.values(), "cpu")
        names = set(re.findall(r"\w+", f"{emitted.setup}\n{emitted.before}\n{emitted.forward}"))
        if not emitted.unsupported:
            assert {each.name for each in operator.inputs if each.shape is None} <= names

    check_all([each for each in OPERATORS if each.category != "optimizer"], check)


def test_a_row_of_aten_times_one_call_and_nothing_else():
    """No slice, product or view in the statement, and what it differentiates comes from no other
    operator of the set-up."""

    def check(operator):
        emitted = program(operator, frameworks.get("torch"), operator.values(), "cpu")
        nodes = list(ast.walk(ast.parse(emitted.forward)))
        assert sum(isinstance(node, ast.Call) for node in nodes) == 1
        assert not any(isinstance(node, (ast.BinOp, ast.Subscript)) for node in nodes)
        if operator.differentiable:
            used = set(re.findall(r"\w+", emitted.setup.replace("data.shape", "")))
            assert not used & {each.name for each in operator.inputs}

    check_all([each for each in OPERATORS if each.category == "aten"], check)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_spelling_is_python_at_every_size(framework):
    def check(operator):
        for size in ("typical", *operator.sizes):
            made = program(operator, frameworks.get(framework), operator.values(size), "cpu")
            if made.unsupported:
                continue
            ast.parse(f"{made.globals}\n{made.setup}\n{made.before}\n{made.forward}")
            assert "{" not in made.forward.replace("{dtype", ""), made.forward

    check_all(OPERATORS, check)


def test_work_grows_with_the_size():
    def check(operator):
        amounts = [
            work(operator, operator.values(size))
            for size in ("small", "typical", "large")
            if size == "typical" or size in operator.sizes
        ]
        if None in amounts:
            assert operator.flops is None
            return
        assert [each.flops for each in amounts] == sorted(each.flops for each in amounts)
        assert [each.bytes for each in amounts] == sorted(each.bytes for each in amounts)

    check_all(OPERATORS, check)


def test_work_of_a_product_and_of_a_sum():
    # 2·m·k·n operations; three matrices of four-byte numbers.
    amount = work(catalogue()["dot"], catalogue()["dot"].values())
    assert amount.flops == 2 * 1024 * 1024 * 1000
    assert amount.bytes == 4 * (1024 * 1024 + 1024 * 1000 + 1024 * 1000)
    added = work(catalogue()["add"], catalogue()["add"].values(dtype="float16"))
    assert (added.flops, added.bytes) == (1024 * 1024, 3 * 2 * 1024 * 1024)


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        # Of a table no more is read than is taken from it; an index beside each element or row.
        ("gather_nd", 1024 * (4 + 4 + 2 * 8)),
        ("pick", 1024 * (4 + 4 + 8)),
        ("diag", 1024 * (4 + 4)),
        ("Embedding", 32 * 128 * (128 * (4 + 4) + 8)),
        ("setitem", 512 * 512 * (4 + 4)),
        # Four weights and momenta read and written, four gradients read.
        ("multi_sgd_mom", 4 * 1024 * 1024 * 4 * 5),
        # The same in half precision, with a copy in float32.
        ("multi_mp_sgd_mom", 4 * 1024 * 1024 * (2 * 3 + 4 * 4)),
    ],
)
def test_bytes_are_those_that_move(name, moved):
    entry = catalogue()[name]
    assert traffic(entry, entry.values()) == moved


def test_the_work_of_a_case_is_that_of_its_forward_pass():
    assert case_of("add", "torch").work is not None
    for stage in ("backward", "forward_backward"):
        assert case_of("add", "torch", stage).work is None


def test_sizes_are_halved_until_memory_holds_them(monkeypatch):
    from opbench.suites.ops import scaling

    add = catalogue()["add"]
    monkeypatch.setattr(scaling, "free_memory", lambda: 64 * 2**20)
    # Three matrices of 4 MiB, four copies of each: 48 MiB, where 16 may be held.
    values, text = fitted(add, add.values(), device="cpu", threads=1, backward=True)
    assert (values.lhs, values.rhs, text) == ((256, 1024), (256, 1024), "1/4 (memory)")
    dot = catalogue()["dot"]
    assert halved(dot, dot.values()).lhs == (512, 1024)
    assert halved(dot, dot.values()).rhs == (1024, 1000)


def test_sizes_are_halved_until_a_call_fits_the_time(monkeypatch):
    from opbench.suites.ops import scaling

    monkeypatch.setattr(scaling, "free_memory", lambda: 2.0**40)
    dot = catalogue()["dot"]
    _, text = fitted(dot, dot.values("large"), device="cpu", threads=1, backward=True)
    assert text.endswith("(time)")


def test_a_typical_size_is_what_the_brief_says():
    assert catalogue()["add"].params["lhs"] == (1024, 1024)
    assert catalogue()["dot"].params["rhs"] == (1024, 1000)
    assert catalogue()["Conv2D"].params["data"] == (32, 3, 256, 256)
    assert catalogue()["add"].sizes["skewed"]["lhs"] == (10000, 10)
    assert catalogue()["exp"].sizes["skewed"]["data"] == (10000, 1)
    assert SIZES == ("small", "typical", "large", "skewed")


def another(value):
    """A valid-looking value that differs."""
    if isinstance(value, DType):
        return DType("float64" if value == "float32" else "float32")
    if isinstance(value, bool):
        return not value
    if value is None:
        return "sigmoid"
    if isinstance(value, tuple):
        return tuple(map(another, value))
    return f"{value}x" if isinstance(value, str) else value + type(value)(1)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_another_value_of_a_parameter_is_another_program(framework):
    def emitted(operator, **given):
        values = operator.values(given=given)
        return replace(program(operator, frameworks.get(framework), values, "cpu"), work=None)

    def check(operator):
        typical = emitted(operator)
        for name, value in operator.params.items():
            # An axis has others below it, not always one above.
            changed = value - 1 if name in ("axis", "dim2") and value > 0 else another(value)
            assert typical.unsupported or emitted(operator, **{name: changed}) != typical, name

    check_all(OPERATORS, check)


POOLED = [("MaxPool2D", "max"), ("AvgPool2D", "mean"), ("SumPool", "sum")]


@pytest.mark.parametrize(("name", "reduction"), POOLED)
def test_pooling_takes_its_windows_and_strides(name, reduction):
    """Windows of 3 by 3, two apart, against the same windows of NumPy."""
    pytest.importorskip("jax")
    import numpy as np

    data = np.random.default_rng(0).standard_normal((2, 3, 9, 9)).astype("float32")
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3), axis=(2, 3))
    expected = getattr(windows[:, :, ::2, ::2], reduction)(axis=(-2, -1))
    for framework in ("jax", "torch"):
        given = {"data": data.shape, "pool_size": (3, 3), "strides": (2, 2)}
        (found,) = computed(name, framework, **given)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("framework", ["jax", "numpy", "torch"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_the_largest_are_found_along_every_axis(framework, axis):
    pytest.importorskip(framework)
    import numpy as np

    given = {"data": (6, 5, 4), "k": 3, "axis": axis}
    data = np.random.default_rng(0).standard_normal((6, 5, 4)).astype("float32")
    expected = np.flip(np.sort(data, axis=axis), axis=axis).take(range(3), axis=axis)
    (found,) = computed("topk", framework, **given)
    np.testing.assert_allclose(found, expected)
    assert expected.shape == catalogue()["topk"].result_shape(
        catalogue()["topk"].values(given=given)
    )


def test_the_label_names_the_dtype_of_an_input_wherever_there_is_one():
    def check(operator):
        values = operator.values()
        made = {each.dtype_at(values) for each in operator.inputs}
        assert not made or values.dtype in made or operator.name in RESULTS

    check_all(OPERATORS, check)


#: The label names the dtype of the result, the inputs being positions; or that of the computation,
#: the inputs being quantized before it.
RESULTS = ("one_hot", "quantized_linear", "quantized_linear_dynamic", "quantized_conv2d")
