"""The GPU's time shared out among the calls it worked for."""

from __future__ import annotations

import pytest
from tests.late import Late, needs

from opbench.capture.calls import PHASES
from opbench.worker.cuda.cupti import KERNEL, MEMCPY, Activity

needs("torch")
clock = Late("opbench.capture.operators.device_clock")


def activity(
    start: int, end: int, label: int | None, name: str = "k", kind: int = KERNEL, launch: int = 0
):
    return Activity(kind, start, end, 7, name, launch, label)


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
            activity(3250, 3600, None, "_ZN2at3sumIfEEvPT_"),
        ]
    )
    assert times.of_call == {}
    assert times.busy == times.unrecorded == pytest.approx(1100e-9)
    assert times.others == {
        "triton_poi_fused": (2, pytest.approx(1000e-9)),
        "at::sum<float>": (1, pytest.approx(350e-9)),
    }


def test_a_step_that_ran_alone_takes_the_labels_of_the_one_recorded_in_order_of_launch():
    recorded = [
        activity(900, 990, label(1, "backward"), "b", launch=9),
        activity(0, 10, clock.OWN, "copy", launch=1),
        activity(100, 200, label(0, "forward"), "a", launch=4),
        activity(300, 400, None, "mine", launch=6),
    ]
    # The streams overlap here: the second began before the first.
    alone = [
        activity(0, 40, None, "an earlier step", launch=20),
        activity(50, 130, None, "mine", launch=25),
        activity(60, 100, None, "a", launch=22),
        activity(120, 150, None, "b", launch=31),
    ]
    found = clock.at_its_own_pace(recorded, alone, 1)
    times = clock.attributed(found)
    assert times.of_call == {
        (0, "forward"): pytest.approx(40e-9),
        (1, "backward"): pytest.approx(30e-9),
    }
    assert times.busy == pytest.approx(100e-9)
    assert times.others == {"mine": (1, pytest.approx(80e-9))}


def test_of_two_recorded_steps_both_are_as_long_as_the_one_that_ran_alone():
    recorded = [
        activity(10 * step, 10 * step + 5, label(step, "forward"), "a", launch=step)
        for step in range(2)
    ]
    times = clock.attributed(clock.at_its_own_pace(recorded, [activity(7, 10, None, "a")], 2))
    assert times.of_call == {
        (0, "forward"): pytest.approx(3e-9),
        (1, "forward"): pytest.approx(3e-9),
    }
    assert times.busy == pytest.approx(6e-9)


@pytest.mark.parametrize("alone", [[], ["a"], ["b", "a"], ["a", "b", "b"], ["b"] * 3])
def test_a_step_that_launched_something_else_says_nothing(alone):
    recorded = [
        activity(0, 1, label(0, "forward"), "a", launch=1),
        activity(2, 3, label(1, "forward"), "b", launch=2),
    ]
    step = [activity(n, n + 1, None, name, launch=n) for n, name in enumerate(alone)]
    assert clock.at_its_own_pace(recorded, step, 1) is None
