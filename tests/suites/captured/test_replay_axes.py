"""Axes on top of a capture: dtype, layout, runtime; and parity before anything is timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.api.request import build
from opbench.api.run import run as measure
from opbench.capture.calls import Capture, OperatorCall
from opbench.capture.values import TensorSpec, TorchConstant
from opbench.capture.writing import write
from opbench.define.expand import expand
from opbench.suites.captured import onnx
from opbench.suites.captured.definition import definitions, time_factors
from opbench.suites.captured.onnx import NoCounterpart, spelled_in_onnx

HEADER = {"opbench": "capture", "version": 1, "steps": 1, "threads": 1, "device": "cpu"}


def image(*shape: int) -> TensorSpec:
    return TensorSpec("float32", shape, values=(-2.0, 2.0, 0.0, 1.0))


def captured(*calls: OperatorCall) -> Capture:
    return Capture(calls, HEADER, name="step")


def a_call(operator: str, *args: object, **kwargs: object) -> OperatorCall:
    return OperatorCall(0, operator, "default", args, kwargs, counts={"forward": 1})


CONV = a_call("aten::convolution", image(2, 3, 8, 8), image(4, 3, 3, 3), None, [1, 1], [1, 1],
              [1, 1], False, [0, 0], 1)  # fmt: skip
ADDMM = a_call("aten::addmm", image(5), image(4, 3), image(3, 5))
CAST = a_call("aten::_to_copy", image(2), dtype=TorchConstant("dtype", "float32"))


def cases(capture: Capture, **axes: list) -> list:
    return expand(definitions(capture), axes=axes)


def test_an_axis_left_as_captured_is_no_label():
    (case,) = cases(captured(CONV))
    assert case.id == "step/convolution-000/call"
    eager, compiled = cases(captured(CONV), runtime=["eager", "compile"])
    assert eager.axes == {"runtime": "eager"}
    assert (compiled.framework, compiled.runtime) == ("torch_compile", "compile")
    assert eager.parity.key == compiled.parity.key
    assert eager.parity.rank < compiled.parity.rank


def test_a_dtype_reaches_tensors_and_arguments_that_name_one():
    (case,) = cases(captured(CAST), dtype=["bfloat16"])
    assert "tensor((2,), torch.bfloat16" in case.setup
    assert "dtype=torch.bfloat16" in case.stmt
    assert case.dtype == "bfloat16"


def test_a_layout_moves_strides_and_nothing_else():
    plain, last = cases(captured(CONV), layout=["captured", "channels_last"])
    assert "strides=" not in plain.setup
    assert "strides=(192, 1, 24, 3)" in last.setup


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ADDMM, "y = Gemm(x1, x2, x0, alpha=1.0, beta=1.0)"),
        (CONV, "y = Conv(x0, x1, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], "
               "dilations=[1, 1], group=1)"),
        (a_call("aten::add", image(2), image(2)), "y = Add(x0, x1)"),
        (a_call("aten::mul", image(2), 0.5), "y = Mul(x0, 0.5)"),
        (a_call("aten::_softmax", image(2, 3), -1, False), "y = Softmax(x0, axis=-1)"),
        (a_call("aten::mean", image(2, 3), [1], True), "y = ReduceMean(x0, [1], keepdims=1)"),
        (a_call("aten::cat", [image(2), image(3)], 0), "y = Concat(x0, x1, axis=0)"),
    ],
)  # fmt: skip
def test_calls_that_onnx_can_say(call, text):
    assert spelled_in_onnx(call) == text


@pytest.mark.parametrize(
    "call",
    [
        a_call(
            "aten::native_batch_norm", image(2, 3, 4, 4), None, None, None, None, True, 0.1, 1e-5
        ),
        a_call("aten::add", image(2), image(2), alpha=2),
        OperatorCall(0, "aten::relu_", "default", (image(2),), writes=(0,)),
        a_call("aten::convolution_backward", image(2)),
    ],
    ids=lambda call: call.operator,
)
def test_calls_that_it_cannot_are_refused_with_a_reason(call):
    with pytest.raises(NoCounterpart):
        spelled_in_onnx(call)
    (case,) = cases(captured(call), runtime=["onnxruntime"])
    assert case.unsupported


def measured(path, calls, axes):
    write(captured(*calls), path)
    found = measure(path, axes=axes, num_runs=1, num_repeats=2, save=False)
    return {(c.name, *c.axes.values()): r for c, r in found}


def test_onnx_runtime_computes_the_same_before_it_is_timed(tmp_path, monkeypatch):
    for module in ("torch", "onnxruntime", "onnx"):
        pytest.importorskip(module)
    axes = {"runtime": ["eager", "onnxruntime"]}
    found = measured(tmp_path / "c.jsonl", [ADDMM], axes)
    assert {key: r.outcome_text for key, r in found.items()} == dict.fromkeys(found, "ok")
    # The same with a factor of two in it: faster or not, it is another computation.
    monkeypatch.setitem(onnx.SPELLINGS, "addmm", lambda a: "y = Gemm(x1, x2, x0, alpha=2.0)")
    wrong = measured(tmp_path / "d.jsonl", [ADDMM], axes)
    assert wrong["addmm-000", "eager"].ok
    assert wrong["addmm-000", "onnxruntime"].outcome == "mismatch"


@pytest.mark.slow
def test_a_compiled_call_computes_the_same(tmp_path):
    pytest.importorskip("torch")
    relu = OperatorCall(
        1, "aten::relu_", "default", (image(64),), writes=(0,), counts={"forward": 1}
    )
    axes = {"runtime": ["eager", "compile"]}
    found = measured(tmp_path / "c.jsonl", [ADDMM, relu], axes)
    assert {key: r.outcome_text for key, r in found.items()} == dict.fromkeys(found, "ok")


def test_targets_to_ignore_stay_apart_from_the_classes(tmp_path):
    """Drawn from a range that begins at -100, most targets would be no class at all."""
    torch = pytest.importorskip("torch")
    import opbench
    from opbench.capture.reading import read

    torch.manual_seed(0)
    labels = torch.randint(0, 50, (4096,))
    labels[::8] = -100
    with opbench.record(tmp_path / "loss.jsonl"):
        torch.nn.functional.cross_entropy(torch.randn(4096, 50), labels)
    (loss,) = [c for c in read(tmp_path / "loss.jsonl").calls if "nll_loss" in c.operator]
    kept = {"lo": 0, "hi": 49, "marked": [-100, 0.125]}
    assert kept.items() <= (loss.tensors[1].values or {}).items()
    fixed = {"num_runs": 1, "num_repeats": 2, "save": False}
    run = measure(tmp_path / "loss.jsonl", keep=["nll_loss"], **fixed)
    assert [result.outcome for _, result in run] == ["ok"]


def test_the_device_s_time_is_set_against_the_device_s_time():
    from opbench.case import Case
    from opbench.result import Result
    from opbench.suites.captured.account import fidelity, replay_of
    from opbench.suites.captured.report import busy

    mm = OperatorCall(0, "aten::mm", "default", (image(2, 2), image(2, 2)),
                      counts={"forward": 2}, device_seconds={"forward": 0.8})  # fmt: skip
    header = {**HEADER, "device": "cuda:0", "step_seconds": 2.0, "device_seconds": 1.0,
              "device_phases": {"forward": 0.8}, "phase_seconds": {"forward": 0.1}}  # fmt: skip
    case = Case("step", mm.name, "call", "", device="cuda")
    results = [
        (case, Result(case.hash, metric, "s", estimate=value, low=value, high=value))
        for metric, value in (("host_time", 5.0), ("device_time", 0.38))
    ]
    replay = replay_of(Capture((mm,), header, name="step"), results)
    found = fidelity(replay)
    assert (found.total.replayed, found.total.measured) == (0.76, 1.0)
    assert found.shares[0].ratio == pytest.approx(0.95)
    assert "busy for 1.00 s (50 %) and idle for 1.00 s; the host limits it" in busy(replay)


def test_what_no_operator_launched_is_a_line_with_its_share():
    from opbench.suites.captured.report import unrecorded

    mm = OperatorCall(0, "aten::mm", "default", (image(2, 2), image(2, 2)), counts={"forward": 2})
    header = {**HEADER, "device": "cuda:0", "device_seconds": 4e-3}
    some = Capture((mm,), {**header, "device_unrecorded_seconds": 1e-3}, name="step")
    (line,) = unrecorded(some)
    assert "1.00 ms or 25 % of what the GPU did" in line
    assert "opbench show step.jsonl" in line
    assert not unrecorded(Capture((mm,), header, name="step"))
    assert not unrecorded(Capture((mm,), {**header, "device_unrecorded_seconds": 1e-6}))


def test_page_locked_memory_is_page_locked_again_where_there_is_a_gpu(tmp_path):
    import json

    from opbench.capture.calls import Step
    from opbench.capture.reading import read
    from opbench.suites.captured.in_order import plan
    from opbench.suites.captured.operator_source import source_of

    host = replace(image(2, 3), pinned=True)
    to_gpu = {"device": TorchConstant("device", "cuda:0")}
    calls = (
        replace(a_call("aten::_to_copy", host, **to_gpu), counts={"data": 1}),
        OperatorCall(1, "aten::_to_copy", "default", (image(2, 3),), to_gpu, counts={"data": 1}),
    )
    order = (Step(0, (0,), (1,), "data"), Step(1, (2,), (3,), "data"))
    header = {**HEADER, "device": "cuda:0"}
    write(Capture(calls, header, order, name="step"), tmp_path / "step.jsonl")
    capture = read(tmp_path / "step.jsonl")
    assert [call.tensors[0].pinned for call in capture.calls] == [True, False]
    on_gpu = [" ".join(source_of(call, "cuda", "cuda:0").lines) for call in capture.calls]
    assert ["pin_memory=True" in text for text in on_gpu] == [True, False]
    assert "pin_memory" not in " ".join(source_of(capture.calls[0], "cpu", "cuda:0").lines)
    assert json.loads(plan(capture))["pinned"] == [0]
    assert "pinned" not in json.loads(plan(replace(capture, order=order[1:])))
    assert [
        "pin_memory()" in case.globals
        for case in cases(capture)
        if case.name == "in_order" and case.axes["phase"] == "data"
    ] == [True]


def test_the_costliest_calls_are_rated_against_the_peaks():
    from opbench.suites.captured.costliest import costliest
    from opbench.suites.peaks.limits import Peaks

    a, b = TensorSpec("float32", (1000, 500)), TensorSpec("float32", (500, 2000))
    mm = OperatorCall(0, "aten::mm", "default", (a, b), counts={"forward": 4},
                      outputs=(TensorSpec("float32", (1000, 2000)),),
                      device_seconds={"forward": 0.008})  # fmt: skip
    idle = OperatorCall(1, "aten::view", "default", (a,), counts={"forward": 2},
                        device_seconds={"forward": 0.0})  # fmt: skip
    capture = Capture((idle, mm), {**HEADER, "steps": 2, "device": "cuda:0"}, name="step")
    (row,) = costliest(capture, Peaks("cuda", 0, {"float32": 2e12}, bandwidth=1e12))
    assert (row.seconds, row.per_step) == (0.002, 0.004)
    assert row.flops == 2 * 1000 * 500 * 2000 / 0.002
    assert row.bytes == (500_000 + 1_000_000 + 2_000_000) * 4 / 0.002
    # Two billion operations take a millisecond at the peak, and the bytes much less.
    assert row.of_peak == pytest.approx(0.5)
    assert costliest(capture)[0].of_peak is None


def test_a_call_gets_time_by_its_share_of_the_step():
    mm = replace(ADDMM, seconds={"forward": 0.009})
    small = replace(CONV, index=1, seconds={"forward": 0.0009, "backward": 0.0001})
    tiny = replace(CAST, index=2, seconds={"forward": 1e-7})
    given = time_factors(list(definitions(captured(mm, small, tiny))))
    assert given["step", "addmm-000"] == pytest.approx(54, rel=0.01)
    assert given["step", "convolution-001"] == pytest.approx(6, rel=0.01)
    assert given["step", "_to_copy-002"] == 1
    assert time_factors(list(definitions(captured(ADDMM)))) == {}, "without times, all get the same"
    hostile = replace(CONV, index=1, seconds={"forward": -0.0089})
    given = time_factors(list(definitions(captured(mm, hostile))))
    assert set(given.values()) == {60.0, 1.0}


def test_a_limit_that_was_asked_for_is_one(tmp_path):
    path = tmp_path / "step.jsonl"
    mm = replace(ADDMM, seconds={"forward": 0.009})
    write(captured(mm, replace(CONV, index=1, seconds={"forward": 0.001})), path)
    for asked, factors in (({}, {54.0, 6.0}), ({"max_time_per_case": 1.0}, {1.0})):
        request, _ = build({"targets": [str(path)], **asked})
        assert {round(group.time_factor) for group in request.groups} == factors


def test_operators_that_torch_registers_late_are_found():
    """In a process that has not imported FSDP, as a worker has not."""
    import subprocess
    import sys

    split = a_call("fsdp::split_with_sizes_copy", image(6), [2, 4], out=[image(2), image(4)])
    late, usual = (cases(captured(each))[0] for each in (split, ADDMM))
    assert "fsdp" not in usual.globals
    source = "\n".join(("seed = 0", late.globals, late.setup, late.before, late.stmt))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_call_that_stayed_on_the_host_of_a_gpu_program_may_do_so():
    from opbench.suites.captured.operator_source import source_of

    on_host, on_gpu = image(2, 3), replace(image(2, 3), device="cuda:0")
    counted = a_call("aten::_local_scalar_dense", on_host)
    launched = a_call("aten::relu", on_gpu)
    copied = replace(a_call("aten::_to_copy", on_host), outputs=(on_gpu,))
    empty = replace(a_call("aten::empty"), outputs=(replace(on_gpu, shape=(0,)),))
    calls = (counted, launched, copied, empty)
    on = [source_of(call, "cuda", "cuda:0").on_host for call in calls]
    assert on == [True, False, False, True]
    # Replayed on another device than it was captured on, it follows.
    assert not source_of(counted, "cuda", "cpu").on_host
    assert not source_of(counted, "cpu", "cuda:0").on_host
