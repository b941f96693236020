"""Fuzzing: run files, configs, captures, imports, stores, options and messages, damaged at random.

An input that breaks a reader is kept in tests/fuzz/cases, where it is read by every run of the
tests. `python -m perf fuzz --quick` reads a thousand.
"""

from __future__ import annotations

from pathlib import Path

from perf.fuzz.campaign import MOST_BYTES, MOST_SECONDS, campaign

TITLE = "Damaged inputs"
CODE = ("capture", "define", "imports", "store", "worker/protocol.py", "files.py")

INPUTS = 50_000
SEED = 20261116
#: Seconds for the whole of it.
MOST_TIME = 1800.0
KEPT = Path(__file__).resolve().parent.parent.parent / "tests" / "fuzz" / "cases"


def measure(quick: bool = False) -> str:
    found = campaign(INPUTS // 50 if quick else INPUTS, SEED, MOST_TIME, keep=KEPT)
    lines = [
        f"{found.inputs:,} inputs in one process (seed {SEED}, {found.seconds:.0f} s), "
        f"{found.refused:,} of them refused with one line.",
        "",
        "| figure | found | allowed |",
        "|---|---|---|",
        f"| tracebacks, by signature | {len(found.crashes)} | 0 |",
        f"| programs started, code run | {len(found.executed)} | 0 |",
        f"| inputs that took over {MOST_SECONDS:g} s | {len(found.slow)} | 0 |",
        f"| longest input | {found.longest:.2f} s | {MOST_SECONDS:g} s |",
        f"| memory added | {found.bytes >> 20} MiB | {MOST_BYTES >> 20} MiB |",
    ]
    for crash in found.crashes.values():
        lines += ["", f"- {crash.reader}: {crash.signature}"]
    return "\n".join(lines)
