"""A cluster that opbench starts on this machine asks for a token."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os
from opbench.fleet.cluster import Cluster

cluster = Cluster.connect("ray")
print("mode", os.environ.get("RAY_AUTH_MODE"))
cluster.close()
"""


@pytest.mark.slow
def test_a_cluster_of_our_own_asks_for_a_token(tmp_path):
    pytest.importorskip("ray", minversion="2.60")
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={**env, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "mode token" in done.stdout.splitlines(), done.stderr
    assert (tmp_path / ".ray" / "auth_token").stat().st_size > 20
