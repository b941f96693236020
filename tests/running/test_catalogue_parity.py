"""Every operator of the catalogue, in every framework, on the same inputs: they agree, or cannot.

Small inputs, so that it is the spellings that are tested. What differs for a reason is listed here
with the reason; anything else that differs is a mistake in an entry.
"""

from __future__ import annotations

import pytest

from opbench.define.expand import expand
from opbench.define.suites import load
from opbench.envs import framework_envs
from opbench.envs.environments import current, find
from opbench.errors import UserError
from opbench.plan.groups import Slot
from opbench.running.parity import ParityCheck, ParityGroups
from opbench.suites.ops.catalogue import catalogue
from opbench.workers.pool import Pool

FRAMEWORKS = ("torch", "jax", "onnxruntime", "mxnet", "numpy")

#: Framework, operator, stage: MXNet 1.9.1's own mistakes, which a comparison is there to find.
KNOWN = {
    # On negative inputs its gradient is not that of the function.
    ("mxnet", "selu", "backward"),
    ("mxnet", "selu", "forward_backward"),
    # It gives the gradient of one triangle only.
    ("mxnet", "linalg_potri", "backward"),
    ("mxnet", "linalg_potri", "forward_backward"),
}

#: One of each way in which an entry is written: a table, a reduction, weights, packed and folded
#: ones, positions, an emulation, several results.
SAMPLE = ("exp", "sum", "dot", "LayerNorm", "LSTM", "conv_batchnorm_relu", "take", "SequenceMask",
          "split", "one_hot")  # fmt: skip

#: A second setting of options that several operators have.
SETTINGS = {
    "axis": 0, "pool_size": "3x3", "strides": "1x1", "k": 3, "num_groups": 2, "eps": 0.1,
    "slope": 0.5, "alpha": 0.5, "repeats": 3, "reps": "3x1", "dim1": 1, "block_size": 1, "scale": 3,
    "kernel_size": "1x1", "padding": "0x0", "depth": 7, "width": 2, "a_max": 0.5, "hidden_size": 5,
    "units": 7, "num_outputs": 2,
}  # fmt: skip


def disagreements(cases) -> list[str]:
    """What differs, or could not be compared."""
    places = {}
    for case in cases:
        name = framework_envs.env_name_of(case.framework)
        if name and name not in places:
            try:
                places[name] = find(name)
            except UserError as error:
                pytest.skip(str(error))
    slots = [
        Slot(case, places.get(framework_envs.env_name_of(case.framework), current()))
        for case in cases
        if not case.unsupported
    ]
    wrong: list[str] = []
    with Pool(cases) as pool:

        def worker(slot: Slot):
            return pool.workers(pool.kind(slot.case, slot.environment), [0])[0]

        checks = ParityGroups(slots)
        for slot in slots:
            found = ParityCheck(worker, lambda _slot: 0, 60.0).run(checks.take(slot))
            for one, ended in found.ended.items():
                key = (one.case.framework, one.case.name, one.case.stage)
                if ended.outcome != "unsupported" and key not in KNOWN:
                    wrong.append(f"{' '.join(key)}: {ended.outcome}: {ended.reason}")
            wrong += [f"{one.case.id}: {why}" for one, why in found.unchecked.items()]
    return wrong


@pytest.fixture(autouse=True)
def _installed():
    for module in ("torch", "jax", "onnxruntime", "onnx"):
        pytest.importorskip(module)


def test_a_sample_of_the_operators_agrees_in_every_framework():
    axes = {"framework": list(FRAMEWORKS), "size": ["small"], "op": list(SAMPLE)}
    cases = expand(load("ops"), axes=axes, stages=["forward"])
    assert not disagreements([case for case in cases if case.axes.get("form", "fused") == "fused"])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("stage", ["forward", "forward_backward"])
def test_every_operator_agrees_in_every_framework(stage):
    axes = {"framework": list(FRAMEWORKS), "size": ["small"]}
    cases = expand(load("ops"), axes=axes, stages=[stage])
    ready = {case.name for case in cases if not case.unsupported}
    assert len(ready) > (250 if stage != "forward" else 400)
    wrong = disagreements(cases)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("option", SETTINGS)
def test_frameworks_agree_at_a_second_setting(option):
    able = [
        name
        for name, each in catalogue().items()
        if option in each.params
        and len(set(each.spelling) & set(FRAMEWORKS)) > 1
        # A setting of the images is none of the signals.
        and len(str(SETTINGS[option]).split("x")) == len(str_of(each.params[option]))
    ]
    axes = {"framework": list(FRAMEWORKS), "size": ["small"], "op": able}
    cases = expand(load("ops"), axes={**axes, option: [SETTINGS[option]]}, stages=["forward"])
    wrong = disagreements(cases)
    assert not wrong, "\n".join(wrong)


def str_of(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)
