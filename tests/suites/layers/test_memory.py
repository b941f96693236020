"""Memory by component and by stage: a layer with known bytes is measured exactly."""

from __future__ import annotations

import sys

import pytest
from tests.suites.layers.small import case

from opbench.case import Case
from opbench.worker.memory.ledger import Piece, largest_rise
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded

FLOAT = 4


@pytest.fixture(scope="module")
def worker():
    pytest.importorskip("opacus")
    preload = case("dplstm", "functorch").preload
    started = Worker(sys.executable, ("torch", *preload), env={"OMP_NUM_THREADS": "1"})
    yield started
    started.close()


def memory(worker, one):
    session = worker.open()
    session.prepare(one, 0, 60)
    found = session.measure("memory", {}, 60)["results"]["memory"]
    session.close()
    return found["samples"], found["detail"]


def test_a_linear_layer_to_the_byte(worker):
    batch, wide, out = 8, 100, 60
    one = case("linear", batch=batch, in_features=wide, out_features=out)
    peaks, detail = memory(worker, one)
    parameters = (wide * out + out) * FLOAT
    assert detail["components"] == {
        "offset": 0,
        "input_tensor": batch * wide * FLOAT,
        "layer": parameters,
        "labels": batch * out * FLOAT,
        "gradients": parameters,
        "per_sample_gradients": 0,
        "other": 0,
    }
    held = sum(detail["components"].values())
    assert detail["stages"]["before"] == held
    # After forward: no gradients; the output, its log-softmax and the loss.
    assert detail["stages"]["after_forward"] == held - parameters + 2 * batch * out * FLOAT + FLOAT
    assert detail["stages"]["after_backward"] == held + batch * out * FLOAT + FLOAT
    assert detail["left_after"] == 0
    assert len(set(peaks)) == 1
    assert detail["max_memory"] == held - parameters + peaks[0]


def test_hidden_states_each_have_their_own_bytes(worker):
    _, detail = memory(worker, case("lstm", batch=4))
    assert detail["components"]["h_0"] == 1 * 4 * 6 * FLOAT
    assert detail["components"]["c_0"] == 1 * 4 * 6 * FLOAT
    assert detail["components"]["input_tensor"] == 5 * 4 * 3 * FLOAT


def test_keys_and_values_each_have_their_own_bytes(worker):
    _, detail = memory(worker, case("mha", batch=4, kdim=6, vdim=10))
    assert detail["components"]["key"] == 5 * 4 * 6 * FLOAT
    assert detail["components"]["value"] == 5 * 4 * 10 * FLOAT


@pytest.mark.parametrize("layer", ["linear", "dpmha", "dplstm", "embedding"])
@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_per_sample_gradients_are_the_batch_times_the_layer(worker, layer, mode):
    _, detail = memory(worker, case(layer, mode, batch=4))
    parts = detail["components"]
    assert parts["per_sample_gradients"] == 4 * parts["layer"]
    assert parts["gradients"] == parts["layer"]
    assert parts["other"] == 0
    assert detail["max_memory"] > sum(parts.values()) - parts["per_sample_gradients"]


def test_ghost_clipping_keeps_no_per_sample_gradients(worker):
    _, detail = memory(worker, case("linear", "ghost"))
    assert detail["components"]["per_sample_gradients"] == 0


def test_the_lines_of_a_step_are_told_apart(worker):
    _, detail = memory(worker, case("linear", "hooks"))
    lines = {line["source"]: line for line in detail["lines"]}
    assert list(lines) == [
        "net.zero_grad(set_to_none=True)",
        "y = net(x)",
        "loss = criterion(y, labels)",
        "loss.backward()",
        "del y, loss",
    ]
    assert detail["stages"]["after_forward"] == lines["loss = criterion(y, labels)"]["held"]
    assert detail["stages"]["after_backward"] == lines["loss.backward()"]["held"]
    assert detail["max_memory"] == lines["loss.backward()"]["peak"]


def test_too_little_memory_is_the_result_of_one_case_alone(worker):
    """The same layer at a smaller, and at a larger, batch size still gets its try."""
    sizes = {"num_embeddings": 100_000, "embedding_dim": 100}
    outcomes = []
    for batch in (2, 64, 3):
        # 40 MB a sample, twice over: 64 of them do not fit, and neither does the third case fail.
        session = worker.open(memory_limit=3_000_000_000)
        try:
            session.prepare(case("embedding", "hooks", batch=batch, **sizes), 0, 60)
            session.measure("memory", {}, 60)
            outcomes.append("ok")
        except SessionEnded as ended:
            outcomes.append(ended.outcome)
        session.close()
    assert outcomes == ["ok", "out_of_memory", "ok"]


def test_an_unsupported_mode_is_reported_as_such(worker):
    session = worker.open()
    with pytest.raises(SessionEnded) as caught:
        session.prepare(case("lstm", "hooks"), 0, 60)
    session.close()
    assert caught.value.outcome == "unsupported"
    assert "no attribute 'detach'" in caught.value.reason


@pytest.mark.parametrize("metric", ["time_python", "time_torch", "host_time", "time"])
def test_every_clock_of_a_cpu(worker, metric):
    session = worker.open()
    session.prepare(case("linear"), 0, 60)
    answer = session.block(metric, 20, 60)
    session.close()
    assert answer["value"] > 0
    assert answer["n"] == 20


@pytest.mark.parametrize("metric", ["device_time", "device_time_cold", "time_cuda"])
def test_clocks_of_a_device_say_what_they_need(worker, metric):
    session = worker.open()
    session.prepare(case("linear"), 0, 60)
    with pytest.raises(SessionEnded, match="use --device cuda") as caught:
        session.block(metric, 5, 60)
    session.close()
    assert caught.value.outcome == "unsupported"


def test_torch_s_timer_refuses_to_time_the_preparation(worker):
    session = worker.open()
    session.prepare(case("linear", stage="backward"), 0, 60)
    with pytest.raises(SessionEnded, match="preparation"):
        session.block("time_torch", 5, 60)
    session.close()


def pieces(*levels):
    """(start, high, low, end) of each piece."""
    return [Piece("", start, end, high, low) for start, high, low, end in levels]


def test_a_rise_is_counted_from_the_lowest_level_before_it():
    # Lets go of 30, then holds 50 more than that at most, and ends where it began.
    assert largest_rise(pieces((100, 100, 70, 70), (70, 120, 70, 100))) == 50
    # A peak before the release counts from the level at the start.
    assert largest_rise(pieces((100, 140, 100, 100), (100, 100, 20, 20))) == 40
    assert largest_rise(pieces((10, 10, 10, 10))) == 0
    # A dip inside a piece that ends as high as it began is a level held, too.
    assert largest_rise(pieces((100, 100, 20, 100), (100, 130, 100, 130))) == 110


def statement(stmt: str, setup: str, **components: str) -> Case:
    parts = tuple(components.items())
    return Case(
        "s", "n", "call", stmt, setup, globals="import torch", framework="torch", components=parts
    )


def test_a_dip_inside_a_line_is_seen_by_the_ledger(worker):
    """A line lets go of 4000 bytes and takes as many; the next takes 2000 more."""
    setup = (
        "box = [torch.ones(1000)]\ndef renew():\n    box.clear()\n    box.append(torch.ones(1000))"
    )
    peaks, _ = memory(worker, statement("renew()\ny = torch.ones(500)\ndel y", setup))
    assert set(peaks) == {1500 * FLOAT}


def test_storage_that_components_share_is_held_once(worker):
    setup = "x = torch.ones(1000)\nrest = torch.ones(300)"
    both = statement(
        "y = x + 1\ndel y", setup, whole="x", part="x[:10]", pair="[x, x.view(10, -1)]"
    )
    _, detail = memory(worker, both)
    assert detail["components"] == {
        "offset": 0,
        "whole": 1000 * FLOAT,
        "part": 1000 * FLOAT,  # a view keeps all of it alive
        "pair": 1000 * FLOAT,
        "other": 300 * FLOAT,
    }


def test_overlapping_kernels_are_counted_once():
    from opbench.worker.cuda.intervals import union

    assert union([(0, 10), (20, 30)]) == 20
    assert union([(0, 10), (5, 12), (6, 7)]) == 12
    assert union([(20, 30), (0, 25)]) == 30
    assert union([]) == 0
