"""A real Ray cluster of several nodes on this machine, in a temporary folder.

Each node is a raylet with its own workers, as on another machine. The nodes share the processors,
so this shows that a fleet works and what it costs, not how fast it is.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

#: A node may take so long to start: on a loaded machine, Ray's own 30 seconds are too short.
START_SECONDS = 300


class Unavailable(Exception):
    """Why no cluster can be started here."""


class LocalCluster:
    def __init__(self, client_port: int | None) -> None:
        from ray.cluster_utils import Cluster

        head: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True}
        head |= {"node_name": "head", "include_log_monitor": False, **_ports()}
        self.client_port = client_port
        if client_port is not None:
            head["ray_client_server_port"] = client_port
        # The head measures nothing: what dies in a test must not be the cluster itself.
        with _patient():
            self._cluster: Any = Cluster(initialize_head=True, head_node_args=head)
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
        with _patient():
            self.nodes[name] = self._cluster.add_node(
                node_name=name,
                num_cpus=cpus,
                labels={"place": name, **(labels or {})},
                **_ports(),
                **more,
            )

    def remove(self, name: str) -> None:
        """Kill all processes of the node, as a power failure would."""
        self._cluster.remove_node(self.nodes.pop(name), allow_graceful=False)

    def head_pids(self) -> list[int]:
        """The processes of the head, its table of everything (GCS) included."""
        return [
            each.process.pid
            for kind in self._cluster.head_node.all_processes.values()
            for each in kind
        ]

    def close(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()


def _ports() -> dict[str, int]:
    """Ports of a node's agents. Those they chose themselves a node awaits for 30 s, then aborts."""
    names = (
        "metrics_agent_port",
        "metrics_export_port",
        "dashboard_agent_listen_port",
        "runtime_env_agent_port",
    )
    with ExitStack() as sockets:
        found = {}
        for name in names:
            free = sockets.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            found[name] = int(free.getsockname()[1])
    return found


@contextmanager
def _patient() -> Iterator[None]:
    """Ray waits as long as a loaded machine needs; only some of its limits are settings."""
    from ray._private import services
    from ray.cluster_utils import Cluster

    get_node = services.get_node

    def get_node_when_registered(gcs_address: str, node_id: str) -> Any:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return get_node(gcs_address, node_id)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def wait_for_node(_self: Cluster, node: Any) -> None:
        services.wait_for_node(node.gcs_address, node.plasma_store_socket_name, START_SECONDS)

    settings = {
        "RAY_gcs_server_port_wait_time_s": START_SECONDS,
        "RAY_agent_register_timeout_ms": START_SECONDS * 1000,
        "RAY_worker_register_timeout_seconds": START_SECONDS,
    }
    with (
        patch.dict(os.environ, {name: str(value) for name, value in settings.items()}),
        patch.object(services, "get_node", get_node_when_registered),
        patch.object(Cluster, "_wait_for_node", wait_for_node),
    ):
        yield


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
