"""A cluster that opbench starts on this machine: on loopback, and with a token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import pytest

#: Ray's processes are children of the one that starts them.
SCRIPT = """
import json, os
import psutil
from opbench.fleet.cluster import Cluster

cluster = Cluster.connect("ray")
nodes = cluster.nodes()
ours = {each.pid for each in psutil.Process().children(recursive=True)} | {os.getpid()}
listening = [
    (psutil.Process(each.pid).name(), each.laddr.ip)
    for each in psutil.net_connections("inet")
    if each.status == psutil.CONN_LISTEN and each.pid in ours
]
name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
print(json.dumps({
    "mode": os.environ.get("RAY_AUTH_MODE"), "listening": listening,
    "nodes": [node.name for node in nodes], "left": os.environ.get(name),
}))
assert os.listdir(os.environ["RAY_TMPDIR"])
cluster.close()
assert not os.listdir(os.environ["RAY_TMPDIR"])
"""


@pytest.mark.slow
def test_a_cluster_of_our_own_listens_on_loopback_and_asks_for_a_token(tmp_path):
    pytest.importorskip("ray", minversion="2.60")
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    folder = tempfile.mkdtemp(prefix="ob-")  # short: a socket's path has 107 characters
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={**env, "HOME": str(tmp_path), "RAY_TMPDIR": folder},
        capture_output=True,
        text=True,
        timeout=300,
    )
    os.rmdir(folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["mode"] == "token"
    assert (tmp_path / ".ray" / "auth_token").stat().st_size > 20
    daemons = {name for name, _ in found["listening"]}
    assert {"gcs_server", "raylet"} <= daemons
    elsewhere = [each for each in found["listening"] if not each[1].endswith(("127.0.0.1", "::1"))]
    assert elsewhere == []
    assert found["nodes"] == [os.uname().nodename], "not the address, which all machines share"
    assert found["left"] is None
