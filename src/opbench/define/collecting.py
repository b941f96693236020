"""A user's file, imported in a short-lived process by the interpreter whose framework it uses.

It may print, hang, exit or crash, and costs one clear line.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opbench import children
from opbench.errors import UserError

#: A process that has said all, or closed its pipe, has this long to exit.
EXIT_SECONDS = 0.2
#: Bytes: the end of what a file prints while it is imported, and all that it may register.
PRINTED_KEPT, LONGEST_ANSWER = 1 << 16, 64 << 20


class UserFileError(UserError):
    """A user's file that could not be read. `traceback` is the file's own, for those who ask."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


def collected(
    path: Path,
    python: str,
    timeout: float = 120.0,
    env: Mapping[str, str] | None = None,
    model: str = "",
) -> dict[str, Any]:
    """Run `probe.collect` on the file and read its one line from a private pipe.

    With the name of a `model`, that is described in it; `path` may then be an installed module.
    """
    read_end, write_end = os.pipe()
    words = children.module(
        python, "probe.collect", str(path), str(write_end), *([model] if model else [])
    )
    try:
        with children.started(
            words,
            pass_fds=(write_end,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        ) as process:
            os.close(write_end)
            write_end = -1
            assert process.stdout is not None
            heard = Heard(read_end, process.stdout.fileno(), time.monotonic() + timeout)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_SECONDS)
            ended = process.poll()
    except OSError as error:
        raise UserFileError(f"cannot start {python}: {error.strerror}") from None
    finally:
        for end in (read_end, write_end):
            if end >= 0:
                os.close(end)
    printed = heard.printed.decode(errors="replace").strip()
    if heard.answer.endswith(b"\n"):
        try:
            found: dict[str, Any] = json.loads(heard.answer)
            return found
        except ValueError:
            raise UserFileError(f"{path}: importing it broke the harness's pipe", printed) from None
    if heard.late or ended is None:
        how = f"did not end within {timeout:g} s"
    else:
        how = how_it_ended(ended)
    if len(heard.answer) > LONGEST_ANSWER:
        how = f"registered over {LONGEST_ANSWER >> 20} MiB of benchmarks"
    last_line = f": {printed.splitlines()[-1][:200]}" if printed else ""
    raise UserFileError(f"{path}: importing it {how}{last_line}", printed)


class Heard:
    """What the process says, until its one line is there: the end of file may never come if the
    user's code forked. Of what it prints the end is kept: it may print without end."""

    def __init__(self, answers: int, output: int, deadline: float) -> None:
        self.answer = self.printed = b""
        self.late = False
        with selectors.DefaultSelector() as selector:
            selector.register(answers, selectors.EVENT_READ)
            selector.register(output, selectors.EVENT_READ)
            while selector.get_map() and not self.answer.endswith(b"\n"):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    self.late = answers in selector.get_map()
                    return
                for key, _ in ready:
                    piece = os.read(key.fd, 1 << 16)
                    if not piece:
                        selector.unregister(key.fd)
                    elif key.fd == answers:
                        self.answer += piece
                    else:
                        self.printed = (self.printed + piece)[-PRINTED_KEPT:]
                if answers not in selector.get_map():
                    # It is ending: what it printed last is nearly here, a daemon may hold the rest.
                    deadline = min(deadline, time.monotonic() + EXIT_SECONDS)
                if len(self.answer) > LONGEST_ANSWER:
                    return


def how_it_ended(code: int) -> str:
    if code < 0:
        return f"crashed Python ({signal.Signals(-code).name})"
    return f"ended Python (exit code {code})"
