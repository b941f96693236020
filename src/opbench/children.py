"""Processes and temporary files that end with the command: whether it finishes, is interrupted, or
is killed.

A child is started under a guard (`worker/ending/guard.py`), which ends it and all that it has
started; should the guard be killed, or a worker, the command itself ends what they leave behind.
Temporary files are removed by one process for all of them (`worker/ending/tidy.py`), for a command
that is killed can remove nothing. Workers guard their own children, in `worker/parent.py`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from opbench.worker.ending import guard, orphans
from opbench.worker.main import command

#: A guard that was asked to end has this long; it needs some milliseconds.
END_SECONDS = 5.0


def module(python: str, name: str, *arguments: str) -> list[str]:
    """The command line of a module of `opbench.worker`, in any interpreter, under a guard."""
    return command(python, "ending.guard", str(os.getpid()), "module", name, *arguments)


def program(*words: str) -> list[str]:
    """The command line of any program, under a guard."""
    python, *rest = command(sys.executable, "ending.guard", str(os.getpid()), "program", *words)
    return [python, "-I", "-S", *rest]


@contextlib.contextmanager
def started(words: Sequence[str], **settings: Any) -> Iterator[subprocess.Popen[Any]]:
    """A guarded child, which has ended with all it started when the block ends."""
    process = subprocess.Popen(words, **settings)
    try:
        yield process
    finally:
        end(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not written yet, nobody reads
                    stream.close()


def end(process: subprocess.Popen[Any]) -> None:
    """End a guarded child that still runs."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run(
    words: Sequence[str],
    *,
    input: str | None = None,
    timeout: float | None = None,
    check: bool = False,
    **settings: Any,
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`, for a guarded command line. Output is captured as text, unless the
    settings send it elsewhere."""
    settings = {
        "stdin": subprocess.DEVNULL if input is None else subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "errors": "replace",
        **settings,
    }
    with started(words, **settings) as process:
        output, errors = process.communicate(input, timeout)
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words, output, errors)
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


#: Set by a command whose child is to stay: a browser.
_left = False


def leave_running() -> None:
    """From here on, nothing is ended with the command but what has a guard."""
    global _left
    _left = True


@contextlib.contextmanager
def none_left_behind() -> Iterator[None]:
    """Of the processes that came to this one because a guard or a worker was killed (by the code
    under test, or because memory ran out) none runs when the block has ended."""
    before = orphans.child_pids()
    orphans.become_subreaper()
    try:
        yield
    finally:
        if not _left:
            orphans.kill_others(lambda pid: pid in before or _stays(pid))


def _stays(pid: int) -> bool:
    """Whether it has ended, removes our temporary files, or keeps workers for other commands."""
    words = guard.words_of(pid)
    return not words or guard.tidies(pid) or b"pool.supervisor\0" in words


def dying_with_us() -> Callable[[], None]:
    """For `preexec_fn` of a program that starts no other and ends soon, where a guard would cost
    more than the program."""
    import ctypes

    from opbench.worker.ending.orphans import PR_SET_PDEATHSIG

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# -- temporary files ------------------------------------------------------------------------------


class Tidy:
    """The process that removes what this one leaves behind."""

    def __init__(self) -> None:
        self._owner = 0
        self._entries: IO[bytes] | None = None

    def add(self, entry: bytes) -> None:
        if self._owner != os.getpid():  # a forked process has its own, if it needs one
            python, *rest = command(sys.executable, "ending.tidy")
            process = subprocess.Popen(
                [python, "-I", "-S", *rest],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # what kills our group must not kill it
            )
            self._owner, self._entries = os.getpid(), process.stdin
            atexit.register(self._end, process)
        assert self._entries is not None
        with contextlib.suppress(OSError):  # somebody has ended it
            self._entries.write(entry + b"\0")
            self._entries.flush()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if self._owner == os.getpid():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.communicate(timeout=END_SECONDS)


_tidy = Tidy()


def remove_at_end(path: Path) -> None:
    """Have a file or folder removed when this process ends; whoever is done with it earlier may
    remove or rename it."""
    _tidy.add(os.fsencode(path.absolute()))


@contextlib.contextmanager
def ending_with_us() -> Iterator[None]:
    """Have the processes that begin in this block, children of ours and theirs, ended when this
    process ends: where somebody else starts them, and they cannot be guarded."""
    from opbench.worker.ending.tidy import PROCESS, start_of

    before = set(descendants(os.getpid()))
    try:
        yield
    finally:
        for pid in descendants(os.getpid()):
            if pid not in before:
                with contextlib.suppress(OSError):  # it has ended
                    _tidy.add(PROCESS + b"%d %d" % (pid, start_of(pid)))


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs; none where the kernel does not list them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, listed.read_text().split()):
                found += [child, *descendants(child)]
    return found


@contextlib.contextmanager
def temporary_folder(prefix: str, where: Path | None = None) -> Iterator[Path]:
    """A new folder, gone when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    try:
        remove_at_end(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
