"""The GPU's time shared out among the calls it worked for."""

from __future__ import annotations

import pytest
from tests.late import Late, needs

from opbench.capture.calls import PHASES
from opbench.worker.cuda.cupti import KERNEL, MEMCPY, Activity

needs("torch")
clock = Late("opbench.capture.operators.device_clock")


def activity(start: int, end: int, label: int | None, name: str = "k", kind: int = KERNEL):
    return Activity(kind, start, end, 7, name, label)


def label(call: int, phase: str) -> int:
    return call * len(PHASES) + PHASES.index(phase)


def test_what_a_call_launched_is_its_time_and_overlaps_are_busy_once():
    times = clock.attributed(
        [
            activity(0, 100, label(0, "forward")),
            activity(50, 150, label(0, "forward")),  # on another stream
            activity(200, 300, label(1, "backward")),
            activity(400, 410, label(1, "optimizer"), kind=MEMCPY),
        ]
    )
    assert times.of_call == {
        (0, "forward"): pytest.approx(150e-9),
        (1, "backward"): pytest.approx(100e-9),
        (1, "optimizer"): pytest.approx(10e-9),
    }
    assert times.busy == pytest.approx(260e-9)
    assert times.phases == {
        "forward": pytest.approx(150e-9),
        "backward": pytest.approx(100e-9),
        "optimizer": pytest.approx(10e-9),
    }


def test_the_recorder_s_own_copies_do_not_count_and_strangers_are_named():
    times = clock.attributed(
        [
            activity(0, 1000, clock.OWN),
            activity(2000, 2500, None, "triton_poi_fused"),
            activity(3000, 3500, None, "triton_poi_fused"),
        ]
    )
    assert times.of_call == {}
    assert times.busy == pytest.approx(1000e-9)
    assert times.others == {"triton_poi_fused": (2, pytest.approx(1000e-9))}
