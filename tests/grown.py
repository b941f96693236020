"""A copy of the code to which a test adds something, and programs that run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "opbench"


def copied(root: Path) -> Path:
    """The folder of the copy. With the compiled files, which stay valid: compiling all of opbench
    takes seconds."""
    shutil.copytree(SOURCE, root / "opbench")
    return root / "opbench"


def python(root: Path, *words: str) -> str:
    """What a Python program prints that imports the copy."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
