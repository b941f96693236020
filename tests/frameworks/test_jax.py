"""JAX: gradients against what calculus says, random draws, memory as XLA planned it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.late import needs

from opbench.define.program import Tensor

needs("jax")


def test_gradients_are_those_of_calculus(cases, exchanged):
    inputs = (Tensor("x", (7,), "float64", grad=True), Tensor("i", (7,), "float64"))
    (case,) = cases(
        "jax",
        spelled={"jax": "y = jnp.sin(x) * i"},
        inputs=inputs,
        dtype="float64",
        stages=("forward_backward",),
    )
    # Drawn from the same generator, in the same order, as the set-up does.
    rng = np.random.default_rng(0)
    x, i, grad = (rng.standard_normal(7) for _ in range(3))
    found = exchanged(case)
    assert found["y"].dtype == np.float64
    np.testing.assert_allclose(found["y"], np.sin(x) * i, rtol=1e-12)
    np.testing.assert_allclose(found["gradient of x"], np.cos(x) * i * grad, rtol=1e-12)
    assert set(found) == {"y", "gradient of x"}, "only what asks for a gradient has one"


def test_random_numbers_come_from_a_key_that_is_handed_in(cases, exchanged):
    (case,) = cases("jax", spelled={"jax": "y = jax.random.uniform(key, (500,))"}, inputs=())
    assert "key = jax.random.key(seed)" in case.setup
    assert "call(a, b, key)" in case.stmt
    y = exchanged(case)["y"]
    assert 0 <= y.min() < 0.1
    assert 0.9 < y.max() < 1


def test_each_call_waits_for_its_result_on_the_cpu(cases):
    (case,) = cases("jax")
    assert case.stmt.splitlines()[-1] == "jax.block_until_ready(y)"
    (case,) = cases("jax", device="cuda")
    assert "block_until_ready" not in case.stmt
    assert case.sync == "jax.block_until_ready(y)"


def test_threads_are_limited_before_the_import(cases, measure):
    """Two threads' work in a child that may use one takes as much CPU time as wall time."""
    (case,) = cases(
        "jax",
        spelled={"jax": "y = jnp.matmul(a, b)"},
        inputs=tuple(Tensor(name, (600, 600)) for name in "ab"),
    )
    (result,) = measure([case]).values()
    assert result.ok
    busy = [sample.cpu_ns / sample.wall_ns for sample in result.samples]
    assert min(busy) < 1.3


def test_memory_and_compile_time(cases, measure):
    shape = (64, 32)
    inputs = (Tensor("a", shape), Tensor("b", shape))
    found = cases("jax", spelled={"jax": "y = a + b"}, inputs=inputs)
    results = measure(found, ("time", "memory", "compile_time"))
    memory = results["jax", "forward", "memory"]
    assert memory.ok, memory.reason
    assert memory.estimate >= 64 * 32 * 4
    assert memory.detail["components"] == {"a": 8192, "b": 8192}
    compiled = results["jax", "forward", "compile_time"]
    assert compiled.ok, compiled.reason
    assert compiled.estimate > 10 * results["jax", "forward", "time"].estimate


def test_a_users_function_is_called_as_it_is_and_its_result_awaited(tmp_path, start_worker):
    """Not traced again by us: that would lose what it returns, and the work with it."""
    from opbench.define.expand import expand
    from opbench.define.userfile import targets_from

    path = tmp_path / "users_own.py"
    path.write_text(
        "import jax.numpy as jnp\n"
        "import opbench as ob\n"
        "@ob.bench\n"
        "def plain():\n"
        "    return jnp.sin(jnp.ones(8))\n"
        "@ob.bench\n"
        "def yielding():\n"
        "    x = jnp.ones(8)\n"
        "    yield lambda: jnp.sin(x)\n"
    )
    for case in expand(targets_from(path).definitions):
        assert "jax.jit" not in case.setup
        session = start_worker(*case.preload).open()
        # What the statement assigns is what the user's function returned.
        checked = case.stmt + "\nassert abs(float(y.sum()) - 6.7318) < 0.01"
        session.prepare(replace(case, stmt=checked), 0, 60.0)
        assert session.block("time", 2, 60.0)["n"] == 2
