"""On a GPU: memory by component to the byte, two kinds of time, clocks, and one case at a time."""

from __future__ import annotations

import sys

import pytest

from opbench.define.expand import expand
from opbench.suites.layers.config import published
from opbench.suites.layers.definition import layer_definition
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded

FLOAT = 4
#: What the caching allocator rounds every request up to.
BLOCK = 512

pytestmark = pytest.mark.cuda


def case(layer, mode, batch, stage="forward_backward"):
    definition = layer_definition(
        layer, published().section(layer), modes=(mode,), batch_sizes=(batch,)
    )
    (found,) = expand([definition], stages=(stage,), device="cuda")
    if found.unsupported:
        pytest.skip(found.unsupported)
    return found


@pytest.fixture(scope="module")
def worker():
    pytest.importorskip("torch")
    definition = layer_definition("dplstm", published().section("dplstm"))
    preload = {p for c in expand([definition], device="cuda") for p in c.preload}
    started = Worker(sys.executable, ("torch", *sorted(preload - {"torch"})))
    yield started
    started.close()


def rounded(size):
    return -(-size // BLOCK) * BLOCK


def memory(worker, one):
    session = worker.open()
    session.prepare(one, 0, 120)
    found = session.measure("memory", {}, 120)["results"]["memory"]
    session.close()
    return found["detail"]


def test_memory_by_component_to_the_byte(worker):
    detail = memory(worker, case("linear", "baseline", 16))
    weight, bias, batch = 512 * 512 * FLOAT, 512 * FLOAT, 16 * 512 * FLOAT
    assert detail["requested"] == {
        "input_tensor": batch,
        "layer": weight + bias,
        "labels": batch,
        "gradients": weight + bias,
        "per_sample_gradients": 0,
    }
    parts = detail["components"]
    assert parts["layer"] == rounded(weight) + rounded(bias)
    assert parts["input_tensor"] == parts["labels"] == rounded(batch)
    assert parts["other"] == 0
    assert detail["stages"]["before"] == sum(parts.values())
    assert detail["max_memory"] >= detail["stages"]["after_backward"]
    assert detail["reserved"] >= detail["max_memory"]
    assert detail["source"] == "cuda caching allocator"


def test_hidden_states_are_told_apart(worker):
    detail = memory(worker, case("lstm", "baseline", 16))
    assert detail["requested"]["h_0"] == detail["requested"]["c_0"] == 16 * 100 * FLOAT
    assert detail["components"]["h_0"] == detail["components"]["c_0"] == rounded(16 * 100 * FLOAT)


def test_per_sample_gradients_are_the_batch_times_the_layer(worker):
    detail = memory(worker, case("linear", "hooks", 16))
    requested = detail["requested"]
    assert requested["per_sample_gradients"] == 16 * requested["layer"]


def test_memory_comes_out_the_same_in_every_process(worker):
    """Opacus' own runner gave it for 1 of 72 results: leftovers of the runs before."""
    first, second = (memory(worker, case("linear", "baseline", 64)) for _ in range(2))
    assert first["max_memory"] == second["max_memory"]
    assert first["components"] == second["components"]


def block(worker, one, metric, n=10):
    session = worker.open()
    session.prepare(one, 0, 120)
    session.warm_up(0.2, 0.002, 120)
    answers = [session.block(metric, n, 120) for _ in range(3)]
    session.close()
    return answers


def test_host_and_device_time_are_two_things(worker):
    one = case("linear", "baseline", 16)
    host, device, cold = (
        min(answer["value"] for answer in block(worker, one, metric))
        for metric in ("host_time", "device_time", "device_time_cold")
    )
    # A step of a small layer waits for its launches: the device is idle most of the time.
    assert 0 < device < host
    # Nothing of 1 MB of weights is left in a flushed cache.
    assert cold > device


def test_the_source_of_a_device_time_and_the_clocks_are_recorded(worker):
    (answer, *_) = block(worker, case("linear", "baseline", 16), "device_time")
    assert answer["seen"]["source"]
    assert answer["seen"]["sm_mhz"] > 0
    (answer, *_) = block(worker, case("linear", "baseline", 16), "host_time")
    assert answer["seen"]["sm_mhz"] > 0


def test_device_time_of_a_stage_leaves_its_preparation_out(worker):
    spent = {}
    for stage in ("forward_backward", "backward"):
        answers = block(worker, case("conv", "baseline", 16, stage), "device_time", 3)
        spent[stage] = min(answer["value"] for answer in answers)
    assert 0 < spent["backward"] < spent["forward_backward"]


@pytest.mark.parametrize("metric", ["time_cuda", "time_torch", "time_python"])
def test_the_classic_clocks(worker, metric):
    assert all(a["value"] > 0 for a in block(worker, case("linear", "baseline", 16), metric))


def test_too_little_memory_is_the_result_of_one_case_alone(worker):
    outcomes = []
    # 8 MB of per-sample gradients for each sample: a hundred thousand fit nowhere.
    for batch in (16, 100_000, 32):
        session = worker.open()
        try:
            session.prepare(case("embedding", "hooks", batch), 0, 120)
            session.measure("memory", {}, 120)
            outcomes.append("ok")
        except SessionEnded as ended:
            outcomes.append(ended.outcome)
        session.close()
    assert outcomes == ["ok", "out_of_memory", "ok"]


@pytest.mark.parametrize("mode", ["baseline", "hooks", "functorch", "ew", "ghost"])
@pytest.mark.parametrize("layer", ["linear", "conv", "embedding", "dpmha", "dplstm", "mha"])
def test_every_mode_runs_or_says_why_not(worker, layer, mode):
    session = worker.open()
    ended = None
    try:
        session.prepare(case(layer, mode, 16), 0, 120)
        assert session.block("host_time", 2, 120)["value"] > 0
    except SessionEnded as why:
        ended = why
    session.close()
    if ended is not None:
        assert (ended.outcome, bool(ended.reason)) == ("unsupported", True)
        assert mode != "baseline"
