"""How torch was built and how many threads it would use, from a short-lived interpreter.

torch must be imported for that, which takes seconds and must not happen in our own process:
workers would inherit the state of its thread pools.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from opbench import children

SCRIPT = """
import json, torch
print(json.dumps({
    "version": torch.__version__,
    "cuda": torch.version.cuda,
    "show": torch.__config__.show(),
    "parallel": torch.__config__.parallel_info(),
}))
"""


def torch_build(executable: str, timeout_s: float = 60.0) -> dict[str, Any]:
    """Plain JSON types; `error` with the last line it printed when it could not be imported."""
    try:
        process = children.run(children.program(executable, "-c", SCRIPT), timeout=timeout_s)
    except (OSError, subprocess.SubprocessError) as error:
        return {"error": str(error)}
    lines = process.stdout.strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        errors = process.stderr.strip().splitlines()
        return {"error": errors[-1] if errors else f"exit code {process.returncode}"}
    build = read_build(answer.pop("show"), answer.pop("parallel"))
    return {**answer, **build}


def read_build(show: str, parallel: str) -> dict[str, Any]:
    """What matters of `torch.__config__.show()` and `parallel_info()`; None where it is silent."""

    def first(pattern: str, text: str) -> str | None:
        found = re.search(pattern, text)
        return found[1].strip() if found else None

    threads = first(r"at::get_num_threads\(\)\s*:\s*(\d+)", parallel)
    # `MKL-DNN` is the old name of oneDNN and not the BLAS called MKL.
    mkl = first(r"- Intel\(R\) oneAPI Math Kernel Library Version ([\d.]+)", show) or first(
        r"- Intel\(R\) Math Kernel Library Version ([\d.]+)", show
    )
    return {
        "blas": first(r"BLAS_INFO=(\w+)", show),
        "mkl": mkl,
        "onednn": first(r"MKL-DNN v([\d.]+)", show),
        "openmp": first(r"OpenMP (\d+)", show),
        "capability": first(r"CPU capability usage: (\S+)", show),
        "compiler": first(r"- (GCC [\d.]+|clang [\d.]+)", show),
        "threads": int(threads) if threads else None,
        "backend": first(r"ATen parallel backend: (.+)", parallel),
    }
