"""Commands that are ended in the middle of their work: what is left of them?

Each command is brought to a moment at which it has children, some of which have left its process
group and its parent; then it gets a signal, and five seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MARKER = "OPBENCH_CHAOS_MARKER"
#: How long a command may take until it is busy, and to clean up after a signal.
BUSY_SECONDS = 60.0
END_SECONDS = 5.0

#: Python that leaves a daemon and a process of another session behind, says so, and hangs.
STUBBORN = """
import os, subprocess, time
subprocess.Popen(["sleep", "600"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
open({flag!r}, "w").close()
time.sleep(600)
"""

#: A program that answers what it is asked first, then hangs with a child.
SHELL = """#!/bin/sh
case "$*" in {question}) {answer}; exit 0;; esac
sleep 600 &
touch {flag}
sleep 600
"""


@dataclass(frozen=True)
class Command:
    name: str
    #: Writes what it needs into a folder; gives the words after `opbench`, and variables.
    prepare: Callable[[Path, Path], tuple[list[str], Mapping[str, str]]]
    #: A program without which it cannot be tried.
    needs: str = ""

    @property
    def possible(self) -> bool:
        return not self.needs or shutil.which(self.needs) is not None


def _run(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    code = STUBBORN.format(flag=str(flag))
    text = f"import opbench as ob\n\n@ob.bench\ndef hangs():\n    exec({code!r})\n"
    (folder / "bench.py").write_text(text)
    return ["run", "bench.py"], {}


def _run_on_ray(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    """On a cluster that the command starts for itself."""
    words, variables = _run(folder, flag)
    return [*words, "--on", "ray"], {**variables, "RAY_TMPDIR": "/tmp"}


def _list(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    (folder / "bench.py").write_text(STUBBORN.format(flag=str(flag)))
    return ["list", "bench.py"], {}


def _capture(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    (folder / "train.py").write_text(STUBBORN.format(flag=str(flag)))
    return ["capture", "-o", "out.jsonl", "train.py"], {}


def _collectives(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    """One of two ranks hangs before it does anything."""
    group = {"group": [0, 1], "backend": "gloo"}
    call = {"call": "c10d::broadcast_", "args": [[{"t": "float32[8]"}], group, 0, 0]}
    files = [f"rank{rank}.jsonl" for rank in range(2)]
    for rank, name in enumerate(files):
        header = {"opbench": "capture", "version": 1, "rank": rank, "ranks": 2}
        lines = (header, {**call, "count": {"forward": 1}})
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    hangs = f"exec({STUBBORN.format(flag=str(flag))!r})"
    condition = "import sys\nif '\"rank\": 1' in sys.orig_argv[-1]:\n"
    (folder / "sitecustomize.py").write_text(f"{condition}    {hangs}\n")
    variables = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return ["collectives", *files], variables


def _build(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    compiler = _shell(folder / "compiler", flag, "*--version*", "echo g++ 13")
    return ["count", "int x = 1;", "--language", "cpp", "--no-pool"], {"CXX": compiler}


def _count(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    setup = f"import time; open({str(flag)!r}, 'w').close()"
    return ["count", "time.sleep(600)", "--setup", setup, "--no-pool"], {}


def _create(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    answer = f"echo '[[3, 11, 0], \"{folder}/python\"]'"
    python = _shell(folder / "python", flag, "*ensurepip*", answer)
    return ["env", "create", "other", "numpy", "--python", python], {}


def _report(folder: Path, flag: Path) -> tuple[list[str], Mapping[str, str]]:
    """Slow to write: the page goes to a pipe that nobody reads."""
    from opbench.case import Case
    from opbench.result import Result, Sample
    from opbench.store import RunRecord, Store

    with Store.open(folder / "some.db") as store:
        store.begin_run(RunRecord("r", "r", created=1e9))
        for n in range(50):
            case = Case("s", "n", "call", "pass", labels=(("n", n),))
            samples = tuple(Sample(1.0 + i / 7, start=i, order=i) for i in range(6))
            result = Result(
                case.hash, "time", "s", estimate=1.5, low=1.4, high=1.6, samples=samples
            )
            store.add_result("r", case, result)
        store.finish_run("r")
    os.mkfifo(folder / "page.html")
    flag.touch()  # busy as soon as it runs
    return ["report", "page", "r", "-o", "page.html", "--store", "some.db"], {}


def _shell(path: Path, flag: Path, question: str, answer: str) -> str:
    path.write_text(SHELL.format(question=question, answer=answer, flag=flag))
    path.chmod(0o755)
    return str(path)


COMMANDS = {
    command.name: command
    for command in (
        Command("run", _run),
        Command("run --on ray", _run_on_ray, needs="ray"),
        Command("list", _list),
        Command("capture", _capture),
        Command("collectives", _collectives),
        Command("C++ build", _build),
        Command("count", _count, needs="valgrind"),
        Command("env create", _create),
        Command("report", _report),
    )
}

#: How a command is ended: signals, and whether they go to its whole process group.
ENDS: dict[str, tuple[tuple[signal.Signals, ...], bool]] = {
    "KILL": ((signal.SIGKILL,), False),
    "TERM": ((signal.SIGTERM,), False),
    "HUP": ((signal.SIGHUP,), False),
    "INT": ((signal.SIGINT,), False),
    "INT twice": ((signal.SIGINT, signal.SIGINT), True),
    "KILL of the group": ((signal.SIGKILL,), True),
}
#: Exit codes; a negative one is a signal. A second Ctrl-C may come after the end.
EXITS = {
    "KILL": (-9,), "TERM": (143,), "HUP": (129,), "INT": (130,), "INT twice": (130, -2),
    "KILL of the group": (-9,),
}  # fmt: skip


@dataclass
class Left:
    """What a command left behind, and how it ended."""

    processes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    code: int = 0
    output: str = ""
    #: Why it could not be tried.
    untried: str = ""

    def faults(self, end: str) -> list[str]:
        found = [f"process {each}" for each in self.processes]
        found += [f"file {each}" for each in self.files]
        if self.code not in EXITS[end]:
            found.append(f"exit code {self.code}")
        if "Traceback" in self.output and "/opbench/" in self.output:  # not the script's own
            found.append("a traceback")
        return [self.untried] if self.untried else found


def _heeding_signals() -> None:
    """What starts the campaign may ignore them: a shell its background jobs, nohup the hang-up."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def trial(command: Command, end: str, folder: Path, delay: float = 0.0) -> Left:
    """Start the command in an empty folder, wait until it is busy, and end it."""
    mark, flag = uuid.uuid4().hex, folder / "busy"
    words, variables = command.prepare(folder, flag)
    (folder / "tmp").mkdir()
    env = {
        **os.environ, "TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache"),
        "OPBENCH_HOME": str(folder / "home"), MARKER: mark, **variables,
    }  # fmt: skip
    before = _files(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "opbench", *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_heeding_signals,
    )
    try:
        if not _eventually(lambda: flag.exists() or process.poll() is not None, BUSY_SECONDS):
            return Left(untried="it never was busy")
        if command.name == "report":
            _eventually(lambda: _blocked_in_open(process.pid), BUSY_SECONDS)
        time.sleep(delay)
        if process.poll() is not None:
            return Left(untried=f"it ended at once: {process.communicate()[0][-300:]}")
        signals, group = ENDS[end]
        for number in signals:
            try:
                (os.killpg if group else os.kill)(process.pid, number)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        try:
            # Not until the end of its output: what it leaves behind may hold that open.
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return Left(processes=["the command itself"], code=process.poll() or 0)
        ended = time.monotonic()
        _eventually(lambda: not _marked(mark) and not _left(folder, before), END_SECONDS)
        left = Left(_marked(mark), _left(folder, before), process.returncode)
        os.set_blocking(process.stdout.fileno(), False)  # type: ignore[union-attr]
        left.output = process.stdout.read() or ""  # type: ignore[union-attr]
        assert time.monotonic() - ended < END_SECONDS + 5
        return left
    finally:
        for pid in pids(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def _eventually(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def pids(mark: str) -> list[int]:
    """Living processes that were started with the mark. A zombie's environment is empty."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _marked(mark: str) -> list[str]:
    found = []
    for pid in pids(mark):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words:
            found.append(f"{pid} {words[:80]}")
    return found


def _blocked_in_open(pid: int) -> bool:
    """Whether the process waits for somebody who reads the pipe it wants to write to."""
    try:
        return "fifo_open" in Path(f"/proc/{pid}/wchan").read_text() or _sleeps(pid)
    except OSError:
        return True


def _sleeps(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return state[0] == "S" and int(state[11]) > 50  # after half a second of work


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def _left(folder: Path, before: set[Path]) -> list[str]:
    """Temporary files and folders: all below TMPDIR, and those with a name of a draft."""
    found = []
    for path in _files(folder) - before:
        draft = path.name.startswith((".", "work-")) and path.name not in (".opbench", ".locks")
        if folder / "tmp" in path.parents or draft:
            found.append(str(path.relative_to(folder)))
    return sorted(found)
