"""Every call of a CNN, a transformer and an LSTM, captured and replayed by real workers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opbench.api.run import run as measure
from opbench.capture.reading import read
from opbench.cli.lookup import among, defined
from opbench.report.script import script
from opbench.suites.captured.account import fidelity, replay_of

pytest.importorskip("torch")

MODELS = ("cnn", "transformer", "lstm")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    from tests.capture.models import train

    folder = tmp_path_factory.mktemp("captures")
    for name in MODELS:
        train(name, str(folder / f"{name}.jsonl"))
    return {name: folder / f"{name}.jsonl" for name in MODELS}


@pytest.fixture(scope="module")
def replayed(files):
    """All of them in one run, each call timed once: whether it runs is the question."""
    return measure(*files.values(), num_runs=1, num_repeats=1, save=False).results


@pytest.mark.parametrize("model", MODELS)
def test_every_unique_call_is_replayed(files, replayed, model):
    capture = read(files[model])
    found = replay_of(capture, replayed)
    assert {one.call.index for one in found.calls} == set(range(len(capture.calls)))
    assert [(o.call.name, o.result.outcome_text) for o in found.calls if not o.result.ok] == []
    explained = fidelity(found, "hot")
    assert explained.missing == ()
    assert {share.phase for share in explained.shares} == set(capture.phases)


@pytest.mark.parametrize("model", MODELS)
def test_the_step_runs_in_order_whole_and_phase_by_phase(files, replayed, model):
    found = replay_of(read(files[model]), replayed)
    assert set(found.in_order) == {"step", "data", "forward", "backward", "optimizer"}
    assert {phase: r.outcome_text for phase, r in found.in_order.items() if not r.ok} == {}


def test_calls_that_write_are_reset_and_the_cold_ones_rotate(files):
    fixed = {"axes": {"replay": ["hot", "cold"]}, "num_runs": 1, "num_repeats": 3}
    found = measure(files["cnn"], **fixed, keep=("relu_", "addmm"), save=False)
    assert {case.axes["replay"] for case, _ in found} == {"hot", "cold"}
    for case, result in found:
        assert result.ok, (case.id, result.outcome_text)
        assert case.timing_mode == ("repeatable" if "addmm" in case.name else "each")


def test_a_written_argument_is_the_same_before_each_call(files):
    case = among("relu_", [c for c in defined([str(files["cnn"])]) if "relu_" in c.name])
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


def test_the_reproducer_runs_as_a_plain_file(files, tmp_path):
    cases = defined([str(files["transformer"])])
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


def test_top_takes_the_calls_that_make_up_the_time(files, opbench_here):
    path = files["cnn"]
    everything = opbench_here("run", path, "--dry-run", "-a", "replay=hot").stdout
    half = opbench_here("run", path, "--dry-run", "-a", "replay=hot", "--top", "50%").stdout
    taken = [line for line in half.splitlines() if line.startswith("cnn/")]
    assert 0 < len(taken) < everything.count("cnn/") / 2
    capture = read(path)
    calls = {call.name: call for call in capture.calls}
    time = sum(calls[line.split("/")[1].split("[")[0]].time for line in taken)
    assert time >= 0.5 * sum(call.time for call in capture.calls)
