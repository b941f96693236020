"""Memory of results stays with the process from call to call."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from opbench import frameworks
from opbench.define.expand import expand
from opbench.define.targets import resolve
from opbench.workers.process import Worker, environment_of

#: The share of a result's memory that a call has to fetch from the system, page by page.
FETCHED = """
import json, resource, time

def fetched(calls):
    global y
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        y = call()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return faults * resource.getpagesize() / calls / size

for _ in range(10):
    call()
blocks = []
for _ in range(40):
    y = call()
    blocks.append(fetched(2))
    time.sleep(0.005)
print(json.dumps(sum(blocks[2:]) / len(blocks[2:])))
"""

JAX = """
import jax, jax.numpy as jnp
jax.config.update("jax_cpu_enable_async_dispatch", False)
compiled = jax.jit(lambda x: jnp.exp(x) + 1)
x = jnp.ones((1024, 1024))
size = 4 * 1024 * 1024
def call():
    return jax.block_until_ready(compiled(x))
"""

MXNET = """
from mxnet import nd
several = [nd.ones((1024, 1024)) for _ in range(3)]
size = 3 * 4 * 1024 * 1024
def call():
    y = nd.stack(*several, axis=0)
    y.wait_to_read()
    return y
"""


def share_fetched(python: str, name: str, code: str) -> float:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code + FETCHED],
        env=environment_of(frameworks.get(name).thread_env(1)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_jax_keeps_it():
    """Without thresholds for malloc a quarter to three quarters are fetched."""
    pytest.importorskip("jax")
    assert share_fetched(sys.executable, "jax", JAX) < 0.08


def test_mxnet_keeps_it(mxnet):
    """Without them, half."""
    assert share_fetched(mxnet.python, "mxnet", MXNET) < 0.08


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_children_keep_it_from_their_first_block(name):
    """In a process of its own a loop keeps it anyway. Without thresholds for malloc, every second
    child of torch fetched all of its result again and again, and one of NumPy a quarter; with them,
    a child still does so until malloc has found places to use again, and its blocks are taken
    again: otherwise 18 of these 24 fetch. (On a busy machine one may take so long that fetching
    is no longer what takes its time.)"""
    pytest.importorskip(name)
    axes = {"op": ["exp"], "framework": [name]}
    (case,) = expand(resolve(["ops"]).definitions, axes=axes, stages=["forward"])
    size = 4 * 1024 * 1024
    shares = []
    worker = Worker(sys.executable, frameworks.get(name).preload("forward"))
    try:
        for seed in range(8):
            session = worker.open()
            session.prepare(case, seed, 60)
            n = session.warm_up(0.01, 0.002, 60)["n"]
            for _ in range(3):
                pages = session.block("time", n, 60, refill=0.0)["pages"]
                shares.append(pages * resource.getpagesize() / n / size)
            session.close()
    finally:
        worker.close()
    assert sum(share > 0.1 for share in shares) <= 4, shares
