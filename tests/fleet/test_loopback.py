"""A cluster that opbench starts on this machine is reachable from this machine only."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import psutil
from opbench.fleet.cluster import Cluster

cluster = Cluster.connect("ray")
me = psutil.Process()
for process in [me, *me.children(recursive=True)]:
    for each in process.net_connections("inet"):
        if each.status == psutil.CONN_LISTEN:
            print("LISTEN", each.laddr.ip, process.name())
cluster.close()
"""


@pytest.mark.slow
def test_its_daemons_listen_on_loopback(tmp_path):
    pytest.importorskip("ray")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("LISTEN")]
    assert found, done.stderr
    outside = [line for line in found if line[1] not in ("127.0.0.1", "::1")]
    assert outside == []
