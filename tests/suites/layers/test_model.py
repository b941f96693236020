"""One step of a user's model: every variant runs, and its parts add up to it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.late import late

from opbench.case import Case
from opbench.define.expand import expand
from opbench.errors import UserError
from opbench.report.table import markdown, to_markdown
from opbench.result import Result, Sample
from opbench.suites.layers.model.definition import model_definition
from opbench.suites.layers.model.overhead import overheads, steps
from opbench.suites.layers.model.report import part_table, tables
from opbench.worker import main

FILE = Path(__file__).parent / "own_model.py"
BATCH = 4
LAYERS = ("0 Linear", "2 LayerNorm", "3 Linear")

torch = late("torch")


@pytest.fixture(autouse=True, scope="module")
def _installed():
    pytest.importorskip("opacus")  # here: whoever collects these tests need not import it


@pytest.fixture(scope="module")
def mlp():
    return {c.axes["mode"]: c for c in cases_of("mlp")}


@pytest.fixture(scope="module")
def tagger():
    return {c.axes["mode"]: c for c in cases_of("tagger")}


@functools.cache
def cases_of(function):
    with pytest.MonkeyPatch.context() as patch:
        if function != "mlp":  # one is read as a user's file is, in a process that imports torch
            patch.setattr("opbench.suites.layers.model.definition.collected", read_in_a_copy)
        return expand([model_definition(f"{FILE}:{function}", batch_sizes=(BATCH,))])


def read_in_a_copy(path, _python, model):
    """What the process finds that reads a user's file, in a copy of this one: it has torch."""
    assert torch.nn
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            for name in [name for name in sys.modules if name.partition(".")[0] == "opbench"]:
                del sys.modules[name]
            sys.argv = [main.__file__, "probe.collect", str(path), str(theirs), model]
            runpy.run_path(main.__file__, run_name="__main__")
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as answer:
        found = answer.read()
    os.waitpid(pid, 0)
    return json.loads(found)


def prepared(case):
    names = {"seed": 0, "__name__": "case"}
    sys.path.insert(0, case.module.root)
    try:
        exec(case.globals, names)
        exec(case.setup, names)
    finally:
        sys.path.remove(case.module.root)
    return names


def test_every_mode_with_both_clippings_and_split(mlp):
    private = ("hooks", "functorch", "ew", "ghost")
    wanted = {"baseline", "baseline+split"}
    wanted |= {f"{mode}{more}" for mode in private for more in ("", "+per_layer", "+split")}
    assert set(mlp) == wanted


MODES = ["baseline", "baseline+split", "hooks", "hooks+per_layer", "hooks+split", "functorch", "ew",
         "ghost", "ghost+split"]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_the_parts_of_a_step_add_up_to_it(mlp, mode):
    names = prepared(mlp[mode])
    parts, held, stop = names["watch_parts"]()
    ticks: list[int] = []
    # A clock that goes on by one with each look at it.
    names["time"] = SimpleNamespace(perf_counter_ns=lambda: ticks.append(len(ticks)) or len(ticks))
    for _ in range(2):
        parts.clear()
        ticks.clear()
        exec(mlp[mode].stmt, names)
    private = set() if "baseline" in mode else {"clipping", "noise"}
    assert set(parts) == {*LAYERS, "wrapper", "optimizer", "other"} | private
    # Everything between the first mark and the last is some part's.
    assert sum(parts.values()) == len(ticks) - 1
    assert all(nanoseconds > 0 for nanoseconds in parts.values())
    # Parameters and gradients of Linear(6, 5); each sample's gradients where the mode forms them.
    own = (6 * 5 + 5) * 4
    copies = {"hooks": 2 + BATCH, "functorch": 2 + BATCH, "ew": 2 + BATCH}.get(mode)
    assert copies is None or held()[LAYERS[0]] == copies * own
    assert mode not in ("baseline", "ghost") or held()[LAYERS[0]] == 2 * own
    stop()
    parts.clear()
    exec(mlp[mode].stmt, names)
    assert not parts


@pytest.mark.parametrize("mode", ["baseline", "hooks"])
def test_a_model_that_is_one_layer_has_its_parts_too(mode):
    case = next(each for each in cases_of("single") if each.axes["mode"] == mode)
    names = prepared(case)
    parts, _, _ = names["watch_parts"]()
    exec(case.stmt, names)
    private = set() if mode == "baseline" else {"clipping", "noise"}
    assert set(parts) == {"Linear", "wrapper", "optimizer", "other"} | private
    assert parts.part == "other", "every part that is entered is left"


def test_a_step_changes_the_parameters(mlp):
    names = prepared(mlp["hooks"])
    before = [p.detach().clone() for p in names["net"].parameters()]
    exec(mlp["hooks"].stmt, names)
    assert all(not torch.equal(a, b) for a, b in zip(before, names["net"].parameters()))


def test_a_split_step_steps_once(mlp):
    names = prepared(mlp["hooks+split"])
    stepped = []
    original = names["optimizer"].original_optimizer.step
    names["optimizer"].original_optimizer.step = lambda *a: stepped.append(1) or original()
    exec(mlp["hooks+split"].stmt, names)
    assert stepped == [1]
    assert len(names["chunks"]) == 2


def test_what_opacus_does_not_have_is_unsupported(mlp):
    with pytest.raises(Exception, match="ghost clipping with flat clipping only") as caught:
        prepared(mlp["ghost+per_layer"])
    assert type(caught.value).__name__ == "Unsupported"


def test_a_recurrent_layer_is_one_layer_and_is_replaced_for_the_private_step(tagger):
    """With an own loss, and an in-place activation that the marks must not disturb."""
    for mode, kind in (("baseline", "LSTM"), ("hooks", "DPLSTM")):
        names = prepared(tagger[mode])
        layers = names["layers_of"](names["net"])
        assert list(layers) == ["embed", "lstm", "head.1 Linear"]
        assert type(layers["lstm"]).__name__ == kind
        parts, _, _ = names["watch_parts"]()
        exec(tagger[mode].stmt, names)
        assert {"embed", "lstm", "head.1 Linear"} < set(parts)


def test_what_layers_share_is_held_once():
    case = next(each for each in cases_of("tied") if each.axes["mode"] == "baseline")
    names = prepared(case)
    _, held, _ = names["watch_parts"]()
    exec(case.stmt, names)
    assert held() == {"embed": 2 * 11 * 4 * 4, "out": 0}


@pytest.mark.parametrize(("mode", "copies"), [("baseline", 2), ("functorch", 2 + BATCH)])
def test_parameters_beside_layers_are_a_layer_of_their_own(mode, copies):
    case = next(each for each in cases_of("positions") if each.axes["mode"] == mode)
    names = prepared(case)
    parts, held, _ = names["watch_parts"]()
    exec(case.stmt, names)
    assert {"Positions", "head"} < set(parts)
    assert held() == {"Positions": copies * 3 * 4 * 4, "head": copies * (4 * 2 + 2) * 4}


@pytest.mark.parametrize(
    ("function", "call"), [("gated", "Tensor, Tensor"), ("gated_by_name", "Tensor, mask=Tensor")]
)
@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
def test_a_further_input_of_a_module_with_parameters_is_unsupported(function, call, mode):
    """Opacus would call it again without that input: it fails, or its gradients are wrong."""
    case = next(each for each in cases_of(function) if each.axes["mode"] == mode)
    with pytest.raises(Exception, match="passes only the first positional input") as caught:
        prepared(case)
    assert type(caught.value).__name__ == "Unsupported"
    assert f"gate is called as Gate({call}): move these parameters" in str(caught.value)


def test_the_check_of_inputs_is_no_part_of_the_step():
    case = next(each for each in cases_of("ungated") if each.axes["mode"] == "hooks")
    names = prepared(case)
    assert not names["net"]._module.gate._forward_pre_hooks


def test_a_layer_of_another_kind_says_what_it_stands_for():
    cases = {case.axes["mode"]: case for case in cases_of("normed")}
    for mode, norm in (("baseline", "1 BatchNorm1d"), ("hooks", "1 GroupNorm for BatchNorm1d")):
        names = prepared(cases[mode])
        assert list(names["layers_of"](names["net"])) == ["0 Linear", norm, "2 Linear"]


@pytest.mark.parametrize("mode", ["baseline", "baseline+split", "hooks", "hooks+split", "ghost"])
def test_a_dict_of_inputs_is_given_by_name(mode):
    case = next(each for each in cases_of("keywords") if each.axes["mode"] == mode)
    names = prepared(case)
    exec(case.stmt, names)
    assert all(p.grad is not None for p in names["net"].parameters())
    assert [len(target) for *_, target in names.get("chunks", [])] in ([], [2, 2])


@pytest.mark.parametrize("mode", ["baseline", "hooks"])
@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("seven", r"inputs for batch_size=4 have the shape \(7, 6\): the first side must be the"),
        ("text", "inputs must be a tensor, a tuple of tensors or a dict of them, not str"),
        ("frozen", "the model has no parameters that require gradients"),
    ],
)
def test_what_no_step_can_be_taken_with_is_an_error_and_not_unsupported(function, said, mode):
    case = next(each for each in cases_of(function) if each.axes["mode"] == mode)
    with pytest.raises((TypeError, ValueError), match=said):
        prepared(case)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mine.py", "write FILE.py:FUNCTION"),
        ("mine.py:build", "mine has no model called build"),
        ("mine.py:makr", "mine has no model called makr; did you mean maker?"),
        (
            "mine.py:fixed",
            "mine.py:fixed must be a function of batch_size that returns "
            r"\(model, inputs, labels\), not a function of nothing",
        ),
        ("mine.py:maker", "not a function of batch, width"),
        ("mine.py:Net", "must be a function of batch_size that .*, not the class Net"),
        ("mine.py:NUMBER", "must be a function of batch_size that .*, not int"),
        ("none.py:build", "file not found: none.py"),
    ],
)
def test_mistakes_are_one_line(target, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def fixed():\n    return None\n\n\ndef maker(batch, width):\n    return None\n\n\n"
        "class Net:\n    pass\n\n\nNUMBER = 3\n"
    )
    with pytest.raises(UserError, match=said):
        model_definition(target)


@pytest.mark.parametrize(("value", "said"), [("None", "NoneType"), ("1, 2", "a tuple of 2")])
def test_what_the_function_must_return_is_said(tmp_path, value, said):
    file = tmp_path / f"returns_{said.split()[-1]}.py"  # imported here, each under its own name
    file.write_text(f"def build(batch_size):\n    return {value}\n")
    case = next(iter(expand([model_definition(f"{file}:build")])))
    wanted = r"must be a function of batch_size that returns \(model, inputs, labels\), .* returns "
    with pytest.raises(TypeError, match=wanted + said):
        prepared(case)


def step_case(mode):
    labels = (("mode", mode), ("batch_size", 32))
    return Case("models", "m:build", "step", stmt="pass", labels=labels)


def stopped(mode, outcome, reason, metrics=("time", "memory", "parts")):
    case, detail = step_case(mode), {"traceback": "Traceback: …"}
    for metric in metrics:
        yield case, Result(case.hash, metric, "s", outcome, reason, detail=detail)


def results(mode, seconds, peak, **parts):
    case = step_case(mode)
    yield case, Result(case.hash, "time", "s", estimate=seconds, low=seconds, high=seconds)
    detail = {"max_memory": peak + 10, "components": {"offset": 10}}
    yield case, Result(case.hash, "memory", "bytes", estimate=peak, detail=detail)
    yield case, Result(case.hash, "parts", "s", estimate=1.0, detail={"parts": parts,
                        "held": dict.fromkeys(("conv", "fc"), peak / 10)})  # fmt: skip


KNOWN = [
    *results("baseline", 0.010, 1e6, conv=0.006, fc=0.003, optimizer=0.001, other=0.002),
    *results("hooks", 0.020, 5e6, conv=0.010, fc=0.004, clipping=0.003, noise=0.001,
             optimizer=0.001, other=0.004),
    *results("ghost", 0.018, 2e6, conv=0.012, fc=0.003, clipping=0.0005, noise=0.001,
             optimizer=0.001, other=0.003),
]  # fmt: skip


def test_the_difference_is_explained_by_layers_clipping_noise_and_optimizer():
    hooks, _ = overheads(steps(KNOWN))
    assert hooks.measured == pytest.approx(0.010)
    assert list(hooks.differences) == ["conv", "clipping", "fc", "noise", "optimizer"]
    # 4 + 1 + 3 + 1 + 0 ms of 10; what the loss and the code around it took is no explanation.
    assert hooks.explained == pytest.approx(0.9)


def test_what_the_parts_explain_is_judged_at_their_moments():
    """The machine is 1.4 times slower by the time the parts are timed."""
    later = []
    for case, result in KNOWN:
        if result.metric == "parts":
            seconds = {"baseline": 0.010, "hooks": 0.020, "ghost": 0.018}[case.axes["mode"]]
            parts = {name: 1.4 * each for name, each in result.detail["parts"].items()}
            detail = {**result.detail, "parts": parts, "unmarked": 1.4 * seconds}
            result = dataclasses.replace(result, detail=detail)
        later.append((case, result))
    now, then = overheads(steps(KNOWN)), overheads(steps(later))
    assert [each.explained for each in then] == pytest.approx([each.explained for each in now])
    assert [each.measured for each in then] == [each.measured for each in now]


def measured(mode, *seconds):
    samples = [
        Sample(each * (1 + 0.2 * (index % 3)), start, order=index)
        for start in range(3)
        for index, each in enumerate(seconds)
    ]
    for case, result in results(mode, sum(seconds) / len(seconds), 1e6, fc=0.01):
        own = result.metric == "time"
        yield case, dataclasses.replace(result, samples=tuple(samples)) if own else result


def test_of_a_difference_within_the_noise_no_share_is_known():
    base = list(measured("baseline", *[0.0100, 0.0101] * 9))
    (close,) = overheads(steps([*base, *measured("hooks", *[0.0101, 0.0100] * 9)]))
    (far,) = overheads(steps([*base, *measured("hooks", *[0.0200, 0.0201] * 9)]))
    assert close.explained is None
    assert far.explained == 0.0
    assert part_table([close], "").rows[-1] == ["explained", "–"]
    assert part_table([close], "").notes == [
        "explained: the difference of hooks is within the noise"
    ]
    assert not part_table([far], "").notes


def test_a_split_step_is_compared_with_the_split_step():
    split = [*results("baseline+split", 0.012, 1e6, fc=0.012), *results("hooks+split", 0.030, 3e6,
             fc=0.030)]  # fmt: skip
    pairs = {pair.step.mode: pair for pair in overheads(steps([*KNOWN, *split]))}
    assert pairs["hooks+split"].measured == pytest.approx(0.018)


def test_the_report_has_a_row_for_each_part_and_names_the_cheapest():
    first, second, third = tables(KNOWN)
    assert "| conv | 100 kB | 500 kB | 200 kB |" in markdown(third)
    assert first.notes == ["fastest private step: ghost", "least memory: ghost"]
    assert [row[0] for row in first.rows] == ["non-private", "hooks", "ghost"]
    assert first.rows[1][3:] == ["5.00 MB", "5"]
    text = "\n".join(markdown(second))
    assert "| conv | 4.00 ms | 6.00 ms |" in text
    assert "| sum | 9.00 ms | 7.50 ms |" in text
    assert "| other | 2.00 ms | 1.00 ms |" in text
    assert "| measured | 10.0 ms | 8.00 ms |" in text
    assert "| explained | 90 % | 94 % |" in text


def test_a_factor_has_its_interval_or_is_missing():
    found = [*measured("baseline", *[0.0100, 0.0101] * 9), *measured("hooks", *[0.02, 0.0201] * 9)]
    assert tables(found)[0].rows[1][2] == "2 ± 15 %"
    assert [row[2] for row in tables(KNOWN[3:])[0].rows] == ["–", "–"]  # without the non-private


@pytest.mark.parametrize(
    ("base", "private"),
    [("1 BatchNorm1d", "1 GroupNorm for BatchNorm1d"), ("norm", "norm GroupNorm for BatchNorm1d"),
     ("BatchNorm1d", "GroupNorm for BatchNorm1d")],
)  # fmt: skip
def test_a_replaced_layer_is_one_row(base, private):
    """Whether its module has a number for a name, a name, or is the model itself."""
    found = [*results("baseline", 0.010, 1e6, **{base: 0.006, "fc": 0.003}),
             *results("hooks", 0.020, 2e6, **{private: 0.010, "fc": 0.004})]  # fmt: skip
    for _, result in found:
        if result.metric == "parts":
            result.detail["held"] = dict.fromkeys(result.detail["parts"], 100)
    (pair,) = overheads(steps(found))
    assert pair.differences == pytest.approx({private: 0.004, "fc": 0.001})
    _, second, third = tables(found)
    rows = [row[0] for row in second.rows]
    assert rows[:2] == [private, "fc"]
    assert f"| {private} | 100 B | 100 B |" in markdown(third)


def test_what_failed_is_a_word_in_the_table_and_a_reason_below_it():
    known = "opacus cannot do this"
    found = [*KNOWN[:3], *stopped("hooks", "unsupported", known), *KNOWN[6:8],
             *stopped("ghost", "failed", "no room", metrics=["parts"]),
             *stopped("ew", "unsupported", known)]  # fmt: skip
    table = tables(found)[0]
    assert [str(getattr(row[1], "text", row[1])) for row in table.rows] == [
        "10.0 ms", "unsupported", "unsupported", "18.0 ms"]  # fmt: skip
    assert table.notes[:2] == [
        f"hooks, ew: unsupported: {known}",
        "parts of ghost: failed: no room",
    ]


def test_one_reason_for_every_private_step_is_said_of_all():
    found = [*KNOWN[:3], *stopped("hooks", "failed", "no"), *stopped("ghost", "failed", "no")]
    assert tables(found)[0].notes == ["every private step: failed: no"]


def test_where_every_step_fails_alike_there_is_one_line():
    from opbench.report.terminal.run import as_text
    from opbench.running.recording import Finished

    found = [each for mode in ("baseline", "hooks") for each in stopped(mode, "failed", "no")]
    text = as_text(Finished("r", found, store=".opbench/results.db"))
    assert [line for line in text.splitlines() if line][:2] == [
        "one step of m:build, batch size 32: failed: no",
        "The whole traceback: opbench show 'models/m:build[mode=baseline,batch_size=32]/step'",
    ]
    title = "One step of m:build, batch size 32: failed: no"
    assert to_markdown("r", tables(found), []) == f"# r\n\n## {title}\n\n"


def test_a_run_of_steps_has_no_other_table():
    from opbench.plan.groups import Baseline
    from opbench.report.terminal.run import as_text
    from opbench.running.recording import Finished

    text = as_text(Finished("r", KNOWN, baseline=Baseline("mode", "baseline")))
    assert text.startswith("\none step of m:build, batch size 32\n")
    assert "time, step" not in text
    assert "parts, step" not in text


def test_steps_whose_intervals_overlap_are_not_ranked():
    wide = [
        (case, dataclasses.replace(result, low=result.estimate * 0.5, high=result.estimate * 1.5))
        if result.metric == "time"
        else (case, result)
        for case, result in KNOWN
    ]
    assert tables(wide)[0].notes[0] == (
        "fastest private step: ghost (its interval overlaps with hooks)"
    )


def test_the_metric_takes_a_step_apart_in_a_worker(mlp, monkeypatch):
    from opbench.api.run import execute
    from opbench.plan.metrics import metrics

    # Each start imports Opacus, and does the same as the first.
    monkeypatch.setitem(metrics(), "parts", dataclasses.replace(metrics()["parts"], starts=2))
    # On one thread it would wait for a core that nobody shares, and other tests share them all.
    case = dataclasses.replace(mlp["hooks"], threads=2)
    run = execute({"metrics": ("parts",), "save": False}, cases=[case])
    (private,) = steps(run.results)
    assert {*LAYERS, "clipping", "noise", "optimizer"} < set(private.parts)
    assert private.held[LAYERS[0]] == (2 + BATCH) * (6 * 5 + 5) * 4
    # The same calls, with marks and without: neither is a part of the other.
    assert 0.2 < private.unmarked / sum(private.parts.values()) < 5
    ((_, result),) = run
    assert result.estimate == pytest.approx(sum(private.parts.values()))


def test_the_report_on_layers_shows_stored_steps(tmp_path, opbench_here):
    from opbench.store import RunRecord, Store

    with Store.open(tmp_path / "r.db") as store:
        record = RunRecord.new("mine")
        store.begin_run(record)
        store.add_results(record.id, KNOWN)
        store.finish_run(record.id)
    done = opbench_here("report", "layers", "-f", "md", "--store", tmp_path / "r.db")
    assert "## One step of m:build, batch size 32\n" in done.stdout, done.stderr
    assert "| explained | 90 % | 94 % |" in done.stdout
    done = opbench_here("report", "layers", "-f", "csv", "--store", tmp_path / "r.db")
    assert (done.returncode, "export -f csv" in done.stderr) == (2, True)
