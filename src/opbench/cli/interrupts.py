"""Ctrl-C, and the signals that ask a command to end: each unwinds it, so that what is finished is
kept and what was started ends. A second one, while that goes on, is not waited for."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from opbench.errors import Terminated

#: A terminal that is closed, and `kill` without a number.
ENDING = (signal.SIGHUP, signal.SIGTERM)
#: A display of progress hides it.
SHOW_CURSOR = b"\x1b[?25h"


class Interrupts:
    """The signal that has ended the command, if one has."""

    def __init__(self) -> None:
        self.received = 0

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGINT)}
        for number, handler in before.items():
            # `nohup` has it ignored, and a shell script what it starts in the background.
            if handler != signal.SIG_IGN:
                signal.signal(number, self._unwind)
        try:
            yield
        finally:
            # The interpreter is about to end: a signal may end it at once, as at its start.
            for number, handler in before.items():
                signal.signal(number, handler)

    def _unwind(self, number: int, _frame: FrameType | None) -> None:
        again, self.received = self.received, number
        if again:
            # Unwinding takes a moment (results are stored, children end); whoever cannot wait for
            # that loses what is not stored yet. Children and temporary files go either way.
            if os.isatty(2):
                os.write(2, SHOW_CURSOR)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated

    def exit_code(self, code: int) -> int:
        """Of a command that was ended by a signal: 128 and its number, as of any program. (A query
        that a signal ends fails.)"""
        return 128 + self.received if self.received and code in (2, 130) else code
