"""Starting workers under Callgrind: its command line and environment, or why it is missing."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import time
from pathlib import Path

from opbench.worker import cache
from opbench.worker.callgrind import requests

#: The framework is imported uninstrumented; the worker starts instrumentation once. Whether to
#: collect is a state of each thread: they all begin with it on, the main thread switches it off
#: (`opbench.worker.callgrind.requests`), so the work of other threads is counted. Functions are
#: identified by address (`opbench.counting.addresses`), so instructions are dumped, and their lines
#: of source where debug information has them; PLT stubs are kept as functions, or their cost would
#: be booked to others.
OPTIONS = (
    "--tool=callgrind",
    "--instr-atstart=no",
    "--collect-atstart=yes",
    "--dump-instr=yes",
    "--dump-line=yes",
    "--skip-plt=no",
    "--quiet",
    # Nobody debugs a worker, and a killed one would leave the debugger's pipes behind.
    "--vgdb=no",
)
#: On Arm an atomic operation that is interrupted between its two halves tries again, and would be
#: counted again. A precaution: no count was seen to depend on it.
ATOMIC = {"aarch64": ("--sim-hints=fallback-llsc",)}

#: One thread, because counts of several depend on how long they wait for each other. Strings hash
#: alike in every process, because the number of probes in a dict is an instruction count too. And
#: mimalloc, torch's allocator on Arm, must not free memory by the clock; a precaution too.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MIMALLOC_PURGE_DELAY": "-1",
}

#: Factor on timeouts: code runs some fifty times slower under Callgrind, but only a hundred calls
#: of it, where a timed case runs for seconds.
SLOWDOWN = 5.0

#: Seconds after which nobody is going to read a dump any more.
LEFT_BEHIND = 3600.0
#: What Callgrind writes when a process ends, which nobody reads: without the number of a dump.
AT_EXIT = re.compile(r"dump\.(\d+)")

SOURCE = "Callgrind (Valgrind runs its own selection of SIMD kernels, maybe not this machine's)"


def why_not() -> str:
    """Why instructions cannot be counted here, in one line; empty when they can."""
    chosen = os.environ.get("OPBENCH_VALGRIND")
    if shutil.which(program()) is None:
        if chosen:
            return f"OPBENCH_VALGRIND names no program: {chosen}"
        return "counting instructions needs Valgrind: apt install valgrind libc6-dbg"
    machine = platform.machine().lower()
    if requests.ALIASES.get(machine, machine) not in requests.MACHINE_CODE:
        known = " and ".join(requests.MACHINE_CODE)
        return f"instructions can be counted on {known} only, not on {machine}"
    return ""


def program() -> str:
    return os.environ.get("OPBENCH_VALGRIND") or "valgrind"


def shared_folder() -> str:
    """For the dumps of workers that are kept between commands."""
    tidy()
    return cache.folder("callgrind")


def tidy() -> None:
    """Remove the dumps in the shared folder that nobody is going to read."""
    for file in Path(cache.folder("callgrind")).iterdir():
        with contextlib.suppress(OSError):  # another command was faster
            ended = AT_EXIT.fullmatch(file.name)
            unread = ended is not None and not Path(f"/proc/{ended[1]}").exists()
            if unread or time.time() - file.stat().st_mtime > LEFT_BEHIND:
                file.unlink()


def command(folder: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command line before the interpreter, and the variable with the worker's dump path."""
    out = str(Path(folder) / "dump")
    options = (*OPTIONS, *ATOMIC.get(platform.machine(), ()))
    return (program(), *options, f"--callgrind-out-file={out}.%p"), {requests.OUT_VARIABLE: out}
