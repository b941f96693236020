"""What is stored of machines and environments, read defensively: facts differ by who wrote them."""

from __future__ import annotations

from typing import Any


def section(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the facts; empty where it is missing, or not of the shape that is expected."""
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def hardware_of(machine: dict[str, Any]) -> str:
    """`Arm Neoverse-N1 × 2`: another processor under the same machine id is another machine."""
    cpu = section(machine, "cpu")
    cores = cpu.get("logical_cores")
    names = (
        f"{cpu.get('model') or ''}{f' × {cores}' if cores else ''}",
        *(str(gpu.get("name")) for gpu in machine.get("gpus") or () if isinstance(gpu, dict)),
    )
    return ", ".join(name for name in names if name)


def machine_of(facts: dict[str, Any]) -> str:
    """What makes numbers of two runs comparable: the machine, not its load."""
    cpu = section(facts, "cpu")
    known = str(section(facts, "system").get("machine_id") or "")
    return known or f"{cpu.get('model')}/{cpu.get('logical_cores')}"


def machine_and_hardware(facts: dict[str, Any]) -> str:
    return f"{machine_of(facts)} {hardware_of(facts)}"


def packages_of(interpreter: dict[str, Any]) -> dict[str, str]:
    """Versions by name: of the frameworks found, and of all that a built environment pins."""
    pinned = (str(pin).partition("==") for pin in interpreter.get("installed") or ())
    found = {name: version for name, _, version in pinned if version}
    return {**found, **section(interpreter, "packages")}
