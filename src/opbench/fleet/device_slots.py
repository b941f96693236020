"""A device slot: a share of one device of one node, and the agent that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opbench.fleet.nodes import Node

#: Failed starts of an agent in a row after which its node is excluded.
MAX_FAILED_STARTS = 3


@dataclass
class DeviceSlot:
    node: Node
    #: `cpu` or `gpu`.
    device: str
    #: What it reserves of the node, so that no other job of the cluster runs during a timing.
    cpus: float
    gpus: float
    agent: Any = None
    #: The pending answer: of the agent's start, or of the unit it measures.
    reference: Any = None
    #: Of the unit it measures; None while it starts or is idle.
    ticket: int | None = None
    counting: bool = False
    failed_starts: int = 0

    @property
    def starting(self) -> bool:
        return self.reference is not None and self.ticket is None

    @property
    def idle(self) -> bool:
        return self.agent is not None and self.reference is None


def device_slots(node: Node, slots: Mapping[str, int], devices: set[str]) -> list[DeviceSlot]:
    """The slots of a node for the devices that the plan uses.

    A node's CPUs are divided among its `cpu` slots, so that Ray starts nothing else there. The
    host side of a GPU slot needs a CPU too, but reserves none: no CPU slot may wait for it.
    """
    found = []
    if "cpu" in devices and node.cpus:  # a head started with --num-cpus 0 does no work
        for _ in range(slots["cpu"]):
            found.append(DeviceSlot(node, "cpu", node.cpus / slots["cpu"], 0.0))
    if "gpu" in devices:
        for _ in range(node.gpus * slots["gpu"]):
            found.append(DeviceSlot(node, "gpu", 0.0, 1.0 / slots["gpu"]))
    return found
