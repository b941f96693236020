"""The machine around the processor: memory, system, virtualisation and power."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from pathlib import Path
from typing import Any

from .sysfs import ROOT, chosen, exists, read, read_int

#: Text in the firmware's names inside a virtual machine, and our name for it.
VENDORS = {
    "QEMU": "qemu",
    "KVM": "kvm",
    "Google Compute Engine": "google",
    "Amazon EC2": "amazon",
    "VMware": "vmware",
    "VirtualBox": "virtualbox",
    "innotek": "virtualbox",
    "Virtual Machine": "microsoft",  # product name of Hyper-V and Azure
    "Xen": "xen",
    "OpenStack": "openstack",
    "Alibaba Cloud": "alibaba",
    "Parallels": "parallels",
}

#: The bit of a process's personality that `setarch -R` and debuggers set.
ADDR_NO_RANDOMIZE = 0x0040000


def memory_facts(root: Path = ROOT) -> dict[str, Any]:
    """Bytes, except for the setting of transparent huge pages."""
    table = _meminfo(root)
    return {
        "total": table.get("MemTotal"),
        "limit": memory_limit(root, table.get("MemTotal")),
        "swap_total": table.get("SwapTotal"),
        "huge_pages": chosen(read(root, "sys/kernel/mm/transparent_hugepage/enabled")),
    }


def memory_now(root: Path = ROOT) -> dict[str, Any]:
    table = _meminfo(root)
    swap = [table.get("SwapTotal"), table.get("SwapFree")]
    return {
        "memory_available": table.get("MemAvailable"),
        "swap_used": None if swap[0] is None or swap[1] is None else swap[0] - swap[1],
    }


def memory_limit(root: Path, total: int | None) -> int | None:
    """The limit of the control groups, None when it is not below what the machine has."""
    limits = []
    for line in (read(root, "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts), -1, -1):
            group = "/".join(parts[:depth])
            if not controllers:
                limits.append(read_int(root, f"sys/fs/cgroup/{group}/memory.max"))
            elif "memory" in controllers.split(","):
                limits.append(read_int(root, f"sys/fs/cgroup/memory/{group}/memory.limit_in_bytes"))
    smallest = min((limit for limit in limits if limit is not None), default=None)
    return smallest if smallest is not None and (total is None or smallest < total) else None


def system_facts(root: Path = ROOT) -> dict[str, Any]:
    release = read(root, "etc/os-release") or ""
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)', release, re.MULTILINE)
    return {
        "machine_id": machine_id(root),
        "os": pretty[1] if pretty else platform.system(),
        "kernel": platform.release(),
        "aslr": address_randomisation(root),
        "hypervisor": hypervisor(root),
        "container": container(root),
        "on_battery": on_battery(root),
    }


def address_randomisation(root: Path = ROOT) -> int | None:
    """The kernel's setting (0 off, 1 partly, 2 fully), 0 when switched off for this process."""
    personality = read(root, "proc/self/personality") or ""
    if re.fullmatch(r"[0-9a-f]+", personality) and int(personality, 16) & ADDR_NO_RANDOMIZE:
        return 0
    return read_int(root, "proc/sys/kernel/randomize_va_space")


def machine_id(root: Path = ROOT) -> str:
    """A stable name for this machine that reveals neither its id nor its host name."""
    raw = (
        read(root, "etc/machine-id")
        or read(root, "var/lib/dbus/machine-id")
        or f"host:{platform.node()}"
    )
    return hashlib.sha256(f"opbench machine {raw}".encode()).hexdigest()[:16]


def hypervisor(root: Path = ROOT) -> str | None:
    """The hypervisor, `yes` when it is unknown which, None on bare metal."""
    kind = read(root, "sys/hypervisor/type")
    if kind:
        return kind
    product = read(root, "sys/class/dmi/id/product_name") or ""
    firmware = f"{read(root, 'sys/class/dmi/id/sys_vendor') or ''} {product}"
    # Cloud providers write the same vendor on machines they rent whole.
    bare = "metal" in product
    if not bare:
        for text, name in VENDORS.items():
            if text in firmware:
                return name
    if re.search(r"^flags\s*:.*\bhypervisor\b", read(root, "proc/cpuinfo") or "", re.MULTILINE):
        return "yes"
    if exists(root, "proc/device-tree/hypervisor"):
        return read(root, "proc/device-tree/hypervisor/compatible") or "yes"
    if "dummy-virt" in (read(root, "proc/device-tree/compatible") or ""):
        return "yes"
    try:  # paravirtual devices exist only inside a virtual machine
        if not bare and any((root / "sys/bus/virtio/devices").iterdir()):
            return "yes"
    except OSError:
        pass
    return None


def container(root: Path = ROOT) -> str | None:
    """`docker`, `podman`, `kubernetes`…, None outside of a container."""
    declared = read(root, "run/systemd/container") or (
        os.environ.get("container") if root == ROOT else None  # noqa: SIM112 (spelt so by systemd)
    )
    if declared:
        return declared
    groups = read(root, "proc/1/cgroup") or ""
    for text, name in (("kubepods", "kubernetes"), ("docker", "docker"), ("lxc", "lxc")):
        if text in groups:
            return name
    if exists(root, ".dockerenv"):
        return "docker"
    return "podman" if exists(root, "run/.containerenv") else None


def on_battery(root: Path = ROOT) -> bool | None:
    """True while a battery discharges; None on machines without one."""
    try:
        supplies = list((root / "sys/class/power_supply").iterdir())
    except OSError:
        return None
    states = []
    for supply in supplies:
        folder = f"sys/class/power_supply/{supply.name}"
        # Mice and headsets have batteries too: those carry the scope `Device`.
        if read(root, f"{folder}/type") == "Battery" and read(root, f"{folder}/scope") != "Device":
            states.append(read(root, f"{folder}/status"))
    return "Discharging" in states if states else None


def load_averages() -> dict[str, Any]:
    try:
        one, five, fifteen = os.getloadavg()
    except OSError:
        return {"load_1m": None, "load_5m": None, "load_15m": None}
    return {"load_1m": round(one, 2), "load_5m": round(five, 2), "load_15m": round(fifteen, 2)}


def _meminfo(root: Path) -> dict[str, int]:
    found = re.findall(r"^(\w+):\s+(\d+) kB", read(root, "proc/meminfo") or "", re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}
