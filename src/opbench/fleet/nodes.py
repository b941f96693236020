"""Which nodes exist, what they report about themselves, and which meet the requirements."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.define.reading import as_float
from opbench.errors import UserError
from opbench.fleet.options import size

#: Requirements that are neither labels nor resources of Ray.
CPU_MODEL = "cpu"
GPU_MODEL = "gpu"
MEMORY = "memory"
ACCELERATOR = "ray.io/accelerator-type"


@dataclass(frozen=True)
class Node:
    """A machine of the cluster, as Ray and its own answer describe it."""

    #: Ray's id; a machine that comes back has another.
    id: str
    #: Its name in results and messages.
    name: str
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    #: From the node itself: opbench's version, Python, `cpu`, `gpus`, `memory`.
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cpus(self) -> float:
        return float(self.resources.get("CPU", 0))

    @property
    def gpus(self) -> int:
        return int(self.resources.get("GPU", 0))

    @property
    def memory(self) -> int:
        return int(self.facts.get("memory") or self.resources.get("memory") or 0)

    def lacks(self, key: str, wanted: str) -> str:
        """What it has instead of what is required; empty when it meets the requirement."""
        if key == MEMORY:
            return "" if self.memory >= size(wanted) else f"{self.memory / 2**30:.1f} GiB"
        if key == CPU_MODEL:
            model = str(self.facts.get("cpu") or self.labels.get("cpu") or "an unknown processor")
            return "" if wanted.lower() in model.lower() else model
        if key == GPU_MODEL:
            names = [*map(str, self.facts.get("gpus") or ()), self.labels.get(ACCELERATOR, "")]
            fits = any(name and wanted.lower() in name.lower() for name in names)
            return "" if fits else ", ".join(filter(None, names)) or "no GPU"
        if key in self.labels:
            return "" if self.labels[key] == wanted else self.labels[key]
        if key in self.resources:
            has = self.resources[key]
            least = as_float(wanted)
            return "" if least is not None and has >= least else f"{has:g}"
        return "nothing of that name"

    def meets(self, require: Mapping[str, str]) -> bool:
        return not any(self.lacks(key, wanted) for key, wanted in require.items())


def nodes_of(listed: Iterable[Mapping[str, Any]], known: Iterable[Node] = ()) -> list[Node]:
    """The live nodes that `ray.nodes()` lists, each with a unique name.

    A node seen before keeps its name and its facts.
    """
    before = {node.id: node for node in known}
    alive = {entry["NodeID"]: entry for entry in listed if entry.get("Alive")}
    found = [before[id] for id in alive if id in before]
    taken = {node.name for node in found}
    for id, entry in alive.items():
        if id in before:
            continue
        name = _name(entry)
        if name in taken:  # several on one machine, as in tests
            name = f"{name}-{id[:6]}"
        taken.add(name)
        found.append(Node(id, name, entry.get("Resources") or {}, entry.get("Labels") or {}))
    return found


def _name(entry: Mapping[str, Any]) -> str:
    """The name it was started with, else that of its host; Ray's default name is an address."""
    name = str(entry.get("NodeName") or "")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if name:
            return name
    return str(entry.get("NodeManagerHostname") or name or entry["NodeID"][:12])


def chosen(nodes: Sequence[Node], require: Mapping[str, str]) -> list[Node]:
    """The nodes that meet every requirement; a UserError that says what is missing if none does."""
    fitting = [node for node in nodes if node.meets(require)]
    if fitting:
        return fitting
    count = f"{len(nodes)} node{'s' * (len(nodes) != 1)}"
    for key, wanted in require.items():
        lacking = {node.lacks(key, wanted) for node in nodes}
        if all(lacking):
            has = ", ".join(sorted(lacking))
            raise UserError(f"no node meets {key}={wanted}: {count}, with {has}")
    wanted = ", ".join(f"{key}={value}" for key, value in require.items())
    raise UserError(f"no node meets all of {wanted}: each of {count} lacks one")


def check_versions(nodes: Sequence[Node], version: str) -> None:
    """All nodes must run one version of opbench: they exchange cases, messages and results."""
    for node in nodes:
        found = node.facts.get("opbench")
        if found is None:
            why = f" ({node.facts['error']})" if node.facts.get("error") else ""
            raise UserError(
                f"node {node.name} has no opbench{why}; install 'opbench[fleet]=={version}' there"
            )
        if found != version:
            raise UserError(
                f"node {node.name} has opbench {found} and this is {version}; install the same "
                "version on all nodes"
            )
