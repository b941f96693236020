"""The processor: its model, how many CPUs can be used, and its current frequency.

Files of /proc and /sys are read directly: that takes milliseconds on every architecture, where
py-cpuinfo takes seconds. py-cpuinfo and lscpu are used only for a name that nothing else gives.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from opbench import children

from . import arm
from .sysfs import ROOT, exists, read, read_int

SYS_CPU = "sys/devices/system/cpu"

#: Instruction sets that numerical libraries choose kernels by. A hypervisor may hide some of
#: them, so two machines with one model name can run different code.
ISA = (
    "sse4_2", "avx", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
    "asimd", "asimdhp", "asimddp", "fphp", "sve", "sve2", "bf16", "i8mm", "svebf16", "sme", "sme2",
)  # fmt: skip

#: A machine may have hundreds of CPUs and each frequency file may wake one: a few suffice.
MAX_FREQUENCY_READS = 8


class CpuTimes(NamedTuple):
    """Ticks of all CPUs together since boot, from /proc/stat."""

    total: int
    idle: int
    steal: int


def cpu_facts(root: Path = ROOT) -> dict[str, Any]:
    blocks = _cpuinfo(root)
    logical = len(blocks) or os.cpu_count() or 1
    physical = _physical_cores(root) or logical
    return {
        "model": _model(root, blocks),
        "revision": _revision(blocks),
        "architecture": platform.machine(),
        "physical_cores": physical,
        "logical_cores": logical,
        "usable_cpus": usable_cpus(),
        "quota_cpus": cpu_quota(root),
        "smt": _smt(root, physical, logical),
        "governor": _governor(root),
        "driver": read(root, f"{SYS_CPU}/cpu0/cpufreq/scaling_driver"),
        "turbo": _turbo(root),
        "mhz_min": _mhz(root, "cpuinfo_min_freq"),
        "mhz_max": _mhz(root, "cpuinfo_max_freq"),
        "isa": _isa(blocks),
        "caches": _caches(root),
    }


def usable_cpus() -> int:
    """How many CPUs the scheduler lets this process run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def mhz_now(root: Path = ROOT) -> float | None:
    """The mean frequency of the first CPUs at this moment, None where the machine hides it."""
    readings = [
        khz / 1000
        for cpu in range(MAX_FREQUENCY_READS)
        if (khz := read_int(root, f"{SYS_CPU}/cpu{cpu}/cpufreq/scaling_cur_freq")) is not None
    ]
    if not readings:  # virtual machines on x86 have no cpufreq but do state a frequency here
        readings = [
            float(block["cpu MHz"])
            for block in _cpuinfo(root)[:MAX_FREQUENCY_READS]
            if re.fullmatch(r"[\d.]+", block.get("cpu MHz", ""))
        ]
    return round(sum(readings) / len(readings), 1) if readings else None


def cpu_times(root: Path = ROOT) -> CpuTimes | None:
    """A reading for `steal_share`; None without /proc/stat."""
    line = (read(root, "proc/stat") or "").splitlines()[:1]
    numbers = [int(word) for word in line[0].split()[1:] if word.isdigit()] if line else []
    if len(numbers) < 8:
        return None
    # The first eight are user nice system idle iowait irq softirq steal; guest time, which
    # follows, is already part of user and nice.
    return CpuTimes(sum(numbers[:8]), numbers[3] + numbers[4], numbers[7])


def steal_share(before: CpuTimes | None, after: CpuTimes | None) -> float | None:
    """The share of *demanded* CPU time that the hypervisor gave to others between two readings.

    Idle time is left out of the denominator: a mostly idle guest that loses half of what it
    demands would otherwise look undisturbed. None when too little ran to say.
    """
    if after is None:
        return None
    before = before or CpuTimes(0, 0, 0)
    wanted = (after.total - after.idle) - (before.total - before.idle)
    if wanted < 200:  # two seconds of work: below that, one tick of steal reads as percents
        return None
    return round(max(0, after.steal - before.steal) / wanted, 5)


def cpu_quota(root: Path = ROOT) -> float | None:
    """CPUs' worth of time that control groups allow, None when unlimited.

    The tightest limit from our own group up to the root counts, in either version of cgroups.
    """
    limits = []
    for line in (read(root, "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for group in _ancestors(path):
            if not controllers:
                for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                    words = (read(root, f"{mount}/{group}/cpu.max") or "").split()
                    limits += _ratio(words)
            elif "cpu" in controllers.split(","):
                for mount in ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"):
                    quota = read(root, f"{mount}/{group}/cpu.cfs_quota_us")
                    period = read(root, f"{mount}/{group}/cpu.cfs_period_us")
                    limits += _ratio([quota or "", period or ""])
    return min(limits) if limits else None


def _ancestors(path: str) -> list[str]:
    parts = [part for part in path.strip("/").split("/") if part and part != ".."]
    return ["/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]


def _ratio(words: list[str]) -> list[float]:
    """Quota over period, as a list so that `max` and `-1` (no limit) add nothing."""
    if len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words):
        return [round(int(words[0]) / int(words[1]), 2)]
    return []


def _cpuinfo(root: Path) -> list[dict[str, str]]:
    """One dictionary per processor."""
    blocks = []
    for text in re.split(r"\n\s*\n", read(root, "proc/cpuinfo") or ""):
        pairs = (line.partition(":") for line in text.splitlines())
        block = {key.strip(): value.strip() for key, colon, value in pairs if colon}
        if "processor" in block:
            blocks.append(block)
    return blocks


def _model(root: Path, blocks: list[dict[str, str]]) -> str:
    names = [
        block.get("model name")
        or arm.core_name(block.get("CPU implementer"), block.get("CPU part"))
        for block in blocks
    ]
    known = list(dict.fromkeys(" ".join(name.split()) for name in names if name))
    if known:
        return " + ".join(known)  # big and little cores have different names
    return _model_from_tools() if root == ROOT else "unknown"


def _revision(blocks: list[dict[str, str]]) -> str | None:
    """`6.207.2` (family, model, stepping) or `r3p1`: virtual machines share vague model names."""
    first = blocks[0] if blocks else {}
    numbers = [first.get(key) for key in ("cpu family", "model", "stepping")]
    if all(numbers):
        return ".".join(str(number) for number in numbers)
    variant, revision = first.get("CPU variant"), first.get("CPU revision")
    return f"r{variant.removeprefix('0x')}p{revision}" if variant and revision else None


@lru_cache(maxsize=1)
def _model_from_tools() -> str:
    if shutil.which("lscpu"):
        try:
            listing = subprocess.run(
                ["lscpu"],
                preexec_fn=children.dying_with_us(),
                capture_output=True,
                text=True,
                timeout=5,
                env={**os.environ, "LC_ALL": "C"},
            ).stdout
            found = re.search(r"^Model name:\s*(\S.*)$", listing, re.MULTILINE)
            if found and found[1].strip() != "-":
                return found[1].strip()
        except (OSError, subprocess.SubprocessError):
            pass
    try:
        import cpuinfo

        return cpuinfo.get_cpu_info().get("brand_raw") or "unknown"
    except Exception:  # it raises on processors it does not know
        return "unknown"


def _isa(blocks: list[dict[str, str]]) -> list[str]:
    first = blocks[0] if blocks else {}
    flags = (first.get("flags") or first.get("Features") or "").split()
    return [name for name in ISA if name in flags]


def _physical_cores(root: Path) -> int | None:
    """Distinct groups of hardware threads; each is one core."""
    folders = (root / SYS_CPU).glob("cpu[0-9]*")
    names = ("core_cpus_list", "thread_siblings_list")  # the second is the older name
    cores = set()
    for folder in folders:
        siblings = [read(root, f"{SYS_CPU}/{folder.name}/topology/{name}") for name in names]
        cores.add(siblings[0] or siblings[1])
    return len(cores - {None}) or None


def _smt(root: Path, physical: int, logical: int) -> bool:
    active = read_int(root, f"{SYS_CPU}/smt/active")
    return logical > physical if active is None else active == 1


def _governor(root: Path) -> str | None:
    governors = {
        text
        for folder in (root / SYS_CPU).glob("cpu[0-9]*")
        if (text := read(root, f"{SYS_CPU}/{folder.name}/cpufreq/scaling_governor"))
    }
    return ", ".join(sorted(governors)) or None


def _turbo(root: Path) -> bool | None:
    """Whether the clock may rise above its nominal value; None where the machine hides it."""
    no_turbo = read_int(root, f"{SYS_CPU}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = read_int(root, f"{SYS_CPU}/cpufreq/boost")
    if boost is None:
        boost = read_int(root, f"{SYS_CPU}/cpu0/cpufreq/boost")
    return None if boost is None else boost == 1


def _mhz(root: Path, name: str) -> float | None:
    khz = read_int(root, f"{SYS_CPU}/cpu0/cpufreq/{name}")
    return None if khz is None else khz / 1000


def _caches(root: Path) -> dict[str, str]:
    caches = {}
    for index in range(8):
        folder = f"{SYS_CPU}/cpu0/cache/index{index}"
        if not exists(root, folder):
            break
        level, size = read(root, f"{folder}/level"), read(root, f"{folder}/size")
        kind = {"Data": "d", "Instruction": "i"}.get(read(root, f"{folder}/type") or "", "")
        if level and size:
            caches[f"L{level}{kind}"] = size
    return caches
