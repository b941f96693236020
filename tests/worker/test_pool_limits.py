"""How much memory the pool counts as free: that of the machine, or of the control group."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbench.worker.pool.limits import MEMORY_SHARE, Limits, available

MACHINE = "MemTotal: 99 kB\nMemAvailable:    8000000 kB\n"


def system(root: Path, cgroup: str, **groups: dict[str, str]) -> str:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(MACHINE)
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, files in groups.items():
        folder = root / "sys/fs/cgroup" / name.replace("__", "/")
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file.replace("_", ".", 1)).write_text(text)
    return str(root)


def test_without_limits_it_is_what_the_machine_has(tmp_path):
    unlimited = {"memory_max": "max\n", "memory_current": "5\n"}
    root = system(tmp_path, "0::/user/shell\n", user__shell=unlimited)
    assert available(root) == 8_000_000 * 1024


@pytest.mark.parametrize("inner", ["max", "900000000"])
def test_the_narrowest_group_around_the_process_counts(tmp_path, inner):
    root = system(
        tmp_path,
        "0::/box/shell\n",
        box={"memory_max": "1000000000", "memory_current": "600000000"},
        box__shell={"memory_max": inner, "memory_current": "100000000"},
    )
    assert available(root) == 400_000_000


def test_groups_of_version_1(tmp_path):
    root = system(
        tmp_path,
        "4:memory:/box\n1:cpu:/elsewhere\n",
        memory__box={"memory_limit_in_bytes": "3000", "memory_usage_in_bytes": "1000"},
    )
    assert available(root) == 2000


def test_what_starts_hold_already_is_counted_as_theirs():
    free = available()
    assert Limits().memory(0) == pytest.approx(MEMORY_SHARE * free, rel=0.2)
    assert Limits().memory(4e12) > MEMORY_SHARE * 4e12
    assert Limits(memory=5.0).memory(1e9) == 5.0


def test_groups_with_the_same_limits_are_alike(tmp_path):
    from opbench.worker.pool.peer import LIMITS_1, group_limits

    def limits(path: str) -> list:
        return group_limits(str(tmp_path), path, LIMITS_1["memory"])

    for name, limit in (("a", "9223372036854771712"), ("b", "9223372036854771712"), ("c", "1000")):
        (tmp_path / "terminals" / name).mkdir(parents=True)
        (tmp_path / "terminals" / name / "memory.limit_in_bytes").write_text(f"{limit}\n")
    assert limits("/terminals/a") == limits("/terminals/b") == []
    assert limits("/terminals/c") == [["memory.limit_in_bytes", "1000"]]
    (tmp_path / "terminals" / "memory.limit_in_bytes").write_text("5000\n")
    assert limits("/terminals/a") == [["memory.limit_in_bytes", "5000"]]
