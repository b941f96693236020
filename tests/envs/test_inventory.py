"""What frameworks have and the catalogue lacks: asked of the frameworks themselves."""

from __future__ import annotations

import pytest

from opbench.envs.inventory import inventory
from opbench.errors import UserError
from opbench.suites.ops.called import covered
from opbench.suites.ops.command import print_uncovered


def names_of(operators):
    return {name for group in operators.values() for names in group for name in names}


def test_numpy_has_what_the_catalogue_calls_and_more():
    names = names_of(inventory("numpy"))
    calls = covered("numpy")
    assert {"exp", "add", "matmul", "sort"} <= names & calls
    assert names - calls, "nobody covers all of NumPy"
    assert not {"ndarray", "savez", "set_printoptions", "linalg"} & names


@pytest.mark.parametrize(
    ("framework", "module", "known"),
    [("torch", "torch", {"exp", "mm", "gelu"}), ("onnxruntime", "onnx", {"Exp", "MatMul", "Gelu"})],
)
def test_other_frameworks_answer_too(framework, module, known):
    pytest.importorskip(module)
    names = names_of(inventory(framework))
    assert known <= names
    assert not any(name.startswith("_") for name in names)


def test_second_names_belong_to_the_function_and_helpers_are_left_out():
    pytest.importorskip("torch")
    groups = [set(names) for group in inventory("torch").values() for names in group]
    for pair in ({"absolute", "abs"}, {"concat", "cat"}, {"greater", "gt"}, {"true_divide", "div"}):
        assert any(pair <= names for names in groups), pair
    helpers = {"Optional", "has_torch_function", "assert_int_or_pair", "handle_torch_function"}
    assert not helpers & set.union(*groups)
    assert not {"can_cast", "array_repr", "test"} & names_of(inventory("numpy"))


def test_names_of_lax_are_those_of_jax_numpy():
    pytest.importorskip("jax")
    found = inventory("jax")
    assert ["acos", "arccos"] in found["jax.numpy"]
    assert ["mul", "multiply"] in found["jax.lax"]


def test_the_list_says_how_many_and_which(capsys):
    assert print_uncovered("numpy") == 0
    said = capsys.readouterr().out
    assert said.startswith("numpy, numpy: ")
    assert "in the catalogue" in said
    missing = {name for line in said.splitlines()[1:] for name in line.replace(",", "").split()}
    assert "einsum" in missing
    assert not {"acos", "absolute", "concat"} & missing, "other names of what entries call"
    with pytest.raises(UserError, match="unknown framework 'numpyy'; did you mean numpy"):
        print_uncovered("numpyy")
