"""The oldest releases that `pyproject.toml` allows work: what is pinned here is the newest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.packaging.test_metadata import PROJECT, ROOT

pytestmark = pytest.mark.slow

#: What asks most of the libraries: every command and its options, files that are read, stores.
ASKED = ["tests/cli/test_help.py", "tests/cli/test_bad_input.py", "tests/define", "tests/store"]


def oldest() -> list[str]:
    """The first series of each library, as pip understands it."""
    found = []
    for line in PROJECT["project"]["dependencies"]:
        required = Requirement(line)
        if required.marker is None or required.marker.evaluate():
            (bound,) = re.findall(r">=([\d.]+)", str(required.specifier))
            found.append(f"{required.name}=={bound}.*")
    return found


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="numpy 1.26 was not built for it")
def test_the_oldest_libraries_do(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    subprocess.run([*install, "--target", str(tmp_path), *oldest()], check=True, timeout=600)
    # The tests' own libraries (pyarrow, pytest) stay those of this environment.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ASKED],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=1800,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
