"""Everything that calls Ray, and what its errors mean to a person."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from opbench.errors import UserError
from opbench.fleet.nodes import Node, nodes_of, with_facts

#: A wrong address is told within this time.
CONNECT_SECONDS = 5.0
#: Starting a Python process and importing opbench on a cold node.
PROBE_SECONDS = 120.0


class Lost(Exception):
    """An agent, or its node, is gone; one line says how."""


class Cluster:
    """A connection to a Ray cluster. Closing it ends what it started, and nothing else."""

    def __init__(self, ray: Any, ours: bool) -> None:
        self.ray = ray
        self._ours = ours
        self._nodes: list[Node] = []
        #: Questions to nodes that are not answered yet, by the id of the node.
        self._asked: dict[str, Any] = {}

    @classmethod
    def connect(cls, on: str) -> Cluster:
        """The cluster of that address; with `ray`, this machine's, started when there is none."""
        os.environ.setdefault("RAY_DEDUP_LOGS", "0")
        # A question for the person at the keyboard, and a message to the outside: neither is ours.
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
                raise UserError(f"this process uses another Ray cluster already, not {on}")
            return cls(ray, ours=False)
        _hush()
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if on != "ray":
            _connect(ray, on, namespace="opbench", **quiet)
            return cls(ray, ours=True)
        try:
            ray.init(address="auto", namespace="opbench", **quiet)
        except ConnectionError:
            _connect(ray, None, namespace="opbench", include_dashboard=False, **quiet)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"cannot join the Ray cluster: {_line(error)}") from None
        return cls(ray, ours=True)

    def nodes(self, patience: float = PROBE_SECONDS) -> list[Node]:
        """The living that have told about themselves; new ones are given so long to do it."""
        try:
            told = self.ray.nodes()
        except Exception as error:
            raise UserError(
                f"the Ray cluster is gone ({_line(error)}); what was finished is kept: continue "
                "with --cont"
            ) from None
        self._nodes = nodes_of(told, self._nodes)
        for node in self._nodes:
            if not node.facts and node.id not in self._asked:
                self._asked[node.id] = self._on(node, self.ray.remote(_self_portrait())).remote()
        facts = self._answers(patience)
        self._nodes = [
            with_facts(node, facts[node.id]) if node.id in facts else node for node in self._nodes
        ]
        return [node for node in self._nodes if node.facts]

    def _answers(self, patience: float) -> dict[str, dict[str, Any]]:
        """What those that were asked have answered by now. One that died meanwhile did not."""
        if not self._asked:
            return {}
        asked = {reference: node_id for node_id, reference in self._asked.items()}
        ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=patience)
        found: dict[str, dict[str, Any]] = {}
        for reference in ready:
            node_id = asked[reference]
            del self._asked[node_id]
            with contextlib.suppress(Exception):
                found[node_id] = self.ray.get(reference)
        return found

    def _on(self, node: Node, remote: Any, **options: Any) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(node.id, soft=False)
        return remote.options(num_cpus=0, scheduling_strategy=here, **options)

    def share(self, value: Any) -> Any:
        """What all agents get, sent to each node once."""
        return self.ray.put(value)

    def start_agent(self, node: Node, told: Any, *, cpus: float, gpus: float) -> Any:
        """An agent on that node. It waits while other jobs of the cluster hold the node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from opbench.fleet.agent import Agent

        here = NodeAffinitySchedulingStrategy(node.id, soft=False)
        remote = self.ray.remote(Agent).options(
            num_cpus=cpus, num_gpus=gpus, scheduling_strategy=here, max_restarts=0
        )
        return remote.remote(told)

    def wait(self, references: Sequence[Any], seconds: float) -> list[Any]:
        if not references:
            return []
        try:
            ready, _ = self.ray.wait(list(references), num_returns=len(references), timeout=0)
            if not ready:
                ready, _ = self.ray.wait(list(references), num_returns=1, timeout=seconds)
        except ConnectionError as error:
            raise UserError(
                f"the Ray cluster is gone ({_line(error)}); what was finished is kept: continue "
                "with --cont"
            ) from None
        return list(ready)

    def answer(self, reference: Any) -> Any:
        """What the agent answered. `Lost` when it cannot any more; its own error as it is."""
        from ray import exceptions

        try:
            return self.ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except exceptions.RayError as error:
            raise Lost(_line(error)) from None

    def end(self, agent: Any) -> None:
        with contextlib.suppress(Exception):
            self.ray.kill(agent)

    def close(self) -> None:
        if self._ours:
            with contextlib.suppress(Exception):
                self.ray.shutdown()


def _hush() -> None:
    """Ray prints what its daemons say of every death; the driver tells that in one line itself."""
    with contextlib.suppress(ImportError):
        from ray._private import worker

        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = lambda *_words, **_named: None


def _self_portrait() -> Callable[[], dict[str, Any]]:
    """A function that Ray sends by value: the node may have another opbench, or none."""

    def look() -> dict[str, Any]:
        import os
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
            facts["pid"] = os.getpid()
        return facts

    return look


def _reachable(on: str) -> None:
    """Ray itself tries for half a minute before it says no."""
    host, _, port = on.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        said = error.strerror or str(error)
        raise UserError(f"no Ray cluster answers at {on} ({said})") from None


def _connect(ray: Any, address: str | None, **options: Any) -> None:
    try:
        ray.init(address=address, **options)
    except ImportError as error:
        raise UserError(
            f"{address} needs the package {error.name or 'grpcio'}: pip install 'opbench[fleet]'"
        ) from None
    except Exception as error:
        where = address or "a Ray cluster on this machine"
        raise UserError(f"cannot use {where}: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """The telling line of an error of Ray's, which often has many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return next((line for line in lines if "version" in line.lower()), lines[0])[:300]
