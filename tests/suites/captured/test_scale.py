"""Calls at a size nobody ran: predicted from a base and one probe, held against a real capture."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.capture.calls import Capture, OperatorCall, Step
from opbench.capture.values import TensorSpec
from opbench.define.expand import expand
from opbench.suites.captured import scale
from opbench.suites.captured.definition import definitions


@pytest.mark.parametrize(
    ("value", "probed", "at_24"),
    [
        (64, 64, 64),  # no matter
        (8 * 64, 16 * 64, 24 * 64),  # batch × channels
        (8 * 8, 16 * 16, 24 * 24),  # attention: the square
        (9, 17, 25),  # batch + 1
        (15, 31, 47),  # 2 × batch − 1
        (0, 8, 16),  # something that is nothing at the base
    ],
)
def test_an_integer_follows_a_power_or_a_line(value, probed, at_24):
    assert scale.fit(value, probed, 8, 16, 24) == at_24


# A busy machine draws slowly, which says nothing about the function.
@given(
    factor=st.integers(1, 50), power=st.sampled_from([0, 1, 2]),
    base=st.integers(2, 9), probe=st.integers(10, 19), size=st.integers(20, 99),
)  # fmt: skip
def test_powers_are_found_whatever_the_sizes(factor, power, base, probe, size):
    value = scale.fit(factor * base**power, factor * probe**power, base, probe, size)
    assert value == Fraction(factor * size**power)


def example(batch: int, seq: int) -> Capture:
    """One call whose dimensions are products and sums of two axes."""
    x = TensorSpec("float32", (batch, seq, 8), (seq * 8, 8, 1))
    mask = TensorSpec("bool", (batch, 1, seq + 1), values={"true": 0.5})
    places = TensorSpec("int64", (1, seq), values={"from": 0, "by": 1})
    out = TensorSpec("float32", (batch * seq, 8))
    args = (x, mask, places, [batch * seq, 8], batch * (seq - 1))
    call = OperatorCall(0, "aten::view", "default", args, outputs=(out,), counts={"forward": 1})
    header = {"sizes": {"batch": batch, "seq": seq}, "steps": 1}
    return Capture((call,), header, (Step(0, (0, 1, 2), (3,), "forward"),), {}, "example")


def test_two_axes_multiply():
    whole = scale.combined(
        example(8, 128), {"batch": (17, example(17, 128)), "seq": (255, example(8, 255))}
    )
    predicted = scale.capture_at(whole, {"batch": 12, "seq": 100}).calls[0]
    wanted = example(12, 100).calls[0]
    assert predicted.args == tuple(replace(a, strides=None) if i == 0 else a
                                  for i, a in enumerate(wanted.args))  # fmt: skip
    assert predicted.outputs == wanted.outputs


@pytest.mark.parametrize(("probe", "refused"), [(64, "not a multiple of 32"), (61, "would be")])
def test_a_script_that_pads_is_refused_where_it_would_be_wrong(probe, refused):
    """It pads to multiples of 16: at 32 and 64 that cannot be seen, and 50 would be 64."""

    def capture(length: int) -> Capture:
        tokens = TensorSpec("float32", (4, -(-length // 16) * 16))
        call = OperatorCall(0, "aten::relu", "default", (tokens,), counts={"forward": 1})
        return Capture((call,), {"sizes": {"seq": length}}, (Step(0, (0,), (1,)),), {}, "c")

    whole = scale.combined(capture(32), {"seq": (probe, capture(probe))})
    with pytest.raises(scale.Unpredictable, match=refused):
        scale.capture_at(whole, {"seq": 50})


def test_equal_calls_that_scale_differently_are_told_apart():
    """Batch 8 and eight channels look the same until the batch changes."""

    def capture(batch: int) -> Capture:
        first = OperatorCall(0, "aten::t", "default", (TensorSpec("float32", (batch, 4)),))
        second = OperatorCall(1, "aten::t", "default", (TensorSpec("float32", (8, 4)),))
        calls = (first, second) if batch != 8 else (first,)
        calls = tuple(replace(call, counts={"forward": 2 // len(calls)}) for call in calls)
        order = (Step(0, (0,), (1,)), Step(len(calls) - 1, (2,), (3,)))
        return Capture(calls, {"sizes": {"batch": batch}}, order, {}, "c")

    whole = scale.combined(capture(8), {"batch": (16, capture(16))})
    assert len(whole.calls) == 2
    predicted = scale.capture_at(whole, {"batch": 32})
    assert [call.tensors[0].shape for call in predicted.calls] == [(32, 4), (8, 4)]


def test_random_indices_that_happen_to_halve_are_no_reason_to_refuse():
    """The smallest of random tokens was 14 at one batch and 7 at twice that: chance, not a law."""

    def capture(batch: int, lowest: int) -> Capture:
        tokens = TensorSpec("int64", (batch, 128), values={"lo": lowest, "hi": 7999})
        call = OperatorCall(0, "aten::embedding", "default", (tokens,), counts={"forward": 1})
        return Capture((call,), {"sizes": {"batch": batch}}, (Step(0, (0,), (1,)),), {}, "c")

    for lowest, probed in ((14, 7), (7, 14), (6, 9)):
        whole = scale.combined(capture(8, lowest), {"batch": (16, capture(16, probed))})
        (spec,) = scale.capture_at(whole, {"batch": 24}).calls[0].tensors
        assert spec.shape == (24, 128)
        assert spec.values["hi"] == 7999


def test_a_data_loader_that_takes_samples_one_by_one_is_left_out():
    def with_samples(batch: int) -> Capture:
        plain = example(batch, 128)
        sample = OperatorCall(1, "aten::select", "int", (0, 1), counts={"data": batch})
        order = (Step(1, (), (9,), "data"),) * batch + plain.order
        return replace(plain, calls=(*plain.calls, sample), order=order)

    whole = scale.combined(with_samples(8), {"batch": (16, with_samples(16))})
    assert [call.operator for call in whole.calls] == ["aten::view"]
    assert whole.skipped == {"calls of the data phase": (8, "their number depends on the size")}


def test_what_cannot_be_predicted_is_refused():
    short = example(8, 128)
    longer = replace(short, order=short.order * 2)
    with pytest.raises(scale.Unpredictable, match="the number of calls itself depends on seq"):
        scale.combined(short, {"seq": (256, longer)})
    other = replace(short, calls=(replace(short.calls[0], operator="aten::reshape"),))
    with pytest.raises(scale.Unpredictable, match="aten::view at the base and aten::reshape"):
        scale.combined(short, {"seq": (256, other)})


def test_an_axis_appears_and_is_verified_on_the_meta_device():
    whole = scale.combined(example(8, 128), {"batch": (16, example(16, 128))})
    definition = definitions(whole)[0]
    assert "batch" in definition.axes
    assert "seq" not in definition.axes
    plain, larger = expand([definition], axes={"batch": [8, 32]})
    assert "check_shapes" not in plain.setup
    assert "check_shapes(op" in larger.setup
    assert "(4096, 8)" in larger.setup  # 32 × 128, predicted


@pytest.mark.parametrize("model", ["cnn", "transformer"])
def test_every_call_of_a_real_step_is_predicted_exactly(tmp_path, model):
    pytest.importorskip("torch")
    from tests.capture.models import train

    from opbench.capture.reading import read

    def at(batch: int) -> Capture:
        train(model, str(tmp_path / f"{batch}.jsonl"), steps=2, batch=batch)
        return read(tmp_path / f"{batch}.jsonl")

    whole = scale.combined(at(4), {"batch": (6, at(6))})
    predicted, actual = scale.capture_at(whole, {"batch": 10}), at(10)
    assert len(predicted.order) == len(actual.order)
    for here, there in zip(predicted.order, actual.order):
        one, other = predicted.calls[here.call], actual.calls[there.call]
        assert one.qualified == other.qualified
        assert one.signature() == other.signature()
        assert [t.steps for t in one.tensors] == [t.steps for t in other.tensors]
        assert [o.shape for o in one.outputs] == [o.shape for o in other.outputs]
