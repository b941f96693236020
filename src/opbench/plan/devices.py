"""Is there the device that was asked for? Answered before anything runs, in one line."""

from __future__ import annotations

from collections.abc import Iterable

from opbench.case import Case
from opbench.errors import UserError, plural
from opbench.machine.gpu import visible_gpus
from opbench.plan.metrics import metrics

CUDA = "cuda"


def check_devices(cases: Iterable[Case], measured: Iterable[str], *, here: bool = True) -> None:
    """Raise where a case needs a GPU that this machine does not have (unless it runs elsewhere),
    or a metric a device that no case is on."""
    cases = list(cases)
    kinds = {case.device.partition(":")[0] for case in cases}
    for name in measured:
        device = metrics()[name].device
        if device and cases and device not in kinds:
            raise UserError(f"{name} measures a {device.upper()} device; add --device {device}")
    if here:
        check_visible(case.device for case in cases if not case.unsupported)


def check_visible(devices: Iterable[str]) -> None:
    """Raise where one of the devices is a GPU that this machine does not have."""
    asked = sorted(filter(is_cuda, set(devices)))
    if not asked:
        return
    count, why = visible_gpus()
    for device in asked:
        if count == 0:
            raise UserError(f"--device {device}: no GPU is visible to CUDA here; {why}")
        index = device.partition(":")[2]
        if index and 0 < count <= int(index):
            have = ", ".join(f"{CUDA}:{each}" for each in range(count))
            raise UserError(
                f"--device {device}: {plural(count, 'GPU')} visible here; choose from: {have}"
            )


def is_cuda(device: str) -> bool:
    return device.partition(":")[0] == CUDA
