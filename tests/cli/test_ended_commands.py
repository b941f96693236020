"""Commands that are ended in the middle of their work leave neither processes nor files behind.

All commands with all signals: `python -m perf chaos`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import nullcontext, suppress
from pathlib import Path

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


#: Leaves a daemon without a trace of who started it, and kills the process that would end it.
ESCAPE = """\
import os, signal, time
def escape():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            os.execve("/bin/sleep", ["sleep", "600"], {"MARK": os.environ["MARK"]})
        os._exit(0)
    time.sleep(0.1)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)  # or it might still answer before it is ended
"""


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ("escape()\n", ["list", "bench.py"], "importing it crashed Python (SIGKILL)"),
        ("import opbench as ob\nob.bench(escape)\n", ["run", "bench.py"], "the worker"),
    ],
    ids=["while imported", "while measured"],
)
def test_a_daemon_whose_guard_is_killed_ends_with_the_command(code, words, said, tmp_path):
    (tmp_path / "bench.py").write_text(ESCAPE + code)
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "opbench", *words],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MARK": mark},
    )  # fmt: skip
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert alive(f"MARK={mark}") == []


def alive(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


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


def test_ctrl_c_within_a_command_is_said(command, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opbench.cli.runs._list", interrupt)
    monkeypatch.setattr("opbench.store.Store.open", lambda *_, **__: nullcontext())
    done = command("runs")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "opbench: interrupted\n")


#: Ctrl-C while the command is imported.
EARLY = """\
import os, signal, sys
from opbench import __main__

class Interrupting:
    def find_spec(self, name, *_):
        if name == "opbench.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
__main__.main()
"""


def test_ctrl_c_before_the_command_is_imported_is_said():
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "opbench: interrupted\n")


@pytest.mark.parametrize("closed", ["0<&- 2>&-", "1>&- 2>&-"])
def test_standard_streams_that_are_closed(closed, tmp_path):
    (tmp_path / "bench.py").write_text("import opbench as ob\n@ob.bench\ndef f(): pass\n")
    command = f"{sys.executable} -m opbench run bench.py --num-runs 1 --num-repeats 1 {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path).returncode == 0
    assert (tmp_path / ".opbench" / "results.db").exists()
