"""The doctor's page: readable at any width, complete as JSON, and never an error."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from opbench.cli import doctor as page
from opbench.machine.advice import advice

FACTS: dict[str, Any] = {
    "cpu": {
        "model": "AMD EPYC 7B13", "architecture": "x86_64", "physical_cores": 4,
        "logical_cores": 8, "usable_cpus": 8, "quota_cpus": None, "smt": True,
        "governor": "schedutil", "driver": "acpi-cpufreq", "turbo": True, "mhz_min": 1500.0,
        "mhz_max": 3500.0, "isa": ["avx2"], "caches": {"L1d": "32K"},
    },
    "memory": {"total": 32 << 30, "limit": None, "swap_total": 0, "huge_pages": "always"},
    "system": {
        "os": "Debian", "kernel": "6.1", "aslr": 2, "hypervisor": "kvm", "container": None,
        "on_battery": None,
    },
    "load": {
        "load_1m": 0.5, "load_5m": 0.25, "load_15m": 0.1, "steal_share": 0.03, "mhz_now": 2450.0,
        "memory_available": 30 << 30, "swap_used": 0,
    },
    "python": {
        "version": "3.12.1", "implementation": "CPython", "packages": {"torch": "2.13.0"},
        "numpy_blas": "scipy-openblas 0.3", "threads": {"OMP_NUM_THREADS": "4"}, "kernels": {},
    },
    "torch": {
        "blas": "mkl", "mkl": "2024.2", "onednn": "3.7.1", "capability": "AVX2", "threads": 4,
        "backend": "OpenMP", "cuda": "12.6",
    },
    "tools": {"valgrind": None, "g++": "12.2.0", "clang": None},
    "git": {"commit": "0123456789abcdef", "dirty": True},
    "gpus": [{
        "index": 0, "name": "NVIDIA H200", "memory": 141 << 30, "driver": "570.1", "mhz_now": 345,
        "mhz_max": 1980, "persistence": False, "processes": 0, "busy_percent": 0,
    }],
    "gpu_note": "",
}  # fmt: skip


def printed(facts: dict[str, Any], width: int) -> str:
    stream = io.StringIO()
    page.show(Console(file=stream, width=width, highlight=False), facts, advice(facts))
    return stream.getvalue()


def line(text: str, word: str) -> str:
    return " ".join(next(row for row in text.splitlines() if word in row).split())


def test_rows_are_marked_by_the_advice_about_them() -> None:
    text = printed(FACTS, 80)
    assert line(text, "governor") == "! governor schedutil"
    assert line(text, "turbo ") == "• turbo on"
    assert line(text, "load ") == "✓ load 0.50 0.25 0.10"
    assert line(text, "steal") == "! steal 3.00%"
    assert line(text, "clang") == "clang not installed"
    assert line(text, "card 0") == "• card 0 NVIDIA H200, 141.0 GiB"
    assert line(text, "torch BLAS") == "torch BLAS MKL 2024.2, oneDNN 3.7.1"
    assert line(text, "project") == "project 0123456789ab with changes"


def test_advice_ends_with_what_to_do() -> None:
    text = " ".join(printed(FACTS, 80).split())
    assert "! The frequency governor is schedutil." in text
    assert "→ sudo cpupower frequency-set -g performance" in text
    assert "→ unset OMP_NUM_THREADS" in text
    assert "3 warnings, 4 notes." in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_page_fits_its_width(width: int) -> None:
    text = printed(FACTS, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(title in text for title in ("Processor", "Right now", "System", "Python", "GPU"))


def test_commands_are_not_broken_at_80_columns() -> None:
    assert "→ echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost" in printed(FACTS, 80)


def test_facts_that_are_missing_leave_a_page_all_the_same() -> None:
    text = printed({}, 80)
    assert line(text, "model") == "model unknown (?)"
    assert "Nothing here distorts measurements." in text


def test_the_command_prints_json_and_exits_with_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "gather", lambda: FACTS)
    app = typer.Typer()
    app.command()(page.doctor)
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["cpu"]["model"] == "AMD EPYC 7B13"
    assert {"severity", "what", "why", "fix", "about"} == set(answer["advice"][0])
    plain = CliRunner().invoke(app, [])
    assert (plain.exit_code, "What to do" in plain.stdout) == (0, True)


def test_the_real_machine_is_examined_whole() -> None:
    facts = page.gather()
    assert json.loads(json.dumps(facts)) == facts
    if "torch" in facts["python"]["packages"]:
        # `2.11.0+cu130` is called `2.11.0` by its package.
        version = facts["torch"]["version"].partition("+")[0]
        assert version == facts["python"]["packages"]["torch"].partition("+")[0]
