"""Every call of Ray, and its errors in plain words."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbench.children import ending_with_us, remove_at_end
from opbench.errors import UserError
from opbench.fleet.nodes import Node, nodes_of

#: A wrong address is reported within this time.
CONNECT_SECONDS = 5.0
#: Starting a Python process and importing opbench on a cold node.
PROBE_SECONDS = 120.0
#: Ray itself ends the process of a driver whose head has not answered for a minute.
HEAD_SECONDS = 20.0
#: A variable of Ray's: 0 where a cluster is of this machine only.
SEVERAL_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


class AgentLost(Exception):
    """An agent, or its node, is gone; one line says how."""


class Cluster:
    """A connection to a Ray cluster. Closing it stops what it started, and nothing else."""

    def __init__(self, ray: Any, ours: bool, folder: Path | None = None) -> None:
        self.ray = ray
        self._ours = ours
        #: Sockets and logs of a cluster that was started here.
        self._folder = folder
        self._nodes: list[Node] = []
        #: Pending requests for facts, by the id of the node.
        self._pending: dict[str, Any] = {}
        self._head = _head(ray)
        #: Since when the head does not answer.
        self._silent: float | None = None

    @classmethod
    def connect(cls, on: str) -> Cluster:
        """The cluster at that address; with `ray`, this machine's, started if need be."""
        os.environ.setdefault("RAY_DEDUP_LOGS", "0")
        # Neither ask the user about usage statistics nor send any.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ModuleNotFoundError:
            raise UserError(
                "a fleet needs Ray, which is not installed: pip install 'opbench[fleet]'"
            ) from None
        if on != "ray":
            _reachable(on)
        if ray.is_initialized():
            if on != "ray":
                raise UserError(f"this process already uses another Ray cluster, not {on}")
            return cls(ray, ours=False)
        _silence_ray()
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if on != "ray":
            _connect(ray, on, namespace="opbench", **quiet)
            return cls(ray, ours=True)
        try:
            with _our_signals():
                ray.init(address="auto", namespace="opbench", **quiet)
        except ConnectionError:
            return cls(ray, ours=True, folder=_start(ray, namespace="opbench", **quiet))
        except (RuntimeError, ValueError) as error:
            raise UserError(f"cannot join the Ray cluster: {_line(error)}") from None
        return cls(ray, ours=True)

    def nodes(self, timeout: float = PROBE_SECONDS) -> list[Node]:
        """The live nodes that have reported their facts; new ones have `timeout` seconds to."""
        if not self._head_answers():
            return [node for node in self._nodes if node.facts]
        try:
            listed = self.ray.nodes()
        except Exception as error:
            raise _gone(error) from None
        self._nodes = nodes_of(listed, self._nodes)
        for node in self._nodes:
            if not node.facts and node.id not in self._pending:
                self._pending[node.id] = self._on(node, _probe(), num_cpus=0).remote()
        facts = self._answers(timeout)
        self._nodes = [replace(node, facts=facts.get(node.id, node.facts)) for node in self._nodes]
        return [node for node in self._nodes if node.facts]

    def _head_answers(self) -> bool:
        """Whether the head can be asked; an error once it has been silent for too long."""
        try:
            if self._head is not None:
                socket.create_connection(self._head, CONNECT_SECONDS).close()
        except OSError as error:
            self._silent = self._silent or time.monotonic()
            if time.monotonic() - self._silent > HEAD_SECONDS:
                raise _gone(error) from None
            return False
        self._silent = None
        return True

    def _answers(self, timeout: float) -> dict[str, dict[str, Any]]:
        """The facts that have arrived by now, by the id of the node."""
        if not self._pending:
            return {}
        pending = {reference: node_id for node_id, reference in self._pending.items()}
        ready, _ = self.ray.wait(list(pending), num_returns=len(pending), timeout=timeout)
        found: dict[str, dict[str, Any]] = {}
        for reference in ready:
            node_id = pending[reference]
            del self._pending[node_id]
            with contextlib.suppress(Exception):  # it died meanwhile
                found[node_id] = self.ray.get(reference)
        return found

    def _on(self, node: Node, target: Any, **options: Any) -> Any:
        """A function or class for Ray to run on that node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(node.id, soft=False)
        return self.ray.remote(target).options(scheduling_strategy=here, **options)

    def share(self, value: Any) -> Any:
        """A reference to what all agents need, sent to each node once."""
        return self.ray.put(value)

    def start_agent(self, node: Node, shared: Any, *, cpus: float, gpus: float) -> Any:
        """An agent on that node. It starts when no other job of the cluster holds the device."""
        from opbench.fleet.agent import Agent

        remote = self._on(node, Agent, num_cpus=cpus, num_gpus=gpus, max_restarts=0)
        return remote.remote(shared)

    def wait(self, references: Sequence[Any], seconds: float) -> list[Any]:
        if not references:
            return []
        try:
            ready, _ = self.ray.wait(list(references), num_returns=len(references), timeout=0)
            if not ready:
                ready, _ = self.ray.wait(list(references), num_returns=1, timeout=seconds)
        except ConnectionError as error:
            raise _gone(error) from None
        return list(ready)

    def answer(self, reference: Any) -> Any:
        """The agent's answer. AgentLost when it is gone; its own error is passed on."""
        from ray import exceptions

        try:
            return self.ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except exceptions.RayError as error:
            raise AgentLost(_line(error)) from None

    def end(self, agent: Any) -> None:
        with contextlib.suppress(Exception):
            self.ray.kill(agent)

    def close(self) -> None:
        if self._ours:
            with contextlib.suppress(Exception):
                self.ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _start(ray: Any, **options: Any) -> Path:
    """Start a cluster of this machine; gives the folder of its files. It asks for a token
    (`RAY_AUTH_MODE`) by default, where Ray knows of tokens."""
    folder = Path(tempfile.mkdtemp(prefix="ob-ray-", dir=os.environ.get("RAY_TMPDIR")))
    remove_at_end(folder)
    # Ray would kill the worker of an agent that ends, before that can end what it has started.
    os.environ.setdefault("RAY_kill_child_processes_on_worker_exit", "0")
    with _on_loopback(), ending_with_us():
        _connect(ray, None, include_dashboard=False, _temp_dir=str(folder), **options)
    return folder


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """A cluster that is started here listens on the loopback interface only.

    Ray replaces the address 127.0.0.1 by one that the network reaches, except on systems where it
    supports no clusters of several machines; this is the switch of those.
    """
    from ray._private import ray_constants

    with contextlib.ExitStack() as undo:
        if hasattr(ray_constants, "ENABLE_RAY_CLUSTER"):
            undo.callback(
                setattr, ray_constants, "ENABLE_RAY_CLUSTER", ray_constants.ENABLE_RAY_CLUSTER
            )
            ray_constants.ENABLE_RAY_CLUSTER = False
        undo.callback(os.environ.pop, SEVERAL_MACHINES, None)  # the daemons have it by then
        os.environ[SEVERAL_MACHINES] = "0"
        yield


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Ray ends the process in its own way on SIGTERM; the command has results to store first."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        main = threading.current_thread() is threading.main_thread()
        if main and before is not None:  # None: not installed from Python
            signal.signal(signal.SIGTERM, before)


def _silence_ray() -> None:
    """Ray prints its daemons' logs of every death; the driver reports it in one line instead."""
    with contextlib.suppress(ImportError):
        from ray._private import worker

        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = lambda *_words, **_named: None


def _probe() -> Callable[[], dict[str, Any]]:
    """A function that describes its node. Sent by value: the node may have another opbench."""

    def describe() -> dict[str, Any]:
        import sys

        facts: dict[str, Any] = {"python": sys.version.split()[0]}
        try:
            import opbench

            facts["opbench"] = opbench.__version__
            from opbench.machine import machine_facts

            known = machine_facts()
            facts["cpu"] = (known.get("cpu") or {}).get("model")
            facts["memory"] = (known.get("memory") or {}).get("total")
            facts["gpus"] = [gpu.get("name") for gpu in known.get("gpus") or ()]
            facts["machine_id"] = (known.get("system") or {}).get("machine_id")
        except Exception as error:
            facts["error"] = f"{type(error).__name__}: {error}"
        return facts

    return describe


def _reachable(on: str) -> None:
    """Fail at once: Ray itself tries for half a minute."""
    host, _, port = on.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"no Ray cluster answers at {on} ({why})") from None


def _connect(ray: Any, address: str | None, **options: Any) -> None:
    try:
        with _our_signals():
            ray.init(address=address, **options)
    except ImportError as error:
        raise UserError(
            f"{address} needs the package {error.name or 'grpcio'}: pip install 'opbench[fleet]'"
        ) from None
    except Exception as error:
        where = address or "a Ray cluster on this machine"
        raise UserError(f"cannot use {where}: {_line(error)}") from None


def _head(ray: Any) -> tuple[str, int] | None:
    """Where the head answers; None where Ray's client talks to it for us."""
    from ray.util.client import ray as client

    if client.is_connected():
        return None
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return host.strip("[]"), int(port)


def _gone(error: BaseException) -> UserError:
    return UserError(
        f"the Ray cluster is gone ({_line(error)}); finished results are kept: continue with --cont"
    )


def _line(error: BaseException) -> str:
    """The most useful line of an error of Ray's, which often has many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return next((line for line in lines if "version" in line.lower()), lines[0])[:300]
