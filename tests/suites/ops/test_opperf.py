"""The operators that MXNet's own benchmarks (opperf) run: entries execute them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbench.envs.inventory import executed
from opbench.suites.ops.called import runnable

#: What opperf of MXNet 1.9.1 selects from the operators that this version registers.
OPPERF = (Path(__file__).parent / "opperf.txt").read_text(encoding="utf-8").split()


@pytest.fixture(scope="module")
def ran(mxnet):
    """By running every entry of MXNet once, in its environment."""
    return executed("mxnet", runnable("mxnet"))


def test_every_operator_of_opperf_is_executed(ran):
    assert len(OPPERF) == 235
    assert [name for name in OPPERF if name not in ran.names] == []


def test_every_entry_of_mxnet_runs(ran):
    assert ran.failed == {}
