"""Machine facts, read from folders that look like machines we do not have."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.machine import (
    CpuTimes,
    fingerprint,
    machine_facts,
    static_facts,
    steal_share,
    volatile_facts,
)
from opbench.machine.arm import core_name
from opbench.machine.cpu import cpu_facts, cpu_quota, cpu_times, mhz_now
from opbench.machine.host import (
    address_randomisation,
    container,
    hypervisor,
    machine_id,
    memory_facts,
    memory_now,
    on_battery,
)
from opbench.machine.torch_build import read_build
from opbench.worker.main import command
from opbench.worker.probe import facts as worker_facts

CPU = "sys/devices/system/cpu"


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """An Intel laptop: two cores with two threads each, on battery."""
    block = (
        "processor\t: {}\nmodel name\t: Intel(R) Core(TM)  i5-8250U CPU @ 1.60GHz\n"
        "cpu family\t: 6\nmodel\t\t: 142\nstepping\t: 10\nflags\t\t: {}\n"
    )
    flags = "fpu sse4_2 avx fma avx2"
    files = {
        "proc/cpuinfo": "\n".join(block.format(cpu, flags) for cpu in range(4)),
        "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n"
        "SwapTotal: 1000 kB\nSwapFree: 400 kB\n",
        "proc/sys/kernel/randomize_va_space": "2\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/class/power_supply/AC/type": "Mains\n",
        "sys/class/power_supply/BAT0/type": "Battery\n",
        "sys/class/power_supply/BAT0/status": "Discharging\n",
        f"{CPU}/smt/active": "1\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        f"{CPU}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
        f"{CPU}/cpu0/cpufreq/cpuinfo_min_freq": "400000\n",
        f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "3400000\n",
        f"{CPU}/cpu0/cache/index0/level": "1\n",
        f"{CPU}/cpu0/cache/index0/type": "Data\n",
        f"{CPU}/cpu0/cache/index0/size": "32K\n",
    }
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_governor"] = "powersave\n"
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq"] = f"{1_000_000 + cpu * 200_000}\n"
        files[f"{CPU}/cpu{cpu}/topology/core_cpus_list"] = f"{cpu % 2},{cpu % 2 + 2}\n"
    return machine(tmp_path, files)


def test_an_intel_laptop_is_read_whole(laptop: Path) -> None:
    cpu = cpu_facts(laptop)
    assert cpu["model"] == "Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz"
    assert cpu["revision"] == "6.142.10"
    assert (cpu["physical_cores"], cpu["logical_cores"], cpu["smt"]) == (2, 4, True)
    assert (cpu["governor"], cpu["driver"], cpu["turbo"]) == ("powersave", "intel_pstate", True)
    assert (cpu["mhz_min"], cpu["mhz_max"]) == (400.0, 3400.0)
    assert cpu["isa"] == ["sse4_2", "avx", "fma", "avx2"]
    assert cpu["caches"] == {"L1d": "32K"}
    assert mhz_now(laptop) == 1300.0  # mean of 1000, 1200, 1400, 1600
    assert hypervisor(laptop) is None
    assert container(laptop) is None
    assert on_battery(laptop) is True
    assert memory_facts(laptop)["huge_pages"] == "madvise"
    assert memory_now(laptop) == {"memory_available": 4_096_000_000, "swap_used": 600 * 1024}


def test_arm_cores_get_their_names_and_two_kinds_are_joined(tmp_path: Path) -> None:
    part = (
        "processor\t: {}\nCPU implementer\t: 0x41\nCPU part\t: {}\n"
        "CPU variant\t: 0x3\nCPU revision\t: 1\nFeatures\t: asimd sve\n"
    )
    root = machine(
        tmp_path,
        {"proc/cpuinfo": part.format(0, "0xd05") + "\n" + part.format(1, "0xd0b")},
    )
    assert cpu_facts(root)["model"] == "Arm Cortex-A55 + Arm Cortex-A76"
    assert cpu_facts(root)["isa"] == ["asimd", "sve"]
    assert cpu_facts(root)["revision"] == "r3p1"
    assert core_name("0x41", "0xd0c") == "Arm Neoverse-N1"
    assert core_name("0x41", "0xfff") is None
    assert core_name(None, "0xd0c") is None


def test_a_machine_that_tells_nothing_reads_as_unknown(tmp_path: Path) -> None:
    cpu = cpu_facts(tmp_path)
    assert cpu["model"] == "unknown"
    assert cpu["logical_cores"] >= 1
    assert [cpu[key] for key in ("governor", "turbo", "mhz_max", "quota_cpus")] == [None] * 4
    assert cpu_times(tmp_path) is None
    assert mhz_now(tmp_path) is None
    assert on_battery(tmp_path) is None
    assert address_randomisation(tmp_path) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CPU}/cpufreq/boost": "1"}, True),
        ({f"{CPU}/cpufreq/boost": "0"}, False),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, False),
        ({f"{CPU}/cpu0/cpufreq/boost": "1"}, True),
        ({f"{CPU}/cpufreq/boost": "garbage"}, None),
    ],
)
def test_turbo(tmp_path: Path, files: dict[str, str], expected: bool | None) -> None:
    assert cpu_facts(machine(tmp_path, files))["turbo"] is expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # Version 2: the tightest of our own group and its parents.
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
                "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            },
            1.5,
        ),
        # Version 1, with the limit on the group that the container sees as its root.
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/x\n0::/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_cpu_quota(tmp_path: Path, files: dict[str, str], expected: float | None) -> None:
    assert cpu_quota(machine(tmp_path, files)) == expected


def test_memory_limit_counts_only_below_what_the_machine_has(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/job\n", "proc/meminfo": "MemTotal: 1000 kB\n"}
    root = machine(tmp_path, {**files, "sys/fs/cgroup/job/memory.max": "512000\n"})
    assert memory_facts(root)["limit"] == 512_000
    machine(tmp_path, {"sys/fs/cgroup/job/memory.max": "9223372036854771712\n"})
    assert memory_facts(root)["limit"] is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "qemu"),
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        (
            {
                "sys/class/dmi/id/sys_vendor": "Amazon EC2",
                "sys/class/dmi/id/product_name": "c6g.metal",
            },
            None,
        ),
        (
            {
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
                "sys/class/dmi/id/product_name": "Virtual Machine",
            },
            "microsoft",
        ),
        (
            {
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
                "sys/class/dmi/id/product_name": "Surface Pro",
            },
            None,
        ),
        ({"proc/cpuinfo": "processor : 0\nflags\t\t: fpu hypervisor avx\n"}, "yes"),
        ({"proc/device-tree/compatible": "linux,dummy-virt\0"}, "yes"),
        ({"sys/bus/virtio/devices/virtio0/x": ""}, "yes"),
    ],
)
def test_hypervisor(tmp_path: Path, files: dict[str, str], expected: str | None) -> None:
    assert hypervisor(machine(tmp_path, files)) == expected


def test_containers_and_devices_with_batteries(tmp_path: Path) -> None:
    mouse = "sys/class/power_supply/mouse"
    root = machine(
        tmp_path,
        {
            "proc/1/cgroup": "0::/kubepods/pod1\n",
            f"{mouse}/type": "Battery",
            f"{mouse}/scope": "Device",
            f"{mouse}/status": "Discharging",
        },
    )
    assert container(root) == "kubernetes"
    assert on_battery(root) is None


def test_address_randomisation_sees_setarch(tmp_path: Path) -> None:
    root = machine(tmp_path, {"proc/sys/kernel/randomize_va_space": "2\n"})
    assert address_randomisation(root) == 2
    machine(tmp_path, {"proc/self/personality": "00040000\n"})
    assert address_randomisation(root) == 0


def test_the_machine_id_is_stable_and_not_the_raw_one(tmp_path: Path) -> None:
    root = machine(tmp_path, {"etc/machine-id": "0123456789abcdef0123456789abcdef\n"})
    assert machine_id(root) == machine_id(root)
    assert len(machine_id(root)) == 16
    assert machine_id(root) not in "0123456789abcdef0123456789abcdef"


def test_steal_is_a_share_of_the_time_wanted(tmp_path: Path) -> None:
    root = machine(tmp_path, {"proc/stat": "cpu  900 0 0 9000 0 0 0 100 7 7\ncpu0 1\n"})
    now = cpu_times(root)
    assert now == CpuTimes(total=10_000, idle=9_000, steal=100)
    assert steal_share(None, now) == 0.1  # 100 of the 1000 ticks that were not idle
    assert steal_share(now, now) is None
    assert steal_share(None, None) is None


def test_machine_facts_are_json_and_complete() -> None:
    facts = machine_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert set(facts) == {
        "cpu", "memory", "system", "load", "python", "tools", "git", "gpus", "gpu_note",
    }  # fmt: skip
    assert facts["cpu"]["usable_cpus"] >= 1
    assert facts["python"]["version"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}")
    assert set(volatile_facts(facts)) >= {"load_1m", "steal_share", "mhz_now"}
    assert not set(static_facts(facts)) & set(volatile_facts(facts))


def test_facts_outside_a_repository_have_no_commit(tmp_path: Path) -> None:
    assert machine_facts(project=tmp_path)["git"] is None


def test_facts_import_no_framework() -> None:
    """Neither torch nor anything heavy may enter the process that later starts workers."""
    code = (
        "import sys; from opbench.machine import machine_facts; machine_facts();"
        "print([m for m in ('torch', 'numpy', 'scipy', 'pandas', 'cpuinfo') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_the_fingerprint_depends_on_content_not_on_order(static: dict[str, object]) -> None:
    backwards = dict(reversed(static.items()))
    mark = fingerprint(static, {"version": "3.11"})
    assert mark == fingerprint(backwards, {"version": "3.11"})
    assert len(mark) == 16
    assert int(mark, 16) >= 0


@pytest.mark.parametrize(
    ("key", "value", "same"),
    [
        ("packages", {"torch": "2.12"}, False),
        ("threads", {"OMP_NUM_THREADS": "1"}, False),
        ("version", "3.12.0", False),
        ("executable", "/elsewhere/python", True),
        ("build", "another day", True),
    ],
)
def test_what_makes_another_environment(key: str, value: object, same: bool) -> None:
    base = {
        "version": "3.11.0", "packages": {"torch": "2.13"}, "threads": {}, "executable": "/bin/py",
    }  # fmt: skip
    mark = fingerprint({"model": "x"}, base)
    assert (mark == fingerprint({"model": "x"}, {**base, key: value})) is same
    assert mark != fingerprint({"model": "y"}, base)


def test_another_load_is_the_same_machine() -> None:
    facts = {"cpu": {"model": "x"}, "load": {"load_1m": 0.1}, "gpus": []}
    busy = {**facts, "load": {"load_1m": 9.0}}
    assert static_facts(facts) == static_facts(busy)
    card = {**facts, "gpus": [{"name": "H200", "mhz_now": 1980}]}
    assert static_facts(card)["gpus"] == ["H200"]
    assert volatile_facts(card)["gpus_now"][0]["mhz_now"] == 1980
    assert not set(static_facts(card)) & set(volatile_facts(card))


def test_the_facts_are_read_in_an_isolated_interpreter() -> None:
    python, *arguments = command(sys.executable, "probe.facts")
    done = subprocess.run(
        [python, "-I", *arguments], capture_output=True, text=True, check=True, timeout=600
    )
    # What a PYTHONPATH adds is not seen in isolation; what is seen has the same version.
    seen = json.loads(done.stdout)["packages"]
    assert seen
    assert seen.items() <= worker_facts.package_versions().items()


def test_versions_are_those_of_the_installed_records() -> None:
    """As `importlib.metadata` reads them, of everything that is installed here."""
    found = worker_facts.records()
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        expected = importlib.metadata.version(distribution.metadata["Name"])
        assert worker_facts.version_of(found[name]) == expected


def test_records_of_every_form_and_damaged_ones(tmp_path: Path) -> None:
    def written(path: str, text: bytes) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text)

    written(
        "first/Some_Name-2.0+cpu.dist-info/METADATA", b"Name: x\nversion:  2.0+cpu \n\nVersion: 9"
    )
    written("second/some_name-1.0.dist-info/METADATA", b"Version: 1.0\n")
    written("second/old-3.0-py3.11.egg-info/PKG-INFO", b"Version: 3.0\n")
    written("second/older-4.0.egg-info", b"Version: 4.0\n")
    written("second/silent-5.0.dist-info/METADATA", b"Name: silent\n\nVersion: 5.0\n")
    written("second/damaged-6.0.dist-info/METADATA", b"\xff\xfe\x00")
    (tmp_path / "second" / "empty-7.0.dist-info").mkdir()
    folders = [str(tmp_path / name) for name in ("nowhere", "first", "second")]
    found = worker_facts.records([*folders, str(tmp_path / "second" / "older-4.0.egg-info")])
    assert {name: worker_facts.version_of(path) for name, path in found.items()} == {
        "some-name": "2.0+cpu",
        "old": "3.0",
        "older": "4.0",
        "silent": None,
        "damaged": None,
        "empty": None,
    }
    assert worker_facts.version_of(found.get("absent")) is None


def test_thread_settings_lists_only_what_is_set() -> None:
    environ = {"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "", "HOME": "/root"}
    assert worker_facts.thread_settings(environ) == {"OMP_NUM_THREADS": "4"}
    assert worker_facts.kernel_settings({"LD_PRELOAD": "x.so"}) == {"LD_PRELOAD": "x.so"}


def test_the_blas_of_numpy_is_read_from_its_text() -> None:
    record = 'CONFIG = f({"Build Dependencies": {"blas": {"name": "openblas", "version": "0.3"}}})'
    assert worker_facts._blas_of_record(record) == "openblas 0.3"
    assert worker_facts._blas_of_record("CONFIG = {}") == ""


def test_what_torch_tells_on_x86() -> None:
    show = (
        "PyTorch built with:\n  - GCC 11.4\n"
        "  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605\n"
        "  - Intel(R) MKL-DNN v3.7.1 (Git Hash 8d)\n  - OpenMP 201511 (a.k.a. OpenMP 4.5)\n"
        "  - CPU capability usage: AVX512\n  - Build settings: BLAS_INFO=mkl, USE_CUDA=0\n"
    )
    parallel = "ATen/Parallel:\n\tat::get_num_threads() : 8\nATen parallel backend: OpenMP\n"
    assert read_build(show, parallel) == {
        "blas": "mkl",
        "mkl": "2024.2",
        "onednn": "3.7.1",
        "openmp": "201511",
        "capability": "AVX512",
        "compiler": "GCC 11.4",
        "threads": 8,
        "backend": "OpenMP",
    }
    assert set(read_build("", "").values()) == {None}
