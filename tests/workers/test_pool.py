"""What a worker imports before it forks, and when its closed children are gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opbench.case import Case, UserModule
from opbench.envs.environments import current
from opbench.workers.pool import Pool
from opbench.workers.session import SessionEnded

LATE = """\
import importlib, json, sys
preload, rehearse = json.load(sys.stdin)
for name in preload:
    importlib.import_module(name)
before = set(sys.modules)
exec(rehearse, {})
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize(
    ("framework", "stmt"),
    [("torch", "y.backward()"), ("numpy", "pass"), ("jax", "pass")],
)
def test_a_rehearsal_imports_nothing_late(framework, stmt):
    """Imports that are counted take twenty times as long."""
    pytest.importorskip(framework)
    case = Case("tests", "any", "call", stmt, "", "", framework=framework, preload=(framework,))
    with Pool([case]) as pool:
        kind = pool.counting_kind(case, current())
    found = subprocess.run(
        [sys.executable, "-c", LATE],
        input=json.dumps([kind.preload, kind.rehearse]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout) == []


def test_what_a_counting_worker_imports_follows_from_the_text_of_its_case():
    """sympy, which a backward pass imports, takes as long as a third of torch under Valgrind."""
    sympy = "torch.fx.experimental.symbolic_shapes"

    def preload(stmt: str, **more) -> tuple[str, ...]:
        case = Case("tests", "any", "call", stmt, "x = torch.ones(1)", framework="torch", **more)
        with Pool([case]) as pool:
            return pool.counting_kind(case, current()).preload

    assert preload("x + x") == ("torch",)
    assert preload("x.requires_grad_()") == ("torch",)
    assert sympy in preload("x.sum().backward()")
    assert "torch._dynamo" in preload("torch.func.grad(f)(x)")
    assert preload("func(x)") == ("torch",)
    assert "torch._dynamo" in preload("o.step()", globals="o = torch.optim.SGD([x])")
    # What a function of the user's does cannot be read from the call.
    assert sympy in preload("f(x)", module=UserModule("mine", "/nowhere", ""))


def test_a_pool_settles_when_the_children_that_were_closed_are_gone():
    # Some hundred megabytes, which the kernel takes a moment to free.
    case = Case("tests", "any", "call", "pass", setup="held = bytearray(b'x') * (300 << 20)")
    with Pool([case]) as pool:
        workers = pool.workers(pool.kind(case, current()), [0, 1])
        sessions = [worker.open() for worker in workers for _ in range(2)]
        for session in sessions:
            session.prepare(case, 0, 60)
        *closed, left = sessions
        for session in closed:
            session.close()
        pool.settle()
        assert not any(Path(f"/proc/{session.pid}").exists() for session in closed)
        assert left.prepare(case, 0, 60)["ok"], "the others go on"
        left.kill()
        pool.settle()
        with pytest.raises(SessionEnded, match="SIGKILL"):  # at once, as its end is known
            left.prepare(case, 0, 60)
