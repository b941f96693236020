"""A device that is not there is one line, before anything runs."""

from __future__ import annotations

import pytest

from opbench.case import Case
from opbench.errors import UserError
from opbench.machine.gpu import default_device, visible, visible_gpus
from opbench.plan.devices import check_devices, check_visible


def case(device: str, unsupported: str = "") -> Case:
    return Case("s", "add", "call", "pass", device=device, unsupported=unsupported)


@pytest.mark.parametrize(
    ("listed", "seen"),
    [
        ("", 0), ("0", 1), ("1,0", 2), ("0,1", 2), ("-1", 0), ("0,7,1", 1), ("7", 0),
        ("GPU-8f2c", 1), ("MIG-1c2d,MIG-5f6a", 2),
    ],
)  # fmt: skip
def test_what_cuda_visible_devices_leaves_of_two_cards(listed: str, seen: int) -> None:
    assert visible(listed, 2) == seen


def test_an_index_beyond_the_last_gpu_is_refused_by_name() -> None:
    count, _ = visible_gpus()
    said = "choose from: cuda:0" if count > 0 else "no GPU is visible to CUDA here"
    with pytest.raises(UserError, match=f"--device cuda:{max(count, 0)}: .*{said}"):
        check_devices([case("cpu"), case(f"cuda:{max(count, 0)}")], ("time",))


def test_what_will_not_run_here_asks_for_no_gpu() -> None:
    check_devices([case("cuda:99", "numpy has no device cuda")], ("time",))
    check_devices([case("cuda:99")], ("host_time",), here=False)
    check_devices([case("cpu")], ("time",))


def test_a_device_is_looked_for_whatever_would_run_on_it() -> None:
    check_visible(["cpu"])
    with pytest.raises(UserError, match="--device cuda:99: "):
        check_visible(["cpu", "cuda:99"])


def test_a_metric_of_a_gpu_needs_a_case_on_one() -> None:
    with pytest.raises(UserError, match="device_time measures a CUDA device; add --device cuda"):
        check_devices([case("cpu")], ("host_time", "device_time"))
    check_devices([case("cpu"), case("cuda")], ("device_time",), here=False)


@pytest.mark.cuda
def test_a_gpu_can_be_hidden() -> None:
    assert visible_gpus({})[0] > 0
    count, why = visible_gpus({"CUDA_VISIBLE_DEVICES": ""})
    assert (count, why) == (0, "CUDA_VISIBLE_DEVICES='' hides them all")
    assert default_device() == "cuda"
