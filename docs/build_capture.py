"""Runs the commands of capture.md and replaces their output in the page.

`python docs/build_capture.py` runs each block that begins with `$ opbench …`, in order, in one
temporary folder with the script of the page. It takes a few minutes; run it on a quiet machine,
because the page shows times.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "capture.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", re.S)

#: Lines of an output that are shown.
LONGEST = 60


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "examples" / "train.py", folder)

        def run(match: re.Match[str]) -> str:
            command = match["command"]
            print(f"$ {command}", file=sys.stderr, flush=True)
            return f"```console\n$ {command}\n{output(command, folder)}```"

        page = BLOCK.sub(run, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


def output(command: str, folder: str) -> str:
    tools = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    if len(lines) > LONGEST:
        lines = [*lines[:LONGEST], f"… ({len(lines) - LONGEST} more lines)"]
    text = "\n".join(lines).strip("\n")
    return f"{text}\n" if text else ""


if __name__ == "__main__":
    main()
