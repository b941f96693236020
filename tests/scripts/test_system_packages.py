"""scripts/system_packages.sh: what it lists, what it installs, and that it does without.

apt-get is a stand-in that records its calls: the real one would change the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "system_packages.sh"
TOOLS = ("bash", "env", "id", "ls", "cat")

APT = """#!/bin/sh
echo "$@" >> "{log}"
for word in "$@"; do case "$word" in {refused}) exit 100;; esac; done
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with what the script itself needs, and nothing that it looks for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def run(tools: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(tools), "HOME": os.environ.get("HOME", "/"), **more}
    return subprocess.run([SCRIPT, *words], env=env, capture_output=True, text=True)


def apt(tools: Path, refused: str = "none") -> Path:
    """A stand-in for apt-get, run as root; its log has a line for each call."""
    log = tools.parent / "apt.log"
    program(tools, "apt-get", APT.format(log=log, refused=refused))
    (tools / "id").unlink()
    program(tools, "id", "#!/bin/sh\necho 0\n")
    return log


def installed(log: Path) -> list[str]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split("--no-install-recommends ")[1] for line in lines if " install " in line]


def test_what_is_missing_is_listed_before_it_is_installed(tools):
    log = apt(tools)
    done = run(tools, "measuring")
    assert done.returncode == 0
    assert installed(log) == ["g++", "valgrind"]
    lines = done.stderr.splitlines()
    assert lines[0] == "setup: missing system packages:"
    assert [line.split()[1] for line in lines[1:3]] == ["g++", "valgrind"]
    assert "installing them with apt-get" in lines[3]
    assert len(lines) == 4


def test_nothing_is_said_where_nothing_is_missing(tools):
    log = apt(tools)
    program(tools, "g++")
    program(tools, "valgrind")
    done = run(tools, "measuring")
    assert (done.returncode, done.stderr, installed(log)) == (0, "", [])


def test_only_what_is_missing_is_installed(tools):
    log = apt(tools)
    program(tools, "g++")
    assert run(tools, "measuring").returncode == 0
    assert installed(log) == ["valgrind"]


def test_it_installs_nothing_when_asked_not_to(tools):
    log = apt(tools)
    done = run(tools, "measuring", SYSTEM_PACKAGES="no")
    assert done.returncode == 0
    assert installed(log) == []
    assert "not installed (SYSTEM_PACKAGES=no): g++ valgrind" in done.stderr
    assert "sudo apt-get install g++ valgrind" in done.stderr


def test_it_does_without_when_it_may_not_install(tools):
    log = apt(tools)
    (tools / "id").unlink()
    program(tools, "id", "#!/bin/sh\necho 1000\n")
    done = run(tools, "measuring")
    assert done.returncode == 0
    assert installed(log) == []
    assert "it needs root, or sudo without a password" in done.stderr


def test_it_does_without_apt(tools):
    done = run(tools, "measuring")
    assert done.returncode == 0
    assert "there is no apt-get" in done.stderr


def test_a_package_that_cannot_be_had_does_not_stop_the_others(tools):
    log = apt(tools, refused="g++")
    done = run(tools, "measuring")
    assert done.returncode == 0
    # Once more after the package lists were updated.
    assert installed(log) == ["g++", "g++", "valgrind"]
    assert "not installed (apt-get failed): g++;" in done.stderr


def test_python_without_venv_is_an_error_where_its_package_is_not_installed(tools):
    python = program(
        tools,
        "python3",
        "#!/bin/sh\ncase $2 in *ensurepip*) exit 1;; esac\necho 'python3.12-venv|x'\n",
    )
    assert run(tools, "python", str(python), SYSTEM_PACKAGES="no").returncode == 1
    log = apt(tools)
    assert run(tools, "python", str(python)).returncode == 0
    assert installed(log) == ["python3.12-venv"]


def test_an_unknown_purpose_is_refused(tools):
    done = run(tools, "everything")
    assert done.returncode == 2
    assert "choose from: measuring, tests, python PROGRAM" in done.stderr
