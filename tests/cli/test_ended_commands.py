"""Commands that are ended in the middle of their work leave neither processes nor files behind.

All commands with all signals: `python -m perf chaos`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from perf.chaos.commands import COMMANDS, trial


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("list", "KILL"),
        ("list", "INT"),
        pytest.param("run --on ray", "TERM", marks=pytest.mark.slow),
        ("run", "HUP"),
        ("run", "INT twice"),
        ("capture", "KILL of the group"),
        ("capture", "TERM"),
        ("collectives", "INT"),
        ("collectives", "KILL"),
        ("C++ build", "KILL"),
        ("env create", "INT"),
        ("report", "TERM"),
    ],
)
def test_nothing_is_left(command, end, tmp_path):
    assert trial(COMMANDS[command], end, tmp_path).faults(end) == []


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2, 0.5])
def test_ctrl_c_in_the_first_second_is_no_traceback(delay, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "opbench", "list"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(0.1 + delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    # Before our first line Python itself may be interrupted, in its own imports.
    assert "opbench/cli" not in said
    assert process.returncode in (0, 1, 130, -signal.SIGINT)


@pytest.mark.parametrize("closed", ["0<&- 2>&-", "1>&- 2>&-"])
def test_standard_streams_that_are_closed(closed, tmp_path):
    (tmp_path / "bench.py").write_text("import opbench as ob\n@ob.bench\ndef f(): pass\n")
    command = f"{sys.executable} -m opbench run bench.py --num-runs 1 --num-repeats 1 {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path).returncode == 0
    assert (tmp_path / ".opbench" / "results.db").exists()
