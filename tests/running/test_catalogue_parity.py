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
from opbench.plan.groups import Slot
from opbench.running.parity import ParityCheck, ParityGroups
from opbench.workers.pool import Pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

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


@pytest.mark.parametrize("stage", ["forward", "forward_backward"])
def test_every_operator_agrees_in_every_framework(stage):
    for module in ("torch", "jax", "onnxruntime", "onnx"):
        pytest.importorskip(module)
    axes = {"framework": list(FRAMEWORKS), "size": ["small"]}
    cases = expand(load("ops"), axes=axes, stages=[stage])
    places = {
        name: find(name) for case in cases if (name := framework_envs.env_name_of(case.framework))
    }
    slots = [
        Slot(case, places.get(framework_envs.env_name_of(case.framework), current()))
        for case in cases
        if not case.unsupported
    ]
    assert len({slot.case.name for slot in slots}) > (150 if stage != "forward" else 200)
    wrong: list[str] = []
    with Pool(cases) as pool:

        def worker(slot: Slot):
            return pool.workers(pool.kind(slot.case, slot.environment), [0])[0]

        checks = ParityGroups(slots)
        for slot in slots:
            found = ParityCheck(worker, lambda _slot: 0, 60.0).run(checks.take(slot))
            for one, ended in found.ended.items():
                key = (one.case.framework, one.case.name, stage)
                if ended.outcome != "unsupported" and key not in KNOWN:
                    wrong.append(f"{' '.join(key)}: {ended.outcome}: {ended.reason}")
            wrong += [f"{one.case.id}: {why}" for one, why in found.unchecked.items()]
    assert not wrong, "\n".join(wrong)
