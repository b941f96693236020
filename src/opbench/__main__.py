"""The `opbench` command, and `python -m opbench`."""

import contextlib
import os
import signal
from typing import Any


def interrupted(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"opbench: interrupted\n")
    os._exit(130)


def main() -> None:
    # Until the command is imported and handles it, Ctrl-C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)
    from opbench.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
