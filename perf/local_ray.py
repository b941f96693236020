"""A real Ray cluster of several nodes on this machine, in a temporary folder.

Each node is a raylet with its own workers, as on another machine. The nodes share the processors,
so this shows that a fleet works and what it costs, not how fast it is.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Unavailable(Exception):
    """Why no cluster can be started here."""


class LocalCluster:
    def __init__(self, client_port: int | None) -> None:
        from ray.cluster_utils import Cluster

        head: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False}
        head["node_name"] = "head"
        self.client_port = client_port
        if client_port is not None:
            head["ray_client_server_port"] = client_port
        # The head measures nothing: what dies in a test must not be the cluster itself.
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.nodes: dict[str, Any] = {}

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(
        self, name: str, *, cpus: int = 1, labels: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        if threading.current_thread() is not threading.main_thread():
            # Ray would install a signal handler, which only the main thread may.
            self._cluster._shutdown_at_exit = False
        self.nodes[name] = self._cluster.add_node(
            node_name=name, num_cpus=cpus, labels=dict(labels or {}), **more
        )

    def remove(self, name: str) -> None:
        """Kill all processes of the node, as a power failure would."""
        self._cluster.remove_node(self.nodes.pop(name), allow_graceful=False)

    def close(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()


@contextmanager
def ray_cluster(*names: str, client_port: int | None = None) -> Iterator[LocalCluster]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        raise Unavailable("Ray is not installed: pip install 'opbench[fleet]'") from None
    # Short, because a socket path may have 107 characters, and Ray adds 70.
    folder = tempfile.mkdtemp(prefix="ob-ray-")
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = folder
    try:
        cluster = LocalCluster(client_port)
        try:
            for name in names:
                cluster.add(name)
            yield cluster
        finally:
            cluster.close()
    finally:
        if before is None:
            del os.environ["RAY_TMPDIR"]
        else:
            os.environ["RAY_TMPDIR"] = before
        shutil.rmtree(folder, ignore_errors=True)
