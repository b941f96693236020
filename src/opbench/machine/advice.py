"""What about this machine distorts measurements, and what to do about it.

A pure function of the facts: each rule looks at a few of them and says what it found, why that
matters and how to fix it. A rule whose facts are missing says nothing. To add a rule, write a
generator and add it to `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

GIB = 1 << 30


@dataclass(frozen=True)
class Advice:
    #: `warning`: numbers will be wrong or noisy; `note`: good to know, or a feature is missing.
    severity: str
    what: str
    why: str
    #: What to do, with a command where there is one.
    fix: str
    #: The fact it is about, as `section.name`.
    about: str = ""


def advice(facts: Mapping[str, Any]) -> list[Advice]:
    """Warnings first, then notes; within each, in the order of `RULES`. Never raises."""
    look = Look(facts)
    found = [item for rule in RULES for item in rule(look)]
    return sorted(found, key=lambda item: item.severity != "warning")


class Look:
    """Facts, checked as they are read: they may come from an older store or another machine."""

    def __init__(self, facts: Any) -> None:
        self.facts = facts if isinstance(facts, Mapping) else {}

    def get(self, section: str, name: str) -> Any:
        found = self.facts.get(section)
        return found.get(name) if isinstance(found, Mapping) else None

    def number(self, section: str, name: str) -> float | None:
        value = self.get(section, name)
        # bool is an int to isinstance; 2**63 and beyond, or nan, cannot be a fact of a machine
        return float(value) if type(value) in (int, float) and abs(value) < 2**63 else None

    def text(self, section: str, name: str) -> str:
        value = self.get(section, name)
        return value if isinstance(value, str) else ""

    def table(self, section: str, name: str) -> dict[str, Any]:
        value = self.get(section, name)
        return {str(key): value[key] for key in value} if isinstance(value, Mapping) else {}

    def gpus(self) -> list[Look]:
        listed = self.facts.get("gpus")
        cards = listed if isinstance(listed, (list, tuple)) else []
        return [Look({"gpu": card}) for card in cards]


def _load(look: Look) -> Iterator[Advice]:
    load, cores = look.number("load", "load_1m"), look.number("cpu", "logical_cores")
    # Half of the cores: above that, a two-threaded case shares its cores most of the time. The
    # load average is that of the whole machine, so all its CPUs count, not only the usable ones.
    if load is not None and cores and load > cores / 2:
        yield Advice(
            "warning",
            f"Load is {load:.2f} on {cores:.0f} CPUs.",
            "Other programs take turns with the benchmark on the same cores.",
            "Find them with `ps -eo pcpu,pid,args --sort=-pcpu | head` and wait until they end.",
            "load.load_1m",
        )


def _steal(look: Look) -> Iterator[Advice]:
    share = look.number("load", "steal_share")
    if share is not None and share > 0.01:  # beyond the precision most people ask for
        yield Advice(
            "warning",
            f"The hypervisor gave {share:.1%} of our CPU time to other guests.",
            "Blocks stretch at random while another guest runs.",
            "Use a machine with dedicated cores; here, compare only what ran in one run.",
            "load.steal_share",
        )


def _quota(look: Look) -> Iterator[Advice]:
    quota, usable = look.number("cpu", "quota_cpus"), look.number("cpu", "usable_cpus")
    if quota is not None and (usable is None or quota < usable):
        yield Advice(
            "warning",
            f"A control group limits this process to {quota:g} CPU{'' if quota == 1 else 's'}.",
            "Above it, all threads are stopped until the next period (often 100 ms).",
            "Give whole CPUs instead: `docker run --cpuset-cpus=0,1` without `--cpus`.",
            "cpu.quota_cpus",
        )


def _cores(look: Look) -> Iterator[Advice]:
    usable = look.number("cpu", "usable_cpus")
    if usable is not None and 0 < usable < 4:
        yield Advice(
            "warning" if usable < 2 else "note",
            f"Only {usable:.0f} CPU{'s' if usable > 1 else ''} can be used.",
            "A case that uses all of them shares them with everything else that runs.",
            "Keep `--threads` below that number, and close other programs.",
            "cpu.usable_cpus",
        )


def _governor(look: Look) -> Iterator[Advice]:
    governor = look.text("cpu", "governor")
    if governor and governor != "performance":
        yield Advice(
            "warning",
            f"The frequency governor is `{governor}`.",
            "The clock follows the load, so the first blocks run slower than the later ones.",
            "`sudo cpupower frequency-set -g performance` (package linux-cpupower or linux-tools)",
            "cpu.governor",
        )


def _turbo(look: Look) -> Iterator[Advice]:
    if look.get("cpu", "turbo") is True:
        intel = look.text("cpu", "driver").startswith("intel")
        switch = "intel_pstate/no_turbo" if intel else "cpufreq/boost"
        yield Advice(
            "note",
            "Turbo is on.",
            "The clock depends on temperature and on how many cores are busy.",
            f"`echo {1 if intel else 0} | sudo tee /sys/devices/system/cpu/{switch}`",
            "cpu.turbo",
        )


def _smt(look: Look) -> Iterator[Advice]:
    if look.get("cpu", "smt") is True:
        yield Advice(
            "note",
            "Simultaneous multithreading is on.",
            "Two busy threads on one core can halve each other's speed.",
            "`echo off | sudo tee /sys/devices/system/cpu/smt/control`, or pin to one thread per "
            "core with `--cpus`.",
            "cpu.smt",
        )


def _hidden_clock(look: Look) -> Iterator[Advice]:
    hidden = look.get("cpu", "governor") is None and look.get("cpu", "turbo") is None
    if look.text("system", "hypervisor") and hidden:
        yield Advice(
            "note",
            "This virtual machine hides frequency and turbo.",
            "The clock may change between two runs without being noticed.",
            "Compare within one run, where blocks are interleaved, rather than across days.",
            "system.hypervisor",
        )


def _battery(look: Look) -> Iterator[Advice]:
    if look.get("system", "on_battery") is True:
        yield Advice(
            "warning",
            "Running on battery.",
            "Power saving lowers the clock, and lowers it further as the charge falls.",
            "Plug in the charger.",
            "system.on_battery",
        )


def _memory(look: Look) -> Iterator[Advice]:
    known = [look.number("load", "memory_available"), look.number("memory", "limit")]
    free = min((value for value in known if value is not None), default=None)
    if free is not None and free < 2 * GIB:  # a worker with torch and a few layers needs one
        yield Advice(
            "warning",
            f"Only {free / GIB:.1f} GiB of memory can be used.",
            "Cases run one after the other instead of interleaved, or run out of memory.",
            "Close other programs, or raise the memory limit of the container.",
            "load.memory_available",
        )


def _swap(look: Look) -> Iterator[Advice]:
    used = look.number("load", "swap_used")
    if used is not None and used > 64 << 20:  # a few idle pages are swapped out everywhere
        yield Advice(
            "warning",
            f"{used / GIB:.1f} GiB of memory is swapped out.",
            "A page that has to come back from disk costs more than most operators.",
            "Free memory, then `sudo swapoff -a` (and `sudo swapon -a` afterwards).",
            "load.swap_used",
        )


def _aslr(look: Look) -> Iterator[Advice]:
    if look.number("system", "aslr") == 0:
        yield Advice(
            "warning",
            "Address space randomisation is off.",
            "All workers share one memory layout: its bias stays in the numbers, not averaged out.",
            "`sudo sysctl kernel.randomize_va_space=2`, and start opbench without `setarch -R`.",
            "system.aslr",
        )


def _threads(look: Look) -> Iterator[Advice]:
    settings = look.table("python", "threads")
    if settings:
        yield Advice(
            "warning",
            "Set in the environment: " + _assignments(settings) + ".",
            "They affect libraries that `--threads` does not, and results with and without them "
            "are stored separately.",
            "`unset " + " ".join(settings) + "`",
            "python.threads",
        )


def _kernels(look: Look) -> Iterator[Advice]:
    settings = look.table("python", "kernels")
    settings.pop("CUDA_VISIBLE_DEVICES", None)  # the usual way to choose a GPU
    if settings:
        yield Advice(
            "warning",
            "Set in the environment: " + _assignments(settings) + ".",
            "This changes which kernels or which allocator run.",
            "`unset " + " ".join(settings) + "`, unless that is what you want to measure.",
            "python.kernels",
        )


def _interpreter(look: Look) -> Iterator[Advice]:
    if look.get("python", "debug") is True:
        yield Advice(
            "warning",
            "This Python is a debug build.",
            "Every call pays for assertions and reference checks.",
            "Use a release build of Python.",
            "python.version",
        )
    packages = look.get("python", "packages")
    if isinstance(packages, Mapping) and not packages:
        yield Advice(
            "warning",
            "No framework is installed.",
            "There is nothing to measure but plain Python.",
            "`pip install 'opbench[torch]'`",
            "python.packages",
        )


def _tools(look: Look) -> Iterator[Advice]:
    tools = look.facts.get("tools")
    if not isinstance(tools, Mapping) or not tools:  # nobody looked for them
        return
    if not tools.get("valgrind"):
        yield Advice(
            "note",
            "Valgrind is not installed.",
            "Instructions cannot be counted.",
            "`sudo apt-get install valgrind`",
            "tools.valgrind",
        )
    if not tools.get("g++") and not tools.get("clang"):
        yield Advice(
            "note",
            "No C++ compiler is installed.",
            "C++ snippets and `torch.compile` on CPU cannot run.",
            "`sudo apt-get install g++`",
            "tools.g++",
        )


def _gpus(look: Look) -> Iterator[Advice]:
    for index, card in enumerate(look.gpus()):
        name = card.text("gpu", "name") or f"GPU {index}"
        processes, busy = card.number("gpu", "processes"), card.number("gpu", "busy_percent")
        if (processes or 0) > 0 or (busy or 0) > 5:
            yield Advice(
                "warning",
                f"{name} is in use ({processes or 0:.0f} process{'' if processes == 1 else 'es'}, "
                f"{busy or 0:.0f} % busy).",
                "Kernels queue behind those of other processes.",
                "Find them with `nvidia-smi`, or choose another GPU: `CUDA_VISIBLE_DEVICES`.",
                "gpus",
            )
        if card.get("gpu", "persistence") is False:
            yield Advice(
                "note",
                f"Persistence mode is off on {name}.",
                "The driver unloads between processes: each start is slow, clocks begin low.",
                f"`sudo nvidia-smi -i {index} -pm 1`",
                "gpus",
            )
    torch = str(look.table("python", "packages").get("torch", ""))
    if look.gpus() and "+cpu" in torch:
        yield Advice(
            "note",
            f"torch {torch} cannot use the GPU.",
            "It was built for the CPU only.",
            "Install a CUDA build: see pytorch.org/get-started.",
            "python.packages",
        )


def _assignments(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


RULES: tuple[Callable[[Look], Iterator[Advice]], ...] = (
    _load,
    _steal,
    _quota,
    _battery,
    _governor,
    _turbo,
    _smt,
    _cores,
    _hidden_clock,
    _memory,
    _swap,
    _aslr,
    _threads,
    _kernels,
    _interpreter,
    _tools,
    _gpus,
)
