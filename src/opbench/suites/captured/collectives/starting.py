"""Starts the ranks of a replay on this machine, several times: the start is the unit of opbench."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opbench import children
from opbench.errors import UserError, printable
from opbench.suites.captured.ending import ending

#: A rank that ended in error ends the others: their process group is broken. They have this long
#: to find out by themselves, and to say what they know.
GRACE_SECONDS = 1.0
POLL_SECONDS = 0.02
#: To import torch and to read the files; a busy machine takes its time.
BEGIN_SECONDS = 120.0

#: Ranks of one machine need no network; and, as torchrun has it, no threads that fill every core.
ENVIRONMENT = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}


def start(files: Sequence[Path], timeout: float, collectives: int) -> list[dict[str, Any]]:
    """One start of as many ranks as there are files: what they measured of each collective."""
    # Each collective may fail, and takes as long as its limit then.
    limit = BEGIN_SECONDS + timeout * (collectives + 1)
    with children.temporary_folder("opbench-collectives-") as folder:
        report = folder / "report.json"
        settings = {
            "files": [str(path.absolute()) for path in files],
            "timeout": timeout,
            "store": str(folder / "store"),
            "report": str(report),
        }
        errors = [folder / f"rank{rank}" for rank in range(len(files))]
        with contextlib.ExitStack() as stack:
            ranks = [
                stack.enter_context(started({**settings, "rank": rank}, path))
                for rank, path in enumerate(errors)
            ]
            ended = wait_for(ranks, time.monotonic() + limit)
        if ended is None:
            raise UserError(f"the ranks did not finish within {limit:.0f} s")
        rank, code = ended
        if code:
            raise UserError(f"rank {rank} {how_it_ended(code, errors[rank])}")
        return list(json.loads(report.read_text(encoding="utf-8")))


@contextlib.contextmanager
def started(settings: dict[str, Any], errors: Path) -> Iterator[subprocess.Popen[Any]]:
    words = [sys.executable, "-m", f"{__package__}.rank", json.dumps(settings)]
    with (
        errors.open("w", encoding="utf-8") as stream,
        children.started(
            children.program(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            env={**ENVIRONMENT, **os.environ},
        ) as process,
    ):
        yield process


def wait_for(processes: Sequence[subprocess.Popen[Any]], deadline: float) -> tuple[int, int] | None:
    """One that ended in error and its code, or (0, 0) when all have ended well; None past the
    deadline."""
    while time.monotonic() < deadline:
        codes = [process.poll() for process in processes]
        if any(codes):
            time.sleep(GRACE_SECONDS)
            failed = [(rank, code) for rank, each in enumerate(processes) if (code := each.poll())]
            # One that was killed is the cause; the others only miss it.
            return min(failed, key=lambda pair: pair[1])
        if None not in codes:
            return 0, 0
        time.sleep(POLL_SECONDS)
    return None


def how_it_ended(code: int, errors: Path) -> str:
    if code < 0:
        return ending(code)
    lines = errors.read_text(encoding="utf-8", errors="replace").splitlines()
    said = next((line for line in reversed(lines) if line.strip()), "")
    return f"failed: {printable(said)[:500]}" if said else ending(code)
