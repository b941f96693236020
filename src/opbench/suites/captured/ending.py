"""How a process ended, in words and as the exit status that a shell gives it."""

from __future__ import annotations

import signal


def exit_status(code: int) -> int:
    """128 and its number for a signal, as in a shell."""
    return 128 - code if code < 0 else code


def ending(code: int) -> str:
    """`was ended by SIGTERM`, `ended with exit status 3`."""
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal has no name
        return f"was ended by signal {-code}"
