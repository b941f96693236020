"""Every operator of the catalogue, in every framework, on the same inputs: they agree, or cannot.

Small inputs, so that it is the spellings that are tested. What differs for a reason is listed here
with the reason; anything else that differs is a mistake in an entry.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kept_workers import KeptPool
from tests.suites.ops.settings import options, second

from opbench.case import Parity
from opbench.children import temporary_folder
from opbench.define.expand import expand
from opbench.define.suites import load
from opbench.envs import framework_envs
from opbench.envs.environments import current, find
from opbench.errors import UserError
from opbench.plan.groups import Slot
from opbench.running.parity import ParityCheck, ParityGroups
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.given import text_of

pytestmark = pytest.mark.usefixtures("kept_workers")

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
    with KeptPool(cases) as pool:

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


#: JAX has another gradient of complex numbers than torch, which it is compared by.
IN_OTHER_DTYPES = [
    ("complex64", "forward_backward", ("mul", "abs", "tanh", "dot", "cumsum")),
    ("int8", "forward", ("add", "dot", "sort")),
    ("float8_e4m3fn", "forward", ("transpose", "concat")),
]


@pytest.mark.parametrize(("dtype", "stage", "names"), IN_OTHER_DTYPES)
def test_a_sample_agrees_in_other_dtypes(dtype, stage, names):
    axes = {"framework": ["torch", "jax"], "size": ["small"], "dtype": [dtype], "op": list(names)}
    cases = expand(load("ops"), axes=axes, stages=[stage])
    assert [case.unsupported for case in cases] == [""] * len(names) * 2
    assert disagreements(cases) == []


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


def at(operator, given, frameworks):
    """The cases of the operator, small, with some parameters given."""
    axes = {"framework": list(frameworks), **{name: [text_of(v)] for name, v in given.items()}}
    axes |= {"size": ["small"]} if "small" in operator.sizes else {}
    axes |= {"form": ["fused"]} if operator.parts else {}
    cases = expand([operator_definition(operator)], axes=axes, stages=["forward"])
    return [thrice(case) if operator.category == "optimizer" else case for case in cases]


def thrice(case):
    """The first update of a weight does not show its momentum."""
    return replace(case, stmt="\n".join([case.stmt, case.before] * 2 + [case.stmt]))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_frameworks_agree_at_a_second_setting_of_every_option():
    """Those that share the tests' process are compared in `test_computed.py`; here the others are,
    each with the first of those."""
    cases = []
    for operator, option in options():
        here = [each for each in ("torch", "numpy", "jax") if each in operator.spelling]
        others = [each for each in ("onnxruntime", "mxnet") if each in operator.spelling]
        if others and len(here[:1] + others) > 1:
            cases += at(operator, second(operator, option), here[:1] + others)
    wrong = disagreements(cases)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_options_that_nothing_can_be_compared_with_act():
    """What MXNet alone has, or computes in another way: another setting is another result."""
    pairs = [
        (operator, option)
        for operator, option in options()
        if "mxnet" in operator.spelling
        and (len(operator.spelling) == 1 or operator.parity in ("", "shape"))
        # It changes how a block computes, not what.
        and option != "hybridize"
    ]
    with KeptPool() as pool:
        still = [
            f"{operator.name} {option}"
            for operator, option in pairs
            if result_in(pool, operator, {}) == result_in(pool, operator, second(operator, option))
        ]
    assert still == []


def result_in(pool, operator, given):
    """Shape and bytes of what MXNet computes with these settings."""
    (case,) = at(operator, given, ["mxnet"])
    case = replace(case, parity=Parity("", (), (("y", "y"),)))
    session = pool.workers(pool.kind(case, find("mxnet")), [0])[0].open()
    try:
        with temporary_folder("opbench-test-") as folder:
            found = session.exchange(case, str(folder), [], 60.0)["outputs"]
            return [(each["shape"], Path(each["file"]).read_bytes()) for each in found]
    finally:
        session.close()
