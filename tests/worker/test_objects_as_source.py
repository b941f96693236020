"""Objects as source: each is made again by the text alone, in a namespace of its own."""

from __future__ import annotations

import enum
import functools
import math
import subprocess
import sys

import pytest

from opbench.worker.stub.written import Unsendable, Written, label

SCALE = 7


class Colour(enum.Enum):
    RED = "r"


def helper(x):
    return x * SCALE


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def again(value):
    """The value, made by its source."""
    written = Written()
    text = written.expression(value)
    names: dict = {}
    exec(written.text, names)
    return eval(text, names)


@pytest.mark.parametrize(
    "value",
    [
        1, "it's", b"x", None, True, 1.5, math.inf, (1,), (1, "a", [2.5]), {"a": (1, 2)}, {3}, ...,
        slice(1, None, 2), range(3), frozenset(), Colour.RED, math.sqrt, len, dict, int,
    ],
)  # fmt: skip
def test_a_value_is_made_again(value):
    assert again(value) == value


def test_partials_lambdas_and_closures_are_made_again():
    offset = 5
    assert again(functools.partial(helper, 2))() == 14
    assert again(lambda x: helper(x) + offset)(1) == 12
    first, second = [lambda x: x + 1, lambda x: x + 2]
    assert (again(first)(0), again(second)(0)) == (1, 2)


def test_functions_of_a_prompt_bring_what_they_use(monkeypatch):
    monkeypatch.setattr("opbench.worker.stub.written.found", lambda target: None)
    written = Written()
    name = written.function(even)
    names: dict = {}
    exec(written.text, names)
    assert names[name](10) is True
    assert names[name](7) is False


def test_what_cannot_be_made_again_is_named():
    stream = sys.stdout
    with pytest.raises(Unsendable, match="it uses `stream`, an object of type"):
        Written().expression(lambda: stream)
    with pytest.raises(Unsendable, match="an object of type object"):
        Written().expression(object())


def test_closures_of_one_source_over_different_values_are_not_taken_for_one():
    def adding(k):
        return lambda x: x + k

    assert [f(0) for f in again([adding(1), adding(1)])] == [1, 1]
    with pytest.raises(Unsendable, match="two different things called k"):
        again([adding(1), adding(2)])


def test_two_values_of_one_name_do_not_replace_each_other():
    import cmath

    assert [f(4) for f in again([math.sqrt, cmath.sqrt])] == [2.0, 2 + 0j]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (64, 64), ("a", "a"), ((1, 64), "1x64"), ((), "()"), (("a", 3), "a-3"),
        (((1, 2), 3), "1x2-3"),
        (Colour.RED, "RED"), (math.sqrt, "sqrt"), (dict, "dict"), (math.nan, None),
        (lambda: 1, None), (object(), None),
    ],
)  # fmt: skip
def test_labels_are_names(value, text):
    assert label(value) == text


TORCH = """
import torch, sys
sys.path.insert(0, {source!r})
from opbench.worker.stub.written import Written, label

def again(value):
    written = Written()
    text = written.expression(value)
    names = {{}}
    exec(written.text, names)
    return eval(text, names)

x = torch.randn(8, 6)
for value in (
    x, x.t(), x[:, ::2], x[:1].expand(8, 6), x.to(torch.bfloat16), x > 0, x.int(),
    x.to(torch.cfloat), torch.tensor(2.5), x.clone().requires_grad_(),
    torch.zeros(5, 9), torch.tensor([3, 1, 2]), torch.randint(5, 90, (40,)), torch.nn.Parameter(x),
    torch.rand(1, 3, 9, 9).to(memory_format=torch.channels_last),
):
    made = again(value)
    for attribute in ("shape", "dtype", "device", "requires_grad"):
        assert getattr(made, attribute) == getattr(value, attribute), (attribute, value)
    assert made.stride() == value.stride(), value.stride()
    assert type(made) is type(value)
ints = again(torch.randint(5, 90, (40,)))
assert 5 <= ints.min() and ints.max() < 90
assert again(torch.tensor([3, 1, 2])).tolist() == [3, 1, 2]
assert Written().expression(torch.randn(9, 9)) == Written().expression(torch.randn(9, 9))
for value, text in (
    (torch.float32, "float32"), (torch.device("cpu"), "cpu"),
    (torch.channels_last, "channels_last"), (torch.relu, "relu"),
    (torch.nn.functional.scaled_dot_product_attention,
                           "scaled_dot_product_attention"),
    (torch.nn.ReLU, "ReLU"),
):
    assert again(value) == value
    assert label(value) == text
try:
    Written().expression(torch.nn.Linear(2, 2))
except Exception as error:
    assert str(error) == "an object of type Linear"
import numpy
for value in (numpy.float32, numpy.dtype("int8"), numpy.matmul):
    assert again(value) == value
for value in (numpy.random.rand(9, 9), numpy.arange(40), numpy.ones((6, 6), order="F")):
    made = again(value)
    assert (made.shape, made.dtype, made.strides) == (value.shape, value.dtype, value.strides)
print("all made again")
"""


def test_tensors_dtypes_and_devices_are_made_again():
    pytest.importorskip("torch")
    import opbench

    source = str(next(iter(opbench.__path__)))[: -len("/opbench")]
    done = subprocess.run(
        [sys.executable, "-c", TORCH.format(source=source)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "all made again", done.stderr
