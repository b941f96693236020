"""Each framework's spelling is executed: tensors in their domains, stages that do what they say."""

from __future__ import annotations

import itertools

import pytest

from opbench import frameworks
from opbench.define.expand import expand
from opbench.define.program import NORMAL, ONES, POSITIVE, Program, Tensor, integers, uniform
from opbench.define.suites import load, named
from opbench.errors import UserError
from opbench.frameworks.framework import Framework


def prepare(framework: Framework, stage: str, program: Program) -> tuple[dict, object]:
    source = framework.source(stage, program, device="cpu", threads=1)
    names: dict = {"seed": 0}
    exec(source.globals, names)
    exec(source.setup, names)
    return names, source


@pytest.mark.parametrize("name", ["python", "numpy", "torch"])
def test_tensors_have_their_shape_and_lie_in_their_domain(name):
    framework = frameworks.get(name)
    if framework.module:
        pytest.importorskip(framework.module)
    domains = {
        "normal": (NORMAL, -10, 10, "float32"),
        "ones": (ONES, 1, 1, "float64"),
        "positive": (POSITIVE, 0.5, 1.5, "float32"),
        "uniform": (uniform(-3, -2), -3, -2, "float32"),
        "integers": (integers(5, 9), 5, 8, "int64"),
    }
    inputs = tuple(Tensor(k, (3, 4), d[3], d[0]) for k, d in domains.items())
    names, _ = prepare(framework, "forward", Program("pass", inputs))
    again, _ = prepare(framework, "forward", Program("pass", inputs))
    for key, (_, low, high, dtype) in domains.items():
        value = names[key]
        rows = value.tolist() if hasattr(value, "tolist") else value
        assert (len(rows), len(rows[0])) == (3, 4)
        assert all(low <= number <= high for row in rows for number in row)
        if name != "python":
            assert str(value.dtype).endswith(dtype)
        repeated = again[key].tolist() if hasattr(value, "tolist") else again[key]
        assert repeated == rows


def test_a_framework_is_found_by_its_file_and_by_what_code_imports():
    assert {"python", "numpy", "torch"} <= set(frameworks.names())
    assert frameworks.of(["numpy", "torch"]).name == "torch"
    assert frameworks.of(["numpy", "something"]).name == "numpy"
    assert frameworks.of([]).name == "python"
    with pytest.raises(UserError, match="did you mean torch"):
        frameworks.get("troch")
    for name in ("python", "numpy", "torch"):
        assert frameworks.get(name).thread_env(2)["OPENBLAS_NUM_THREADS"] == "2"


def test_every_stage_of_torch_leaves_fresh_gradients():
    torch = pytest.importorskip("torch")
    program = Program(
        "y = net(x) * w",
        (Tensor("x", (4, 3)), Tensor("w", (4, 2), grad=True)),
        setup="net = torch.nn.Linear(3, 2)",
        module="net",
    )
    framework = frameworks.get("torch")
    for stage in ("backward", "forward_backward"):
        names, source = prepare(framework, stage, program)
        seen = []
        for _ in range(3):  # without clearing, gradients would grow from call to call
            exec(source.before, names)
            exec(source.stmt, names)
            seen.append((names["w"].grad.clone(), names["net"].weight.grad.clone()))
        for first, second in itertools.pairwise(seen):
            assert torch.equal(first[0], second[0])
            assert torch.equal(first[1], second[1])
        assert source.timing_mode == ("each" if stage == "backward" else "repeatable")


def test_the_forward_stage_is_the_statement_as_written():
    pytest.importorskip("torch")
    program = Program("y = x * 2", (Tensor("x", (2,), grad=True),))
    names, source = prepare(frameworks.get("torch"), "forward", program)
    assert source.stmt == "y = x * 2"
    assert not names["x"].requires_grad


def test_a_step_moves_the_parameters():
    torch = pytest.importorskip("torch")
    (case,) = expand(load("tour"), keep=["mlp"])
    names: dict = {"seed": 0}
    exec(case.globals, names)
    exec(case.setup, names)
    before = names["net"][0].weight.detach().clone()
    exec(case.stmt, names)
    assert not torch.equal(before, names["net"][0].weight)


def test_cuda_is_spelled_on_the_tensor_and_waits():
    source = frameworks.get("torch").source(
        "forward", Program("y = x", (Tensor("x", (2,)),)), device="cuda:1", threads=1
    )
    assert 'device="cuda:1"' in source.setup
    assert source.sync == "torch.cuda.synchronize(1)"
    assert not source.unsupported


def test_the_tour_shows_the_product_and_every_case_of_it_runs():
    torch = pytest.importorskip("torch")
    cases = expand(load("tour"))
    assert 20 <= len(cases) <= 25
    assert {case.stage for case in cases} == {"forward", "backward", "forward_backward", "step"}
    assert {case.dtype for case in cases} >= {"float32", "float64"}
    threads = torch.get_num_threads()
    try:
        for case in cases:
            names: dict = {"seed": case.seed}
            for source in (case.globals, case.setup, case.before, case.stmt):
                exec(source, names)
            for _, expression in case.components:
                eval(expression, names)
    finally:
        torch.set_num_threads(threads)


def test_suites_load_by_name_and_say_what_there_is():
    for name, suite in named().items():
        assert suite.about
        assert load(name)
    with pytest.raises(UserError, match="unknown suite or file 'tuor'; did you mean tour"):
        load("tuor")
