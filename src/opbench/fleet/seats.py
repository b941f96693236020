"""Where an agent sits: one device of one node, and what it is doing there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opbench.fleet.nodes import Node

#: Starts of an agent that may fail in a row before its node is left out.
MOST_FAILED_STARTS = 3


@dataclass
class Seat:
    node: Node
    #: `cpu` or `gpu`.
    device: str
    #: What of the node it holds, so that no other job of the cluster runs beside a timing.
    cpus: float
    gpus: float
    agent: Any = None
    #: What is waited for: the agent's first answer, or that of the parcel it measures.
    reference: Any = None
    #: Of the parcel it measures; None while it starts, or waits for one.
    ticket: int | None = None
    counting: bool = False
    failed_starts: int = 0

    @property
    def starting(self) -> bool:
        return self.reference is not None and self.ticket is None

    @property
    def idle(self) -> bool:
        return self.agent is not None and self.reference is None


def seats_of(node: Node, slots: Mapping[str, int], devices: set[str]) -> list[Seat]:
    """The seats of a node for the devices that the plan uses.

    A node's processors are shared out to its `cpu` seats, so that Ray starts nothing else there. A
    GPU's caller needs a processor too, but no CPU seat may wait for it: it asks Ray for none.
    """
    found = []
    if "cpu" in devices and node.cpus:  # a head started with --num-cpus 0 is to do nothing
        for _ in range(slots["cpu"]):
            found.append(Seat(node, "cpu", node.cpus / slots["cpu"], 0.0))
    if "gpu" in devices:
        for _ in range(node.gpus * slots["gpu"]):
            found.append(Seat(node, "gpu", 0.0, 1.0 / slots["gpu"]))
    return found
