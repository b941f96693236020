"""One small computation, spelled for each framework, expanded and run with real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.kept_workers import KeptPool

from opbench.case import Case
from opbench.define.definition import Axis, Definition
from opbench.define.expand import expand
from opbench.define.program import NORMAL, Program, Tensor
from opbench.envs import framework_envs
from opbench.envs.environments import Environment, current, find
from opbench.plan.groups import Slot, groups
from opbench.plan.policy import Fixed
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.running.parity import ParityCheck
from opbench.running.runner import Runner
from opbench.workers.pool import Pool

#: tanh(a b): a product, a function, two gradients.
SPELLED = {
    "torch": "y = torch.tanh(torch.mm(a, b))",
    "torch_compile": "y = torch.tanh(torch.mm(a, b))",
    "jax": "y = jnp.tanh(jnp.matmul(a, b))",
    "onnxruntime": "t = MatMul(a, b)\ny = Tanh(t)",
    "mxnet": "y = nd.tanh(nd.dot(a, b))",
    "numpy": "y = np.tanh(np.matmul(a, b))",
}


@pytest.fixture
def cases() -> Callable[..., list[Case]]:
    """The cases of one program; `spelled` maps a framework to its forward text."""

    def make(
        *names: str,
        spelled: dict[str, str] = SPELLED,
        stages: tuple[str, ...] = ("forward",),
        inputs: tuple[Tensor, ...] | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        **more: object,
    ) -> list[Case]:
        given = inputs or (
            Tensor("a", (6, 5), dtype, NORMAL, grad=True),
            Tensor("b", (5, 4), dtype, NORMAL, grad=True),
        )

        def program(point, context) -> Program:
            text = spelled[context.framework.name]
            return Program(text, given, parity="values", **more)  # type: ignore[arg-type]

        definition = Definition(
            "tests",
            "operator",
            program,
            axes={"framework": Axis(names), "dtype": Axis((dtype,))},
            stages=stages,
        )
        return expand([definition], device=device)

    return make


@pytest.fixture
def measure() -> Callable[..., dict[tuple[str, str, str], Result]]:
    """Runs cases, parity first; results by framework, stage and metric."""

    def call(
        found: list[Case], metrics: tuple[str, ...] = ("time",)
    ) -> dict[tuple[str, str, str], Result]:
        request = Request(tuple(groups(found)), Fixed(num_runs=1, num_repeats=2, starts=1), metrics)
        request = Request(
            request.groups,
            request.policy,
            metrics,
            framework_envs=framework_envs.of(request, lambda *_: None),
        )
        results = Runner(request, lambda *_: None, Listener()).run()
        return {(case.framework, case.stage, one.metric): one for case, one in results}

    return call


@pytest.fixture(scope="session")
def pool(_kept_until_the_end: None) -> Iterator[Pool]:
    """Workers for all tests of a session: importing four frameworks takes seconds."""
    with KeptPool() as made:
        yield made


@pytest.fixture
def outcomes(pool) -> Callable[[list[Case]], dict[tuple[str, str], str]]:
    """Compares what cases compute, as a run does before it times them; by framework and stage."""

    def call(found: list[Case]) -> dict[tuple[str, str], str]:
        outcomes = {(c.framework, c.stage): f"unsupported: {c.unsupported}" for c in found}
        names = (framework_envs.env_name_of(c.framework) for c in found)
        places = {name: find(name) for name in names if name}
        slots = [Slot(c, places.get(c.framework, current())) for c in found if not c.unsupported]
        keys = dict.fromkeys(slot.case.parity.key for slot in slots)
        for key in keys:
            members = [slot for slot in slots if slot.case.parity.key == key]
            done = ParityCheck(
                lambda slot: pool.workers(pool.kind(slot.case, slot.environment), [0])[0],
                lambda slot: 0,
                60.0,
            ).run(members)
            for slot in members:
                ended = done.ended.get(slot)
                text = f"{ended.outcome}: {ended.reason}" if ended else "agrees"
                outcomes[slot.case.framework, slot.case.stage] = text
            assert not done.unchecked
        return outcomes

    return call


@pytest.fixture
def exchanged(pool, tmp_path) -> Callable[[Case], dict]:
    """What one child of the case's framework computes, as numpy arrays by name."""

    def call(case: Case, environment: Environment | None = None) -> dict:
        from opbench.running.agreement import Output

        kind = pool.kind(case, environment or current())
        session = pool.workers(kind, [0])[0].open()
        try:
            answer = session.exchange(case, str(tmp_path), [], 60.0)
        finally:
            session.close()
        outputs = [Output.read(header) for header in answer["outputs"]]
        return {one.name: one.values.reshape(one.shape) for one in outputs}

    return call


@pytest.fixture(autouse=True, scope="module")
def _workers(kept_workers: None) -> None:
    """Five frameworks, of which every run would start workers."""
