"""The account in time, operators by module, and what a commit changed: arithmetic made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.suites.captured.test_account import CAPTURE, MM, MUL, RELU, call, result

from opbench.capture.calls import NOT_THE_MODEL, Capture, OperatorCall
from opbench.capture.values import TensorSpec
from opbench.capture.writing import write
from opbench.suites.captured.account import fidelity, replay_of
from opbench.suites.captured.findings.by_module import rows_of, table
from opbench.suites.captured.findings.differences import differences
from opbench.suites.captured.findings.ledger import ledger
from opbench.suites.captured.findings.notes import notes
from opbench.suites.captured.findings.work import work_of
from opbench.suites.captured.report import capture_parts, fidelity_table, replay_parts

TIMED = replace(
    CAPTURE,
    header={**CAPTURE.header, "between_seconds": {"forward": 0.5}, "waiting_seconds": 0.0},
)


def text_of(*found) -> str:
    return "\n".join(map(str, replay_parts(replay_of(TIMED, found))))


def test_the_account_adds_up_and_the_rest_is_unattributed():
    found = ledger(replay_of(TIMED, [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]))
    forward, backward, optimizer = found.entries
    # Per step mm runs once forward and twice backward, relu once, mul_ twice.
    assert {part: s for part, s in forward.parts.items() if s} == {"operators": 1.5, "Python": 0.5}
    assert forward.unattributed == pytest.approx(3.0 - 2.0)
    assert backward.unattributed == pytest.approx(2.0)
    assert optimizer.unattributed == pytest.approx(0.5)
    total = found.total
    assert sum(total.parts.values()) + total.unattributed == pytest.approx(10.0)


def test_time_in_which_the_program_did_not_run_is_waiting():
    """As measured in plain steps; a collective that was called meanwhile is not counted twice."""
    idle = replace(TIMED, header={**TIMED.header, "idle_seconds": {"backward": 1.5}})
    results = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    found = ledger(replay_of(idle, results))
    assert [entry.parts["waiting"] for entry in found.entries] == [0.0, 1.5, 0.0]
    old = replace(TIMED, header={**TIMED.header, "waiting_seconds": 0.25})
    assert (
        sum(e.parts["waiting"] for e in ledger(replay_of(old, results)).entries) == 0.0
    )  # no data


def test_a_phase_without_a_call_is_in_the_account():
    """A program that waits for its data loader calls nothing meanwhile: a third of a step was
    unattributed for it."""
    header = {
        **TIMED.header,
        "phase_seconds": {**TIMED.header["phase_seconds"], "data": 2.0},
        "idle_seconds": {"data": 1.5},
        "between_seconds": {"data": 0.25},
    }
    results = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    found = ledger(replay_of(replace(TIMED, header=header), results))
    data = found.entries[0]
    assert (data.phase, data.parts["waiting"], data.parts["Python"]) == ("data", 1.5, 0.25)
    assert data.unattributed == pytest.approx(0.25)
    assert found.total.parts["waiting"] == 1.5
    assert "data" not in found.hot_phases, "nothing of it failed"


def test_python_is_no_more_than_a_plain_step_leaves_for_it():
    """Recording a small step may take longer between its calls than the step itself."""
    slow = replace(TIMED, header={**TIMED.header, "between_seconds": {"forward": 40.0}})
    results = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    forward = ledger(replay_of(slow, results)).entries[0]
    assert forward.parts["Python"] == pytest.approx(3.0 - 1.5)
    # Where the replay takes longer than the step, that is shown, and nothing is Python.
    forward = ledger(replay_of(slow, [result(MM, 5.0), *results[1:]])).entries[0]
    assert forward.parts["Python"] == 0.0
    assert forward.unattributed == pytest.approx(3.0 - 5.5)


def test_what_failed_is_refused_with_its_time_and_never_called_python():
    failed = result(MUL, None, reason="no kernel")
    found = ledger(replay_of(TIMED, [result(MM, 1.0), result(RELU, 0.5), failed]))
    optimizer = found.entries[2]
    assert optimizer.parts["refused"] == pytest.approx(0.15)  # 0.3 s in two captured steps
    assert optimizer.parts["operators"] == 0.0
    assert optimizer.unattributed == pytest.approx(3.0 - 0.15)
    assert [(c.name, s, why) for c, s, why in found.refused] == [
        ("mul_-002", pytest.approx(0.15), "failed: no kernel")
    ]
    shown = text_of(result(MM, 1.0), result(RELU, 0.5), failed)
    assert "Not replayed: 33 % of the calls, 1.5 % of the step." in shown
    assert "framework between the calls" not in shown


def test_a_phase_that_failed_in_order_counts_its_calls_one_by_one():
    found = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    in_order = call(9, "aten::x", {"forward": 1})
    for phase, seconds in (("forward", None), ("backward", 1.8), ("optimizer", 2.4)):
        case, measured = result(in_order, seconds, {"phase": phase}, reason="boom")
        found.append((replace(case, name="in_order"), measured))
    account = ledger(replay_of(TIMED, found))
    assert account.hot_phases == ("forward",)
    assert [entry.parts["operators"] for entry in account.entries] == [1.5, 1.8, 2.4]
    assert "In order, forward failed: boom; its operators are the sum" in text_of(*found)
    assert "In order, backward" not in text_of(*found)
    assert "In order" not in text_of(*found[:3]), "nobody asked for it"


def test_what_the_replay_in_order_leaves_out_is_named_and_counts_by_its_own_time():
    found = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    in_order = call(9, "aten::x", {"forward": 1})
    for phase, seconds in (("forward", 0.9), ("backward", 1.8), ("optimizer", 2.4)):
        case, measured = result(in_order, seconds, {"phase": phase})
        if phase == "forward":
            left = {str(RELU.index): "RuntimeError: no", "77": "not of this capture"}
            measured = replace(measured, detail={"left_out": left})
        found.append((replace(case, name="in_order"), measured))
    account = ledger(replay_of(TIMED, found))
    assert [entry.parts["operators"] for entry in account.entries] == [0.9 + 0.5, 1.8, 2.4]
    shown = text_of(*found)
    assert "The replay in order cannot run 1 call:" in shown
    assert f"  {RELU.name}: RuntimeError: no" in shown


def test_collectives_and_compiled_regions_have_their_own_columns():
    from opbench.capture.compiled.graph import Graph

    region = replace(call(0, "compiled::f_0", {"forward": 2}, 0.4), graph=Graph((["output", []],)))
    reduce = call(1, "c10d::allreduce_", {"backward": 2}, 0.8)
    capture = replace(TIMED, calls=(region, reduce))
    refused = result(reduce, None, outcome="unsupported", reason="a collective")
    account = ledger(replay_of(capture, [result(region, 0.2), refused]))
    assert account.total.parts["compiled"] == pytest.approx(0.2)
    assert account.total.parts["operators"] == 0.0
    assert account.total.parts["collectives"] == pytest.approx(0.4)
    assert account.total.parts["refused"] == 0.0


def test_without_all_calls_there_is_no_account():
    assert ledger(replay_of(TIMED, [result(MM, 1.0)])) is None


def test_disturbed_blocks_and_a_choice_made_under_load_are_named():
    case, measured = result(MM, 1.0)
    noisy = tuple(replace(sample, contended=True) for sample in measured.samples)
    shown = text_of((case, replace(measured, samples=noisy)), result(RELU, 0.5), result(MUL, 1.2))
    assert "33 % of the blocks were disturbed" in shown
    slow = replace(MM, seconds={"forward": 60.0})
    capture = replace(TIMED, calls=(slow, RELU, MUL))
    parts = replay_parts(replay_of(capture, [result(slow, 1.0)]))
    assert any("the capture was made under load" in str(part) for part in parts)


def test_calls_that_are_short_take_longer_while_they_are_recorded():
    """Steps of small operators were called captures made under load, on a quiet machine."""
    short = replace(MM, seconds={"forward": 120e-6})
    capture = replace(TIMED, calls=(short, RELU, MUL))
    shown = "\n".join(map(str, replay_parts(replay_of(capture, [result(short, 2e-6)]))))
    assert "calls this short take longer while they are recorded" in shown
    assert "under load" not in shown
    header = {**TIMED.header, "phase_seconds": {"forward": 10e-6}}
    (line,) = notes(replace(TIMED, header=header, calls=(short,)))
    assert "calls this short take longer while they are recorded" in line


def test_columns_of_a_step_that_nobody_timed_are_left_out():
    timed = ("step_seconds", "phase_seconds", "captured_seconds")
    header = {key: value for key, value in TIMED.header.items() if key not in timed}
    found = replay_of(replace(TIMED, header=header), [result(MM, 1.0), result(RELU, 0.5)])
    columns = fidelity_table([fidelity(found)], found).columns
    assert [column.name for column in columns] == ["phase", "Σ hot"]
    assert "of step" not in [column.name for column in table(rows_of(found), found).columns]


def test_one_call_is_not_several():
    assert "Only 1 of 3 unique calls was tried" in text_of(result(MM, 1.0))
    assert "1 tried unique call was replayed." in text_of(result(MM, 1.0))
    every = [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.25)]
    assert "Only 2 of 3 unique calls were tried" in text_of(*every[:2])
    assert "All 2 tried unique calls were replayed." in text_of(*every[:2])
    assert "All 3 unique calls were replayed." in text_of(*every)


def test_what_a_reader_of_a_capture_has_to_know():
    assert notes(CAPTURE) == []
    slow = replace(TIMED, calls=(replace(MM, seconds={"forward": 60.0}), RELU))
    assert (
        "of the captured step, but a step that was not recorded 10.0 s: the capture was"
        in (notes(slow)[0])
    )
    assert notes(slow)[0].endswith("or several steps (--steps 2-4).")
    skipped = {"Tanh": (1, NOT_THE_MODEL), "flex": (2, "it calls Python")}
    left = replace(CAPTURE, skipped=skipped, header={**CAPTURE.header, "model": "Linear"})
    assert notes(left) == ["Not recorded: 1 call of Tanh; Linear has the most parameters."]
    shown = [str(part) for part in capture_parts(left)]
    assert shown[-2:] == ["not recorded: flex, 2 calls: it calls Python", *notes(left)]
    single = replace(CAPTURE, header={**CAPTURE.header, "only_step": True})
    assert "let it take a second one" in notes(single)[0]


#: A script without an optimizer, whose model is called.
CALLED = replace(
    CAPTURE,
    calls=(replace(MM, counts={"forward": 2}, seconds={"forward": 60.0}), RELU),
    header={**CAPTURE.header, "window": "calls 3-4", "phase_seconds": {"forward": 3.0}},
)


def test_calls_of_a_model_are_not_called_steps():
    """The advice was `--steps 2-4`, which finds nothing in a script without an optimizer."""
    assert "of the captured call, but a call that was not recorded 3.00 s" in notes(CALLED)[0]
    assert notes(CALLED)[0].endswith("or several calls (--calls 2-4).")
    assert "2 unique calls, 2 per model call; " in str(capture_parts(CALLED)[0])
    assert "; model call 10.0 s" in str(capture_parts(CALLED)[0])


def test_why_there_is_no_time_to_compare_with():
    def said(window: str) -> str:
        header = {k: v for k, v in CALLED.header.items() if k not in ("step_seconds", "window")}
        capture = replace(CALLED, header={**header, "window": window})
        return "\n".join(map(str, replay_parts(replay_of(capture, [result(MM, 1.0)]))))

    assert "let the script run some calls outside the window" in said("calls 3-4")
    assert "The whole script was recorded" in said("auto")
    assert "opbench capture --calls 2 records one call" in said("auto")


def test_a_replay_that_takes_longer_than_the_step_is_explained():
    step = ledger(replay_of(TIMED, [result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.2)])).total
    assert "longer than the step" not in text_of(
        result(MM, 1.0), result(RELU, 0.5), result(MUL, 1.2)
    )
    slow = step.measured * 2
    assert "longer than the step did" in text_of(
        result(MM, slow), result(RELU, 0.5), result(MUL, 1.2)
    )


def test_operators_by_module_with_their_work_and_what_they_could_gain():
    a, b = TensorSpec("float32", (10, 20)), TensorSpec("float32", (20, 30))
    out = (TensorSpec("float32", (10, 30)),)
    mm = OperatorCall(0, "aten::mm", "default", (a, b), outputs=out, counts={"forward": 4},
                      modules=("encoder.0",))  # fmt: skip
    view = replace(mm, index=1, operator="aten::view", modules=())
    assert (work_of(mm).flops, work_of(mm).bytes) == (2 * 10 * 20 * 30, 4 * (200 + 600 + 300))
    assert work_of(view) is None
    parts = (TensorSpec("int64", (2, 5)), TensorSpec("float32", (5,)))
    sparse = replace(a, layout="sparse_coo", parts=parts)
    assert work_of(replace(mm, args=(sparse, b))).flops == 0.0  # nobody counted them
    capture = replace(CAPTURE, calls=(mm, view))
    replay = replay_of(capture, [result(mm, 1.0), result(view, 0.1)])
    first, second = rows_of(replay, {0: 0.25})
    assert (first.module, first.operator, first.count, first.seconds) == (
        "encoder.0", "aten::mm", 2.0, 2.0,
    )  # fmt: skip
    assert first.flops == 2 * 12000
    assert first.roofline == 0.25
    # Of 2 s, 0.5 would remain.
    assert first.step_at_limit(10.0) == pytest.approx(8.5)
    assert second.roofline is None
    assert second.step_at_limit(10.0) is None


def test_a_row_says_how_many_modules_make_its_calls():
    def module_of(*calls):
        capture = replace(CAPTURE, calls=calls)
        (row,) = rows_of(replay_of(capture, [result(call, 1.0) for call in calls]))
        return row.module

    six = replace(MM, modules=("0.0", "1.0"), more_modules=4)
    assert module_of(six) == "0.0 + 5 more"
    assert module_of(replace(MM, modules=("0.0",))) == "0.0"
    other = replace(MM, index=9, modules=("0.0", "7.0"))
    assert module_of(replace(six, more_modules=0), other) == "0.0 + 2 more"
    assert module_of(replace(MM, modules=())) == "–"


def test_times_of_operators_have_the_interval_of_their_sum():
    """Calls vary independently: 2 % of 3 s and 2 % of 4 s are 0.1 s together."""
    twice = replace(MM, counts={"forward": 4}, modules=())
    once = replace(MM, index=9, counts={"forward": 2}, modules=())
    replay = replay_of(
        replace(CAPTURE, calls=(twice, once)), [result(twice, 1.5), result(once, 4.0)]
    )
    rows = rows_of(replay)
    (row,) = rows
    assert (row.seconds, row.half) == (7.0, pytest.approx(0.1))
    (cells,) = table(rows, replay).rows
    assert cells[3] == "7.00 s ± 1.4 %"


def test_what_a_commit_changed(tmp_path, opbench_here):
    new = Capture((replace(MM, counts={"forward": 4, "backward": 4}), RELU), CAPTURE.header)
    found = {d.operator: (d.before, d.after) for d in differences(CAPTURE, new)}
    assert found == {"aten::mm": (3.0, 4.0), "aten::mul_": (2.0, 0.0)}
    header = {"opbench": "capture", "version": 1, **CAPTURE.header}
    for name, capture in (("a", CAPTURE), ("b", new)):
        write(replace(capture, header=header, order=()), tmp_path / f"{name}.jsonl")
    done = opbench_here("compare", "a.jsonl", "b.jsonl")
    assert done.returncode == 0, done.stderr
    assert "aten::mul_" in done.stdout
    assert "aten::relu" not in done.stdout
    assert "2 calls differ" in done.stdout
