"""Standard output and error as the commands use them.

What `print` is given is made `visible`. A terminal that cannot encode a character gets one it can.
A reader that is gone ends the command quietly; an error stream that is full or closed ends nothing.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from opbench.errors import UserError
from opbench.report.terminal.visible import visible

#: For encodings without them.
PLAIN = {
    "µ": "u", "±": "+-", "×": "x", "·": ".", "…": "...", "–": "-", "—": "-", "−": "-", "→": "->",
    "≤": "<=", "≥": ">=", "≈": "~", "Σ": "sum", "²": "^2", "³": "^3", "✓": "ok", "✗": "x",
    "▲": "^", "▼": "v", "─": "-", "━": "-", "│": "|", "█": "#", "\ufffd": "?",
}  # fmt: skip
PLAIN |= {chr(0x2400 + code): f"^{chr(0x40 + code)}" for code in range(32)} | {"\u2421": "^?"}


class ReaderGone(Exception):
    """Nobody reads what is printed any more: `opbench list | head`."""


def plainly(error: UnicodeError) -> tuple[str, int]:
    """What to write for characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (c.encode("ascii", "backslashreplace").decode() for c in text)
    return "".join(PLAIN.get(c, e) for c, e in zip(text, escaped)), error.end


class Stream:
    """A text stream whose failures mean what they mean to a command."""

    def __init__(self, stream: Any, *, needed: bool) -> None:
        self._stream, self._needed = stream, needed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._meaning():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        with self._meaning():
            self._stream.flush()

    @contextlib.contextmanager
    def _meaning(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            if self._needed:
                raise ReaderGone from None
        except (OSError, ValueError) as error:  # a full disk; a stream that was closed
            if self._needed:
                raise UserError(f"cannot write to standard output: {error}") from None


class Shown(Stream):
    """What `print` writes to."""

    @property
    def rich_proxied_file(self) -> Stream:
        """What a console writes to: it has shown its texts already, and colours them."""
        return Stream(self._stream, needed=self._needed)

    def write(self, text: str) -> int:
        return super().write(visible(text))


def open_missing() -> None:
    """Descriptors 0 to 2 that are closed lead nowhere; else the next file opened would get one, and
    what is printed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # as Python found it when it began
            mode = "w" if descriptor else "r"
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Both streams replaced, for one command."""
    codecs.register_error("opbench", plainly)
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="opbench")
    sys.stdout = Shown(before[0], needed=True) if before[0] else before[0]  # type: ignore[assignment]
    sys.stderr = Shown(before[1], needed=False) if before[1] else before[1]  # type: ignore[assignment]
    try:
        yield
    except ReaderGone:
        sys.exit(0)
    finally:
        sys.stdout, sys.stderr = before
        for stream in filter(None, before):
            drop_unwritable(stream)


def drop_unwritable(stream: Any) -> None:
    """What is left in a stream that cannot be written goes nowhere: else the interpreter would try
    once more, complain, and exit with a status of its own."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # closed
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
