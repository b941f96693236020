"""Advice on synthetic facts: each rule speaks when it should and is silent when it should."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.machine.advice import GIB, advice

QUIET: dict[str, Any] = {
    "cpu": {
        "model": "x", "architecture": "x86_64", "physical_cores": 8, "logical_cores": 8,
        "usable_cpus": 8, "quota_cpus": None, "smt": False, "governor": "performance",
        "driver": "intel_pstate", "turbo": False,
    },
    "memory": {"total": 32 * GIB, "limit": None, "swap_total": 0},
    "system": {"aslr": 2, "hypervisor": None, "container": None, "on_battery": None},
    "load": {"load_1m": 0.1, "steal_share": 0.0, "memory_available": 30 * GIB, "swap_used": 0},
    "python": {"debug": False, "packages": {"torch": "2.13.0"}, "threads": {}, "kernels": {}},
    "tools": {"valgrind": "3.19.0", "g++": "12.2.0", "clang": None},
    "gpus": [],
}  # fmt: skip


def changed(section: str, **values: Any) -> dict[str, Any]:
    return {**QUIET, section: {**QUIET[section], **values}}


def test_a_quiet_machine_gets_no_advice() -> None:
    assert advice(QUIET) == []


@pytest.mark.parametrize(
    ("section", "values", "severity", "about", "words"),
    [
        ("load", {"load_1m": 4.5}, "warning", "load.load_1m", "4.50 on 8"),
        ("load", {"steal_share": 0.02}, "warning", "load.steal_share", "2.0%"),
        ("load", {"memory_available": GIB}, "warning", "load.memory_available", "1.0 GiB"),
        ("load", {"swap_used": GIB}, "warning", "load.swap_used", "1.0 GiB"),
        ("cpu", {"governor": "powersave"}, "warning", "cpu.governor", "cpupower"),
        ("cpu", {"turbo": True}, "note", "cpu.turbo", "echo 1 | sudo tee"),
        ("cpu", {"turbo": True, "driver": "amd-pstate"}, "note", "cpu.turbo", "cpufreq/boost"),
        ("cpu", {"smt": True}, "note", "cpu.smt", "smt/control"),
        ("cpu", {"usable_cpus": 1}, "warning", "cpu.usable_cpus", "Only 1 CPU can"),
        ("cpu", {"usable_cpus": 2}, "note", "cpu.usable_cpus", "Only 2 CPUs can"),
        ("cpu", {"quota_cpus": 1.5}, "warning", "cpu.quota_cpus", "1.5 CPUs"),
        ("memory", {"limit": GIB}, "warning", "load.memory_available", "1.0 GiB"),
        ("system", {"on_battery": True}, "warning", "system.on_battery", "charger"),
        ("system", {"aslr": 0}, "warning", "system.aslr", "randomize_va_space=2"),
        ("python", {"threads": {"OMP_NUM_THREADS": "4"}}, "warning", "python.threads",
         "`unset OMP_NUM_THREADS`"),
        ("python", {"kernels": {"LD_PRELOAD": "a.so"}}, "warning", "python.kernels", "LD_PRELOAD"),
        ("python", {"debug": True}, "warning", "python.version", "debug build"),
        ("python", {"packages": {}}, "warning", "python.packages", "pip install"),
        ("tools", {"valgrind": None}, "note", "tools.valgrind", "apt-get install valgrind"),
        ("tools", {"g++": None}, "note", "tools.g++", "apt-get install g++"),
    ],
)  # fmt: skip
def test_each_trouble_has_its_advice(
    section: str, values: dict[str, Any], severity: str, about: str, words: str
) -> None:
    (item,) = advice(changed(section, **values))
    assert (item.severity, item.about) == (severity, about)
    assert words in f"{item.what} {item.why} {item.fix}"
    assert item.fix


def test_choosing_a_card_or_having_only_clang_is_no_trouble() -> None:
    assert advice(changed("python", kernels={"CUDA_VISIBLE_DEVICES": "1"})) == []
    assert advice(changed("tools", **{"g++": None, "clang": "17.0.1"})) == []
    assert advice(changed("cpu", quota_cpus=8.0)) == []


def test_a_virtual_machine_is_remarked_on_only_when_it_hides_its_clock() -> None:
    virtual = changed("system", hypervisor="kvm")
    assert advice(virtual) == []
    virtual["cpu"] = {**QUIET["cpu"], "governor": None, "turbo": None}
    assert [item.about for item in advice(virtual)] == ["system.hypervisor"]


def test_cards_in_use_without_persistence_or_out_of_reach() -> None:
    card = {"name": "H200", "processes": 0, "busy_percent": 0, "persistence": True}
    assert advice({**QUIET, "gpus": [card]}) == []
    (busy,) = advice({**QUIET, "gpus": [{**card, "processes": 2, "busy_percent": 80}]})
    assert (busy.severity, "2 processes, 80 % busy" in busy.what) == ("warning", True)
    (cold,) = advice({**QUIET, "gpus": [card, {**card, "persistence": False}]})
    assert cold.fix == "`sudo nvidia-smi -i 1 -pm 1`"
    unreachable = changed("python", packages={"torch": "2.13.0+cpu"})
    (blind,) = advice({**unreachable, "gpus": [card]})
    assert "cannot use the GPU" in blind.what


def test_warnings_come_before_notes() -> None:
    facts = changed("cpu", turbo=True, smt=True)
    facts["load"] = {**QUIET["load"], "swap_used": GIB}
    assert [item.severity for item in advice(facts)] == ["warning", "note", "note"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)


@given(data=st.data())
def test_it_never_raises_whatever_is_missing_or_odd(data: st.DataObject) -> None:
    facts: dict[str, Any] = {}
    for section, content in QUIET.items():
        shape = data.draw(st.sampled_from(["absent", "odd", "holes"]))
        if shape == "odd":
            facts[section] = data.draw(values)
        elif shape == "holes" and isinstance(content, dict):
            kept = data.draw(st.sets(st.sampled_from(sorted(content))))
            facts[section] = {key: data.draw(values) for key in kept}
    for item in advice(facts):
        assert item.severity in ("warning", "note")
        assert item.what
        assert item.why
        assert item.fix
