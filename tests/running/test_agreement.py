"""When two outputs agree: a pure question of arrays, dtypes and tolerances."""

from __future__ import annotations

import numpy as np
import pytest

from opbench.running import agreement
from opbench.running.agreement import Output, disagreement


def output(values, dtype: str = "", shape=None) -> Output:
    array = np.asarray(values)
    return Output("y", dtype or array.dtype.name, tuple(shape or array.shape), array.reshape(-1))


RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal(1000).astype("float32")


def test_a_few_roundings_are_no_difference():
    assert disagreement(output(NORMAL * np.float32(1 + 1e-6)), output(NORMAL), "values") == ""


def test_what_is_equal_to_the_bit_is_not_computed_with(monkeypatch):
    odd = np.array([np.nan, np.inf, 1.0, -0.0], "float32")
    monkeypatch.setattr(agreement, "_plain", None)
    for values in (NORMAL, odd, odd > 0, np.array([1 + 2j])):
        assert disagreement(output(values), output(values.copy()), "values") == ""
    monkeypatch.undo()
    assert disagreement(output([1, 2, 3]), output([1.0, 2.0, 4.0]), "values") != ""


def test_an_epsilon_of_1e_3_for_1e_5_is_one():
    x = NORMAL.reshape(10, 100)
    normed = [(x - x.mean()) / np.sqrt(x.var() + epsilon) for epsilon in (1e-3, 1e-5)]
    why = disagreement(output(normed[0]), output(normed[1]), "values")
    assert "it has" in why
    assert "where the reference has" in why
    assert "of its elements differ" in why


def test_what_cancels_is_judged_beside_its_neighbours():
    """One element of a product may lose all its digits; the others show how large they are."""
    exact = NORMAL.astype("float64")
    exact[7] = 1e-9
    rounded = exact.copy()
    rounded[7] = -1e-7
    assert disagreement(output(rounded, "float32"), output(exact, "float32"), "values") == ""


@pytest.mark.parametrize(
    ("dtype", "error", "agrees"),
    [
        ("float64", 1e-10, True),
        ("float64", 1e-6, False),
        ("float32", 1e-6, True),
        ("float32", 1e-3, False),
        ("float16", 1e-3, True),
        ("float16", 1e-1, False),
        ("bfloat16", 1e-2, True),
        ("bfloat16", 0.5, False),
    ],
)
def test_each_dtype_has_its_tolerance(dtype, error, agrees):
    there = output(NORMAL.astype("float64"), dtype)
    here = output(NORMAL.astype("float64") * (1 + error), dtype)
    assert (disagreement(here, there, "values") == "") is agrees


def test_an_entry_may_ask_for_more_room_and_a_gpu_gets_it_for_its_products():
    there, here = output(NORMAL), output(NORMAL * np.float32(1 + 1e-3))
    assert disagreement(here, there, "values") != ""
    assert disagreement(here, there, "values", tolerance=20.0) == ""
    assert disagreement(here, there, "values", device="cuda:0") == ""


def test_whole_numbers_agree_exactly_or_not_at_all():
    there = np.arange(1000)
    here = there.copy()
    assert disagreement(output(here), output(there), "values") == ""
    here[3] += 1
    assert disagreement(output(here), output(there), "values") != ""
    # Equal values may be sorted in either order; but not one in ten of them.
    assert disagreement(output(here), output(there), "ties") == ""
    here[:100] += 1
    assert disagreement(output(here), output(there), "ties") != ""


def test_booleans_and_floats_that_stand_for_them_agree():
    truth = NORMAL > 0
    assert disagreement(output(truth.astype("float32")), output(truth), "values") == ""
    assert disagreement(output((~truth).astype("float32")), output(truth), "values") != ""


def test_what_is_no_number_must_be_none_in_the_same_places():
    there = NORMAL.copy()
    there[:2] = np.nan, np.inf
    assert disagreement(output(there), output(there.copy()), "values") == ""
    here = there.copy()
    here[0] = 1.0
    assert "where the reference has nan" in disagreement(output(here), output(there), "values")
    here = there.copy()
    here[1] = -np.inf
    assert disagreement(output(here), output(there), "values") != ""


def test_shapes_must_agree_but_for_axes_of_length_one():
    wrong = disagreement(output(NORMAL, shape=(10, 100)), output(NORMAL, shape=(100, 10)), "shape")
    assert wrong == "its shape is (10, 100) and not (100, 10)"
    assert disagreement(output([1.0], shape=(1,)), output([1.0], shape=()), "values") == ""


def test_random_draws_are_compared_by_what_they_were_drawn_from():
    many = 20_000
    there = output(RNG.standard_normal(many))
    assert disagreement(output(RNG.standard_normal(many)), there, "statistics") == ""
    assert "mean" in disagreement(output(RNG.standard_normal(many) + 1), there, "statistics")
    assert "deviation" in disagreement(output(2 * RNG.standard_normal(many)), there, "statistics")


def test_complex_numbers_are_compared_part_by_part():
    right = np.array([1 + 2j, 3 - 4j], "complex64")
    assert disagreement(output(right * (1 + 1e-6)), output(right), "values") == ""
    said = disagreement(output(right.conj()), output(right), "values")
    assert said.startswith("it has 4 where the reference has -4")


def test_bfloat16_is_read_from_its_bits(tmp_path):
    file = tmp_path / "raw"
    values = np.asarray([1.0, -2.5, 0.0], "float32")
    file.write_bytes((values.view("uint32") >> 16).astype("uint16").tobytes())
    header = {"name": "y", "dtype": "bfloat16", "shape": [3], "step": 1, "file": str(file)}
    assert Output.read(header).values.tolist() == [1.0, -2.5, 0.0]
