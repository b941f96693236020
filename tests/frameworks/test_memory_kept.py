"""Memory of results stays with the process between blocks, as it does in a loop."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from opbench import frameworks

pytestmark = pytest.mark.skipif(os.sysconf("SC_PAGESIZE") != 4096, reason="counts pages of 4 KiB")

#: Results of so many pages, made in blocks: the share of them that a call has to fetch anew.
BLOCKS = """
import json, resource, time

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(10):
    call()
fetched = []
for block in range(40):
    y = call()
    before = faults()
    for _ in range(2):
        y = call()
    fetched += [(faults() - before) / 2]
    time.sleep(0.005)
print(json.dumps(sum(fetched[2:]) / len(fetched[2:]) / pages))
"""

JAX = """
import jax, jax.numpy as jnp
jax.config.update("jax_cpu_enable_async_dispatch", False)
compiled = jax.jit(lambda x: jnp.exp(x) + 1)
x = jnp.ones((1024, 1024))
pages = 1024
def call():
    return jax.block_until_ready(compiled(x))
"""

MXNET = """
from mxnet import nd
x = nd.ones((1024, 1024))
pages = 3072
def call():
    y = nd.stack(x, x, x, axis=0)
    y.wait_to_read()
    return y
"""


def pages_fetched(python: str, name: str, code: str) -> float:
    """The share of a result's pages that a call fetches from the system, on average."""
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code + BLOCKS],
        env={**os.environ, **frameworks.get(name).thread_env(1)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_jax_keeps_it():
    pytest.importorskip("jax")
    assert pages_fetched(sys.executable, "jax", JAX) < 0.08


def test_mxnet_keeps_it(mxnet):
    assert pages_fetched(mxnet.python, "mxnet", MXNET) < 0.08
