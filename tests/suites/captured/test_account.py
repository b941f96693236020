"""What replayed calls say of their step: pure arithmetic on results made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.capture.calls import Capture, OperatorCall
from opbench.capture.values import Opaque, TensorSpec
from opbench.case import Case
from opbench.result import Result, Sample
from opbench.suites.captured.account import fidelity, operators, replay_of
from opbench.suites.captured.findings.variants import choose
from opbench.suites.captured.report import replay_parts

X = TensorSpec("float32", (4,))


def call(
    index: int, operator: str, counts: dict, seconds: float = 0.0, **more: object
) -> OperatorCall:
    time = {next(iter(counts)): seconds} if seconds else {}
    return OperatorCall(index, operator, "default", (X,), counts=counts, seconds=time, **more)


CAPTURE = Capture(
    (
        call(0, "aten::mm", {"forward": 2, "backward": 4}, 0.6),
        call(1, "aten::relu", {"forward": 2}, 0.1),
        call(2, "aten::mul_", {"optimizer": 4}, 0.3),
    ),
    {"steps": 2, "threads": 2, "device": "cpu", "step_seconds": 10.0,
     "phase_seconds": {"forward": 3.0, "backward": 4.0, "optimizer": 3.0}},
    name="step",
)  # fmt: skip


def result(
    of: OperatorCall, seconds: float | None, labels: dict | None = None, **more: object
) -> tuple[Case, Result]:
    case = Case("step", of.name, "call", "", labels=tuple((labels or {}).items()), threads=2)
    if seconds is None:
        return case, Result(case.hash, "time", "s", **{"outcome": "failed", **more})
    wide = {"estimate": seconds, "low": seconds * 0.98, "high": seconds * 1.02}
    samples = tuple(Sample(seconds, start=block % 4, session=block % 4) for block in range(20))
    return case, Result(case.hash, "time", "s", samples=samples, **wide)


MM, RELU, MUL = CAPTURE.calls


def test_time_times_count_is_set_against_the_step_phase_by_phase():
    found = replay_of(CAPTURE, [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)])
    share = fidelity(found)
    # Two steps were captured: per step mm runs once forward and twice backward, and so on.
    assert {s.phase: s.replayed for s in share.shares} == {
        "forward": 1.0 + 0.5,
        "backward": 2.0,
        "optimizer": 2.5,
    }
    assert share.total.replayed == 6.0
    assert share.total.ratio == 0.6
    assert {s.phase: s.ratio for s in share.shares}["backward"] == 0.5
    assert share.missing == ()
    assert not share.while_captured


def test_what_could_not_be_replayed_is_named_with_its_share_of_the_calls():
    failed = result(MUL, None, reason="no kernel")
    share = fidelity(replay_of(CAPTURE, [result(MM, 1.0), result(RELU, 0.5), failed]))
    assert [(c.name, why) for c, why in share.missing] == [("mul_-002", "failed: no kernel")]
    assert share.missing_calls / share.calls == 4 / 12
    text = "\n".join(map(str, replay_parts(replay_of(CAPTURE, [result(MM, 1.0), failed]))))
    assert "mul_-002, 4 calls, 300 ms: failed: no kernel" in text


def test_a_part_of_the_calls_does_not_pass_for_the_step():
    found = replay_of(CAPTURE, [result(MM, 1.0)])
    assert fidelity(found).tried_share == pytest.approx(0.6)
    text = "\n".join(map(str, replay_parts(found)))
    assert "Only 1 of 3 unique calls was tried, 60 % of the captured time" in text
    assert "Unexplained" not in text


def test_other_threads_than_captured_are_reported():
    case, measured = result(MM, 1.0)
    found = replay_of(CAPTURE, [(replace(case, threads=1), measured)])
    text = "\n".join(map(str, replay_parts(found)))
    assert "Captured with 2 threads, replayed with 1" in text


def test_without_a_step_of_its_own_the_captured_one_is_named_as_such():
    header = {k: v for k, v in CAPTURE.header.items() if k != "step_seconds"}
    capture = replace(CAPTURE, header={**header, "captured_seconds": 12.0})
    share = fidelity(replay_of(capture, [result(MM, 1.0)]))
    assert share.while_captured
    assert share.total.measured == 12.0


def test_the_best_variant_of_each_operator_and_what_it_saves():
    variants = [
        result(MM, 1.0, {"runtime": "eager"}),
        result(MM, 0.25, {"runtime": "onnxruntime"}),
        result(RELU, 0.5, {"runtime": "eager"}),
        result(RELU, 0.495, {"runtime": "onnxruntime"}),  # within the noise: no gain
        result(MUL, 1.25, {"runtime": "eager"}),
        result(MUL, None, {"runtime": "onnxruntime"}, outcome="unsupported", reason="in place"),
    ]
    choice = choose(replay_of(CAPTURE, variants))
    rows = {row.operator: row for row in choice.rows}
    assert [row.operator for row in choice.rows] == ["aten::mm", "aten::mul_", "aten::relu"]
    assert rows["aten::mm"].variant == "onnxruntime"
    assert rows["aten::mm"].gain == 4.0
    assert rows["aten::mm"].share == 0.3
    assert rows["aten::relu"].variant == ""
    assert rows["aten::mul_"].refused == (("onnxruntime", "unsupported: in place"),)
    # 3 s of mm per step become 0.75 s; what the calls do not explain stays.
    assert choice.step == 10.0
    assert choice.best_step == pytest.approx(10.0 - 2.25)


def test_a_wrong_result_is_never_the_best():
    variants = [
        result(MM, 1.0, {"dtype": "captured"}),
        result(MM, None, {"dtype": "float16"}, outcome="mismatch", reason="off by 3"),
    ]
    found = replay_of(CAPTURE, variants)
    assert choose(found).rows[0].variant == ""
    assert any("not taken: aten::mm float16: mismatch: off by 3" in str(p)
               for p in replay_parts(found))  # fmt: skip


def test_the_table_of_operators_adds_up():
    rows = {row.operator: row for row in operators(CAPTURE)}
    assert list(rows) == ["aten::mm", "aten::mul_", "aten::relu"]  # by time
    assert rows["aten::mm"].count == 3
    assert rows["aten::mm"].seconds == 0.3
    assert rows["aten::mm"].phases == ("forward", "backward")


def test_a_call_that_a_file_cannot_hold_says_why():
    odd = replace(MM, args=(Opaque("Storage"),))
    assert "a Storage cannot be recorded" in odd.obstacle
