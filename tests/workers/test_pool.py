"""What a worker is made to import before it forks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from opbench.case import Case
from opbench.envs.environments import current
from opbench.workers.pool import Pool

LATE = """\
import importlib, json, sys
preload, rehearse = json.load(sys.stdin)
for name in preload:
    importlib.import_module(name)
before = set(sys.modules)
exec(rehearse, {})
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize("framework", ["torch", "numpy", "jax"])
def test_a_rehearsal_imports_nothing_late(framework):
    """Imports that are counted take twenty times as long."""
    pytest.importorskip(framework)
    case = Case("tests", "any", "call", "pass", "", "", framework=framework, preload=(framework,))
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
