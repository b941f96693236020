"""Every call of a CNN, a transformer and an LSTM, captured and replayed by real workers."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest
from tests.late import needs

from opbench.api.run import run as measure
from opbench.capture.reading import read
from opbench.cli.lookup import among, defined
from opbench.report.script import script
from opbench.suites.captured.account import fidelity, replay_of

needs("torch")

MODELS = (
    "cnn",
    pytest.param("transformer", marks=pytest.mark.slow),
    pytest.param("lstm", marks=pytest.mark.slow),
)


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    from tests.capture.models import train

    folder = tmp_path_factory.mktemp("captures")

    def path_of(model):
        path = folder / f"{model}.jsonl"
        if not path.exists():
            train(model, str(path))
        return path

    return path_of


@pytest.fixture(scope="module")
def replayed(file_of):
    """The results of a model, each call timed once: whether it runs is the question."""

    @cache
    def results_of(model):
        return measure(file_of(model), num_runs=1, num_repeats=1, save=False).results

    return results_of


@pytest.mark.parametrize("model", MODELS)
def test_every_unique_call_is_replayed(file_of, replayed, model):
    capture = read(file_of(model))
    found = replay_of(capture, replayed(model))
    assert {one.call.index for one in found.calls} == set(range(len(capture.calls)))
    assert [(o.call.name, o.result.outcome_text) for o in found.calls if not o.result.ok] == []
    explained = fidelity(found, "hot")
    assert explained.missing == ()
    assert {share.phase for share in explained.shares} == set(capture.phases)


@pytest.mark.parametrize("model", MODELS)
def test_the_step_runs_in_order_whole_and_phase_by_phase(file_of, replayed, model):
    found = replay_of(read(file_of(model)), replayed(model))
    assert set(found.in_order) == {"step", "data", "forward", "backward", "optimizer"}
    assert {phase: r.outcome_text for phase, r in found.in_order.items() if not r.ok} == {}


def test_calls_that_write_are_reset_and_the_cold_ones_rotate(file_of):
    fixed = {"axes": {"replay": ["hot", "cold"]}, "num_runs": 1, "num_repeats": 3}
    found = measure(file_of("cnn"), **fixed, keep=("relu_", "addmm"), save=False)
    assert {case.axes["replay"] for case, _ in found} == {"hot", "cold"}
    for case, result in found:
        assert result.ok, (case.id, result.outcome_text)
        assert case.timing_mode == ("repeatable" if "addmm" in case.name else "each")


def test_a_written_argument_is_the_same_before_each_call(file_of):
    case = among("relu_", [c for c in defined([str(file_of("cnn"))]) if "relu_" in c.name])
    names: dict = {"seed": 0}
    exec(case.globals, names)
    exec(case.setup, names)
    first = names["x0"].clone()
    assert float(first.min()) < 0
    for _ in range(3):
        exec(case.before, names)
        assert names["x0"].equal(first)
        exec(case.stmt, names)
        assert float(names["x0"].min()) == 0


def test_the_reproducer_runs_as_a_plain_file(file_of, tmp_path):
    cases = defined([str(file_of("transformer"))])
    text = script(next(case for case in cases if case.name.startswith("native_layer_norm-")))
    short = text.replace(
        "WARM_UP_S, MEASURE_S = 5_000_000, 0.3, 2.0", "WARM_UP_S, MEASURE_S = 1000, 0, 0"
    )
    assert short != text
    (tmp_path / "reproduce.py").write_text(short)
    (tmp_path / "opbench.py").write_text("raise ImportError('a reproducer needs no opbench')")
    done = subprocess.run(
        [sys.executable, "reproduce.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "median_seconds" in done.stdout


def test_an_operator_that_torch_does_not_have_is_an_outcome(tmp_path):
    line = '{"call":"%s","args":[{"t":"float32[2]"}],"count":{"forward":1}}\n'
    head = '{"opbench":"capture","version":1,"device":"cpu"}\n'
    (tmp_path / "c.jsonl").write_text(head + line % "aten::no_such" + line % "torchvision::nms")
    found = measure(tmp_path / "c.jsonl", num_runs=1, num_repeats=1, save=False)
    assert [result.outcome for _, result in found] == ["unsupported", "unsupported"]
    assert "torch has no operator aten::no_such.default" in found.results[0][1].reason


def test_top_takes_the_calls_that_make_up_the_time(file_of, opbench_here):
    path = file_of("cnn")
    everything = opbench_here("run", path, "--dry-run", "-a", "replay=hot").stdout
    half = opbench_here("run", path, "--dry-run", "-a", "replay=hot", "--top", "50%").stdout
    taken = [line for line in half.splitlines() if line.startswith("cnn/")]
    assert 0 < len(taken) < everything.count("cnn/") / 2
    capture = read(path)
    calls = {call.name: call for call in capture.calls}
    time = sum(calls[line.split("/")[1].split("[")[0]].time for line in taken)
    assert time >= 0.5 * sum(call.time for call in capture.calls)
