"""The targets that the README names, as make would carry them out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def recipe(*words: str) -> list[str]:
    """What make would run; nothing is run."""
    # The make that runs these tests hands its flags and variables on.
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "ARGS"))
    }
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--always-make", *words],
        cwd=ROOT, capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_demo_sets_up_and_runs_the_tour():
    lines = recipe("demo")
    assert lines[0].endswith("scripts/setup.sh")
    assert [line.split() for line in lines if line.startswith(".venv")] == [
        [".venv/bin/opbench", "run"]
    ]
    assert ". .venv/bin/activate" in lines[-1]  # said where `opbench` is not on the path
    assert not [line for line in lines if line.endswith("system_packages.sh tests")]


def test_nothing_is_installed_into_the_system_when_asked_not_to():
    for target in ("demo", "test"):
        lines = recipe(target, "SYSTEM_PACKAGES=no")
        installing = [line for line in lines if ".sh" in line]
        assert installing
        assert all('SYSTEM_PACKAGES="no"' in line for line in installing)


def test_every_target_is_listed():
    listed = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in ("setup", "demo", "test", "docs", "wheel", "reference", "perf"):
        assert f"  {target} " in listed
